//! An array→array codec other than a transpose, with the chain after it.

use std::sync::Arc;

use super::{Put, Stage, Value, fixed};
use crate::memory::bounded;
use crate::pipe::Pipe;
use crate::strided::{self, Strided};
use crate::{Access, ArrayToArray, Buffer, CodecChain, CodecError, Elements, Workspace, c_strides};

/// An array→array codec other than a transpose, with the chain that encodes its output. The pipe is
/// empty, since that chain has all codecs after this one.
#[derive(Debug)]
pub(crate) struct ArrayToArrayStage {
    pub(crate) codec: Arc<dyn ArrayToArray>,
    /// The codecs after `codec`.
    pub(crate) rest: CodecChain,
    pub(crate) elem_size: usize,
}

impl ArrayToArrayStage {
    /// Shape and size in bytes of the input to the rest of the chain.
    fn encoded_size(&self, shape: &[u64]) -> Result<(Vec<u64>, usize), CodecError> {
        let encoded = self.codec.encoded_shape(shape)?;
        let byte_len = bounded::byte_len(&encoded, self.rest.elem_size()).ok_or_else(|| {
            CodecError::config(
                self.codec.name(),
                format!("{encoded:?} is too large a shape"),
            )
        })?;
        Ok((encoded, byte_len))
    }

    /// The output of the rest of the chain, in C order and native byte order.
    fn decode_rest(
        &self,
        value: &[u8],
        shape: &[u64],
        byte_len: usize,
        workspace: &mut Workspace,
    ) -> Result<Buffer, CodecError> {
        // Elements stored unchanged have exactly the expected length; for others memory is
        // allocated once they are decoded.
        if matches!(self.rest.access(), Access::Raw { .. }) {
            bounded::expect_len("bytes", value.len(), byte_len)?;
        }
        let mut native = Buffer::default();
        let size = self.rest.elem_size();
        let extent = bounded::extent(shape);
        self.rest
            .decode(value, shape, workspace, |elements, layout| {
                let Elements::Fixed { bytes, .. } = elements else {
                    return Err(CodecError::corrupt(
                        self.codec.name(),
                        "elements of no fixed size",
                    ));
                };
                native = Buffer::new(byte_len).map_err(|_| CodecError::OutOfMemory { byte_len })?;
                if layout.extent != extent {
                    strided::fill_contiguous(native.bytes_mut(), self.rest.fill().bytes());
                }
                let to = Strided {
                    offset: 0,
                    strides: &c_strides(&extent),
                };
                layout.copy_native(bytes, size, native.bytes_mut(), to);
                Ok(())
            })?;
        Ok(native)
    }
}

impl Stage for ArrayToArrayStage {
    fn check(&self, shape: &[u64]) -> Result<(), CodecError> {
        let (encoded, _) = self.encoded_size(shape)?;
        self.rest.check(&encoded)
    }

    fn encoded_len(&self, shape: &[u64]) -> Option<usize> {
        self.rest.encoded_len(&self.encoded_size(shape).ok()?.0)
    }

    fn overhead(&self, shape: &[u64]) -> u64 {
        self.encoded_size(shape).map_or(0, |(encoded, byte_len)| {
            (byte_len as u64)
                .saturating_mul(2)
                .saturating_add(self.rest.overhead(&encoded))
        })
    }

    fn decode(
        &self,
        Value {
            bytes,
            shape,
            byte_len,
            ..
        }: Value<'_>,
        workspace: &mut Workspace,
        put: &mut Put<'_>,
    ) -> Result<(), CodecError> {
        let size = self.elem_size;
        let (encoded_shape, encoded_len) = self.encoded_size(shape)?;
        let encoded = self.decode_rest(bytes, &encoded_shape, encoded_len, workspace)?;
        let mut out = bounded::take(workspace, byte_len)?;
        self.codec.decode(encoded.bytes(), shape, out.bytes_mut())?;
        workspace.give(encoded);
        put(
            Elements::Fixed {
                bytes: out.bytes(),
                size,
            },
            shape,
        );
        workspace.give(out);
        Ok(())
    }

    fn encode(
        &self,
        elements: Elements<'_>,
        shape: &[u64],
        _: Pipe<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let (encoded_shape, encoded_len) = self.encoded_size(shape)?;
        let mut encoded = bounded::take(workspace, encoded_len)?;
        self.codec
            .encode(fixed(elements)?, shape, encoded.bytes_mut())?;
        if self.rest.is_c_order() {
            self.rest
                .encode_stored(encoded.bytes_mut(), &encoded_shape, workspace, out)?;
        } else {
            self.rest
                .encode(encoded.bytes(), &encoded_shape, workspace, out)?;
        }
        workspace.give(encoded);
        Ok(())
    }
}
