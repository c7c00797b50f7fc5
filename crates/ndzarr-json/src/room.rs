//! `Room`: the memory that the values of a document may take.

use crate::JsonError;

/// Maximum size of the values of a document in memory, in bytes.
const MAX_BYTES: usize = 256 << 20;

/// What is wrong with a document whose values take more.
pub const TOO_LARGE: &str = "its values would take more than 256 MiB of memory";

/// What is left of it. Without a limit, text of small values like `{"":0},` would take 90 times its
/// length.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Room {
    pub(crate) fn new() -> Self {
        Self(MAX_BYTES)
    }

    /// Less than the maximum.
    pub(crate) fn of(byte_len: usize) -> Self {
        Self(byte_len.min(MAX_BYTES))
    }

    /// Takes this many bytes; `at` is the position in the text.
    pub(crate) fn take(&mut self, byte_len: usize, at: usize) -> Result<(), JsonError> {
        self.0 = self.0.checked_sub(byte_len).ok_or(JsonError {
            at,
            what: TOO_LARGE,
        })?;
        Ok(())
    }
}
