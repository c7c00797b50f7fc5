//! Removes and trims the chunks of an array that is made smaller.

mod plan;

use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr_model::KeyEncoding;
use ndzarr_store::{AsyncStore, Key, Precondition, Prefix, Store, StoreError};

use self::plan::{ShrinkPlan, Task};
use crate::cache::with_files;
use crate::threads::cancel::check_cancel;
use crate::threads::io::{AsyncIo, Below, BlockingIo, Io, in_turns, now};
use crate::threads::turn::{Patience, Taken, Turn};
use crate::writing::chunk_write::ChunkWrite;
use crate::writing::lost_lock::repeat_if_lock_lost;
use crate::writing::no_elements::NoElements;
use crate::writing::one_chunk::{Written, write_chunk};
use crate::{ChunkedArray, EngineCause, EngineError, RunOptions};

/// Checks that [`shrink`] can work in this store. It cannot if the store does not list keys and
/// there are too many chunks to try one by one.
///
/// # Errors
/// It cannot; the store fails.
pub fn check_shrink(
    array: &ChunkedArray,
    store: &dyn Store,
    old_shape: &[u64],
) -> Result<(), EngineError> {
    now(check_shrink_by(
        array,
        &BlockingIo::new(store, &RunOptions::default()),
        old_shape,
    ))
}

/// Asynchronous [`check_shrink`].
///
/// # Errors
/// As for [`check_shrink`].
pub async fn check_shrink_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    old_shape: &[u64],
) -> Result<(), EngineError> {
    check_shrink_by(
        array,
        &AsyncIo::new(store, &RunOptions::default()),
        old_shape,
    )
    .await
}

async fn check_shrink_by(
    array: &ChunkedArray,
    io: &impl Io,
    old_shape: &[u64],
) -> Result<(), EngineError> {
    let plan = ShrinkPlan::new(array, old_shape);
    if plan.enumerate_is_possible() {
        return Ok(());
    }
    // A prefix that no chunk has: listing it shows at no cost if the store can list.
    match io
        .list(&Prefix::new(format!("{}-/", array.keys.prefix))?)
        .await
    {
        Ok(_) => Ok(()),
        Err(StoreError::Unsupported(_)) => Err(plan.cannot_list()),
        Err(error) => Err(error.into()),
    }
}

/// Removes what shrinking from the shape `old_shape` leaves outside an array: whole chunks, and the
/// elements of chunks that now cross its end, which become the fill value. So they do not reappear
/// when it grows again. If the array still has that shape, everything outside is removed.
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
    old_shape: &[u64],
    options: &RunOptions,
) -> Result<(), EngineError> {
    now(shrink_by(
        array,
        &BlockingIo::new(store, options),
        old_shape,
        options,
    ))
}

/// Asynchronous [`shrink`]. Writers are serialized by conditional writes.
///
/// # Errors
/// As for [`shrink`].
pub async fn shrink_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    old_shape: &[u64],
    options: &RunOptions,
) -> Result<(), EngineError> {
    shrink_by(array, &AsyncIo::new(store, options), old_shape, options).await
}

fn shrink_by<I: Io>(
    array: &ChunkedArray,
    io: &I,
    old_shape: &[u64],
    options: &RunOptions,
) -> impl Future<Output = Result<(), EngineError>> + Send {
    let done = AtomicU64::new(0);
    let total = AtomicU64::new(0);
    async move {
        let plan = ShrinkPlan::new(array, old_shape);
        let done = &done;
        let total = &total;
        let run = |task: Task, patience| async move {
            check_cancel(options.cancel.as_ref())?;
            let written = repeat_if_lock_lost(|| one(array, io, &task, patience, options)).await;
            match written
                .map_err(|cause| EngineError::at(cause, array.place(&io.name(), task.chunk())))?
            {
                Written::Busy => Ok(Some(task)),
                Written::Done => {
                    options.report(done, total.load(Ordering::Relaxed));
                    Ok(None)
                }
            }
        };
        // Trims can fail because of stored values, erasures cannot: a chunk that cannot be trimmed
        // is found before anything is removed.
        let mut tasks = Tasks::new(&plan, array)?;
        while let Some(mut batch) = tasks.next(io).await? {
            total.fetch_add(batch.len() as u64, Ordering::Relaxed);
            batch.retain(Task::is_trim);
            in_turns(io, batch.into_iter(), run).await?;
        }
        if total.load(Ordering::Relaxed) == done.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut tasks = Tasks::new(&plan, array)?;
        while let Some(mut batch) = tasks.next(io).await? {
            batch.retain(|task| !task.is_trim());
            // Other writers may have added some.
            total.fetch_max(
                done.load(Ordering::Relaxed) + batch.len() as u64,
                Ordering::Relaxed,
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
            write_chunk(io, write, &NoElements, 1, patience, options).await
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
    io.erase(key, Precondition::None)
        .await
        .map(|_| Written::Done)
}

/// The tasks of a plan, some thousand at a time, so that memory does not grow with the number of
/// chunks, except in an asynchronous store: it lists all keys at once.
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
        Ok(Self {
            plan,
            array,
            found: Found::Listed(vec![(root, 0)]),
        })
    }

    /// The next batch; `None` at the end.
    async fn next(&mut self, io: &impl Io) -> Result<Option<Vec<Task>>, EngineError> {
        let mut batch = Vec::new();
        while batch.len() < BATCH {
            match &mut self.found {
                Found::Listed(pending) => {
                    let Some((prefix, depth)) = pending.pop() else {
                        break;
                    };
                    match io.list(&prefix).await {
                        Ok(Below { keys, folders }) => {
                            batch.extend(
                                keys.iter()
                                    .filter_map(|key| self.plan.task(index(self.array, key)?)),
                            );
                            let may_hold_chunks = |name: &str| {
                                depth < self.plan.n_dims() && KeyEncoding::may_be_folder(name)
                            };
                            if let Some(store) = io.blocking() {
                                let others =
                                    keys.iter().filter(|key| index(self.array, key).is_none());
                                check_links(
                                    store,
                                    others.filter(|key| may_hold_chunks(last(key))),
                                )?;
                            }
                            for name in folders.iter().filter(|name| may_hold_chunks(name)) {
                                pending.push((Prefix::new(format!("{prefix}{name}/"))?, depth + 1));
                            }
                        }
                        Err(StoreError::Unsupported(_)) => {
                            let tried = self
                                .plan
                                .enumerate()
                                .ok_or_else(|| self.plan.cannot_list())?;
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
fn check_links<'k>(
    store: &dyn Store,
    mut keys: impl Iterator<Item = &'k String>,
) -> Result<(), StoreError> {
    keys.try_for_each(|key| with_files(|| store.has(&Key::new(key)?)).map(drop))
}

fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// The chunk with this key.
fn index(array: &ChunkedArray, key: &str) -> Option<Vec<u64>> {
    let below = key.strip_prefix(&array.keys.prefix)?;
    array
        .keys
        .encoding
        .decode(below, array.grid.array_shape().len())
}
