//! The error of this crate.

/// Why a chunk cannot be decoded, or bytes not be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chunk is not what c-blosc 1 writes.
    #[error("{0}")]
    Corrupt(String),
    /// The chunk is of Blosc2, whose header begins with another version.
    #[error("a chunk of another format than blosc 1: its version is {version} (Blosc2 has 3 and up)")]
    Version {
        /// Version as the header states it.
        version: u8,
    },
    /// The chunk holds another number of bytes than there is room for.
    #[error("holds {found} bytes where {expected} are expected")]
    Length {
        /// Length of the content as the header states it, in bytes.
        found: usize,
        /// Length of the output, in bytes.
        expected: usize,
    },
    /// Parameters or input that cannot be encoded.
    #[error("{0}")]
    Input(String),
    /// There is not enough memory.
    #[error("no memory for {byte_len} bytes")]
    OutOfMemory {
        /// Size of what was asked for, in bytes.
        byte_len: usize,
    },
}

pub(crate) fn corrupt(what: impl Into<String>) -> Error {
    Error::Corrupt(what.into())
}
