//! `Outcome`: the result of a verb that looks for something.

/// Tells if a verb found what it looks for: differences, or damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Good,
    Found,
}

impl Outcome {
    /// The outcome of both together.
    pub(crate) fn and(self, other: Self) -> Self {
        if self == Self::Found { self } else { other }
    }
}
