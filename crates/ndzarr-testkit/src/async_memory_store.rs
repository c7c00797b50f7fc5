//! An asynchronous store in memory with latency, which counts requests.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_timer::Delay;
use futures_util::future::BoxFuture;
use ndzarr_store::{
    AsyncStore, DirListing, Fetch, Fetched, Key, MemoryStore, Precondition, Prefix, Put, Store,
    StoreError, Wait, block_on,
};

use crate::counting_store::{Counters, Counts};

/// An in-memory store with latency, like object storage, that counts requests. It names no runtime:
/// its own thread wakes the futures. Clones share values and counters.
///
/// ```
/// use std::time::Duration;
///
/// use ndzarr_store::{AsyncStore, Fetch, Key, MemoryStore, Of, Want};
/// use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on};
///
/// # fn main() -> Result<(), ndzarr_store::StoreError> {
/// let memory = MemoryStore::new();
/// memory.set("a", "value")?;
/// let store = AsyncMemoryStore::over(memory, Latency::per_request(Duration::from_millis(50)));
/// let fetch = Fetch { key: Key::new("a")?, of: Of::Any, want: Want::Size };
/// block_on(futures_util::future::join(store.fetch(&fetch), store.fetch(&fetch)));
/// assert_eq!((store.counts().fetches, store.counts().max_in_flight), (2, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct AsyncMemoryStore {
    memory: MemoryStore,
    latency: Latency,
    polls: u32,
    counters: Arc<Counters>,
}

/// The duration of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// The time before a request is answered.
    pub request: Duration,
    /// The further time for each mebibyte of an answer.
    pub mebibyte: Duration,
}

impl Latency {
    /// A latency that does not depend on the size of the answer.
    #[must_use]
    pub fn per_request(request: Duration) -> Self {
        Self {
            request,
            mebibyte: Duration::ZERO,
        }
    }
}

impl AsyncMemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(latency: Latency) -> Self {
        Self::over(MemoryStore::new(), latency)
    }

    /// A store of the values in `memory`, which can still be used on its own.
    #[must_use]
    pub fn over(memory: MemoryStore, latency: Latency) -> Self {
        Self {
            memory,
            latency,
            polls: 0,
            counters: Arc::default(),
        }
    }

    /// Has requests polled this many times before they are answered, however fast the machine is,
    /// so that a caller that sends several at once has time to send them.
    ///
    /// ```
    /// use ndzarr_testkit::{AsyncMemoryStore, Latency};
    /// let store = AsyncMemoryStore::new(Latency::default()).with_polls(100);
    /// assert_eq!(store.counts().fetches, 0);
    /// ```
    #[must_use]
    pub fn with_polls(mut self, polls: u32) -> Self {
        self.polls = polls;
        self
    }

    /// The values.
    #[must_use]
    pub fn memory(&self) -> &MemoryStore {
        &self.memory
    }

    /// The counts of this moment.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counters.counts()
    }

    /// Resets the counts and returns them.
    pub fn reset(&self) -> Counts {
        self.counters.reset()
    }

    async fn wait(&self) {
        delay(self.latency.request).await;
        let mut left = self.polls;
        poll_fn(|context| {
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    async fn transfer(&self, fetched: &Fetched) {
        if let Fetched::Parts { parts, .. } = fetched {
            let byte_len: usize = parts.iter().map(Bytes::len).sum();
            delay(
                self.latency
                    .mebibyte
                    .mul_f64(byte_len as f64 / f64::from(1 << 20)),
            )
            .await;
        }
    }
}

async fn delay(duration: Duration) {
    if !duration.is_zero() {
        Delay::new(duration).await;
    }
}

impl AsyncStore for AsyncMemoryStore {
    fn name(&self) -> String {
        "slow memory".to_owned()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        Box::pin(async move {
            let _in_flight = self.counters.fetch();
            self.wait().await;
            let fetched = self.memory.fetch(fetch)?;
            self.transfer(&fetched).await;
            self.counters.answered(&fetched);
            Ok(fetched)
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(async move {
            let _in_flight = self.counters.put(parts);
            self.wait().await;
            self.memory.put(key, parts, only_if)
        })
    }

    fn erase<'a>(
        &'a self,
        key: &'a Key,
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(async move {
            let _in_flight = self.counters.erase();
            self.wait().await;
            self.memory.erase(key, only_if)
        })
    }

    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        Box::pin(async move {
            let _in_flight = self.counters.list();
            self.wait().await;
            self.memory.list_dir(prefix)
        })
    }

    fn list_prefix<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxFuture<'a, Result<Vec<Key>, StoreError>> {
        Box::pin(async move {
            let _in_flight = self.counters.list();
            self.wait().await;
            self.memory.list_prefix(prefix)
        })
    }

    fn erase_prefix<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let _in_flight = self.counters.list();
            self.wait().await;
            self.memory.erase_prefix(prefix, Wait::Block)
        })
    }

    /// Its own thread wakes the futures.
    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        block_on(future);
        Ok(())
    }
}
