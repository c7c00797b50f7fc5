//! The codec `bytes`: stores elements unchanged, except for byte order.

use super::{Payload, Plain, Put, Stage, Value, fixed};
use crate::memory::bounded;
use crate::pipe::Pipe;
use crate::{CodecError, Elements, Swap, Workspace};

/// Stores elements unchanged, except for byte order.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) swap: Swap,
    pub(crate) elem_size: usize,
}

impl Stage for Raw {
    fn swap(&self) -> &Swap {
        &self.swap
    }

    fn encoded_len(&self, shape: &[u64]) -> Option<usize> {
        bounded::byte_len(shape, self.elem_size)
    }

    fn plain(&self) -> Option<&dyn Plain> {
        Some(self)
    }

    fn decode(
        &self,
        Value {
            bytes,
            shape,
            byte_len,
            pipe,
        }: Value<'_>,
        workspace: &mut Workspace,
        put: &mut Put<'_>,
    ) -> Result<(), CodecError> {
        let size = self.elem_size;
        pipe.decode_chunk(bytes, byte_len, workspace, |bytes| {
            put(Elements::Fixed { bytes, size }, shape)
        })
    }

    fn encode(
        &self,
        elements: Elements<'_>,
        _: &[u64],
        pipe: Pipe<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        pipe.encode(fixed(elements)?, out, workspace)
    }
}

impl Plain for Raw {
    fn payload<'v>(&self, value: &'v [u8], shape: &'v [u64]) -> Result<Payload<'v>, CodecError> {
        let byte_len = bounded::chunk_len(shape, self.elem_size)?;
        Ok(Payload {
            bytes: value,
            extent: shape.into(),
            byte_len,
        })
    }
}
