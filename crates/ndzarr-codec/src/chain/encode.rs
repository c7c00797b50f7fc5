//! Encodes arrays.

use ndzarr_model::ElemKind;

use super::CodecChain;
use crate::memory::bounded;
use crate::strided::{self, Strided};
use crate::{CodecError, Elements, Swap, VlenSlot, Workspace, c_strides};

impl CodecChain {
    /// Encodes an array. `elements` are in C order over `shape` and in native byte order.
    ///
    /// # Errors
    /// A codec of the chain cannot encode the input.
    pub fn encode(
        &self,
        elements: &[u8],
        shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.expect_elements(elements, shape)?;
        self.check_writable()?;
        let is_c_order = self.is_c_order();
        let size = self.elem_size;
        if is_c_order && *self.stage.swap() == Swap::None {
            let elements = Elements::Fixed {
                bytes: elements,
                size,
            };
            return self
                .stage
                .encode(elements, shape, self.pipe(), workspace, out);
        }
        let mut buffer = bounded::take(workspace, elements.len())?;
        if is_c_order {
            buffer.bytes_mut().copy_from_slice(elements);
        } else {
            let extent = bounded::extent(shape);
            let stored_extent = self.stored(&extent);
            let from = Strided {
                offset: 0,
                strides: &self.stored(&c_strides(&extent)),
            };
            let to = Strided {
                offset: 0,
                strides: &c_strides(&stored_extent),
            };
            strided::copy(&stored_extent, size, elements, from, buffer.bytes_mut(), to);
        }
        let result = self.encode_stored(buffer.bytes_mut(), &self.stored(shape), workspace, out);
        workspace.give(buffer);
        result
    }

    /// Encodes an array whose elements are already in C order over the *stored* axes. May change
    /// their byte order in place.
    ///
    /// # Errors
    /// As for [`encode`](Self::encode).
    pub fn encode_stored(
        &self,
        elements: &mut [u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.check_writable()?;
        self.expect_elements(elements, stored_shape)?;
        self.stage.swap().apply(elements);
        let elements = Elements::Fixed {
            bytes: elements,
            size: self.elem_size,
        };
        self.stage
            .encode(elements, stored_shape, self.pipe(), workspace, out)
    }

    /// Encodes an array of elements of variable size: slots of `bytes` in C order over the *stored*
    /// axes.
    ///
    /// # Errors
    /// A codec of the chain cannot encode the input.
    pub fn encode_vlen(
        &self,
        slots: &[VlenSlot],
        bytes: &[u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        self.check_writable()?;
        self.check_rank(stored_shape)?;
        if bounded::byte_len(stored_shape, 1) != Some(slots.len()) {
            let what = format!("{} elements for the shape {stored_shape:?}", slots.len());
            return Err(CodecError::encode("chain", what));
        }
        self.stage.encode(
            Elements::Vlen { slots, bytes },
            stored_shape,
            self.pipe(),
            workspace,
            out,
        )
    }

    fn expect_elements(&self, elements: &[u8], shape: &[u64]) -> Result<(), CodecError> {
        if self.kind == ElemKind::Vlen {
            return Err(CodecError::encode("chain", "the elements vary in size"));
        }
        if shape.len() == self.order.len()
            && bounded::byte_len(shape, self.elem_size) == Some(elements.len())
        {
            return Ok(());
        }
        Err(CodecError::encode(
            "chain",
            format!("{} bytes for the shape {shape:?}", elements.len()),
        ))
    }
}
