//! The error of this crate.

/// Why zfp cannot do what is requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The stream has no header of a known version of zfp.
    #[error("not a zfp stream: it has no header")]
    Header,
    /// The stream ends before the last block.
    #[error("ends in the middle of a stream")]
    Truncated,
    /// The stream decodes to another number of bytes than expected.
    #[error("decodes to {found} bytes, but {expected} are expected")]
    Length {
        /// Decoded size of the stream in bytes; saturated.
        found: usize,
        /// Expected size in bytes.
        expected: usize,
    },
    /// The array does not have 1 to 4 dimensions, or one of them has length 0.
    #[error("takes arrays of 1 to 4 dimensions with elements in them")]
    Shape,
    /// zfp does not accept the parameters.
    #[error("zfp does not take these parameters")]
    Mode,
    /// There is not enough memory.
    #[error("no memory for {byte_len} bytes")]
    OutOfMemory {
        /// The requested size.
        byte_len: usize,
    },
}
