//! Asynchronous calls over a blocking store: the work goes to other threads, so that the polling task never blocks.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_grid::Region;
use ndzarr_store::{Store, StoreError};

use crate::blocks::Piece;
use crate::cancel::{CancelOnDrop, Patience, check_cancel};
use crate::chunk_write::{ChunkWrite, Coverage};
use crate::parallel::{n_threads, on_pool};
use crate::read_region::report;
use crate::sequence::Sequence;
use crate::write_region::{
    Written, encode, n_touched, pieces, stream, touches, unless_lost, within, write_chunk,
};
use crate::{ChunkedArray, EngineCause, EngineError, RunOptions, Source};

/// Runs work on the library's threads. When the future is dropped, the work is stopped: it has options of its own for that.
pub async fn pooled<T: Send + 'static>(
    options: &RunOptions,
    work: impl FnOnce(RunOptions) -> T + Send + 'static,
) -> T {
    let (_stop, options) = CancelOnDrop::part_of(options);
    on_pool(move || work(options)).await
}

/// As [`pooled`], on a thread of its own, for work that may wait for locks. A dropped future does not stop it.
///
/// # Errors
/// No thread can be started; a panic of the work.
pub async fn on_own_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EngineCause> + Send + 'static,
) -> Result<T, EngineCause> {
    let (send, receive) = futures_channel::oneshot::channel();
    std::thread::Builder::new()
        .name("ndzarr-lock".to_owned())
        .spawn(move || drop(send.send(work())))
        .map_err(|error| StoreError::io("start a thread to lock", "", error))?;
    receive.await.unwrap_or(Err(EngineCause::Cancelled))
}

/// As [`write_region`](crate::write_region), without blocking the task that polls.
///
/// When the future is dropped or fails, nothing more is published, and locks are free unless something is being published
/// under them.
///
/// # Errors
/// As [`write_region`](crate::write_region).
pub async fn write_region_pooled(
    array: &Arc<ChunkedArray>,
    store: &Arc<dyn Store>,
    region: &Region,
    source: &dyn Source,
    options: &RunOptions,
) -> Result<(), EngineError> {
    if region.is_empty() {
        return Ok(());
    }
    let (_stop, options) = CancelOnDrop::part_of(options);
    let (options, start) = (&options, &region.start());
    let mut pieces = pieces(array, region)?;
    let total = n_touched(array, region, source, pieces.len())?;
    let done = &AtomicU64::new(0);
    stream::iter(std::iter::from_fn(|| pieces.next()).filter(|piece| touches(source, piece, start)))
        .map(Ok)
        .try_for_each_concurrent(n_threads(options.threads) * 2, |piece| async move {
            check_cancel(options)?;
            let chunk = piece.chunk.clone();
            let write = PieceWrite::new(array, store, piece, start, source, options);
            let result = Arc::new(write).run().await;
            result.map_err(|cause| EngineError::at(cause, array.place(&store.name(), &chunk)))?;
            report(options, done, total);
            Ok(())
        })
        .await
}

/// The write of one chunk, with everything that it needs.
struct PieceWrite {
    array: Arc<ChunkedArray>,
    store: Arc<dyn Store>,
    piece: Piece<()>,
    elements: Box<dyn Source + Send>,
    coverage: Coverage,
    options: RunOptions,
}

impl PieceWrite {
    fn new(
        array: &Arc<ChunkedArray>,
        store: &Arc<dyn Store>,
        piece: Piece<()>,
        start: &[u64],
        source: &dyn Source,
        options: &RunOptions,
    ) -> Self {
        let len: Vec<usize> = piece.want.shape().iter().map(|&n| n as usize).collect();
        Self {
            array: Arc::clone(array),
            store: Arc::clone(store),
            elements: source.piece(&within(&piece, start), &len),
            piece,
            coverage: Coverage::of(source),
            options: options.clone(),
        }
    }

    async fn run(self: Arc<Self>) -> Result<(), EngineCause> {
        let piece = Arc::clone(&self);
        if on_pool(move || unless_lost(|| piece.write(Patience::Try))).await? == Written::Done {
            return Ok(());
        }
        // No thread of the pool waits for a lock: one of its own does.
        on_own_thread(move || unless_lost(|| self.write(Patience::Wait))).await.map(drop)
    }

    fn write(&self, patience: Patience) -> Result<Written, EngineCause> {
        check_cancel(&self.options)?;
        let key = self.array.key(&self.piece.chunk)?;
        let mut write = ChunkWrite::new(
            &self.array,
            key,
            &self.piece.chunk,
            self.piece.want.clone(),
            vec![0; self.piece.chunk.len()],
            self.coverage,
            self.options.fill_chunks,
        );
        let (store, options) = (&*self.store, &self.options);
        if let Some(written) = stream(store, &mut write, patience, options, &*self.elements, 1, || ())? {
            return Ok(written);
        }
        write_chunk(store, write, patience, options, |write| Ok((encode(write, &*self.elements, 1)?, ())))
    }
}
