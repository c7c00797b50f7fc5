//! The error of this crate.

/// Why zfp cannot do what it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The stream has no header of a zfp that is known.
    #[error("not a zfp stream: it has no header")]
    Header,
    /// The stream ends before the last block.
    #[error("ends in the middle of a stream")]
    Truncated,
    /// The stream is of another number of bytes than there is place for.
    #[error("decodes to {found} bytes where {expected} are expected")]
    Length {
        /// What the stream holds, in bytes; saturated.
        found: usize,
        /// What there is place for, in bytes.
        expected: usize,
    },
    /// An array of other than 1 to 4 dimensions, or with one of no length.
    #[error("takes arrays of 1 to 4 dimensions with elements in them")]
    Shape,
    /// Parameters that zfp does not take.
    #[error("zfp does not take these parameters")]
    Mode,
    /// No memory.
    #[error("no memory for {byte_len} bytes")]
    OutOfMemory {
        /// What was asked for.
        byte_len: usize,
    },
}
