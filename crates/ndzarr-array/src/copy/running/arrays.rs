//! Copies an array, by itself or below a group.

use ndzarr_metadata::{
    CreateOptions, Creation, Existing, Node, check_request, create_array, erase, same_keys,
};

use crate::arrays::chunks::Chunks;
use crate::copy::Run;
use crate::copy::account::{SortedKeys, Sorter};
use crate::copy::planning::plan::{ArrayPlan, NodePlan, NodeWork, UNLISTED};
use crate::copy::report::{CopiedNode, CopyLevel};
use crate::copy::running::chunks::ChunkCopy;
use crate::copy::running::files::Files;
use crate::copy::running::groups::{Hierarchy, own_documents};
use crate::copy::running::temporary::Temporary;
use crate::error::{ErrorKind, Result};
use crate::hierarchy::note::{Begun, Note, TEMPORARY, at_end, chunk_prefix};
use crate::operations::each::Counter;

/// The copy of an array between its note and its documents.
struct BegunArray {
    note: Note,
    when: Begun,
    creation: Creation,
    temporary: Temporary,
}

impl Run<'_> {
    /// Copies an array, by itself or below a group.
    pub(super) async fn array(
        &self,
        mut plan: NodePlan,
        whole: &mut Option<Hierarchy>,
        counter: &Counter,
        found: &mut Option<SortedKeys>,
    ) -> Result<CopiedNode> {
        let NodeWork::Array(array) = &plan.work else {
            return Ok(plan.out);
        };
        if let Some(whole) = whole {
            self.check_own(whole.note.as_ref()).await?;
        }
        if plan.out.level == CopyLevel::Metadata {
            self.array_documents(&plan, array, whole).await?;
            return Ok(plan.out);
        }
        // A group was listed as a whole.
        let mut listed = None;
        if whole.is_none() && array.window.is_none() {
            let sorted = self.sort_array(&plan.node).await?;
            if sorted.is_none() {
                plan.out.notes.push(UNLISTED.to_owned());
            }
            let (units, sorter) = sorted.unzip();
            listed = Some(units);
            *found = sorter.map(Sorter::found);
        }
        let Some(begun) = self.begin_array(&plan, array, whole).await? else {
            plan.out.notes.push("it was there already".to_owned());
            return Ok(plan.out);
        };
        plan.out.n_chunks = self
            .copy_chunks(&plan.node, array, &begun, listed, counter)
            .await?;
        if let (None, Some(found)) = (&whole, &found) {
            let from = erase(&plan.node).prefixes;
            let to = erase(&begun.creation.node).prefixes;
            let files = Files {
                run: self,
                note: Some(&begun.note),
                from: &from,
                to: &to,
                begun: begun.when,
            };
            files.copy(&found.files).await?;
        }
        self.end_array(&plan, array, begun, whole).await?;
        Ok(plan.out)
    }

    /// Writes the documents of an array whose chunks stay where they are.
    async fn array_documents(
        &self,
        plan: &NodePlan,
        array: &ArrayPlan,
        whole: &mut Option<Hierarchy>,
    ) -> Result<()> {
        let creation = self
            .array_creation(plan, array, plan.create.existing)
            .await?;
        self.begin(None, &plan.node, &creation, &plan.create)
            .await?;
        self.check_keys(&plan.node, &creation)?;
        if let Some(whole) = whole {
            whole.add_documents(&creation.node);
        }
        self.create(&plan.node, creation, &plan.create).await
    }

    async fn array_creation(
        &self,
        plan: &NodePlan,
        array: &ArrayPlan,
        existing: Existing,
    ) -> Result<Creation> {
        let create = CreateOptions {
            existing,
            ..plan.create.clone()
        };
        self.conclude(|known| create_array(&plan.path, &array.request, known, &create))
            .await
    }

    /// Begins the copy of an array whose chunks are written, or continues an earlier one; `None` if
    /// an earlier one has ended.
    async fn begin_array(
        &self,
        plan: &NodePlan,
        array: &ArrayPlan,
        whole: &mut Option<Hierarchy>,
    ) -> Result<Option<BegunArray>> {
        let note = self.note(
            &plan.node,
            &check_request(&plan.path, &array.request, &plan.create)?,
            plan.out.level,
        );
        let (note, when) = self.take_over(note).await?;
        let whole_begun = whole.as_ref().map_or(Begun::Now, |whole| whole.begun);
        if when == Begun::Before || whole_begun == Begun::Before {
            let creation = self.array_creation(plan, array, Existing::Replace).await?;
            if self.exists(&creation.node).await? {
                let temporary = self.temporary(note.id(), &creation)?;
                self.forget(note).await?;
                temporary.erase().await?;
                if let Some(whole) = whole {
                    whole.add_documents(&creation.node);
                }
                return Ok(None);
            }
            if when == Begun::Before {
                let temporary = self.temporary(note.id(), &creation)?;
                return Ok(Some(BegunArray {
                    note,
                    when,
                    creation,
                    temporary,
                }));
            }
        }
        let creation = self
            .array_creation(plan, array, plan.create.existing)
            .await?;
        if let Some(replaced) = self
            .begin(Some(&note), &plan.node, &creation, &plan.create)
            .await?
        {
            self.temporary(&replaced, &creation)?.erase().await?;
        }
        let temporary = self.temporary(note.id(), &creation)?;
        Ok(Some(BegunArray {
            note,
            when,
            creation,
            temporary,
        }))
    }

    /// Copies the chunks of an array. Returns how many.
    async fn copy_chunks(
        &self,
        node: &Node,
        array: &ArrayPlan,
        begun: &BegunArray,
        listed: Option<Option<Chunks>>,
        counter: &Counter,
    ) -> Result<u64> {
        let source = self.info(&self.source, node)?;
        let fenced = begun.note.fence(&self.target)?;
        let target = self.info(&fenced, &begun.creation.node)?;
        let fill = match &array.conversion {
            Some(conversion) => conversion.fill(&source.spec().fill_value)?,
            None => source.spec().fill_value.clone(),
        };
        let fill_differs = fill.bytes() != target.spec().fill_value.bytes();
        let chunks = ChunkCopy {
            source,
            target,
            window: array.window.as_ref(),
            conversion: array.conversion.clone(),
            listed,
            fill_differs,
            resumed: begun.when == Begun::Before,
            temporary: &begun.temporary,
            run: &self.options.run,
            counter,
        };
        let copied = match &array.strategy {
            Some(strategy) => chunks.encode(strategy).await,
            None => chunks.copy().await,
        };
        if copied
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::Conflict)
        {
            self.check_own(Some(&begun.note)).await?;
        }
        copied
    }

    /// Writes the documents of an array, and removes what only its copy needed.
    async fn end_array(
        &self,
        plan: &NodePlan,
        array: &ArrayPlan,
        begun: BegunArray,
        whole: &mut Option<Hierarchy>,
    ) -> Result<()> {
        let mut creation = at_end(begun.creation, &plan.create);
        if let Some(whole) = whole {
            whole.add_documents(&creation.node);
            let (own, above) = own_documents(creation);
            creation = own;
            whole.add_above(above);
        }
        self.end(Some(begun.note), &plan.node, creation, &plan.create)
            .await?;
        // To look for temporary chunks takes a list, which not every store has.
        let went_twice = array
            .strategy
            .as_ref()
            .is_some_and(|strategy| strategy.passes() > 1);
        if went_twice || begun.when == Begun::Before {
            begun.temporary.erase().await?;
        }
        Ok(())
    }

    /// Lists the keys of an array that is copied by itself; `None` if the store cannot.
    pub(super) async fn sort_array(&self, node: &Node) -> Result<Option<(Chunks, Sorter)>> {
        let sorter = Sorter::of(node, self.create.format, self.options.other_files);
        sorter.sort_array(&self.info(&self.source, node)?).await
    }

    /// The note of a copy of an array, which will be the node `to`.
    pub(super) fn note(&self, node: &Node, to: &Node, level: CopyLevel) -> Note {
        let mut made = format!("{level:?} {:?}", to.documents);
        if let Some(slices) = &self.options.slices {
            made += &format!(" of {slices:?}");
        }
        Note::new(
            (&self.source, node),
            chunk_prefix(to),
            &made,
            &format!("{:?}", self.options.numbers),
        )
    }

    fn temporary(&self, copy: &str, creation: &Creation) -> Result<Temporary> {
        let Some(place) = &self.options.temporary else {
            let prefix = chunk_prefix(&creation.node);
            return Ok(Temporary {
                storage: self.target.clone(),
                prefix: format!("{prefix}{TEMPORARY}/"),
            });
        };
        Ok(Temporary::at(
            place.clone().locate()?,
            &format!("{TEMPORARY}-{copy}"),
        ))
    }

    pub(super) fn check_keys(&self, node: &Node, creation: &Creation) -> Result<()> {
        let specs = node.kind.array().zip(creation.node.kind.array());
        let same = specs.is_some_and(|(spec, made)| {
            made.keys.prefix == spec.keys.prefix
                && same_keys(made.keys.encoding, spec.keys.encoding, spec.shape.len())
        });
        if same {
            Ok(())
        } else {
            let requests = self.requests(node, &self.create);
            Err(requests.refuse("its chunks need other keys, which needs another target"))
        }
    }
}
