//! The trait `BytesToBytes`: a codec that turns bytes into bytes.

use std::fmt;

use crate::{CodecError, Workspace};

/// A codec from bytes to bytes.
///
/// Decoders are bounded: they write no more than `dst` allows, and fail at the first extra byte.
pub trait BytesToBytes: fmt::Debug + Send + Sync {
    /// The name for errors.
    fn name(&self) -> &'static str;

    /// Decodes all of `src` into `dst`; returns the number of bytes written.
    ///
    /// # Errors
    /// The value is not a complete and valid output of the encoder. For [`Dst::Exact`], its length
    /// differs from the slice's; for [`Dst::Grow`], it exceeds the limit.
    fn decode(
        &self,
        src: &[u8],
        dst: Dst<'_>,
        workspace: &mut Workspace,
    ) -> Result<usize, CodecError>;

    /// Encodes `src`, replacing the content of `dst`.
    ///
    /// # Errors
    /// The codec cannot encode this input.
    fn encode(
        &self,
        src: &[u8],
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError>;

    /// The decoded size that `src` states; `None` if it has no size field.
    ///
    /// # Errors
    /// The header is corrupt.
    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        let _ = src;
        Ok(None)
    }

    /// The encoded size of `decoded` bytes, if it does not depend on their values.
    fn encoded_len(&self, decoded: usize) -> Option<usize> {
        let _ = decoded;
        None
    }
}

/// The destination of a decoder.
#[derive(Debug)]
pub enum Dst<'a> {
    /// Exactly this many bytes are expected.
    Exact(&'a mut [u8]),
    /// Any number up to `max`; the content of `buf` is replaced, and it grows with the output.
    Grow {
        /// The buffer to write to.
        buf: &'a mut Vec<u8>,
        /// The most bytes allowed.
        max: usize,
    },
}
