//! Writes regions: the one path from elements to stored values, over every kind of store.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_grid::{Overlap, Region};
use ndzarr_pool::Queue;
use ndzarr_store::{AsyncStore, Store};

use crate::threads::cancel::check_cancel;
use crate::threads::dropped_futures::pass_dropped_futures;
use crate::threads::for_each::n_threads;
use crate::threads::io::{AsyncIo, BlockingIo, Io, in_turns, now};
use crate::threads::other_threads::{on_pool, waiting};
use crate::threads::turn::Patience;
use crate::writing::chunk_write::ChunkWrite;
use crate::writing::lost_lock::repeat_if_lock_lost;
use crate::writing::one_chunk::{Written, write_chunk};
use crate::writing::write_pieces::{WritePiece, WritePieces};
use crate::{AnyStore, ChunkedArray, EngineCause, EngineError, RunOptions, Source};

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
    let io = BlockingIo::new(store, options).writing(|| n_writers(array, parts));
    now(write_by(array, &io, parts, options))
}

/// Asynchronous [`write()`]. Writers are serialized by conditional writes.
///
/// # Errors
/// As for [`write()`].
pub async fn write_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    parts: &[Part<'_>],
    options: &RunOptions,
) -> Result<(), EngineError> {
    write_by(array, &AsyncIo::new(store, options), parts, options).await
}

/// [Writes](write()) to a blocking store without blocking the task that polls: each chunk is handed
/// to the pool with a copy of its elements.
///
/// If the future is dropped or fails, nothing more is published, and locks are free unless
/// something is being published under them. Later calls wait for what is being published without
/// one.
///
/// # Errors
/// As for [`write()`].
pub async fn write_pooled(
    array: &Arc<ChunkedArray>,
    store: &Arc<dyn Store>,
    parts: &[Part<'_>],
    options: &RunOptions,
) -> Result<(), EngineError> {
    let any_store = AnyStore::Blocking(Arc::clone(store));
    pass_dropped_futures(&any_store, options.cancel.as_ref()).await;
    let (_stop, options) = &options.part_of_future(&any_store);
    let name = &store.name();
    let pieces = &WritePieces::new(array, parts);
    let total = pieces.count();
    let done = &AtomicU64::new(0);
    let queue = Queue::of_store(name);
    let write = |number| async move {
        check_cancel(options.cancel.as_ref())?;
        let Some(WritePiece {
            overlap,
            source,
            from,
            len,
        }) = pieces.get(number)
        else {
            return Ok(());
        };
        let elements = source.piece(&from, &len);
        let chunk = overlap.chunk.clone();
        let write = {
            let array = Arc::clone(array);
            let store = Arc::clone(store);
            let options = options.clone();
            Arc::new(move |patience| {
                let io = BlockingIo::one_thread(&*store, &options);
                let source: (&dyn Source, _) = (&*elements, vec![0; from.len()]);
                now(write_piece(
                    &array, &io, &overlap, source, 1, patience, &options,
                ))
            })
        };
        let attempt = Arc::clone(&write);
        let written = match on_pool(queue, move || attempt(Patience::Try)).await {
            Ok(Written::Busy) => {
                waiting(name, options.cancel.as_ref(), move || write(Patience::Wait)).await
            }
            written => written,
        };
        written.map_err(|cause| EngineError::at(cause, array.place(name, &chunk)))?;
        options.report(done, total);
        Ok(())
    };
    stream::iter(pieces.numbers())
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
    let pieces = WritePieces::new(array, parts);
    async move {
        let pieces = &pieces;
        let total = pieces.count();
        let done = &AtomicU64::new(0);
        let lanes = io.inner_lanes(total);
        let write = |number, patience| async move {
            check_cancel(options.cancel.as_ref())?;
            let Some(WritePiece {
                overlap,
                source,
                from,
                ..
            }) = pieces.get(number)
            else {
                return Ok(None);
            };
            let written = write_piece(
                array,
                io,
                &overlap,
                (source, from),
                lanes,
                patience,
                options,
            )
            .await;
            match written
                .map_err(|cause| EngineError::at(cause, array.place(&io.name(), &overlap.chunk)))?
            {
                Written::Busy => Ok(Some(number)),
                Written::Done => {
                    options.report(done, total);
                    Ok(None)
                }
            }
        };
        in_turns(io, pieces.numbers(), write).await
    }
}

/// How many threads write where writes wait. A disk completes many large values at once in little
/// more time than one; writers of small ones contend for the locks of their folder instead.
fn n_writers(array: &ChunkedArray, parts: &[Part<'_>]) -> usize {
    let first = parts
        .first()
        .and_then(|(region, _)| array.grid.overlaps(region).next());
    let shape = first
        .map(|overlap| array.shape_of(&overlap.chunk))
        .unwrap_or_default();
    let byte_len = shape
        .iter()
        .fold(array.chain.elem_size() as u64, |len, &n| {
            len.saturating_mul(n)
        });
    (byte_len >> 16).clamp(16, 64) as usize
}

/// Writes the part of a region in one chunk, from the elements of the source that begin there.
async fn write_piece<I: Io>(
    array: &ChunkedArray,
    io: &I,
    Overlap {
        chunk, in_chunk, ..
    }: &Overlap,
    (source, from): (&dyn Source, Vec<usize>),
    lanes: usize,
    patience: Patience,
    options: &RunOptions,
) -> Result<Written, EngineCause> {
    let size = array.chain.elem_size() as u64;
    let _share = io
        .share(|| {
            in_chunk
                .n_elements()
                .unwrap_or(u64::MAX)
                .saturating_mul(size)
        })
        .await;
    let write = || async {
        let key = array.key(chunk)?;
        let source_at = (source, from.clone());
        let write = ChunkWrite::new(
            array,
            key,
            chunk,
            in_chunk.clone(),
            source_at,
            options.fill_chunks,
        );
        write_chunk(io, write, source, lanes, patience, options).await
    };
    repeat_if_lock_lost(write).await
}
