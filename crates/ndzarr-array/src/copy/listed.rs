//! A store in which an array has the chunks of a list: those that it lacks are not asked for.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ndzarr_engine::AnyStore;
use ndzarr_model::ChunkKeys;
use ndzarr_store::{
    AsyncStore, Fetch, Fetched, FetchedPieces, Key, Precondition, Put, Store, StoreError,
};

use crate::arrays::chunks::Chunks;
use crate::arrays::info::ArrayInfo;
use crate::error::Result;

/// The array, of whose units only these are asked for. Nothing may write to it meanwhile.
pub(crate) fn only_listed(array: &ArrayInfo, stored: &Chunks) -> Result<ArrayInfo> {
    let list = Arc::new(List {
        keys: array.spec().keys.clone(),
        n_axes: array.shape().len(),
        all: Chunks::new(array.unit_grid()),
        stored: stored.clone(),
    });
    let store = match &array.storage.store {
        AnyStore::Blocking(store) => AnyStore::Blocking(Arc::new(OfList {
            store: store.clone(),
            list,
        })),
        AnyStore::Async(store) => AnyStore::Async(Arc::new(OfList {
            store: store.clone(),
            list,
        })),
    };
    if stored.n() > 0 {
        // They lie under the keys that the document states.
        array.data()?.presence().confirm();
    }
    let mut array = array.clone();
    array.storage = array.storage.with_store(store);
    Ok(array)
}

#[derive(Debug)]
struct List {
    keys: ChunkKeys,
    n_axes: usize,
    all: Chunks,
    stored: Chunks,
}

impl List {
    /// Returns `true` for the key of a unit that is not stored.
    fn lacks(&self, key: &Key) -> bool {
        let below = key.as_str().strip_prefix(&self.keys.prefix);
        let unit = below.and_then(|below| self.keys.encoding.decode(below, self.n_axes));
        let number = unit.and_then(|unit| self.all.number(&unit));
        number.is_some_and(|number| !self.stored.has_number(number))
    }
}

#[derive(Debug)]
struct OfList<S> {
    store: S,
    list: Arc<List>,
}

impl Store for OfList<Arc<dyn Store>> {
    fn inner(&self) -> Option<&dyn Store> {
        Some(&*self.store)
    }

    fn name(&self) -> String {
        self.store.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        if self.list.lacks(&fetch.key) {
            Ok(Fetched::Missing)
        } else {
            self.store.fetch(fetch)
        }
    }

    fn fetch_pieces(
        &self,
        key: &Key,
        byte_len: u64,
        ranges: &[Range<u64>],
        piece: &mut [u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<FetchedPieces, StoreError> {
        if self.list.lacks(key) {
            Ok(FetchedPieces::Missing)
        } else {
            self.store.fetch_pieces(key, byte_len, ranges, piece, take)
        }
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.store.put(key, parts, only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.store.erase(key, only_if)
    }
}

impl AsyncStore for OfList<Arc<dyn AsyncStore>> {
    fn inner(&self) -> Option<&dyn AsyncStore> {
        Some(&*self.store)
    }

    fn name(&self) -> String {
        self.store.name()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        if self.list.lacks(&fetch.key) {
            Box::pin(async { Ok(Fetched::Missing) })
        } else {
            self.store.fetch(fetch)
        }
    }

    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        self.store.put(key, parts, only_if)
    }

    fn erase<'a>(
        &'a self,
        key: &'a Key,
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        self.store.erase(key, only_if)
    }
}
