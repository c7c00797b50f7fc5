//! Whether a removal takes files of others with it.

/// What happens to files that do not belong to a node when it is removed or replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// They are an error that names some of them, and nothing is removed.
    #[default]
    Refuse,
    /// They are removed with it.
    Remove,
}
