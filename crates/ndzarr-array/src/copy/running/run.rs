//! Carries out what is planned for each node.

use ndzarr_metadata::{
    CreateOptions, Creation, Existing, Known, MetadataError, Node, NodePath, Resolved, key_prefixes,
};

use crate::copy::Run;
use crate::copy::planning::plan::{NodeWork, Plan};
use crate::copy::report::CopyReport;
use crate::creating::replaces_source::would_remove;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::find_node;
use crate::hierarchy::note::{Begun, Note};
use crate::operations::each::{Counter, check_cancel};

impl Run<'_> {
    /// Copies as planned.
    pub(crate) async fn carry_out(&self, plan: Plan) -> Result<CopyReport> {
        let Plan {
            nodes: plans,
            not_copied,
            mut found,
        } = plan;
        if self.options.dry_run {
            let nodes = self.dry_run(plans, &mut found).await?;
            return Ok(CopyReport {
                nodes,
                not_copied,
                account: found.map(|found| found.account),
            });
        }
        let units = plans.iter().map(|plan| match &plan.work {
            NodeWork::Array(array) => array.units,
            NodeWork::Group(_) | NodeWork::Files => 0,
        });
        let counter = Counter::new(units.fold(0, u64::saturating_add), &self.options.run);
        let mut nodes = Vec::new();
        let mut as_they_are = Vec::new();
        let mut whole = None;
        for plan in plans {
            check_cancel(&self.options.run)?;
            nodes.push(match plan.work {
                NodeWork::Group(_) => Box::pin(self.group(plan, &mut whole)).await?,
                NodeWork::Array(_) => {
                    Box::pin(self.array(plan, &mut whole, &counter, &mut found)).await?
                }
                NodeWork::Files => {
                    as_they_are.extend(key_prefixes(plan.node.format, plan.node.path.as_str()));
                    plan.out
                }
            });
        }
        if let Some(mut whole) = whole {
            if let Some(found) = &found {
                self.group_files(&mut whole, found, &as_they_are).await?;
            }
            self.end_groups(whole).await?;
        }
        Ok(CopyReport {
            nodes,
            not_copied,
            account: found.map(|found| found.account),
        })
    }

    pub(crate) fn note_of_group(&self, node: &Node, path: &NodePath) -> Note {
        let made = format!("{} {:?}", self.create.format, self.options.layout);
        Note::new(
            (&self.source, node),
            &path.prefix(),
            &made,
            &format!("{:?}", self.options.numbers),
        )
    }

    /// Refuses to replace what is still to be read, before anything is removed.
    pub(super) async fn check_apart(&self, node: &Node, creation: &Creation) -> Result<()> {
        if !would_remove(&self.target, creation, (&self.source, node)).await? {
            return Ok(());
        }
        let what = format!(
            "the target at {} contains it, or is part of it",
            creation.node.path
        );
        Err(self.requests(node, &self.create).refuse(&what))
    }

    pub(crate) async fn conclude(
        &self,
        conclude: impl Fn(&Known) -> Result<Resolved<Creation>, MetadataError> + Send + Sync,
    ) -> Result<Creation> {
        self.target
            .conclude(&mut Known::new(), &self.create.limits, conclude)
            .await
    }

    /// Writes the documents of a node, if its source has not changed.
    pub(crate) async fn create(
        &self,
        node: &Node,
        creation: Creation,
        create: &CreateOptions,
    ) -> Result<()> {
        self.check_source(node).await?;
        match create.existing {
            Existing::Beside => {
                self.target
                    .create(&creation, create.concurrent_update)
                    .await
            }
            _ => {
                self.target
                    .create_noted(&creation, create.concurrent_update)
                    .await
            }
        }
    }

    /// Fails if the source is not what it was when the copy was planned: it may have been removed,
    /// or lie where the target is, under another name.
    async fn check_source(&self, node: &Node) -> Result<()> {
        if find_node::is_folder(node) {
            return Ok(());
        }
        let n5_axes = node.context.n5_axes;
        let reads = self
            .options
            .open
            .clone()
            .format(node.format)
            .n5_axes(n5_axes)
            .metadata;
        let is = match find_node::open_at(&self.source, &node.path, &reads).await {
            Ok(now) if now.documents == node.documents => return Ok(()),
            Ok(_) => "changed",
            Err(error) if error.kind() == ErrorKind::NotFound => "was removed",
            Err(error) => return Err(error),
        };
        let what = format!("the source {is} during the copy, which is not complete");
        let document = node.documents.first().map(|(key, _)| &key[..]);
        Err(Error::new(ErrorKind::Conflict, what)
            .in_document(document)
            .in_store(|| self.source.name()))
    }

    /// Fails unless the copy of the group that this is a part of is still that of this call.
    pub(crate) async fn check_own(&self, note: Option<&Note>) -> Result<()> {
        match note {
            Some(note) => note.check_own(&self.target).await,
            None => Ok(()),
        }
    }

    /// Removes the note of a copy whose node exists already.
    pub(crate) async fn forget(&self, note: Note) -> Result<()> {
        self.target.erase(&note.key).await
    }

    /// Continues a copy that has begun and not ended, if the options say so.
    pub(crate) async fn take_over(&self, note: Note) -> Result<(Note, Begun)> {
        if !self.options.resume {
            return Ok((note, Begun::Now));
        }
        note.take_over(&self.target).await
    }

    /// Begins a copy at the place of a new node: refuses to replace its own source, removes what it
    /// replaces, and writes the note. Nothing is removed for a node without a note, which is made
    /// in place or below a group that has one. The result is the copy that it replaces, if that one
    /// had not ended.
    pub(crate) async fn begin(
        &self,
        note: Option<&Note>,
        source: &Node,
        creation: &Creation,
        create: &CreateOptions,
    ) -> Result<Option<String>> {
        self.check_apart(source, creation).await?;
        match note {
            Some(note) => note.begin(&self.target, creation, create.existing).await,
            None => Ok(None),
        }
    }

    /// Ends a copy with the documents of its node.
    pub(crate) async fn end(
        &self,
        note: Option<Note>,
        source: &Node,
        creation: Creation,
        create: &CreateOptions,
    ) -> Result<()> {
        let Some(note) = note else {
            return self.create(source, creation, create).await;
        };
        self.check_source(source).await?;
        note.end(&self.target, &creation, create.concurrent_update)
            .await
    }

    /// Returns `true` if the document of the new node exists, as an earlier copy has written it.
    pub(crate) async fn exists(&self, made: &Node) -> Result<bool> {
        let Some((key, text)) = made.documents.first().cloned() else {
            return Ok(true);
        };
        match self
            .target
            .value(&key, made.context.limits.document_bytes)
            .await?
        {
            None => Ok(false),
            Some(existing) if existing == text => Ok(true),
            Some(_) => {
                let what = format!("something else than a copy of it is at \"{}\"", made.path);
                Err(Error::new(ErrorKind::AlreadyExists, what).in_store(|| self.target.name()))
            }
        }
    }
}
