//! Which chunks a smaller shape concerns.

use std::cmp::Ordering;
use std::ops::Range;

use ndzarr_grid::{ChunkGrid, Region, n_elements};

use crate::ChunkedArray;

/// What becomes of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// It is outside the array: it is removed.
    Erase(Vec<u64>),
    /// A part of it has come to be outside: that becomes the fill value.
    Trim(Vec<u64>),
}

impl Task {
    pub(crate) fn chunk(&self) -> &[u64] {
        match self {
            Self::Erase(chunk) | Self::Trim(chunk) => chunk,
        }
    }
}

/// From one shape to another.
#[derive(Debug)]
pub(crate) struct ShrinkPlan<'a> {
    grid: &'a ChunkGrid,
    was: &'a [u64],
}

/// More chunks than this are not tried one by one.
const MAX_TRIES: u64 = 1 << 20;

impl<'a> ShrinkPlan<'a> {
    /// From the shape `was` to that of the array.
    pub(crate) fn new(array: &'a ChunkedArray, was: &'a [u64]) -> Self {
        Self { grid: array.grid(), was }
    }

    /// Whether elements at the end of an axis are to go. Of an array that keeps its shape, whatever is outside: so an
    /// interrupted shrinking is made up for.
    fn shrinks(&self, axis: usize) -> bool {
        let now = self.grid.array_shape();
        now[axis] < self.was[axis] || now == self.was
    }

    /// What becomes of a chunk; `None`: it stays as it is.
    pub(crate) fn task(&self, chunk: Vec<u64>) -> Option<Task> {
        let Some(region) = self.grid.chunk_region(&chunk) else { return Some(Task::Erase(chunk)) };
        let is_cut =
            |axis: usize| region.ranges()[axis].end > self.grid.array_shape()[axis] && self.shrinks(axis);
        (0..chunk.len()).any(is_cut).then_some(Task::Trim(chunk))
    }

    /// The chunks of the old grid that may be concerned, as disjoint boxes of indices.
    fn boxes(&self) -> Vec<Vec<Range<u64>>> {
        let now = self.grid.array_shape();
        if self.grid.is_custom() {
            // Where its chunks do not stand in rows, any may be.
            return match self.grid.resized(self.was) {
                Ok(old) => vec![old.grid_shape().into_iter().map(|n| 0..n).collect()],
                Err(_) => Vec::new(),
            };
        }
        let per = |shape: &[u64], up: bool| -> Vec<u64> {
            let count = |(axis, &n): (usize, &u64)| {
                let met = self.grid.n_chunks_along(axis, n);
                // Without the last one, unless it ends just there.
                let is_cut = met > 0 && self.grid.range_along(axis, met - 1).end > n;
                if up || !is_cut { met } else { met - 1 }
            };
            shape.iter().enumerate().map(count).collect()
        };
        let (kept, all) = (per(now, false), per(self.was, true));
        (0..now.len())
            .filter(|&axis| self.shrinks(axis))
            .map(|axis| {
                (0..now.len())
                    .map(|other| match other.cmp(&axis) {
                        Ordering::Less if self.shrinks(other) => 0..kept[other].min(all[other]),
                        Ordering::Equal => kept[axis]..all[axis].max(kept[axis]),
                        _ => 0..all[other],
                    })
                    .collect()
            })
            .collect()
    }

    /// How many chunks would have to be tried where they cannot be listed.
    pub(crate) fn n_tries(&self) -> u64 {
        let lens = |ranges: &Vec<Range<u64>>| {
            let lens: Vec<u64> = ranges.iter().map(|range| range.end - range.start).collect();
            n_elements(&lens).unwrap_or(u64::MAX)
        };
        self.boxes().iter().map(lens).fold(0, u64::saturating_add)
    }

    /// Whether they are few enough to be tried.
    pub(crate) fn enumerate_is_possible(&self) -> bool {
        self.n_tries() <= MAX_TRIES
    }

    /// Every chunk that may be concerned; `None`: they are too many.
    pub(crate) fn enumerate(&self) -> Option<Vec<Task>> {
        if !self.enumerate_is_possible() {
            return None;
        }
        let mut tasks = Vec::new();
        for ranges in self.boxes() {
            let region = Region::new(ranges);
            let end: Vec<u64> = region.ranges().iter().map(|range| range.end).collect();
            let ones = vec![1; end.len()];
            let Ok(indices) = ChunkGrid::regular(&end, &ones) else { continue };
            tasks.extend(indices.overlaps(&region).filter_map(|overlap| self.task(overlap.chunk)));
        }
        Some(tasks)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Shape of the array, of its chunks, and what it was.
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
        for (now, chunks, was) in CASES {
            let grid = ChunkGrid::regular(&now, &chunks).expect("a grid");
            let plan = ShrinkPlan { grid: &grid, was: &was };
            let old = ChunkGrid::regular(&was, &chunks).expect("a grid");
            let whole = Region::whole(&was);
            let expected: BTreeMap<Vec<u64>, Task> = old
                .overlaps(&whole)
                .filter_map(|overlap| Some((overlap.chunk.clone(), plan.task(overlap.chunk)?)))
                .collect();
            let tasks = plan.enumerate().expect("not many");
            assert!(tasks.len() as u64 <= plan.n_tries());
            let n = tasks.len();
            let found: BTreeMap<Vec<u64>, Task> =
                tasks.into_iter().map(|task| (task.chunk().to_vec(), task)).collect();
            assert_eq!((n, &found), (expected.len(), &expected), "{was:?} to {now:?}");
        }
    }

    #[test]
    fn huge_grids_are_not_enumerated() {
        let grid = ChunkGrid::regular(&[1, 1 << 60], &[1, 1]).expect("a grid");
        assert!(ShrinkPlan { grid: &grid, was: &[2, 1 << 60] }.enumerate().is_none());
        let plan = ShrinkPlan { grid: &grid, was: &[1, (1 << 60) + 3] };
        assert_eq!(plan.enumerate().map(|tasks| tasks.len()), Some(3));
    }
}
