//! Writes regions: the one path from elements to stored values, over every kind of store.

use std::future::ready;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_grid::{ChunkGrid, Overlap, Overlaps, Region};
use ndzarr_pool::Queue;
use ndzarr_store::{AsyncStore, Fetched, Key, Of, Precondition, Prefix, Put, Store, StoreError, Wait, Want};

use crate::cache::with_files;
use crate::reading::met_box::MetBox;
use crate::reading::reread::Reread;
use crate::threads::cancel::{Cancel, Patience, Publishing, Taken, Turn, Under, check_cancel, publishing};
use crate::threads::for_each::n_threads;
use crate::threads::io::{Awaited, Here, Io, in_turns, now};
use crate::threads::other_threads::{on_pool, waiting};
use crate::writing::chunk_write::ChunkWrite;
use crate::writing::new_shard::KeyChange;
use crate::{ChunkedArray, ConcurrentUpdate, Coverage, EngineCause, EngineError, RunOptions, Source};

/// A region of an array, and a source of its shape.
pub type Part<'s> = (Region, &'s dyn Source);

/// Writes several regions of an array as one call. No chunk may be in two of them, since their
/// order is not defined.
///
/// Every chunk is replaced as a whole, serialized with all other writers of it; different chunks
/// are not ordered.
///
/// # Errors
/// The first chunk that fails, with its key and index; other chunks may have been written.
pub fn write(
    array: &ChunkedArray,
    store: &dyn Store,
    parts: &[Part<'_>],
    options: &RunOptions,
) -> Result<(), EngineError> {
    let io = Here::new(store, options).writing(|| waiting_threads(array, parts));
    now(write_by(array, &io, parts, options))
}

/// Like [`write()`], over an asynchronous store. Writers are serialized by conditional writes.
///
/// # Errors
/// As for [`write()`].
pub async fn write_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    parts: &[Part<'_>],
    options: &RunOptions,
) -> Result<(), EngineError> {
    write_by(array, &Awaited::new(store, options), parts, options).await
}

/// Like [`write()`], without blocking the task that polls: each chunk is handed to the pool with a
/// copy of its elements.
///
/// If the future is dropped or fails, nothing more is published, and locks are free unless
/// something is being published under them.
///
/// # Errors
/// As for [`write()`].
pub async fn write_pooled(
    array: &Arc<ChunkedArray>,
    store: &Arc<dyn Store>,
    parts: &[Part<'_>],
    options: &RunOptions,
) -> Result<(), EngineError> {
    let (_stop, options) = &options.part();
    let touched = &Touched::new(array, parts);
    let (total, done) = (touched.count(), &AtomicU64::new(0));
    let name = &store.name();
    let queue = Queue::of_store(name);
    let write = |number| async move {
        check_cancel(options.cancel.as_ref())?;
        let Some(Touch { overlap, source, from, len }) = touched.piece(number) else { return Ok(()) };
        let elements = source.piece(&from, &len);
        let chunk = overlap.chunk.clone();
        let write = {
            let (array, store, options) = (Arc::clone(array), Arc::clone(store), options.clone());
            Arc::new(move |patience| {
                let io = Here::alone(&*store, &options);
                now(write_piece(
                    &array,
                    &io,
                    &overlap,
                    (&*elements, vec![0; from.len()]),
                    1,
                    patience,
                    &options,
                ))
            })
        };
        let attempt = Arc::clone(&write);
        let written = match on_pool(queue, move || attempt(Patience::Try)).await {
            Ok(Written::Busy) => waiting(name, options.cancel.as_ref(), move || write(Patience::Wait)).await,
            written => written,
        };
        written.map_err(|cause| EngineError::at(cause, array.place(name, &chunk)))?;
        options.report(done, total);
        Ok(())
    };
    stream::iter(touched.numbers())
        .map(Ok)
        .try_for_each_concurrent(n_threads(options.threads) * 2, write)
        .await
}

fn write_by<I: Io>(
    array: &ChunkedArray,
    io: &I,
    parts: &[Part<'_>],
    options: &RunOptions,
) -> impl Future<Output = Result<(), EngineError>> + Send {
    let touched = Touched::new(array, parts);
    async move {
        let touched = &touched;
        let (total, done) = (touched.count(), &AtomicU64::new(0));
        let lanes = io.inner_lanes(total);
        let write = |number, patience| async move {
            check_cancel(options.cancel.as_ref())?;
            let Some(Touch { overlap, source, from, .. }) = touched.piece(number) else { return Ok(None) };
            let written = write_piece(array, io, &overlap, (source, from), lanes, patience, options).await;
            match written.map_err(|cause| EngineError::at(cause, array.place(&io.name(), &overlap.chunk)))? {
                Written::Busy => Ok(Some(number)),
                Written::Done => {
                    options.report(done, total);
                    Ok(None)
                }
            }
        };
        in_turns(io, touched.numbers(), write).await
    }
}

/// How many threads write where writes wait. A disk completes many large values at once in little
/// more time than one; writers of small ones contend for the locks of their folder instead.
fn waiting_threads(array: &ChunkedArray, parts: &[Part<'_>]) -> usize {
    let first = parts.first().and_then(|(region, _)| array.grid.overlaps(region).next());
    let shape = first.map(|overlap| array.shape_of(&overlap.chunk)).unwrap_or_default();
    let byte_len = shape.iter().fold(array.chain.elem_size() as u64, |len, &n| len.saturating_mul(n));
    (byte_len >> 16).clamp(16, 64) as usize
}

/// The chunks that sources have elements for, found one by one: a region may meet very many.
struct Touched<'g, 's> {
    grid: &'g ChunkGrid,
    regions: Vec<TouchedRegion<'s>>,
}

struct TouchedRegion<'s> {
    overlaps: Overlaps,
    /// The first element of the region.
    start: Vec<u64>,
    source: &'s dyn Source,
    /// The chunks that the source has elements for, if that is known without a look at each.
    met: Option<MetBox>,
    /// The number after that of its last chunk.
    end: u64,
}

/// A chunk, and the box of its elements in their source.
struct Touch<'s> {
    overlap: Overlap,
    source: &'s dyn Source,
    /// The first element of the box, and its length along each axis.
    from: Vec<usize>,
    len: Vec<usize>,
}

impl<'g, 's> Touched<'g, 's> {
    fn new(array: &'g ChunkedArray, parts: &[Part<'s>]) -> Self {
        let grid = &array.grid;
        let (mut regions, mut end) = (Vec::with_capacity(parts.len()), 0_u64);
        for (region, source) in parts.iter().filter(|(region, _)| !region.is_empty()) {
            let overlaps = grid.overlaps(region);
            let met = MetBox::new(grid, region, &source.picked());
            end = end.saturating_add(met.as_ref().map_or(overlaps.n_indices(), MetBox::n));
            regions.push(TouchedRegion { overlaps, start: region.start(), source: *source, met, end });
        }
        Self { grid, regions }
    }

    /// The numbers of all chunks of the regions.
    fn numbers(&self) -> Range<u64> {
        0..self.regions.last().map_or(0, |last| last.end)
    }

    /// How many chunks there are.
    fn count(&self) -> u64 {
        let is_known = |region: &TouchedRegion<'_>| region.source.is_dense() || region.met.is_some();
        match self.regions.iter().all(is_known) {
            true => self.numbers().end,
            false => self.numbers().filter(|&number| self.piece(number).is_some()).count() as u64,
        }
    }

    /// The chunk with this number, if it has elements.
    fn piece(&self, number: u64) -> Option<Touch<'s>> {
        let at = self.regions.partition_point(|region| region.end <= number);
        let begin = at.checked_sub(1).map_or(0, |before| self.regions[before].end);
        let TouchedRegion { overlaps, start, source, met, .. } = self.regions.get(at)?;
        let overlap = match met {
            None => overlaps.nth_index(number - begin)?,
            Some(met) => met.overlap(self.grid, overlaps, number - begin)?,
        };
        let from: Vec<_> = overlap.start.iter().zip(start).map(|(at, start)| (at - start) as usize).collect();
        let len: Vec<_> = overlap.in_chunk.shape().iter().map(|&n| n as usize).collect();
        let is_met = source.coverage(&from, &len) != Coverage::None;
        is_met.then_some(Touch { overlap, source: *source, from, len })
    }
}

/// The outcome of an attempt to write a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Done,
    Busy,
}

/// How often a chunk is written again because its lock was lost. Each time took longer than a
/// lease.
const LOST_LOCKS: u32 = 2;

/// Writes the part of a region in one chunk, from the elements of the source that begin there.
async fn write_piece<I: Io>(
    array: &ChunkedArray,
    io: &I,
    Overlap { chunk, in_chunk, .. }: &Overlap,
    (source, from): (&dyn Source, Vec<usize>),
    lanes: usize,
    patience: Patience,
    options: &RunOptions,
) -> Result<Written, EngineCause> {
    let size = array.chain.elem_size() as u64;
    let _share = io.share(|| in_chunk.n_elements().unwrap_or(u64::MAX).saturating_mul(size)).await;
    let write = || async {
        let (key, from) = (array.key(chunk)?, (source, from.clone()));
        let write = ChunkWrite::new(array, key, chunk, in_chunk.clone(), from, options.fill_chunks);
        write_chunk(io, write, source, lanes, patience, options).await
    };
    unless_lost(write).await
}

/// Repeats a write if a lock was lost before anything was published: the chunk has to be merged
/// with what others wrote in the meantime.
pub(crate) async fn unless_lost<T, F>(write: impl Fn() -> F + Send + Sync) -> Result<T, EngineCause>
where
    F: Future<Output = Result<T, EngineCause>> + Send,
{
    for _ in 0..LOST_LOCKS {
        match write().await {
            Err(cause) if matches!(cause.of_store(), Some(StoreError::LockLost { .. })) => {}
            written => return written,
        }
    }
    write().await
}

/// Like [`Store::put`], but the wait for the key's lock ends when the work is stopped.
///
/// # Errors
/// The work was stopped; the store fails.
pub fn put_in_turn(
    store: &dyn Store,
    key: &Key,
    value: &Bytes,
    only_if: &Precondition,
    cancel: Option<&Cancel>,
) -> Result<Put, EngineCause> {
    let put = || {
        let taken = match only_if {
            // Only stores without locks are asked for this.
            Precondition::Current(_) => Taken::Unsupported,
            Precondition::None | Precondition::Absent => Turn::take(store, key, Patience::Wait, cancel)?,
        };
        let Taken::Turn(mut turn) = taken else {
            let put = || store.put(key, std::slice::from_ref(value), only_if.clone());
            return publishing(cancel, || with_files(put));
        };
        if matches!(only_if, Precondition::Absent) {
            let Fetched::Missing = turn.fetch(Of::Any, Want::Size)? else { return Ok(Put::Conflict) };
        }
        turn.append(value)?;
        // Later calls may read without the lock, so dropping this call waits.
        let _waited_for = Publishing::begin(cancel, Under::Nothing)?;
        turn.end(|lock| lock.publish()).map(|pin| Put::Done(Some(pin)))
    };
    now(unless_lost(|| ready(put())))
}

/// Like [`Store::erase`], but the wait for the key's lock ends when the work is stopped.
///
/// # Errors
/// The work was stopped; the store fails.
pub fn erase_in_turn(store: &dyn Store, key: &Key, cancel: Option<&Cancel>) -> Result<(), EngineCause> {
    let plainly = || with_files(|| store.erase(key, Precondition::None)).map(drop);
    let erase = || {
        // It may be absent from a cache of the system alone, which the store knows about.
        if !store.has(key)? {
            return publishing(cancel, plainly);
        }
        let Taken::Turn(turn) = Turn::take(store, key, Patience::Wait, cancel)? else {
            return publishing(cancel, plainly);
        };
        let _waited_for = Publishing::begin(cancel, Under::Nothing)?;
        turn.erase()
    };
    now(unless_lost(|| ready(erase())))
}

/// Like [`Store::erase_prefix`], but a wait for a lock ends when the work is stopped.
///
/// # Errors
/// The work was stopped; the store fails.
pub fn erase_prefix_in_turn(
    store: &dyn Store,
    prefix: &Prefix,
    cancel: Option<&Cancel>,
) -> Result<(), EngineCause> {
    let goes_on = || check_cancel(cancel).is_ok();
    let _publishing = Publishing::begin(cancel, Under::Nothing)?;
    match with_files(|| store.erase_prefix(prefix, Wait::While(&goes_on))) {
        Err(StoreError::Busy { .. }) if !goes_on() => Err(EngineCause::Cancelled),
        erased => Ok(erased?),
    }
}

/// Writes one chunk when it is its turn: under the key's lock, or on the condition that no other
/// writer was faster. If the value to be merged with is broken because another program is writing it,
/// in place, it waits for that.
pub(crate) async fn write_chunk<I: Io>(
    io: &I,
    mut write: ChunkWrite,
    source: &dyn Source,
    lanes: usize,
    patience: Patience,
    options: &RunOptions,
) -> Result<Written, EngineCause> {
    let reread = Reread::new(io.blocking(), options.cancel.as_ref());
    loop {
        match write_once(io, &mut write, source, lanes, patience, options).await {
            Err(cause) if cause.is_corrupt() && write.is_outdated(&reread)? => write.restart(),
            written => return written,
        }
    }
}

async fn write_once<I: Io>(
    io: &I,
    write: &mut ChunkWrite,
    source: &dyn Source,
    lanes: usize,
    patience: Patience,
    options: &RunOptions,
) -> Result<Written, EngineCause> {
    let merge = options.concurrent_update == ConcurrentUpdate::Merge;
    let merges = merge && write.needs().is_some();
    let piece =
        io.merging().piece.filter(|&piece| (merge || write.needs().is_none()) && write.is_large(piece));
    // Where writes wait for a disk, so may the creation of a lock: no thread has a permit to
    // compute meanwhile.
    let early = merges || piece.is_some() || io.blocking().is_some_and(|store| store.writes_wait());
    let mut turn = None;
    if early {
        match take(io, write, patience, options)? {
            Taken::Turn(taken) => turn = Some(taken),
            Taken::Busy => return Ok(Written::Busy),
            Taken::Unsupported => {}
        }
    }
    if merges
        && write.is_block()
        && let Some(turn) = &mut turn
        && !turn.lock_value(patience)?
    {
        return Ok(Written::Busy);
    }
    loop {
        let streamed = piece.filter(|_| turn.is_some());
        if let Some(fetch) = write.needs().filter(|_| streamed.is_none()) {
            write.supply(match &mut turn {
                Some(turn) => turn.fetch(fetch.of, fetch.want)?,
                None => io.fetch(&fetch).await?,
            })?;
        }
        let permit = io.permit();
        let change = write.encode(io, turn.as_mut().zip(streamed), source, lanes).await?;
        // The lock is held only for the publication. A `put` without one would wait for it: on a
        // thread of the pool, that could be for a writer whose encoding waits for this thread.
        if turn.is_none() && !merges {
            match take(io, write, patience, options)? {
                Taken::Turn(taken) => turn = Some(taken),
                Taken::Busy => return Ok(Written::Busy),
                Taken::Unsupported => {}
            }
        }
        if let Some(turn) = turn {
            return publish(turn, change, permit).map(|()| Written::Done);
        }
        drop(permit);
        let only_if = if merges { write.precondition() } else { Precondition::None };
        let put = match &change {
            KeyChange::Publish(parts) => io.put(&write.key, parts, only_if).await?,
            KeyChange::Erase => io.erase(&write.key, only_if).await?,
            KeyChange::Keep => Put::Done(None),
        };
        match put {
            Put::Done(_) => return Ok(Written::Done),
            Put::Conflict if merges => write.restart(),
            // It may check the condition of a put alone.
            Put::Unsupported if merges && matches!(change, KeyChange::Erase) => write.store_fill(),
            Put::Conflict | Put::Unsupported => return Err(EngineCause::NoLocking),
        }
    }
}

fn take<I: Io>(
    io: &I,
    write: &ChunkWrite,
    patience: Patience,
    options: &RunOptions,
) -> Result<Taken, EngineCause> {
    match io.blocking() {
        Some(store) => Turn::take(store, &write.key, patience, options.cancel.as_ref()),
        None => Ok(Taken::Unsupported),
    }
}

fn publish<P>(mut turn: Turn, mut change: KeyChange, permit: P) -> Result<(), EngineCause> {
    if let KeyChange::Publish(parts) = &mut change {
        // The memory of each is free before the store waits for its disk, and the next thread with
        // a permit reuses it.
        for part in parts.drain(..) {
            turn.append(&part)?;
        }
    }
    drop(permit);
    match change {
        KeyChange::Publish(_) => turn.publish(),
        KeyChange::Erase => turn.erase(),
        KeyChange::Keep => Ok(()),
    }
}
