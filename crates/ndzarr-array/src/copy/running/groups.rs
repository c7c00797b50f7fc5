//! The groups of a copy: begun first, and with their documents after everything in them.

use std::collections::BTreeMap;

use bytes::Bytes;
use ndzarr_metadata::{
    CreateOptions, Creation, Document, Existing, ExistingDocument, Known, MetadataError, Node,
    NodePath, consolidate, consolidated_key, create_group, erase,
};

use crate::copy::Run;
use crate::copy::account::SortedKeys;
use crate::copy::planning::plan::{GroupPlan, NodePlan, NodeWork};
use crate::copy::report::CopiedNode;
use crate::copy::running::files::Files;
use crate::error::{Error, Result};
use crate::hierarchy::note::{Begun, Note, at_end};

/// What a copy of a group has begun.
pub(crate) struct Hierarchy {
    /// The path of the uppermost group.
    path: NodePath,
    /// The note of the whole, at the uppermost group; `None` for a copy in place.
    pub(crate) note: Option<Note>,
    pub(crate) begun: Begun,
    /// The groups that have no documents yet, from the uppermost down.
    pending: Vec<Pending>,
    /// Documents above nodes that have to be completed once those exist.
    above: Vec<Document>,
    /// The documents of all nodes of the copy, for consolidated metadata.
    documents: BTreeMap<String, Bytes>,
    /// Everything of the source lies below these.
    read_from: Vec<String>,
    written_to: Vec<String>,
}

/// A group whose documents are still to be written.
struct Pending {
    source: Node,
    creation: Creation,
    create: CreateOptions,
    consolidates: bool,
}

impl Run<'_> {
    /// Begins a group. Its documents come after everything in it.
    pub(crate) async fn group(
        &self,
        plan: NodePlan,
        whole: &mut Option<Hierarchy>,
    ) -> Result<CopiedNode> {
        let NodePlan {
            node,
            path,
            create,
            work,
            out,
        } = plan;
        let NodeWork::Group(GroupPlan {
            attributes,
            consolidates,
        }) = work
        else {
            return Ok(out);
        };
        let is_first = whole.is_none();
        let whole = match whole {
            Some(whole) => {
                self.check_own(whole.note.as_ref()).await?;
                whole
            }
            None => whole.insert(self.hierarchy(&node, &path, &create).await?),
        };
        let goes_on = whole.begun == Begun::Before;
        let existing = if goes_on {
            Existing::Replace
        } else {
            create.existing
        };
        let new = CreateOptions {
            existing,
            ..create.clone()
        };
        let concluded = move |known: &Known| create_group(&path, &attributes, known, &new);
        let creation = self.conclude(concluded).await?;
        if !goes_on {
            let note = whole.note.as_ref().filter(|_| is_first);
            self.begin(note, &node, &creation, &create).await?;
        }
        whole.add_documents(&creation.node);
        if is_first {
            whole.written_to = erase(&creation.node).prefixes;
        }
        whole.pending.push(Pending {
            source: node,
            creation: at_end(creation, &create),
            create,
            consolidates,
        });
        Ok(out)
    }

    /// What the copy of a group with everything in it begins, or goes on with.
    async fn hierarchy(
        &self,
        node: &Node,
        path: &NodePath,
        create: &CreateOptions,
    ) -> Result<Hierarchy> {
        let (note, begun) = match create.existing {
            Existing::Beside => (None, Begun::Now),
            _ => {
                let (note, begun) = self.take_over(self.note_of_group(node, path)).await?;
                (Some(note), begun)
            }
        };
        Ok(Hierarchy {
            path: path.clone(),
            note,
            begun,
            pending: Vec::new(),
            above: Vec::new(),
            documents: BTreeMap::new(),
            read_from: erase(node).prefixes,
            written_to: Vec::new(),
        })
    }

    /// Copies the files below the groups. `as_they_are` are the prefixes of nodes that are copied
    /// so.
    pub(crate) async fn group_files(
        &self,
        whole: &mut Hierarchy,
        found: &SortedKeys,
        as_they_are: &[String],
    ) -> Result<()> {
        let files = Files {
            run: self,
            note: whole.note.as_ref(),
            from: &whole.read_from,
            to: &whole.written_to,
            begun: whole.begun,
        };
        files.copy(&found.files).await?;
        let documents = files.documents(&found.files, as_they_are).await?;
        whole.documents.extend(documents);
        Ok(())
    }

    /// Writes the documents of groups, so that each exists once everything in it does.
    pub(crate) async fn end_groups(&self, whole: Hierarchy) -> Result<()> {
        let Hierarchy {
            path,
            note,
            begun,
            mut pending,
            above,
            documents,
            ..
        } = whole;
        while let Some(Pending {
            source,
            mut creation,
            create,
            consolidates,
        }) = pending.pop()
        {
            if consolidates {
                creation = consolidated(creation, &documents)
                    .map_err(|error| Error::from(error).in_store(|| self.target.name()))?;
            }
            let exists = begun == Begun::Before && self.exists(&creation.node).await?;
            if creation.node.path == path {
                if exists {
                    break;
                }
                creation.put.extend(above);
                return self.end(note, &source, creation, &create).await;
            }
            if !exists {
                self.check_own(note.as_ref()).await?;
                self.create(&source, own_documents(creation).0, &create)
                    .await?;
            }
        }
        // The uppermost one existed already.
        match note {
            Some(note) => self.forget(note).await,
            None => Ok(()),
        }
    }
}

impl Hierarchy {
    pub(crate) fn add_documents(&mut self, of_new: &Node) {
        self.documents.extend(of_new.documents.iter().cloned());
    }

    pub(crate) fn add_above(&mut self, documents: Vec<Document>) {
        for document in documents {
            // Those that only have to exist are made with the groups.
            if document.existing == ExistingDocument::Complete && !self.above.contains(&document) {
                self.above.push(document);
            }
        }
    }
}

/// The creation of a group with copies of these documents.
fn consolidated(
    mut creation: Creation,
    documents: &BTreeMap<String, Bytes>,
) -> Result<Creation, MetadataError> {
    let Some(key) = consolidated_key(&creation.node) else {
        return Ok(creation);
    };
    let own = creation.put.iter_mut().find(|document| document.key == key);
    let value = consolidate(
        &creation.node,
        own.as_ref().map(|own| &own.value[..]),
        documents,
    )?;
    match own {
        Some(own) => {
            own.value.clone_from(&value);
            let described = creation
                .node
                .documents
                .iter_mut()
                .find(|(name, _)| *name == key);
            described
                .into_iter()
                .for_each(|(_, text)| text.clone_from(&value));
        }
        // Before the document that makes the group.
        None => creation.put.insert(
            0,
            Document {
                key,
                value,
                existing: ExistingDocument::Replace,
            },
        ),
    }
    Ok(creation)
}

/// The creation of a node without the documents above it, and these.
pub(crate) fn own_documents(mut creation: Creation) -> (Creation, Vec<Document>) {
    let is_own = |document: &Document| {
        matches!(
            document.existing,
            ExistingDocument::Refuse | ExistingDocument::Replace
        )
    };
    let (own, above) = std::mem::take(&mut creation.put)
        .into_iter()
        .partition(is_own);
    creation.put = own;
    (creation, above)
}
