//! Lists the keys of a store.

use std::ops::Range;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use ndzarr_engine::{AnyStore, closes_files_after, with_files};
use ndzarr_metadata::{Limits, Node};
use ndzarr_model::{ChunkKeys, KeyEncoding};
use ndzarr_store::{DirListing, Fetch, Fetched, Key, Listed, Of, Prefix, StoreError, Want};

use super::Storage;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::contents::Contents;

impl Storage {
    /// What is directly below a prefix; nothing if no key can begin so.
    pub(super) async fn list_dir(&self, prefix: &str, limits: &Limits) -> Result<DirListing> {
        let mut listing = DirListing::default();
        let mut pages = self.list_dir_pages(prefix, limits);
        while let Some(page) = pages.next().await {
            let DirListing { keys, prefixes } = page?;
            listing.keys.extend(keys);
            listing.prefixes.extend(prefixes);
        }
        Ok(listing)
    }

    async fn dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        match &self.store {
            AnyStore::Blocking(store) => with_files(|| store.list_dir(prefix)),
            AnyStore::Async(store) => store.list_dir(prefix).await,
        }
    }

    /// The same, in as many parts as the store lists it in.
    pub(crate) fn list_dir_pages(
        &self,
        prefix: &str,
        limits: &Limits,
    ) -> BoxStream<'_, Result<DirListing>> {
        let Ok(prefix) = Prefix::new(prefix) else {
            return stream::empty().boxed();
        };
        let mut budget = self.list_budget(&prefix, limits);
        let pages = match &self.store {
            AnyStore::Async(store) => store.list_dir_pages(&prefix),
            AnyStore::Blocking(_) => stream::once(async move { self.dir(&prefix).await }).boxed(),
        };
        let counted = move |page: Result<DirListing, StoreError>| {
            let page = self.named(page)?;
            page.keys
                .iter()
                .chain(&page.prefixes)
                .try_for_each(|name| budget.take(name.len()))?;
            Ok(page)
        };
        pages.map(counted).boxed()
    }

    /// How much of a list may come.
    fn list_budget(&self, prefix: &Prefix, limits: &Limits) -> ListBudget<'_> {
        let below = prefix.as_str().len();
        ListBudget {
            storage: self,
            prefix: prefix.to_string(),
            below,
            limit: limits.listed_bytes,
            taken: 0,
        }
    }

    /// The keys and prefixes directly below a prefix; empty if the store cannot list, or the
    /// service denies it.
    pub(crate) async fn listing(&self, prefix: &str) -> Result<DirListing> {
        match self.dir(&self.named(Prefix::new(prefix))?).await {
            Err(StoreError::Unsupported(_) | StoreError::Denied { .. }) => {
                Ok(DirListing::default())
            }
            listing => self.named(listing),
        }
    }

    /// Passes on each key below a prefix, and the length of its value in bytes, in no particular
    /// order. The prefix ends in `/`, or is empty, which means all keys. No value is read. What
    /// cannot be looked at or listed below the prefix is passed on as well, as [`Listed`] says.
    ///
    /// # Errors
    /// The store fails, or cannot list the prefix.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore, Storage};
    ///
    /// let storage = Storage::from(MemoryStore::new());
    /// Array::<u8>::builder([4]).chunks([2]).create((&storage, "a"))?.fill([0..1], 1)?;
    /// let mut keys = Vec::new();
    /// storage.each_listed("a/", |key, listed| keys.push((key.to_owned(), listed.byte_len())))?;
    /// keys.sort();
    /// assert_eq!(keys[0], ("a/c/0".to_owned(), Some(2)));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn each_listed(
        &self,
        prefix: &str,
        mut take: impl FnMut(&str, Listed) + Send,
    ) -> Result<()> {
        let limits = Limits::default().listed_bytes(u64::MAX);
        self.wait(self.each_size(prefix, &limits, &mut |key, listed| {
            take(key.as_str(), listed)
        }))
    }

    /// [`each_listed`](Self::each_listed) as it was, without what cannot be looked at.
    ///
    /// # Errors
    /// As for [`each_listed`](Self::each_listed); something cannot be looked at.
    #[doc(hidden)]
    #[deprecated(note = "renamed, since it also passes on what cannot be looked at")]
    pub fn each_key(&self, prefix: &str, mut take: impl FnMut(&str, u64) + Send) -> Result<()> {
        let mut failed = None;
        self.each_listed(prefix, |key, listed| match listed {
            Listed::Value(len) => take(key, len),
            Listed::Folder => {}
            Listed::Unreadable(error) | Listed::Unlisted(error) => {
                failed = failed.take().or(Some(error));
            }
        })?;
        self.named(failed.map_or(Ok(()), Err))
    }

    /// The value under a key, such as one that [`each_listed`](Self::each_listed) names; `None` if
    /// there is none.
    ///
    /// # Errors
    /// The store fails; it has more bytes than `limit`.
    pub fn read_key(&self, key: &str, limit: u64) -> Result<Option<Bytes>> {
        self.wait(self.value(key, limit))
    }

    /// The size in bytes of the value under a key, and a range of its bytes, which are none if the
    /// value ends before the range does; `None` if there is no value.
    ///
    /// # Errors
    /// The store fails.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore, Storage};
    ///
    /// let storage = Storage::from(MemoryStore::new());
    /// Array::<u8>::builder([4]).create((&storage, "a"))?.write(.., &ndarray::array![1, 2, 3, 4])?;
    /// let read = |range| storage.read_key_range("a/c/0", range);
    /// assert_eq!(read(1..3)?, Some((4, vec![2, 3].into())));
    /// assert_eq!(read(3..5)?, Some((4, vec![].into())));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn read_key_range(&self, key: &str, range: Range<u64>) -> Result<Option<(u64, Bytes)>> {
        // A name that cannot be a key has no value.
        let Ok(key) = Key::new(key) else {
            return Ok(None);
        };
        let fetch = Fetch {
            key,
            of: Of::Any,
            want: Want::Ranges(vec![range]),
        };
        self.wait(async {
            match self.fetch_raw(&fetch).await {
                Ok(Fetched::Parts { size, parts, .. }) => {
                    Ok(Some((size, parts.into_iter().next().unwrap_or_default())))
                }
                Ok(Fetched::Missing | Fetched::Changed) => Ok(None),
                Err(StoreError::OutOfRange { size, .. }) => Ok(Some((size, Bytes::new()))),
                Err(error) => self.named(Err(error)),
            }
        })
    }

    /// What lies below a prefix at which no node can be opened, judged only by the names of the
    /// keys. The prefix ends in `/`, or is empty.
    ///
    /// # Errors
    /// The store fails, or cannot list.
    pub fn contents(&self, prefix: &str) -> Result<Contents> {
        self.wait(Contents::unopened(self, &[prefix.to_owned()]))
    }

    /// Identifies the folder of a node, if there are symbolic links on the way to it.
    pub(crate) fn place(&self, node: &Node) -> Result<Option<(u64, u64)>> {
        let AnyStore::Blocking(store) = &self.store else {
            return Ok(None);
        };
        let place =
            Prefix::new(node.prefix()).and_then(|prefix| with_files(|| store.place(&prefix)));
        place.map_err(|error| Error::from(error).in_store(|| self.name()))
    }

    /// Names below a prefix that no key can have. All keys below it were listed before.
    pub(crate) async fn unlisted_names(&self, prefix: &str) -> Result<Vec<String>> {
        let prefix = self.named(Prefix::new(prefix))?;
        self.named(match &self.store {
            AnyStore::Blocking(store) => with_files(|| store.unlisted_names(&prefix)),
            AnyStore::Async(store) => store.unlisted_names(&prefix).await,
        })
    }

    /// Passes on every key in the folders that may hold chunks of an array with this number of
    /// axes, and perhaps others. Where folders may be links, each is entered by every link, also by
    /// one that leads back up: so are chunks read. The result are the other folders that were seen.
    ///
    /// # Errors
    /// As for other lists; a link in the place of a folder of chunks leads nowhere.
    pub(crate) async fn chunk_keys(
        &self,
        keys: &ChunkKeys,
        n_axes: usize,
        limits: &Limits,
        take: &mut (dyn FnMut(&Key) + Send),
    ) -> Result<Vec<Prefix>> {
        let top = self.named(Prefix::new(&keys.prefix))?;
        let store = match &self.store {
            AnyStore::Blocking(store) if store.folder(&top).is_some() => store,
            _ => {
                return self
                    .keys_below(&keys.prefix, limits, take)
                    .await
                    .map(|()| Vec::new());
            }
        };
        let mut budget = self.list_budget(&top, limits);
        let mut others = Vec::new();
        let mut pending = vec![(top, 0)];
        while let Some((folder, depth)) = pending.pop() {
            let listing = self.named(with_files(|| store.list_dir(&folder)))?;
            let up = self.named(with_files(|| store.links_up(&folder)))?;
            let may_be_folder = |name: &String| depth < n_axes && KeyEncoding::may_be_folder(name);
            for name in &listing.keys {
                let key = self.named(folder.key(name))?;
                budget.take_key(&key)?;
                let below = &key.as_str()[keys.prefix.len()..];
                if may_be_folder(name) && keys.encoding.decode(below, n_axes).is_none() {
                    self.named(with_files(|| store.has(&key)))?;
                }
                take(&key);
            }
            for name in listing.prefixes.iter().filter(|name| !may_be_folder(name)) {
                budget.take(name.len())?;
                others.push(self.named(Prefix::new(format!("{folder}{name}/")))?);
            }
            for name in listing
                .prefixes
                .iter()
                .chain(&up)
                .filter(|name| may_be_folder(name))
            {
                budget.take(name.len())?;
                pending.push((
                    self.named(Prefix::new(format!("{folder}{name}/")))?,
                    depth + 1,
                ));
            }
        }
        Ok(others)
    }

    /// Passes on every key below a prefix, with what cannot be looked at or listed. Values are
    /// looked at only in folders, where that tells links that lead nowhere.
    pub(crate) async fn each_found(
        &self,
        prefix: &str,
        limits: &Limits,
        take: &mut (dyn FnMut(&Key, Option<Listed>) + Send),
    ) -> Result<()> {
        let is_folder = match &self.store {
            AnyStore::Blocking(store) => store.folder(&self.named(Prefix::new(prefix))?).is_some(),
            AnyStore::Async(_) => false,
        };
        if is_folder {
            self.each_size(prefix, limits, &mut |key, listed| take(key, Some(listed)))
                .await
        } else {
            self.keys_below(prefix, limits, &mut |key| take(key, None))
                .await
        }
    }

    /// Passes on every key below a prefix. No value is looked at.
    pub(crate) async fn keys_below(
        &self,
        prefix: &str,
        limits: &Limits,
        take: &mut (dyn FnMut(&Key) + Send),
    ) -> Result<()> {
        let prefix = self.named(Prefix::new(prefix))?;
        let mut budget = self.list_budget(&prefix, limits);
        let store = match &self.store {
            AnyStore::Blocking(store) => {
                self.named(with_files(|| store.list_prefix(&prefix)))?
                    .iter()
                    .for_each(take);
                return Ok(());
            }
            AnyStore::Async(store) => store,
        };
        let mut pages = store.list_pages(&prefix);
        while let Some(page) = pages.next().await {
            for key in self.named(page)? {
                budget.take_key(&key)?;
                take(&key);
            }
        }
        Ok(())
    }

    /// Passes on every key below a prefix, and the length of its value in bytes.
    pub(crate) async fn each_size(
        &self,
        prefix: &str,
        limits: &Limits,
        take: &mut (dyn FnMut(&Key, Listed) + Send),
    ) -> Result<()> {
        let prefix = self.named(Prefix::new(prefix))?;
        let mut budget = self.list_budget(&prefix, limits);
        let store = match &self.store {
            AnyStore::Blocking(store) => {
                let mut began = false;
                let mut passed = |key: &Key, listed| {
                    began = true;
                    take(key, listed);
                };
                return self.named(match store.list_lengths(&prefix, &mut passed) {
                    // What was passed on must not come again.
                    Err(error) if !began && closes_files_after(&error) => {
                        store.list_lengths(&prefix, take)
                    }
                    done => done,
                });
            }
            AnyStore::Async(store) => store,
        };
        let mut pages = store.list_lengths(&prefix);
        while let Some(page) = pages.next().await {
            for (key, listed) in self.named(page)? {
                budget.take_key(&key)?;
                take(&key, listed);
            }
        }
        Ok(())
    }
}

/// What remains of the bytes of names that one list may have.
struct ListBudget<'s> {
    storage: &'s Storage,
    prefix: String,
    /// How much of a key is the prefix.
    below: usize,
    limit: u64,
    taken: u64,
}

impl ListBudget<'_> {
    fn take_key(&mut self, key: &Key) -> Result<()> {
        self.take(key.as_str().len().saturating_sub(self.below))
    }

    fn take(&mut self, byte_len: usize) -> Result<()> {
        self.taken = self.taken.saturating_add(byte_len as u64);
        if self.taken <= self.limit {
            return Ok(());
        }
        let what = format!(
            "the names below {:?} have more than {} bytes, the limit of a list",
            self.prefix, self.limit
        );
        Err(Error::new(ErrorKind::Unsupported, what).in_store(|| self.storage.name()))
    }
}
