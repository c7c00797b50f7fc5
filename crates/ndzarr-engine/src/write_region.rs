//! The blocking driver of writes.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use ndzarr_grid::{Overlap, Region};
use ndzarr_store::{KeyLock, Locked, Of, Precondition, Put, Store, Wait};

use crate::chunk_write::{ChunkWrite, Coverage, Outcome};
use crate::cover;
use crate::encode_job::EncodeJob;
use crate::parallel::{self, with_workspace};
use crate::places::Places;
use crate::read_region::{check_cancel, report};
use crate::{ChunkedArray, ConcurrentUpdate, EngineCause, EngineError, RunOptions, Source};

/// Writes a region of an array from a source of its shape.
///
/// Every chunk is replaced as a whole, in some order with all other writers of it; different chunks are not ordered.
///
/// # Errors
/// The first chunk that fails, with its key and index; other chunks may have been written.
pub fn write_region(
    array: &ChunkedArray,
    store: &dyn Store,
    region: &Region,
    source: &dyn Source,
    options: &RunOptions,
) -> Result<(), EngineError> {
    if region.is_empty() {
        return Ok(());
    }
    let overlaps = touched(array, region, source)?;
    let threads = parallel::n_threads(options.threads);
    let total = overlaps.len() as u64;
    let inner_threads = if total >= 4 * threads as u64 { 1 } else { threads };
    let waits = threads > 1 && store.writes_wait();
    let run = Run {
        array,
        store,
        source,
        options,
        inner_threads,
        places: waits.then(|| Places::new(threads)),
        done: AtomicU64::new(0),
        total,
    };
    // No thread of the pool waits for a lock: what is busy comes back to this thread, which then holds no other.
    let busy = Mutex::new(Vec::new());
    let each = |overlap: Overlap| {
        if run.chunk(&overlap, Wait::Try)? == Turn::Busy {
            busy.lock().unwrap_or_else(PoisonError::into_inner).push(overlap);
        }
        Ok::<_, EngineError>(())
    };
    if waits {
        let n = waiting_threads(array, overlaps.first()).max(2 * threads);
        parallel::for_each_waiting(overlaps.into_iter(), n, each)?;
    } else {
        parallel::for_each(overlaps.into_iter(), threads, each)?;
    }
    for overlap in busy.into_inner().unwrap_or_else(PoisonError::into_inner) {
        run.chunk(&overlap, Wait::Block)?;
    }
    Ok(())
}

/// How many threads write where writes wait. A disk gets through many large values at once in little more time than through
/// one; writers of small ones meet in the locks of their folder instead.
fn waiting_threads(array: &ChunkedArray, first: Option<&Overlap>) -> usize {
    let shape = first.map(|overlap| array.shape_of(&overlap.chunk)).unwrap_or_default();
    let byte_len = shape.iter().fold(array.chain.elem_size() as u64, |len, &n| len.saturating_mul(n));
    (byte_len >> 16).clamp(16, 64) as usize
}

/// The chunks that the source has elements for.
pub(crate) fn touched(
    array: &ChunkedArray,
    region: &Region,
    source: &dyn Source,
) -> Result<Vec<Overlap>, EngineCause> {
    let usizes = |values: Vec<u64>| values.into_iter().map(|value| value as usize).collect::<Vec<_>>();
    let has_elements = |overlap: &Overlap| {
        source.touches(&usizes(overlap.in_region.start()), &usizes(overlap.in_region.shape()))
    };
    if array.grid.is_custom() {
        return Ok(cover::overlaps(array, region)?.into_iter().filter(has_elements).collect());
    }
    Ok(array.grid.overlaps(region).filter(has_elements).collect())
}

struct Run<'r> {
    array: &'r ChunkedArray,
    store: &'r dyn Store,
    source: &'r dyn Source,
    options: &'r RunOptions,
    inner_threads: usize,
    /// For those that encode, where writes wait and there are more threads than may.
    places: Option<Places>,
    done: AtomicU64,
    total: u64,
}

/// Whether it was this writer's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Done,
    Busy,
}

impl Run<'_> {
    fn chunk(&self, overlap: &Overlap, wait: Wait<'_>) -> Result<Turn, EngineError> {
        check_cancel(self.options)?;
        let turn = self
            .write(overlap, wait)
            .map_err(|cause| EngineError::at(cause, self.array.place(&self.store.name(), &overlap.chunk)))?;
        if turn == Turn::Done {
            report(self.options, &self.done, self.total);
        }
        Ok(turn)
    }

    fn write(&self, overlap: &Overlap, wait: Wait<'_>) -> Result<Turn, EngineCause> {
        let key = self.array.key(&overlap.chunk)?;
        let start = overlap.in_region.start().iter().map(|&at| at as usize).collect();
        let region = overlap.in_chunk.clone();
        let mut write = ChunkWrite::new(
            self.array,
            key,
            &overlap.chunk,
            region,
            start,
            Coverage::of(self.source),
            self.options.fill_chunks,
        );
        let (store, policy) = (self.store, self.options.concurrent_update);
        let place = || self.places.as_ref().map(Places::take);
        if let Some(turn) = stream(store, &mut write, wait, policy, self.source, self.inner_threads, place)? {
            return Ok(turn);
        }
        let encode = |write: &mut ChunkWrite| {
            let place = place();
            let jobs = with_workspace(|workspace| write.jobs(workspace))?;
            let encoded = encode_all(&jobs, self.source, self.inner_threads)?;
            Ok((with_workspace(|workspace| write.finish(encoded, workspace))?, place))
        };
        write_chunk(store, write, wait, policy, encode)
    }
}

/// Writes a large shard piece by piece; `None`: it is none, or the store does not want that or has no locks. What `place` gives
/// is held until there is nothing left but to wait for the store.
pub(crate) fn stream<P>(
    store: &dyn Store,
    write: &mut ChunkWrite,
    wait: Wait<'_>,
    policy: ConcurrentUpdate,
    source: &dyn Source,
    threads: usize,
    place: impl FnOnce() -> P,
) -> Result<Option<Turn>, EngineCause> {
    let may_lock = policy == ConcurrentUpdate::Merge || write.needs().is_none();
    let Some(piece) = store.range_merging().piece.filter(|&piece| may_lock && write.is_large(piece)) else {
        return Ok(None);
    };
    Ok(match store.lock(write.key(), wait)? {
        Locked::Held(mut lock) => {
            let place = place();
            let outcome = write.stream(&mut *lock, source, threads, piece)?;
            publish(lock, outcome, place)?;
            Some(Turn::Done)
        }
        Locked::Busy => Some(Turn::Busy),
        Locked::Unsupported => None,
    })
}

pub(crate) fn encode_all(
    jobs: &[EncodeJob],
    source: &dyn Source,
    threads: usize,
) -> Result<Vec<Option<Vec<u8>>>, EngineCause> {
    let results: Vec<Mutex<Option<Vec<u8>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    parallel::for_each(jobs.iter().zip(&results), threads, |(job, result)| {
        let encoded = with_workspace(|workspace| job.run(source, workspace))?;
        *result.lock().unwrap_or_else(PoisonError::into_inner) = encoded;
        Ok::<_, EngineCause>(())
    })?;
    Ok(results
        .into_iter()
        .map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect())
}

/// Writes one chunk when it is its turn: under the key's lock, or on the condition that nobody was faster. What `encode` gives
/// beside the outcome is held until there is nothing left but to wait for the store.
pub(crate) fn write_chunk<P>(
    store: &dyn Store,
    mut write: ChunkWrite,
    wait: Wait<'_>,
    policy: ConcurrentUpdate,
    mut encode: impl FnMut(&mut ChunkWrite) -> Result<(Outcome, P), EngineCause>,
) -> Result<Turn, EngineCause> {
    let merges = write.needs().is_some() && policy == ConcurrentUpdate::Merge;
    // Where writes wait for a disk, so may the making of a lock: nobody has a place to encode at meanwhile.
    if merges || store.writes_wait() {
        match store.lock(write.key(), wait)? {
            Locked::Held(mut lock) => {
                if let Some(fetch) = write.needs() {
                    write.supply(lock.fetch(Of::Any, fetch.want)?)?;
                }
                let (outcome, place) = encode(&mut write)?;
                return publish(lock, outcome, place).map(|()| Turn::Done);
            }
            Locked::Busy => return Ok(Turn::Busy),
            Locked::Unsupported => {}
        }
    }
    loop {
        if let Some(fetch) = write.needs() {
            write.supply(store.fetch(&fetch)?)?;
        }
        let (outcome, place) = encode(&mut write)?;
        if !merges {
            // The lock is held just for the publication.
            return replace(store, &write, outcome, place, wait);
        }
        drop(place);
        match put(store, &write, &outcome, write.precondition())? {
            Put::Done(_) => return Ok(Turn::Done),
            Put::Conflict => write.restart(),
            Put::Unsupported => return Err(EngineCause::CannotMerge),
        }
    }
}

/// Stores a value whatever is there. Not by `put` alone, which would wait for the lock: on a thread of the pool, that could
/// be for a writer whose encoding waits for this thread.
fn replace<P>(
    store: &dyn Store,
    write: &ChunkWrite,
    outcome: Outcome,
    place: P,
    wait: Wait<'_>,
) -> Result<Turn, EngineCause> {
    match store.lock(write.key(), wait)? {
        Locked::Held(lock) => publish(lock, outcome, place).map(|()| Turn::Done),
        Locked::Busy => Ok(Turn::Busy),
        Locked::Unsupported => {
            drop(place);
            match put(store, write, &outcome, Precondition::None)? {
                Put::Done(_) => Ok(Turn::Done),
                Put::Conflict | Put::Unsupported => Err(EngineCause::CannotMerge),
            }
        }
    }
}

fn put(
    store: &dyn Store,
    write: &ChunkWrite,
    outcome: &Outcome,
    only_if: Precondition,
) -> Result<Put, EngineCause> {
    Ok(match outcome {
        Outcome::Publish(parts) => store.put(write.key(), parts, only_if)?,
        Outcome::Erase => store.erase(write.key(), only_if)?,
        Outcome::Keep => Put::Done(None),
    })
}

fn publish<P>(mut lock: Box<dyn KeyLock>, mut outcome: Outcome, place: P) -> Result<(), EngineCause> {
    if let Outcome::Publish(parts) = &mut outcome {
        // The memory of each is free before the store waits for its disk, and serves the next one at the place.
        for part in parts.drain(..) {
            lock.append(&part)?;
        }
    }
    drop(place);
    match outcome {
        Outcome::Publish(_) => lock.publish().map(|_| ())?,
        Outcome::Erase => lock.erase()?,
        Outcome::Keep => {}
    }
    Ok(())
}
