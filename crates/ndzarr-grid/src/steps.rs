//! `Steps`: every n-th index along an axis.

/// The selected indices along one axis of a box: `phase`, `phase + step`, …
///
/// ```
/// use ndzarr_grid::Steps;
///
/// // 2, 7, 12, 17 …
/// let steps = Steps { phase: 2, step: 5 };
/// assert_eq!(steps.n_below(12), 2);
/// assert_eq!(steps.from(10), Steps { phase: 2, step: 5 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The first selected index.
    pub phase: usize,
    /// The distance to the next one, at least 1.
    pub step: usize,
}

impl Steps {
    /// Every index.
    pub const ALL: Self = Self { phase: 0, step: 1 };

    /// The number of selected indices below `end`.
    #[must_use]
    pub fn n_below(self, end: usize) -> usize {
        end.saturating_sub(self.phase).div_ceil(self.step)
    }

    /// The selected indices from `at` on, relative to it.
    #[must_use]
    pub fn from(self, at: usize) -> Self {
        Self {
            phase: self.phase + self.n_below(at) * self.step - at,
            step: self.step,
        }
    }
}
