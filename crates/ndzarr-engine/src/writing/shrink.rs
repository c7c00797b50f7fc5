//! Removes and trims the chunks of an array that is made smaller.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{self, AtomicU64};

use ndzarr_grid::{ChunkGrid, Region, n_elements};
use ndzarr_model::KeyEncoding;
use ndzarr_store::{AsyncStore, Key, Precondition, Prefix, Store, StoreError};

use crate::cache::with_files;
use crate::threads::cancel::{Patience, Taken, Turn, check_cancel};
use crate::threads::io::{Awaited, Here, Io, in_turns, now};
use crate::writing::chunk_write::{ChunkWrite, Nothing};
use crate::writing::write::{Written, unless_lost, write_chunk};
use crate::{ChunkedArray, EngineCause, EngineError, RunOptions};

/// Checks that [`shrink`] can work in this store. It cannot if the store does not list keys and
/// there are too many chunks to try one by one.
///
/// # Errors
/// It cannot; the store fails.
pub fn check_shrink(array: &ChunkedArray, store: &dyn Store, was: &[u64]) -> Result<(), EngineError> {
    now(check_shrink_by(array, &Here::new(store, &RunOptions::default()), was))
}

/// Like [`check_shrink`], over an asynchronous store.
///
/// # Errors
/// As for [`check_shrink`].
pub async fn check_shrink_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    was: &[u64],
) -> Result<(), EngineError> {
    check_shrink_by(array, &Awaited::new(store, &RunOptions::default()), was).await
}

async fn check_shrink_by(array: &ChunkedArray, io: &impl Io, was: &[u64]) -> Result<(), EngineError> {
    let plan = ShrinkPlan::new(array, was);
    if plan.enumerate_is_possible() {
        return Ok(());
    }
    // A prefix that no chunk has: listing it shows whether the store can list, at no cost.
    match io.list(&Prefix::new(format!("{}-/", array.keys.prefix))?).await {
        Ok(_) => Ok(()),
        Err(StoreError::Unsupported(_)) => Err(plan.cannot_list()),
        Err(error) => Err(error.into()),
    }
}

/// Removes everything outside an array that had the shape `was`: whole chunks, and the elements of
/// chunks that now cross its end, which become the fill value. So they do not reappear when it
/// grows again. If the array already has the shape `was`, everything outside is removed.
///
/// Stored chunks are listed, not enumerated. Each write is serialized with other writers of the
/// chunk.
///
/// # Errors
/// The first chunk that fails, with its key and index; others may have been written. The store
/// cannot list keys, and there are too many chunks to try.
pub fn shrink(
    array: &ChunkedArray,
    store: &dyn Store,
    was: &[u64],
    options: &RunOptions,
) -> Result<(), EngineError> {
    now(shrink_by(array, &Here::new(store, options), was, options))
}

/// Like [`shrink`], over an asynchronous store. Writers are serialized by conditional writes.
///
/// # Errors
/// As for [`shrink`].
pub async fn shrink_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    was: &[u64],
    options: &RunOptions,
) -> Result<(), EngineError> {
    shrink_by(array, &Awaited::new(store, options), was, options).await
}

fn shrink_by<I: Io>(
    array: &ChunkedArray,
    io: &I,
    was: &[u64],
    options: &RunOptions,
) -> impl Future<Output = Result<(), EngineError>> + Send {
    let (done, total) = (AtomicU64::new(0), AtomicU64::new(0));
    async move {
        let plan = ShrinkPlan::new(array, was);
        let (done, total) = (&done, &total);
        let run = |task: Task, patience| async move {
            check_cancel(options.cancel.as_ref())?;
            let written = unless_lost(|| one(array, io, &task, patience, options)).await;
            match written.map_err(|cause| EngineError::at(cause, array.place(&io.name(), task.chunk())))? {
                Written::Busy => Ok(Some(task)),
                Written::Done => {
                    options.report(done, total.load(atomic::Ordering::Relaxed));
                    Ok(None)
                }
            }
        };
        // Trims can fail because of stored values, erasures cannot: a chunk that cannot be trimmed
        // is found before anything is removed.
        let mut tasks = Tasks::new(&plan, array)?;
        while let Some(mut batch) = tasks.next(io).await? {
            total.fetch_add(batch.len() as u64, atomic::Ordering::Relaxed);
            batch.retain(Task::is_trim);
            in_turns(io, batch.into_iter(), run).await?;
        }
        if total.load(atomic::Ordering::Relaxed) == done.load(atomic::Ordering::Relaxed) {
            return Ok(());
        }
        let mut tasks = Tasks::new(&plan, array)?;
        while let Some(mut batch) = tasks.next(io).await? {
            batch.retain(|task| !task.is_trim());
            // Other writers may have added some.
            total.fetch_max(
                done.load(atomic::Ordering::Relaxed) + batch.len() as u64,
                atomic::Ordering::Relaxed,
            );
            in_turns(io, batch.into_iter(), run).await?;
        }
        Ok(())
    }
}

async fn one<I: Io>(
    array: &ChunkedArray,
    io: &I,
    task: &Task,
    patience: Patience,
    options: &RunOptions,
) -> Result<Written, EngineCause> {
    let key = array.key(task.chunk())?;
    match task {
        Task::Erase(_) => erase(io, &key, patience, options).await,
        Task::Trim(chunk) => {
            let write = ChunkWrite::trim(array, key, chunk, options.fill_chunks);
            write_chunk(io, write, &Nothing, 1, patience, options).await
        }
    }
}

async fn erase<I: Io>(
    io: &I,
    key: &Key,
    patience: Patience,
    options: &RunOptions,
) -> Result<Written, EngineCause> {
    // Whatever the policy: a wait in the store could not be cancelled.
    if let Some(store) = io.blocking() {
        match Turn::take(store, key, patience, options.cancel.as_ref())? {
            Taken::Turn(turn) => return turn.erase().map(|()| Written::Done),
            Taken::Busy => return Ok(Written::Busy),
            Taken::Unsupported => {}
        }
    }
    io.erase(key, Precondition::None).await.map(|_| Written::Done)
}

/// The tasks of a plan, some thousand at a time, so that memory does not grow with the number of
/// chunks.
struct Tasks<'a> {
    plan: &'a ShrinkPlan<'a>,
    array: &'a ChunkedArray,
    found: Found<'a>,
}

/// How the chunks are found.
enum Found<'a> {
    /// Folders that are still to be listed, and their depth. Those without chunks are skipped.
    Listed(Vec<(Prefix, usize)>),
    /// The store does not list keys.
    Tried(Box<dyn Iterator<Item = Task> + Send + 'a>),
}

/// The least number of tasks in a batch, except in the last one; a folder more is the most.
const BATCH: usize = 4096;

impl<'a> Tasks<'a> {
    fn new(plan: &'a ShrinkPlan<'a>, array: &'a ChunkedArray) -> Result<Self, StoreError> {
        let root = Prefix::new(&array.keys.prefix)?;
        Ok(Self { plan, array, found: Found::Listed(vec![(root, 0)]) })
    }

    /// The next batch; `None` at the end.
    async fn next(&mut self, io: &impl Io) -> Result<Option<Vec<Task>>, EngineError> {
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            match &mut self.found {
                Found::Listed(pending) => {
                    let Some((prefix, depth)) = pending.pop() else { break };
                    match io.list(&prefix).await {
                        Ok((keys, folders)) => {
                            batch.extend(
                                keys.iter().filter_map(|key| self.plan.task(index(self.array, key)?)),
                            );
                            let may_hold_chunks =
                                |name: &str| depth < self.plan.was.len() && KeyEncoding::may_be_folder(name);
                            if let Some(store) = io.blocking() {
                                let others = keys.iter().filter(|key| index(self.array, key).is_none());
                                check_links(store, others.filter(|key| may_hold_chunks(last(key))))?;
                            }
                            for name in folders.iter().filter(|name| may_hold_chunks(name)) {
                                pending.push((Prefix::new(format!("{prefix}{name}/"))?, depth + 1));
                            }
                        }
                        Err(StoreError::Unsupported(_)) => {
                            let tried = self.plan.enumerate().ok_or_else(|| self.plan.cannot_list())?;
                            self.found = Found::Tried(Box::new(tried));
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
                Found::Tried(tasks) => {
                    let Some(task) = tasks.next() else { break };
                    batch.push(task);
                }
            }
        }
        Ok((!batch.is_empty()).then_some(batch))
    }
}

/// Looks at values in the places of folders of chunks.
///
/// # Errors
/// One is a link that leads nowhere now: what it leads to is not known.
fn check_links<'k>(store: &dyn Store, mut keys: impl Iterator<Item = &'k String>) -> Result<(), StoreError> {
    keys.try_for_each(|key| with_files(|| store.has(&Key::new(key)?)).map(drop))
}

fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// The chunk with this key.
fn index(array: &ChunkedArray, key: &str) -> Option<Vec<u64>> {
    let below = key.strip_prefix(&array.keys.prefix)?;
    array.keys.encoding.decode(below, array.grid.array_shape().len())
}

/// The fate of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Task {
    /// It is outside the array and is removed.
    Erase(Vec<u64>),
    /// A part of it is now outside and becomes the fill value.
    Trim(Vec<u64>),
}

impl Task {
    fn is_trim(&self) -> bool {
        matches!(self, Self::Trim(_))
    }

    fn chunk(&self) -> &[u64] {
        match self {
            Self::Erase(chunk) | Self::Trim(chunk) => chunk,
        }
    }
}

/// From one shape to another.
#[derive(Debug)]
struct ShrinkPlan<'a> {
    grid: &'a ChunkGrid,
    was: &'a [u64],
}

/// More chunks than this are not tried one by one.
const MAX_TRIES: u64 = 1 << 20;

impl<'a> ShrinkPlan<'a> {
    /// From the shape `was` to that of the array.
    fn new(array: &'a ChunkedArray, was: &'a [u64]) -> Self {
        Self { grid: array.grid(), was }
    }

    /// True if elements at the end of an axis have to go. In an array that keeps its shape, that is
    /// everything outside, which completes an interrupted shrink.
    fn shrinks(&self, axis: usize) -> bool {
        let now = self.grid.array_shape();
        now[axis] < self.was[axis] || now == self.was
    }

    /// The fate of a chunk; `None` if it does not change.
    fn task(&self, chunk: Vec<u64>) -> Option<Task> {
        let Some(region) = self.grid.chunk_region(&chunk) else { return Some(Task::Erase(chunk)) };
        let is_cut =
            |axis: usize| region.ranges()[axis].end > self.grid.array_shape()[axis] && self.shrinks(axis);
        (0..chunk.len()).any(is_cut).then_some(Task::Trim(chunk))
    }

    /// The chunks of the old grid that may be affected, as disjoint boxes of indices.
    fn boxes(&self) -> Vec<Vec<Range<u64>>> {
        let now = self.grid.array_shape();
        let per = |shape: &[u64], up: bool| -> Vec<u64> {
            let count = |(axis, &n): (usize, &u64)| {
                let met = self.grid.n_chunks_along(axis, n);
                // Without the last one, unless it ends exactly there.
                let is_cut = met > 0 && self.grid.range_along(axis, met - 1).end > n;
                if up || !is_cut { met } else { met - 1 }
            };
            shape.iter().enumerate().map(count).collect()
        };
        let (kept, all) = (per(now, false), per(self.was, true));
        (0..now.len())
            .filter(|&axis| self.shrinks(axis))
            .map(|axis| {
                (0..now.len())
                    .map(|other| match other.cmp(&axis) {
                        Ordering::Less if self.shrinks(other) => 0..kept[other].min(all[other]),
                        Ordering::Equal => kept[axis]..all[axis].max(kept[axis]),
                        _ => 0..all[other],
                    })
                    .collect()
            })
            .collect()
    }

    /// The number of chunks to try if they cannot be listed.
    fn n_tries(&self) -> u64 {
        let lens = |ranges: &Vec<Range<u64>>| {
            let lens: Vec<u64> = ranges.iter().map(|range| range.end - range.start).collect();
            n_elements(&lens).unwrap_or(u64::MAX)
        };
        self.boxes().iter().map(lens).fold(0, u64::saturating_add)
    }

    /// True if they are few enough to try.
    fn enumerate_is_possible(&self) -> bool {
        self.n_tries() <= MAX_TRIES
    }

    fn cannot_list(&self) -> EngineError {
        EngineCause::CannotList { n_chunks: self.n_tries() }.into()
    }

    /// Every chunk that may be affected; `None` if there are too many.
    fn enumerate(&self) -> Option<impl Iterator<Item = Task> + Send> {
        let all_below = |ranges: Vec<Range<u64>>| {
            let end: Vec<u64> = ranges.iter().map(|range| range.end).collect();
            let indices = ChunkGrid::regular(&end, &vec![1; end.len()]).ok()?;
            Some(indices.overlaps(&Region::new(ranges)))
        };
        let overlaps = self.boxes().into_iter().filter_map(all_below).flatten();
        self.enumerate_is_possible().then(|| overlaps.filter_map(|overlap| self.task(overlap.chunk)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Shape of the array, of its chunks, and its former shape.
    const CASES: [([u64; 3], [u64; 3], [u64; 3]); 8] = [
        ([10, 7, 5], [3, 2, 5], [13, 9, 5]),
        ([9, 8, 5], [3, 2, 5], [13, 9, 5]),
        ([0, 7, 5], [3, 2, 5], [13, 9, 5]),
        ([10, 20, 5], [3, 2, 5], [13, 9, 5]),
        ([10, 20, 1], [3, 2, 5], [13, 9, 4]),
        ([13, 9, 5], [3, 2, 5], [13, 9, 5]),
        ([20, 20, 20], [3, 2, 5], [13, 9, 5]),
        ([1, 1, 1], [30, 20, 50], [2, 2, 2]),
    ];

    #[test]
    fn enumerating_finds_what_looking_at_every_chunk_finds() {
        for (now, chunks, was) in CASES {
            let grid = ChunkGrid::regular(&now, &chunks).expect("a grid");
            let plan = ShrinkPlan { grid: &grid, was: &was };
            let old = ChunkGrid::regular(&was, &chunks).expect("a grid");
            let whole = Region::whole(&was);
            let expected: BTreeMap<Vec<u64>, Task> = old
                .overlaps(&whole)
                .filter_map(|overlap| Some((overlap.chunk.clone(), plan.task(overlap.chunk)?)))
                .collect();
            let tasks: Vec<_> = plan.enumerate().expect("not many").collect();
            assert!(tasks.len() as u64 <= plan.n_tries());
            let n = tasks.len();
            let found: BTreeMap<Vec<u64>, Task> =
                tasks.into_iter().map(|task| (task.chunk().to_vec(), task)).collect();
            assert_eq!((n, &found), (expected.len(), &expected), "{was:?} to {now:?}");
        }
    }

    #[test]
    fn huge_grids_are_not_enumerated() {
        let grid = ChunkGrid::regular(&[1, 1 << 60], &[1, 1]).expect("a grid");
        assert!(ShrinkPlan { grid: &grid, was: &[2, 1 << 60] }.enumerate().is_none());
        let plan = ShrinkPlan { grid: &grid, was: &[1, (1 << 60) + 3] };
        assert_eq!(plan.enumerate().map(Iterator::count), Some(3));
    }
}
