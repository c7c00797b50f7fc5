//! Carries out what is planned for each node.

use ndzarr_metadata::{
    CreateOptions, Creation, Existing, Known, MetadataError, Node, NodePath, Resolved, check_request,
    create_array, create_group, erase, key_prefixes, same_keys,
};

use crate::arrays::chunks::Chunks;
use crate::copy::Run;
use crate::copy::account::{SortedKeys, Sorter};
use crate::copy::planning::plan::{ArrayPlan, NodePlan, NodeWork, Plan, UNLISTED};
use crate::copy::report::{CopiedNode, CopyLevel, CopyReport};
use crate::copy::running::chunks::ChunkCopy;
use crate::copy::running::files::Files;
use crate::copy::running::groups::{Hierarchy, own_documents};
use crate::copy::running::temporary::Temporary;
use crate::creating::replaces_source::would_remove;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::find_node;
use crate::hierarchy::note::{Begun, Note, TEMPORARY, at_end};
use crate::operations::each::{Counter, check_cancel};

/// The copy of an array between its note and its documents.
struct BegunArray {
    note: Note,
    when: Begun,
    creation: Creation,
    temporary: Temporary,
}

impl Run<'_> {
    /// Copies as planned.
    pub(crate) async fn carry_out(&self, plan: Plan) -> Result<CopyReport> {
        let Plan { nodes: plans, not_copied, mut found } = plan;
        if self.options.dry_run {
            let nodes = self.foresee(plans, &mut found).await?;
            return Ok(CopyReport { nodes, not_copied, account: found.map(|found| found.account) });
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
                NodeWork::Array(_) => Box::pin(self.array(plan, &mut whole, &counter, &mut found)).await?,
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
        Ok(CopyReport { nodes, not_copied, account: found.map(|found| found.account) })
    }

    /// What would be done, after the checks of the target that are made before anything is written.
    async fn foresee(&self, plans: Vec<NodePlan>, found: &mut Option<SortedKeys>) -> Result<Vec<CopiedNode>> {
        if let [NodePlan { node, work: NodeWork::Array(array), out, .. }] = &plans[..]
            && out.level != CopyLevel::Metadata
            && array.window.is_none()
        {
            let sorted = self.sort_array(node).await?;
            *found = sorted.map(|(_, sorter)| sorter.found());
        }
        // The others are below the first one.
        if let Some(NodePlan { node, path, create, work, out }) = plans.first() {
            let creation = match work {
                NodeWork::Group(group) => {
                    let attributes = group.attributes.clone();
                    let of_new = create.clone();
                    let at = path.clone();
                    self.conclude(move |known: &Known| create_group(&at, &attributes, known, &of_new)).await?
                }
                NodeWork::Array(array) => {
                    let request = array.request.clone();
                    let of_new = create.clone();
                    let at = path.clone();
                    self.conclude(move |known: &Known| create_array(&at, &request, known, &of_new)).await?
                }
                // It is below a group.
                NodeWork::Files => return Ok(Vec::new()),
            };
            self.check_apart(node, &creation).await?;
            if out.level == CopyLevel::Metadata && matches!(work, NodeWork::Array(_)) {
                self.check_keys(node, &creation)?;
            } else if create.existing != Existing::Beside {
                let note = match work {
                    NodeWork::Group(_) | NodeWork::Files => self.note_of_group(node, path),
                    NodeWork::Array(array) => {
                        self.note(node, &check_request(path, &array.request, create)?, out.level)
                    }
                };
                let goes_on = self.options.resume && note.begun(&self.target).await? == Begun::Before;
                if !goes_on {
                    note.check(&self.target, &creation, create.existing).await?;
                }
            }
        }
        let nodes = plans.into_iter().map(|NodePlan { work, mut out, .. }| {
            if let NodeWork::Array(array) = &work {
                out.n_chunks = array.units;
            }
            out
        });
        Ok(nodes.collect())
    }

    /// Lists what an array that is copied by itself has; `None` if that is not possible.
    async fn sort_array(&self, node: &Node) -> Result<Option<(Chunks, Sorter)>> {
        let sorter = Sorter::of(node, self.create.format, self.options.other_files);
        sorter.sort_array(&self.info(&self.source, node)?).await
    }

    pub(crate) fn note_of_group(&self, node: &Node, path: &NodePath) -> Note {
        let made = format!("{} {:?}", self.create.format, self.options.layout);
        Note::new((&self.source, node), &path.prefix(), &made, &format!("{:?}", self.options.numbers))
    }

    /// Refuses to replace what is still to be read, before anything is removed.
    async fn check_apart(&self, node: &Node, creation: &Creation) -> Result<()> {
        if !would_remove(&self.target, creation, (&self.source, node)).await? {
            return Ok(());
        }
        let what = format!("the target at {} contains it, or is part of it", creation.node.path);
        Err(self.requests(node, &self.create).refuse(&what))
    }

    pub(crate) async fn conclude(
        &self,
        conclude: impl Fn(&Known) -> Result<Resolved<Creation>, MetadataError> + Send + Sync,
    ) -> Result<Creation> {
        self.target.conclude(&mut Known::new(), &self.create.limits, conclude).await
    }

    /// Writes the documents of a node, if its source is what it was.
    pub(crate) async fn create(&self, node: &Node, creation: Creation, create: &CreateOptions) -> Result<()> {
        self.check_source(node).await?;
        match create.existing {
            Existing::Beside => self.target.create(&creation, create.concurrent_update).await,
            _ => self.target.create_noted(&creation, create.concurrent_update).await,
        }
    }

    /// Fails if the source is not what it was when the copy was planned: it may have been removed, or lie
    /// where the target is, by a name that nothing tells.
    async fn check_source(&self, node: &Node) -> Result<()> {
        if find_node::is_folder(node) {
            return Ok(());
        }
        let n5_axes = node.context.n5_axes;
        let reads = self.options.open.clone().format(node.format).n5_axes(n5_axes).metadata;
        let is = match find_node::open_at(&self.source, &node.path, &reads).await {
            Ok(now) if now.documents == node.documents => return Ok(()),
            Ok(_) => "changed",
            Err(error) if error.kind() == ErrorKind::NotFound => "was removed",
            Err(error) => return Err(error),
        };
        let what = format!("the source {is} during the copy, which is not complete");
        let document = node.documents.first().map(|(key, _)| &key[..]);
        Err(Error::new(ErrorKind::Conflict, what).in_document(document).in_store(|| self.source.name()))
    }

    /// Fails unless the copy of the group that this is a part of is still that of this call.
    pub(crate) async fn check_own(&self, note: Option<&Note>) -> Result<()> {
        match note {
            Some(note) => note.check_own(&self.target).await,
            None => Ok(()),
        }
    }

    /// Ends a copy whose node exists already.
    pub(crate) async fn forget(&self, note: Note) -> Result<()> {
        self.target.erase(&note.key).await
    }

    /// Copies an array, by itself or below a group.
    async fn array(
        &self,
        mut plan: NodePlan,
        whole: &mut Option<Hierarchy>,
        counter: &Counter,
        found: &mut Option<SortedKeys>,
    ) -> Result<CopiedNode> {
        let NodeWork::Array(array) = &plan.work else { return Ok(plan.out) };
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
        plan.out.n_chunks = self.copy_chunks(&plan.node, array, &begun, listed, counter).await?;
        if let (None, Some(found)) = (&whole, &found) {
            let from = erase(&plan.node).prefixes;
            let to = erase(&begun.creation.node).prefixes;
            let files = Files { run: self, note: Some(&begun.note), from: &from, to: &to, begun: begun.when };
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
        let creation = self.array_creation(plan, array, plan.create.existing).await?;
        self.begin(None, &plan.node, &creation, &plan.create).await?;
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
        let create = CreateOptions { existing, ..plan.create.clone() };
        self.conclude(|known| create_array(&plan.path, &array.request, known, &create)).await
    }

    /// Begins the copy of an array whose chunks are written, or goes on with an earlier one; `None`
    /// if an earlier one has ended.
    async fn begin_array(
        &self,
        plan: &NodePlan,
        array: &ArrayPlan,
        whole: &mut Option<Hierarchy>,
    ) -> Result<Option<BegunArray>> {
        let note =
            self.note(&plan.node, &check_request(&plan.path, &array.request, &plan.create)?, plan.out.level);
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
                return Ok(Some(BegunArray { note, when, creation, temporary }));
            }
        }
        let creation = self.array_creation(plan, array, plan.create.existing).await?;
        if let Some(replaced) = self.begin(Some(&note), &plan.node, &creation, &plan.create).await? {
            self.temporary(&replaced, &creation)?.erase().await?;
        }
        let temporary = self.temporary(note.id(), &creation)?;
        Ok(Some(BegunArray { note, when, creation, temporary }))
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
        if copied.as_ref().is_err_and(|error| error.kind() == ErrorKind::Conflict) {
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
        self.end(Some(begun.note), &plan.node, creation, &plan.create).await?;
        // To look for one takes a list, which not every store has.
        let went_twice = array.strategy.as_ref().is_some_and(|strategy| strategy.passes() > 1);
        if went_twice || begun.when == Begun::Before {
            begun.temporary.erase().await?;
        }
        Ok(())
    }

    /// The note of a copy of an array that will be this one.
    fn note(&self, node: &Node, to: &Node, level: CopyLevel) -> Note {
        let prefix = to.kind.array().map(|spec| &*spec.keys.prefix).unwrap_or_default();
        let mut made = format!("{level:?} {:?}", to.documents);
        if let Some(slices) = &self.options.slices {
            made += &format!(" of {slices:?}");
        }
        Note::new((&self.source, node), prefix, &made, &format!("{:?}", self.options.numbers))
    }

    /// Goes on with a copy that has begun and not ended, if that is asked for.
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
        let Some(note) = note else { return self.create(source, creation, create).await };
        self.check_source(source).await?;
        note.end(&self.target, &creation, create.concurrent_update).await
    }

    fn temporary(&self, copy: &str, creation: &Creation) -> Result<Temporary> {
        let Some(place) = &self.options.temporary else {
            let prefix = creation.node.kind.array().map(|spec| &spec.keys.prefix[..]).unwrap_or_default();
            return Ok(Temporary { storage: self.target.clone(), prefix: format!("{prefix}{TEMPORARY}/") });
        };
        Ok(Temporary::at(place.clone().locate()?, &format!("{TEMPORARY}-{copy}")))
    }

    fn check_keys(&self, node: &Node, creation: &Creation) -> Result<()> {
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

    /// Returns `true` if the document of a node that is to be made exists, as an earlier copy has
    /// made it.
    pub(crate) async fn exists(&self, made: &Node) -> Result<bool> {
        let Some((key, text)) = made.documents.first().cloned() else { return Ok(true) };
        match self.target.value(&key, made.context.limits.document_bytes).await? {
            None => Ok(false),
            Some(there) if there == text => Ok(true),
            Some(_) => {
                let what = format!("something else than a copy of it is at \"{}\"", made.path);
                Err(Error::new(ErrorKind::AlreadyExists, what).in_store(|| self.target.name()))
            }
        }
    }
}
