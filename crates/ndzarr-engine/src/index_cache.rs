//! Caches shard indexes.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ndzarr_codec::ShardIndex;
use ndzarr_store::{Pin, StoreError};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// The indexes of all arrays of the process. Their pins may hold open files, which are limited per
/// process.
static INDEXES: OnceLock<Cache<(u64, String), CachedIndex, ByMemory>> = OnceLock::new();

/// Total size of all indexes. The smallest counts as a 64th of that, so there are at most 64. An
/// index larger than the total is not kept.
const CAPACITY: u64 = 64 << 20;

/// The shard indexes of one array, each with the pin of the value that it came from.
///
/// Every use asks the store whether the value is still current.
pub(crate) struct IndexCache {
    array: u64,
    used: AtomicBool,
}

#[derive(Clone, Debug)]
pub(crate) struct CachedIndex {
    pub(crate) pin: Pin,
    pub(crate) index: Arc<ShardIndex>,
}

/// Weighs an entry by its memory.
#[derive(Clone)]
struct ByMemory;

impl Weighter<(u64, String), CachedIndex> for ByMemory {
    fn weight(&self, _: &(u64, String), entry: &CachedIndex) -> u64 {
        (entry.index.byte_len() as u64).max(CAPACITY / 64)
    }
}

impl IndexCache {
    pub(crate) fn new() -> Self {
        static ARRAYS: AtomicU64 = AtomicU64::new(0);
        Self { array: ARRAYS.fetch_add(1, Ordering::Relaxed), used: AtomicBool::new(false) }
    }

    pub(crate) fn get(&self, key: &str) -> Option<CachedIndex> {
        if !self.used.load(Ordering::Relaxed) {
            return None;
        }
        INDEXES.get()?.get(&(self.array, key.to_owned()))
    }

    pub(crate) fn insert(&self, key: &str, entry: CachedIndex) {
        self.used.store(true, Ordering::Relaxed);
        let indexes = INDEXES.get_or_init(|| Cache::with_weighter(64, CAPACITY, ByMemory));
        indexes.insert((self.array, key.to_owned()), entry);
    }
}

impl Drop for IndexCache {
    fn drop(&mut self) {
        if *self.used.get_mut()
            && let Some(indexes) = INDEXES.get()
        {
            indexes.retain(|(array, _), _| *array != self.array);
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

impl fmt::Debug for IndexCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IndexCache({})", self.array)
    }
}
