//! Carries out what is planned for each node.

use ndzarr_metadata::{
    CreateOptions, Creation, Document, Existing, ExistingDocument, Known, MetadataError, Node, NodePath,
    Resolved, check_request, create_array, create_group, same_keys,
};

use super::{ArrayPlan, CopiedNode, CopyLevel, CopyReport, Planned, Run, What};
use crate::copy::chunks::Chunks;
use crate::copy::note::{Begun, Note, TEMPORARY};
use crate::copy::temporary::Temporary;
use crate::copy::would_remove;
use crate::each::{Counter, check_cancel};
use crate::error::{Error, ErrorKind, Result};
use crate::nodes;
use crate::storage::{Colour, Storage};

/// What a copy of a group has begun.
struct Hierarchy {
    /// The path of the uppermost group.
    path: NodePath,
    /// The note of the whole, at the uppermost group; `None` for a copy in place.
    note: Option<Note>,
    begun: Begun,
    /// The groups that have no documents yet, from the uppermost down.
    pending: Vec<Pending>,
    /// Documents above nodes that have to be completed once those are there.
    above: Vec<Document>,
}

/// A group whose documents are still to be written.
struct Pending {
    source: Node,
    creation: Creation,
    create: CreateOptions,
}

impl Run<'_> {
    pub(super) async fn carry_out(&self, plans: Vec<Planned>) -> Result<CopyReport> {
        if self.options.dry_run {
            return self.foresee(plans).await;
        }
        let units = plans.iter().map(|plan| match &plan.what {
            What::Array(array) => array.units,
            What::Group(_) => 0,
        });
        let counter = Counter::new(units.fold(0, u64::saturating_add), &self.options.run);
        let mut report = CopyReport::default();
        let mut whole = None;
        for plan in plans {
            check_cancel(&self.options.run)?;
            report.nodes.push(match plan.what {
                What::Group(_) => self.group(plan, &mut whole).await?,
                What::Array(_) => self.array(plan, &mut whole, &counter).await?,
            });
        }
        if let Some(whole) = whole {
            self.end_groups(whole).await?;
        }
        Ok(report)
    }

    /// What would be done, after the checks of the target that are made before anything is written.
    async fn foresee(&self, plans: Vec<Planned>) -> Result<CopyReport> {
        // The others are below the first one.
        if let Some(Planned { node, path, create, what, out }) = plans.first() {
            let creation = match what {
                What::Group(attributes) => {
                    let (attributes, of_new, at) = (attributes.clone(), create.clone(), path.clone());
                    self.conclude(move |known: &Known| create_group(&at, &attributes, known, &of_new)).await?
                }
                What::Array(array) => {
                    let (request, of_new, at) = (array.request.clone(), create.clone(), path.clone());
                    self.conclude(move |known: &Known| create_array(&at, &request, known, &of_new)).await?
                }
            };
            self.check_apart(node, &creation).await?;
            if out.level == CopyLevel::Metadata && matches!(what, What::Array(_)) {
                self.check_keys(node, &creation)?;
            } else if create.existing != Existing::Beside {
                let note = match what {
                    What::Group(_) => self.note_of_group(node, path),
                    What::Array(array) => {
                        self.note(node, &check_request(path, &array.request, create)?, out.level)
                    }
                };
                let (resume, existing) = (self.options.resume, create.existing);
                let check = move |storage: Storage| async move {
                    if resume && note.begun(&storage).await? == Begun::Before {
                        return Ok(());
                    }
                    note.check(&storage, &creation, existing).await.map(drop)
                };
                self.target.ask(self.colour, check).await?;
            }
        }
        let nodes = plans.into_iter().map(|Planned { what, mut out, .. }| {
            if let What::Array(array) = &what {
                out.n_chunks = array.units;
            }
            out
        });
        Ok(CopyReport { nodes: nodes.collect() })
    }

    fn note_of_group(&self, node: &Node, path: &NodePath) -> Note {
        let made = format!("{} {:?}", self.create.format, self.options.layout);
        Note::new((&self.source, node), &path.prefix(), &made, &self.options.numbers)
    }

    /// Refuses to replace what is still to be read, before anything is removed.
    async fn check_apart(&self, node: &Node, creation: &Creation) -> Result<()> {
        if !would_remove(self.colour, &self.target, creation, (&self.source, node)).await? {
            return Ok(());
        }
        let what = format!("the target at {} contains it, or is part of it", creation.node.path);
        Err(self.requests(node, &self.create).refuse(&what))
    }

    async fn conclude(
        &self,
        conclude: impl Fn(&Known) -> Result<Resolved<Creation>, MetadataError> + Send + Sync + 'static,
    ) -> Result<Creation> {
        let limits = self.create.limits;
        let conclude = move |storage: Storage| async move {
            storage.conclude(&mut Known::new(), &limits, conclude).await
        };
        self.target.ask(self.colour, conclude).await
    }

    /// Writes the documents of a node, if its source is what it was.
    async fn create(&self, node: &Node, creation: Creation, create: &CreateOptions) -> Result<()> {
        self.check_source(node).await?;
        let policy = create.concurrent_update;
        let create = move |storage: Storage| async move { storage.create(&creation, policy).await };
        self.target.ask(self.colour, create).await
    }

    /// Fails if the source is not what it was when the copy was planned: it may have been removed, or lie
    /// where the target is, by a name that nothing tells.
    async fn check_source(&self, node: &Node) -> Result<()> {
        let n5_axes = node.context.n5_axes;
        let reads = self.options.open.clone().format(node.format).n5_axes(n5_axes).metadata;
        let path = node.path.clone();
        let open = move |storage: Storage| async move { nodes::open_at(&storage, &path, &reads).await };
        let is = match self.source.ask(self.colour, open).await {
            Ok(now) if now.documents == node.documents => return Ok(()),
            Ok(_) => "changed",
            Err(error) if error.kind() == ErrorKind::NotFound => "was removed",
            Err(error) => return Err(error),
        };
        let what = format!("the source {is} during the copy, which is not complete");
        let document = node.documents.first().map(|(key, _)| &key[..]);
        Err(Error::new(ErrorKind::Conflict, what).in_document(document).in_store(|| self.source.name()))
    }

    /// Begins a group. Its documents come after everything in it.
    async fn group(&self, plan: Planned, whole: &mut Option<Hierarchy>) -> Result<CopiedNode> {
        let Planned { node, path, create, what, out } = plan;
        let What::Group(attributes) = what else { return Ok(out) };
        let is_first = whole.is_none();
        let whole = match whole {
            Some(whole) => {
                self.check_own(whole.note.as_ref()).await?;
                whole
            }
            None => whole.insert(self.hierarchy(&node, &path, &create).await?),
        };
        let goes_on = whole.begun == Begun::Before;
        let existing = if goes_on { Existing::Replace } else { create.existing };
        let new = CreateOptions { existing, ..create.clone() };
        let concluded = move |known: &Known| create_group(&path, &attributes, known, &new);
        let creation = self.conclude(concluded).await?;
        if goes_on && self.is_there(&creation.node).await? {
            return Ok(out);
        }
        if !goes_on {
            self.check_apart(&node, &creation).await?;
            if let Some(note) = whole.note.as_ref().filter(|_| is_first) {
                self.begin(note, &creation, &create).await?;
            }
        }
        whole.pending.push(Pending { source: node, creation: at_end(creation, &create), create });
        Ok(out)
    }

    /// What the copy of a group with everything in it begins, or goes on with.
    async fn hierarchy(&self, node: &Node, path: &NodePath, create: &CreateOptions) -> Result<Hierarchy> {
        let (note, begun) = match create.existing {
            Existing::Beside => (None, Begun::Now),
            _ => {
                let (note, begun) = self.take_over(self.note_of_group(node, path)).await?;
                (Some(note), begun)
            }
        };
        Ok(Hierarchy { path: path.clone(), note, begun, pending: Vec::new(), above: Vec::new() })
    }

    /// Writes the documents of groups, so that each is there once everything in it is.
    async fn end_groups(&self, whole: Hierarchy) -> Result<()> {
        let Hierarchy { path, note, mut pending, above, .. } = whole;
        while let Some(Pending { source, mut creation, create }) = pending.pop() {
            if creation.node.path == path {
                creation.put.extend(above);
                return self.end(note, &source, creation, &create).await;
            }
            self.check_own(note.as_ref()).await?;
            self.create(&source, own_documents(creation).0, &create).await?;
        }
        // The uppermost one was there already.
        match note {
            Some(note) => self.forget(note).await,
            None => Ok(()),
        }
    }

    /// Fails unless the copy of the group that this is a part of is still that of this call.
    async fn check_own(&self, note: Option<&Note>) -> Result<()> {
        let Some(note) = note.cloned() else { return Ok(()) };
        self.target.ask(self.colour, move |storage| async move { note.check_own(&storage).await }).await
    }

    /// Ends a copy whose node exists already.
    async fn forget(&self, note: Note) -> Result<()> {
        self.target.ask(self.colour, move |storage| async move { storage.erase(&note.key).await }).await
    }

    async fn array(
        &self,
        plan: Planned,
        whole: &mut Option<Hierarchy>,
        counter: &Counter,
    ) -> Result<CopiedNode> {
        let Planned { node, path, create, what, mut out } = plan;
        let What::Array(array) = what else { return Ok(out) };
        let ArrayPlan { request, window, conversion, way, .. } = *array;
        let (of_new, at) = (create.clone(), path.clone());
        let asked = request.clone();
        let concluded = move |existing| {
            let (request, of_new, at) = (request.clone(), of_new.clone(), at.clone());
            move |known: &Known| {
                create_array(&at, &request, known, &CreateOptions { existing, ..of_new.clone() })
            }
        };
        if let Some(whole) = whole {
            self.check_own(whole.note.as_ref()).await?;
        }
        if out.level == CopyLevel::Metadata {
            let creation = self.conclude(concluded(create.existing)).await?;
            self.check_apart(&node, &creation).await?;
            self.check_keys(&node, &creation)?;
            self.create(&node, creation, &create).await?;
            return Ok(out);
        }
        let note = self.note(&node, &check_request(&path, &asked, &create)?, out.level);
        let (note, resumed) = self.take_over(note).await?;
        let begun = whole.as_ref().map_or(Begun::Now, |whole| whole.begun);
        let mut creation = None;
        if (begun, resumed) != (Begun::Now, Begun::Now) {
            let there = self.conclude(concluded(Existing::Replace)).await?;
            if self.is_there(&there.node).await? {
                let temporary = self.temporary(note.id(), &there).await?;
                self.forget(note).await?;
                temporary.erase(self.colour).await?;
                out.notes.push("it was there already".to_owned());
                return Ok(out);
            }
            creation = Some(there).filter(|_| resumed == Begun::Before);
        }
        let made = match creation {
            Some(creation) => creation,
            None => {
                let creation = self.conclude(concluded(create.existing)).await?;
                self.check_apart(&node, &creation).await?;
                if let Some(replaced) = self.begin(&note, &creation, &create).await? {
                    self.temporary(&replaced, &creation).await?.erase(self.colour).await?;
                }
                creation
            }
        };
        let temporary = self.temporary(note.id(), &made).await?;
        let target = note.fence(&self.target)?;
        let (source, target) = (self.core(&self.source, &node)?, self.core(&target, &made.node)?);
        let fill = match &conversion {
            Some(conversion) => conversion.fill(&source.spec().fill_value)?,
            None => source.spec().fill_value.clone(),
        };
        let fill_differs = fill.bytes() != target.spec().fill_value.bytes();
        let chunks = Chunks {
            source,
            target,
            window: window.as_ref(),
            conversion,
            fill_differs,
            resumed: resumed == Begun::Before,
            temporary: &temporary,
            run: &self.options.run,
            counter,
            colour: self.colour,
        };
        let copied = match &way {
            Some(way) => chunks.encode(way).await,
            None => chunks.copy().await,
        };
        if copied.as_ref().is_err_and(|error| error.kind() == ErrorKind::Conflict) {
            self.check_own(Some(&note)).await?;
        }
        out.n_chunks = copied?;
        let mut creation = at_end(made, &create);
        if let Some(whole) = whole {
            let (own, above) = own_documents(creation);
            creation = own;
            whole.add_above(above);
        }
        self.end(Some(note), &node, creation, &create).await?;
        // To look for one takes a list, which not every store has.
        let went_twice = way.as_ref().is_some_and(|way| way.passes() > 1);
        if went_twice || resumed == Begun::Before {
            temporary.erase(self.colour).await?;
        }
        Ok(out)
    }

    /// The note of a copy of an array that will be this one.
    fn note(&self, node: &Node, to: &Node, level: CopyLevel) -> Note {
        let prefix = to.kind.array().map(|spec| &*spec.keys.prefix).unwrap_or_default();
        let mut made = format!("{level:?} {:?}", to.documents);
        if let Some(slices) = &self.options.slices {
            made += &format!(" of {slices:?}");
        }
        Note::new((&self.source, node), prefix, &made, &self.options.numbers)
    }

    /// Goes on with a copy that has begun and not ended, if that is asked for.
    async fn take_over(&self, note: Note) -> Result<(Note, Begun)> {
        if !self.options.resume {
            return Ok((note, Begun::Now));
        }
        self.target.ask(self.colour, move |storage| note.take_over(storage)).await
    }

    /// Begins a copy at the place of a new node. The result is the copy that it replaces.
    async fn begin(
        &self,
        note: &Note,
        creation: &Creation,
        create: &CreateOptions,
    ) -> Result<Option<String>> {
        let (note, creation, existing) = (note.clone(), creation.clone(), create.existing);
        self.target.ask(self.colour, move |storage| note.begin(storage, creation, existing)).await
    }

    /// Ends a copy with the documents of its node.
    async fn end(
        &self,
        note: Option<Note>,
        source: &Node,
        creation: Creation,
        create: &CreateOptions,
    ) -> Result<()> {
        let Some(note) = note else { return self.create(source, creation, create).await };
        self.check_source(source).await?;
        let policy = create.concurrent_update;
        self.target.ask(self.colour, move |storage| note.end(storage, creation, policy)).await
    }

    async fn temporary(&self, copy: &str, creation: &Creation) -> Result<Temporary> {
        let Some(place) = &self.options.temporary else {
            let prefix = creation.node.kind.array().map(|spec| &spec.keys.prefix[..]).unwrap_or_default();
            return Ok(Temporary { storage: self.target.clone(), prefix: format!("{prefix}{TEMPORARY}/") });
        };
        let place = place.clone();
        let place = match self.colour {
            Colour::Blocking => place.locate()?,
            Colour::Async => place.located().await?,
        };
        Ok(Temporary::at(place, &format!("{TEMPORARY}-{copy}")))
    }

    fn check_keys(&self, node: &Node, creation: &Creation) -> Result<()> {
        let specs = node.kind.array().zip(creation.node.kind.array());
        let same = specs.is_some_and(|(spec, made)| {
            made.keys.prefix == spec.keys.prefix
                && same_keys(made.keys.encoding, spec.keys.encoding, spec.shape.len())
        });
        match same {
            true => Ok(()),
            false => {
                let requests = self.requests(node, &self.create);
                Err(requests.refuse("its chunks need other keys, which needs another target"))
            }
        }
    }

    /// Whether the document of a node that is to be made is there, as an earlier copy has made it.
    async fn is_there(&self, made: &Node) -> Result<bool> {
        let Some((key, text)) = made.documents.first().cloned() else { return Ok(true) };
        let limit = made.context.limits.document_bytes;
        let ask = move |storage: Storage| async move { storage.document(&key, limit).await };
        match self.target.ask(self.colour, ask).await? {
            None => Ok(false),
            Some((_, there)) if there == text => Ok(true),
            Some(_) => {
                let what = format!("something else than a copy of it is at \"{}\"", made.path);
                Err(Error::new(ErrorKind::AlreadyExists, what).in_store(|| self.target.name()))
            }
        }
    }
}

impl Hierarchy {
    fn add_above(&mut self, documents: Vec<Document>) {
        for document in documents {
            // Those that are only to be there are made with the groups.
            if document.existing == ExistingDocument::Complete && !self.above.contains(&document) {
                self.above.push(document);
            }
        }
    }
}

/// The creation of a node at the end of its copy: what was there was removed, and what another writer has made
/// meanwhile stays.
fn at_end(mut creation: Creation, create: &CreateOptions) -> Creation {
    if create.existing == Existing::Beside {
        return creation;
    }
    (creation.erase, creation.erase_prefixes) = Default::default();
    let document = creation.node.documents.first().map(|(key, _)| key);
    if let Some(put) = creation.put.iter_mut().find(|put| Some(&put.key) == document) {
        put.existing = ExistingDocument::Refuse;
    }
    creation
}

/// The creation of a node without the documents above it, and these.
fn own_documents(mut creation: Creation) -> (Creation, Vec<Document>) {
    let is_own = |document: &Document| {
        matches!(document.existing, ExistingDocument::Refuse | ExistingDocument::Replace)
    };
    let (own, above) = std::mem::take(&mut creation.put).into_iter().partition(is_own);
    creation.put = own;
    (creation, above)
}
