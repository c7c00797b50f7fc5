//! Converts arrays and hierarchies to another format.

mod apart;
mod chunks;
mod compressors;
mod options;

use std::fmt::Display;
use std::sync::Arc;

use ndzarr_metadata::{
    ArrayRequest, CodecRequest, CreateOptions, Creation, Erasure, Existing, FillRequest, KeptKeys, Known,
    MemberKind, MetadataError, Node, NodeKind, NodePath, OpenOptions, Order, Wanted, check_request,
    create_array, create_group, dimension_attributes, erase, fill_request, keep_chunks,
    non_finite_attributes, same_keys,
};
use ndzarr_model::{ArraySpec, Attributes};

use crate::convert::apart::Asked;
use crate::convert::chunks::Chunks;
use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::located::Located;
use crate::nodes;
use crate::place::Place;
use crate::storage::{Colour, Storage};

pub use options::{ConvertLevel, ConvertOptions, ConvertReport, ConvertedNode, Loss};

/// Rewrites an array, or a group with everything below it, in another format.
///
/// Each array is converted in the cheapest way possible. If source and target have the same path
/// and store, and the target format can describe the existing chunks, only new documents are
/// written beside the old ones (Zarr v2 to v3, with filters as codecs `numcodecs.*`; N5 to v3 by
/// the codec `n5_default`). Otherwise, in another place, chunks are copied byte for byte if the
/// format allows it. Otherwise the elements are read and written again with the source's compressor
/// and without its filters; each thread then holds one chunk or shard in memory at a time. Chunks
/// that are not stored stay so. Chunks are written before the document that makes the array
/// visible. The source must not be written to meanwhile.
///
/// # Errors
/// Nothing is at the source; something is at the target or, with [`Existing::Replace`], the target
/// overlaps the source; the format cannot express the source, and [`Loss::Record`] was not set; a
/// costlier level than `at_most` is needed; a chunk is corrupt; a store fails; the call was
/// cancelled. Nodes converted before the error remain.
///
/// ```
/// use ndzarr_array::{Array, ConvertLevel, ConvertOptions, Format, convert};
/// use ndzarr_store::MemoryStore;
///
/// let store = MemoryStore::new();
/// Array::<u16>::builder([6]).chunks([4]).format(Format::Zarr2).create((&store, "a"))?.fill([0..6], 7)?;
///
/// // In place: a `zarr.json` beside the `.zarray`.
/// let report = convert((&store, "a"), (&store, "a"), &ConvertOptions::new(Format::Zarr3))?;
/// assert_eq!(report.nodes[0].level, ConvertLevel::Metadata);
/// let a = Array::<u16>::open((&store, "a"))?;
/// assert_eq!((a.format(), a.read(..)?.sum()), (Format::Zarr3, 42));
///
/// // Elsewhere: N5 blocks have headers, so the elements are encoded again.
/// let other = MemoryStore::new();
/// let report = convert((&store, "a"), (&other, "b"), &ConvertOptions::new(Format::N5))?;
/// assert_eq!(report.nodes[0].level, ConvertLevel::Reencoded);
/// assert_eq!(Array::<u16>::open((&other, "b"))?.read(..)?.sum(), 42);
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
pub fn convert(
    source: impl Into<Place>,
    target: impl Into<Place>,
    options: &ConvertOptions,
) -> Result<ConvertReport> {
    let (source, target) = (source.into().locate()?, target.into().locate()?);
    let (from, to) = (source.storage.clone(), target.storage.clone());
    let converted = convert_by(source, target, options, Colour::Blocking);
    from.wait(async { to.wait_change(options.run.cancel.as_ref(), converted) })
}

/// Like [`convert`], blocking or not.
pub(crate) async fn convert_by(
    source: Located,
    target: Located,
    options: &ConvertOptions,
    colour: Colour,
) -> Result<ConvertReport> {
    target.check(options.create.format)?;
    let target_path = NodePath::new(&target.path)?;
    let from = source.storage.clone();
    let reads = options.open.metadata.clone();
    let (found, root, _) =
        from.ask(colour, move |_| async move { nodes::find(source, &reads).await }).await?;
    let run = Run { source: found, target: target.storage, options, colour };
    let mut report = ConvertReport::default();
    // From here on nodes are read in the detected format, even if there are new documents beside
    // the old ones.
    let open = options.open.clone().format(root.format).n5_axes(root.context.n5_axes);
    if root.kind.array().is_some() {
        report.nodes.push(run.array(root, &target_path).await?);
        return Ok(report);
    }
    let place = Place::from((&run.source, root.path.as_str())).locate()?;
    let reads = open.clone();
    let below = run.source.ask(colour, move |_| async move { reads.group(place).await?.walk().await });
    let below = below.await?;
    report.nodes.push(run.group(&root, &target_path).await?);
    for child in below {
        let target = NodePath::new(&format!("{}{}", target_path.prefix(), child.path))?;
        let path = format!("{}{}", root.path.prefix(), child.path);
        let wanted = if child.kind == MemberKind::Array { Wanted::Array } else { Wanted::Group };
        let reads = OpenOptions { wanted, ..open.metadata.clone() };
        let node =
            run.source.ask(colour, move |storage| async move { nodes::open(&storage, &path, &reads).await });
        let node = node.await?;
        report.nodes.push(match child.kind {
            MemberKind::Array => run.array(node, &target).await?,
            MemberKind::Group => run.group(&node, &target).await?,
        });
    }
    Ok(report)
}

struct Run<'o> {
    source: Storage,
    target: Storage,
    options: &'o ConvertOptions,
    colour: Colour,
}

impl Run<'_> {
    /// Options for creating nodes: beside the source, if that is the target.
    fn create_options(&self, node: &Node, is_same: bool) -> CreateOptions {
        let mut create = self.options.create.clone();
        create.attributes_of = Some(Arc::new(node.clone()));
        create.concurrent_update = self.options.run.concurrent_update;
        if is_same {
            create.existing = Existing::Beside;
        }
        create
    }

    /// Whether a node of the source is at the same path of the target itself.
    async fn is_same(&self, node: &Node, path: &NodePath) -> Result<bool> {
        if node.path != *path {
            return Ok(false);
        }
        match node.documents.first() {
            Some((key, _)) => {
                let source = Asked(self.colour, &self.source);
                match source.document(key).await? {
                    Some(pin) => Asked(self.colour, &self.target).has(key, &pin).await,
                    None => Ok(false),
                }
            }
            // A group without documents exists wherever there is something below it.
            None => {
                let [source, target] = [&self.source, &self.target].map(|it| Asked(self.colour, it));
                apart::shares_below(&source, &target, &node.path.prefix()).await
            }
        }
    }

    /// Refuses to replace what is still to be read, before anything is removed.
    async fn check_apart(&self, node: &Node, creation: &Creation) -> Result<()> {
        let (reads, removes) = (erase(node), removal(creation));
        let [source, target] = [&self.source, &self.target].map(|it| Asked(self.colour, it));
        if removes == Erasure::default() || !apart::overlap((&source, &reads), (&target, &removes)).await? {
            return Ok(());
        }
        Err(self.refuse(node, &format!("the target at {} contains it, or is part of it", creation.node.path)))
    }

    async fn conclude(
        &self,
        conclude: impl Fn(&Known) -> Result<ndzarr_metadata::Resolved<Creation>, MetadataError>
        + Send
        + Sync
        + 'static,
    ) -> Result<Creation> {
        let limits = self.options.create.limits;
        let conclude = move |storage: Storage| async move {
            storage.conclude(&mut Known::new(), &limits, conclude).await
        };
        self.target.ask(self.colour, conclude).await
    }

    /// Writes the documents of a node.
    async fn create(&self, creation: Creation, create: &CreateOptions) -> Result<()> {
        let policy = create.concurrent_update;
        let create = move |storage: Storage| async move { storage.create(&creation, policy).await };
        self.target.ask(self.colour, create).await
    }

    async fn group(&self, node: &Node, path: &NodePath) -> Result<ConvertedNode> {
        self.check_cancel()?;
        let create = self.create_options(node, self.is_same(node, path).await?);
        let mut losses = Vec::new();
        let nothing = |attributes: &Attributes| {
            // Attributes are checked with an array, which reserves more of them.
            let mut request = ArrayRequest::new(vec![1], vec![1], ndzarr_model::DataType::UInt { bits: 8 });
            request.attributes.clone_from(attributes);
            check_request(&NodePath::root(), &request, &create).map(drop)
        };
        let attributes = self.attributes(node, &node.attributes, &mut losses, &nothing)?;
        let (of_new, at) = (create.clone(), path.clone());
        let creation = self.conclude(move |known| create_group(&at, &attributes, known, &of_new)).await?;
        self.check_apart(node, &creation).await?;
        self.create(creation, &create).await?;
        Ok(converted(node, path, MemberKind::Group, losses))
    }

    async fn array(&self, node: Node, path: &NodePath) -> Result<ConvertedNode> {
        self.check_cancel()?;
        let is_same = self.is_same(&node, path).await?;
        let create = self.create_options(&node, is_same);
        let Some(spec) = node.kind.array() else { return Err(nodes::not_a("an array", &node, &self.source)) };
        let mut out = converted(&node, path, MemberKind::Array, Vec::new());

        let keys = if is_same { KeptKeys::Same } else { KeptKeys::Usual };
        let kept = keep_chunks(spec, &create, keys);
        out.level = match &kept {
            Some(_) if is_same => ConvertLevel::Metadata,
            Some(_) => ConvertLevel::Rekeyed,
            None => ConvertLevel::Reencoded,
        };
        if is_same && kept.is_none() {
            return Err(self.refuse(&node, "its chunks have to be encoded again, which needs another target"));
        }
        if out.level > self.options.at_most {
            let what = format!("it would be {:?}, but only {:?} is allowed", out.level, self.options.at_most);
            return Err(self.refuse(&node, &what));
        }
        let mut request = match kept {
            Some(request) => request,
            None => self.anew(&node, spec, &create, &mut out.notes)?,
        };
        self.rest(&node, spec, &create, &mut request, &mut out)?;

        let (of_new, at) = (create.clone(), path.clone());
        let creation = self.conclude(move |known| create_array(&at, &request, known, &of_new)).await?;
        self.check_apart(&node, &creation).await?;
        let Some(made) = creation.node.kind.array() else {
            return Err(self.refuse(&node, "it is not an array"));
        };
        match out.level {
            ConvertLevel::Metadata => {
                let ndim = spec.shape.len();
                let same = made.keys.prefix == spec.keys.prefix
                    && same_keys(made.keys.encoding, spec.keys.encoding, ndim);
                if !same {
                    return Err(self.refuse(&node, "its chunks need other keys, which needs another target"));
                }
                self.create(creation, &create).await?;
            }
            ConvertLevel::Rekeyed | ConvertLevel::Reencoded => {
                let removed = removal(&creation);
                self.target
                    .ask(self.colour, move |storage| async move { storage.remove(&removed).await })
                    .await?;
                let creation = Creation { erase: Vec::new(), erase_prefixes: Vec::new(), ..creation };
                let registry = &self.options.open.registry;
                let source = Core::new(self.source.clone(), node, registry)?;
                let target = Core::new(self.target.clone(), creation.node.clone(), registry)?;
                let unstored = !out.losses.is_empty()
                    && source.spec().fill_value.bytes() != target.spec().fill_value.bytes();
                if unstored && out.level != ConvertLevel::Reencoded {
                    return Err(
                        self.refuse(&source.node, "chunks that are not stored would get another fill value")
                    );
                }
                let chunks = Chunks { source, target, run: &self.options.run, colour: self.colour };
                out.n_chunks = match out.level {
                    ConvertLevel::Reencoded => chunks.encode(unstored).await?,
                    _ => chunks.copy().await?,
                };
                self.create(creation, &create).await?;
            }
        }
        Ok(out)
    }

    /// The request for an array whose chunks are encoded again.
    fn anew(
        &self,
        node: &Node,
        spec: &ArraySpec,
        create: &CreateOptions,
        notes: &mut Vec<String>,
    ) -> Result<ArrayRequest> {
        let mut request = ArrayRequest::like(spec);
        let (mut codecs, mut shapes) = (&spec.codecs[..], Vec::new());
        if let Some((inner, of_inner)) = spec.inner_chunks().pop() {
            codecs = of_inner;
            shapes.push((inner.clone(), Some(spec.chunk_shape.clone())));
            shapes.push((inner, None));
        }
        shapes.push((spec.chunk_shape.iter().map(|&n| n.max(1)).collect(), None));
        let compressors = compressors::candidates(codecs);
        let mut why = None;
        for (chunk_shape, shard_shape) in shapes {
            for (i, compressor) in compressors.iter().enumerate() {
                request.chunk_shape.clone_from(&chunk_shape);
                request.shard_shape.clone_from(&shard_shape);
                request.codecs = CodecRequest::Neutral(compressor.clone());
                request.order = Order::C;
                match check_request(&NodePath::root(), &request, create) {
                    Ok(_) => {
                        if i > 0 {
                            let names: Vec<&str> =
                                compressor.iter().map(|codec| codec.config.name()).collect();
                            notes.push(format!("chunks are encoded with [{}]", names.join(", ")));
                        }
                        return Ok(request);
                    }
                    Err(error) => why = Some(error),
                }
            }
        }
        Err(self.refuse(node, &why.map(|error| error.to_string()).unwrap_or_default()))
    }

    /// Fill value, names and attributes, as far as the format supports them.
    fn rest(
        &self,
        node: &Node,
        spec: &ArraySpec,
        create: &CreateOptions,
        request: &mut ArrayRequest,
        out: &mut ConvertedNode,
    ) -> Result<()> {
        let check = |request: &ArrayRequest| check_request(&NodePath::root(), request, create).map(drop);
        request.fill_value = fill_request(spec, create.format);
        if let Err(error) = check(request) {
            self.lose(node, "the fill value", &error, &mut out.losses)?;
            request.fill_value = FillRequest::Zero;
        }
        if !spec.fill_value.is_defined() && request.fill_value != FillRequest::Undefined {
            let is = if spec.fill_value.is_zero() { "zero" } else { "what null is read as" };
            out.notes.push(format!("the fill value was null and is {is}"));
        }
        let mut attributes = node.attributes.clone();
        if let Some(names) = &spec.dimension_names {
            request.dimension_names = Some(names.clone());
            match check(request) {
                // The names are stored in only one place.
                Ok(()) => {
                    for name in dimension_attributes(node.format) {
                        attributes.remove(*name);
                    }
                }
                Err(error) => {
                    request.dimension_names = None;
                    let is_attribute =
                        dimension_attributes(node.format).iter().any(|name| attributes.contains_key(*name));
                    if is_attribute {
                        out.notes.push("dimension names are an attribute".to_owned());
                    } else {
                        self.lose(node, "the dimension names", &error, &mut out.losses)?;
                    }
                }
            }
        }
        let base = request.clone();
        let try_with = |attributes: &Attributes| {
            let mut request = base.clone();
            request.attributes.clone_from(attributes);
            check(&request)
        };
        request.attributes = self.attributes(node, &attributes, &mut out.losses, &try_with)?;
        Ok(check(request)?)
    }

    /// The attributes that the format can express.
    fn attributes(
        &self,
        node: &Node,
        attributes: &Attributes,
        losses: &mut Vec<String>,
        check: &dyn Fn(&Attributes) -> Result<(), MetadataError>,
    ) -> Result<Attributes> {
        for name in non_finite_attributes(node).iter().filter(|name| attributes.contains_key(*name)) {
            let why = "it contains a number that JSON cannot express, which becomes a string";
            self.lose(node, &format!("the attribute {name:?}"), &why, losses)?;
        }
        if check(attributes).is_ok() {
            return Ok(attributes.clone());
        }
        let mut kept = Attributes::new();
        for (name, value) in attributes {
            match check(&Attributes::from_iter([(name.clone(), value.clone())])) {
                Ok(()) => drop(kept.insert(name.clone(), value.clone())),
                Err(error) => self.lose(node, &format!("the attribute {name:?}"), &error, losses)?,
            }
        }
        Ok(kept)
    }

    fn lose(&self, node: &Node, what: &str, why: &dyn Display, losses: &mut Vec<String>) -> Result<()> {
        let what = format!("{what}: {why}");
        match self.options.loss {
            Loss::Record => {
                losses.push(what);
                Ok(())
            }
            Loss::Refuse => Err(self.refuse(node, &what)),
        }
    }

    fn refuse(&self, node: &Node, what: &str) -> Error {
        let what = format!("{} cannot be {}: {what}", node.path, self.options.create.format);
        Error::new(ErrorKind::InvalidArgument, what).in_store(|| self.source.name())
    }

    fn check_cancel(&self) -> Result<()> {
        chunks::check_cancel(&self.options.run)
    }
}

/// The part of the store that is removed for a new node.
fn removal(creation: &Creation) -> Erasure {
    Erasure { documents: creation.erase.clone(), prefixes: creation.erase_prefixes.clone() }
}

fn converted(node: &Node, path: &NodePath, kind: MemberKind, losses: Vec<String>) -> ConvertedNode {
    debug_assert!(matches!(kind, MemberKind::Array) == matches!(node.kind, NodeKind::Array(_)));
    ConvertedNode {
        source: node.path.as_str().to_owned(),
        target: path.as_str().to_owned(),
        kind,
        level: ConvertLevel::Metadata,
        n_chunks: 0,
        losses,
        notes: Vec::new(),
    }
}
