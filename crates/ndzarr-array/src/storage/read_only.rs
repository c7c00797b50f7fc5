//! `ReadOnly`: a store through which nothing is changed.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ndzarr_engine::AnyStore;
use ndzarr_store::{
    AsyncStore, Can, Fetch, Fetched, Key, Locked, Precondition, Prefix, Put, Store, StoreError,
    Temporary, Wait,
};

use super::Storage;

/// A store whose calls that change something are errors.
#[derive(Debug)]
struct ReadOnly<S>(S);

const REFUSED: StoreError = StoreError::Unsupported("be changed: it was opened to be read only");

fn can(inner: Can) -> Can {
    Can {
        write: false,
        put_if: false,
        erase_if: false,
        lock: false,
        ..inner
    }
}

impl Storage {
    /// The storage without changes: what is opened in it cannot be changed through it.
    #[must_use]
    pub(crate) fn read_only(mut self) -> Self {
        // Caches know the store below.
        self.shared.id = Some(self.id());
        self.store = match self.store {
            AnyStore::Blocking(store) => AnyStore::Blocking(Arc::new(ReadOnly(store))),
            AnyStore::Async(store) => AnyStore::Async(Arc::new(ReadOnly(store))),
        };
        // What encloses the folder could be changed.
        self.folder = None;
        self
    }
}

impl Store for ReadOnly<Arc<dyn Store>> {
    fn inner(&self) -> Option<&dyn Store> {
        Some(&*self.0)
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.0.fetch(fetch)
    }

    fn put(&self, _: &Key, _: &[Bytes], _: Precondition) -> Result<Put, StoreError> {
        Err(REFUSED)
    }

    fn erase(&self, _: &Key, _: Precondition) -> Result<Put, StoreError> {
        Err(REFUSED)
    }

    fn lock(&self, _: &Key, _: Wait<'_>) -> Result<Locked, StoreError> {
        Err(REFUSED)
    }

    fn temporary(&self, _: &Key) -> Result<Option<Box<dyn Temporary>>, StoreError> {
        Err(REFUSED)
    }

    fn erase_prefix(&self, _: &Prefix, _: Wait<'_>) -> Result<(), StoreError> {
        Err(REFUSED)
    }

    fn can(&self) -> Can {
        can(self.0.can())
    }
}

impl AsyncStore for ReadOnly<Arc<dyn AsyncStore>> {
    fn inner(&self) -> Option<&dyn AsyncStore> {
        Some(&*self.0)
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        self.0.fetch(fetch)
    }

    fn put<'a>(
        &'a self,
        _: &'a Key,
        _: &'a [Bytes],
        _: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(std::future::ready(Err(REFUSED)))
    }

    fn erase<'a>(&'a self, _: &'a Key, _: Precondition) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(std::future::ready(Err(REFUSED)))
    }

    fn erase_keys<'a>(&'a self, _: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(REFUSED)))
    }

    fn erase_prefix<'a>(&'a self, _: &'a Prefix) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(REFUSED)))
    }

    fn can(&self) -> Can {
        can(self.0.can())
    }
}
