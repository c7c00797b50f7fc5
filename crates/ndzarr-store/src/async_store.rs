//! The trait `AsyncStore`.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::future::{BoxFuture, ready};
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};

use crate::key::is_numbered;
use crate::{
    Can, DirListing, Fetch, Fetched, Key, Listed, Of, Precondition, Prefix, Put, RangeMerging,
    StoreError, Want,
};

/// The most requests for lengths that a list makes at once.
const SIZES_AT_ONCE: usize = 16;

/// The most keys that an erasure remembers. If there are more, it lists them a second time instead.
const REMEMBERED_KEYS: usize = 100_000;

/// A store whose calls are futures: object storage, HTTP. Names no runtime.
///
/// Asynchronous calls need only the methods without a default. For blocking calls,
/// [`block_on`](Self::block_on) says how a thread may wait for the store.
pub trait AsyncStore: fmt::Debug + Send + Sync {
    /// See [`Store::inner`](crate::Store::inner).
    fn inner(&self) -> Option<&dyn AsyncStore> {
        None
    }

    /// See [`Store::name`](crate::Store::name).
    fn name(&self) -> String;

    /// Asynchronous [`Store::fetch`](crate::Store::fetch).
    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>>;

    /// Asynchronous [`Store::has`](crate::Store::has).
    fn has<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.has(key);
        }
        Box::pin(async move {
            let fetch = Fetch {
                key: key.clone(),
                of: Of::Any,
                want: Want::Size,
            };
            Ok(matches!(self.fetch(&fetch).await?, Fetched::Parts { .. }))
        })
    }

    /// Asynchronous [`Store::put`](crate::Store::put). There are no locks: the precondition
    /// serializes writers.
    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>>;

    /// Asynchronous [`Store::erase`](crate::Store::erase).
    fn erase<'a>(
        &'a self,
        key: &'a Key,
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>>;

    /// Asynchronous [`Store::list_dir`](crate::Store::list_dir).
    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.list_dir(prefix);
        }
        Box::pin(ready(Err(StoreError::Unsupported("list"))))
    }

    /// The listing of [`list_dir`](Self::list_dir) page by page, in the order of the store: work on
    /// the first names can begin while the next ones are listed. Ends after an error.
    fn list_dir_pages<'a>(
        &'a self,
        prefix: &Prefix,
    ) -> BoxStream<'a, Result<DirListing, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.list_dir_pages(prefix);
        }
        let prefix = prefix.clone();
        Box::pin(stream::once(async move { self.list_dir(&prefix).await }))
    }

    /// Asynchronous [`Store::list_prefix`](crate::Store::list_prefix).
    fn list_prefix<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxFuture<'a, Result<Vec<Key>, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.list_prefix(prefix);
        }
        Box::pin(async move {
            let mut keys = Vec::new();
            let mut pending = vec![prefix.clone()];
            while let Some(prefix) = pending.pop() {
                let listing = self.list_dir(&prefix).await?;
                for name in listing.keys {
                    keys.push(prefix.key(&name)?);
                }
                for name in listing.prefixes {
                    pending.push(Prefix::new(format!("{prefix}{name}/"))?);
                }
            }
            Ok(keys)
        })
    }

    /// Asynchronous [`Store::unlisted_names`](crate::Store::unlisted_names).
    fn unlisted_names<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.unlisted_names(prefix);
        }
        Box::pin(ready(Ok(Vec::new())))
    }

    /// The keys of [`list_prefix`](Self::list_prefix) page by page, so that no more than a page is
    /// in memory. Ends after an error.
    fn list_pages<'a>(&'a self, prefix: &'a Prefix) -> BoxStream<'a, Result<Vec<Key>, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.list_pages(prefix);
        }
        Box::pin(stream::once(self.list_prefix(prefix)))
    }

    /// The keys of [`list_prefix`](Self::list_prefix) and the lengths of their values, in bytes,
    /// page by page. A value that is erased meanwhile may be left out. Ends after an error. The
    /// default makes one request for each length.
    fn list_lengths<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxStream<'a, Result<Vec<(Key, Listed)>, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.list_lengths(prefix);
        }
        let size = move |key: Key| async move {
            let fetch = Fetch {
                key,
                of: Of::Any,
                want: Want::Size,
            };
            let listed = Listed::of_size(self.fetch(&fetch).await)?;
            Ok(listed.map(|listed| (fetch.key, listed)))
        };
        let sizes = move |page: Vec<Key>| {
            let found = stream::iter(page).map(size).buffer_unordered(SIZES_AT_ONCE);
            found.try_filter_map(|found| ready(Ok(found))).try_collect()
        };
        Box::pin(self.list_pages(prefix).and_then(sizes))
    }

    /// [`list_lengths`](Self::list_lengths) as it was: see
    /// [`Store::list_sizes`](crate::Store::list_sizes).
    #[doc(hidden)]
    #[deprecated(note = "renamed, since it also passes on what cannot be looked at")]
    fn list_sizes<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxStream<'a, Result<Vec<(Key, u64)>, StoreError>> {
        let value = |(key, listed): (Key, Listed)| {
            let len = listed.value().transpose()?;
            Some(len.map(|len| (key, len)))
        };
        let values =
            move |page: Vec<(Key, Listed)>| ready(page.into_iter().filter_map(value).collect());
        Box::pin(self.list_lengths(prefix).and_then(values))
    }

    /// Removes values, in no order. Absent ones count as removed.
    ///
    /// # Errors
    /// The first value that could not be removed; others may be gone.
    fn erase_keys<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.erase_keys(keys);
        }
        Box::pin(async move {
            for key in keys {
                self.erase(key, Precondition::None).await?;
            }
            Ok(())
        })
    }

    /// Asynchronous [`Store::erase_prefix`](crate::Store::erase_prefix).
    fn erase_prefix<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.erase_prefix(prefix);
        }
        Box::pin(async move {
            // Removed last, like those of `Store::erase_prefix`.
            let mut numbered = Vec::new();
            let mut too_many = false;
            let mut pages = self.list_pages(prefix);
            while let Some(page) = pages.next().await {
                let (last, first): (Vec<Key>, Vec<Key>) =
                    page?.into_iter().partition(|key| is_numbered(key.name()));
                self.erase_keys(&first).await?;
                if numbered.len() < REMEMBERED_KEYS {
                    numbered.extend(last);
                } else {
                    too_many |= !last.is_empty();
                }
            }
            self.erase_keys(&numbered).await?;
            if too_many {
                let mut pages = self.list_pages(prefix);
                while let Some(page) = pages.next().await {
                    self.erase_keys(&page?).await?;
                }
            }
            Ok(())
        })
    }

    /// The abilities of the store beyond reading. Asynchronous stores have no locks.
    fn can(&self) -> Can {
        if let Some(inner) = self.inner() {
            return inner.can();
        }
        Can::default()
    }

    /// See [`Store::range_merging`](crate::Store::range_merging).
    fn range_merging(&self) -> RangeMerging {
        if let Some(inner) = self.inner() {
            return inner.range_merging();
        }
        RangeMerging::default()
    }

    /// Runs a future that makes requests of this store to completion, on the calling thread, for a
    /// blocking call. The future is polled nowhere else, and not before. If other threads of a call
    /// make requests, each of them calls this too, while the calling thread is in it.
    ///
    /// Only the store knows who drives its requests, so the default refuses. Where other threads
    /// do (a store in memory, one that spawns each request on a multi-threaded runtime),
    /// [`block_on`](crate::block_on) is enough. A store whose requests belong to a runtime enters
    /// that runtime, and refuses on a thread that the runtime cannot do without:
    ///
    /// ```
    /// use std::future::Future;
    /// use std::pin::Pin;
    ///
    /// use ndzarr::store::StoreError;
    /// use tokio::runtime::{Handle, RuntimeFlavor};
    ///
    /// struct MyStore {
    ///     /// Of a multi-threaded runtime: `Handle::current()` where the store is made.
    ///     runtime: Handle,
    /// }
    ///
    /// # trait Just { fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError>; }
    /// # impl Just for MyStore {
    /// // In `impl AsyncStore for MyStore`:
    /// fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
    ///     if Handle::try_current().is_ok_and(|here| here.runtime_flavor() == RuntimeFlavor::CurrentThread) {
    ///         return Err(StoreError::Unsupported("block a runtime of one thread: use the asynchronous call"));
    ///     }
    ///     // Other threads of the runtime take over the tasks of this one.
    ///     tokio::task::block_in_place(|| self.runtime.block_on(future));
    ///     Ok(())
    /// }
    /// # }
    /// # let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
    /// # let store = MyStore { runtime: runtime.handle().clone() };
    /// # assert!(store.block_on(std::pin::pin!(async { tokio::task::yield_now().await })).is_ok());
    /// # let alone = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    /// # assert!(alone.block_on(async { store.block_on(std::pin::pin!(async {})) }).is_err());
    /// ```
    ///
    /// # Errors
    /// If this thread cannot wait for the store. The future was not polled.
    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        if let Some(inner) = self.inner() {
            return inner.block_on(future);
        }
        Err(StoreError::Unsupported(
            "be waited for by a blocking call: use the asynchronous call",
        ))
    }
}
