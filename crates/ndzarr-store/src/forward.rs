//! Makes a reference, `Box` or `Arc` of a store a store.

use std::ops::Range;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use crate::{
    AsyncStore, Can, DirListing, Fetch, Fetched, FetchedPieces, Key, Listed, Locked, Precondition,
    Prefix, Put, RangeMerging, Store, StoreError, Temporary, Wait,
};

/// A pointer to a store is a store. Every method is forwarded, so none falls back to its default.
macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<S: Store + ?Sized> Store for $pointer {
            fn inner(&self) -> Option<&dyn Store> {
                (**self).inner()
            }
            fn name(&self) -> String {
                (**self).name()
            }
            fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
                (**self).fetch(fetch)
            }
            fn fetch_pieces(
                &self,
                key: &Key,
                byte_len: u64,
                ranges: &[Range<u64>],
                piece: &mut [u8],
                take: &mut dyn FnMut(&[u8]),
            ) -> Result<FetchedPieces, StoreError> {
                (**self).fetch_pieces(key, byte_len, ranges, piece, take)
            }
            fn has(&self, key: &Key) -> Result<bool, StoreError> {
                (**self).has(key)
            }
            fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
                (**self).put(key, parts, only_if)
            }
            fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
                (**self).erase(key, only_if)
            }
            fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
                (**self).lock(key, wait)
            }
            fn stays(&self, key: &Key, seen: &crate::Pin, wait: Wait<'_>) -> Result<bool, StoreError> {
                (**self).stays(key, seen, wait)
            }
            fn temporary(&self, key: &Key) -> Result<Option<Box<dyn Temporary>>, StoreError> {
                (**self).temporary(key)
            }
            fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
                (**self).list_dir(prefix)
            }
            fn place(&self, prefix: &Prefix) -> Result<Option<(u64, u64)>, StoreError> {
                (**self).place(prefix)
            }
            fn links_up(&self, prefix: &Prefix) -> Result<Vec<String>, StoreError> {
                (**self).links_up(prefix)
            }
            fn folder(&self, prefix: &Prefix) -> Option<PathBuf> {
                (**self).folder(prefix)
            }
            fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
                (**self).list_prefix(prefix)
            }
            fn unlisted_names(&self, prefix: &Prefix) -> Result<Vec<String>, StoreError> {
                (**self).unlisted_names(prefix)
            }
            fn list_lengths(&self, prefix: &Prefix, take: &mut dyn FnMut(&Key, Listed)) -> Result<(), StoreError> {
                (**self).list_lengths(prefix, take)
            }
            #[allow(deprecated)]
            fn list_sizes(&self, prefix: &Prefix, take: &mut dyn FnMut(&Key, u64)) -> Result<(), StoreError> {
                (**self).list_sizes(prefix, take)
            }
            fn erase_prefix(&self, prefix: &Prefix, wait: Wait<'_>) -> Result<(), StoreError> {
                (**self).erase_prefix(prefix, wait)
            }
            fn can(&self) -> Can {
                (**self).can()
            }
            fn range_merging(&self) -> RangeMerging {
                (**self).range_merging()
            }
            fn writes_wait(&self) -> bool {
                (**self).writes_wait()
            }
        }

        impl<S: AsyncStore + ?Sized> AsyncStore for $pointer {
            fn inner(&self) -> Option<&dyn AsyncStore> {
                (**self).inner()
            }
            fn name(&self) -> String {
                (**self).name()
            }
            fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
                (**self).fetch(fetch)
            }
            fn has<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
                (**self).has(key)
            }
            fn put<'a>(
                &'a self,
                key: &'a Key,
                parts: &'a [Bytes],
                only_if: Precondition,
            ) -> BoxFuture<'a, Result<Put, StoreError>> {
                (**self).put(key, parts, only_if)
            }
            fn erase<'a>(&'a self, key: &'a Key, only_if: Precondition) -> BoxFuture<'a, Result<Put, StoreError>> {
                (**self).erase(key, only_if)
            }
            fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
                (**self).list_dir(prefix)
            }
            fn list_dir_pages<'a>(&'a self, prefix: &Prefix) -> BoxStream<'a, Result<DirListing, StoreError>> {
                (**self).list_dir_pages(prefix)
            }
            fn list_prefix<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<Vec<Key>, StoreError>> {
                (**self).list_prefix(prefix)
            }
            fn unlisted_names<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
                (**self).unlisted_names(prefix)
            }
            fn erase_prefix<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<(), StoreError>> {
                (**self).erase_prefix(prefix)
            }
            fn list_pages<'a>(&'a self, prefix: &'a Prefix) -> BoxStream<'a, Result<Vec<Key>, StoreError>> {
                (**self).list_pages(prefix)
            }
            fn list_lengths<'a>(&'a self, prefix: &'a Prefix) -> BoxStream<'a, Result<Vec<(Key, Listed)>, StoreError>> {
                (**self).list_lengths(prefix)
            }
            #[allow(deprecated)]
            fn list_sizes<'a>(&'a self, prefix: &'a Prefix) -> BoxStream<'a, Result<Vec<(Key, u64)>, StoreError>> {
                (**self).list_sizes(prefix)
            }
            fn erase_keys<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
                (**self).erase_keys(keys)
            }
            fn can(&self) -> Can {
                (**self).can()
            }
            fn range_merging(&self) -> RangeMerging {
                (**self).range_merging()
            }
            fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
                (**self).block_on(future)
            }
        }
    )*};
}

forward!(&S, Box<S>, Arc<S>);
