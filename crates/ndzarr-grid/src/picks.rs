//! `Picks`: the wanted indices along an axis, at equal distances or listed.

use std::sync::Arc;

use crate::Steps;

/// The wanted indices along one axis of a box, in ascending order.
///
/// ```
/// use ndzarr_grid::{Picks, Run};
///
/// let picks = Picks::listed([2, 3, 4, 9, 20]);
/// assert_eq!(picks.hit(3, 10), (1, 3));
/// let runs: Vec<Run> = picks.runs(3, 10).collect();
/// assert_eq!(runs[0], Run { first: 1, n: 2, offset: 0, step: 1 });
/// assert_eq!(runs[1], Run { first: 3, n: 1, offset: 6, step: 1 });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picks {
    /// At equal distances.
    Steps(Steps),
    /// Those of a list.
    Listed(Listed),
}

/// A list of ascending indices, relative to a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    indices: Arc<[usize]>,
    /// The position to which the indices are relative; smaller indices are not part of the list.
    base: usize,
}

/// Picked indices at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The position of the first index among all picked ones.
    pub first: usize,
    /// The number of indices.
    pub n: usize,
    /// The first index, counted from the start of the range.
    pub offset: usize,
    /// The distance to the next one.
    pub step: usize,
}

impl Picks {
    /// Every index.
    pub const ALL: Self = Self::Steps(Steps::ALL);

    /// These indices, which must be ascending and distinct.
    #[must_use]
    pub fn listed(indices: impl Into<Arc<[usize]>>) -> Self {
        Self::Listed(Listed {
            indices: indices.into(),
            base: 0,
        })
    }

    /// True if every index is picked.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::ALL
    }

    /// The picked index that follows `n` others. A list must have that many.
    #[must_use]
    pub fn nth(&self, n: usize) -> usize {
        match self {
            Self::Steps(steps) => steps.phase + n * steps.step,
            Self::Listed(listed) => listed.indices[listed.rank(0) + n] - listed.base,
        }
    }

    /// The number of picked indices below `end`.
    #[must_use]
    pub fn n_below(&self, end: usize) -> usize {
        match self {
            Self::Steps(steps) => steps.n_below(end),
            Self::Listed(listed) => listed.rank(end) - listed.rank(0),
        }
    }

    /// The picked indices among the `len` indices from `start` on: the position of the first of
    /// them among all picked ones, and their number.
    #[must_use]
    pub fn hit(&self, start: usize, len: usize) -> (usize, usize) {
        let first = self.n_below(start);
        (first, self.n_below(start.saturating_add(len)) - first)
    }

    /// The picks from `at` on, relative to it.
    #[must_use]
    pub fn from(&self, at: usize) -> Self {
        match self {
            Self::Steps(steps) => Self::Steps(steps.from(at)),
            Self::Listed(Listed { indices, base }) => Self::Listed(Listed {
                indices: Arc::clone(indices),
                base: base + at,
            }),
        }
    }

    /// The picked indices among the `len` indices from `start` on, as runs of equal distances.
    pub fn runs(&self, start: usize, len: usize) -> impl Iterator<Item = Run> + Clone {
        let (first, n) = self.hit(start, len);
        let mut taken = 0;
        std::iter::from_fn(move || {
            if taken == n {
                return None;
            }
            let run = match self {
                Self::Steps(steps) => {
                    let offset = (steps.phase + first * steps.step).saturating_sub(start);
                    Run {
                        first,
                        n,
                        offset,
                        step: steps.step,
                    }
                }
                Self::Listed(listed) => {
                    let from = listed.rank(0) + first;
                    let indices = &listed.indices[from + taken..from + n];
                    let step = indices.get(1).map_or(1, |second| second - indices[0]);
                    let n_equal = indices
                        .windows(2)
                        .take_while(|pair| pair[1] - pair[0] == step)
                        .count()
                        + 1;
                    // Two indices with a gap between them may each belong to a run with other
                    // neighbours.
                    let n = if step > 1 && n_equal == 2 { 1 } else { n_equal };
                    let step = if n == 1 { 1 } else { step };
                    Run {
                        first: first + taken,
                        n,
                        offset: indices[0] - listed.base - start,
                        step,
                    }
                }
            };
            taken += run.n;
            Some(run)
        })
    }
}

impl Listed {
    /// The number of indices of the list before `at`.
    fn rank(&self, at: usize) -> usize {
        let end = self.base.saturating_add(at);
        self.indices.partition_point(|&index| index < end)
    }
}
