use std::ops::Range;

use ndzarr_model::{IndexLocation, PayloadBounds};

use crate::strided::{self, Strided};
use crate::{CodecError, Elements, Layout, c_strides};

/// Both members of the entry of an inner chunk that is not stored.
pub(crate) const EMPTY: u64 = u64::MAX;

/// Where the inner chunks of one shard are: decoded, with the facts to check it against.
#[derive(Clone, Debug)]
pub struct ShardIndex {
    entries: Vec<[u64; 2]>,
    value_len: u64,
    index_len: u64,
    location: IndexLocation,
    payload: PayloadBounds,
}

impl ShardIndex {
    /// The entry of an inner chunk that is not stored.
    pub const EMPTY: [u64; 2] = [EMPTY, EMPTY];

    pub(crate) fn new(
        entries: Vec<[u64; 2]>,
        value_len: u64,
        index_len: u64,
        location: IndexLocation,
        payload: PayloadBounds,
    ) -> Self {
        Self { entries, value_len, index_len, location, payload }
    }

    /// The entries in C order from what the chain of the index decoded.
    pub(crate) fn entries_of(elements: Elements<'_>, layout: &Layout) -> Vec<[u64; 2]> {
        let Elements::Fixed { bytes, size } = elements else { return Vec::new() };
        let mut words = vec![0u64; bytes.len() / 8];
        strided::copy(
            &layout.extent,
            size,
            bytes,
            Strided { offset: 0, strides: &layout.strides },
            bytemuck::cast_slice_mut(&mut words),
            Strided { offset: 0, strides: &c_strides(&layout.extent) },
        );
        layout.swap.apply(bytemuck::cast_slice_mut(&mut words));
        words.as_chunks::<2>().0.to_vec()
    }

    /// How many inner chunks it has an entry for.
    #[must_use]
    pub fn n_chunks(&self) -> usize {
        self.entries.len()
    }

    /// Memory that it takes, in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.entries.len() * 16
    }

    /// Size of the shard in bytes.
    #[must_use]
    pub fn value_len(&self) -> u64 {
        self.value_len
    }

    /// Where the inner chunk of this number is in the shard, in bytes; `None` where it is not stored.
    ///
    /// # Errors
    /// An entry that makes no sense or reaches outside the shard.
    pub fn entry(&self, linear: usize) -> Result<Option<Range<u64>>, CodecError> {
        let corrupt =
            |what: String| CodecError::corrupt("sharding_indexed", format!("index entry {linear}: {what}"));
        let Some(&[offset, len]) = self.entries.get(linear) else {
            return Err(corrupt(format!("the index has {} entries", self.entries.len())));
        };
        if len == EMPTY {
            // Until October 2024 zarr-python shifted the offsets of empty chunks with the others.
            let shifted = self.location == IndexLocation::Start && offset == self.index_len.wrapping_sub(1);
            if offset == EMPTY || shifted {
                return Ok(None);
            }
        }
        let place = self.payload_place();
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

    /// Where inner chunks may lie, in bytes of the shard.
    fn payload_place(&self) -> Range<u64> {
        match (self.payload, self.location) {
            (PayloadBounds::Shard, _) => 0..self.value_len,
            (PayloadBounds::BeforeIndex, IndexLocation::Start) => self.index_len..self.value_len,
            (PayloadBounds::BeforeIndex, IndexLocation::End) => {
                0..self.value_len.saturating_sub(self.index_len)
            }
        }
    }
}
