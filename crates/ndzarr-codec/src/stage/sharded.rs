//! Sharding as the stage of a chain: whole shards.

use std::sync::Arc;

use ndzarr_model::ElemKind;

use super::{Put, Stage, Value};
use crate::memory::bounded;
use crate::pipe::Pipe;
use crate::sharding::Sharding;
use crate::{CodecError, Elements, Workspace};

impl Stage for Arc<Sharding> {
    fn check(&self, shape: &[u64]) -> Result<(), CodecError> {
        Sharding::check(self, shape)
    }

    fn overhead(&self, shape: &[u64]) -> u64 {
        Sharding::overhead(self, shape)
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
        let chunks = self.chunks();
        if chunks.elem_kind() == ElemKind::Vlen {
            let limit = chunks.vlen_limit();
            return pipe.lend(bytes, limit, workspace, |shard, workspace| {
                put(
                    self.decode_whole_vlen(shard, shape, limit, workspace)?
                        .elements(),
                    shape,
                );
                Ok(())
            });
        }
        let size = chunks.elem_size();
        let max = bounded::value_limit(byte_len, Stage::overhead(self, shape));
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        let decoded = pipe.lend(bytes, max, workspace, |shard, workspace| {
            self.decode_whole(shard, shape, workspace)
        })?;
        put(
            Elements::Fixed {
                bytes: decoded.bytes(),
                size,
            },
            shape,
        );
        workspace.give(decoded);
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
        pipe.encode_made(out, workspace, |shard, workspace| match elements {
            Elements::Fixed { bytes, .. } => self.encode_whole(bytes, shape, workspace, shard),
            Elements::Vlen { slots, bytes } => {
                self.encode_whole_vlen(slots, bytes, shape, workspace, shard)
            }
        })
    }
}
