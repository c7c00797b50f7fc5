//! `MetBox`: the chunks of a region that have wanted elements.

use ndzarr_grid::{ChunkGrid, MetAlong, Overlap, Overlaps, Region};

use crate::Picked;

/// The chunks of a region that have wanted elements along each axis.
pub(crate) struct MetBox {
    along: Vec<MetAlong>,
    /// The first chunk that overlaps the region.
    origin: Vec<u64>,
}

impl MetBox {
    /// `None` where every chunk may have some.
    pub(crate) fn new(grid: &ChunkGrid, region: &Region, picked: &Picked) -> Option<Self> {
        let Picked::Along(axes) = picked else { return None };
        let axes = region.ranges().iter().zip(axes).enumerate();
        let along = axes.map(|(axis, (range, picks))| MetAlong::new(grid, axis, range.clone(), picks));
        Some(Self { along: along.collect(), origin: grid.overlaps(region).first() })
    }

    /// How many there are along each axis.
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.along.iter().map(MetAlong::len).collect()
    }

    /// How many there are.
    pub(crate) fn n(&self) -> u64 {
        self.along.iter().fold(1, |n, along| n.saturating_mul(along.len()))
    }

    /// The index along an axis of the chunk with this number there.
    pub(crate) fn chunk(&self, grid: &ChunkGrid, axis: usize, n: u64) -> u64 {
        self.origin[axis] + self.along[axis].nth(grid, n)
    }

    /// The chunk with this number in C order, of the overlaps of the region.
    pub(crate) fn overlap(&self, grid: &ChunkGrid, overlaps: &Overlaps, number: u64) -> Option<Overlap> {
        let mut rest = number;
        let mut within = vec![0; self.along.len()];
        for (index, along) in within.iter_mut().zip(&self.along).rev() {
            *index = along.nth(grid, rest % along.len());
            rest /= along.len();
        }
        let counts = overlaps.counts();
        overlaps.nth_index(within.iter().zip(counts).fold(0, |number, (at, count)| number * count + at))
    }
}
