//! What earlier calls have read: `Cache` keeps chunks, `IndexCache` the indexes of shards.

mod decoded;
mod index_cache;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use ndzarr_codec::{CodecChain, ShardIndex};
use ndzarr_model::{CodecConfig, CodecSpec, DataType, FillValue};
use ndzarr_store::{AsyncStore, Key, PerProcess, Pin, Store};
use quick_cache::sync::{Cache as Entries, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

pub(crate) use self::decoded::Decoded;
pub(crate) use self::index_cache::CachedIndex;
use self::index_cache::ENTRY_BYTES;
pub use self::index_cache::{IndexCache, closes_files_after, with_files};

/// A cache of decoded chunks, for any number of arrays in any number of stores. Clones share it.
///
/// A read that finds a chunk in the cache asks the store only whether it is still current: a `stat`
/// for each chunk in a file system, a request without a body in other stores. So it sees every
/// write of any handle or program that calls the system or the service. It does not see writes
/// through a memory mapping (`np.memmap`): a page that has been written to already gets no new
/// time, nor does `msync` give it one. Read files that a program changes so without a cache, or
/// call [`clear`](Self::clear).
///
/// A chunk in the cache was read and decoded as a whole. Chunks that are used again stay longer
/// than those that were read once, so reading a large array does not displace them.
///
/// The store must be able to name the state of a chunk without holding it open
/// ([`Pin::light`]). A file that was written less than 0.1 s ago is not kept, nor are files of
/// network file systems.
///
/// ```
/// use ndzarr::Cache;
///
/// let cache = Cache::new(1 << 30);
/// // The same memory, for stores that nothing writes to: no requests for chunks in the cache.
/// let frozen = cache.clone().frozen();
/// assert_eq!((cache.byte_len(), frozen.byte_len()), (0, 0));
/// ```
#[derive(Clone)]
pub struct Cache {
    capacity: u64,
    entries: Arc<PerProcess<Chunks>>,
    keeps: Keeps,
    trusts: bool,
}

type Chunks = Entries<CacheKey, Arc<Entry>, ByMemory>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Decoded,
    Encoded,
}

impl Cache {
    /// An empty cache of at most this many bytes, the memory to manage it included.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        let entries = Arc::new(PerProcess::with_value(chunks(bytes)));
        Self {
            capacity: bytes,
            entries,
            keeps: Keeps::Decoded,
            trusts: false,
        }
    }

    /// Uses the entries, those of the parent in a forked child as long as their locks are free.
    fn using<'s, R>(
        &'s self,
        attempt: impl FnOnce(&'s Chunks) -> Option<R>,
        wait: impl FnOnce(&'s Chunks) -> R,
    ) -> R {
        self.entries
            .inherited(|| chunks(self.capacity), attempt, wait)
    }

    /// The entries of this process.
    fn own(&self) -> &Chunks {
        self.entries.get(|_| chunks(self.capacity))
    }

    /// Keeps what is added through this handle encoded: it takes less memory, and is decoded each
    /// time.
    #[must_use]
    pub fn encoded(self) -> Self {
        Self {
            keeps: Keeps::Encoded,
            ..self
        }
    }

    /// Trusts the cache, for data that nothing changes any more: arrays with this handle make no
    /// request for what they have in the cache, and also remember which chunks are missing. They
    /// may never see what is written all the same.
    #[must_use]
    pub fn frozen(self) -> Self {
        Self {
            trusts: true,
            ..self
        }
    }

    /// The bytes that it holds at this moment.
    #[must_use]
    pub fn byte_len(&self) -> u64 {
        self.own().weight()
    }

    /// Removes everything.
    pub fn clear(&self) {
        self.own().clear();
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({} of {} bytes)", self.byte_len(), self.capacity)
    }
}

/// An empty table for chunks of this many bytes.
fn chunks(capacity: u64) -> Chunks {
    let items = usize::try_from(capacity >> 16).map_or(1 << 20, |items| items.clamp(64, 1 << 20));
    let mut options = OptionsBuilder::new();
    // Of one part, since several would each have their own share of the bytes. A fifth of the
    // chunks, and not a thirtieth, may be newcomers: chunks are large, and one has to fit.
    options
        .shards(1)
        .hot_allocation(0.8)
        .weight_capacity(capacity)
        .estimated_items_capacity(items);
    let options = options.build().expect("both capacities are set");
    Entries::with_options(
        options,
        ByMemory,
        DefaultHashBuilder::default(),
        DefaultLifecycle::default(),
    )
}

/// Distinguishes stores in a [`Cache`].
#[derive(Clone, Debug)]
pub enum StoreId {
    /// By a name that no other store has.
    Named(Arc<str>),
    /// By its address, which the weak reference reserves.
    Blocking(Weak<dyn Store>),
    /// By its address, as well.
    Async(Weak<dyn AsyncStore>),
}

impl PartialEq for StoreId {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Named(a), Self::Named(b)) => a == b,
            (Self::Blocking(a), Self::Blocking(b)) => Weak::ptr_eq(a, b),
            (Self::Async(a), Self::Async(b)) => Weak::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// A cache, the store of an array, and what determines the elements of its stored bytes.
#[derive(Clone, Debug)]
pub struct ArrayCache {
    cache: Cache,
    origin: Arc<Origin>,
}

#[derive(Debug)]
struct Origin {
    store: StoreId,
    codecs: Vec<CodecSpec>,
    data_type: DataType,
    fill_value: FillValue,
    /// For codecs that are not ours: their name does not say what they do.
    chain: Option<Arc<CodecChain>>,
}

impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        let same_chain = match (&self.chain, &other.chain) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        same_chain
            && self.store == other.store
            && self.codecs == other.codecs
            && self.data_type == other.data_type
            && self.fill_value == other.fill_value
    }
}

impl ArrayCache {
    /// The cache as it serves one array.
    #[must_use]
    pub fn new(
        cache: Cache,
        store: StoreId,
        chain: &Arc<CodecChain>,
        (codecs, data_type, fill_value): (&[CodecSpec], &DataType, &FillValue),
    ) -> Self {
        let chain = (!codecs.iter().all(is_ours)).then(|| Arc::clone(chain));
        let origin = Origin {
            store,
            codecs: codecs.to_vec(),
            data_type: data_type.clone(),
            fill_value: fill_value.clone(),
            chain,
        };
        Self {
            cache,
            origin: Arc::new(origin),
        }
    }

    /// True if a chunk of this decoded size would leave room for others.
    pub(crate) fn admits(&self, byte_len: u64) -> bool {
        byte_len <= self.cache.capacity / 2
    }

    pub(crate) fn trusts(&self) -> bool {
        self.cache.trusts
    }

    /// The place of the value under a key.
    pub(crate) fn value(&self, key: &Key) -> Slot {
        self.slot(CacheKey::Value(Arc::clone(&self.origin), key.clone()))
    }

    /// The place of an inner chunk of a value in this state.
    pub(crate) fn inner(&self, version: u64, at: &Range<u64>) -> Slot {
        self.slot(CacheKey::Inner(version, at.start, at.end))
    }

    fn slot(&self, key: CacheKey) -> Slot {
        Slot {
            cache: self.cache.clone(),
            key,
            pin: None,
        }
    }
}

fn is_ours(codec: &CodecSpec) -> bool {
    match &codec.config {
        CodecConfig::Unknown { .. } => false,
        CodecConfig::Sharding(sharding) => sharding
            .codecs
            .iter()
            .chain(&sharding.index_codecs)
            .all(is_ours),
        _ => true,
    }
}

/// A number for a state of a value that no other one has.
pub(crate) fn new_version() -> u64 {
    static VERSIONS: AtomicU64 = AtomicU64::new(0);
    VERSIONS.fetch_add(1, Ordering::Relaxed)
}

/// A place in the cache.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    cache: Cache,
    key: CacheKey,
    /// A light pin of the value, if this is the place of a whole one.
    pub(crate) pin: Option<Pin>,
}

impl Slot {
    pub(crate) fn get(&self) -> Option<Arc<Entry>> {
        self.cache.using(
            |entries| entries.try_get(&self.key).ok(),
            |entries| entries.get(&self.key),
        )
    }

    /// Keeps a chunk.
    pub(crate) fn keep(&self, shape: &[u64], held: Held) {
        let pin = self.pin.clone();
        let held = match held {
            // Otherwise a part would keep the memory of everything that was fetched with it.
            Held::Encoded(bytes) => Held::Encoded(Bytes::copy_from_slice(&bytes)),
            held => held,
        };
        let entry = Arc::new(Entry {
            pin,
            shape: shape.to_vec(),
            held,
        });
        let attempt = |entries: &Chunks| {
            entries
                .try_insert(self.key.clone(), Arc::clone(&entry))
                .ok()
        };
        self.cache.using(attempt, |entries| {
            entries.insert(self.key.clone(), Arc::clone(&entry))
        });
    }

    /// True if encoded chunks are kept.
    pub(crate) fn keeps_encoded(&self) -> bool {
        self.cache.keeps == Keeps::Encoded
    }
}

/// A chunk, or its absence, in the cache.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The state of the value; `None` for an inner chunk, whose value has its own entry, and for a
    /// missing one.
    pub(crate) pin: Option<Pin>,
    /// Shape of the chunk.
    pub(crate) shape: Vec<u64>,
    pub(crate) held: Held,
}

impl Entry {
    /// The index of a shard.
    pub(crate) fn index(&self) -> Option<CachedIndex> {
        let Held::Index(index, version) = &self.held else {
            return None;
        };
        Some(CachedIndex {
            pin: self.pin.clone()?,
            index: Arc::clone(index),
            version: *version,
        })
    }
}

#[derive(Debug)]
pub(crate) enum Held {
    Missing,
    /// The index of a shard, and the number of this state of it.
    Index(Arc<ShardIndex>, u64),
    Decoded(Arc<Decoded>),
    Encoded(Bytes),
}

#[derive(Clone, Debug, PartialEq)]
enum CacheKey {
    Value(Arc<Origin>, Key),
    Inner(u64, u64, u64),
}

impl Eq for CacheKey {}

impl Hash for CacheKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Value(_, key) => key.as_str().hash(state),
            Self::Inner(version, start, end) => (version, start, end).hash(state),
        }
    }
}

/// Weighs an entry by its memory.
#[derive(Clone)]
struct ByMemory;

impl Weighter<CacheKey, Arc<Entry>> for ByMemory {
    fn weight(&self, key: &CacheKey, entry: &Arc<Entry>) -> u64 {
        let key_len = match key {
            CacheKey::Value(_, key) => key.as_str().len(),
            CacheKey::Inner(..) => 0,
        };
        let held = match &entry.held {
            Held::Missing => 0,
            Held::Index(index, _) => index.byte_len(),
            Held::Decoded(decoded) => decoded.byte_len(),
            Held::Encoded(bytes) => bytes.len(),
        };
        (ENTRY_BYTES + key_len + held) as u64
    }
}
