//! `ObjectStore`: the calls of a store, each of which is a task on the runtime for requests.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use ndzarr_store::{
    AsyncStore, Can, DirListing, Fetch, Fetched, Key, Listed, PerProcess, Precondition, Prefix,
    Put, RangeMerging, StoreError, block_on,
};
use object_store::path::Path;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::client::backend::Backend;
use crate::client::signing::Signing;
use crate::conditions::Conditions;
use crate::options::RemoteOptions;
use crate::requests::conflicts::Conflicts;
use crate::requests::hedge::Hedge;
use crate::requests::limit::Limit;
use crate::requests::runtime::{Task, runtime};
use crate::unlisted::UnlistedNames;
use crate::unranged::UnrangedCache;

/// A bucket, a container, or a folder of a web server, below a prefix. Clones share its
/// connections.
#[derive(Clone)]
pub struct ObjectStore(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) backend: Backend,
    pub(crate) service: Service,
    /// Scheme, endpoint, bucket and prefix.
    pub(crate) name: Arc<str>,
    /// Empty, or ends in `/`.
    pub(crate) prefix: String,
    pub(crate) options: RemoteOptions,
    pub(crate) limit: PerProcess<Limit>,
    pub(crate) conflicts: Conflicts,
    pub(crate) conditions: Conditions,
    /// The most bytes of a value, if that is known.
    pub(crate) max_value_bytes: Option<u64>,
    pub(crate) hedge: Option<Hedge>,
    pub(crate) signing: Signing,
    pub(crate) unranged: UnrangedCache,
    pub(crate) unlisted: UnlistedNames,
}

/// The kind of service that has the values of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Service {
    /// Amazon S3, and services that speak like it.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage.
    Azure,
    /// A web server.
    Http,
}

/// The most bytes of a name or of the token of a page. Services accept names of 1,024 bytes.
/// object_store panics over URLs of more than 64 KiB, in which a byte may take three.
pub(crate) const MAX_NAME_BYTES: usize = 8 << 10;

impl Inner {
    /// The name of a value, which does not depend on the prefix of the store.
    pub(crate) fn value_name(&self, path: &Path) -> Arc<str> {
        let bucket = self.name.strip_suffix(&self.prefix).unwrap_or(&self.name);
        format!("{bucket}{path}").into()
    }

    pub(crate) fn path(&self, key: &Key) -> Result<Path, StoreError> {
        let name = format!("{}{key}", self.prefix);
        if name.len() > MAX_NAME_BYTES {
            return Err(StoreError::InvalidKey {
                key: key.to_string(),
                what: "is longer than services take",
            });
        }
        Path::parse(name).map_err(|_| StoreError::InvalidKey {
            key: key.to_string(),
            what: "has a control character, which services refuse",
        })
    }
}

impl ObjectStore {
    fn run<'a, T: Send + 'static, F>(
        &self,
        work: impl FnOnce(Arc<Inner>) -> F + Send + 'static,
    ) -> BoxFuture<'a, Result<T, StoreError>>
    where
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        let inner = Arc::clone(&self.0);
        // Nothing is started before the first poll.
        Box::pin(async move {
            let runtime = match &inner.options.runtime {
                Some(handle) => handle.clone(),
                None => runtime()
                    .map_err(|error| StoreError::io("start threads for", "requests", error))?,
            };
            let ended = StoreError::Unsupported("go on, since its runtime has ended");
            let work = async move {
                inner.backend.find_region().await;
                work(inner).await
            };
            Task::spawn(&runtime, work).await.unwrap_or(Err(ended))
        })
    }
}

impl fmt::Debug for ObjectStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectStore({})", self.0.name)
    }
}

impl AsyncStore for ObjectStore {
    fn name(&self) -> String {
        self.0.name.to_string()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        let fetch = fetch.clone();
        self.run(|inner| async move { inner.fetch(&fetch).await })
    }

    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        let key = key.clone();
        let parts = parts.to_vec();
        self.run(|inner| async move { inner.put(&key, &parts, &only_if).await })
    }

    /// Conditions are not supported.
    fn erase<'a>(
        &'a self,
        key: &'a Key,
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        let key = key.clone();
        self.run(|inner| async move { inner.erase(&key, &only_if).await })
    }

    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        let mut listings = Inner::listings(prefix);
        self.run(|inner| async move {
            let mut whole = DirListing::default();
            while let Some(DirListing { keys, prefixes }) = listings.next_page(&inner).await? {
                whole.keys.extend(keys);
                whole.prefixes.extend(prefixes);
            }
            Ok(whole)
        })
    }

    fn list_dir_pages<'a>(
        &'a self,
        prefix: &Prefix,
    ) -> BoxStream<'a, Result<DirListing, StoreError>> {
        Box::pin(stream::try_unfold(
            Inner::listings(prefix),
            move |mut listings| {
                self.run(|inner| async move {
                    let listing = listings.next_page(&inner).await?;
                    Ok(listing.map(|listing| (listing, listings)))
                })
            },
        ))
    }

    fn list_prefix<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxFuture<'a, Result<Vec<Key>, StoreError>> {
        let prefix = prefix.clone();
        self.run(|inner| async move { inner.list_prefix(&prefix).await })
    }

    /// Those that the last lists of all keys below the prefix have left out: of many, the first.
    fn unlisted_names<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        Box::pin(async move { Ok(self.0.unlisted.below(prefix)) })
    }

    fn list_pages<'a>(&'a self, prefix: &'a Prefix) -> BoxStream<'a, Result<Vec<Key>, StoreError>> {
        Box::pin(stream::try_unfold(
            Inner::pages(prefix),
            move |mut pages| {
                self.run(|inner| async move {
                    let Some(page) = pages.next_page(&inner).await? else {
                        return Ok(None);
                    };
                    Ok(Some((pages.keys(&inner, &page), pages)))
                })
            },
        ))
    }

    fn list_lengths<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxStream<'a, Result<Vec<(Key, Listed)>, StoreError>> {
        Box::pin(stream::try_unfold(
            Inner::pages(prefix),
            move |mut pages| {
                self.run(|inner| async move {
                    let Some(page) = pages.next_page(&inner).await? else {
                        return Ok(None);
                    };
                    Ok(Some((pages.sizes(&inner, &page).await?, pages)))
                })
            },
        ))
    }

    fn erase_keys<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        let keys = keys.to_vec();
        self.run(|inner| async move { inner.erase_keys(&keys).await })
    }

    fn can(&self) -> Can {
        let write = self.0.service != Service::Http;
        let put_if = write && self.0.conditions.known() != Some(false);
        Can {
            write,
            put_if,
            erase_if: false,
            lock: false,
            list: self.0.backend.lists().is_some(),
        }
    }

    fn range_merging(&self) -> RangeMerging {
        RangeMerging {
            gap: 256 << 10,
            max: 16 << 20,
            piece: None,
        }
    }

    /// Other threads drive the requests, but not those of a runtime of one thread.
    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        if let (Some(own), Ok(current)) = (&self.0.options.runtime, Handle::try_current())
            && own.id() == current.id()
        {
            if current.runtime_flavor() == RuntimeFlavor::CurrentThread {
                return Err(StoreError::Unsupported(
                    "block a runtime of one thread: use the asynchronous call",
                ));
            }
            tokio::task::block_in_place(|| block_on(future));
            return Ok(());
        }
        block_on(future);
        Ok(())
    }
}
