//! A store that counts the requests to another one.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use ndzarr_store::{
    DirListing, Fetch, Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Prefix, Put, Store,
    StoreError, Temporary, Wait, Want,
};

use crate::forward;

/// A store that counts the requests to another one. Clones share the counts.
#[derive(Clone, Debug)]
pub struct CountingStore<S> {
    inner: S,
    counters: Arc<Counters>,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests to read, also under a lock.
    pub fetches: u64,
    /// Checks for a value without reading it.
    pub looks: u64,
    /// Parts in the answers to requests to read.
    pub ranges: u64,
    /// Bytes in these parts.
    pub bytes_read: u64,
    /// Values put or published.
    pub puts: u64,
    /// Bytes handed over to be written.
    pub bytes_written: u64,
    /// Values erased by key, also under a lock.
    pub erases: u64,
    /// Listings and erasures of prefixes.
    pub lists: u64,
    /// Requests for a lock.
    pub locks: u64,
    /// The most requests that were under way at the same time.
    pub max_in_flight: u64,
}

/// Counters that several threads may increase.
#[derive(Debug, Default)]
pub struct Counters {
    fetches: AtomicU64,
    looks: AtomicU64,
    ranges: AtomicU64,
    bytes_read: AtomicU64,
    puts: AtomicU64,
    bytes_written: AtomicU64,
    erases: AtomicU64,
    lists: AtomicU64,
    locks: AtomicU64,
    in_flight: AtomicU64,
    max_in_flight: AtomicU64,
}

/// A request that is under way.
#[derive(Debug)]
pub(crate) struct InFlight<'a>(&'a Counters);

impl Counters {
    /// The counts of this moment.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            fetches: get(&self.fetches),
            looks: get(&self.looks),
            ranges: get(&self.ranges),
            bytes_read: get(&self.bytes_read),
            puts: get(&self.puts),
            bytes_written: get(&self.bytes_written),
            erases: get(&self.erases),
            lists: get(&self.lists),
            locks: get(&self.locks),
            max_in_flight: get(&self.max_in_flight),
        }
    }

    /// Resets the counts and returns them. Requests under way stay so.
    pub fn reset(&self) -> Counts {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        Counts {
            fetches: take(&self.fetches),
            looks: take(&self.looks),
            ranges: take(&self.ranges),
            bytes_read: take(&self.bytes_read),
            puts: take(&self.puts),
            bytes_written: take(&self.bytes_written),
            erases: take(&self.erases),
            lists: take(&self.lists),
            locks: take(&self.locks),
            max_in_flight: self
                .max_in_flight
                .swap(get(&self.in_flight), Ordering::Relaxed),
        }
    }

    pub(crate) fn fetch(&self) -> InFlight<'_> {
        self.begin(&self.fetches)
    }

    pub(crate) fn look(&self) -> InFlight<'_> {
        self.begin(&self.looks)
    }

    pub(crate) fn put(&self, parts: &[Bytes]) -> InFlight<'_> {
        self.written(parts.iter().map(Bytes::len).sum());
        self.begin(&self.puts)
    }

    pub(crate) fn erase(&self) -> InFlight<'_> {
        self.begin(&self.erases)
    }

    pub(crate) fn list(&self) -> InFlight<'_> {
        self.begin(&self.lists)
    }

    pub(crate) fn answered(&self, fetched: &Fetched) {
        if let Fetched::Parts { parts, .. } = fetched {
            add(&self.ranges, parts.len());
            add(&self.bytes_read, parts.iter().map(Bytes::len).sum());
        }
    }

    fn written(&self, byte_len: usize) {
        add(&self.bytes_written, byte_len);
    }

    fn begin(&self, counter: &AtomicU64) -> InFlight<'_> {
        add(counter, 1);
        let in_flight = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        self.max_in_flight.fetch_max(in_flight, Ordering::Relaxed);
        InFlight(self)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<S> CountingStore<S> {
    /// Counts the requests to this store.
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            counters: Arc::default(),
        }
    }

    /// The store that answers.
    pub fn inner(&self) -> &S {
        &self.inner
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
}

impl<S: Store> Store for CountingStore<S> {
    forward!(inner: name, range_merging, can);

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let _in_flight = self.counters.fetch();
        self.inner
            .fetch(fetch)
            .inspect(|fetched| self.counters.answered(fetched))
    }

    fn has(&self, key: &Key) -> Result<bool, StoreError> {
        let _in_flight = self.counters.look();
        self.inner.has(key)
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        let _in_flight = self.counters.put(parts);
        self.inner.put(key, parts, only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        let _in_flight = self.counters.erase();
        self.inner.erase(key, only_if)
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        add(&self.counters.locks, 1);
        Ok(match self.inner.lock(key, wait)? {
            Locked::Held(lock) => Locked::Held(Box::new(CountingLock {
                lock,
                counters: Arc::clone(&self.counters),
            })),
            other => other,
        })
    }

    fn temporary(&self, key: &Key) -> Result<Option<Box<dyn Temporary>>, StoreError> {
        let counters = Arc::clone(&self.counters);
        let temporary = self.inner.temporary(key)?;
        Ok(temporary.map(|temporary| {
            Box::new(CountingTemporary {
                temporary,
                counters,
            }) as _
        }))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        let _in_flight = self.counters.list();
        self.inner.list_dir(prefix)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        let _in_flight = self.counters.list();
        self.inner.list_prefix(prefix)
    }

    fn erase_prefix(&self, prefix: &Prefix, wait: Wait<'_>) -> Result<(), StoreError> {
        let _in_flight = self.counters.list();
        self.inner.erase_prefix(prefix, wait)
    }
}

struct CountingLock {
    lock: Box<dyn KeyLock>,
    counters: Arc<Counters>,
}

impl KeyLock for CountingLock {
    fn lock_value(&mut self, wait: Wait<'_>) -> Result<bool, StoreError> {
        self.lock.lock_value(wait)
    }

    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        let _in_flight = self.counters.fetch();
        self.lock
            .fetch(of, want)
            .inspect(|fetched| self.counters.answered(fetched))
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.counters.written(part.len());
        self.lock.append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.counters.written(part.len());
        self.lock.write_at(at, part)
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        let _in_flight = self.counters.put(&[]);
        self.lock.publish()
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        let _in_flight = self.counters.erase();
        self.lock.erase()
    }
}

#[derive(Debug)]
struct CountingTemporary {
    temporary: Box<dyn Temporary>,
    counters: Arc<Counters>,
}

impl Temporary for CountingTemporary {
    fn append(&self, part: &[u8]) -> Result<u64, StoreError> {
        self.counters.written(part.len());
        self.temporary.append(part)
    }

    fn write_at(&self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.counters.written(part.len());
        self.temporary.write_at(at, part)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        let _in_flight = self.counters.fetch();
        let part = self.temporary.read(range)?;
        add(&self.counters.ranges, 1);
        add(&self.counters.bytes_read, part.len());
        Ok(part)
    }

    fn publish(self: Box<Self>, lock: Box<dyn KeyLock>) -> Result<Pin, StoreError> {
        let Self {
            temporary,
            counters,
        } = *self;
        let _in_flight = counters.put(&[]);
        temporary.publish(lock)
    }
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn add(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}
