//! The storage formats, and the axis and element orders in which they differ.

use std::fmt;

/// A storage format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Zarr v2.
    Zarr2,
    /// Zarr v3 (core 3.1).
    Zarr3,
    /// The draft of v3 of 25 May 2022 as its text defines it.
    DraftA,
    /// The draft of v3 as zarr-python 2.12 to 2.18 wrote it.
    DraftB,
    /// N5.
    N5,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zarr2 => "zarr2",
            Self::Zarr3 => "zarr3",
            Self::DraftA => "zarr3-draft-a",
            Self::DraftB => "zarr3-draft-b",
            Self::N5 => "n5",
        })
    }
}

/// Names of the documents in the folders above a store of the format that may have copies of its
/// documents, one of which each of these folders has.
#[must_use]
pub fn documents_above(format: Format) -> &'static [&'static str] {
    match format {
        Format::Zarr3 => &["zarr.json"],
        Format::Zarr2 => &[".zgroup", ".zmetadata"],
        // These formats keep every copy in the store itself.
        Format::DraftA | Format::DraftB | Format::N5 => &[],
    }
}

/// Direction in which the dimensions of an N5 document appear as array axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum N5Axes {
    /// Axis 0 is dimension 0, the fastest varying one, as Java, tensorstore and rust-n5 show it.
    #[default]
    Native,
    /// Axis 0 is the last dimension, as z5 and NumPy show it: blocks are in C order.
    Reversed,
}

/// Order of the elements inside a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Last index fastest.
    #[default]
    C,
    /// First index fastest.
    F,
}

/// How to treat a draft array whose data type is an unknown extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnknownType {
    /// It is not opened.
    #[default]
    Refuse,
    /// It is opened read-only, with a warning, as the first known type that its document names as a
    /// fallback. Without such a type it is not opened.
    Fallback,
}
