//! What a verb found.

/// Whether a verb found what it looks for: differences, or damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Good,
    Found,
}

impl Outcome {
    /// What both together found.
    pub(crate) fn and(self, other: Self) -> Self {
        if self == Self::Found { self } else { other }
    }
}
