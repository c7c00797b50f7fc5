//! Asynchronous calls over a blocking store: the work goes to the pool, so that the polling task never blocks.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_grid::{Overlap, Region};
use ndzarr_store::{
    AsyncStore, Fetch, Fetched, Key, Precondition, Put, RangeMerging, Store, StoreError, Wait,
};

use crate::chunk_write::{ChunkWrite, Coverage};
use crate::parallel::{on_pool, with_workspace};
use crate::read_region::{check_cancel, report};
use crate::write_region::{Turn, stream, touched, write_chunk};
use crate::{
    ChunkedArray, ConcurrentUpdate, EngineCause, EngineError, RunOptions, Source, Tile, read_region_async,
};

/// As [`read_region`](crate::read_region), without blocking the task that polls.
///
/// # Errors
/// As [`read_region`](crate::read_region).
pub async fn read_region_pooled(
    array: &ChunkedArray,
    store: &Arc<dyn Store>,
    region: &Region,
    tile: Box<dyn Tile + '_>,
    options: &RunOptions,
) -> Result<(), EngineError> {
    read_region_async(array, &ReadOnPool(Arc::clone(store)), region, tile, options).await
}

/// A blocking store whose reads run on the pool.
#[derive(Debug)]
struct ReadOnPool(Arc<dyn Store>);

impl AsyncStore for ReadOnPool {
    fn name(&self) -> String {
        self.0.name()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        let (store, fetch) = (Arc::clone(&self.0), fetch.clone());
        Box::pin(on_pool(move || store.fetch(&fetch)))
    }

    fn put<'a>(
        &'a self,
        _: &'a Key,
        _: &'a [Bytes],
        _: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Unsupported("write through the reading side"))))
    }

    fn erase<'a>(&'a self, _: &'a Key, _: Precondition) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::Unsupported("erase through the reading side"))))
    }

    fn range_merging(&self) -> RangeMerging {
        self.0.range_merging()
    }
}

/// As [`write_region`](crate::write_region), without blocking the task that polls.
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
    let overlaps = touched(array, region, source)?;
    let (done, total) = (AtomicU64::new(0), overlaps.len() as u64);
    let done = &done;
    let at_once = crate::parallel::n_threads(options.threads) * 2;
    stream::iter(overlaps)
        .map(Ok)
        .try_for_each_concurrent(at_once, |overlap| async move {
            check_cancel(options)?;
            let piece = Arc::new(PieceWrite::new(array, store, &overlap, source, options));
            let result = piece.run().await;
            result.map_err(|cause| EngineError::at(cause, array.place(&store.name(), &overlap.chunk)))?;
            report(options, done, total);
            Ok(())
        })
        .await
}

/// The write of one chunk, with everything that it needs.
struct PieceWrite {
    array: Arc<ChunkedArray>,
    store: Arc<dyn Store>,
    chunk: Vec<u64>,
    region: Region,
    elements: Box<dyn Source + Send>,
    coverage: Coverage,
    options: RunOptions,
}

impl PieceWrite {
    fn new(
        array: &Arc<ChunkedArray>,
        store: &Arc<dyn Store>,
        overlap: &Overlap,
        source: &dyn Source,
        options: &RunOptions,
    ) -> Self {
        let start: Vec<usize> = overlap.in_region.start().iter().map(|&at| at as usize).collect();
        let len: Vec<usize> = overlap.in_region.shape().iter().map(|&n| n as usize).collect();
        Self {
            array: Arc::clone(array),
            store: Arc::clone(store),
            chunk: overlap.chunk.clone(),
            region: overlap.in_chunk.clone(),
            elements: source.piece(&start, &len),
            coverage: Coverage::of(source),
            options: options.clone(),
        }
    }

    async fn run(self: Arc<Self>) -> Result<(), EngineCause> {
        let piece = Arc::clone(&self);
        if on_pool(move || piece.write(Wait::Try)).await? == Turn::Done {
            return Ok(());
        }
        // No thread of the pool waits for a lock: one of its own does.
        let (send, receive) = futures_channel::oneshot::channel();
        std::thread::Builder::new()
            .name("ndzarr-lock".to_owned())
            .spawn(move || {
                let _ = send.send(self.write(Wait::Block));
            })
            .map_err(|error| StoreError::io("start a thread to lock", "", error))?;
        receive.await.unwrap_or(Err(EngineCause::Cancelled)).map(|_| ())
    }

    fn write(&self, wait: Wait<'_>) -> Result<Turn, EngineCause> {
        let key = self.array.key(&self.chunk)?;
        let start = vec![0; self.chunk.len()];
        let mut write = ChunkWrite::new(
            &self.array,
            key,
            &self.chunk,
            self.region.clone(),
            start,
            self.coverage,
            self.options.fill_chunks,
        );
        let policy: ConcurrentUpdate = self.options.concurrent_update;
        if let Some(turn) = stream(&*self.store, &mut write, wait, policy, &*self.elements, 1, || ())? {
            return Ok(turn);
        }
        write_chunk(&*self.store, write, wait, policy, |write| {
            with_workspace(|workspace| {
                let jobs = write.jobs(workspace)?;
                let encoded = jobs
                    .iter()
                    .map(|job| job.run(&*self.elements, workspace))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok((write.finish(encoded, workspace)?, ()))
            })
        })
    }
}
