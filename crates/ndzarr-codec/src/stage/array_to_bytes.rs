//! The stage of an array→bytes codec that the registry makes.

use std::sync::Arc;

use super::{Put, Stage, Value, fixed};
use crate::memory::bounded;
use crate::pipe::Pipe;
use crate::{ArrayToBytes, CodecError, Elements, Workspace};

/// An array→bytes codec of this build, or a custom one.
#[derive(Debug)]
pub(crate) struct ArrayToBytesStage {
    pub(crate) codec: Arc<dyn ArrayToBytes>,
    pub(crate) elem_size: usize,
}

impl Stage for ArrayToBytesStage {
    fn check(&self, shape: &[u64]) -> Result<(), CodecError> {
        self.codec.check(shape)
    }

    fn encoded_len(&self, shape: &[u64]) -> Option<usize> {
        self.codec.encoded_len(shape)
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
        let codec = &*self.codec;
        let size = self.elem_size;
        let max = byte_len.saturating_mul(2).saturating_add(64 << 10);
        let out = pipe.lend(bytes, max, workspace, |value, workspace| {
            if let Some(len) = codec.encoded_len(shape) {
                bounded::expect_len(codec.name(), value.len(), len)?;
            }
            let mut out = bounded::take(workspace, byte_len)?;
            codec.decode(value, shape, out.bytes_mut(), workspace)?;
            Ok(out)
        })?;
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
        pipe: Pipe<'_>,
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let elements = fixed(elements)?;
        pipe.encode_made(out, workspace, |value, workspace| {
            self.codec.encode(elements, shape, value, workspace)
        })
    }
}
