//! The error of encoders, and memory for their output.

use std::fmt;

/// Why nothing was encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeflateError {
    /// Levels are -1, which stands for 6, and 0 to 9.
    Level(i32),
    /// The allocator does not have this much memory.
    OutOfMemory {
        /// The number of bytes requested.
        byte_len: usize,
    },
    /// The encoder failed, which should not happen for any input.
    Encoder(String),
}

impl fmt::Display for DeflateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(level) => write!(f, "level {level} is not within -1 to 9"),
            Self::OutOfMemory { byte_len } => write!(f, "no memory for {byte_len} bytes"),
            Self::Encoder(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for DeflateError {}

/// Reserves memory for `n` more bytes.
pub(crate) fn reserve(dst: &mut Vec<u8>, n: usize) -> Result<(), DeflateError> {
    dst.try_reserve(n)
        .map_err(|_| DeflateError::OutOfMemory { byte_len: n })
}
