//! The trait `ArrayToArray`: a codec that turns elements into elements.

use std::fmt;

use ndzarr_model::DataType;

use crate::CodecError;

/// A codec from elements to elements, bound to the type of its input elements. All elements have a
/// fixed size and are in C order and native byte order.
pub trait ArrayToArray: fmt::Debug + Send + Sync {
    /// The name for errors.
    fn name(&self) -> &'static str;

    /// The type of the encoded elements.
    fn encoded_type(&self) -> DataType;

    /// The number of axes of an encoded array.
    fn encoded_ndim(&self, ndim: usize) -> usize {
        ndim
    }

    /// The shape of an encoded array, with [`encoded_ndim`](Self::encoded_ndim) axes.
    ///
    /// # Errors
    /// The codec cannot encode arrays of this shape.
    fn encoded_shape(&self, shape: &[u64]) -> Result<Vec<u64>, CodecError> {
        Ok(shape.to_vec())
    }

    /// The encoded fill value: the codecs after this one take it for elements that are not stored.
    /// The default encodes an array of that one element.
    ///
    /// # Errors
    /// The codec cannot encode this value.
    fn encoded_fill(&self, fill: &[u8]) -> Result<Vec<u8>, CodecError> {
        let mut encoded = vec![0; self.encoded_type().elem_size().unwrap_or(0)];
        self.encode(fill, &[1], &mut encoded)?;
        Ok(encoded)
    }

    /// Encodes an array of this shape into `out`, which has the size of the result.
    ///
    /// # Errors
    /// The codec cannot encode these elements.
    fn encode(&self, elements: &[u8], shape: &[u64], out: &mut [u8]) -> Result<(), CodecError>;

    /// Decodes to an array of this shape into `out`, which has its size. `encoded` has the size
    /// that follows from the shape.
    ///
    /// # Errors
    /// `encoded` is not a valid output of the encoder.
    fn decode(&self, encoded: &[u8], shape: &[u64], out: &mut [u8]) -> Result<(), CodecError>;
}
