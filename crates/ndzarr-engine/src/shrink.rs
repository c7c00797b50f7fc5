//! What becomes of the chunks of an array that is made smaller.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_model::ChunkKeys;
use ndzarr_store::{AsyncStore, DirListing, Precondition, Prefix, Store, StoreError};

use crate::cancel::{CancelOnDrop, Patience, Taken, Turn, check_cancel, publishing};
use crate::chunk_write::ChunkWrite;
use crate::parallel;
use crate::pooled::on_own_thread;
use crate::read_region::report;
use crate::shrink_plan::{ShrinkPlan, Task};
use crate::write_region::{Written, encode, unless_lost, write_chunk};
use crate::write_region_async::write_chunk as write_chunk_async;
use crate::{ChunkedArray, ConcurrentUpdate, EngineCause, EngineError, RunOptions, Source};

/// Whether [`shrink`] can do its work in this store. It cannot where keys are not listed and too many chunks would have
/// to be tried one by one.
///
/// # Errors
/// It cannot; the store.
pub fn check_shrink(array: &ChunkedArray, store: &dyn Store, was: &[u64]) -> Result<(), EngineError> {
    let plan = ShrinkPlan::new(array, was);
    if plan.enumerate_is_possible() {
        return Ok(());
    }
    checked(&plan, store.list_dir(&nowhere(&array.keys)?))
}

/// As [`check_shrink`], over a store whose calls are futures.
///
/// # Errors
/// As [`check_shrink`].
pub async fn check_shrink_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    was: &[u64],
) -> Result<(), EngineError> {
    let plan = ShrinkPlan::new(array, was);
    if plan.enumerate_is_possible() {
        return Ok(());
    }
    let nowhere = nowhere(&array.keys)?;
    let listing = store.list_dir(&nowhere).await;
    checked(&plan, listing)
}

/// A prefix that no chunk has: listing it tells whether the store can list, and costs nothing.
fn nowhere(keys: &ChunkKeys) -> Result<Prefix, StoreError> {
    Prefix::new(format!("{}-/", keys.prefix))
}

fn checked(plan: &ShrinkPlan<'_>, listing: Result<DirListing, StoreError>) -> Result<(), EngineError> {
    match listing {
        Ok(_) => Ok(()),
        Err(StoreError::Unsupported(_)) => Err(EngineCause::CannotList { n_chunks: plan.n_tries() }.into()),
        Err(error) => Err(error.into()),
    }
}

/// Removes what is outside an array that had the shape `was`: whole chunks, and the elements of chunks that it has come
/// to cut, which become the fill value. So they do not come back when it grows again. If the array has just that shape,
/// whatever is outside goes.
///
/// The chunks that are stored are listed, not enumerated. Each is written in turn with every other writer of it.
///
/// # Errors
/// The first chunk that fails, with its key and index; others may have been written. The store cannot list, and the
/// chunks are too many to be tried.
pub fn shrink(
    array: &ChunkedArray,
    store: &dyn Store,
    was: &[u64],
    options: &RunOptions,
) -> Result<(), EngineError> {
    let plan = ShrinkPlan::new(array, was);
    let tasks = match listed(array, store, &plan) {
        Err(StoreError::Unsupported(_)) => enumerated(&plan)?,
        listed => listed?,
    };
    let threads = parallel::n_threads(options.threads);
    let (done, total) = (AtomicU64::new(0), tasks.len() as u64);
    let (trims, erasures) = trims_first(tasks);
    let run = |task: &Task, patience| {
        check_cancel(options)?;
        let written = unless_lost(|| one(array, store, task, patience, options))
            .map_err(|cause| EngineError::at(cause, array.place(&store.name(), task.chunk())))?;
        if written == Written::Done {
            report(options, &done, total);
        }
        Ok::<_, EngineError>(written)
    };
    for tasks in [trims, erasures] {
        // As in writing: no thread of the pool waits for a lock.
        let busy = Mutex::new(Vec::new());
        parallel::for_each(tasks.into_iter(), threads, |task| {
            if run(&task, Patience::Try)? == Written::Busy {
                busy.lock().unwrap_or_else(PoisonError::into_inner).push(task);
            }
            Ok::<_, EngineError>(())
        })?;
        for task in busy.into_inner().unwrap_or_else(PoisonError::into_inner) {
            run(&task, Patience::Wait)?;
        }
    }
    Ok(())
}

/// Trims can fail by what is stored, erasures cannot: what cannot be trimmed is found before anything is removed.
fn trims_first(tasks: Vec<Task>) -> (Vec<Task>, Vec<Task>) {
    tasks.into_iter().partition(|task| matches!(task, Task::Trim(_)))
}

fn one(
    array: &ChunkedArray,
    store: &dyn Store,
    task: &Task,
    patience: Patience,
    options: &RunOptions,
) -> Result<Written, EngineCause> {
    let key = array.key(task.chunk())?;
    match task {
        Task::Erase(_) => {
            if options.concurrent_update == ConcurrentUpdate::Merge {
                match Turn::take(store, &key, patience, options)? {
                    Taken::Turn(turn) => {
                        turn.erase()?;
                        return Ok(Written::Done);
                    }
                    Taken::Busy => return Ok(Written::Busy),
                    Taken::Unsupported => {}
                }
            }
            publishing(options, || store.erase(&key, Precondition::None))?;
            Ok(Written::Done)
        }
        Task::Trim(chunk) => {
            let write = ChunkWrite::trim(array, key, chunk, options.fill_chunks);
            write_chunk(store, write, patience, options, |write| Ok((encode(write, &Nothing, 1)?, ())))
        }
    }
}

/// As [`shrink`], without blocking the task that polls. When the future is dropped or fails, nothing more is removed.
///
/// # Errors
/// As [`shrink`].
pub async fn shrink_pooled(
    array: &Arc<ChunkedArray>,
    store: &Arc<dyn Store>,
    was: &[u64],
    options: &RunOptions,
) -> Result<(), EngineError> {
    let (_stop, options) = CancelOnDrop::part_of(options);
    let (array, store, was) = (array.clone(), store.clone(), was.to_vec());
    on_own_thread(move || Ok(shrink(&array, &*store, &was, &options))).await?
}

/// As [`shrink`], over a store whose calls are futures. Writers take turns by conditional writes.
///
/// # Errors
/// As [`shrink`].
pub async fn shrink_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    was: &[u64],
    options: &RunOptions,
) -> Result<(), EngineError> {
    let plan = ShrinkPlan::new(array, was);
    let tasks = match store.list_prefix(&Prefix::new(&array.keys.prefix)?).await {
        Ok(keys) => keys.iter().filter_map(|key| plan.task(index(array, key.as_str())?)).collect(),
        Err(StoreError::Unsupported(_)) => enumerated(&plan)?,
        Err(error) => return Err(error.into()),
    };
    let (done, total) = (&AtomicU64::new(0), tasks.len() as u64);
    let (trims, erasures) = trims_first(tasks);
    for tasks in [trims, erasures] {
        stream::iter(tasks)
            .map(Ok)
            .try_for_each_concurrent(options.requests_in_flight.get(), |task| async move {
                check_cancel(options)?;
                one_async(array, store, &task, options)
                    .await
                    .map_err(|cause| EngineError::at(cause, array.place(&store.name(), task.chunk())))?;
                report(options, done, total);
                Ok::<_, EngineError>(())
            })
            .await?;
    }
    Ok(())
}

async fn one_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    task: &Task,
    options: &RunOptions,
) -> Result<(), EngineCause> {
    let key = array.key(task.chunk())?;
    match task {
        Task::Erase(_) => {
            store.erase(&key, Precondition::None).await?;
            Ok(())
        }
        Task::Trim(chunk) => {
            let write = ChunkWrite::trim(array, key, chunk, options.fill_chunks);
            write_chunk_async(store, write, &Nothing, options).await
        }
    }
}

fn enumerated(plan: &ShrinkPlan<'_>) -> Result<Vec<Task>, EngineError> {
    plan.enumerate().ok_or_else(|| EngineCause::CannotList { n_chunks: plan.n_tries() }.into())
}

/// What is to be done, from the keys that there are. One folder is listed after the other, so that only what is to be
/// done takes memory, and folders that hold no chunks are passed over.
fn listed(array: &ChunkedArray, store: &dyn Store, plan: &ShrinkPlan<'_>) -> Result<Vec<Task>, StoreError> {
    let mut tasks = Vec::new();
    let mut pending = vec![(Prefix::new(&array.keys.prefix)?, 0)];
    let ndim = array.grid.array_shape().len();
    while let Some((prefix, depth)) = pending.pop() {
        let listing = store.list_dir(&prefix)?;
        for name in listing.keys {
            tasks.extend(index(array, &format!("{prefix}{name}")).and_then(|chunk| plan.task(chunk)));
        }
        let is_part = |name: &str| name.strip_prefix('c').unwrap_or(name).bytes().all(|b| b.is_ascii_digit());
        for name in listing.prefixes.iter().filter(|name| depth < ndim && is_part(name)) {
            pending.push((Prefix::new(format!("{prefix}{name}/"))?, depth + 1));
        }
    }
    Ok(tasks)
}

/// The chunk whose key this is.
fn index(array: &ChunkedArray, key: &str) -> Option<Vec<u64>> {
    let below = key.strip_prefix(&array.keys.prefix)?;
    array.keys.encoding.decode(below, array.grid.array_shape().len())
}

/// No elements at all.
struct Nothing;

impl Source for Nothing {
    fn gather(&self, _: &[usize], _: &[usize], _: &mut [u8], _: usize, _: &[isize]) {}

    fn is_dense(&self) -> bool {
        false
    }

    fn piece(&self, _: &[usize], _: &[usize]) -> Box<dyn Source + Send> {
        Box::new(Self)
    }
}
