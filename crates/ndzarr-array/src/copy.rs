//! Copies arrays and hierarchies: to another place, format, chunking, encoding or type.

mod account;
mod blocks;
mod carry_out;
mod chunks;
mod compressors;
mod conversion;
mod files;
mod hierarchy;
mod listed;
mod members;
mod options;
mod report;
mod request;
mod temporary;
mod way;
mod window;

use std::borrow::Cow;
use std::sync::Arc;

use ndzarr_metadata::{
    ArrayRequest, CreateOptions, Existing, Format, KeptKeys, MemberKind, Node, NodeKind, NodePath,
    check_request, consolidated_key, has_copies, keep_chunks,
};
use ndzarr_model::{ArraySpec, Attributes};

use crate::apart;
use crate::copy::account::{Found, Sorter};
use crate::copy::chunks::n_units;
use crate::copy::conversion::Conversion;
use crate::copy::members::{Member, Members};
use crate::copy::request::{Requests, sharding};
use crate::copy::way::{Choice, Way};
use crate::copy::window::Window;
use crate::core::Core;
use crate::each::check_cancel;
use crate::error::{Error, ErrorKind, Result};
use crate::located::{Finish, Located};
use crate::nodes;
use crate::place::Place;
use crate::storage::Storage;

pub(crate) use way::decoded_shape;

pub use options::CopyOptions;
pub use report::{
    CopiedNode, CopyAccount, CopyLevel, CopyReport, KeyList, LeftOut, LeftOutReason, NotCopied,
};

/// Copies an array, or a group with everything below it: to another place, or to another format,
/// chunking, encoding or type, as the [options](CopyOptions) say. What they do not say is as in
/// the source.
///
/// Each array is copied in the cheapest way possible:
///
/// - If source and target have the same path and store, and the target format can describe the
///   existing chunks, only new documents are written beside the old ones (Zarr v2 to v3, with filters
///   as codecs `numcodecs.*`; N5 to v3 by the codec `n5_default`).
/// - Otherwise, in another place, chunks are copied byte for byte if the target can have them.
/// - Otherwise the elements are read and written again, in blocks of as many chunks of the target
///   as [`memory`](CopyOptions::memory) allows. The next block is read while one is written. Chunks
///   of the source are decoded as few times as the memory allows.
///
/// A local path that ends in `.zip` or `.ozx`, and is no folder, is a new archive, which exists once
/// the copy is complete.
///
/// Chunks that are not stored in the source, or only hold the fill value, are not stored in the
/// target. Chunks are written before the document that makes the array visible; a copy that was
/// killed can be [resumed](CopyOptions::resume). The source must not be written to meanwhile.
///
/// # Errors
/// Nothing is at the source; something is at the target or, with [`Existing::Replace`], the target
/// overlaps the source; the format cannot express the source, and
/// [`record_losses`](CopyOptions::record_losses) was not called; a costlier level than `at_most` is
/// needed; the memory is too small, and the error names the least; a number is out of range of the
/// new type; a chunk is corrupt; a store fails; the call was cancelled. What the format cannot
/// express, and too little memory, are found before anything is written. Nodes copied before
/// another error remain.
///
/// ```
/// use ndzarr_array::{Array, CopyLevel, CopyOptions, Format, copy};
/// use ndzarr_store::MemoryStore;
///
/// let store = MemoryStore::new();
/// Array::<u16>::builder([6]).chunks([4]).format(Format::Zarr2).create((&store, "a"))?.fill([0..6], 7)?;
///
/// // In place: a `zarr.json` beside the `.zarray`.
/// let to_v3 = CopyOptions::new().format(Format::Zarr3);
/// let report = copy((&store, "a"), (&store, "a"), &to_v3)?;
/// assert_eq!(report.nodes[0].level, CopyLevel::Metadata);
/// let a = Array::<u16>::open((&store, "a"))?;
/// assert_eq!((a.format(), a.read(..)?.sum()), (Format::Zarr3, 42));
///
/// // Elsewhere, in other chunks.
/// let other = MemoryStore::new();
/// let report = copy((&store, "a"), (&other, "b"), &to_v3.chunks([3]))?;
/// assert_eq!(report.nodes[0].level, CopyLevel::Reencoded);
/// let b = Array::<u16>::open((&other, "b"))?;
/// assert_eq!((b.chunk_shape(), b.read(..)?.sum()), (vec![3], 42));
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
pub fn copy(source: impl Into<Place>, target: impl Into<Place>, options: &CopyOptions) -> Result<CopyReport> {
    let source = source.into().locate()?;
    let (target, finish) = target.into().locate_target(options.create.existing)?;
    check_archive(&source, &target, finish.is_some())?;
    run(source, (target, finish), options)
}

/// Copies, on the calling thread and others.
pub(crate) fn run(
    source: Located,
    (target, finish): (Located, Option<Finish>),
    options: &CopyOptions,
) -> Result<CopyReport> {
    let (from, to) = (source.storage.clone(), target.storage.clone());
    // On the heap: it is large, and a stack may have several copies.
    let copied = Box::pin(copy_located(source, target, options));
    let report = from.wait(async { to.wait_change(options.run.cancel.as_ref(), copied) })?;
    if let Some(finish) = finish.filter(|_| !options.dry_run) {
        finish()?;
    }
    Ok(report)
}

/// A new archive is not made in the place of the one that it is a copy of.
pub(crate) fn check_archive(source: &Located, target: &Located, is_new: bool) -> Result<()> {
    if is_new && source.storage.name() == target.storage.name() {
        let what = "the target is the archive that is copied";
        return Err(Error::new(ErrorKind::InvalidArgument, what).in_store(|| target.storage.name()));
    }
    Ok(())
}

/// Copies. Calls of blocking stores block where this is polled.
pub(crate) async fn copy_located(
    source: Located,
    target: Located,
    options: &CopyOptions,
) -> Result<CopyReport> {
    let target_path = NodePath::new(&target.path)?;
    let (found, root, _) = nodes::find(source, &options.open.metadata).await?;
    let mut create = options.create.clone();
    create.format = options.format.unwrap_or(root.format);
    target.check(create.format)?;
    let place = (&target.storage, &target_path);
    if apart::is_inside((&found, &root), place, create.existing).await? {
        let what = format!("the target \"{target_path}\" is inside of the source, \"{}\"", root.path);
        return Err(Error::new(ErrorKind::InvalidArgument, what).in_store(|| target.storage.name()));
    }
    let run = Run { source: found, target: target.storage, create, options };
    // From here on nodes are read in the detected format, even if there are new documents beside
    // the old ones.
    let open = options.open.clone().format(root.format).n5_axes(root.context.n5_axes);
    if root.kind.array().is_some() {
        let plan = Box::pin(run.plan_array(root, target_path, Whole::Array)).await?;
        return Box::pin(run.carry_out(vec![plan], None, Vec::new())).await;
    }
    if options.slices.is_some() {
        let what = format!("\"{}\" is a group, and slices are of one array", root.path);
        return Err(Error::new(ErrorKind::InvalidArgument, what).in_store(|| run.source.name()));
    }
    let Members { all, notes } = Members::of(&run.source, &root, &open).await?;
    let mut plans = vec![run.plan_group(root, target_path.clone()).await?];
    plans[0].out.notes.extend(notes);
    let mut not_copied = Vec::new();
    for Member { path, kind, node, note } in all {
        let from = NodePath::new(&format!("{}{path}", plans[0].node.path.prefix()))?;
        let target = NodePath::new(&format!("{}{path}", target_path.prefix()))?;
        let planned = match node {
            Ok(node) if node.kind.array().is_some() => {
                Box::pin(run.plan_array(node, target.clone(), Whole::Group)).await
            }
            Ok(node) => run.plan_group(node, target.clone()).await,
            Err(error) => Err(error),
        };
        match planned {
            Ok(mut plan) => {
                plan.out.notes.extend(note.map(str::to_owned));
                plans.push(plan);
            }
            // What cannot be understood here says nothing of the others.
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                match run.plan_as_files(&plans[0], (from.clone(), target), kind, &error) {
                    Some(plan) => plans.push(plan),
                    None => not_copied.push(NotCopied::of(&from, &error)),
                }
            }
            Err(error) => return Err(error),
        }
    }
    let found = run.sort(&mut plans, &mut not_copied).await?;
    Box::pin(run.carry_out(plans, found, not_copied)).await
}

/// What a report says where there is no account of the keys.
const UNLISTED: &str =
    "the keys of the source cannot be listed: files of no array or group were not looked for";

/// What a call copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Array,
    Group,
}

struct Run<'o> {
    source: Storage,
    target: Storage,
    create: CreateOptions,
    options: &'o CopyOptions,
}

/// What will be done for a node.
struct Planned {
    node: Node,
    path: NodePath,
    create: CreateOptions,
    what: What,
    out: CopiedNode,
}

enum What {
    Group(GroupPlan),
    Array(Box<ArrayPlan>),
    /// Its keys are copied as they are.
    Files,
}

struct GroupPlan {
    attributes: Attributes,
    /// Whether the copy has consolidated metadata, as the source has.
    consolidates: bool,
}

struct ArrayPlan {
    request: ArrayRequest,
    /// The part of the array that is copied, if not all of it.
    window: Option<Window>,
    conversion: Option<Conversion>,
    /// Where elements are encoded again.
    way: Option<Way>,
    /// How many chunks, or shards, there are to copy.
    units: u64,
}

impl Run<'_> {
    /// Options for creating nodes: beside the source, if that is the target.
    fn create_options(&self, node: &Node, is_same: bool) -> CreateOptions {
        let mut create = self.create.clone();
        create.attributes_of = Some(Arc::new(node.clone()));
        create.concurrent_update = self.options.run.concurrent_update;
        create.foreign = self.options.run.foreign;
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
            Some((key, _)) => apart::shares_value(&self.source, &self.target, key).await,
            // A group without documents exists wherever there is something below it.
            None => apart::shares_below(&self.source, &self.target, &node.path.prefix()).await,
        }
    }

    fn requests<'r>(&'r self, node: &'r Node, create: &'r CreateOptions) -> Requests<'r> {
        Requests { source: &self.source, node, create, record_losses: self.options.record_losses }
    }

    async fn plan_group(&self, node: Node, path: NodePath) -> Result<Planned> {
        check_cancel(&self.options.run)?;
        let create = self.create_options(&node, self.is_same(&node, &path).await?);
        let mut out = converted(&node, &path, MemberKind::Group);
        let attributes = self.requests(&node, &create).group(&mut out.losses)?;
        let consolidates = match self.is_consolidated(&node).await? {
            true if matches!(create.format, Format::Zarr2 | Format::Zarr3) => true,
            true => {
                out.notes.push(format!(
                    "without consolidated metadata, which are not written in {}",
                    create.format
                ));
                false
            }
            false => false,
        };
        Ok(Planned { node, path, create, what: What::Group(GroupPlan { attributes, consolidates }), out })
    }

    /// Whether a group of the source has consolidated metadata of its own.
    async fn is_consolidated(&self, node: &Node) -> Result<bool> {
        match (node.format, consolidated_key(node)) {
            (Format::Zarr3, _) => Ok(has_copies(node)),
            (_, None) => Ok(false),
            (_, Some(key)) => self.source.has(&key).await,
        }
    }

    async fn plan_array(&self, node: Node, path: NodePath, whole: Whole) -> Result<Planned> {
        check_cancel(&self.options.run)?;
        let is_same = self.is_same(&node, &path).await?;
        let create = self.create_options(&node, is_same);
        let Some(spec) = node.kind.array() else { return Err(nodes::not_a("an array", &node, &self.source)) };
        let slices = self.options.slices.as_ref();
        let window = slices.map(|slices| Window::new(slices, &spec.shape)).transpose();
        let window = window.map_err(|error| error.in_store(|| self.source.name()))?;
        let spec = &*window.as_ref().map_or(Cow::Borrowed(spec), |window| {
            Cow::Owned(ArraySpec { shape: window.shape(), ..spec.clone() })
        });
        let (requests, mut out) = (self.requests(&node, &create), converted(&node, &path, MemberKind::Array));

        let layout = match whole {
            Whole::Array => self.options.layout.clone(),
            Whole::Group => self.options.layout.for_axes(spec.shape.len()),
        };
        let conversion = match self.options.numbers.of(&spec.data_type) {
            Err(_) if whole == Whole::Group => {
                out.notes.push(format!("its elements stay {}", spec.data_type));
                None
            }
            conversion => conversion.map_err(|error| requests.refuse(&error.to_string()))?,
        };
        let keys = if is_same { KeptKeys::Same } else { KeptKeys::Usual };
        let can_keep = conversion.is_none() && window.is_none() && layout.is_of(spec);
        let mut kept = Some(()).filter(|()| can_keep).and_then(|()| keep_chunks(spec, &create, keys));
        let undescribed = out.clone();
        let request = loop {
            out.level = match &kept {
                Some(_) if is_same => CopyLevel::Metadata,
                Some(_) => CopyLevel::Rekeyed,
                None => CopyLevel::Reencoded,
            };
            if is_same && kept.is_none() {
                let what = "its chunks have to be encoded again, which needs another target";
                return Err(requests.refuse(what));
            }
            if out.level > self.options.at_most {
                let what =
                    format!("it would be {:?}, but only {:?} is allowed", out.level, self.options.at_most);
                return Err(requests.refuse(&what));
            }
            let is_kept = kept.is_some();
            let mut request = match kept.take() {
                Some(request) => request,
                None => requests.anew(spec, &layout, conversion.as_ref(), &mut out.notes)?,
            };
            requests.rest(spec, conversion.as_ref(), &mut request, &mut out)?;
            let made = check_request(&path, &request, &create)?;
            let fills = made.kind.array().map(|made| made.fill_value.bytes());
            if !is_kept || fills == Some(spec.fill_value.bytes()) || self.has_all(&node).await? {
                break request;
            }
            // Chunks that are not stored would get another fill value.
            out = undescribed.clone();
            out.notes.push("chunks that are not stored are written, as the fill value is another".to_owned());
        };
        if layout.index.is_some() && whole == Whole::Array {
            let made = check_request(&path, &request, &create)?;
            if made.kind.array().is_none_or(|made| sharding(&made.codecs).is_none()) {
                return Err(requests.refuse("without shards there is no index to be placed"));
            }
        }
        let (mut way, mut units) = (None, 0);
        match out.level {
            CopyLevel::Metadata => {}
            CopyLevel::Rekeyed => {
                let source = self.core(&self.source, &node)?;
                source.data()?;
                units = n_units(&source)?;
            }
            CopyLevel::Reencoded => {
                let to = check_request(&path, &request, &create)?;
                let source = self.core(&self.source, &node)?;
                let target = self.core(&self.target, &to)?;
                let choice = Choice {
                    source: &source,
                    target: &target,
                    window: window.as_ref(),
                    conversion: conversion.as_ref(),
                    memory: self.options.memory,
                    more_memory: self.options.more_memory,
                    has_temporary: self.options.temporary.is_some() || self.target.is_folder(),
                    threads: self.options.run.threads,
                };
                let chosen = choice.way()?;
                out.notes.extend(way::said(&chosen, spec));
                out.temporary_bytes = way::temporary_bytes(&chosen, spec);
                units = n_units(&target)?.saturating_mul(chosen.passes());
                way = Some(chosen);
            }
        }
        let what = What::Array(Box::new(ArrayPlan { request, window, conversion, way, units }));
        Ok(Planned { node, path, create, what, out })
    }

    /// Whether all chunks, or shards, of an array are stored.
    async fn has_all(&self, node: &Node) -> Result<bool> {
        let array = self.core(&self.source, node)?;
        let stored = chunks::listed(&array).await?;
        Ok(stored.is_some_and(|stored| n_units(&array).is_ok_and(|all| stored.n() == all)))
    }

    /// The plan for a node that cannot be understood here: in the same format its keys are copied as they are.
    fn plan_as_files(
        &self,
        root: &Planned,
        (from, path): (NodePath, NodePath),
        kind: Option<MemberKind>,
        why: &Error,
    ) -> Option<Planned> {
        let is_same = root.create.existing == Existing::Beside;
        if is_same || root.node.format != self.create.format {
            return None;
        }
        let node = nodes::folder(&root.node, from);
        let mut out = converted(&node, &path, MemberKind::Group);
        (out.kind, out.level) = (kind.unwrap_or(MemberKind::Array), CopyLevel::Rekeyed);
        out.as_files = Some(why.to_string());
        Some(Planned { node, path, create: self.create_options(&root.node, false), what: What::Files, out })
    }

    /// Finds out what becomes of each key below a group; `None` where they stay in place, or cannot be listed.
    async fn sort(&self, plans: &mut Vec<Planned>, not_copied: &mut Vec<NotCopied>) -> Result<Option<Found>> {
        let root = &plans[0];
        if root.create.existing == Existing::Beside {
            return Ok(None);
        }
        let (format, root) = (root.node.format, root.node.clone());
        let mut sorter = Sorter::of(&root, self.create.format, self.options.other_files);
        for Planned { node, what, .. } in &plans[1..] {
            match what {
                What::Files => sorter.add_as_files(node),
                What::Group(_) | What::Array(_) => sorter.add(node),
            }
        }
        not_copied.iter().for_each(|node| sorter.add_not_copied(format, &node.source));
        let Some(sorter) = sorter.sort(&self.source, &root).await? else {
            plans[0].out.notes.push(UNLISTED.to_owned());
            let is_listed = |plan: &mut Planned| matches!(plan.what, What::Files);
            for mut plan in plans.extract_if(.., is_listed) {
                let why = plan.out.as_files.take().unwrap_or_default();
                not_copied.push(NotCopied { source: plan.out.source, why });
            }
            return Ok(None);
        };
        for plan in plans.iter_mut().filter(|plan| matches!(plan.what, What::Files)) {
            plan.out.n_chunks = sorter.n_of(&plan.node);
        }
        Ok(Some(sorter.found()))
    }

    fn core(&self, storage: &Storage, node: &Node) -> Result<Core> {
        Core::new(storage.clone(), node.clone(), &self.options.open.registry)
    }
}

fn converted(node: &Node, path: &NodePath, kind: MemberKind) -> CopiedNode {
    debug_assert!(matches!(kind, MemberKind::Array) == matches!(node.kind, NodeKind::Array(_)));
    CopiedNode {
        source: node.path.as_str().to_owned(),
        target: path.as_str().to_owned(),
        kind,
        level: CopyLevel::Metadata,
        n_chunks: 0,
        temporary_bytes: 0,
        as_files: None,
        losses: Vec::new(),
        notes: Vec::new(),
    }
}
