//! `Violation`: a place that breaks a rule.

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Violation {
    /// From the root of the repository, with `/`.
    pub(super) path: String,
    /// From 1.
    pub(super) line: usize,
    /// The rule and how it is broken.
    pub(super) what: String,
}

impl Violation {
    pub(super) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}
