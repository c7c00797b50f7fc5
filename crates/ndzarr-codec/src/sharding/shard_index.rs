//! The index of a shard: the position of each of its inner chunks.

use std::ops::Range;

use bytes::Bytes;
use ndzarr_model::PayloadBounds;

use crate::sharding::shard_layout::{EMPTY, ShardLayout};
use crate::strided::{self, Strided};
use crate::{CodecError, Elements, Layout, Swap, c_strides};

/// Size of an inner chunk's entry in bytes.
const ENTRY_LEN: usize = 16;

/// The positions of the inner chunks of one shard, with the facts to check them against.
///
/// The usual codecs of an index do not change its bytes: then it shares the memory that it was
/// decoded from.
#[derive(Clone, Debug)]
pub struct ShardIndex {
    /// Pairs of u64 in C order.
    entries: Bytes,
    /// The swap that converts the entries to native form.
    swap: Swap,
    /// The range of the shard that may contain inner chunks, in bytes.
    payload: Range<u64>,
    /// The offset of empty chunks in shards that zarr-python wrote until October 2024: it shifted
    /// their offsets too.
    shifted_empty: Option<u64>,
}

impl ShardIndex {
    pub(crate) fn new(
        (entries, swap): (Bytes, Swap),
        layout: &ShardLayout,
        shard_len: u64,
        bounds: PayloadBounds,
    ) -> Self {
        let shifted_empty = (!layout.ends_with_index()).then(|| layout.index_len().wrapping_sub(1));
        Self {
            entries,
            swap,
            payload: layout.payload(shard_len, bounds),
            shifted_empty,
        }
    }

    /// The entries in C order, and their form, from the output of the index's chain: part of
    /// `encoded` if decoding needed no copy.
    pub(crate) fn entries_of(
        elements: Elements<'_>,
        layout: &Layout,
        encoded: &Bytes,
    ) -> (Bytes, Swap) {
        let Elements::Fixed { bytes, size } = elements else {
            return (Bytes::new(), Swap::None);
        };
        let strides = c_strides(&layout.extent);
        if strides == layout.strides && encoded.as_ptr_range().contains(&bytes.as_ptr()) {
            return (encoded.slice_ref(bytes), layout.swap.clone());
        }
        let mut entries = vec![0; bytes.len()];
        strided::copy(
            &layout.extent,
            size,
            bytes,
            layout.place(),
            &mut entries,
            Strided {
                offset: 0,
                strides: &strides,
            },
        );
        (entries.into(), layout.swap.clone())
    }

    /// The number of inner chunks that have an entry.
    #[must_use]
    pub fn n_chunks(&self) -> usize {
        self.entries.len() / ENTRY_LEN
    }

    /// Memory use in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.entries.len()
    }

    /// The position of the inner chunk with this number in the shard, in bytes; `None` if it is not
    /// stored.
    ///
    /// # Errors
    /// The entry is invalid or reaches outside the shard.
    pub fn entry(&self, linear: usize) -> Result<Option<Range<u64>>, CodecError> {
        let corrupt = |what: String| {
            CodecError::corrupt("sharding_indexed", format!("index entry {linear}: {what}"))
        };
        let Some(&(mut entry)) = self.entries.as_chunks::<ENTRY_LEN>().0.get(linear) else {
            return Err(corrupt(format!(
                "the index has {} entries",
                self.n_chunks()
            )));
        };
        self.swap.apply(&mut entry);
        let [offset, len]: [u64; 2] = bytemuck::cast(entry);
        if len == EMPTY && (offset == EMPTY || self.shifted_empty == Some(offset)) {
            return Ok(None);
        }
        let payload = &self.payload;
        match offset.checked_add(len) {
            Some(end)
                if offset != EMPTY
                    && len != EMPTY
                    && offset >= payload.start
                    && end <= payload.end =>
            {
                Ok(Some(offset..end))
            }
            _ => Err(corrupt(format!(
                "offset {offset} and length {len} where inner chunks lie within {} to {}",
                payload.start, payload.end
            ))),
        }
    }
}
