//! Copies the chunks of an array: encoded as they are, or their elements.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr_engine::{FillChunks, RunOptions, n_threads};
use ndzarr_grid::Region;

use crate::arrays::chunks::{Chunk, Chunks};
use crate::arrays::info::ArrayInfo;
use crate::copy::listed::only_listed;
use crate::copy::planning::conversion::Conversion;
use crate::copy::planning::geometry::Walk;
use crate::copy::planning::strategy::{Strategy, decoded_shape};
use crate::copy::planning::units::{listed, n_units};
use crate::copy::planning::window::Window;
use crate::copy::running::blocks::Pass;
use crate::copy::running::steps::{Step, shard_steps, steps};
use crate::copy::running::temporary::Temporary;
use crate::error::{Error, ErrorKind, Result};
use crate::mode::Blocking;
use crate::operations::each::{Counter, each_on_threads};

/// Above this number, chunks that cannot be listed are not tried one by one.
const MAX_TRIES: u64 = 1 << 20;

/// Up to this number of chunks of the target, those of the source are asked for rather than listed,
/// where a part of it is copied: one page of a list has as many.
const FEW: u64 = 1000;

/// The chunks of a source array and of its target.
pub(crate) struct ChunkCopy<'o> {
    pub(crate) source: ArrayInfo,
    pub(crate) target: ArrayInfo,
    /// The part of the source that is copied, if not all of it.
    pub(crate) window: Option<&'o Window>,
    pub(crate) conversion: Option<Conversion>,
    /// The stored chunks of the source, if they were listed before: `Some(None)` if they cannot be.
    pub(crate) listed: Option<Option<Chunks>>,
    /// Chunks that are not stored in the source have to be stored, because the fill values differ.
    pub(crate) fill_differs: bool,
    /// The target may already have chunks, from an earlier attempt.
    pub(crate) resumed: bool,
    pub(crate) temporary: &'o Temporary,
    pub(crate) run: &'o RunOptions,
    pub(crate) counter: &'o Counter,
}

type Steps = Box<dyn Iterator<Item = Step> + Send>;

impl ChunkCopy<'_> {
    /// Copies the encoded chunks. Returns their number.
    pub(crate) async fn copy(&self) -> Result<u64> {
        let stored = self.stored().await?;
        let n = stored.n();
        let chunks = self.without_there(stored, &self.target).await?;
        self.counter
            .add(n_units(&self.source)?.saturating_sub(chunks.n()));
        let missing = &AtomicU64::new(0);
        let copy = |chunk: Chunk| async move {
            let chunk = chunk.index;
            match self.source.encoded_unit(&chunk).await? {
                Some(value) => {
                    self.source.check_not_cut(&chunk, value.len())?;
                    self.target.put_encoded_unit(&chunk, value).await?;
                }
                None => drop(missing.fetch_add(1, Ordering::Relaxed)),
            }
            self.counter.add(1);
            Ok(())
        };
        let stores = [&self.source.storage, &self.target.storage];
        each_on_threads(stores, self.run, n_threads(self.run.threads), chunks, copy)?;
        let n = n - missing.load(Ordering::Relaxed);
        if self.fill_differs && n < n_units(&self.source)? {
            let what = "chunks that are not stored would get another fill value";
            return Err(self.source.name(Error::new(ErrorKind::Conflict, what)));
        }
        Ok(n)
    }

    /// Reads elements and writes them. Chunks of the source that are not stored are skipped, unless
    /// the fill values differ. Returns the number of chunks of the target, or shards, that have
    /// elements of stored chunks.
    pub(crate) async fn encode(&self, strategy: &Strategy) -> Result<u64> {
        let source = &self.source;
        let target = &self.target;
        let grid = target.grid()?;
        let all = n_units(target)?;
        let stored = match self.window {
            _ if self.fill_differs => None,
            None => Some(self.stored().await?),
            // A list is of all of the array.
            Some(_) if all <= FEW => None,
            Some(_) => listed(source).await?,
        };
        let is_sparse = |stored: &&Chunks| n_units(source).is_ok_and(|all| stored.n() < all);
        let stored = stored.as_ref().filter(is_sparse);
        // A block is read as a whole, though few chunks in it may be stored.
        let source =
            &stored.map_or_else(|| Ok(source.clone()), |stored| only_listed(source, stored))?;
        let needed = self.touched(stored, target);
        let n = needed.n();
        let needed = self.without_there(needed, target).await?;
        let left = needed.n();
        if let Strategy::Twice(chunks, first, _) = strategy {
            let between = self.between(chunks)?;
            let units = between.grid()?;
            let n_between = n_units(&between)?.max(1);
            let needed = match left {
                0 => Chunks::new(between.unit_grid()).listed(Vec::new()),
                _ => {
                    self.without_there(self.touched(stored, &between), &between)
                        .await?
                }
            };
            let worth = |n: u64| (u128::from(n) * u128::from(all) / u128::from(n_between)) as u64;
            let done = AtomicU64::new(0);
            let count = |n: u64| {
                let before = done.fetch_add(n, Ordering::Relaxed);
                self.counter
                    .add(worth(before.saturating_add(n)) - worth(before));
            };
            count(n_between - needed.n().min(n_between));
            let steps = steps(first, &units, needed)?;
            self.pass([source, &between], self.window, first, None, steps, &count)?;
        }
        let conversion = self.conversion.clone();
        let count = |n| self.counter.add(n);
        count(all.saturating_sub(left));
        match strategy {
            Strategy::ByUnit(threads) => self.by_unit(source, needed, *threads)?,
            Strategy::Blocks(walk) | Strategy::Pieces(walk) => {
                let steps = match strategy {
                    Strategy::Pieces(_) => shard_steps(walk, &grid, needed.map(|unit| unit.index)),
                    _ => steps(walk, &grid, needed)?,
                };
                self.pass(
                    [source, target],
                    self.window,
                    walk,
                    conversion,
                    steps,
                    &count,
                )?;
            }
            Strategy::Twice(chunks, _, walk) => {
                let between = self.between(chunks)?;
                let steps = steps(walk, &grid, needed)?;
                let source = match stored {
                    Some(_) => listed(&between).await?,
                    None => None,
                };
                let source = source.map_or_else(
                    || Ok(between.clone()),
                    |there| only_listed(&between, &there),
                )?;
                self.pass([&source, target], None, walk, conversion, steps, &count)?;
            }
        }
        Ok(n)
    }

    /// The stored chunks of the source, listed if the store can do so, else all.
    async fn stored(&self) -> Result<Chunks> {
        let array = &self.source;
        let listed = match &self.listed {
            Some(listed) => listed.clone(),
            None => listed(array).await?,
        };
        if let Some(units) = listed {
            return Ok(units);
        }
        match n_units(array)? {
            ..=MAX_TRIES => Ok(Chunks::new(array.unit_grid())),
            _ => {
                let what =
                    "the store cannot list its keys, and there are too many chunks to try each";
                Err(Error::new(ErrorKind::Unsupported, what).in_store(|| array.storage.name()))
            }
        }
    }

    /// The array between two passes, in these chunks.
    fn between(&self, chunks: &[u64]) -> Result<ArrayInfo> {
        self.temporary
            .array(&self.source, self.target.shape(), chunks)
    }

    /// The units of an array that have elements of these of the source, or all.
    fn touched(&self, chunks: Option<&Chunks>, of: &ArrayInfo) -> Chunks {
        let grid = of.unit_grid();
        let all = Chunks::new(grid.clone());
        let Some(chunks) = chunks else { return all };
        let mut numbers = Vec::new();
        for chunk in chunks.clone() {
            let region = Region::new(chunk.ranges);
            let region = self
                .window
                .map_or(region.clone(), |window| window.within(&region));
            for overlap in grid.overlaps(&region) {
                // Neighbours often touch the same.
                let number = all.number(&overlap.chunk);
                numbers.extend(number.filter(|number| numbers.last() != Some(number)));
            }
        }
        all.listed(numbers)
    }

    /// The units among these that an earlier copy has not written.
    async fn without_there(&self, units: Chunks, array: &ArrayInfo) -> Result<Chunks> {
        if !self.resumed {
            return Ok(units);
        }
        Ok(match listed(array).await? {
            Some(stored) => units.without(&stored),
            None => units,
        })
    }

    /// The options of reads and writes, whose progress the copy counts itself.
    fn run_options(&self) -> RunOptions {
        let mut run = self.run.clone();
        run.progress = None;
        if self.fill_differs {
            run.fill_chunks = FillChunks::Store;
        }
        run
    }

    fn pass(
        &self,
        [source, target]: [&ArrayInfo; 2],
        window: Option<&Window>,
        walk: &Walk,
        conversion: Option<Conversion>,
        steps: Steps,
        count: &(dyn Fn(u64) + Sync),
    ) -> Result<()> {
        let mut run = self.run_options();
        run.bytes_in_flight = run.bytes_in_flight.min(walk.in_flight.0);
        run.requests_in_flight = run.requests_in_flight.min(walk.in_flight.1);
        let pass = Pass {
            source: source.clone(),
            target: target.clone(),
            window,
            walk: walk.clone(),
            read: decoded_shape(source)?,
            conversion,
            run: &run,
            count,
        };
        pass.copy(steps)
    }

    /// Copies elements of variable size chunk by chunk of the target, or shard by shard.
    fn by_unit(&self, source: &ArrayInfo, needed: Chunks, threads: usize) -> Result<()> {
        let one = self.run_options().threads(NonZeroUsize::new(1));
        let mut source = source.clone();
        source.options = one.clone();
        let source = &source;
        let mut target = self.target.clone();
        target.options = one;
        let target = &target;
        let grid = &target.grid()?;
        let copy = |chunk: Chunk| async move {
            let Some(region) = grid.clipped_region(&chunk.index) else {
                return Ok(());
            };
            let selected = match self.window {
                Some(window) => window.of(&region),
                None => source.resolve(&region)?,
            };
            let elements = source.read_vlen(&selected).await?;
            target
                .write_vlen::<Blocking>(&target.resolve(&region)?, &elements)
                .await?;
            self.counter.add(1);
            Ok(())
        };
        let stores = [&self.source.storage, &self.target.storage];
        each_on_threads(stores, self.run, threads, needed, copy)
    }
}
