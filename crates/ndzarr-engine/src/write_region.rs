//! The blocking driver of writes.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use ndzarr_grid::{Overlap, Region};
use ndzarr_store::{KeyLock, Locked, Of, Precondition, Put, Store, Wait};

use crate::block_on::block_on;
use crate::budget::Budget;
use crate::chunk_write::{ChunkWrite, Coverage, Outcome};
use crate::cover;
use crate::encode_job::EncodeJob;
use crate::parallel::{self, with_workspace};
use crate::read_region::{check_cancel, report};
use crate::{ChunkedArray, ConcurrentUpdate, EngineCause, EngineError, RunOptions, Source};

/// The least number of threads that write where writes wait: as many values as a disk takes at once.
const MIN_WAITING: usize = 8;

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
        places: waits.then(|| Budget::new(threads as u64)),
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
        parallel::for_each_waiting(overlaps.into_iter(), MIN_WAITING.max(2 * threads), each)?;
    } else {
        parallel::for_each(overlaps.into_iter(), threads, each)?;
    }
    for overlap in busy.into_inner().unwrap_or_else(PoisonError::into_inner) {
        run.chunk(&overlap, Wait::Block)?;
    }
    Ok(())
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
    places: Option<Budget>,
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
    fn chunk(&self, overlap: &Overlap, wait: Wait) -> Result<Turn, EngineError> {
        check_cancel(self.options)?;
        let turn = self
            .write(overlap, wait)
            .map_err(|cause| EngineError::at(cause, self.array.place(&self.store.name(), &overlap.chunk)))?;
        if turn == Turn::Done {
            report(self.options, &self.done, self.total);
        }
        Ok(turn)
    }

    fn write(&self, overlap: &Overlap, wait: Wait) -> Result<Turn, EngineCause> {
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
        if let Some(turn) = stream(store, &mut write, wait, policy, self.source, self.inner_threads)? {
            return Ok(turn);
        }
        let encode = |write: &mut ChunkWrite| {
            let _place = self.places.as_ref().map(|places| block_on(places.take(1)));
            let jobs = with_workspace(|workspace| write.jobs(workspace))?;
            let encoded = encode_all(&jobs, self.source, self.inner_threads)?;
            with_workspace(|workspace| write.finish(encoded, workspace))
        };
        write_chunk(store, write, wait, policy, encode)
    }
}

/// Writes a large shard piece by piece; `None`: it is none, or the store does not want that or has no locks.
pub(crate) fn stream(
    store: &dyn Store,
    write: &mut ChunkWrite,
    wait: Wait,
    policy: ConcurrentUpdate,
    source: &dyn Source,
    threads: usize,
) -> Result<Option<Turn>, EngineCause> {
    let may_lock = policy == ConcurrentUpdate::Merge || write.needs().is_none();
    let Some(piece) = store.range_merging().piece.filter(|&piece| may_lock && write.is_large(piece)) else {
        return Ok(None);
    };
    Ok(match store.lock(write.key(), wait)? {
        Locked::Held(lock) => {
            write.stream(lock, source, threads, piece)?;
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

/// Writes one chunk when it is its turn: under the key's lock, or on the condition that nobody was faster.
pub(crate) fn write_chunk(
    store: &dyn Store,
    mut write: ChunkWrite,
    wait: Wait,
    policy: ConcurrentUpdate,
    mut encode: impl FnMut(&mut ChunkWrite) -> Result<Outcome, EngineCause>,
) -> Result<Turn, EngineCause> {
    let key = write.key().clone();
    let Some(fetch) = write.needs() else {
        // Nothing is read: encode first, and hold the lock just for the publication.
        let outcome = encode(&mut write)?;
        return replace(store, &write, outcome, wait);
    };
    if policy == ConcurrentUpdate::LastWriterWins {
        write.supply(store.fetch(&fetch)?)?;
        let outcome = encode(&mut write)?;
        return replace(store, &write, outcome, wait);
    }
    match store.lock(&key, wait)? {
        Locked::Held(mut lock) => {
            write.supply(lock.fetch(Of::Any, fetch.want)?)?;
            let outcome = encode(&mut write)?;
            publish(lock, outcome).map(|()| Turn::Done)
        }
        Locked::Busy => Ok(Turn::Busy),
        Locked::Unsupported => loop {
            write.supply(store.fetch(&fetch)?)?;
            let outcome = encode(&mut write)?;
            match put(store, &write, &outcome, write.precondition())? {
                Put::Done(_) => return Ok(Turn::Done),
                Put::Conflict => write.restart(),
                Put::Unsupported => return Err(EngineCause::CannotMerge),
            }
        },
    }
}

/// Stores a value whatever is there. Not by `put` alone, which would wait for the lock: on a thread of the pool, that could
/// be for a writer whose encoding waits for this thread.
fn replace(store: &dyn Store, write: &ChunkWrite, outcome: Outcome, wait: Wait) -> Result<Turn, EngineCause> {
    match store.lock(write.key(), wait)? {
        Locked::Held(lock) => publish(lock, outcome).map(|()| Turn::Done),
        Locked::Busy => Ok(Turn::Busy),
        Locked::Unsupported => match put(store, write, &outcome, Precondition::None)? {
            Put::Done(_) => Ok(Turn::Done),
            Put::Conflict | Put::Unsupported => Err(EngineCause::CannotMerge),
        },
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

fn publish(mut lock: Box<dyn KeyLock + '_>, outcome: Outcome) -> Result<(), EngineCause> {
    match outcome {
        Outcome::Publish(parts) => {
            // The memory of each is free before the store waits for its disk.
            for part in parts {
                lock.append(&part)?;
            }
            lock.publish()?;
        }
        Outcome::Erase => lock.erase()?,
        Outcome::Keep => {}
    }
    Ok(())
}
