//! A box of pieces, and how it is cut.

use std::sync::Arc;

use ndzarr_grid::{ChunkGrid, Region};

use crate::Tile;
use crate::picked_chunks::PickedChunks;
use crate::tile::{Output, Piece, sides};

/// An element of a sequence of pieces: many, or one.
pub(super) enum Entry<'t> {
    Block(Block<'t>),
    Piece(Piece<'t>),
}

/// A box of pieces.
pub(super) struct Block<'t> {
    region: Region,
    /// The number of pieces along each axis.
    counts: Vec<u64>,
    /// Where the pieces are, if only some chunks of the region have wanted elements.
    picked: Option<BlockChunks>,
    tile: Box<dyn Tile + 't>,
}

/// The chunks that the pieces of a block are in.
#[derive(Clone)]
struct BlockChunks {
    chunks: Arc<PickedChunks>,
    /// The number of the block's first one along each axis.
    first: Vec<u64>,
}

/// An end of a sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Front,
    Back,
}

/// Where to cut a block so that both sides are boxes in C order.
#[derive(Clone, Copy)]
pub(super) enum Cut {
    /// Near this end, so that it comes closer to one piece.
    At(End),
    /// Before or after this piece, as close as a cut along one axis can be.
    Before(u64),
}

impl Entry<'_> {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Block(block) => block.len(),
            Self::Piece(_) => 1,
        }
    }
}

impl<'t> Block<'t> {
    /// The chunks that overlap a region.
    pub(super) fn new(grid: &ChunkGrid, region: Region, tile: Box<dyn Tile + 't>) -> Self {
        let counts = grid.overlaps(&region).counts();
        Self {
            region,
            counts,
            picked: None,
            tile,
        }
    }

    /// Only these chunks of a region; there are some.
    pub(super) fn of_picked(
        region: Region,
        chunks: PickedChunks,
        tile: Box<dyn Tile + 't>,
    ) -> Self {
        let counts = chunks.counts();
        let picked = BlockChunks {
            chunks: Arc::new(chunks),
            first: vec![0; counts.len()],
        };
        Self {
            region,
            counts,
            picked: Some(picked),
            tile,
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.counts
            .iter()
            .fold(1u64, |len, &n| len.saturating_mul(n))
    }

    /// Both sides of a cut, or the only piece.
    pub(super) fn cut(self, grid: &ChunkGrid, cut: Cut) -> Vec<Entry<'t>> {
        let Some(axis) = self.counts.iter().position(|&n| n > 1) else {
            let (region, tile) = self.narrowed(grid);
            let piece = |overlap| {
                Entry::Piece(Piece {
                    overlap,
                    output: Output::Tile(tile),
                })
            };
            return grid
                .overlaps(&region)
                .next()
                .map(piece)
                .into_iter()
                .collect();
        };
        let n = self.counts[axis];
        let before = match cut {
            Cut::At(End::Front) => 1,
            Cut::At(End::Back) => n - 1,
            Cut::Before(piece) => (piece / (self.len() / n).max(1)).clamp(1, n - 1),
        };
        let at = grid
            .range_along(axis, self.chunk(grid, axis, before - 1))
            .end;
        let mut counts_after = self.counts.clone();
        counts_after[axis] = n - before;
        let mut picked_after = self.picked.clone();
        if let Some(picked) = &mut picked_after {
            picked.first[axis] += before;
        }
        let Self {
            region,
            mut counts,
            picked,
            tile,
        } = self;
        counts[axis] = before;
        let [(region, tile), (region_after, tile_after)] = split(&region, tile, axis, at);
        let front = Self {
            region,
            counts,
            picked,
            tile,
        };
        let back = Self {
            region: region_after,
            counts: counts_after,
            picked: picked_after,
            tile: tile_after,
        };
        vec![Entry::Block(front), Entry::Block(back)]
    }

    /// The grid's index of the `n`th chunk along an axis.
    fn chunk(&self, grid: &ChunkGrid, axis: usize, n: u64) -> u64 {
        match &self.picked {
            None => grid.n_chunks_along(axis, self.region.ranges()[axis].start + 1) - 1 + n,
            Some(picked) => picked.chunks.chunk(grid, axis, picked.first[axis] + n),
        }
    }

    /// The part of a block of one piece that lies in its chunk.
    fn narrowed(self, grid: &ChunkGrid) -> (Region, Box<dyn Tile + 't>) {
        let has_gaps = self.picked.is_some();
        let chunk = |axis| grid.range_along(axis, self.chunk(grid, axis, 0));
        let chunks: Vec<_> = if has_gaps {
            (0..self.counts.len()).map(chunk).collect()
        } else {
            Vec::new()
        };
        let Self {
            mut region,
            mut tile,
            ..
        } = self;
        for (axis, chunk) in chunks.into_iter().enumerate() {
            if region.ranges()[axis].start < chunk.start {
                [_, (region, tile)] = split(&region, tile, axis, chunk.start);
            }
            if chunk.end < region.ranges()[axis].end {
                [(region, tile), _] = split(&region, tile, axis, chunk.end);
            }
        }
        (region, tile)
    }
}

/// Both sides of a cut along an axis, before the element `at` of the array.
fn split<'t>(
    region: &Region,
    tile: Box<dyn Tile + 't>,
    axis: usize,
    at: u64,
) -> [(Region, Box<dyn Tile + 't>); 2] {
    let start = region.ranges()[axis].start;
    let (front, back) = tile.split_at(axis, (at - start) as usize);
    let [before, after] = sides(region, axis, at);
    [(before, front), (after, back)]
}
