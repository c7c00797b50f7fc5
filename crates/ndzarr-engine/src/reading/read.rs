//! Reads regions: the one path from the pieces of a call to their tiles, over every kind of store.

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use ndzarr_codec::Access;
use ndzarr_grid::{Overlap, Region};
use ndzarr_store::{
    AsyncStore, Fetch, Fetched, Key, Of, Pin, RangeMerging, Store, StoreError, Want,
};

use crate::error::bad_answer;
use crate::reading::chunk_read::{ChunkRead, ReadStep};
use crate::reading::damage::OnDamage;
use crate::reading::job::Job;
use crate::reading::level::Jobs;
use crate::reading::merge_ranges::{WantedRanges, first_part};
use crate::reading::raw_layers;
use crate::reading::reread::Reread;
use crate::reading::several::pieces_of;
use crate::threads::cancel::check_cancel;
use crate::threads::for_each::{Sequence, Twos};
use crate::threads::io::{AsyncIo, BlockingIo, Io, Shares, now};
use crate::threads::scratch::with_workspace;
use crate::tile::{MakeTile, Piece};
use crate::{ChunkedArray, EngineCause, EngineError, Picked, RunOptions, Tile, UnitPlace};

/// Reads several regions of an array as one call, each into a tile of its shape. Missing chunks
/// read as the fill value. A chunk that several regions overlap is read once, unless one of them
/// overlaps very many chunks.
///
/// The tile of a region within one chunk is made by the thread that reads it, just before: its
/// memory is then in the cache, and threads share the work of mapping it.
///
/// # Errors
/// A tile cannot be made. A chunk fails: the first error has its key and index, and the content of
/// the tiles is undefined.
pub fn read(
    array: &ChunkedArray,
    store: &dyn Store,
    regions: Vec<(Region, MakeTile<'_>)>,
    options: &RunOptions,
) -> Result<(), EngineError> {
    now(read_by(
        array,
        &BlockingIo::new(store, options),
        regions,
        options,
    ))
}

/// Asynchronous [`read`]. The limits on what is in flight apply to all regions together.
///
/// Decoding runs on the library's pool, in memory that belongs to the jobs; the task that polls
/// this future puts the results in place. Dropping the future is safe at any time.
///
/// # Errors
/// As for [`read`].
pub async fn read_async(
    array: &ChunkedArray,
    store: &dyn AsyncStore,
    regions: Vec<(Region, MakeTile<'_>)>,
    options: &RunOptions,
) -> Result<(), EngineError> {
    read_by(array, &AsyncIo::new(store, options), regions, options).await
}

fn read_by<I: Io>(
    array: &ChunkedArray,
    io: &I,
    regions: Vec<(Region, MakeTile<'_>)>,
    options: &RunOptions,
) -> impl Future<Output = Result<(), EngineError>> + Send {
    let lanes = io.lanes();
    async move {
        let (pieces, total) = pieces_of(array, regions)?;
        let inner_lanes = io.inner_lanes(total);
        let call = &Call {
            array,
            io,
            options,
            inner_lanes,
            done: AtomicU64::new(0),
            total,
        };
        if call.takes_two(pieces.len(), lanes) && array.chain.decodes_two() {
            return io
                .for_each(Twos(pieces), lanes, |(a, b)| call.chunks(a, b))
                .await;
        }
        io.for_each(pieces, lanes, |piece| call.chunk(piece)).await
    }
}

struct Call<'r, I> {
    array: &'r ChunkedArray,
    io: &'r I,
    options: &'r RunOptions,
    /// The number of inner chunks of one chunk in progress at once.
    inner_lanes: usize,
    done: AtomicU64,
    total: u64,
}

/// A chunk that is completely fetched, except for the jobs that fetch just before they run.
struct Opened {
    chunk: Vec<u64>,
    /// The source of the jobs; `None` if nothing is left to do.
    read: Option<ChunkRead>,
    /// The value that late jobs fetch from.
    late: Option<(Key, Pin)>,
    /// Held until the last bytes are decoded.
    share: Option<Shares>,
}

/// The number of inner chunks of one shard that have jobs at once.
const JOBS_AT_ONCE: usize = 2048;

impl<I: Io> Call<'_, I> {
    async fn chunk(&self, piece: Piece<'_>) -> Result<(), EngineError> {
        let (opened, tile) = self.open(piece).await?;
        self.finish(&opened, self.jobs(&opened, tile)?).await
    }

    /// Reads two chunks and decodes them together if that is faster.
    async fn chunks(&self, first: Piece<'_>, second: Option<Piece<'_>>) -> Result<(), EngineError> {
        let (first, tile) = self.open(first).await?;
        let mut jobs = self.jobs(&first, tile)?;
        let Some(second) = second else {
            return self.finish(&first, jobs).await;
        };
        let (second, tile) = self.open(second).await?;
        let mut others = self.jobs(&second, tile)?;
        decode_two(jobs.only(), others.only());
        self.finish(&first, jobs).await?;
        drop(first);
        self.finish(&second, others).await
    }

    fn at(&self, chunk: &[u64]) -> UnitPlace {
        self.array.place(&self.io.name(), chunk)
    }

    /// Fetches what the piece needs, and returns its tile.
    async fn open<'t>(
        &self,
        piece: Piece<'t>,
    ) -> Result<(Opened, Box<dyn Tile + 't>), EngineError> {
        check_cancel(self.options.cancel.as_ref())?;
        let Piece {
            overlap:
                Overlap {
                    chunk,
                    in_chunk: want,
                    ..
                },
            output,
        } = piece;
        let mut tile = output.tile()?;
        let mut opened = Opened {
            chunk,
            read: None,
            late: None,
            share: None,
        };
        if tile.is_empty() {
            return Ok((opened, tile));
        }
        match self.fetch(want, &mut *tile, &mut opened).await {
            Ok(()) => Ok((opened, tile)),
            Err(cause) => Err(EngineError::at(cause, self.at(&opened.chunk))),
        }
    }

    /// Fetches what the piece needs, and fills it if nothing has to be decoded.
    async fn fetch(
        &self,
        want: Region,
        tile: &mut dyn Tile,
        opened: &mut Opened,
    ) -> Result<(), EngineCause> {
        let Self {
            array, io, options, ..
        } = self;
        if tile.is_empty() {
            return Ok(());
        }
        let key = array.key(&opened.chunk)?;
        let picked = match array.chain.access() {
            // It is decoded as a whole, whatever is picked.
            Access::Whole => Picked::All,
            Access::Raw { .. } | Access::Indexed(_) => tile.picked(),
        };
        if let Some(store) = io.blocking()
            && !matches!(picked, Picked::Boxes(_))
            && array.cache_for(&opened.chunk).is_none()
            && raw_layers::read(array, store, &key, &opened.chunk, &want, tile)?
        {
            return Ok(());
        }
        let mut read =
            ChunkRead::with_picked(array, key, &opened.chunk, (want, picked), io.merging());
        let place = || self.at(&opened.chunk);
        let damage = OnDamage::new(&options.damaged, &place, &|| Ok(None));
        if damage.is_filled() {
            read.fill_broken();
        }
        let reread = Reread::new(io.blocking(), options.cancel.as_ref());
        let pin = loop {
            let pin = self
                .fetch_parts(&mut read, &reread, &opened.chunk, &mut opened.share)
                .await?;
            // What is to be filled may be a value that another program is writing.
            if !read.has_broken() || !reread.is_due(read.key(), read.pin())? {
                break pin;
            }
            with_workspace(|workspace| read.supply(Fetched::Changed, workspace))?;
        };
        read.keep_found(array);
        damage.report(read.take_broken());
        opened.late = pin.map(|pin| (read.key().clone(), pin));
        opened.read = Some(read);
        Ok(())
    }

    /// Fetches what a read asks for, up to what it leaves to its jobs: that is then fetched with
    /// the pin.
    async fn fetch_parts(
        &self,
        read: &mut ChunkRead,
        reread: &Reread<'_>,
        chunk: &[u64],
        share: &mut Option<Shares>,
    ) -> Result<Option<Pin>, EngineCause> {
        let Self {
            array, io, options, ..
        } = self;
        loop {
            if let Some(bytes) = io.merging().piece
                && let Some(pin) = read.postpone(bytes)?
            {
                return Ok(Some(pin));
            }
            let ReadStep::Fetch(fetch) = read.step()? else {
                return Ok(None);
            };
            // The share of the last round is returned first, so that no read waits for itself.
            *share = None;
            *share = io.share(|| expected_bytes(read, &fetch)).await;
            let supplied = match io.fetch(&fetch).await.or_else(StoreError::or_missing) {
                Ok(fetched) => {
                    array.presence().note(&fetched, chunk);
                    with_workspace(|workspace| read.supply(fetched, workspace))
                }
                Err(error) => read.supply_error(error),
            };
            match supplied {
                Err(cause) if cause.is_corrupt() && reread.is_due(read.key(), read.pin())? => {
                    with_workspace(|workspace| read.supply(Fetched::Changed, workspace))?;
                }
                supplied => supplied?,
            }
            check_cancel(options.cancel.as_ref())?;
        }
    }

    fn jobs<'r, 't>(
        &self,
        opened: &'r Opened,
        tile: Box<dyn Tile + 't>,
    ) -> Result<Jobs<'r, 't>, EngineError> {
        let jobs = opened
            .read
            .as_ref()
            .map_or_else(|| Ok(Jobs::none()), |read| read.jobs(tile));
        jobs.map_err(|cause| EngineError::at(cause, self.at(&opened.chunk)))
    }

    async fn finish(&self, opened: &Opened, jobs: Jobs<'_, '_>) -> Result<(), EngineError> {
        let run = self.run(opened, jobs).await;
        run.map_err(|cause| EngineError::at(cause, self.at(&opened.chunk)))?;
        self.options.report(&self.done, self.total);
        Ok(())
    }

    async fn run(&self, opened: &Opened, mut jobs: Jobs<'_, '_>) -> Result<(), EngineCause> {
        let place = || self.at(&opened.chunk);
        let reread = Reread::new(self.io.blocking(), self.options.cancel.as_ref());
        let again = || match &opened.read {
            Some(read) => read.again(&reread),
            None => Ok(None),
        };
        let damage = &OnDamage::new(&self.options.damaged, &place, &again);
        loop {
            let jobs: Vec<Job<'_>> = jobs.by_ref().take(JOBS_AT_ONCE).collect::<Result<_, _>>()?;
            if jobs.is_empty() {
                return Ok(());
            }
            let Some((key, pin)) = &opened.late else {
                self.run_all(jobs, self.inner_lanes, damage).await?;
                continue;
            };
            let (jobs, late): (Vec<_>, Vec<_>) =
                jobs.into_iter().partition(|job| job.late().is_none());
            self.run_all(jobs, self.inner_lanes, damage).await?;
            let groups = late_groups(late, self.io.merging())?.into_iter();
            let run = |(range, jobs)| async move {
                let jobs = self.late_jobs(key, pin, range, jobs).await?;
                self.run_all(jobs, 1, damage).await
            };
            self.io.for_each(groups, self.inner_lanes, run).await?;
        }
    }

    /// Runs jobs, two at a time where that is faster.
    async fn run_all<'t>(
        &self,
        jobs: Vec<Job<'t>>,
        lanes: usize,
        damage: &OnDamage<'_>,
    ) -> Result<(), EngineCause> {
        let io = self.io;
        if !self.takes_two(jobs.len(), lanes) || !jobs.first().is_some_and(Job::decodes_two) {
            return io
                .for_each(jobs.into_iter(), lanes, |job| io.decode(job, damage))
                .await;
        }
        let both = |(mut first, mut second): (Job<'t>, Option<Job<'t>>)| async move {
            decode_two(Some(&mut first), second.as_mut());
            io.decode(first, damage).await?;
            match second {
                Some(second) => io.decode(second, damage).await,
                None => Ok(()),
            }
        };
        io.for_each(Twos(jobs.into_iter()), lanes, both).await
    }

    /// True if `n` items are enough for `lanes` threads that each take two at a time.
    fn takes_two(&self, n: usize, lanes: usize) -> bool {
        self.io.blocking().is_some() && n >= 4 * lanes
    }

    /// Fetches the parts of the pinned value that late jobs need.
    async fn late_jobs<'t>(
        &self,
        key: &Key,
        pin: &Pin,
        range: Range<u64>,
        jobs: Vec<(Range<u64>, Job<'t>)>,
    ) -> Result<Vec<Job<'t>>, EngineCause> {
        let want = Want::Ranges(vec![range.clone()]);
        let fetch = Fetch {
            key: key.clone(),
            of: Of::Snapshot(pin.clone()),
            want,
        };
        let Fetched::Parts { parts, .. } = self.io.fetch(&fetch).await? else {
            return Err(EngineCause::KeepsChanging);
        };
        let part = first_part(parts)?;
        if part.len() as u64 != range.end - range.start {
            return Err(bad_answer());
        }
        let with_part = |(late, mut job): (Range<u64>, Job<'t>)| {
            job.supply(
                part.slice((late.start - range.start) as usize..(late.end - range.start) as usize),
            );
            job
        };
        Ok(jobs.into_iter().map(with_part).collect())
    }
}

/// The only place that decodes two values at once.
fn decode_two(first: Option<&mut Job<'_>>, second: Option<&mut Job<'_>>) {
    if let (Some(first), Some(second)) = (first, second) {
        with_workspace(|workspace| Job::decode_two(first, second, workspace));
    }
}

/// Jobs for neighbouring inner chunks, with the range that is fetched just before they run: the
/// bytes are then still in the cache of the core, and only a small part of the shard is in memory
/// at any time.
type LateGroup<'t> = (Range<u64>, Vec<(Range<u64>, Job<'t>)>);

fn late_groups(jobs: Vec<Job<'_>>, rule: RangeMerging) -> Result<Vec<LateGroup<'_>>, EngineCause> {
    let jobs: Vec<_> = jobs
        .into_iter()
        .filter_map(|job| Some((job.late()?, job)))
        .collect();
    let mut wanted = WantedRanges::new(RangeMerging {
        max: rule.piece.unwrap_or(rule.max),
        ..rule
    });
    wanted.extend(jobs.iter().map(|(late, _)| late.clone()));
    let merged = wanted.merged();
    let mut groups: Vec<LateGroup<'_>> = merged
        .ranges()
        .iter()
        .map(|range| (range.clone(), Vec::new()))
        .collect();
    for (late, job) in jobs {
        let home = merged.home(&late).ok_or_else(bad_answer)?;
        groups[home].1.push((late, job));
    }
    Ok(groups)
}

fn expected_bytes(read: &ChunkRead, fetch: &Fetch) -> u64 {
    match &fetch.want {
        Want::Whole { .. } => read.expected_bytes(),
        Want::Tail(n) => *n,
        Want::Ranges(ranges) => ranges.iter().map(|range| range.end - range.start).sum(),
        Want::Size => 0,
    }
}
