//! What is done to the chunks of an array that is converted: several at a time, as much in memory as the threads hold.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::available_parallelism;

use ndzarr_engine::{FillChunks, Progress, RunOptions};
use ndzarr_store::StoreError;

use crate::any_array::AnyArray;
use crate::error::{Error, ErrorKind, Result};

/// More chunks than this are not tried one by one where they cannot be listed.
const MAX_TRIES: u64 = 1 << 20;

/// Copies the encoded chunks. Gives how many there were.
pub(super) fn copy(source: &AnyArray, target: &AnyArray, run: &RunOptions) -> Result<u64> {
    let chunks = stored(source)?;
    let copied = AtomicU64::new(0);
    for_each(source, target, &chunks, run, threads(run, 0), |chunk| {
        if let Some(value) = source.core.encoded_or_fallback(chunk)? {
            target.core.put_encoded_chunk(chunk, value)?;
            copied.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    })?;
    Ok(copied.into_inner())
}

/// Reads elements and writes them, chunk by chunk of the target, or shard by shard. Chunks of the source that are not stored
/// are passed over, unless their fill value is not that of the target.
pub(super) fn encode(
    source: &AnyArray,
    target: &AnyArray,
    run: &RunOptions,
    fill_differs: bool,
) -> Result<u64> {
    let to_error = |error| Error::new(ErrorKind::WrongShape, error);
    let (from, to) = (source.spec().grid().map_err(to_error)?, target.spec().grid().map_err(to_error)?);
    let chunks: BTreeSet<Vec<u64>> = if fill_differs {
        target.chunks().map(|chunk| chunk.index).collect()
    } else {
        let mut touched = BTreeSet::new();
        for chunk in stored(source)? {
            let Some(region) = from.clipped_region(&chunk) else { continue };
            touched.extend(to.overlaps(&region).map(|overlap| overlap.chunk));
        }
        touched
    };
    let chunks: Vec<Vec<u64>> = chunks.into_iter().collect();
    let one = RunOptions {
        threads: NonZeroUsize::new(1),
        cancel: run.cancel.clone(),
        fill_chunks: if fill_differs { FillChunks::Store } else { run.fill_chunks },
        ..RunOptions::default()
    };
    let (source, target) = (source.clone().with_options(one.clone()), target.clone().with_options(one));
    let elements = to.chunk_shape().iter().fold(1u64, |n, &len| n.saturating_mul(len));
    let unit = elements.saturating_mul(target.data_type().elem_size().unwrap_or(1) as u64);
    for_each(&source, &target, &chunks, run, threads(run, unit), |chunk| {
        let Some(region) = to.clipped_region(chunk) else { return Ok(()) };
        let ranges = region.ranges();
        match source.data_type().elem_size() {
            Some(_) => target.write_bytes(ranges, &source.read_bytes(ranges)?),
            None => target.write_vlen(ranges, &source.read_vlen(ranges)?),
        }
    })?;
    Ok(chunks.len() as u64)
}

/// The stored chunks inside the array, listed where that is possible.
fn stored(array: &AnyArray) -> Result<Vec<Vec<u64>>> {
    let grid = array.spec().grid().map_err(|error| Error::new(ErrorKind::WrongShape, error))?;
    let keys = &array.spec().keys;
    let storage = array.storage();
    let listed = storage.wait(async {
        match storage.list_prefix(&keys.prefix).await {
            Err(StoreError::Unsupported(_)) => Ok(None),
            listed => listed.map(Some),
        }
    });
    match listed.map_err(|error| error.in_store(|| storage.name()))? {
        Some(found) => {
            let index = |key: &String| keys.encoding.decode(key.strip_prefix(&keys.prefix)?, array.ndim());
            let mut chunks: Vec<Vec<u64>> = found.iter().filter_map(index).collect();
            chunks.retain(|chunk| grid.chunk_region(chunk).is_some());
            chunks.sort();
            chunks.dedup();
            Ok(chunks)
        }
        None => {
            let whole = ndzarr_grid::Region::whole(array.shape());
            match grid.n_overlaps(&whole) {
                Some(n) if n <= MAX_TRIES => Ok(array.chunks().map(|chunk| chunk.index).collect()),
                _ => {
                    let what = "the store cannot list, and the chunks are too many to be tried";
                    Err(Error::new(ErrorKind::Unsupported, what).in_store(|| array.storage().name()))
                }
            }
        }
    }
}

/// As many threads as may hold a chunk each.
fn threads(run: &RunOptions, unit: u64) -> usize {
    let wanted = run.threads.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let room = run.bytes_in_flight / unit.max(1);
    wanted.min(usize::try_from(room).unwrap_or(usize::MAX)).max(1)
}

/// Several threads make requests. Meanwhile the calling one waits as both stores say: their runtime may have no other.
fn for_each(
    source: &AnyArray,
    target: &AnyArray,
    chunks: &[Vec<u64>],
    run: &RunOptions,
    threads: usize,
    each: impl Fn(&[u64]) -> Result<()> + Sync,
) -> Result<()> {
    let (next, done, failed) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let error = Mutex::new(None);
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            match check_cancel(run).and_then(|()| each(chunk)) {
                Ok(()) => {
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if let Some(progress) = &run.progress {
                        progress.report(Progress { done, total: chunks.len() as u64 });
                    }
                }
                Err(found) => {
                    failed.store(true, Ordering::Relaxed);
                    error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
                }
            }
        }
    };
    let all = || {
        std::thread::scope(|scope| {
            for _ in 1..threads.min(chunks.len()) {
                scope.spawn(work);
            }
            work();
        });
        Ok::<_, Error>(())
    };
    source.storage().wait(async { target.storage().wait(async { all() }) })?;
    match error.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

pub(super) fn check_cancel(run: &RunOptions) -> Result<()> {
    match &run.cancel {
        Some(cancel) if cancel.is_cancelled() => Err(Error::new(ErrorKind::Cancelled, "it was cancelled")),
        _ => Ok(()),
    }
}
