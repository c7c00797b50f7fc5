//! `Storage`: a blocking or asynchronous store with one set of calls for nodes and documents.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_engine::{
    AnyStore, ArrayCache, Cache, Cancel, ChunkedArray, EngineCause, EngineError, IndexCache, Relay,
    StoreId, erase_in_turn, erase_prefix_in_turn, publishing, put_in_turn, with_files,
};
use ndzarr_metadata::Format;
use ndzarr_model::ArraySpec;
use ndzarr_store::{
    AsyncStore, Fetch, Fetched, Key, MemoryStore, Pin, Precondition, Prefix, Put, Store, StoreError,
};

mod conclude;
mod create;
#[cfg(feature = "fs")]
mod folder;
mod held_document;
mod list;
mod on_threads;
mod read_only;
mod reread;
mod wait;

pub(crate) use conclude::Unread;
#[cfg(feature = "fs")]
use folder::Folder;
pub(crate) use held_document::{HeldDocument, LostLocks, Published};
pub(crate) use reread::MAX_READINGS;

/// Without the local file system no store is known to be in one of its folders.
#[cfg(not(feature = "fs"))]
type Folder = std::convert::Infallible;

use crate::error::{Error, ErrorKind, Result};

/// A store, blocking or not, for arrays and groups. Clones share it.
///
/// Calls that take `impl Into<Storage>` accept a folder as a string or path, an `FsStore`, a
/// [`MemoryStore`] or a reference to one, an `Arc<dyn Store>` or `Arc<dyn AsyncStore>`, and a
/// `Storage`. Any other store is wrapped:
///
/// ```
/// use std::sync::Arc;
///
/// use ndzarr::{Array, MemoryStore, Storage, Store};
///
/// let memory = MemoryStore::new();
/// let storage = Storage::blocking(memory.clone());
/// Array::<u8>::builder([3]).create((&storage, "a"))?.fill([0..3], 1)?;
///
/// let shared: Arc<dyn Store> = Arc::new(memory.clone());
/// assert_eq!(Array::<u8>::open((shared, "a"))?.read([2..3])?[0], 1);
/// assert_eq!(Array::<u8>::open((&memory, "a"))?.storage().name(), storage.name());
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone)]
pub struct Storage {
    pub(crate) store: AnyStore,
    /// Set if the store is a folder of the local file system.
    folder: Option<Folder>,
    shared: Shared,
}

/// What the arrays of a storage share.
#[derive(Clone, Default)]
struct Shared {
    indexes: IndexCache,
    cache: Option<Cache>,
    /// What a cache knows the store by, if that is not the store itself.
    id: Option<StoreId>,
    warnings: Arc<[String]>,
    /// Why nothing is opened in it: the conversion of a folder has no other way to report an error.
    refusal: Option<Error>,
}

impl Storage {
    /// A store whose calls block, such as a custom one.
    pub fn blocking(store: impl Store + 'static) -> Self {
        #[cfg(feature = "fs")]
        let folder = Folder::of(&store);
        #[cfg(not(feature = "fs"))]
        let folder = None;
        Self {
            store: AnyStore::Blocking(Arc::new(store)),
            folder,
            shared: Shared::default(),
        }
    }

    /// A store whose calls are futures. Asynchronous calls of this crate await them wherever they
    /// are polled. Blocking calls wait in the way that the store defines
    /// ([`AsyncStore::block_on`]). If it defines none, or none for the calling thread, they fail
    /// with the kind [`Unsupported`](ErrorKind::Unsupported).
    pub fn asynchronous(store: impl AsyncStore + 'static) -> Self {
        Self {
            store: AnyStore::Async(Arc::new(store)),
            folder: None,
            shared: Shared::default(),
        }
    }

    /// The same storage, unless it was made with a setting that it cannot have.
    pub(crate) fn accepted(self) -> Result<Self> {
        match self.shared.refusal {
            Some(refusal) => Err(refusal),
            None => Ok(self),
        }
    }

    /// The storage with a cache: arrays that are opened or created in it keep chunks there. See
    /// `OpenOptions::cache`.
    #[must_use]
    pub fn cached(mut self, cache: &Cache) -> Self {
        self.shared.cache = Some(cache.clone());
        self
    }

    /// An array in this storage, with what all of them share.
    pub(crate) fn share_with(&self, array: ChunkedArray, spec: &ArraySpec) -> ChunkedArray {
        let Shared { indexes, cache, .. } = &self.shared;
        let cache = cache.as_ref().map(|cache| {
            let means = (&spec.codecs[..], &spec.data_type, &spec.fill_value);
            ArrayCache::new(cache.clone(), self.id(), array.chain(), means)
        });
        array.with_indexes(indexes.clone()).cached(cache)
    }

    /// The storage for work whose requests another task makes.
    pub(crate) fn relayed(&self, relay: &Relay) -> Self {
        let mut own = self.with_store(relay.store(&self.store));
        // What caches know it by.
        own.shared.id = Some(self.id());
        own
    }

    /// The storage with a store around its own.
    pub(crate) fn with_store(&self, store: AnyStore) -> Self {
        let mut around = self.clone();
        around.store = store;
        around
    }

    /// Warnings about the store itself: entries of an archive that cannot be shown.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.shared.warnings
    }

    #[cfg(feature = "zip")]
    pub(crate) fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.shared.warnings = warnings.into();
        self
    }

    fn id(&self) -> StoreId {
        if let Some(id) = &self.shared.id {
            return id.clone();
        }
        match (&self.store, &self.folder) {
            #[cfg(feature = "fs")]
            (_, Some(folder)) => StoreId::Named(folder.id().into()),
            (AnyStore::Blocking(store), _) => StoreId::Blocking(Arc::downgrade(store)),
            (AnyStore::Async(store), _) => StoreId::Async(Arc::downgrade(store)),
        }
    }

    /// Names the store in errors.
    #[must_use]
    pub fn name(&self) -> String {
        self.store.name()
    }

    /// Adds the store's name to an error.
    pub(crate) fn named<T>(&self, result: Result<T, impl Into<Error>>) -> Result<T> {
        result.map_err(|error| error.into().in_store(|| self.name()))
    }

    pub(crate) fn is_blocking(&self) -> bool {
        matches!(self.store, AnyStore::Blocking(_))
    }

    /// Returns `true` for a folder of the local file system.
    pub(crate) fn is_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// The hierarchies of a format around the store, and its path in them.
    pub(crate) fn enclosing(&self, format: Format) -> Vec<(Self, String)> {
        match &self.folder {
            #[cfg(feature = "fs")]
            Some(folder) => folder.enclosing(format),
            #[cfg(not(feature = "fs"))]
            Some(never) => {
                let _ = format;
                match *never {}
            }
            None => Vec::new(),
        }
    }

    /// Makes one request. Its errors do not name the store.
    pub(crate) async fn fetch_raw(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        match &self.store {
            AnyStore::Blocking(store) => with_files(|| store.fetch(fetch)),
            AnyStore::Async(store) => store.fetch(fetch).await,
        }
    }

    pub(crate) async fn put(&self, key: &Key, value: Bytes, only_if: Precondition) -> Result<Put> {
        self.named(match &self.store {
            AnyStore::Blocking(store) => {
                put_in_turn(&**store, key, &value, &only_if, Cancel::of_scope().as_ref())
                    .map_err(EngineError::from)
            }
            AnyStore::Async(store) => store
                .put(key, &[value], only_if)
                .await
                .map_err(EngineError::from),
        })
    }

    /// Puts a value, whatever the old one is.
    pub(crate) async fn replace(&self, key: &str, value: Bytes) -> Result<()> {
        self.put(&self.named(Key::new(key))?, value, Precondition::None)
            .await?;
        Ok(())
    }

    /// Removes a value, if it exists.
    pub(crate) async fn erase(&self, key: &str) -> Result<()> {
        let key = self.named(Key::new(key))?;
        self.named(match &self.store {
            AnyStore::Blocking(store) => erase_in_turn(&**store, &key, Cancel::of_scope().as_ref())
                .map_err(EngineError::from),
            AnyStore::Async(store) => store
                .erase(&key, Precondition::None)
                .await
                .map(drop)
                .map_err(EngineError::from),
        })
    }

    /// Removes a value on a condition.
    async fn erase_if(&self, key: &Key, only_if: Precondition) -> Result<Put> {
        self.named(match &self.store {
            AnyStore::Blocking(store) => {
                publishing(Cancel::of_scope().as_ref(), || store.erase(key, only_if))
                    .map_err(EngineError::from)
            }
            AnyStore::Async(store) => store.erase(key, only_if).await.map_err(EngineError::from),
        })
    }

    async fn erase_prefix(&self, prefix: &str) -> Result<()> {
        let prefix = self.named(Prefix::new(prefix))?;
        self.named(match &self.store {
            AnyStore::Blocking(store) => {
                erase_prefix_in_turn(&**store, &prefix, Cancel::of_scope().as_ref())
                    .map_err(EngineError::from)
            }
            AnyStore::Async(store) => store.erase_prefix(&prefix).await.map_err(EngineError::from),
        })
    }

    pub(crate) async fn has(&self, key: &str) -> Result<bool> {
        // A name that cannot be a key has no value.
        let Ok(key) = Key::new(key) else {
            return Ok(false);
        };
        let exists = match &self.store {
            AnyStore::Blocking(store) => with_files(|| store.has(&key)),
            AnyStore::Async(store) => store.has(&key).await,
        };
        exists.map_err(|error| Error::from(error).in_store(|| self.name()))
    }

    /// The value under a key, and the pin that names it; `None` if there is none.
    pub(crate) async fn pinned_value(
        &self,
        key: &str,
        limit: u64,
    ) -> Result<Option<(Pin, Bytes)>, Error> {
        // A name that cannot be a key has no value.
        let Ok(whole_key) = Key::new(key) else {
            return Ok(None);
        };
        let fetched = self.fetch_whole(whole_key, limit).await;
        let fetched =
            fetched.map_err(|error| of_document(error, limit).in_store(|| self.name()))?;
        match fetched {
            Fetched::Parts { pin, parts, .. } => {
                Ok(parts.into_iter().next().map(|value| (pin, value)))
            }
            Fetched::Missing => Ok(None),
            Fetched::Changed => {
                let changed = Error::from(EngineError::from(EngineCause::KeepsChanging));
                Err(changed.in_document(Some(key)).in_store(|| self.name()))
            }
        }
    }

    /// The value under a key. Its pin, which may be an open file, is dropped.
    pub(crate) async fn value(&self, key: &str, limit: u64) -> Result<Option<Bytes>> {
        Ok(self.pinned_value(key, limit).await?.map(|(_, value)| value))
    }
}

/// The error for a document that was not read, with a limit of `limit` bytes.
fn of_document(error: StoreError, limit: u64) -> Error {
    match &error {
        StoreError::TooLarge { key, size, .. } => {
            let what = format!("a document of {size} bytes, more than the limit of {limit}");
            Error::new(ErrorKind::InvalidMetadata, what).in_document(Some(key.as_str()))
        }
        _ => Error::from(error),
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.store {
            AnyStore::Blocking(store) => store.fmt(f),
            AnyStore::Async(store) => store.fmt(f),
        }
    }
}

impl From<&Storage> for Storage {
    fn from(storage: &Storage) -> Self {
        storage.clone()
    }
}

impl From<Arc<dyn Store>> for Storage {
    fn from(store: Arc<dyn Store>) -> Self {
        Self {
            store: AnyStore::Blocking(store),
            folder: None,
            shared: Shared::default(),
        }
    }
}

impl From<Arc<dyn AsyncStore>> for Storage {
    fn from(store: Arc<dyn AsyncStore>) -> Self {
        Self {
            store: AnyStore::Async(store),
            folder: None,
            shared: Shared::default(),
        }
    }
}

impl From<MemoryStore> for Storage {
    fn from(store: MemoryStore) -> Self {
        Self::blocking(store)
    }
}

impl From<&MemoryStore> for Storage {
    fn from(store: &MemoryStore) -> Self {
        Self::blocking(store.clone())
    }
}

#[cfg(feature = "zip")]
impl From<ndzarr_store_zip::ZipWriter> for Storage {
    fn from(archive: ndzarr_store_zip::ZipWriter) -> Self {
        Self::blocking(archive)
    }
}

#[cfg(feature = "zip")]
impl From<&ndzarr_store_zip::ZipWriter> for Storage {
    fn from(archive: &ndzarr_store_zip::ZipWriter) -> Self {
        Self::blocking(archive.clone())
    }
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
impl From<ndzarr_store_object::ObjectStore> for Storage {
    fn from(store: ndzarr_store_object::ObjectStore) -> Self {
        Self::asynchronous(store)
    }
}

#[cfg(any(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]
impl From<&ndzarr_store_object::ObjectStore> for Storage {
    fn from(store: &ndzarr_store_object::ObjectStore) -> Self {
        Self::asynchronous(store.clone())
    }
}
