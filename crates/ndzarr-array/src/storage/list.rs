//! Lists the keys of a store.

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use ndzarr_engine::{AnyStore, closes_files_after, with_files};
use ndzarr_store::{DirListing, Key, Listed, Prefix, StoreError};

use super::Storage;
use crate::error::Result;

impl Storage {
    /// What is directly below a prefix; nothing if no key can begin so.
    pub(super) async fn list_dir(&self, prefix: &str) -> Result<DirListing> {
        match Prefix::new(prefix) {
            Ok(prefix) => self.named(self.dir(&prefix).await),
            Err(_) => Ok(DirListing::default()),
        }
    }

    async fn dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        match &self.0 {
            AnyStore::Blocking(store) => with_files(|| store.list_dir(prefix)),
            AnyStore::Async(store) => store.list_dir(prefix).await,
        }
    }

    /// The same, in as many parts as the store lists it in.
    pub(crate) fn list_dir_pages(&self, prefix: &str) -> BoxStream<'_, Result<DirListing>> {
        match (&self.0, Prefix::new(prefix)) {
            (AnyStore::Async(store), Ok(prefix)) => {
                store.list_dir_pages(&prefix).map(|page| self.named(page)).boxed()
            }
            _ => {
                let prefix = prefix.to_owned();
                stream::once(async move { self.list_dir(&prefix).await }).boxed()
            }
        }
    }

    /// The keys and prefixes directly below a prefix; empty if the store cannot list.
    pub(crate) async fn listing(&self, prefix: &str) -> Result<DirListing> {
        match self.dir(&self.named(Prefix::new(prefix))?).await {
            Err(StoreError::Unsupported(_)) => Ok(DirListing::default()),
            listing => self.named(listing),
        }
    }

    /// Passes on each key below a prefix, and the length of its value in bytes, in no particular order.
    /// The prefix ends in `/`, or is empty, which means all keys. No value is read. What cannot be
    /// looked at or listed below the prefix is passed on as well, as [`Listed`] says.
    ///
    /// # Errors
    /// The store fails, or cannot list the prefix.
    ///
    /// ```
    /// use ndzarr_array::{Array, Storage};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let storage = Storage::from(MemoryStore::new());
    /// Array::<u8>::builder([4]).chunks([2]).create((&storage, "a"))?.fill([0..1], 1)?;
    /// let mut keys = Vec::new();
    /// storage.each_key("a/", |key, listed| keys.push((key.to_owned(), listed.byte_len())))?;
    /// keys.sort();
    /// assert_eq!(keys[0], ("a/c/0".to_owned(), Some(2)));
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn each_key(&self, prefix: &str, mut take: impl FnMut(&str, Listed) + Send) -> Result<()> {
        self.wait(self.each_size(prefix, &mut |key, listed| take(key.as_str(), listed)))
    }

    /// Passes on every key below a prefix. No value is looked at.
    pub(crate) async fn keys_below(&self, prefix: &str, take: &mut (dyn FnMut(&Key) + Send)) -> Result<()> {
        let prefix = self.named(Prefix::new(prefix))?;
        let store = match &self.0 {
            AnyStore::Blocking(store) => {
                self.named(with_files(|| store.list_prefix(&prefix)))?.iter().for_each(take);
                return Ok(());
            }
            AnyStore::Async(store) => store,
        };
        let mut pages = store.list_pages(&prefix);
        while let Some(page) = pages.next().await {
            self.named(page)?.iter().for_each(&mut *take);
        }
        Ok(())
    }

    /// Passes on every key below a prefix, and the length of its value in bytes.
    pub(crate) async fn each_size(
        &self,
        prefix: &str,
        take: &mut (dyn FnMut(&Key, Listed) + Send),
    ) -> Result<()> {
        let prefix = self.named(Prefix::new(prefix))?;
        let store = match &self.0 {
            AnyStore::Blocking(store) => {
                let mut began = false;
                let mut passed = |key: &Key, listed| {
                    began = true;
                    take(key, listed);
                };
                return self.named(match store.list_sizes(&prefix, &mut passed) {
                    // What was passed on must not come again.
                    Err(error) if !began && closes_files_after(&error) => store.list_sizes(&prefix, take),
                    done => done,
                });
            }
            AnyStore::Async(store) => store,
        };
        let mut pages = store.list_sizes(&prefix);
        while let Some(page) = pages.next().await {
            self.named(page)?.into_iter().for_each(|(key, listed)| take(&key, listed));
        }
        Ok(())
    }
}
