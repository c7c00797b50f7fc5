//! Codecs from elements to elements, and the part of a chain that one of them begins.

use std::fmt;
use std::sync::Arc;

use ndzarr_model::DataType;

use crate::strided::{self, Strided};
use crate::workspace::Buffer;
use crate::{Access, CodecChain, CodecError, Elements, Workspace, bounded, c_strides};

/// A codec from elements to elements, bound to the type of the elements that reach it. All elements are of fixed size,
/// in C order and in this machine's byte order.
pub trait ArrayToArray: fmt::Debug + Send + Sync {
    /// Name for errors.
    fn name(&self) -> &'static str;

    /// Type of the elements that the codec makes.
    fn encoded_type(&self) -> DataType;

    /// How many axes the codec makes of so many.
    fn encoded_ndim(&self, ndim: usize) -> usize {
        ndim
    }

    /// Shape of what the codec makes of an array of this shape, of as many axes as [`encoded_ndim`](Self::encoded_ndim)
    /// says.
    ///
    /// # Errors
    /// A shape that the codec cannot take.
    fn encoded_shape(&self, shape: &[u64]) -> Result<Vec<u64>, CodecError> {
        Ok(shape.to_vec())
    }

    /// What the codec makes of the fill value: what elements are for the codecs behind it where nothing is stored.
    /// Unless said otherwise, what it makes of an array of that one element.
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

    /// Decodes to an array of this shape into `out`, which has its size. `encoded` has the size that follows from it.
    ///
    /// # Errors
    /// What is no output of the encoder.
    fn decode(&self, encoded: &[u8], shape: &[u64], out: &mut [u8]) -> Result<(), CodecError>;
}

/// An array→array codec with the chain that its output goes through.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) codec: Arc<dyn ArrayToArray>,
    pub(crate) then: CodecChain,
}

impl Staged {
    /// Shape and size in bytes of what reaches the rest of the chain.
    fn encoded(&self, shape: &[u64]) -> Result<(Vec<u64>, usize), CodecError> {
        let encoded = self.codec.encoded_shape(shape)?;
        let byte_len = bounded::byte_len(&encoded, self.then.elem_size()).ok_or_else(|| {
            CodecError::config(self.codec.name(), format!("{encoded:?} is too large a shape"))
        })?;
        Ok((encoded, byte_len))
    }

    pub(crate) fn check(&self, shape: &[u64]) -> Result<(), CodecError> {
        let (encoded, _) = self.encoded(shape)?;
        self.then.check(&encoded)
    }

    pub(crate) fn encoded_len(&self, shape: &[u64]) -> Option<usize> {
        self.then.encoded_len(&self.encoded(shape).ok()?.0)
    }

    pub(crate) fn encoded_limit(&self, shape: &[u64]) -> u64 {
        self.encoded(shape).map_or(0, |(encoded, _)| self.then.encoded_limit(&encoded))
    }

    pub(crate) fn decode(
        &self,
        value: &[u8],
        shape: &[u64],
        byte_len: usize,
        workspace: &mut Workspace,
    ) -> Result<Buffer, CodecError> {
        let (encoded_shape, encoded_len) = self.encoded(shape)?;
        let encoded = self.decode_rest(value, &encoded_shape, encoded_len, workspace)?;
        let mut out = bounded::take(workspace, byte_len)?;
        self.codec.decode(encoded.bytes(), shape, out.bytes_mut())?;
        workspace.give(encoded);
        Ok(out)
    }

    /// What comes out of the rest of the chain, in C order and this machine's byte order.
    fn decode_rest(
        &self,
        value: &[u8],
        shape: &[u64],
        byte_len: usize,
        workspace: &mut Workspace,
    ) -> Result<Buffer, CodecError> {
        // Elements as they are stored have just the expected length; for others memory is taken when they are there.
        if matches!(self.then.access(), Access::Raw { .. }) {
            bounded::expect_len("bytes", value.len(), byte_len)?;
        }
        let mut native = Buffer::default();
        let size = self.then.elem_size();
        let extent = bounded::extent(shape);
        self.then.decode(value, shape, workspace, |elements, layout| {
            let Elements::Fixed { bytes, .. } = elements else {
                return Err(CodecError::corrupt(self.codec.name(), "elements of no fixed size"));
            };
            native = Buffer::new(byte_len).map_err(|_| CodecError::OutOfMemory { byte_len })?;
            if layout.extent != extent {
                strided::fill_contiguous(native.bytes_mut(), self.then.fill().bytes());
            }
            let from = Strided { offset: 0, strides: &layout.strides };
            let to = Strided { offset: 0, strides: &c_strides(&extent) };
            strided::copy(&layout.extent, size, bytes, from, native.bytes_mut(), to);
            layout.swap.apply(native.bytes_mut());
            Ok(())
        })?;
        Ok(native)
    }

    pub(crate) fn encode(
        &self,
        elements: &[u8],
        shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let (encoded_shape, encoded_len) = self.encoded(shape)?;
        let mut encoded = bounded::take(workspace, encoded_len)?;
        self.codec.encode(elements, shape, encoded.bytes_mut())?;
        if self.then.is_c_order() {
            self.then.encode_stored(encoded.bytes_mut(), &encoded_shape, workspace, out)?;
        } else {
            self.then.encode(encoded.bytes(), &encoded_shape, workspace, out)?;
        }
        workspace.give(encoded);
        Ok(())
    }
}
