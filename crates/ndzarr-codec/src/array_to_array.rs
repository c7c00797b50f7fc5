//! The trait `ArrayToArray`: a codec that turns elements into elements.

use std::fmt;

use ndzarr_model::DataType;

use crate::CodecError;

/// A codec from elements to elements, bound to the type of the elements that reach it. All elements
/// are of fixed size, in C order and in this machine's byte order.
pub trait ArrayToArray: fmt::Debug + Send + Sync {
    /// Name for errors.
    fn name(&self) -> &'static str;

    /// Type of the elements that the codec makes.
    fn encoded_type(&self) -> DataType;

    /// How many axes the codec makes of so many.
    fn encoded_ndim(&self, ndim: usize) -> usize {
        ndim
    }

    /// Shape of what the codec makes of an array of this shape, of as many axes as
    /// [`encoded_ndim`](Self::encoded_ndim) says.
    ///
    /// # Errors
    /// A shape that the codec cannot take.
    fn encoded_shape(&self, shape: &[u64]) -> Result<Vec<u64>, CodecError> {
        Ok(shape.to_vec())
    }

    /// What the codec makes of the fill value: what elements are for the codecs behind it where
    /// nothing is stored. Unless said otherwise, what it makes of an array of that one element.
    ///
    /// # Errors
    /// A value that the codec cannot take.
    fn encoded_fill(&self, fill: &[u8]) -> Result<Vec<u8>, CodecError> {
        let mut encoded = vec![0; self.encoded_type().elem_size().unwrap_or(0)];
        self.encode(fill, &[1], &mut encoded)?;
        Ok(encoded)
    }

    /// Encodes an array of this shape into `out`, which has the size of the result.
    ///
    /// # Errors
    /// Elements that the codec cannot take.
    fn encode(&self, elements: &[u8], shape: &[u64], out: &mut [u8]) -> Result<(), CodecError>;

    /// Decodes to an array of this shape into `out`, which has its size. `encoded` has the size
    /// that follows from it.
    ///
    /// # Errors
    /// What is no output of the encoder.
    fn decode(&self, encoded: &[u8], shape: &[u64], out: &mut [u8]) -> Result<(), CodecError>;
}
