//! A store that finds calls which take locks in opposite orders.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use bytes::Bytes;
use ndzarr_store::{
    Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Prefix, Put, Store, StoreError, Wait,
    Want, is_numbered,
};

use crate::forward;

/// A record of the locks that calls wait for while they hold others. Clones share the record.
///
/// Locks are distinguished by what they protect: chunks, or documents by their file names. If two
/// calls take two kinds in opposite orders, or one call two of a kind, they can deadlock. This
/// shows it even in a run that happens to end well.
///
/// ```
/// use ndzarr_store::{Key, Locked, MemoryStore, Store, StoreError, Wait};
/// use ndzarr_testkit::LockOrder;
///
/// # fn main() -> Result<(), StoreError> {
/// let order = LockOrder::new();
/// let store = order.caller(MemoryStore::new());
/// assert!(matches!(store.lock(&Key::new("a/zarr.json")?, Wait::Block)?, Locked::Unsupported));
/// order.check();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct LockOrder(Arc<Mutex<BTreeMap<Pair, [Key; 2]>>>);

/// The locks that were held, and those that were waited for.
type Pair = (String, String);

impl LockOrder {
    /// An empty record.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The store as seen by one caller, who makes one call at a time: all documents held through it
    /// belong to that call, on any thread. The lock of a chunk is taken, used and released by one
    /// thread.
    pub fn caller<S>(&self, inner: S) -> LockOrderStore<S> {
        LockOrderStore {
            inner,
            order: self.clone(),
            held: Arc::default(),
            refused: Arc::default(),
        }
    }

    /// The locks held while another one was waited for.
    #[must_use]
    pub fn pairs(&self) -> Vec<(String, String)> {
        self.seen().keys().cloned().collect()
    }

    /// Checks that there is an order.
    ///
    /// # Panics
    /// If calls can wait for each other in a circle.
    pub fn check(&self) {
        let seen = self.seen();
        for start in seen.keys().map(|(held, _)| held) {
            let mut pending = vec![start];
            let mut reached = BTreeSet::new();
            while let Some(kind) = pending.pop() {
                for (_, wanted) in seen.keys().filter(|(held, _)| held == kind) {
                    assert_ne!(
                        wanted, start,
                        "locks are taken in a circle; held and waited for: {seen:#?}"
                    );
                    if reached.insert(wanted) {
                        pending.push(wanted);
                    }
                }
            }
        }
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<Pair, [Key; 2]>> {
        lock(&self.0)
    }
}

/// A store that notes for a [`LockOrder`] in which order locks are taken.
///
/// It refuses each lock once when it is tried, as if another writer had it, so that calls wait for
/// it.
#[derive(Clone, Debug)]
pub struct LockOrderStore<S> {
    inner: S,
    order: LockOrder,
    held: Arc<Mutex<Vec<(Key, ThreadId)>>>,
    refused: Arc<Mutex<HashSet<Key>>>,
}

impl<S> LockOrderStore<S> {
    /// Notes that the caller waits for a lock.
    fn note_wait(&self, key: &Key) -> Result<(), StoreError> {
        let this_thread = thread::current().id();
        for (held, thread) in lock(&self.held).iter() {
            if is_numbered(held.name()) && *thread != this_thread {
                continue;
            }
            self.order
                .seen()
                .entry((kind(held), kind(key)))
                .or_insert_with(|| [held.clone(), key.clone()]);
            if held == key {
                let what = "the call holds it itself".to_owned();
                return Err(StoreError::Other {
                    action: "lock",
                    key: key.to_string(),
                    what,
                });
            }
        }
        Ok(())
    }
}

fn kind(key: &Key) -> String {
    let name = key.name();
    // The draft's documents begin with the name of their node.
    let of_draft = [".array.json", ".group.json"]
        .into_iter()
        .find(|end| name.ends_with(end));
    if is_numbered(name) {
        "chunk"
    } else {
        of_draft.unwrap_or(name)
    }
    .to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: Store> Store for LockOrderStore<S> {
    forward!(inner: name, fetch, has, temporary, list_dir, place, list_prefix, list_lengths, range_merging, writes_wait, fetch_pieces, can);

    /// In a store with locks, a put waits for that of the key.
    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.note_wait(key)?;
        self.inner.put(key, parts, only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.note_wait(key)?;
        self.inner.erase(key, only_if)
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        let tries = matches!(wait, Wait::Try);
        if !tries {
            self.note_wait(key)?;
        }
        Ok(match self.inner.lock(key, wait)? {
            Locked::Held(_) if tries && lock(&self.refused).insert(key.clone()) => Locked::Busy,
            Locked::Held(inner) => {
                lock(&self.held).push((key.clone(), thread::current().id()));
                let held = Held {
                    key: key.clone(),
                    all: Arc::clone(&self.held),
                };
                Locked::Held(Box::new(OrderedLock { held, inner }))
            }
            other => other,
        })
    }

    fn erase_prefix(&self, prefix: &Prefix, wait: Wait<'_>) -> Result<(), StoreError> {
        // Held keys may have no value yet, so that they are not listed.
        let held: Vec<Key> = lock(&self.held)
            .iter()
            .map(|(key, _)| key.clone())
            .collect();
        let mut keys = self.inner.list_prefix(prefix)?;
        keys.extend(
            held.into_iter()
                .filter(|key| key.as_str().starts_with(prefix.as_str())),
        );
        for key in &keys {
            self.note_wait(key)?;
        }
        self.inner.erase_prefix(prefix, wait)
    }
}

struct OrderedLock {
    /// Dropped first: the next holder of the lock makes its own note.
    held: Held,
    inner: Box<dyn KeyLock>,
}

/// The note that a key is held.
struct Held {
    key: Key,
    all: Arc<Mutex<Vec<(Key, ThreadId)>>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = lock(&self.all);
        if let Some(at) = all.iter().position(|(key, _)| *key == self.key) {
            all.swap_remove(at);
        }
    }
}

impl KeyLock for OrderedLock {
    fn lock_value(&mut self, wait: Wait<'_>) -> Result<bool, StoreError> {
        self.inner.lock_value(wait)
    }

    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.inner.fetch(of, want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.inner.append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.inner.write_at(at, part)
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        let Self { held, inner } = *self;
        drop(held);
        inner.publish()
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        let Self { held, inner } = *self;
        drop(held);
        inner.erase()
    }
}
