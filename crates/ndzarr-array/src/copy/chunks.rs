//! Copies the chunks of an array: encoded as they are, or their elements.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr_engine::{FillChunks, RunOptions};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_store::StoreError;

use crate::copy::blocks::{Pass, Step, pieces, steps};
use crate::copy::conversion::Conversion;
use crate::copy::temporary::Temporary;
use crate::copy::way::{Way, decoded_shape};
use crate::core::Core;
use crate::each::{Counter, for_each, n_threads};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Plan;
use crate::storage::{Colour, Storage};

/// Above this number, chunks that cannot be listed are not tried one by one.
const MAX_TRIES: u64 = 1 << 20;

/// The chunks of a source array and of its target.
pub(super) struct Chunks<'o> {
    pub(super) source: Core,
    pub(super) target: Core,
    pub(super) conversion: Option<Conversion>,
    /// Whether chunks that are not stored have to be, because the fill values differ.
    pub(super) fill_differs: bool,
    /// Whether some of the chunks may be there.
    pub(super) resumed: bool,
    pub(super) temporary: Option<&'o Temporary>,
    pub(super) run: &'o RunOptions,
    pub(super) counter: &'o Counter,
    pub(super) colour: Colour,
}

type Steps = Box<dyn Iterator<Item = Step> + Send>;

impl Chunks<'_> {
    /// Copies the encoded chunks. Returns their number.
    pub(super) async fn copy(&self) -> Result<u64> {
        let mut chunks = stored(&self.source, self.colour).await?;
        let all = n_units(&self.source)?;
        let n = chunks.len() as u64;
        let there = self.there(&self.target).await?;
        chunks.retain(|chunk| !there.contains(chunk));
        self.counter.add(all.saturating_sub(chunks.len() as u64));
        let missing = &AtomicU64::new(0);
        let copy = |chunk: Vec<u64>| async move {
            let (source, index) = (self.source.clone(), chunk.clone());
            let read = move |_| async move { source.encoded_unit(&index).await };
            match self.source.storage.ask(self.colour, read).await? {
                Some(value) => {
                    let target = self.target.clone();
                    let write = move |_| async move { target.put_encoded_unit(&chunk, value).await };
                    self.target.storage.ask(self.colour, write).await?;
                }
                None => drop(missing.fetch_add(1, Ordering::Relaxed)),
            }
            self.counter.add(1);
            Ok(())
        };
        let stores = [&self.source.storage, &self.target.storage];
        for_each(stores, self.run, self.colour, n_threads(self.run.threads), chunks, copy).await?;
        Ok(n - missing.load(Ordering::Relaxed))
    }

    /// Reads elements and writes them. Chunks of the source that are not stored are skipped, unless
    /// the fill values differ. Returns the number of chunks of the target, or shards, that have
    /// elements of stored chunks.
    pub(super) async fn encode(&self, way: &Way) -> Result<u64> {
        let (source, target) = (&self.source, &self.target);
        let (grid, all) = (target.grid()?, n_units(target)?);
        let stored = if self.fill_differs { None } else { Some(stored(source, self.colour).await?) };
        let (needed, n) = self.needed(stored.as_deref(), target).await?;
        let left = needed.as_ref().map_or(all, |needed| needed.len() as u64);
        if let Way::Twice(chunks, first, _) = way {
            let temporary =
                self.temporary.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "no temporary"))?;
            let between = temporary.array(source, chunks)?;
            let (units, n_between) = (between.grid()?, n_units(&between)?.max(1));
            let (needed, _) = match left {
                0 => (Some(BTreeSet::new()), 0),
                _ => self.needed(stored.as_deref(), &between).await?,
            };
            let left = needed.as_ref().map_or(n_between, |needed| needed.len() as u64);
            let worth = |n: u64| (u128::from(n) * u128::from(all) / u128::from(n_between)) as u64;
            let done = AtomicU64::new(0);
            let count = |n: u64| {
                let before = done.fetch_add(n, Ordering::Relaxed);
                self.counter.add(worth(before.saturating_add(n)) - worth(before));
            };
            count(n_between - left);
            self.pass([source, &between], first, None, steps(first, &units, needed)?, &count).await?;
        }
        let count = |n| self.counter.add(n);
        count(all.saturating_sub(left));
        match way {
            Way::ByUnit(threads) => self.by_unit(needed, *threads).await?,
            Way::Blocks(plan) => {
                let steps = steps(plan, &grid, needed)?;
                self.pass([source, target], plan, self.conversion.clone(), steps, &count).await?;
            }
            Way::Pieces(plan) => {
                let steps = match needed {
                    Some(needed) => pieces(plan, &grid, needed.into_iter()),
                    None => pieces(plan, &grid, units(target)),
                };
                self.pass([source, target], plan, self.conversion.clone(), steps, &count).await?;
            }
            Way::Twice(chunks, _, plan) => {
                let temporary =
                    self.temporary.map(|temporary| temporary.array(source, chunks)).transpose()?;
                let steps = steps(plan, &grid, needed)?;
                let source = temporary.as_ref().unwrap_or(source);
                self.pass([source, target], plan, self.conversion.clone(), steps, &count).await?;
            }
        }
        Ok(n)
    }

    /// The chunks of an array that have elements of stored chunks of the source and are not there
    /// yet, `None` for all; and how many there are with those that are there.
    async fn needed(
        &self,
        stored: Option<&[Vec<u64>]>,
        array: &Core,
    ) -> Result<(Option<BTreeSet<Vec<u64>>>, u64)> {
        let there = self.there(array).await?;
        let (from, to) = (self.source.grid()?, array.grid()?);
        let mut needed: BTreeSet<Vec<u64>> = match stored {
            Some(stored) => touched(stored, &from, &to),
            None if there.is_empty() => return Ok((None, n_units(array)?)),
            None => units(array).collect(),
        };
        let n = needed.len() as u64;
        needed.retain(|unit| !there.contains(unit));
        Ok((Some(needed), n))
    }

    /// The chunks that an earlier copy has written.
    async fn there(&self, array: &Core) -> Result<BTreeSet<Vec<u64>>> {
        if !self.resumed {
            return Ok(BTreeSet::new());
        }
        Ok(listed(array, self.colour).await?.unwrap_or_default().into_iter().collect())
    }

    async fn pass(
        &self,
        [source, target]: [&Core; 2],
        plan: &Plan,
        conversion: Option<Conversion>,
        steps: Steps,
        count: &(dyn Fn(u64) + Sync),
    ) -> Result<()> {
        let fills = if self.fill_differs { FillChunks::Store } else { self.run.fill_chunks };
        let mut run = self.run.clone();
        run.fill_chunks = fills;
        run.progress = None;
        run.bytes_in_flight = run.bytes_in_flight.min(plan.in_flight.0);
        run.requests_in_flight = run.requests_in_flight.min(plan.in_flight.1);
        let (source, target) = (source.clone(), target.clone());
        let read = decoded_shape(&source)?;
        let colour = self.colour;
        Pass { source, target, plan: plan.clone(), read, conversion, run: &run, count, colour }
            .copy(steps)
            .await
    }

    /// Copies elements of variable size chunk by chunk of the target, or shard by shard.
    async fn by_unit(&self, needed: Option<BTreeSet<Vec<u64>>>, threads: usize) -> Result<()> {
        let fills = if self.fill_differs { FillChunks::Store } else { self.run.fill_chunks };
        let mut one = self.run.clone().threads(NonZeroUsize::new(1));
        one.fill_chunks = fills;
        one.progress = None;
        let (mut source, mut target) = (self.source.clone(), self.target.clone());
        (source.options, target.options) = (one.clone(), one);
        let (source, target, grid) = (&source, &target, &target.grid()?);
        let copy = |chunk: Vec<u64>| async move {
            let Some(region) = grid.clipped_region(&chunk) else { return Ok(()) };
            let (from, to) = ((source.clone(), source.resolve(&region)?), target.resolve(&region)?);
            let read = move |_| async move { from.0.read_vlen(&from.1).await };
            let elements = source.storage.ask(self.colour, read).await?;
            target.write_vlen(&to, &elements, self.colour).await?;
            self.counter.add(1);
            Ok(())
        };
        let stores = [&self.source.storage, &self.target.storage];
        match needed {
            Some(needed) => for_each(stores, self.run, self.colour, threads, needed, copy).await,
            None => {
                let all = units(target);
                for_each(stores, self.run, self.colour, threads, all, copy).await
            }
        }
    }
}

/// How many chunks, or shards, an array has.
pub(super) fn n_units(array: &Core) -> Result<u64> {
    Ok(array.grid()?.n_overlaps(&Region::whole(array.shape())).unwrap_or(u64::MAX))
}

/// The indices of all units of an array.
fn units(array: &Core) -> impl Iterator<Item = Vec<u64>> + Send + use<> {
    crate::chunks::Chunks::new(array.unit_grid()).map(|unit| unit.index)
}

/// The chunks of one grid that have elements of these of another.
fn touched(chunks: &[Vec<u64>], from: &ChunkGrid, to: &ChunkGrid) -> BTreeSet<Vec<u64>> {
    let mut touched = BTreeSet::new();
    for region in chunks.iter().filter_map(|chunk| from.clipped_region(chunk)) {
        touched.extend(to.overlaps(&region).map(|overlap| overlap.chunk));
    }
    touched
}

/// The stored chunks inside an array, listed if the store can do so, else all.
async fn stored(array: &Core, colour: Colour) -> Result<Vec<Vec<u64>>> {
    if let Some(chunks) = listed(array, colour).await? {
        return Ok(chunks);
    }
    match n_units(array)? {
        ..=MAX_TRIES => Ok(units(array).collect()),
        _ => {
            let what = "the store cannot list its keys, and there are too many chunks to try each";
            Err(Error::new(ErrorKind::Unsupported, what).in_store(|| array.storage.name()))
        }
    }
}

/// The stored chunks inside an array; `None` if the store cannot list.
async fn listed(array: &Core, colour: Colour) -> Result<Option<Vec<Vec<u64>>>> {
    let (grid, keys) = (array.grid()?, &array.spec().keys);
    let prefix = keys.prefix.clone();
    let list = move |storage: Storage| async move {
        match storage.list_prefix(&prefix).await {
            Err(StoreError::Unsupported(_)) => Ok(None),
            Err(error) => Err(Error::from(error).in_store(|| storage.name())),
            Ok(found) => Ok(Some(found)),
        }
    };
    let Some(found) = array.storage.ask(colour, list).await? else { return Ok(None) };
    let ndim = array.shape().len();
    let index = |key: &String| keys.encoding.decode(key.strip_prefix(&keys.prefix)?, ndim);
    let mut chunks: Vec<Vec<u64>> = found.iter().filter_map(index).collect();
    chunks.retain(|chunk| grid.chunk_region(chunk).is_some());
    chunks.sort();
    chunks.dedup();
    Ok(Some(chunks))
}
