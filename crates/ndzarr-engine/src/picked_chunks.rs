//! `PickedChunks`: the chunks of a region that contain picked elements.

use ndzarr_grid::{ChunkGrid, MetAlong, Overlap, Overlaps, Region};

use crate::Picked;

/// The chunks of a region that contain picked elements, where those along one axis do not depend on
/// the other axes.
pub(crate) struct PickedChunks {
    along: Vec<MetAlong>,
    /// The first chunk that overlaps the region.
    origin: Vec<u64>,
}

impl PickedChunks {
    /// `None` if any chunk may contain some.
    pub(crate) fn new(grid: &ChunkGrid, region: &Region, picked: &Picked) -> Option<Self> {
        let Picked::Along(axes) = picked else {
            return None;
        };
        let axes = region.ranges().iter().zip(axes).enumerate();
        let along =
            axes.map(|(axis, (range, picks))| MetAlong::new(grid, axis, range.clone(), picks));
        Some(Self {
            along: along.collect(),
            origin: grid.overlaps(region).first(),
        })
    }

    /// Their number along each axis.
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.along.iter().map(MetAlong::len).collect()
    }

    /// The number of all.
    pub(crate) fn n(&self) -> u64 {
        self.along
            .iter()
            .fold(1, |n, along| n.saturating_mul(along.len()))
    }

    /// The grid's index of the `n`th chunk along an axis.
    pub(crate) fn chunk(&self, grid: &ChunkGrid, axis: usize, n: u64) -> u64 {
        self.origin[axis] + self.along[axis].nth(grid, n)
    }

    /// The chunk with this number in C order, out of all `overlaps` of the region.
    pub(crate) fn overlap(
        &self,
        grid: &ChunkGrid,
        overlaps: &Overlaps,
        number: u64,
    ) -> Option<Overlap> {
        let mut rest = number;
        // Its distance from the first chunk of the region along each axis.
        let mut distance = vec![0; self.along.len()];
        for (distance, along) in distance.iter_mut().zip(&self.along).rev() {
            *distance = along.nth(grid, rest % along.len());
            rest /= along.len();
        }
        let counts = overlaps.counts();
        overlaps.nth_index(
            distance
                .iter()
                .zip(counts)
                .fold(0, |number, (at, count)| number * count + at),
        )
    }
}
