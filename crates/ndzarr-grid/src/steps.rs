//! `Steps`: every n-th index along an axis.

/// Which indices along one axis of a box are selected: `phase`, `phase + step`, …
///
/// ```
/// use ndzarr_grid::Steps;
///
/// // 2, 7, 12, 17 …
/// let steps = Steps { phase: 2, step: 5 };
/// let hit = steps.hit(10, 8);
/// assert_eq!((hit.first, hit.n, hit.offset), (2, 2, 2));
/// assert_eq!(steps.from(10), Steps { phase: 2, step: 5 });
/// assert_eq!(steps.hit(3, 4).n, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The first selected index.
    pub phase: usize,
    /// The distance to the next, at least 1.
    pub step: usize,
}

/// The selected indices that lie in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Position of the first of them among all selected indices.
    pub first: usize,
    /// Their number.
    pub n: usize,
    /// Index of the first of them, counted from the start of the range.
    pub offset: usize,
}

impl Steps {
    /// Every index.
    pub const ALL: Self = Self { phase: 0, step: 1 };

    /// The number of selected indices below `end`.
    #[must_use]
    pub fn n_below(self, end: usize) -> usize {
        end.saturating_sub(self.phase).div_ceil(self.step)
    }

    /// The selected indices among the `len` indices from `start` on.
    #[must_use]
    pub fn hit(self, start: usize, len: usize) -> Hit {
        let first = self.n_below(start);
        let n = self.n_below(start + len) - first;
        Hit { first, n, offset: (self.phase + first * self.step).saturating_sub(start) }
    }

    /// The same selection, relative to `at`.
    #[must_use]
    pub fn from(self, at: usize) -> Self {
        Self { phase: self.phase + self.n_below(at) * self.step - at, step: self.step }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_agree_with_counting() {
        for phase in 0..4 {
            for step in 1..5 {
                let steps = Steps { phase, step };
                let selected: Vec<usize> =
                    (0..40).filter(|i| *i >= phase && (i - phase) % step == 0).collect();
                for start in 0..10 {
                    for len in 0..10 {
                        let inside: Vec<usize> =
                            selected.iter().copied().filter(|i| (start..start + len).contains(i)).collect();
                        let hit = steps.hit(start, len);
                        assert_eq!(hit.n, inside.len());
                        if let Some(first) = inside.first() {
                            assert_eq!(selected[hit.first], *first);
                            assert_eq!(start + hit.offset, *first);
                        }
                    }
                    let rest = steps.from(start);
                    let expected = selected.iter().find(|i| **i >= start).map(|i| i - start);
                    assert_eq!(Some(rest.phase), expected);
                }
            }
        }
    }
}
