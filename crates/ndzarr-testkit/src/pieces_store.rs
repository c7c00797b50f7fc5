//! A store that asks to be read in small pieces.

use bytes::Bytes;
use ndzarr_store::{
    DirListing, Fetch, Fetched, Key, Locked, Precondition, Prefix, Put, RangeMerging, Store, StoreError, Wait,
};

/// A store whose values are to be read in small pieces, like large files. The pins of the store
/// inside must last.
///
/// ```
/// use ndzarr_store::{MemoryStore, Store};
/// use ndzarr_testkit::PiecesStore;
///
/// assert_eq!(PiecesStore::new(MemoryStore::new(), 100).range_merging().piece, Some(100));
/// ```
#[derive(Clone, Debug)]
pub struct PiecesStore<S> {
    inner: S,
    piece: u64,
}

impl<S> PiecesStore<S> {
    /// A store that wants its values read in pieces of about this many bytes.
    pub fn new(inner: S, piece: u64) -> Self {
        Self { inner, piece }
    }
}

impl<S: Store> Store for PiecesStore<S> {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.inner.fetch(fetch)
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.inner.put(key, parts, only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.inner.erase(key, only_if)
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        self.inner.lock(key, wait)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        self.inner.list_dir(prefix)
    }

    fn range_merging(&self) -> RangeMerging {
        RangeMerging { gap: 0, piece: Some(self.piece), ..self.inner.range_merging() }
    }
}
