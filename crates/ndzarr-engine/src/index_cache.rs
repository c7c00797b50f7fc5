//! Caches shard indexes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ndzarr_codec::{ShardIndex, Sharding};
use ndzarr_store::{Pin, StoreError};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// The indexes of all arrays of the process. Their pins may hold open files, which are limited per
/// process.
static INDEXES: OnceLock<Cache<(u64, String), Found, ByMemory>> = OnceLock::new();

/// An index, and what it was read by.
type Found = (CachedIndex, Arc<Sharding>);

/// Total size of all indexes. One whose pin is not light counts as a 64th of that at least, so there
/// are at most 64 of those. An index larger than the total is not kept.
const CAPACITY: u64 = 64 << 20;

/// The shard indexes of the arrays of one store, each with the pin of the value that it came from.
///
/// Every use asks the store whether the value is still current.
#[derive(Clone, Debug)]
pub struct IndexCache(Arc<Own>);

#[derive(Debug)]
struct Own {
    store: u64,
    used: AtomicBool,
}

#[derive(Clone, Debug)]
pub(crate) struct CachedIndex {
    pub(crate) pin: Pin,
    pub(crate) index: Arc<ShardIndex>,
    /// Which number this state of the shard has in a [`Cache`](crate::Cache).
    pub(crate) version: u64,
}

/// Weighs an entry by its memory.
#[derive(Clone)]
struct ByMemory;

impl Weighter<(u64, String), Found> for ByMemory {
    fn weight(&self, (_, key): &(u64, String), (entry, _): &Found) -> u64 {
        /// About what an entry takes besides.
        const ENTRY: usize = 256;
        let bytes = (ENTRY + key.len() + entry.index.byte_len()) as u64;
        if entry.pin.is_light() { bytes } else { bytes.max(CAPACITY / 64) }
    }
}

impl Default for IndexCache {
    fn default() -> Self {
        static STORES: AtomicU64 = AtomicU64::new(0);
        let store = STORES.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(Own { store, used: AtomicBool::new(false) }))
    }
}

impl IndexCache {
    /// The index of a shard, if it was read as this sharding reads it.
    pub(crate) fn get(&self, key: &str, sharding: &Sharding) -> Option<CachedIndex> {
        if !self.0.used.load(Ordering::Relaxed) {
            return None;
        }
        let (found, by) = INDEXES.get()?.get(&(self.0.store, key.to_owned()))?;
        by.has_same_index(sharding).then_some(found)
    }

    pub(crate) fn insert(&self, key: &str, entry: CachedIndex, sharding: &Arc<Sharding>) {
        self.0.used.store(true, Ordering::Relaxed);
        let indexes = INDEXES.get_or_init(|| Cache::with_weighter(64, CAPACITY, ByMemory));
        indexes.insert((self.0.store, key.to_owned()), (entry, Arc::clone(sharding)));
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if *self.used.get_mut()
            && let Some(indexes) = INDEXES.get()
        {
            indexes.retain(|(store, _), _| *store != self.store);
        }
    }
}

/// Runs an operation that opens a file. If the process has too many files open, those of cached
/// indexes are closed and it runs again.
pub(crate) fn with_files<T>(mut attempt: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    match attempt() {
        Err(error) if error.is_out_of_files() => {
            if let Some(indexes) = INDEXES.get() {
                indexes.clear();
            }
            attempt()
        }
        done => done,
    }
}
