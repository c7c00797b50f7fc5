//! Decodes two chunks at once and keeps the results until their elements are wanted.

use ndzarr_model::ElemKind;

use crate::bounded::{self, Pipe};
use crate::chain::ArrayToBytes;
use crate::workspace::Buffer;
use crate::{CodecChain, Elements, Layout, Swap, Workspace};

/// A value that was decoded, and is still to be put in its place.
#[derive(Debug)]
pub struct Ahead {
    buffer: Buffer,
    /// Over the stored axes.
    extent: Vec<u64>,
}

impl CodecChain {
    /// Whether it may be worth a try to [`decode_two`](Self::decode_two).
    #[must_use]
    pub fn decodes_two(&self) -> bool {
        match &self.array_to_bytes {
            ArrayToBytes::Bytes(_) => Pipe::new(&self.bytes_to_bytes).decodes_two(),
            ArrayToBytes::N5Block(block) => block.decodes_two(),
            _ => false,
        }
    }

    /// Decodes two values of these shapes at once. `None` where that takes as long as one after the other, or something is wrong
    /// with them: each is then to be [decoded](Self::decode) by itself, which says what is wrong.
    ///
    /// ```
    /// use ndzarr_codec::{CodecChain, CodecError, CodecRegistry, Elements, Workspace};
    /// use ndzarr_model::{CodecConfig, CodecSpec, DataType, FillValue};
    ///
    /// let specs = [CodecConfig::Bytes { endian: None }, CodecConfig::Zlib { level: 1 }].map(CodecSpec::from);
    /// let fill = FillValue::defined([0]);
    /// let chain = CodecChain::bind(&specs, &DataType::UInt { bits: 8 }, &fill, 1, &CodecRegistry::new())?;
    /// // Of numbers without a pattern two are decoded in less time than one after the other.
    /// let noise = |seed: u32| {
    ///     let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    ///     std::iter::successors(Some(seed), next).map(|n| (n >> 26) as u8).take(100_000).collect::<Vec<u8>>()
    /// };
    /// let mut workspace = Workspace::new();
    /// let mut values = [Vec::new(), Vec::new()];
    /// for (value, seed) in values.iter_mut().zip([1, 2]) {
    ///     chain.encode(&noise(seed), &[100_000], &mut workspace, value)?;
    /// }
    /// let values = values.each_ref().map(|value| &value[..]);
    /// let ahead = chain.decode_two(values, [&[100_000]; 2], &mut workspace).expect("both are right");
    /// for (ahead, seed) in ahead.into_iter().zip([1, 2]) {
    ///     chain.put_ahead(ahead, &mut workspace, |elements, _| {
    ///         let Elements::Fixed { bytes, .. } = elements else { unreachable!("they have a fixed size") };
    ///         assert!(bytes == noise(seed));
    ///         Ok::<_, CodecError>(())
    ///     })?;
    /// }
    /// # Ok::<_, CodecError>(())
    /// ```
    pub fn decode_two(
        &self,
        encoded: [&[u8]; 2],
        shapes: [&[u64]; 2],
        workspace: &mut Workspace,
    ) -> Option<[Ahead; 2]> {
        let is_fixed = matches!(self.kind, ElemKind::Fixed { .. });
        if !is_fixed || shapes.iter().any(|shape| shape.len() != self.order.len()) {
            return None;
        }
        let [a, b] = shapes.map(|shape| self.stored_shape(shape));
        let [(first, a), (second, b)] = match &self.array_to_bytes {
            ArrayToBytes::Bytes(_) => {
                let byte_len =
                    [bounded::byte_len(&a, self.elem_size)?, bounded::byte_len(&b, self.elem_size)?];
                let [first, second] =
                    Pipe::new(&self.bytes_to_bytes).decode_two(encoded, byte_len, workspace)?;
                [(first, a), (second, b)]
            }
            ArrayToBytes::N5Block(block) => block.decode_two(encoded, [&a, &b], workspace)?,
            _ => return None,
        };
        Some([Ahead { buffer: first, extent: a }, Ahead { buffer: second, extent: b }])
    }

    /// Hands out the elements of a value that [`decode_two`](Self::decode_two) decoded, as [`decode`](Self::decode) does.
    ///
    /// # Errors
    /// What `put` says.
    pub fn put_ahead<E>(
        &self,
        ahead: Ahead,
        workspace: &mut Workspace,
        put: impl FnOnce(Elements<'_>, &Layout) -> Result<(), E>,
    ) -> Result<(), E> {
        let swap = match &self.array_to_bytes {
            ArrayToBytes::Bytes(swap) => swap.clone(),
            ArrayToBytes::N5Block(block) => block.swap(),
            _ => Swap::None,
        };
        let layout = self.layout(&ahead.extent, swap);
        let result = put(Elements::Fixed { bytes: ahead.buffer.bytes(), size: self.elem_size }, &layout);
        workspace.give(ahead.buffer);
        result
    }
}
