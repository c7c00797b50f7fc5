//! `ShrinkPlan`: which chunks are removed or trimmed when an array is made smaller.

use std::cmp::Ordering;
use std::ops::Range;

use ndzarr_grid::{ChunkGrid, Region, n_elements};

use crate::{ChunkedArray, EngineCause, EngineError};

/// What becomes of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// It is outside the array and is removed.
    Erase(Vec<u64>),
    /// A part of it is now outside and becomes the fill value.
    Trim(Vec<u64>),
}

impl Task {
    pub(super) fn is_trim(&self) -> bool {
        matches!(self, Self::Trim(_))
    }

    pub(super) fn chunk(&self) -> &[u64] {
        match self {
            Self::Erase(chunk) | Self::Trim(chunk) => chunk,
        }
    }
}

/// From an old shape to that of the grid.
#[derive(Debug)]
pub(super) struct ShrinkPlan<'a> {
    grid: &'a ChunkGrid,
    old_shape: &'a [u64],
}

/// More chunks than this are not tried one by one.
const MAX_TRIES: u64 = 1 << 20;

impl<'a> ShrinkPlan<'a> {
    /// From an old shape to that of the array.
    pub(super) fn new(array: &'a ChunkedArray, old_shape: &'a [u64]) -> Self {
        Self {
            grid: array.grid(),
            old_shape,
        }
    }

    pub(super) fn n_dims(&self) -> usize {
        self.old_shape.len()
    }

    /// True if elements at the end of an axis have to go. In an array that keeps its shape, that is
    /// everything outside, which completes an interrupted shrink.
    fn shrinks(&self, axis: usize) -> bool {
        let now = self.grid.array_shape();
        now[axis] < self.old_shape[axis] || now == self.old_shape
    }

    /// What becomes of a chunk; `None` if it does not change.
    pub(super) fn task(&self, chunk: Vec<u64>) -> Option<Task> {
        let Some(region) = self.grid.chunk_region(&chunk) else {
            return Some(Task::Erase(chunk));
        };
        let is_cut = |axis: usize| {
            region.ranges()[axis].end > self.grid.array_shape()[axis] && self.shrinks(axis)
        };
        (0..chunk.len()).any(is_cut).then_some(Task::Trim(chunk))
    }

    /// The chunks of the old grid that may be affected, as disjoint boxes of indices.
    fn boxes(&self) -> Vec<Vec<Range<u64>>> {
        let now = self.grid.array_shape();
        // The chunks that do not change, and all of the old shape, along each axis.
        let kept: Vec<u64> = (0..now.len())
            .map(|axis| self.n_whole_chunks(axis, now[axis]))
            .collect();
        let all: Vec<u64> = (0..now.len())
            .map(|axis| self.grid.n_chunks_along(axis, self.old_shape[axis]))
            .collect();
        let box_after = |axis: usize| {
            let along = |other: usize| match other.cmp(&axis) {
                Ordering::Less if self.shrinks(other) => 0..kept[other].min(all[other]),
                Ordering::Equal => kept[axis]..all[axis].max(kept[axis]),
                _ => 0..all[other],
            };
            (0..now.len()).map(along).collect()
        };
        (0..now.len())
            .filter(|&axis| self.shrinks(axis))
            .map(box_after)
            .collect()
    }

    /// The number of chunks that are entirely within the first `n` elements along an axis.
    fn n_whole_chunks(&self, axis: usize, n: u64) -> u64 {
        let overlapping = self.grid.n_chunks_along(axis, n);
        let is_last_cut = overlapping > 0 && self.grid.range_along(axis, overlapping - 1).end > n;
        if is_last_cut {
            overlapping - 1
        } else {
            overlapping
        }
    }

    /// The number of chunks to try if they cannot be listed.
    fn n_tries(&self) -> u64 {
        let lens = |ranges: &Vec<Range<u64>>| {
            let lens: Vec<u64> = ranges.iter().map(|range| range.end - range.start).collect();
            n_elements(&lens).unwrap_or(u64::MAX)
        };
        self.boxes().iter().map(lens).fold(0, u64::saturating_add)
    }

    /// True if they are few enough to try.
    pub(super) fn enumerate_is_possible(&self) -> bool {
        self.n_tries() <= MAX_TRIES
    }

    pub(super) fn cannot_list(&self) -> EngineError {
        EngineCause::CannotList {
            n_chunks: self.n_tries(),
        }
        .into()
    }

    /// Every chunk that may be affected; `None` if they are too many.
    pub(super) fn enumerate(&self) -> Option<impl Iterator<Item = Task> + Send> {
        let all_below = |ranges: Vec<Range<u64>>| {
            let end: Vec<u64> = ranges.iter().map(|range| range.end).collect();
            let indices = ChunkGrid::regular(&end, &vec![1; end.len()]).ok()?;
            Some(indices.overlaps(&Region::new(ranges)))
        };
        let overlaps = self.boxes().into_iter().filter_map(all_below).flatten();
        self.enumerate_is_possible()
            .then(|| overlaps.filter_map(|overlap| self.task(overlap.chunk)))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Shape of the array, of its chunks, and its former shape.
    const CASES: [([u64; 3], [u64; 3], [u64; 3]); 8] = [
        ([10, 7, 5], [3, 2, 5], [13, 9, 5]),
        ([9, 8, 5], [3, 2, 5], [13, 9, 5]),
        ([0, 7, 5], [3, 2, 5], [13, 9, 5]),
        ([10, 20, 5], [3, 2, 5], [13, 9, 5]),
        ([10, 20, 1], [3, 2, 5], [13, 9, 4]),
        ([13, 9, 5], [3, 2, 5], [13, 9, 5]),
        ([20, 20, 20], [3, 2, 5], [13, 9, 5]),
        ([1, 1, 1], [30, 20, 50], [2, 2, 2]),
    ];

    #[test]
    fn enumerating_finds_what_looking_at_every_chunk_finds() {
        for (now, chunks, old_shape) in CASES {
            let grid = ChunkGrid::regular(&now, &chunks).expect("a grid");
            let plan = ShrinkPlan {
                grid: &grid,
                old_shape: &old_shape,
            };
            let old = ChunkGrid::regular(&old_shape, &chunks).expect("a grid");
            let whole = Region::whole(&old_shape);
            let expected: BTreeMap<Vec<u64>, Task> = old
                .overlaps(&whole)
                .filter_map(|overlap| Some((overlap.chunk.clone(), plan.task(overlap.chunk)?)))
                .collect();
            let tasks: Vec<_> = plan.enumerate().expect("not many").collect();
            assert!(tasks.len() as u64 <= plan.n_tries());
            let n = tasks.len();
            let found: BTreeMap<Vec<u64>, Task> = tasks
                .into_iter()
                .map(|task| (task.chunk().to_vec(), task))
                .collect();
            assert_eq!(
                (n, &found),
                (expected.len(), &expected),
                "{old_shape:?} to {now:?}"
            );
        }
    }

    #[test]
    fn huge_grids_are_not_enumerated() {
        let grid = ChunkGrid::regular(&[1, 1 << 60], &[1, 1]).expect("a grid");
        assert!(
            ShrinkPlan {
                grid: &grid,
                old_shape: &[2, 1 << 60]
            }
            .enumerate()
            .is_none()
        );
        let plan = ShrinkPlan {
            grid: &grid,
            old_shape: &[1, (1 << 60) + 3],
        };
        assert_eq!(plan.enumerate().map(Iterator::count), Some(3));
    }
}
