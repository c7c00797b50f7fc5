//! Carries out what is planned for each node.

use ndzarr_metadata::{
    CreateOptions, Creation, Existing, Known, MetadataError, Node, NodePath, Resolved, check_request,
    create_array, create_group, same_keys,
};

use super::{ArrayPlan, CopiedNode, CopyLevel, CopyReport, Planned, Run, What};
use crate::copy::chunks::Chunks;
use crate::copy::note::{Begun, Note, TEMPORARY};
use crate::copy::temporary::Temporary;
use crate::copy::way::Way;
use crate::copy::would_remove;
use crate::each::{Counter, check_cancel};
use crate::error::{Error, ErrorKind, Result};
use crate::nodes;
use crate::storage::{Colour, Storage};

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
        // Whether nodes may be those of an earlier copy, and the note that says so.
        let (mut begun, mut of_group) = (Begun::Now, None);
        for plan in plans {
            check_cancel(&self.options.run)?;
            report.nodes.push(match plan.what {
                What::Group(_) => self.group(plan, &mut begun, &mut of_group).await?,
                What::Array(_) => self.array(plan, begun, &counter).await?,
            });
        }
        if let Some(note) = of_group {
            self.erase(&note).await?;
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
                if self.begun(&note).await? == Begun::Now {
                    let existing = create.existing;
                    let check = move |storage: Storage| async move {
                        note.check(&storage, &creation, existing).await
                    };
                    self.target.ask(self.colour, check).await?;
                }
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
        Note::new((&self.source, node), path.prefix(), made, &self.options.numbers)
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

    async fn erase(&self, note: &Note) -> Result<()> {
        let key = note.key.clone();
        self.target.ask(self.colour, move |storage| async move { storage.erase(&key).await }).await
    }

    async fn group(
        &self,
        plan: Planned,
        begun: &mut Begun,
        of_group: &mut Option<Note>,
    ) -> Result<CopiedNode> {
        let Planned { node, path, create, what, out } = plan;
        let What::Group(attributes) = what else { return Ok(out) };
        let (of_new, at) = (create.clone(), path.clone());
        let concluded = move |existing| {
            let (attributes, of_new, at) = (attributes.clone(), of_new.clone(), at.clone());
            move |known: &Known| {
                create_group(&at, &attributes, known, &CreateOptions { existing, ..of_new.clone() })
            }
        };
        // The others are below the first one.
        let is_first = of_group.is_none() && create.existing != Existing::Beside;
        if is_first {
            let note = self.note_of_group(&node, &path);
            *begun = self.begun(&note).await?;
            *of_group = Some(note);
        }
        if *begun == Begun::Before {
            let creation = self.conclude(concluded(Existing::Replace)).await?;
            if !self.is_there(&creation.node).await? {
                self.create(&node, without_removal(creation), &create).await?;
            }
            return Ok(out);
        }
        let creation = self.conclude(concluded(create.existing)).await?;
        self.check_apart(&node, &creation).await?;
        let Some(note) = of_group.as_ref().filter(|_| is_first) else {
            self.create(&node, creation, &create).await?;
            return Ok(out);
        };
        self.begin(note, &creation, &create).await?;
        self.create(&node, without_removal(creation), &create).await?;
        Ok(out)
    }

    async fn array(&self, plan: Planned, begun: Begun, counter: &Counter) -> Result<CopiedNode> {
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
        if out.level == CopyLevel::Metadata {
            let creation = self.conclude(concluded(create.existing)).await?;
            self.check_apart(&node, &creation).await?;
            self.check_keys(&node, &creation)?;
            self.create(&node, creation, &create).await?;
            return Ok(out);
        }
        let note = self.note(&node, &check_request(&path, &asked, &create)?, out.level);
        let mut resumed = self.begun(&note).await?;
        if (begun, resumed) != (Begun::Now, Begun::Now) {
            let creation = self.conclude(concluded(Existing::Replace)).await?;
            if self.is_there(&creation.node).await? {
                self.end(&note, &creation).await?;
                out.notes.push("it was there already".to_owned());
                return Ok(out);
            }
        }
        let creation = match resumed {
            Begun::Before => self.conclude(concluded(Existing::Replace)).await?,
            Begun::Now => {
                let creation = self.conclude(concluded(create.existing)).await?;
                self.check_apart(&node, &creation).await?;
                // Another call may have begun the same meanwhile.
                resumed = self.begin(&note, &creation, &create).await?;
                creation
            }
        };
        let creation = without_removal(creation);
        let temporary = self.temporary(&note, &creation).await?;
        if resumed == Begun::Now && matches!(way, Some(Way::Twice(..))) {
            // Of a copy with the same note that was given up, perhaps of other elements.
            temporary.erase(self.colour).await?;
        }
        let (source, target) = (self.core(&self.source, &node)?, self.core(&self.target, &creation.node)?);
        let fill = match &conversion {
            Some(conversion) => conversion.fill(&source.spec().fill_value)?,
            None => source.spec().fill_value.clone(),
        };
        let fill_differs = !out.losses.is_empty() && fill.bytes() != target.spec().fill_value.bytes();
        if fill_differs && out.level != CopyLevel::Reencoded {
            let what = "chunks that are not stored would get another fill value";
            return Err(self.requests(&node, &create).refuse(what));
        }
        let chunks = Chunks {
            source,
            target,
            window: window.as_ref(),
            conversion,
            fill_differs,
            resumed: resumed == Begun::Before,
            temporary: &temporary,
            note: &note,
            run: &self.options.run,
            counter,
            colour: self.colour,
        };
        out.n_chunks = match &way {
            Some(way) => chunks.encode(way).await?,
            None => chunks.copy().await?,
        };
        self.create(&node, creation.clone(), &create).await?;
        self.end(&note, &creation).await?;
        Ok(out)
    }

    /// The note of a copy of an array that will be this one.
    fn note(&self, node: &Node, to: &Node, level: CopyLevel) -> Note {
        let prefix = to.kind.array().map(|spec| spec.keys.prefix.clone()).unwrap_or_default();
        let mut made = format!("{level:?} {:?}", to.documents);
        if let Some(slices) = &self.options.slices {
            made += &format!(" of {slices:?}");
        }
        Note::new((&self.source, node), prefix, made, &self.options.numbers)
    }

    /// Whether the note of a copy is there that is to be resumed.
    async fn begun(&self, note: &Note) -> Result<Begun> {
        if !self.options.resume {
            return Ok(Begun::Now);
        }
        let note = note.clone();
        self.target.ask(self.colour, move |storage| async move { note.begun(&storage).await }).await
    }

    /// Begins a copy at the place of a new node.
    async fn begin(&self, note: &Note, creation: &Creation, create: &CreateOptions) -> Result<Begun> {
        let (note, creation, existing) = (note.clone(), creation.clone(), create.existing);
        let begin = move |storage: Storage| async move { note.begin(storage, creation, existing).await };
        self.target.ask(self.colour, begin).await
    }

    /// Removes what a copy has left beside the array. The note goes first: as long as it is there,
    /// the temporary array is whole.
    async fn end(&self, note: &Note, creation: &Creation) -> Result<()> {
        self.erase(note).await?;
        self.temporary(note, creation).await?.erase(self.colour).await
    }

    async fn temporary(&self, note: &Note, creation: &Creation) -> Result<Temporary> {
        let Some(place) = &self.options.temporary else {
            let prefix = creation.node.kind.array().map(|spec| &spec.keys.prefix[..]).unwrap_or_default();
            return Ok(Temporary { storage: self.target.clone(), prefix: format!("{prefix}{TEMPORARY}/") });
        };
        let place = place.clone();
        let place = match self.colour {
            Colour::Blocking => place.locate()?,
            Colour::Async => place.located().await?,
        };
        Ok(Temporary::at(place, &format!("{TEMPORARY}-{}", note.id())))
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

/// The creation of a node at a place that is free.
fn without_removal(creation: Creation) -> Creation {
    Creation { erase: Vec::new(), erase_prefixes: Vec::new(), ..creation }
}
