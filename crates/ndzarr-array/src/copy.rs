//! Copies arrays and hierarchies: to another place, format, chunking, encoding or type.

mod account;
mod listed;
mod options;
pub(crate) mod planning;
mod report;
mod running;

use ndzarr_metadata::{CreateOptions, NodePath};

use crate::creating::replaces_source::is_inside;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::find_node;
use crate::places::located::{Finish, Located};
use crate::places::place::Place;
use crate::storage::Storage;

pub(crate) use planning::strategy::decoded_shape;

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
///   existing chunks, only new documents are written next to the old ones (Zarr v2 to v3, with
///   filters as codecs `numcodecs.*`; N5 to v3 by the codec `n5_default`).
/// - Otherwise, in another place, chunks are copied byte for byte if the target can have them.
///   Chunks of N5 are kept in Zarr only if [`at_most`](CopyOptions::at_most) asks for it: few other
///   programs read them there.
/// - Otherwise the elements are read and written again, in blocks of as many chunks of the target
///   as [`memory`](CopyOptions::memory) allows. The next block is read while one is written. Chunks
///   of the source are decoded as few times as the memory allows.
///
/// If a local path ends in `.zip` or `.ozx` and is not a folder, the copy is a new archive there,
/// which appears when it is complete.
///
/// Chunks that are not stored in the source, or only hold the fill value, are not stored in the
/// target. Chunks are written before the document that makes the array visible; a copy that was
/// killed can be [resumed](CopyOptions::resume). The source must not be written to meanwhile.
///
/// # Errors
/// Nothing is at the source; something is at the target or, with
/// [`Existing::Replace`](crate::Existing::Replace), the target overlaps the source; the format
/// cannot express the source, and [`record_losses`](CopyOptions::record_losses) was not called; a
/// costlier level than `at_most` is needed; the memory is too small, and the error names the least;
/// a number is out of range of the new type; a chunk is corrupt; a store fails; the call was
/// cancelled. What the format cannot express, and too little memory, are found before anything is
/// written. Nodes copied before another error remain.
///
/// ```
/// use ndzarr::{Array, CopyLevel, CopyOptions, Format, MemoryStore, copy};
///
/// let store = MemoryStore::new();
/// Array::<u16>::builder([6]).chunks([4]).format(Format::Zarr2).create((&store, "a"))?.fill([0..6], 7)?;
///
/// // In place: a `zarr.json` next to the `.zarray`.
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
/// # Ok::<(), ndzarr::Error>(())
/// ```
pub fn copy(
    source: impl Into<Place>,
    target: impl Into<Place>,
    options: &CopyOptions,
) -> Result<CopyReport> {
    let source = source.into().locate()?;
    let (target, finish) = target.into().locate_target(options.create.existing)?;
    check_archive(&source, &target, finish.is_some())?;
    run_copy(source, (target, finish), options)
}

/// Copies between places that were found, on the calling thread and others.
pub(crate) fn run_copy(
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
    let (found, root, _) = find_node::find(source, &options.open.metadata).await?;
    let mut create = options.create.clone();
    create.format = options.format.unwrap_or(root.format);
    target.check(create.format)?;
    let place = (&target.storage, &target_path);
    if is_inside((&found, &root), place, create.existing).await? {
        let what = format!(
            "the target \"{target_path}\" is inside of the source, \"{}\"",
            root.path
        );
        return Err(Error::new(ErrorKind::InvalidArgument, what).in_store(|| target.storage.name()));
    }
    let run = Run {
        source: found,
        target: target.storage,
        create,
        options,
    };
    // From here on nodes are read in the detected format, even if there are new documents next to
    // the old ones.
    let open = options
        .open
        .clone()
        .format(root.format)
        .n5_axes(root.context.n5_axes);
    let plan = run.plan(root, target_path, &open).await?;
    Box::pin(run.carry_out(plan)).await
}

/// A call that copies.
struct Run<'o> {
    source: Storage,
    target: Storage,
    create: CreateOptions,
    options: &'o CopyOptions,
}
