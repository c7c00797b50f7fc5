//! A shard that grows: what its writer knows of it, so that the next one need not copy it.

use std::ops::Range;

use ndzarr_codec::ShardLayout;
use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, Store, StoreError, Temporary, Want};

use crate::EngineCause;
use crate::cache::with_files;
use crate::error::no_part;

/// About how many bytes of a shard are copied at once.
pub(crate) const COPIED_TOGETHER: u64 = 4 << 20;

/// The same while a frame waits: what fits a cache of the processor is copied faster.
const COPIED_AT_ONCE: u64 = 512 << 10;

/// A shard as it was published, for the writer of the next publication.
///
/// Two files take turns. Readers have the newer one; the writer adds to the older one what it lacks and
/// what is new, in the place of its index, and then the two change places. So each byte is written
/// twice, however often the shard is published, and each inner chunk stays where it is, also for
/// readers that open the file anew for it.
#[derive(Debug)]
pub struct PublishedShard {
    pub(crate) shard: Vec<u64>,
    pub(crate) pin: Pin,
    /// Without the index.
    pub(crate) byte_len: u64,
    /// Position and length of each inner chunk.
    pub(crate) places: Vec<Option<(u64, u64)>>,
    /// Whether a writer like this has published it; then its file may be written to later.
    pub(crate) is_own: bool,
    pub(crate) before: Option<Before>,
}

/// What was the shard before, and its length without the index.
type Before = (Box<dyn Temporary>, u64);

impl PublishedShard {
    /// The index of the shard.
    #[must_use]
    pub fn index(&self) -> &[u64] {
        &self.shard
    }

    /// Whether it has the file that was the shard before.
    #[must_use]
    pub fn has_before(&self) -> bool {
        self.before.is_some()
    }

    /// How many inner chunks it has.
    pub(crate) fn n_stored(&self) -> usize {
        self.places.iter().flatten().count()
    }

    /// The position of an inner chunk.
    pub(crate) fn place(&self, number: usize) -> Option<Range<u64>> {
        self.places[number].map(|(at, len)| at..at + len)
    }

    /// Whether its index is at the end, and so little of the rest is unused that it may be copied as it
    /// is.
    pub(crate) fn is_compact(&self, layout: &ShardLayout) -> bool {
        // The places of a foreign shard may overlap.
        let used = self.places.iter().flatten().fold(0u64, |sum, (_, len)| sum.saturating_add(*len));
        layout.ends_with_index() && self.byte_len <= used.saturating_add(used / 8)
    }

    /// What was the shard before, shortened to its length without the index, if it may be written to.
    pub(crate) fn take_before(&mut self) -> Result<Option<Before>, StoreError> {
        let Some((before, byte_len)) = self.before.take() else { return Ok(None) };
        Ok(before.shorten(byte_len)?.then_some((before, byte_len)))
    }

    /// Appends the bytes of the shard from a position on to a temporary, which ends there. `false`: the
    /// value is gone, and some of them are lacking.
    pub(crate) fn append_to(
        &self,
        temporary: &dyn Temporary,
        mut at: u64,
        store: &dyn Store,
        key: &Key,
    ) -> Result<bool, EngineCause> {
        while at < self.byte_len {
            let end = self.byte_len.min(at.saturating_add(COPIED_AT_ONCE));
            let want = Want::Ranges(vec![at..end]);
            let fetch = Fetch { key: key.clone(), of: Of::Snapshot(self.pin.clone()), want };
            let part = match with_files(|| store.fetch(&fetch))? {
                Fetched::Parts { parts, .. } => parts.into_iter().next().ok_or_else(|| no_part(key))?,
                Fetched::Missing | Fetched::Changed => return Ok(false),
            };
            temporary.append(&part)?;
            at = end;
        }
        Ok(true)
    }
}
