//! The index of a shard: where each of its inner chunks lies.

use std::ops::Range;

use bytes::Bytes;
use ndzarr_model::PayloadBounds;

use crate::shard_layout::{EMPTY, ShardLayout};
use crate::strided::{self, Strided};
use crate::{CodecError, Elements, Layout, Swap, c_strides};

/// Bytes of the entry of an inner chunk.
const ENTRY: usize = 16;

/// Where the inner chunks of one shard are, with the facts to check it against.
///
/// The usual codecs of an index leave its bytes as they are: then it shares the memory that it was decoded from.
#[derive(Clone, Debug)]
pub struct ShardIndex {
    /// Pairs of u64 in C order, in this form.
    entries: Bytes,
    swap: Swap,
    /// Where inner chunks may lie, in bytes of the shard.
    payload: Range<u64>,
    /// Until October 2024 zarr-python shifted the offsets of empty chunks with the others, to this.
    shifted: Option<u64>,
}

impl ShardIndex {
    pub(crate) fn new(
        (entries, swap): (Bytes, Swap),
        layout: &ShardLayout,
        shard_len: u64,
        bounds: PayloadBounds,
    ) -> Self {
        let shifted = (!layout.ends_with_index()).then(|| layout.index_len().wrapping_sub(1));
        Self { entries, swap, payload: layout.payload(shard_len, bounds), shifted }
    }

    /// The entries in C order, and their form, from what the chain of the index decoded: a part of `encoded` where the
    /// decoding took no copy.
    pub(crate) fn entries_of(elements: Elements<'_>, layout: &Layout, encoded: &Bytes) -> (Bytes, Swap) {
        let Elements::Fixed { bytes, size } = elements else { return (Bytes::new(), Swap::None) };
        let strides = c_strides(&layout.extent);
        if strides == layout.strides && encoded.as_ptr_range().contains(&bytes.as_ptr()) {
            return (encoded.slice_ref(bytes), layout.swap.clone());
        }
        let mut entries = vec![0; bytes.len()];
        strided::copy(
            &layout.extent,
            size,
            bytes,
            Strided { offset: 0, strides: &layout.strides },
            &mut entries,
            Strided { offset: 0, strides: &strides },
        );
        (entries.into(), layout.swap.clone())
    }

    /// How many inner chunks it has an entry for.
    #[must_use]
    pub fn n_chunks(&self) -> usize {
        self.entries.len() / ENTRY
    }

    /// Memory that it takes, in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.entries.len()
    }

    /// Where the inner chunk of this number is in the shard, in bytes; `None` where it is not stored.
    ///
    /// # Errors
    /// An entry that makes no sense or reaches outside the shard.
    pub fn entry(&self, linear: usize) -> Result<Option<Range<u64>>, CodecError> {
        let corrupt =
            |what: String| CodecError::corrupt("sharding_indexed", format!("index entry {linear}: {what}"));
        let Some(&(mut entry)) = self.entries.as_chunks::<ENTRY>().0.get(linear) else {
            return Err(corrupt(format!("the index has {} entries", self.n_chunks())));
        };
        self.swap.apply(&mut entry);
        let [offset, len]: [u64; 2] = bytemuck::cast(entry);
        if len == EMPTY && (offset == EMPTY || self.shifted == Some(offset)) {
            return Ok(None);
        }
        let place = &self.payload;
        match offset.checked_add(len) {
            Some(end) if offset != EMPTY && len != EMPTY && offset >= place.start && end <= place.end => {
                Ok(Some(offset..end))
            }
            _ => Err(corrupt(format!(
                "offset {offset} and length {len} where inner chunks lie within {} to {}",
                place.start, place.end
            ))),
        }
    }
}
