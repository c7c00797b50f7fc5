//! The trait `ArrayToBytes`: a codec that turns elements of fixed size into bytes.

use std::fmt;

use crate::{CodecError, Workspace};

/// A codec from elements to bytes, bound to the type of its input elements. All elements have a
/// fixed size and are in C order and native byte order.
pub trait ArrayToBytes: fmt::Debug + Send + Sync {
    /// The name for errors.
    fn name(&self) -> &'static str;

    /// Checks that arrays of this shape can be encoded.
    ///
    /// # Errors
    /// They cannot; the error says why.
    fn check(&self, shape: &[u64]) -> Result<(), CodecError> {
        let _ = shape;
        Ok(())
    }

    /// Decodes a value to an array of this shape into `out`, which has its size.
    ///
    /// # Errors
    /// The value is not a complete and valid output of the encoder, or has another number of
    /// elements.
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
    /// The codec cannot encode these elements.
    fn encode(
        &self,
        elements: &[u8],
        shape: &[u64],
        out: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError>;

    /// The encoded size of an array of this shape, if it does not depend on the elements.
    fn encoded_len(&self, shape: &[u64]) -> Option<usize> {
        let _ = shape;
        None
    }
}
