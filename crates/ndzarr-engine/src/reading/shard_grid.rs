//! `ShardGrid`: the inner chunks of a shard, which of them are wanted, and where they are stored.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use ndzarr_codec::{Access, CodecChain, CodecError, ShardIndex, ShardLayout, Sharding};
use ndzarr_grid::{ChunkGrid, Picks, Region};

use crate::reading::pieces::Pieces;
use crate::reading::wanted::Wanted;
use crate::tile::{Picked, PickedBox};
use crate::{EngineCause, Tile};

/// The wanted part of a shard, and the positions of its inner chunks.
#[derive(Debug)]
pub(crate) struct ShardGrid {
    sharding: Arc<Sharding>,
    index: Arc<ShardIndex>,
    layout: ShardLayout,
    /// Where the shard begins in the stored value.
    start: u64,
    /// Stored axis `j` is axis `axes[j]` of the tile.
    axes: Vec<usize>,
    /// The grid of the inner chunks, over the axes of the tile.
    grid: ChunkGrid,
    /// The wanted elements of the shard, over the axes of the tile.
    want: Region,
    /// The picked ones among them.
    picked: InnerPicked,
    /// Which inner chunk the shard itself is, as in [`Broken`](crate::Broken).
    inner_chunk: Vec<Vec<u64>>,
}

impl ShardGrid {
    pub(crate) fn new(
        shard: &Wanted,
        sharding: &Arc<Sharding>,
        index: &Arc<ShardIndex>,
    ) -> Result<Self, EngineCause> {
        let order = shard.chain.order();
        let shape = shard.chain.stored(&shard.shape);
        let axes: Vec<usize> = order.iter().map(|&axis| shard.axes[axis]).collect();
        let mut tile_shape = vec![0; axes.len()];
        let mut chunk_shape = vec![0; axes.len()];
        let mut want = vec![0..0; axes.len()];
        for (stored, &axis) in axes.iter().enumerate() {
            tile_shape[axis] = shape[stored];
            chunk_shape[axis] = sharding.chunk_shape()[stored];
            want[axis] = shard.want.ranges()[order[stored]].clone();
        }
        let grid = ChunkGrid::regular(&tile_shape, &chunk_shape)
            .map_err(|error| CodecError::config("sharding_indexed", error))?;
        let want = Region::new(want);
        let in_part = !matches!(sharding.chunks().access(), Access::Whole);
        let picked = InnerPicked::new(&shard.picked, &want, &grid, in_part);
        Ok(Self {
            sharding: Arc::clone(sharding),
            index: Arc::clone(index),
            layout: sharding.layout(&shape),
            start: shard.at.as_ref().map_or(0, |range| range.start),
            axes,
            grid,
            want,
            picked,
            inner_chunk: shard.inner_chunk.clone(),
        })
    }

    /// The chain of the inner chunks.
    pub(crate) fn inner_chain(&self) -> &CodecChain {
        self.sharding.chunks()
    }

    /// Cuts a tile of the shard into those of the inner chunks, in C order over its axes; `None` if
    /// nothing is wanted.
    pub(crate) fn pieces<'t>(&self, tile: Box<dyn Tile + 't>) -> Option<Pieces<'_, 't>> {
        if self.want.is_empty() {
            return None;
        }
        let mut pieces = Pieces::new(&self.grid);
        pieces.add_region(self.want.clone(), tile);
        Some(pieces)
    }

    /// The wanted elements of an inner chunk along an axis.
    fn wanted_along(&self, axis: usize, at: u64) -> Range<u64> {
        let want = &self.want.ranges()[axis];
        let chunk = self.grid.range_along(axis, at);
        want.start.max(chunk.start)..want.end.min(chunk.end)
    }

    /// Where a range along an axis begins within the wanted region.
    fn in_want(&self, axis: usize, range: &Range<u64>) -> usize {
        (range.start - self.want.ranges()[axis].start) as usize
    }

    /// True if inner chunks of the wanted region that have this position along an axis may have
    /// picked elements.
    fn may_be_picked_along(&self, axis: usize, at: u64) -> bool {
        let InnerPicked::Along(axes) = &self.picked else {
            return true;
        };
        let wanted = self.wanted_along(axis, at);
        axes[axis]
            .hit(
                self.in_want(axis, &wanted),
                (wanted.end - wanted.start) as usize,
            )
            .1
            > 0
    }

    /// True if an inner chunk of the wanted region has picked elements.
    pub(crate) fn is_picked(&self, chunk: &[u64]) -> bool {
        match &self.picked {
            InnerPicked::All => true,
            InnerPicked::Along(_) => chunk
                .iter()
                .enumerate()
                .all(|(axis, &at)| self.may_be_picked_along(axis, at)),
            InnerPicked::Boxes(chunks) => chunks.contains_key(chunk),
        }
    }

    /// Visits the indices of the wanted inner chunks, over the axes of the tile, in C order.
    pub(crate) fn each(
        &self,
        mut visit: impl FnMut(&[u64]) -> Result<(), EngineCause>,
    ) -> Result<(), EngineCause> {
        let chunk_shape = self.grid.chunk_shape();
        let range = |(range, len): (&Range<u64>, &u64)| range.start / len..range.end.div_ceil(*len);
        let ranges: Vec<Range<u64>> = self
            .want
            .ranges()
            .iter()
            .zip(chunk_shape)
            .map(range)
            .collect();
        if self.want.is_empty() {
            return Ok(());
        }
        if let InnerPicked::Boxes(chunks) = &self.picked {
            return chunks.keys().try_for_each(|chunk| visit(chunk));
        }
        let next =
            |axis, mut within: Range<u64>| within.find(|&at| self.may_be_picked_along(axis, at));
        let first = ranges
            .iter()
            .enumerate()
            .map(|(axis, range)| next(axis, range.clone()));
        let Some(first) = first.collect::<Option<Vec<u64>>>() else {
            return Ok(());
        };
        let mut chunk = first.clone();
        'chunks: loop {
            visit(&chunk)?;
            for axis in (0..chunk.len()).rev() {
                if let Some(at) = next(axis, chunk[axis] + 1..ranges[axis].end) {
                    chunk[axis] = at;
                    continue 'chunks;
                }
                chunk[axis] = first[axis];
            }
            return Ok(());
        }
    }

    /// Position of an inner chunk in the stored value.
    pub(crate) fn entry(&self, chunk: &[u64]) -> Result<Option<Range<u64>>, EngineCause> {
        let number = self
            .layout
            .number(self.axes.iter().map(|&axis| chunk[axis]));
        let within = self.index.entry(number)?;
        Ok(within.map(|range| self.start + range.start..self.start + range.end))
    }

    /// The wanted part of an inner chunk.
    pub(crate) fn wanted(&self, chunk: &[u64]) -> Wanted {
        let along = |(axis, &at): (usize, &u64)| {
            let wanted = self.wanted_along(axis, at);
            let start = self.grid.range_along(axis, at).start;
            wanted.start - start..wanted.end - start
        };
        self.part(chunk, &Region::new(chunk.iter().enumerate().map(along)))
    }

    /// A region of an inner chunk, over the axes of the tile.
    pub(crate) fn part(&self, chunk: &[u64], want: &Region) -> Wanted {
        Wanted {
            chain: Arc::clone(self.sharding.chunks()),
            at: None,
            shape: self.sharding.chunk_shape().to_vec(),
            want: Region::new(self.axes.iter().map(|&axis| want.ranges()[axis].clone())),
            picked: self.picked.of(chunk, || {
                let start = |(axis, &at)| self.in_want(axis, &self.wanted_along(axis, at)) as u64;
                chunk.iter().enumerate().map(start).collect()
            }),
            axes: self.axes.clone(),
            inner_chunk: [&self.inner_chunk[..], &[chunk.to_vec()]].concat(),
            slot: None,
        }
    }
}

/// What is picked in each inner chunk of a shard.
#[derive(Clone, Debug)]
enum InnerPicked {
    All,
    Along(Vec<Picks>),
    /// The inner chunks that are wanted, with the boxes in each, relative to the wanted region of
    /// the shard; without boxes, where an inner chunk is read as a whole anyway.
    Boxes(Arc<BTreeMap<Vec<u64>, Vec<PickedBox>>>),
}

impl InnerPicked {
    /// Cuts the wanted elements of a region of a shard by the regular grid of its inner chunks;
    /// `in_part` if these can be read in part.
    fn new(picked: &Picked, want: &Region, grid: &ChunkGrid, in_part: bool) -> Self {
        let boxes = match picked {
            Picked::All => return Self::All,
            Picked::Along(axes) => return Self::Along(axes.clone()),
            Picked::Boxes(boxes) => boxes,
        };
        let start = want.start();
        let mut chunks: BTreeMap<Vec<u64>, Vec<PickedBox>> = BTreeMap::new();
        let mut chunk = Vec::with_capacity(start.len());
        for (part, picks) in boxes {
            // Most boxes are single elements.
            chunk.clear();
            let mut axes = part.ranges().iter().zip(&start).zip(grid.chunk_shape());
            let is_one = axes.all(|((range, start), len)| {
                chunk.push((start + range.start) / len);
                (start + range.end - 1) / len == (start + range.start) / len
            });
            if is_one && !in_part {
                if !chunks.contains_key(&chunk[..]) {
                    chunks.insert(chunk.clone(), Vec::new());
                }
                continue;
            }
            let corner = part.moved(&start).start();
            for overlap in grid.overlaps(&part.moved(&start)) {
                let here = overlap.region();
                let from = here.relative_to(&corner).start();
                let within = picks
                    .iter()
                    .zip(&from)
                    .map(|(picks, &at)| picks.from(at as usize));
                let within: Vec<Picks> = within.collect();
                if within
                    .iter()
                    .zip(here.shape())
                    .all(|(picks, len)| picks.hit(0, len as usize).1 > 0)
                {
                    let boxes = chunks.entry(overlap.chunk).or_default();
                    boxes.extend(in_part.then(|| (here.relative_to(&start), within)));
                }
            }
        }
        Self::Boxes(chunks.into())
    }

    /// What is picked in an inner chunk, whose wanted elements begin at `start` of the wanted
    /// region of the shard.
    fn of(&self, chunk: &[u64], start: impl FnOnce() -> Vec<u64>) -> Picked {
        match self {
            Self::All => Picked::All,
            Self::Along(axes) => Picked::Along(
                axes.iter()
                    .zip(start())
                    .map(|(picks, at)| picks.from(at as usize))
                    .collect(),
            ),
            Self::Boxes(chunks) if chunks.get(chunk).is_none_or(Vec::is_empty) => Picked::All,
            Self::Boxes(chunks) => {
                let start = start();
                let boxes = chunks.get(chunk).into_iter().flatten();
                Picked::Boxes(
                    boxes
                        .map(|(part, picks)| (part.relative_to(&start), picks.clone()))
                        .collect(),
                )
            }
        }
    }
}
