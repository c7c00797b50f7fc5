//! `ZipStore`: an archive as a store.

use std::fmt;
use std::future::ready;
use std::pin::Pin as Pinned;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ndzarr_store::{
    AsyncStore, Can, DirListing, Fetch, Fetched, Key, Precondition, Prefix, Put, RangeMerging,
    Store, StoreError,
};

use crate::archive::Archive;
use crate::io::{AsyncIo, BlockingIo, run_ready};

/// A ZIP archive that is a value of another store, read only.
///
/// It is a [`Store`] or an [`AsyncStore`], like the store that has the archive. It shows the
/// archive as it was opened; reading after the archive was changed is an error. See the
/// [crate's page](crate) for what is read, checked and refused.
pub struct ZipStore<S> {
    base: S,
    key: Key,
    archive: Archive,
}

impl<S: Store> ZipStore<S> {
    /// Opens the archive under a key of a store.
    ///
    /// # Errors
    /// If there is no such archive, it is broken, or the store fails.
    pub fn open(base: S, key: Key) -> Result<Self, StoreError> {
        let archive = run_ready(Archive::open(&BlockingIo(&base), key.clone()))?;
        Ok(Self { base, key, archive })
    }
}

impl<S: AsyncStore> ZipStore<S> {
    /// Asynchronous [`open`](Self::open), for a store whose calls are futures.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub async fn open_async(base: S, key: Key) -> Result<Self, StoreError> {
        let archive = Archive::open(&AsyncIo(&base), key.clone()).await?;
        Ok(Self { base, key, archive })
    }
}

#[cfg(feature = "fs")]
impl ZipStore<ndzarr_store_fs::FsStore> {
    /// Opens the archive in this file.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_file(path: impl AsRef<std::path::Path>) -> Result<Self, StoreError> {
        let (folder, key) = folder_and_key(path.as_ref())?;
        Self::open(folder, key)
    }
}

/// The folder of a file, and the key of the file in it.
#[cfg(feature = "fs")]
pub(crate) fn folder_and_key(
    path: &std::path::Path,
) -> Result<(ndzarr_store_fs::FsStore, Key), StoreError> {
    let refused = || StoreError::InvalidKey {
        key: path.display().to_string(),
        what: "is not a path that ends in the name of a file in UTF-8",
    };
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .ok_or_else(refused)?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| std::path::Path::new("."));
    Ok((ndzarr_store_fs::FsStore::new(folder), Key::new(name)?))
}

impl<S> ZipStore<S> {
    /// The number of values.
    #[must_use]
    pub fn n_values(&self) -> usize {
        self.archive.directory.len()
    }

    /// The number of entries that are not shown, since their names are not keys. Folders do not
    /// count.
    #[must_use]
    pub fn n_skipped(&self) -> u64 {
        self.archive.directory.n_skipped
    }

    /// The names of the first hundred of these entries; bytes that are not UTF-8 are shown as
    /// U+FFFD.
    #[must_use]
    pub fn skipped(&self) -> &[String] {
        &self.archive.directory.skipped
    }

    /// Those of the skipped entries that are below a prefix, in order.
    fn skipped_below(&self, prefix: &Prefix) -> Vec<String> {
        let is_below = |name: &&String| name.starts_with(prefix.as_str());
        let mut names: Vec<String> = self.skipped().iter().filter(is_below).cloned().collect();
        names.sort_unstable();
        names
    }

    fn name_in(&self, base: &str) -> String {
        format!("{base}/{}|zip:", self.key)
    }
}

impl<S> fmt::Debug for ZipStore<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZipStore({}, {} values)", self.key, self.n_values())
    }
}

const READ_ONLY: StoreError = StoreError::Unsupported("change an archive, only write a new one");

const READ_ONLY_ABILITIES: Can = Can {
    write: false,
    put_if: false,
    erase_if: false,
    lock: false,
    list: true,
};

impl<S: Store> Store for ZipStore<S> {
    fn name(&self) -> String {
        self.name_in(&self.base.name())
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        run_ready(self.archive.fetch(&BlockingIo(&self.base), fetch))
    }

    fn has(&self, key: &Key) -> Result<bool, StoreError> {
        Ok(self.archive.directory.get(key).is_some())
    }

    fn put(&self, _: &Key, _: &[Bytes], _: Precondition) -> Result<Put, StoreError> {
        Err(READ_ONLY)
    }

    fn erase(&self, _: &Key, _: Precondition) -> Result<Put, StoreError> {
        Err(READ_ONLY)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        Ok(self.archive.directory.list_dir(prefix))
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.archive.directory.list_prefix(prefix)
    }

    /// Those among [`skipped`](ZipStore::skipped), the first hundred of the archive.
    fn unlisted_names(&self, prefix: &Prefix) -> Result<Vec<String>, StoreError> {
        Ok(self.skipped_below(prefix))
    }

    fn can(&self) -> Can {
        READ_ONLY_ABILITIES
    }

    fn range_merging(&self) -> RangeMerging {
        self.base.range_merging()
    }
}

impl<S: AsyncStore> AsyncStore for ZipStore<S> {
    fn name(&self) -> String {
        self.name_in(&self.base.name())
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        Box::pin(async move { self.archive.fetch(&AsyncIo(&self.base), fetch).await })
    }

    fn has<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(Ok(self.archive.directory.get(key).is_some())))
    }

    fn put<'a>(
        &'a self,
        _: &'a Key,
        _: &'a [Bytes],
        _: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(ready(Err(READ_ONLY)))
    }

    fn erase<'a>(&'a self, _: &'a Key, _: Precondition) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(ready(Err(READ_ONLY)))
    }

    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        Box::pin(ready(Ok(self.archive.directory.list_dir(prefix))))
    }

    fn list_prefix<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxFuture<'a, Result<Vec<Key>, StoreError>> {
        Box::pin(ready(self.archive.directory.list_prefix(prefix)))
    }

    /// Those among [`skipped`](ZipStore::skipped), the first hundred of the archive.
    fn unlisted_names<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        Box::pin(ready(Ok(self.skipped_below(prefix))))
    }

    fn can(&self) -> Can {
        READ_ONLY_ABILITIES
    }

    fn range_merging(&self) -> RangeMerging {
        self.base.range_merging()
    }

    fn block_on(&self, future: Pinned<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        self.base.block_on(future)
    }
}
