use std::fmt;
use std::sync::{Arc, OnceLock};

use ndzarr_codec::ShardIndex;
use ndzarr_store::Pin;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Shard indexes that were read before, each with the pin of the value that it came from.
///
/// Every use asks the store whether the value still is the current one. Pins may hold open files: there are at most 64.
pub(crate) struct IndexCache {
    /// Made for the first index: most arrays have no shards.
    entries: OnceLock<Cache<String, CachedIndex, ByMemory>>,
}

#[derive(Clone, Debug)]
pub(crate) struct CachedIndex {
    pub(crate) pin: Pin,
    pub(crate) index: Arc<ShardIndex>,
}

/// Weighs an entry by its memory, the smallest by a 64th of all.
#[derive(Clone)]
struct ByMemory;

const CAPACITY: u64 = 64 << 20;

impl Weighter<String, CachedIndex> for ByMemory {
    fn weight(&self, _: &String, entry: &CachedIndex) -> u64 {
        (entry.index.byte_len() as u64).max(CAPACITY / 64)
    }
}

impl IndexCache {
    pub(crate) fn new() -> Self {
        Self { entries: OnceLock::new() }
    }

    pub(crate) fn get(&self, key: &str) -> Option<CachedIndex> {
        self.entries.get()?.get(key)
    }

    pub(crate) fn insert(&self, key: &str, entry: CachedIndex) {
        let entries = self.entries.get_or_init(|| Cache::with_weighter(64, CAPACITY, ByMemory));
        entries.insert(key.to_owned(), entry);
    }
}

impl fmt::Debug for IndexCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexCache({} entries)", self.entries.get().map_or(0, Cache::len))
    }
}
