//! Makes an asynchronous store a blocking one.

use bytes::Bytes;
use futures_util::TryStreamExt;
use ndzarr_store::{
    AsyncStore, Can, DirListing, Fetch, Fetched, Key, Listed, Precondition, Prefix, Put,
    RangeMerging, Store, StoreError, Wait,
};

/// An asynchronous store with blocking calls, which wait as [`AsyncStore::block_on`] does.
#[derive(Debug)]
pub struct BlockOn<S: ?Sized>(pub Box<S>);

impl<S: AsyncStore + ?Sized> BlockOn<S> {
    fn wait<T>(
        &self,
        request: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let store: &dyn AsyncStore = &self.0;
        store.wait(request)?
    }
}

impl<S: AsyncStore + ?Sized> Store for BlockOn<S> {
    fn name(&self) -> String {
        self.0.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.wait(self.0.fetch(fetch))
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.wait(self.0.put(key, parts, only_if))
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.wait(self.0.erase(key, only_if))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        let pages: Vec<DirListing> = self.wait(self.0.list_dir_pages(prefix).try_collect())?;
        let mut listing = DirListing {
            keys: Vec::new(),
            prefixes: Vec::new(),
        };
        for page in pages {
            listing.keys.extend(page.keys);
            listing.prefixes.extend(page.prefixes);
        }
        Ok(listing)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.wait(self.0.list_prefix(prefix))
    }

    fn unlisted_names(&self, prefix: &Prefix) -> Result<Vec<String>, StoreError> {
        self.wait(self.0.unlisted_names(prefix))
    }

    fn list_lengths(
        &self,
        prefix: &Prefix,
        take: &mut dyn FnMut(&Key, Listed),
    ) -> Result<(), StoreError> {
        let pages: Vec<Vec<(Key, Listed)>> =
            self.wait(self.0.list_lengths(prefix).try_collect())?;
        for (key, listed) in pages.into_iter().flatten() {
            take(&key, listed);
        }
        Ok(())
    }

    fn erase_prefix(&self, prefix: &Prefix, _wait: Wait<'_>) -> Result<(), StoreError> {
        self.wait(self.0.erase_prefix(prefix))
    }

    fn can(&self) -> Can {
        self.0.can()
    }

    fn range_merging(&self) -> RangeMerging {
        self.0.range_merging()
    }
}
