//! The treatment of files that do not belong to a node that is removed.

/// The treatment of files that do not belong to a node, when it is removed or replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// An error names some of them, and nothing is removed.
    #[default]
    Refuse,
    /// They are removed with the node.
    Remove,
}
