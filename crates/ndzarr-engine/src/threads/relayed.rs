//! Blocking work of a future that uses asynchronous stores: the task that polls the future makes
//! the requests.

use std::future::{poll_fn, ready};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use futures_channel::{mpsc, oneshot};
use futures_util::future::{BoxFuture, Either, select};
use futures_util::stream::{self, BoxStream, FuturesUnordered};
use futures_util::{FutureExt, StreamExt};
use ndzarr_store::{
    AsyncStore, Can, DirListing, Fetch, Fetched, Key, Listed, Precondition, Prefix, Put,
    RangeMerging, StoreError, block_on,
};

use crate::any_store::AnyStore;
use crate::threads::cancel::Cancel;
use crate::threads::other_threads::waiting;
use crate::{EngineCause, EngineError};

/// A request that the polling task makes. It passes on its answer itself.
type Request = BoxFuture<'static, ()>;

/// Gives work on another thread stores whose requests the polling task makes.
#[derive(Clone, Debug)]
pub struct Relay(mpsc::UnboundedSender<Request>);

impl Relay {
    /// This store for use by the work. A thread that calls an asynchronous one waits for the task
    /// that polls the future of the work. A blocking store stays as it is.
    #[must_use]
    pub fn store(&self, store: &AnyStore) -> AnyStore {
        match store {
            AnyStore::Blocking(_) => store.clone(),
            AnyStore::Async(store) => AnyStore::Async(Arc::new(Relayed {
                store: Arc::clone(store),
                requests: self.0.clone(),
            })),
        }
    }
}

/// Runs blocking work on a thread for changes, when it is the turn of the store of this name. The
/// polling task makes the requests to stores of the [`Relay`], so no call of the work may hold a
/// lock while it waits for one. Until the work has begun, it ends when it is cancelled, and is
/// dropped with the future. Once it has, it goes on, but requests that the dropped future would
/// have made fail.
///
/// # Errors
/// It was cancelled before it began; no thread can be started.
///
/// # Panics
/// When the work panics.
pub async fn relayed<T: Send + 'static, W: FnOnce() -> T + Send + 'static>(
    store: &str,
    cancel: Option<&Cancel>,
    work: impl FnOnce(Relay) -> W,
) -> Result<T, EngineError> {
    let (send, mut requests) = mpsc::unbounded();
    let work = work(Relay(send));
    let mut done = pin!(waiting(store, cancel, move || Ok::<_, EngineCause>(work())));
    let mut pending = FuturesUnordered::<Request>::new();
    let done = poll_fn(|context| {
        while let Poll::Ready(Some(request)) = requests.poll_next_unpin(context) {
            pending.push(request);
        }
        while let Poll::Ready(Some(())) = pending.poll_next_unpin(context) {}
        done.as_mut().poll(context)
    });
    Ok(done.await?)
}

/// An asynchronous store whose requests another task makes.
#[derive(Debug)]
struct Relayed {
    store: Arc<dyn AsyncStore>,
    requests: mpsc::UnboundedSender<Request>,
}

impl Relayed {
    fn request<T: Send + 'static, F: Future<Output = Result<T, StoreError>> + Send + 'static>(
        &self,
        call: impl FnOnce(Arc<dyn AsyncStore>) -> F + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let store = Arc::clone(&self.store);
        let requests = self.requests.clone();
        Box::pin(async move {
            let (mut send, receive) = oneshot::channel();
            let name = store.name();
            let made = async move {
                // A request for whose answer no thread waits any more is dropped.
                let answer = match select(pin!(call(store)), send.cancellation()).await {
                    Either::Left((answer, _)) => answer,
                    Either::Right(_) => return,
                };
                drop(send.send(answer));
            };
            drop(requests.unbounded_send(Box::pin(made)));
            receive.await.unwrap_or_else(|_| Err(dropped(name)))
        })
    }

    /// The pages of a list. The task has no more than two of them before they are taken.
    fn pages<T: Send + 'static>(
        &self,
        prefix: &Prefix,
        list: impl for<'s> FnOnce(
            &'s dyn AsyncStore,
            &'s Prefix,
        ) -> BoxStream<'s, Result<T, StoreError>>
        + Send
        + 'static,
    ) -> BoxStream<'static, Result<T, StoreError>> {
        let store = Arc::clone(&self.store);
        let prefix = prefix.clone();
        let requests = self.requests.clone();
        let incomplete = Some(Err(dropped(store.name())));
        let pages = async move {
            let (mut send, receive) = mpsc::channel(0);
            let made = async move {
                let mut pages = list(&*store, &prefix);
                loop {
                    let page = pages.next().await;
                    let is_last = page.is_none();
                    let is_wanted = poll_fn(|context| send.poll_ready(context)).await.is_ok();
                    if !is_wanted || send.start_send(page).is_err() || is_last {
                        return;
                    }
                }
            };
            drop(requests.unbounded_send(Box::pin(made)));
            receive
        };
        // A list whose end did not come is not complete.
        let pages = pages
            .into_stream()
            .flatten()
            .chain(stream::once(ready(incomplete)));
        Box::pin(
            pages
                .take_while(|page| ready(page.is_some()))
                .filter_map(ready),
        )
    }
}

fn dropped(store: String) -> StoreError {
    let what = io::Error::other("the call that the request belongs to was dropped");
    StoreError::io("make a request of", store, what)
}

/// It has no `inner`: the defaults would call that store past the polling task.
impl AsyncStore for Relayed {
    fn name(&self) -> String {
        self.store.name()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        let fetch = fetch.clone();
        self.request(|store| async move { store.fetch(&fetch).await })
    }

    fn has<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        let key = key.clone();
        self.request(|store| async move { store.has(&key).await })
    }

    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        let key = key.clone();
        let parts = parts.to_vec();
        self.request(|store| async move { store.put(&key, &parts, only_if).await })
    }

    fn erase<'a>(
        &'a self,
        key: &'a Key,
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        let key = key.clone();
        self.request(|store| async move { store.erase(&key, only_if).await })
    }

    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        let prefix = prefix.clone();
        self.request(|store| async move { store.list_dir(&prefix).await })
    }

    fn list_dir_pages<'a>(
        &'a self,
        prefix: &Prefix,
    ) -> BoxStream<'a, Result<DirListing, StoreError>> {
        self.pages(prefix, |store, prefix| store.list_dir_pages(prefix))
    }

    fn list_prefix<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxFuture<'a, Result<Vec<Key>, StoreError>> {
        let prefix = prefix.clone();
        self.request(|store| async move { store.list_prefix(&prefix).await })
    }

    fn unlisted_names<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let prefix = prefix.clone();
        self.request(|store| async move { store.unlisted_names(&prefix).await })
    }

    fn list_pages<'a>(&'a self, prefix: &'a Prefix) -> BoxStream<'a, Result<Vec<Key>, StoreError>> {
        self.pages(prefix, |store, prefix| store.list_pages(prefix))
    }

    fn list_lengths<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxStream<'a, Result<Vec<(Key, Listed)>, StoreError>> {
        self.pages(prefix, |store, prefix| store.list_lengths(prefix))
    }

    fn erase_keys<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        let keys = keys.to_vec();
        self.request(|store| async move { store.erase_keys(&keys).await })
    }

    fn erase_prefix<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<(), StoreError>> {
        let prefix = prefix.clone();
        self.request(|store| async move { store.erase_prefix(&prefix).await })
    }

    fn can(&self) -> Can {
        self.store.can()
    }

    fn range_merging(&self) -> RangeMerging {
        self.store.range_merging()
    }

    /// The polling task makes the requests.
    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        block_on(future);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Refusing;

    impl AsyncStore for Refusing {
        fn name(&self) -> String {
            "refusing".to_owned()
        }

        fn fetch<'a>(&'a self, _: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
            Box::pin(ready(Err(StoreError::Unsupported("read"))))
        }

        fn put<'a>(
            &'a self,
            _: &'a Key,
            _: &'a [Bytes],
            _: Precondition,
        ) -> BoxFuture<'a, Result<Put, StoreError>> {
            Box::pin(ready(Err(StoreError::Unsupported("write"))))
        }

        fn erase<'a>(
            &'a self,
            _: &'a Key,
            _: Precondition,
        ) -> BoxFuture<'a, Result<Put, StoreError>> {
            Box::pin(ready(Err(StoreError::Unsupported("remove"))))
        }
    }

    /// A list that only ended would look complete.
    #[test]
    fn once_the_call_is_dropped_requests_fail_and_lists_end_in_an_error() {
        let (send, requests) = mpsc::unbounded();
        let AnyStore::Async(store) = Relay(send).store(&AnyStore::Async(Arc::new(Refusing))) else {
            unreachable!("it was asynchronous");
        };
        drop(requests);
        let pages: Vec<Result<Vec<Key>, StoreError>> =
            block_on(store.list_pages(&Prefix::root()).collect());
        assert!(
            matches!(&pages[..], [Err(StoreError::Io { .. })]),
            "{pages:?}"
        );
        let key = Key::new("a").expect("a key");
        assert!(matches!(
            block_on(store.has(&key)),
            Err(StoreError::Io { .. })
        ));
    }
}
