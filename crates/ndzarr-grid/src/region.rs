//! `Region`: a box of elements, and computations with it.

use std::ops::Range;

/// A box of elements: a half-open range along each axis. A 0-d region has one element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    ranges: Vec<Range<u64>>,
}

impl Region {
    /// The box of these ranges. A range that ends before it starts counts as empty at its start.
    #[must_use]
    pub fn new(ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        Self {
            ranges: ranges
                .into_iter()
                .map(|range| range.start..range.end.max(range.start))
                .collect(),
        }
    }

    /// All of an array of this shape.
    #[must_use]
    pub fn whole(shape: &[u64]) -> Self {
        Self {
            ranges: shape.iter().map(|&n| 0..n).collect(),
        }
    }

    /// The number of axes.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.ranges.len()
    }

    /// The range along each axis.
    #[must_use]
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// The index of the first element.
    #[must_use]
    pub fn start(&self) -> Vec<u64> {
        self.ranges.iter().map(|range| range.start).collect()
    }

    /// The length along each axis, in elements.
    #[must_use]
    pub fn shape(&self) -> Vec<u64> {
        self.ranges
            .iter()
            .map(|range| range.end - range.start)
            .collect()
    }

    /// True if it has no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.iter().any(Range::is_empty)
    }

    /// The number of elements; `None` beyond u64.
    #[must_use]
    pub fn n_elements(&self) -> Option<u64> {
        n_elements(&self.shape())
    }

    /// The common elements of both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::new(
            self.ranges
                .iter()
                .zip(&other.ranges)
                .map(|(a, b)| a.start.max(b.start)..a.end.min(b.end)),
        )
    }

    /// True if it contains every element of `other`.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.is_empty()
            || self
                .ranges
                .iter()
                .zip(&other.ranges)
                .all(|(a, b)| a.start <= b.start && b.end <= a.end)
    }

    /// The region relative to `origin`, which must not be past the start along any axis.
    #[must_use]
    pub fn relative_to(&self, origin: &[u64]) -> Self {
        let shift =
            |(range, &origin): (&Range<u64>, &u64)| range.start - origin..range.end - origin;
        Self {
            ranges: self.ranges.iter().zip(origin).map(shift).collect(),
        }
    }

    /// The region moved away from the origin by this distance along each axis.
    #[must_use]
    pub fn moved(&self, by: &[u64]) -> Self {
        let shift = |(range, &by): (&Range<u64>, &u64)| range.start + by..range.end + by;
        Self {
            ranges: self.ranges.iter().zip(by).map(shift).collect(),
        }
    }
}

/// The number of elements of an array of this shape; `None` beyond u64.
#[must_use]
pub fn n_elements(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape
        .iter()
        .try_fold(1u64, |product, &n| product.checked_mul(n))
}

/// Advances `index`, which is in the region, to the next one in C order. Returns false after the
/// last one; `index` is then the first again.
///
/// ```
/// use ndzarr_grid::{Region, next_index};
///
/// let region = Region::new([1..2, 5..7]);
/// let mut index = region.start();
/// assert!(next_index(&mut index, &region));
/// assert_eq!(index, [1, 6]);
/// assert!(!next_index(&mut index, &region));
/// assert_eq!(index, [1, 5]);
/// ```
#[must_use]
pub fn next_index(index: &mut [u64], region: &Region) -> bool {
    for (at, range) in index.iter_mut().zip(region.ranges()).rev() {
        *at += 1;
        if *at < range.end {
            return true;
        }
        *at = range.start;
    }
    false
}
