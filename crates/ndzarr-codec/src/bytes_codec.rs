//! The trait `BytesToBytes`: a codec that turns bytes into bytes.

use std::fmt;

use crate::{CodecError, Workspace};

/// A codec from bytes to bytes.
///
/// Decoders are bounded: they produce what `dst` has room for, and fail at the first byte more.
pub trait BytesToBytes: fmt::Debug + Send + Sync {
    /// Name for errors.
    fn name(&self) -> &'static str;

    /// Decodes all of `src` into `dst`; returns how many bytes that gave.
    ///
    /// # Errors
    /// A value that is no whole and right output of the encoder; for [`Dst::Exact`] any other
    /// length than that of the slice; for [`Dst::Grow`] more than its limit.
    fn decode(&self, src: &[u8], dst: Dst<'_>, workspace: &mut Workspace) -> Result<usize, CodecError>;

    /// Encodes `src`, replacing the content of `dst`.
    ///
    /// # Errors
    /// Input that the codec cannot take.
    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, workspace: &mut Workspace) -> Result<(), CodecError>;

    /// How many bytes `src` says it decodes to, from a size field; `None` where it has none.
    ///
    /// # Errors
    /// A header that is broken.
    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        let _ = src;
        Ok(None)
    }

    /// The encoded size of `decoded` bytes, where it does not depend on their values.
    fn encoded_len(&self, decoded: usize) -> Option<usize> {
        let _ = decoded;
        None
    }
}

/// Where a decoder writes.
#[derive(Debug)]
pub enum Dst<'a> {
    /// Just this many bytes are expected.
    Exact(&'a mut [u8]),
    /// Any number up to `max`; the content of `buf` is replaced, and it grows with the output.
    Grow {
        /// The buffer.
        buf: &'a mut Vec<u8>,
        /// The most bytes that are acceptable.
        max: usize,
    },
}
