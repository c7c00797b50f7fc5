//! Chains whose elements have sizes of their own.

use crate::bounded::Pipe;
use crate::chain::ArrayToBytes;
use crate::{CodecChain, CodecError, Elements, Layout, Slot, Swap, Workspace, bounded, strided};
use crate::{VlenBuffer, c_strides};

impl CodecChain {
    pub(crate) fn decode_vlen<E: From<CodecError>>(
        &self,
        encoded: &[u8],
        shape: &[u64],
        workspace: &mut Workspace,
        put: impl FnOnce(Elements<'_>, &Layout) -> Result<(), E>,
    ) -> Result<(), E> {
        let stored_shape = self.stored_shape(shape);
        if let ArrayToBytes::N5Block(block) = &self.array_to_bytes {
            return block.decode_texts(
                encoded,
                &stored_shape,
                self.vlen_limit,
                workspace,
                |elements, extent| put(elements, &self.layout(extent, Swap::None)),
            );
        }
        let max = match &self.array_to_bytes {
            ArrayToBytes::Vlen(vlen) => vlen.payload_limit(&stored_shape, self.vlen_limit),
            _ => self.vlen_limit,
        };
        Pipe::new(&self.bytes_to_bytes).lend(encoded, max, workspace, |payload, workspace| {
            self.decode_content(payload, &stored_shape, workspace, put)
        })
    }

    /// Decodes what the bytes→bytes codecs leave.
    fn decode_content<E: From<CodecError>>(
        &self,
        payload: &[u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
        put: impl FnOnce(Elements<'_>, &Layout) -> Result<(), E>,
    ) -> Result<(), E> {
        match &self.array_to_bytes {
            ArrayToBytes::Vlen(vlen) => {
                let layout = self.layout(stored_shape, Swap::None);
                let (slots, bytes) = vlen.decode(payload, stored_shape)?;
                put(Elements::Vlen { slots: &slots, bytes: &bytes }, &layout)
            }
            ArrayToBytes::Sharding(sharding) => {
                let decoded =
                    sharding.decode_whole_vlen(payload, stored_shape, self.vlen_limit, workspace)?;
                put(decoded.elements(), &self.layout(stored_shape, Swap::None))
            }
            _ => Err(not_vlen().into()),
        }
    }

    /// Encodes an array of elements of variable size: slots of `bytes` in C order over the *stored* axes.
    ///
    /// # Errors
    /// Input that a codec of the chain cannot take.
    pub fn encode_vlen(
        &self,
        slots: &[Slot],
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
        if let ArrayToBytes::N5Block(block) = &self.array_to_bytes {
            return block.encode_texts(slots, bytes, stored_shape, workspace, out);
        }
        Pipe::new(&self.bytes_to_bytes).encode_made(out, workspace, |payload, workspace| {
            self.encode_content(slots, bytes, stored_shape, workspace, payload)
        })
    }

    fn encode_content(
        &self,
        slots: &[Slot],
        bytes: &[u8],
        stored_shape: &[u64],
        workspace: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        match &self.array_to_bytes {
            ArrayToBytes::Vlen(vlen) => vlen.encode(slots, bytes, stored_shape, out),
            ArrayToBytes::Sharding(sharding) => {
                sharding.encode_whole_vlen(slots, bytes, stored_shape, workspace, out)
            }
            _ => Err(not_vlen()),
        }
    }
}

fn not_vlen() -> CodecError {
    CodecError::config("chain", "elements of variable size reach a codec of fixed ones")
}

/// Puts decoded elements of variable size to a place among others.
pub(crate) fn put_vlen(
    elements: Elements<'_>,
    layout: &Layout,
    out: &mut VlenBuffer,
    to: strided::Strided<'_>,
) {
    let Elements::Vlen { slots, bytes } = elements else { return };
    let from = strided::Strided { offset: 0, strides: &layout.strides };
    out.copy_from(&layout.extent, slots, bytes, from, to);
}

/// How many elements a shape has, if their slots are no more memory than the contents may be.
pub(crate) fn n_slots(shape: &[u64], limit: usize) -> Result<usize, CodecError> {
    bounded::byte_len(shape, size_of::<Slot>())
        .filter(|&byte_len| byte_len <= limit)
        .map(|byte_len| byte_len / size_of::<Slot>())
        .ok_or_else(|| {
            CodecError::config("chain", format!("{shape:?} are too many elements of variable size"))
        })
}

/// Strides of a box of this shape in C order.
pub(crate) fn strides_of(shape: &[u64]) -> Vec<isize> {
    c_strides(&bounded::extent(shape))
}
