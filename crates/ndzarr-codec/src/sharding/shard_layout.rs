//! The positions of a shard's index and inner chunks, both when reading and when writing.

use std::ops::Range;

use ndzarr_model::{IndexLocation, PayloadBounds};

use crate::CodecError;

/// Both members of the entry for an inner chunk that is not stored.
pub(crate) const EMPTY: u64 = u64::MAX;

/// The layout of a shard: the number of its inner chunks, and the location of its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardLayout {
    counts: Vec<u64>,
    index_len: u64,
    location: IndexLocation,
}

impl ShardLayout {
    pub(crate) fn new(counts: Vec<u64>, index_len: Option<usize>, location: IndexLocation) -> Self {
        Self {
            counts,
            index_len: index_len.map_or(u64::MAX, |len| len as u64),
            location,
        }
    }

    /// The number of inner chunks along each stored axis.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of inner chunks.
    #[must_use]
    pub fn n_chunks(&self) -> usize {
        let n = self
            .counts
            .iter()
            .try_fold(1_u64, |n, &count| n.checked_mul(count));
        n.and_then(|n| usize::try_from(n).ok())
            .unwrap_or(usize::MAX)
    }

    /// The number, in C order, of the inner chunk that has this index along the stored axes.
    pub fn number(&self, index: impl IntoIterator<Item = u64>) -> usize {
        index
            .into_iter()
            .zip(&self.counts)
            .fold(0, |number, (at, &n)| number * n as usize + at as usize)
    }

    /// Size of the encoded index in bytes.
    #[must_use]
    pub fn index_len(&self) -> u64 {
        self.index_len
    }

    /// True if a shard ends with its index; false if it begins with it.
    #[must_use]
    pub fn ends_with_index(&self) -> bool {
        self.location == IndexLocation::End
    }

    /// The position of the index in a shard of this size, in bytes; `None` if the shard is too
    /// small for it.
    #[must_use]
    pub fn index_of(&self, shard: Range<u64>) -> Option<Range<u64>> {
        if shard.end - shard.start < self.index_len {
            return None;
        }
        Some(match self.location {
            IndexLocation::Start => shard.start..shard.start + self.index_len,
            IndexLocation::End => shard.end - self.index_len..shard.end,
        })
    }

    /// The range of a shard of this size that may contain inner chunks, in bytes.
    pub(crate) fn payload(&self, shard_len: u64, bounds: PayloadBounds) -> Range<u64> {
        match (bounds, self.location) {
            (PayloadBounds::Shard, _) => 0..shard_len,
            (PayloadBounds::BeforeIndex, IndexLocation::Start) => self.index_len..shard_len,
            (PayloadBounds::BeforeIndex, IndexLocation::End) => {
                0..shard_len.saturating_sub(self.index_len)
            }
        }
    }

    /// The position of the first inner chunk of a new shard.
    fn first_position(&self) -> u64 {
        match self.location {
            IndexLocation::Start => self.index_len,
            IndexLocation::End => 0,
        }
    }
}

/// Builds the entries of a new shard's index. The caller keeps the encoded inner chunks; this gives
/// the position of each and, at the end, that of the index, see
/// [`Sharding::end`](crate::Sharding::end).
#[derive(Debug)]
pub struct ShardBuilder {
    pub(crate) layout: ShardLayout,
    pub(crate) entries: Vec<[u64; 2]>,
    /// The end of what the shard contains so far.
    end: u64,
}

impl ShardBuilder {
    /// A shard without an inner chunk.
    ///
    /// # Errors
    /// There is no memory for its index.
    pub fn new(layout: ShardLayout) -> Result<Self, CodecError> {
        let n = layout.n_chunks();
        let mut entries = Vec::new();
        let byte_len = n.saturating_mul(16);
        entries
            .try_reserve_exact(n)
            .map_err(|_| CodecError::OutOfMemory { byte_len })?;
        Ok(Self {
            end: layout.first_position(),
            layout,
            entries,
        })
    }

    /// Records that the next inner chunk, in C order of the stored axes, is not stored.
    pub fn skip(&mut self) {
        self.entries.push([EMPTY, EMPTY]);
    }

    /// Records that the next inner chunk has `len` bytes. Returns its position, after all others.
    ///
    /// # Errors
    /// The shard would be too large.
    pub fn add(&mut self, len: u64) -> Result<u64, CodecError> {
        let position = self.end;
        self.add_at(position, len)?;
        Ok(position)
    }

    /// Records that the next inner chunk is at this position already.
    ///
    /// # Errors
    /// The shard would be too large.
    pub fn add_at(&mut self, at: u64, len: u64) -> Result<(), CodecError> {
        let end = at
            .checked_add(len)
            .ok_or_else(|| CodecError::encode("sharding_indexed", "the shard is too large"))?;
        self.entries.push([at, len]);
        self.end = self.end.max(end);
        Ok(())
    }

    /// True if no inner chunk is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(|entry| *entry == [EMPTY, EMPTY])
    }

    /// The position of the index.
    pub(crate) fn index_position(&self) -> u64 {
        match self.layout.location {
            IndexLocation::Start => 0,
            IndexLocation::End => self.end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_chunks_follow_each_other_next_to_the_index() {
        for (location, first, index_position) in
            [(IndexLocation::Start, 64, 0), (IndexLocation::End, 0, 12)]
        {
            let layout = ShardLayout::new(vec![2, 2], Some(64), location);
            assert_eq!((layout.n_chunks(), layout.number([1, 0])), (4, 2));
            let mut shard =
                ShardBuilder::new(layout.clone()).expect("there is memory for four entries");
            shard.skip();
            assert!(shard.is_empty());
            let added =
                [shard.add(5), shard.add(0), shard.add(7)].map(|at| at.expect("it is small"));
            assert_eq!(added, [first, first + 5, first + 5]);
            assert_eq!(
                shard.entries,
                [[EMPTY; 2], [first, 5], [first + 5, 0], [first + 5, 7]]
            );
            assert_eq!(
                (shard.index_position(), shard.is_empty()),
                (index_position, false)
            );
            assert_eq!(
                layout.index_of(100..176),
                Some(if first == 0 { 112..176 } else { 100..164 })
            );
            assert_eq!(layout.index_of(100..163), None);
            assert!(shard.add(u64::MAX).is_err());
        }
    }
}
