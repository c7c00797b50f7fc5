//! The blocking driver of reads.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr_grid::Region;
use ndzarr_store::{Key, Pin, Store};

use crate::chunk_read::{ChunkRead, ReadStep};
use crate::cover;
use crate::late_jobs::LateJobs;
use crate::parallel::{self, with_workspace};
use crate::raw_layers::{self, Turn};
use crate::read_plan::cuts;
use crate::tile::split_grid;
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
    let mut all = Vec::with_capacity(regions.len());
    for (region, make) in regions {
        if region.is_empty() {
            make()?;
        } else if let Some((chunk, want)) = only_chunk(array, &region) {
            all.push(Part::Region { chunk, want, make });
        } else {
            all.extend(pieces(array, &region, make()?)?.into_iter().map(Part::Piece));
        }
    }
    let threads = parallel::n_threads(options.threads);
    let run = Run { array, store, options, threads, done: AtomicU64::new(0), total: all.len() as u64 };
    if array.chain.decodes_two() && are_many(all.len(), threads) {
        return parallel::for_each(in_twos(all).into_iter(), threads, |(a, b)| run.chunks(a, b));
    }
    parallel::for_each(all.into_iter(), threads, |part| run.chunks(part, None))
}

/// Whether threads have enough of their own when each takes several at a time.
fn are_many(n: usize, threads: usize) -> bool {
    n >= 4 * threads
}

fn in_twos<T>(items: Vec<T>) -> Vec<(T, Option<T>)> {
    let mut twos = Vec::with_capacity(items.len().div_ceil(2));
    let mut items = items.into_iter();
    while let Some(first) = items.next() {
        twos.push((first, items.next()));
    }
    twos
}

/// What one thread reads at a time.
enum Part<'t> {
    Piece(Piece<'t>),
    /// All of a region.
    Region {
        chunk: Vec<u64>,
        want: Region,
        make: MakeTile<'t>,
    },
}

impl<'t> Part<'t> {
    fn piece(self) -> Result<Piece<'t>, EngineCause> {
        match self {
            Self::Piece(piece) => Ok(piece),
            Self::Region { chunk, want, make } => Ok(Piece { chunk, want, tile: make()? }),
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

/// A chunk, what of it is wanted, and where that goes.
pub(crate) struct Piece<'t> {
    pub(crate) chunk: Vec<u64>,
    pub(crate) want: Region,
    pub(crate) tile: Box<dyn Tile + 't>,
}

/// Cuts the output along the lines of the grid.
pub(crate) fn pieces<'t>(
    array: &ChunkedArray,
    region: &Region,
    tile: Box<dyn Tile + 't>,
) -> Result<Vec<Piece<'t>>, EngineCause> {
    if array.grid.is_custom() {
        return cover::pieces(array, region, tile);
    }
    let cuts: Vec<Vec<usize>> = match array.grid.is_regular() {
        true => (region.ranges().iter().zip(array.grid.chunk_shape()))
            .map(|(range, &len)| cuts(range, len))
            .collect(),
        false => region.ranges().iter().enumerate().map(|(axis, range)| uneven(array, axis, range)).collect(),
    };
    let tiles = split_grid(tile, &cuts);
    let overlaps = array.grid.overlaps(region);
    Ok(overlaps
        .zip(tiles)
        .filter(|(_, tile)| !tile.is_empty())
        .map(|(overlap, tile)| Piece { chunk: overlap.chunk, want: overlap.in_chunk, tile })
        .collect())
}

/// The lengths of the pieces that a range is cut into where chunks have lengths of their own.
fn uneven(array: &ChunkedArray, axis: usize, range: &Range<u64>) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut chunk = array.grid.n_chunks_along(axis, range.start.saturating_add(1)).saturating_sub(1);
    let mut start = range.start;
    while start < range.end {
        let end = array.grid.range_along(axis, chunk).end.min(range.end);
        cuts.push((end - start) as usize);
        (start, chunk) = (end, chunk + 1);
    }
    if cuts.is_empty() {
        cuts.push(0);
    }
    cuts
}

struct Run<'r> {
    array: &'r ChunkedArray,
    store: &'r dyn Store,
    options: &'r RunOptions,
    threads: usize,
    done: AtomicU64,
    total: u64,
}

/// The work on a chunk, for which everything is at hand, but for what some jobs fetch just before they run.
struct Ready<'t> {
    chunk: Vec<u64>,
    jobs: Vec<Job<'t>>,
    /// The value that they fetch from.
    late: Option<(Key, Pin)>,
}

impl Run<'_> {
    /// Reads a chunk, or two that are decoded at once where that is faster.
    fn chunks(&self, first: Part<'_>, second: Option<Part<'_>>) -> Result<(), EngineError> {
        let mut first = self.fetch(first)?;
        let mut second = second.map(|part| self.fetch(part)).transpose()?;
        if let ([a], Some([b])) = (&mut first.jobs[..], second.as_mut().map(|ready| &mut ready.jobs[..])) {
            with_workspace(|workspace| Job::decode_two([a, b], workspace));
        }
        self.run(first)?;
        second.map_or(Ok(()), |ready| self.run(ready))
    }

    fn fetch<'t>(&self, part: Part<'t>) -> Result<Ready<'t>, EngineError> {
        check_cancel(self.options)?;
        let piece = part.piece()?;
        let mut ready = Ready { chunk: piece.chunk.clone(), jobs: Vec::new(), late: None };
        match self.fetch_piece(piece, &mut ready) {
            Ok(()) => Ok(ready),
            Err(cause) => Err(self.at(&ready.chunk, cause)),
        }
    }

    fn run(&self, ready: Ready<'_>) -> Result<(), EngineError> {
        let Ready { chunk, jobs, late } = ready;
        self.run_jobs(&chunk, jobs, late).map_err(|cause| self.at(&chunk, cause))?;
        report(self.options, &self.done, self.total);
        Ok(())
    }

    fn at(&self, chunk: &[u64], cause: EngineCause) -> EngineError {
        EngineError::at(cause, self.array.place(&self.store.name(), chunk))
    }

    /// Fetches what it takes to fill the piece, and fills it if nothing is to be decoded.
    fn fetch_piece<'t>(&self, mut piece: Piece<'t>, ready: &mut Ready<'t>) -> Result<(), EngineCause> {
        let key = self.array.key(&piece.chunk)?;
        if raw_layers::read(self.array, self.store, &key, &mut piece)? == Turn::Done {
            return Ok(());
        }
        let merging = self.store.range_merging();
        let mut read = ChunkRead::new(self.array, key, &piece.chunk, piece.want, merging);
        let name = || self.store.name();
        let damage = Met::new(self.options, self.array, &piece.chunk, &name);
        damage.prepare(&mut read);
        let pin = loop {
            if let Some(piece) = merging.piece
                && let Some(pin) = read.postpone(piece)?
            {
                break Some(pin);
            }
            let ReadStep::Fetch(fetch) = read.step()? else { break None };
            match self.store.fetch(&fetch) {
                Ok(fetched) => with_workspace(|workspace| read.supply(fetched, workspace))?,
                Err(error) => read.supply_error(error)?,
            }
        };
        keep_index(self.array, &mut read);
        damage.report(read.take_broken());
        ready.late = pin.map(|pin| (read.key().clone(), pin));
        ready.jobs = read.jobs(piece.tile);
        Ok(())
    }

    fn run_jobs(
        &self,
        chunk: &[u64],
        jobs: Vec<Job<'_>>,
        late: Option<(Key, Pin)>,
    ) -> Result<(), EngineCause> {
        let name = || self.store.name();
        let damage = Met::new(self.options, self.array, chunk, &name);
        // A call that reads many chunks is parallel over them; one that reads few shards, over inner chunks.
        let threads = if are_many(self.total as usize, self.threads) { 1 } else { self.threads };
        let Some((key, pin)) = late else { return damage.run_all(jobs, threads) };
        let (now, late): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.late().is_none());
        damage.run_all(now, threads)?;
        let groups = LateJobs::group(late, self.store.range_merging());
        parallel::for_each(groups.into_iter(), threads, |group| {
            group.run(self.store, &key, &pin, |jobs| damage.run_all(jobs, 1))
        })
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
        parallel::for_each(in_twos(jobs).into_iter(), threads, |(mut first, mut second)| {
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

pub(crate) fn check_cancel(options: &RunOptions) -> Result<(), EngineCause> {
    match &options.cancel {
        Some(cancel) if cancel.is_cancelled() => Err(EngineCause::Cancelled),
        _ => Ok(()),
    }
}

pub(crate) fn report(options: &RunOptions, done: &AtomicU64, total: u64) {
    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
    if let Some(progress) = &options.progress {
        (progress.0)(Progress { done, total });
    }
}
