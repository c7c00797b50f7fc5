//! The error of this crate.

/// Why a chunk cannot be decoded, or bytes cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chunk does not follow the format of c-blosc 1.
    #[error("{0}")]
    Corrupt(String),
    /// The chunk is of Blosc2, whose header begins with another version.
    #[error(
        "a chunk of another format than blosc 1: its version is {version} (Blosc2 has 3 and up)"
    )]
    Version {
        /// Version stated in the header.
        version: u8,
    },
    /// The chunk's decoded size differs from that of the output.
    #[error("holds {found} bytes, but {expected} are expected")]
    Length {
        /// Decoded size stated in the header, in bytes.
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
        /// Requested size in bytes.
        byte_len: usize,
    },
}

pub(crate) fn corrupt(what: impl Into<String>) -> Error {
    Error::Corrupt(what.into())
}
