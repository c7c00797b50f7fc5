//! The asynchronous driver of reads: the machines of the blocking one, with fetches that overlap.

use std::sync::atomic::AtomicU64;

use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_grid::Region;
use ndzarr_store::{AsyncStore, Fetch, Want};

use crate::blocks::Piece;
use crate::budget::Budget;
use crate::cancel::check_cancel;
use crate::chunk_read::{ChunkRead, ReadStep};
use crate::decode_job::Job;
use crate::parallel::{on_pool, with_workspace};
use crate::read_region::{MakeTile, Met, Output, keep_index, pieces_of, report};
use crate::sequence::Sequence;
use crate::{Broken, ChunkedArray, EngineCause, EngineError, RunOptions, Tile};

/// As [`read_region`](crate::read_region), over a store whose calls are futures.
///
/// Decoding runs on the library's pool, on memory that belongs to the jobs; the task that polls this future puts the
/// results in place. Dropping the future is safe at any moment.
///
/// # Errors
/// As [`read_region`](crate::read_region).
pub async fn read_region_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    region: &Region,
    tile: Box<dyn Tile + '_>,
    options: &RunOptions,
) -> Result<(), EngineError> {
    read_regions_async(array, store, vec![(region.clone(), Box::new(|| Ok(tile)))], options).await
}

/// As [`read_regions`](crate::read_regions), over a store whose calls are futures. What is in flight is counted over all
/// regions together.
///
/// # Errors
/// As [`read_regions`](crate::read_regions).
pub async fn read_regions_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    regions: Vec<(Region, MakeTile<'_>)>,
    options: &RunOptions,
) -> Result<(), EngineError> {
    let mut pieces = pieces_of(array, regions)?;
    let total = pieces.len() as u64;
    let run = Run {
        array,
        store,
        options,
        bytes: Budget::new(options.bytes_in_flight),
        done: AtomicU64::new(0),
        total,
    };
    let run = &run;
    stream::iter(std::iter::from_fn(|| pieces.next()))
        .map(Ok)
        .try_for_each_concurrent(options.requests_in_flight.get(), |piece| run.chunk(piece))
        .await
}

struct Run<'r> {
    array: &'r ChunkedArray,
    store: &'r dyn AsyncStore,
    options: &'r RunOptions,
    bytes: Budget,
    done: AtomicU64,
    total: u64,
}

impl Run<'_> {
    async fn chunk(&self, piece: Piece<Output<'_>>) -> Result<(), EngineError> {
        check_cancel(self.options)?;
        let Piece { chunk, want, output, .. } = piece;
        let tile = output.tile()?;
        self.read(&chunk, want, tile)
            .await
            .map_err(|cause| EngineError::at(cause, self.array.place(&self.store.name(), &chunk)))?;
        report(self.options, &self.done, self.total);
        Ok(())
    }

    async fn read(&self, chunk: &[u64], want: Region, tile: Box<dyn Tile + '_>) -> Result<(), EngineCause> {
        let key = self.array.key(chunk)?;
        let merging = self.store.range_merging();
        let mut read = ChunkRead::new(self.array, key, chunk, want, merging);
        let name = || self.store.name();
        let damage = &Met::new(self.options, self.array, chunk, &name);
        damage.prepare(&mut read);
        // Held until the last bytes are decoded; one round at a time, so that no read waits for itself.
        let mut share = None;
        while let ReadStep::Fetch(fetch) = read.step()? {
            drop(share.take());
            share = Some(self.bytes.take(expected_bytes(&read, &fetch)).await);
            match self.store.fetch(&fetch).await {
                Ok(fetched) => with_workspace(|workspace| read.supply(fetched, workspace))?,
                Err(error) => read.supply_error(error)?,
            }
            check_cancel(self.options)?;
        }
        keep_index(self.array, &mut read);
        damage.report(read.take_broken());
        let jobs = read.jobs(tile)?;
        stream::iter(jobs).try_for_each_concurrent(DECODING_AT_ONCE, |job| decode(job, damage)).await?;
        drop(share);
        Ok(())
    }
}

/// How many inner chunks of one shard are decoded and not yet in place at once.
const DECODING_AT_ONCE: usize = 8;

async fn decode(job: Job<'_>, damage: &Met<'_>) -> Result<(), EngineCause> {
    match job {
        Job::Decode { work, mut sink } => {
            let (fill, inner_chunk) = (work.fill(), work.inner_chunk.clone());
            let wanted = sink.wanted();
            let decode = move || with_workspace(|workspace| work.decode(wanted.as_deref(), workspace));
            let decoded = on_pool(decode).await;
            match decoded.and_then(|decoded| sink.put_decoded(&decoded, &fill)) {
                Err(cause) if damage.fills(&cause) => {
                    sink.tile.fill(&fill)?;
                    damage.report([Broken { inner_chunk, cause }]);
                    Ok(())
                }
                result => result,
            }
        }
        // Copies alone, for which the output is needed anyway.
        job @ (Job::Fill { .. } | Job::Windows { .. }) => damage.run(job),
    }
}

fn expected_bytes(read: &ChunkRead, fetch: &Fetch) -> u64 {
    match &fetch.want {
        Want::Whole { .. } => read.expected_bytes(),
        Want::Tail(n) => *n,
        Want::Ranges(ranges) => ranges.iter().map(|range| range.end - range.start).sum(),
        Want::Size => 0,
    }
}
