//! The asynchronous driver of writes.

use std::sync::atomic::AtomicU64;

use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_grid::Region;
use ndzarr_store::{AsyncStore, Precondition, Put};

use crate::blocks::Piece;
use crate::budget::Budget;
use crate::cancel::check_cancel;
use crate::chunk_write::{ChunkWrite, Coverage, Outcome};
use crate::encode_job::EncodeJob;
use crate::parallel::{on_pool, with_workspace};
use crate::read_region::report;
use crate::sequence::Sequence;
use crate::write_region::{n_touched, pieces, touches, within};
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
    let mut pieces = pieces(array, region)?;
    let total = n_touched(array, region, source, pieces.len())?;
    let bytes = Budget::new(options.bytes_in_flight);
    let start = region.start();
    let run = Run { array, store, source, start, options, bytes, done: AtomicU64::new(0), total };
    let run = &run;
    stream::iter(std::iter::from_fn(|| pieces.next()).filter(|piece| touches(source, piece, &run.start)))
        .map(Ok)
        .try_for_each_concurrent(options.requests_in_flight.get(), |piece| run.chunk(piece))
        .await
}

struct Run<'r> {
    array: &'r ChunkedArray,
    store: &'r dyn AsyncStore,
    source: &'r dyn Source,
    /// The element of the array that the source begins at.
    start: Vec<u64>,
    options: &'r RunOptions,
    bytes: Budget,
    done: AtomicU64,
    total: u64,
}

impl Run<'_> {
    async fn chunk(&self, piece: Piece<()>) -> Result<(), EngineError> {
        check_cancel(self.options)?;
        self.write(&piece)
            .await
            .map_err(|cause| EngineError::at(cause, self.array.place(&self.store.name(), &piece.chunk)))?;
        report(self.options, &self.done, self.total);
        Ok(())
    }

    async fn write(&self, piece: &Piece<()>) -> Result<(), EngineCause> {
        let key = self.array.key(&piece.chunk)?;
        let region = piece.want.clone();
        let size = self.array.chain.elem_size() as u64;
        let _share = self.bytes.take(region.n_elements().unwrap_or(u64::MAX).saturating_mul(size)).await;
        let write = ChunkWrite::new(
            self.array,
            key,
            &piece.chunk,
            region,
            within(piece, &self.start),
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
        let outcome = loop {
            let jobs = with_workspace(|workspace| write.jobs(workspace))?;
            if jobs.is_empty() {
                break with_workspace(|workspace| write.finish(workspace))?;
            }
            let encoded = encode_all(jobs, source).await?;
            with_workspace(|workspace| write.put(encoded, workspace));
        };
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
