//! `IndexCache`: the indexes of shards that earlier calls have read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ndzarr_codec::{ShardIndex, Sharding};
use ndzarr_store::{PerProcess, Pin, StoreError};
use quick_cache::Weighter;
use quick_cache::sync::Cache as Entries;

/// About how many bytes an entry of a cache takes in addition to its content: itself, its place in
/// the table, a pin.
pub(super) const ENTRY_BYTES: usize = 256;

/// The indexes of all arrays of the process. Their pins may hold open files, which are limited per
/// process.
static INDEXES: PerProcess<Indexes> = PerProcess::new();

type Indexes = Entries<(u64, String), Found, ByMemory>;

/// An index, and the sharding that it was read by.
type Found = (CachedIndex, Arc<Sharding>);

/// Total size of all indexes. One whose pin is not light counts as a 64th of that at least, so
/// there are at most 64 of those. An index larger than the total is not kept.
const CAPACITY: u64 = 64 << 20;

/// The shard indexes of the arrays of one store, each with the pin of the value that it came from.
///
/// Every use asks the store whether the value is still current.
#[derive(Clone, Debug)]
pub struct IndexCache(Arc<OwnIndexes>);

#[derive(Debug)]
struct OwnIndexes {
    store: u64,
    used: AtomicBool,
}

/// The index of a shard, as read.
#[derive(Clone, Debug)]
pub(crate) struct CachedIndex {
    pub(crate) pin: Pin,
    pub(crate) index: Arc<ShardIndex>,
    /// The number of this state of the shard in a [`Cache`](crate::Cache).
    pub(crate) version: u64,
}

/// Weighs an index by its memory, and by the open files that its pin may hold.
#[derive(Clone)]
struct ByMemory;

impl Weighter<(u64, String), Found> for ByMemory {
    fn weight(&self, (_, key): &(u64, String), (entry, _): &Found) -> u64 {
        let bytes = (ENTRY_BYTES + key.len() + entry.index.byte_len()) as u64;
        if entry.pin.is_light() {
            bytes
        } else {
            bytes.max(CAPACITY / 64)
        }
    }
}

impl Default for IndexCache {
    fn default() -> Self {
        static STORES: AtomicU64 = AtomicU64::new(0);
        let store = STORES.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(OwnIndexes {
            store,
            used: AtomicBool::new(false),
        }))
    }
}

impl IndexCache {
    /// The index of a shard, if it was read as this sharding reads it.
    pub(crate) fn get(&self, key: &str, sharding: &Sharding) -> Option<CachedIndex> {
        if !self.0.used.load(Ordering::Relaxed) {
            return None;
        }
        let key = (self.0.store, key.to_owned());
        let attempt = |indexes: &Indexes| indexes.try_get(&key).ok();
        let (found, read_by) = INDEXES.inherited(indexes, attempt, |indexes| indexes.get(&key))?;
        read_by.has_same_index(sharding).then_some(found)
    }

    pub(crate) fn insert(&self, key: &str, entry: CachedIndex, sharding: &Arc<Sharding>) {
        self.0.used.store(true, Ordering::Relaxed);
        let key = (self.0.store, key.to_owned());
        let found = (entry, Arc::clone(sharding));
        let attempt = |indexes: &Indexes| indexes.try_insert(key.clone(), found.clone()).ok();
        INDEXES.inherited(indexes, attempt, |indexes| {
            indexes.insert(key.clone(), found.clone())
        });
    }
}

impl Drop for OwnIndexes {
    fn drop(&mut self) {
        if *self.used.get_mut() {
            INDEXES
                .get(|_| indexes())
                .retain(|(store, _), _| *store != self.store);
        }
    }
}

fn indexes() -> Indexes {
    Entries::with_weighter(64, CAPACITY, ByMemory)
}

/// Runs an operation that opens a file. If the process has too many files open, those of cached
/// indexes are closed and it runs again. Every call of a store that may open a file goes through
/// this.
///
/// # Errors
/// That of the last attempt.
pub fn with_files<T>(mut attempt: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    match attempt() {
        Err(error) if closes_files_after(&error) => attempt(),
        done => done,
    }
}

/// Closes the files of cached indexes if an operation failed because too many files were open. If
/// it returns `true`, the operation may run again.
#[must_use]
pub fn closes_files_after(error: &StoreError) -> bool {
    let is_out_of_files = error.is_out_of_files();
    if is_out_of_files {
        INDEXES.get(|_| indexes()).clear();
    }
    is_out_of_files
}
