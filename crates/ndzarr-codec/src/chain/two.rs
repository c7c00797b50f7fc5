//! Decodes two chunks at once and keeps the results until their elements are needed.

use std::borrow::Cow;

use crate::{Buffer, CodecChain, Elements, Layout, Workspace};

/// A value that is decoded, but whose elements are not passed on yet.
#[derive(Debug)]
pub struct Ahead {
    buffer: Buffer,
    /// Over the stored axes.
    extent: Vec<u64>,
}

impl CodecChain {
    /// True if [`decode_two`](Self::decode_two) may be worth trying.
    #[must_use]
    pub fn decodes_two(&self) -> bool {
        self.stage.plain().is_some() && self.pipe().decodes_two()
    }

    /// Decodes two values of these shapes at once. `None` if that is no faster than one after the
    /// other, or if one is corrupt: then [decode](Self::decode) each separately, which reports the
    /// error.
    ///
    /// ```
    /// use ndzarr_codec::{CodecChain, CodecError, CodecRegistry, Elements, Workspace};
    /// use ndzarr_model::{CodecConfig, CodecSpec, DataType, FillValue};
    ///
    /// let specs = [CodecConfig::Bytes { endian: None }, CodecConfig::Zlib { level: 1 }].map(CodecSpec::from);
    /// let fill = FillValue::defined([0]);
    /// let chain = CodecChain::bind(&specs, &DataType::UInt { bits: 8 }, &fill, 1, &CodecRegistry::new())?;
    /// // For numbers without a pattern, decoding two at once is faster.
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
        let plain = self.stage.plain()?;
        if shapes.iter().any(|shape| self.check_rank(shape).is_err()) {
            return None;
        }
        let [shape_a, shape_b] = shapes.map(|shape| self.stored(shape));
        let a = plain.payload(encoded[0], &shape_a).ok()?;
        let b = plain.payload(encoded[1], &shape_b).ok()?;
        let byte_len = [a.byte_len, b.byte_len];
        let [first, second] = self
            .pipe()
            .decode_two([a.bytes, b.bytes], byte_len, workspace)?;
        let ahead = |buffer, extent: Cow<'_, [u64]>| Ahead {
            buffer,
            extent: extent.into_owned(),
        };
        Some([ahead(first, a.extent), ahead(second, b.extent)])
    }

    /// Passes the elements of a value decoded by [`decode_two`](Self::decode_two) to `put`, as
    /// [`decode`](Self::decode) does.
    ///
    /// # Errors
    /// `put` fails.
    pub fn put_ahead<E>(
        &self,
        ahead: Ahead,
        workspace: &mut Workspace,
        put: impl FnOnce(Elements<'_>, &Layout) -> Result<(), E>,
    ) -> Result<(), E> {
        let elements = Elements::Fixed {
            bytes: ahead.buffer.bytes(),
            size: self.elem_size,
        };
        let result = put(elements, &self.layout(&ahead.extent));
        workspace.give(ahead.buffer);
        result
    }
}
