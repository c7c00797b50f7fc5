//! The trait `ArrayToBytes`: a codec that turns elements of fixed size into bytes.

use std::fmt;

use crate::{CodecError, Workspace};

/// A codec from elements to bytes, bound to the type of the elements that reach it. All elements are of fixed size, in C
/// order and in this machine's byte order.
pub trait ArrayToBytes: fmt::Debug + Send + Sync {
    /// Name for errors.
    fn name(&self) -> &'static str;

    /// Whether arrays of this shape can be encoded.
    ///
    /// # Errors
    /// Why not.
    fn check(&self, shape: &[u64]) -> Result<(), CodecError> {
        let _ = shape;
        Ok(())
    }

    /// Decodes a value to an array of this shape into `out`, which has its size.
    ///
    /// # Errors
    /// A value that is no whole and right output of the encoder, and one of another number of elements.
    fn decode(
        &self,
        value: &[u8],
        shape: &[u64],
        out: &mut [u8],
        workspace: &mut Workspace,
    ) -> Result<(), CodecError>;

    /// Encodes an array of this shape, replacing the content of `out`.
    ///
    /// # Errors
    /// Elements that the codec cannot take.
    fn encode(
        &self,
        elements: &[u8],
        shape: &[u64],
        out: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError>;

    /// The encoded size of an array of this shape, where it does not depend on the elements.
    fn encoded_len(&self, shape: &[u64]) -> Option<usize> {
        let _ = shape;
        None
    }
}
