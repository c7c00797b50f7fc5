//! The blocking driver of reads.

use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr_grid::Region;
use ndzarr_store::{Key, Pin, Store};

use crate::blocks::{Piece, Pieces};
use crate::cancel::check_cancel;
use crate::chunk_read::{ChunkRead, ReadStep};
use crate::cover;
use crate::index_cache::with_files;
use crate::inner_chunks::Jobs;
use crate::late_jobs::LateJobs;
use crate::parallel::{self, with_workspace};
use crate::raw_layers::{self, Turn};
use crate::sequence::{Sequence, Twos};
use crate::{Broken, ChunkedArray, DamageReport, EngineCause, EngineError, Job, Progress, RunOptions, Tile};

/// Reads a region of an array into a tile of its shape. What is not stored is the fill value.
///
/// # Errors
/// The first chunk that fails, with its key and index; the tile's content is then any mixture.
pub fn read_region(
    array: &ChunkedArray,
    store: &dyn Store,
    region: &Region,
    tile: Box<dyn Tile + '_>,
    options: &RunOptions,
) -> Result<(), EngineError> {
    read_regions(array, store, vec![(region.clone(), Box::new(|| Ok(tile)))], options)
}

/// Makes a tile when it is needed.
pub type MakeTile<'t> = Box<dyn FnOnce() -> Result<Box<dyn Tile + 't>, EngineCause> + Send + 't>;

/// Reads several regions of an array, each into a tile of its shape, as one piece of work.
///
/// The tile of a region that one chunk has all of is made by the thread that reads it, just before: its memory is in the cache
/// then, and threads share the work of mapping it.
///
/// # Errors
/// As [`read_region`]; a tile that cannot be made.
pub fn read_regions(
    array: &ChunkedArray,
    store: &dyn Store,
    regions: Vec<(Region, MakeTile<'_>)>,
    options: &RunOptions,
) -> Result<(), EngineError> {
    let all = pieces_of(array, regions)?;
    let threads = parallel::n_threads(options.threads);
    let run = Run { array, store, options, threads, done: AtomicU64::new(0), total: all.len() as u64 };
    if array.chain.decodes_two() && are_many(all.len(), threads) {
        return parallel::for_each(Twos(all), threads, |(a, b)| run.chunks(a, b));
    }
    parallel::for_each(all, threads, |piece| run.chunks(piece, None))
}

/// The pieces of several regions.
pub(crate) fn pieces_of<'r, 't>(
    array: &'r ChunkedArray,
    regions: Vec<(Region, MakeTile<'t>)>,
) -> Result<TilePieces<'r, 't>, EngineCause> {
    let mut all = Pieces::new(&array.grid);
    for (region, make) in regions {
        if region.is_empty() {
            make()?;
        } else if let Some((chunk, want)) = only_chunk(array, &region) {
            all.add_piece(Piece { chunk, want, start: region.start(), output: Output::Later(make) });
        } else if array.grid.is_custom() {
            for piece in cover::pieces(array, &region, make()?)? {
                all.add_piece(piece);
            }
        } else {
            all.add_region(region, make()?);
        }
    }
    Ok(all)
}

/// Whether threads have enough of their own when each takes several at a time.
fn are_many(n: usize, threads: usize) -> bool {
    n >= 4 * threads
}

/// Where the elements of a piece go.
pub(crate) enum Output<'t> {
    Tile(Box<dyn Tile + 't>),
    /// A tile of its own, made just before it is needed.
    Later(MakeTile<'t>),
}

impl<'t> Output<'t> {
    pub(crate) fn tile(self) -> Result<Box<dyn Tile + 't>, EngineCause> {
        match self {
            Self::Tile(tile) => Ok(tile),
            Self::Later(make) => make(),
        }
    }
}

/// The chunk that has all of a region, and where in it that is.
fn only_chunk(array: &ChunkedArray, region: &Region) -> Option<(Vec<u64>, Region)> {
    // The chunks of a grid of the caller's own are looked at more closely.
    if array.grid.is_custom() {
        return None;
    }
    let overlap = array.grid.overlaps(region).next()?;
    (overlap.in_region.shape() == region.shape()).then_some((overlap.chunk, overlap.in_chunk))
}

/// The pieces of the output that a read fills.
type TilePieces<'r, 't> = Pieces<'r, Box<dyn Tile + 't>>;

struct Run<'r> {
    array: &'r ChunkedArray,
    store: &'r dyn Store,
    options: &'r RunOptions,
    threads: usize,
    done: AtomicU64,
    total: u64,
}

/// A chunk, for which everything is at hand, but for what some jobs fetch just before they run.
struct Ready {
    chunk: Vec<u64>,
    /// What makes the jobs; `None`: there is nothing left to do.
    read: Option<ChunkRead>,
    /// The value that they fetch from.
    late: Option<(Key, Pin)>,
}

/// How many inner chunks of one shard have jobs at once.
const JOBS_AT_ONCE: usize = 4096;

impl Run<'_> {
    /// Reads a chunk, or two that are decoded at once where that is faster.
    fn chunks(&self, first: Piece<Output<'_>>, second: Option<Piece<Output<'_>>>) -> Result<(), EngineError> {
        let (first, tile) = self.fetch(first)?;
        let mut jobs = self.jobs(&first, tile)?;
        let Some(second) = second else { return self.run(&first, jobs) };
        let (second, tile) = self.fetch(second)?;
        let mut others = self.jobs(&second, tile)?;
        if let (Some(a), Some(b)) = (jobs.only(), others.only()) {
            with_workspace(|workspace| Job::decode_two([a, b], workspace));
        }
        self.run(&first, jobs)?;
        drop(first);
        self.run(&second, others)
    }

    /// Fetches what it takes to fill the piece, and returns its tile.
    fn fetch<'t>(&self, piece: Piece<Output<'t>>) -> Result<(Ready, Box<dyn Tile + 't>), EngineError> {
        check_cancel(self.options)?;
        let Piece { chunk, want, output, .. } = piece;
        let mut tile = output.tile()?;
        let mut ready = Ready { chunk, read: None, late: None };
        match self.fetch_piece(want, &mut *tile, &mut ready) {
            Ok(()) => Ok((ready, tile)),
            Err(cause) => Err(self.at(&ready.chunk, cause)),
        }
    }

    fn jobs<'r, 't>(&self, ready: &'r Ready, tile: Box<dyn Tile + 't>) -> Result<Jobs<'r, 't>, EngineError> {
        let jobs = ready.read.as_ref().map_or_else(|| Ok(Jobs::none()), |read| read.jobs(tile));
        jobs.map_err(|cause| self.at(&ready.chunk, cause))
    }

    fn run(&self, ready: &Ready, jobs: Jobs<'_, '_>) -> Result<(), EngineError> {
        self.run_jobs(ready, jobs).map_err(|cause| self.at(&ready.chunk, cause))?;
        report(self.options, &self.done, self.total);
        Ok(())
    }

    fn at(&self, chunk: &[u64], cause: EngineCause) -> EngineError {
        EngineError::at(cause, self.array.place(&self.store.name(), chunk))
    }

    /// Fetches what it takes to fill the piece, and fills it if nothing is to be decoded.
    fn fetch_piece(&self, want: Region, tile: &mut dyn Tile, ready: &mut Ready) -> Result<(), EngineCause> {
        let key = self.array.key(&ready.chunk)?;
        if raw_layers::read(self.array, self.store, &key, &ready.chunk, &want, tile)? == Turn::Done {
            return Ok(());
        }
        let merging = self.store.range_merging();
        let mut read = ChunkRead::new(self.array, key, &ready.chunk, want, merging);
        let name = || self.store.name();
        let damage = Met::new(self.options, self.array, &ready.chunk, &name);
        damage.prepare(&mut read);
        let pin = loop {
            if let Some(piece) = merging.piece
                && let Some(pin) = read.postpone(piece)?
            {
                break Some(pin);
            }
            let ReadStep::Fetch(fetch) = read.step()? else { break None };
            match with_files(|| self.store.fetch(&fetch)) {
                Ok(fetched) => with_workspace(|workspace| read.supply(fetched, workspace))?,
                Err(error) => read.supply_error(error)?,
            }
        };
        keep_index(self.array, &mut read);
        damage.report(read.take_broken());
        ready.late = pin.map(|pin| (read.key().clone(), pin));
        ready.read = Some(read);
        Ok(())
    }

    fn run_jobs(&self, ready: &Ready, mut jobs: Jobs<'_, '_>) -> Result<(), EngineCause> {
        let name = || self.store.name();
        let damage = Met::new(self.options, self.array, &ready.chunk, &name);
        // A call that reads many chunks is parallel over them; one that reads few shards, over inner chunks.
        let threads = if are_many(self.total as usize, self.threads) { 1 } else { self.threads };
        loop {
            let now: Vec<Job<'_>> = jobs.by_ref().take(JOBS_AT_ONCE).collect::<Result<_, _>>()?;
            if now.is_empty() {
                return Ok(());
            }
            let Some((key, pin)) = &ready.late else {
                damage.run_all(now, threads)?;
                continue;
            };
            let (now, late): (Vec<_>, Vec<_>) = now.into_iter().partition(|job| job.late().is_none());
            damage.run_all(now, threads)?;
            let groups = LateJobs::group(late, self.store.range_merging())?;
            parallel::for_each(groups.into_iter(), threads, |group| {
                group.run(self.store, key, pin, |jobs| damage.run_all(jobs, 1))
            })?;
        }
    }
}

/// What a read of one chunk does about what is broken in it.
pub(crate) struct Met<'r> {
    report: Option<&'r DamageReport>,
    array: &'r ChunkedArray,
    chunk: &'r [u64],
    store: &'r (dyn Fn() -> String + Sync),
}

impl<'r> Met<'r> {
    pub(crate) fn new(
        options: &'r RunOptions,
        array: &'r ChunkedArray,
        chunk: &'r [u64],
        store: &'r (dyn Fn() -> String + Sync),
    ) -> Self {
        Self { report: options.damaged.report(), array, chunk, store }
    }

    pub(crate) fn prepare(&self, read: &mut ChunkRead) {
        if self.report.is_some() {
            read.fill_broken();
        }
    }

    /// Whether this is filled, rather than an error.
    pub(crate) fn fills(&self, cause: &EngineCause) -> bool {
        self.report.is_some() && cause.is_corrupt()
    }

    pub(crate) fn report(&self, broken: impl IntoIterator<Item = Broken>) {
        let Some(report) = self.report else { return };
        for broken in broken {
            report.add(&self.array.place(&(self.store)(), self.chunk), broken);
        }
    }

    /// Runs jobs on so many threads, two at a time where that is faster.
    fn run_all(&self, jobs: Vec<Job<'_>>, threads: usize) -> Result<(), EngineCause> {
        let two = are_many(jobs.len(), threads) && jobs.first().is_some_and(Job::decodes_two);
        if !two {
            return parallel::for_each(jobs.into_iter(), threads, |job| self.run(job));
        }
        parallel::for_each(Twos(jobs.into_iter()), threads, |(mut first, mut second)| {
            if let Some(second) = &mut second {
                with_workspace(|workspace| Job::decode_two([&mut first, second], workspace));
            }
            self.run(first)?;
            second.map_or(Ok(()), |job| self.run(job))
        })
    }

    pub(crate) fn run(&self, job: Job<'_>) -> Result<(), EngineCause> {
        with_workspace(|workspace| match self.report {
            None => job.run(workspace),
            Some(_) => job.run_or_fill(workspace).map(|broken| self.report(broken)),
        })
    }
}

/// Keeps an index that was read for the next call.
pub(crate) fn keep_index(array: &ChunkedArray, read: &mut ChunkRead) {
    if let Some(found) = read.take_found() {
        array.indexes.insert(read.key().as_str(), found);
    }
}

pub(crate) fn report(options: &RunOptions, done: &AtomicU64, total: u64) {
    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
    if let Some(progress) = &options.progress {
        (progress.0)(Progress { done, total });
    }
}
