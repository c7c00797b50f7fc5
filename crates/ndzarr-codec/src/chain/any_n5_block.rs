//! Blocks of N5 with any number of elements.

use ndzarr_model::ElemKind;

use super::n5_block::N5Block;
use super::{CodecChain, StageKind};
use crate::memory::sink;
use crate::{CodecError, Workspace};

impl CodecChain {
    /// Decodes an N5 block with whatever number of elements it has; in a varlength block (mode 1)
    /// they need not fill its size. Returns the size over the logical axes, and the elements as
    /// stored, in native byte order.
    ///
    /// # Errors
    /// The chain is not for N5 blocks; the value is incomplete or corrupt.
    pub fn decode_n5_block(
        &self,
        encoded: &[u8],
        shape: &[u64],
        workspace: &mut Workspace,
    ) -> Result<(Vec<u64>, Vec<u8>), CodecError> {
        let block = self.n5_block()?;
        self.check_rank(shape)?;
        if block.holds_objects() {
            let object = block.decode_object(encoded, self.pipe(), workspace)?;
            return Ok((shape.to_vec(), object));
        }
        let stored_shape = self.stored(shape);
        let (extent, elements) =
            block.decode_any(encoded, &stored_shape, self.pipe(), workspace)?;
        let mut size = vec![0; extent.len()];
        for (&axis, &n) in self.order.iter().zip(&extent) {
            size[axis] = n;
        }
        Ok((size, elements))
    }

    /// Encodes an N5 block of any number of elements: as a varlength block (mode 1), if they do not
    /// exactly fill its size. `elements` are in native byte order and stored in the given order;
    /// `size` is over the logical axes.
    ///
    /// # Errors
    /// The chain is not for N5 blocks; it cannot encode the input.
    pub fn encode_n5_block(
        &self,
        elements: &[u8],
        size: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let block = self.n5_block()?;
        self.check_writable()?;
        if block.holds_objects() {
            return block.encode_object(elements, self.pipe(), workspace, out);
        }
        let whole = self.kind == ElemKind::Vlen || elements.len().is_multiple_of(self.elem_size);
        if size.len() != self.order.len() || !whole {
            let what = format!("{} bytes for a block of size {size:?}", elements.len());
            return Err(CodecError::encode("chain", what));
        }
        let mut copy = Vec::new();
        sink::reserve(&mut copy, elements.len())?;
        copy.extend_from_slice(elements);
        block.encode_any(&mut copy, &self.stored(size), self.pipe(), workspace, out)
    }

    fn n5_block(&self) -> Result<&N5Block, CodecError> {
        match &self.stage_kind {
            StageKind::N5Block(block) => Ok(block),
            _ => Err(CodecError::config(
                "chain",
                "the chunks of this array are not N5 blocks",
            )),
        }
    }
}
