//! The blocking driver of writes.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use ndzarr_grid::{Overlap, Region};
use ndzarr_store::{Of, Precondition, Put, Store, StoreError};

use crate::blocks::{Piece, Pieces};
use crate::cancel::{Patience, Taken, Turn, check_cancel, publishing};
use crate::chunk_write::{ChunkWrite, Coverage, Outcome};
use crate::cover;
use crate::encode_job::EncodeJob;
use crate::index_cache::with_files;
use crate::parallel::{self, with_workspace};
use crate::places::Places;
use crate::read_region::report;
use crate::sequence::Sequence;
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
    let pieces = pieces(array, region)?;
    let threads = parallel::n_threads(options.threads);
    let total = n_touched(array, region, source, pieces.len())?;
    let inner_threads = if total >= 4 * threads as u64 { 1 } else { threads };
    let waits = threads > 1 && store.writes_wait();
    let run = Run {
        array,
        store,
        source,
        start: region.start(),
        options,
        inner_threads,
        places: waits.then(|| Places::new(threads)),
        done: AtomicU64::new(0),
        total,
    };
    // No thread of the pool waits for a lock: what is busy comes back to this thread, which then holds no other.
    let busy = Mutex::new(Vec::new());
    let each = |piece: Piece<()>| {
        if run.chunk(&piece, Patience::Try)? == Written::Busy {
            busy.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
        }
        Ok::<_, EngineError>(())
    };
    if waits {
        let n = waiting_threads(array, region).max(2 * threads);
        parallel::for_each_waiting(pieces, n, each)?;
    } else {
        parallel::for_each(pieces, threads, each)?;
    }
    for piece in busy.into_inner().unwrap_or_else(PoisonError::into_inner) {
        run.chunk(&piece, Patience::Wait)?;
    }
    Ok(())
}

/// How many threads write where writes wait. A disk gets through many large values at once in little more time than through
/// one; writers of small ones meet in the locks of their folder instead.
fn waiting_threads(array: &ChunkedArray, region: &Region) -> usize {
    let first = array.grid.overlaps(region).next();
    let shape = first.map(|overlap| array.shape_of(&overlap.chunk)).unwrap_or_default();
    let byte_len = shape.iter().fold(array.chain.elem_size() as u64, |len, &n| len.saturating_mul(n));
    (byte_len >> 16).clamp(16, 64) as usize
}

/// The parts of a region in its chunks.
pub(crate) fn pieces<'a>(array: &'a ChunkedArray, region: &Region) -> Result<Pieces<'a, ()>, EngineCause> {
    let mut pieces = Pieces::new(&array.grid);
    if array.grid.is_custom() {
        for Overlap { chunk, in_chunk, in_region } in cover::overlaps(array, region)? {
            let start = in_region.start().iter().zip(region.start()).map(|(at, start)| at + start).collect();
            pieces.add_piece(Piece { chunk, want: in_chunk, start, output: () });
        }
    } else {
        pieces.add_region(region.clone(), ());
    }
    Ok(pieces)
}

/// How many of all pieces the source has elements for.
pub(crate) fn n_touched(
    array: &ChunkedArray,
    region: &Region,
    source: &dyn Source,
    all: usize,
) -> Result<u64, EngineCause> {
    if source.is_dense() {
        return Ok(all as u64);
    }
    let (mut pieces, start) = (pieces(array, region)?, region.start());
    Ok(std::iter::from_fn(|| pieces.next()).filter(|piece| touches(source, piece, &start)).count() as u64)
}

/// Whether the source, which begins at this element of the array, has elements for a piece.
pub(crate) fn touches(source: &dyn Source, piece: &Piece<()>, start: &[u64]) -> bool {
    let len: Vec<usize> = piece.want.shape().iter().map(|&n| n as usize).collect();
    source.touches(&within(piece, start), &len)
}

/// Where a piece begins in a source that begins at this element of the array.
pub(crate) fn within(piece: &Piece<()>, start: &[u64]) -> Vec<usize> {
    piece.start.iter().zip(start).map(|(at, start)| (at - start) as usize).collect()
}

struct Run<'r> {
    array: &'r ChunkedArray,
    store: &'r dyn Store,
    source: &'r dyn Source,
    /// The element of the array that the source begins at.
    start: Vec<u64>,
    options: &'r RunOptions,
    inner_threads: usize,
    /// For those that encode, where writes wait and there are more threads than may.
    places: Option<Places>,
    done: AtomicU64,
    total: u64,
}

/// Whether it was this writer's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Done,
    Busy,
}

/// How often a chunk is written anew because its lock was lost. Each time took longer than a lease.
const LOST_LOCKS: u32 = 2;

/// Writes a chunk, and does it again if its lock was lost before it was published: nothing was written then, and the chunk has
/// to be merged with what others wrote meanwhile.
pub(crate) fn unless_lost(
    mut write: impl FnMut() -> Result<Written, EngineCause>,
) -> Result<Written, EngineCause> {
    for _ in 0..LOST_LOCKS {
        match write() {
            Err(EngineCause::Store(StoreError::LockLost { .. })) => {}
            done => return done,
        }
    }
    write()
}

impl Run<'_> {
    fn chunk(&self, piece: &Piece<()>, patience: Patience) -> Result<Written, EngineError> {
        check_cancel(self.options)?;
        if !touches(self.source, piece, &self.start) {
            return Ok(Written::Done);
        }
        let written = unless_lost(|| self.write(piece, patience))
            .map_err(|cause| EngineError::at(cause, self.array.place(&self.store.name(), &piece.chunk)))?;
        if written == Written::Done {
            report(self.options, &self.done, self.total);
        }
        Ok(written)
    }

    fn write(&self, piece: &Piece<()>, patience: Patience) -> Result<Written, EngineCause> {
        let key = self.array.key(&piece.chunk)?;
        let mut write = ChunkWrite::new(
            self.array,
            key,
            &piece.chunk,
            piece.want.clone(),
            within(piece, &self.start),
            Coverage::of(self.source),
            self.options.fill_chunks,
        );
        let (store, options) = (self.store, self.options);
        let place = || self.places.as_ref().map(Places::take);
        let streamed = stream(store, &mut write, patience, options, self.source, self.inner_threads, place)?;
        if let Some(written) = streamed {
            return Ok(written);
        }
        let encode = |write: &mut ChunkWrite| {
            let place = place();
            Ok((encode(write, self.source, self.inner_threads)?, place))
        };
        write_chunk(store, write, patience, options, encode)
    }
}

/// Writes a large shard piece by piece; `None`: it is none, or the store does not want that or has no locks. What `place` gives
/// is held until there is nothing left but to wait for the store.
pub(crate) fn stream<P>(
    store: &dyn Store,
    write: &mut ChunkWrite,
    patience: Patience,
    options: &RunOptions,
    source: &dyn Source,
    threads: usize,
    place: impl FnOnce() -> P,
) -> Result<Option<Written>, EngineCause> {
    let may_lock = options.concurrent_update == ConcurrentUpdate::Merge || write.needs().is_none();
    let Some(piece) = store.range_merging().piece.filter(|&piece| may_lock && write.is_large(piece)) else {
        return Ok(None);
    };
    Ok(match Turn::take(store, write.key(), patience, options)? {
        Taken::Turn(mut turn) => {
            let place = place();
            let outcome = write.stream(&mut turn, source, threads, piece)?;
            publish(turn, outcome, place)?;
            Some(Written::Done)
        }
        Taken::Busy => Some(Written::Busy),
        Taken::Unsupported => None,
    })
}

/// Encodes a chunk, or the inner chunks of a shard, and says what to store.
pub(crate) fn encode(
    write: &mut ChunkWrite,
    source: &dyn Source,
    threads: usize,
) -> Result<Outcome, EngineCause> {
    loop {
        let jobs = with_workspace(|workspace| write.jobs(workspace))?;
        if jobs.is_empty() {
            return with_workspace(|workspace| write.finish(workspace));
        }
        let encoded = encode_all(&jobs, source, threads)?;
        with_workspace(|workspace| write.put(encoded, workspace));
    }
}

pub(crate) fn encode_all(
    jobs: &[EncodeJob],
    source: &dyn Source,
    threads: usize,
) -> Result<Vec<Option<Vec<u8>>>, EngineCause> {
    let results: Vec<Mutex<Option<Vec<u8>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    parallel::for_each(0..jobs.len(), threads, |i| {
        let (job, result) = (&jobs[i], &results[i]);
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
    patience: Patience,
    options: &RunOptions,
    mut encode: impl FnMut(&mut ChunkWrite) -> Result<(Outcome, P), EngineCause>,
) -> Result<Written, EngineCause> {
    let merges = write.needs().is_some() && options.concurrent_update == ConcurrentUpdate::Merge;
    // Where writes wait for a disk, so may the making of a lock: nobody has a place to encode at meanwhile.
    if merges || store.writes_wait() {
        match Turn::take(store, write.key(), patience, options)? {
            Taken::Turn(mut turn) => {
                if let Some(fetch) = write.needs() {
                    write.supply(turn.fetch(Of::Any, fetch.want)?)?;
                }
                let (outcome, place) = encode(&mut write)?;
                return publish(turn, outcome, place).map(|()| Written::Done);
            }
            Taken::Busy => return Ok(Written::Busy),
            Taken::Unsupported => {}
        }
    }
    loop {
        if let Some(fetch) = write.needs() {
            write.supply(with_files(|| store.fetch(&fetch))?)?;
        }
        let (outcome, place) = encode(&mut write)?;
        if !merges {
            // The lock is held just for the publication.
            return replace(store, &write, outcome, place, patience, options);
        }
        drop(place);
        match put(store, &write, &outcome, write.precondition(), options)? {
            Put::Done(_) => return Ok(Written::Done),
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
    patience: Patience,
    options: &RunOptions,
) -> Result<Written, EngineCause> {
    match Turn::take(store, write.key(), patience, options)? {
        Taken::Turn(turn) => publish(turn, outcome, place).map(|()| Written::Done),
        Taken::Busy => Ok(Written::Busy),
        Taken::Unsupported => {
            drop(place);
            match put(store, write, &outcome, Precondition::None, options)? {
                Put::Done(_) => Ok(Written::Done),
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
    options: &RunOptions,
) -> Result<Put, EngineCause> {
    publishing(options, || {
        with_files(|| match outcome {
            Outcome::Publish(parts) => store.put(write.key(), parts, only_if.clone()),
            Outcome::Erase => store.erase(write.key(), only_if.clone()),
            Outcome::Keep => Ok(Put::Done(None)),
        })
    })
}

fn publish<P>(mut turn: Turn, mut outcome: Outcome, place: P) -> Result<(), EngineCause> {
    if let Outcome::Publish(parts) = &mut outcome {
        // The memory of each is free before the store waits for its disk, and serves the next one at the place.
        for part in parts.drain(..) {
            turn.append(&part)?;
        }
    }
    drop(place);
    match outcome {
        Outcome::Publish(_) => turn.publish(),
        Outcome::Erase => turn.erase(),
        Outcome::Keep => Ok(()),
    }
}
