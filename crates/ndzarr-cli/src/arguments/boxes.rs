//! Boxes that together are an array, or a part of one.

use std::ops::Range;

/// The boxes of a grid over a shape, in C order. The iterator makes them one by one, since a
/// document may describe any number of them.
#[derive(Clone, Debug)]
pub(crate) struct Boxes {
    shape: Vec<u64>,
    size: Vec<u64>,
    /// The start of the next box.
    next: Option<Vec<u64>>,
}

impl Boxes {
    pub(crate) fn new(shape: Vec<u64>, mut size: Vec<u64>) -> Self {
        for n in &mut size {
            *n = (*n).max(1);
        }
        let next = (!shape.contains(&0)).then(|| vec![0; shape.len()]);
        Self { shape, size, next }
    }

    pub(crate) fn shape(&self) -> &[u64] {
        &self.shape
    }

    pub(crate) fn n_elements(&self) -> u64 {
        self.shape.iter().fold(1, |all, &n| all.saturating_mul(n))
    }

    /// The number of boxes along each axis.
    fn counts(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator {
        self.shape
            .iter()
            .zip(&self.size)
            .map(|(n, size)| n.div_ceil(*size))
    }

    /// The number of all boxes.
    pub(crate) fn n_boxes(&self) -> u64 {
        self.counts().fold(1, u64::saturating_mul)
    }

    /// The box with this number, counted in C order.
    pub(crate) fn at(&self, number: u64) -> Vec<Range<u64>> {
        let mut rest = number;
        let mut ranges = vec![0..0; self.shape.len()];
        for (axis, count) in (0..self.shape.len()).zip(self.counts()).rev() {
            let start = rest % count * self.size[axis];
            ranges[axis] = start..start.saturating_add(self.size[axis]).min(self.shape[axis]);
            rest /= count;
        }
        ranges
    }

    /// The number of the box that has an element, and its end along the last axis.
    pub(crate) fn of(&self, index: &[u64]) -> (u64, u64) {
        let mut number = 0;
        for ((at, size), count) in index.iter().zip(&self.size).zip(self.counts()) {
            number = number * count + at / size;
        }
        let end = index
            .last()
            .zip(self.size.last())
            .map_or(0, |(at, size)| (at / size + 1).saturating_mul(*size));
        (number, end)
    }

    /// Adds the numbers of the boxes that these ranges overlap.
    pub(crate) fn add_numbers(&self, ranges: &[Range<u64>], numbers: &mut Vec<u64>) {
        let mut found = vec![0];
        for ((range, size), count) in ranges.iter().zip(&self.size).zip(self.counts()) {
            let along = range.start / size..=(range.end - 1) / size;
            let with = |number: u64| along.clone().map(move |at| number * count + at);
            found = found.into_iter().flat_map(with).collect();
        }
        numbers.extend(found);
    }
}

impl Iterator for Boxes {
    type Item = Vec<Range<u64>>;

    fn next(&mut self) -> Option<Vec<Range<u64>>> {
        let mut start = self.next.take()?;
        let lengths = self.shape.iter().zip(&self.size);
        let ranges = start
            .iter()
            .zip(lengths)
            .map(|(&at, (&n, &size))| at..at.saturating_add(size).min(n))
            .collect();
        for axis in (0..start.len()).rev() {
            let after = start[axis]
                .checked_add(self.size[axis])
                .filter(|at| *at < self.shape[axis]);
            start[axis] = after.unwrap_or(0);
            if after.is_some() {
                self.next = Some(start);
                break;
            }
        }
        Some(ranges)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, usize::try_from(self.n_boxes()).ok())
    }
}
