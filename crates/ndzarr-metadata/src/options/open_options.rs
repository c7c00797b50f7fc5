//! `OpenOptions`: how nodes are found and read.

use crate::{Extensions, Format, Limits, N5Axes, UnknownType};

/// How nodes are found and read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenOptions {
    /// Only look for this format.
    pub format: Option<Format>,
    /// How the axes of N5 arrays are shown.
    pub n5_axes: N5Axes,
    /// The separator of the chunk keys, `/` or `.`, whatever the documents state (V2-T06).
    pub separator: Option<char>,
    /// The kind of node that the caller expects. It decides how to read documents that are neither
    /// a complete N5 dataset nor clearly a group.
    pub wanted: Wanted,
    /// How to treat the version of an N5 container.
    pub n5_version: N5VersionCheck,
    /// The use of consolidated metadata.
    pub consolidated: ConsolidatedUse,
    /// The draft: how to treat an unknown data type.
    pub unknown_type: UnknownType,
    /// Limits on the documents.
    pub limits: Limits,
    /// Custom data types and chunk grids.
    pub extensions: Extensions,
}

/// The use of consolidated metadata: copies of the documents of a group and of all nodes below it
/// in one document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConsolidatedUse {
    /// If a group has them, all nodes listed and opened through the group come only from them. A
    /// node opened by its path is read from its own document; if it has none, the groups above are
    /// asked.
    #[default]
    Use,
    /// They are used as by [`Use`](Self::Use), and opening a group without them is an error.
    Require,
    /// Never.
    Ignore,
}

/// The kind of node that a caller expects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wanted {
    /// An array or a group.
    #[default]
    Any,
    /// An array: if incomplete, the error says what is missing.
    Array,
    /// A group.
    Group,
}

/// How to treat the version of an N5 container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum N5VersionCheck {
    /// Containers with a major version above 4 are an error.
    #[default]
    Enforce,
    /// Containers of any version are read as far as their documents make sense.
    Skip,
}
