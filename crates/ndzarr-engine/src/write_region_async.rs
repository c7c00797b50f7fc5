//! The asynchronous driver of writes.

use std::sync::atomic::AtomicU64;

use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_grid::{Overlap, Region};
use ndzarr_store::{AsyncStore, Precondition, Put};

use crate::budget::Budget;
use crate::chunk_write::{ChunkWrite, Coverage, Outcome};
use crate::encode_job::EncodeJob;
use crate::parallel::{on_pool, with_workspace};
use crate::read_region::{check_cancel, report};
use crate::write_region::touched;
use crate::{ChunkedArray, ConcurrentUpdate, EngineCause, EngineError, RunOptions, Source};

/// As [`write_region`](crate::write_region), over a store whose calls are futures. Writers take turns by conditional
/// writes.
///
/// # Errors
/// As [`write_region`](crate::write_region).
pub async fn write_region_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    region: &Region,
    source: &dyn Source,
    options: &RunOptions,
) -> Result<(), EngineError> {
    if region.is_empty() {
        return Ok(());
    }
    let overlaps = touched(array, region, source)?;
    let total = overlaps.len() as u64;
    let bytes = Budget::new(options.bytes_in_flight);
    let run = Run { array, store, source, options, bytes, done: AtomicU64::new(0), total };
    let run = &run;
    stream::iter(overlaps)
        .map(Ok)
        .try_for_each_concurrent(options.requests_in_flight.get(), |overlap| run.chunk(overlap))
        .await
}

struct Run<'r> {
    array: &'r ChunkedArray,
    store: &'r dyn AsyncStore,
    source: &'r dyn Source,
    options: &'r RunOptions,
    bytes: Budget,
    done: AtomicU64,
    total: u64,
}

impl Run<'_> {
    async fn chunk(&self, overlap: Overlap) -> Result<(), EngineError> {
        check_cancel(self.options)?;
        self.write(&overlap)
            .await
            .map_err(|cause| EngineError::at(cause, self.array.place(&self.store.name(), &overlap.chunk)))?;
        report(self.options, &self.done, self.total);
        Ok(())
    }

    async fn write(&self, overlap: &Overlap) -> Result<(), EngineCause> {
        let key = self.array.key(&overlap.chunk)?;
        let start = overlap.in_region.start().iter().map(|&at| at as usize).collect();
        let region = overlap.in_chunk.clone();
        let size = self.array.chain.elem_size() as u64;
        let _share = self.bytes.take(region.n_elements().unwrap_or(u64::MAX).saturating_mul(size)).await;
        let write = ChunkWrite::new(
            self.array,
            key,
            &overlap.chunk,
            region,
            start,
            Coverage::of(self.source),
            self.options.fill_chunks,
        );
        write_chunk(self.store, write, self.source, self.options).await
    }
}

/// Writes one chunk on the condition that nobody was faster, as often as it takes.
pub(crate) async fn write_chunk(
    store: &dyn AsyncStore,
    mut write: ChunkWrite,
    source: &dyn Source,
    options: &RunOptions,
) -> Result<(), EngineCause> {
    loop {
        if let Some(fetch) = write.needs() {
            write.supply(store.fetch(&fetch).await?)?;
        }
        let jobs = with_workspace(|workspace| write.jobs(workspace))?;
        let encoded = encode_all(jobs, source).await?;
        let outcome = with_workspace(|workspace| write.finish(encoded, workspace))?;
        check_cancel(options)?;
        let only_if = match options.concurrent_update {
            ConcurrentUpdate::Merge => write.precondition(),
            ConcurrentUpdate::LastWriterWins => Precondition::None,
        };
        let put = match &outcome {
            Outcome::Publish(parts) => store.put(write.key(), parts, only_if).await?,
            Outcome::Erase => store.erase(write.key(), only_if).await?,
            Outcome::Keep => Put::Done(None),
        };
        match put {
            Put::Done(_) => return Ok(()),
            Put::Conflict => write.restart(),
            Put::Unsupported => return Err(EngineCause::CannotMerge),
        }
    }
}

async fn encode_all(jobs: Vec<EncodeJob>, source: &dyn Source) -> Result<Vec<Option<Vec<u8>>>, EngineCause> {
    let run = |job: EncodeJob| async move {
        let (job, owned) = job.detach(source)?;
        on_pool(move || with_workspace(|workspace| job.run(&*owned, workspace))).await
    };
    stream::iter(jobs.into_iter().map(run)).buffered(ENCODING_AT_ONCE).try_collect().await
}

/// How many inner chunks of one shard are encoded at once.
const ENCODING_AT_ONCE: usize = 8;
