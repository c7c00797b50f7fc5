//! Writes one chunk under its lock, or on a condition.

use ndzarr_store::{Precondition, Put};

use crate::reading::reread::Reread;
use crate::threads::io::Io;
use crate::threads::turn::{Patience, Taken, Turn};
use crate::writing::chunk_write::ChunkWrite;
use crate::writing::key_change::KeyChange;
use crate::{ConcurrentUpdate, EngineCause, RunOptions, Source};

/// The outcome of an attempt to write a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Done,
    Busy,
}

/// Writes one chunk when it is its turn: under the key's lock, or on the condition that no other
/// writer was faster. If the value to be merged with is broken because another program is writing
/// it in place, it waits for that program.
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
    // How many bytes of a large shard are in memory at once.
    let at_once = io
        .merging()
        .piece
        .filter(|&bytes| (merge || write.needs().is_none()) && write.is_large(bytes));
    // Where writes wait for a disk, so may the creation of a lock: no thread has a permit to
    // compute meanwhile.
    let early =
        merges || at_once.is_some() || io.blocking().is_some_and(|store| store.writes_wait());
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
        && !turn.lock_value(&write.key, patience)?
    {
        return Ok(Written::Busy);
    }
    loop {
        let streamed = at_once.filter(|_| turn.is_some());
        if let Some(fetch) = write.needs().filter(|_| streamed.is_none()) {
            write.supply(match &mut turn {
                Some(turn) => turn.fetch(fetch.of, fetch.want)?,
                None => io.fetch(&fetch).await?,
            })?;
        }
        let permit = io.permit();
        let change = write
            .encode(io, turn.as_mut().zip(streamed), source, lanes)
            .await?;
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
            return change.publish(turn, permit).map(|()| Written::Done);
        }
        drop(permit);
        let only_if = if merges {
            write.precondition()
        } else {
            Precondition::None
        };
        match change.put(io, &write.key, only_if).await? {
            Put::Done(_) => return Ok(Written::Done),
            Put::Conflict if merges => write.restart(),
            // It may check only the condition of a put.
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
