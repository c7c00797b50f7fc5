//! A store whose calls fail on demand.

use std::ops::Range;
use std::pin::Pin as Pinned;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ndzarr_store::{
    AsyncStore, Can, DirListing, Fetch, Fetched, Key, KeyLock, Locked, Of, Pin, Precondition,
    Prefix, Put, RangeMerging, Store, StoreError, Temporary, Wait, Want,
};

use crate::forward;

/// A store, blocking or asynchronous, that fails on request. Clones fail together.
///
/// ```
/// use ndzarr_store::{Key, MemoryStore, Precondition, Store, StoreError};
/// use ndzarr_testkit::{Call, FaultStore};
///
/// # fn main() -> Result<(), StoreError> {
/// let store = FaultStore::new(MemoryStore::new());
/// let key = Key::new("a")?;
/// store.fail_nth(Call::Put, 1, StoreError::Unsupported("do it twice"));
/// assert!(store.put(&key, &[], Precondition::None).is_ok());
/// assert!(store.put(&key, &[], Precondition::None).is_err());
/// assert!(store.put(&key, &[], Precondition::None).is_ok());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct FaultStore<S> {
    inner: S,
    faults: Faults,
}

/// A kind of call to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Every kind.
    Any,
    /// A fetch, also under a lock or from a temporary.
    Fetch,
    /// A put.
    Put,
    /// An erasure by key, also under a lock.
    Erase,
    /// A lock.
    Lock,
    /// The making of a temporary.
    Temporary,
    /// An append to or a write into a new value under a lock, or a temporary.
    Write,
    /// The publication of a new value under a lock, or of a temporary.
    Publish,
    /// A listing or the erasure of a prefix.
    List,
}

#[derive(Clone, Debug, Default)]
struct Faults(Arc<Mutex<Vec<Fault>>>);

#[derive(Debug)]
struct Fault {
    call: Call,
    when: When,
    error: StoreError,
}

/// The calls that a fault makes fail.
#[derive(Debug)]
enum When {
    /// Once, after this many successful calls.
    Nth(u64),
    /// Always, after this many successful calls.
    From(u64),
    /// Every call on this key or prefix.
    Name(String),
}

impl<S> FaultStore<S> {
    /// A store that does not fail yet.
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            faults: Faults::default(),
        }
    }

    /// The store that answers when it does not fail.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Lets `after` more calls of this kind succeed, fails the next one, and then succeeds again.
    pub fn fail_nth(&self, call: Call, after: u64, error: StoreError) {
        self.faults.list().push(Fault {
            call,
            when: When::Nth(after),
            error,
        });
    }

    /// Lets `after` more calls of this kind succeed, and fails all others until
    /// [`heal`](Self::heal), as if the process had been killed at that call.
    pub fn fail_from(&self, call: Call, after: u64, error: StoreError) {
        self.faults.list().push(Fault {
            call,
            when: When::From(after),
            error,
        });
    }

    /// Fails every call of this kind on this key, or this prefix for listings, until
    /// [`heal`](Self::heal).
    pub fn fail_key(&self, call: Call, key: impl ToString, error: StoreError) {
        self.faults.list().push(Fault {
            call,
            when: When::Name(key.to_string()),
            error,
        });
    }

    /// Stops failing. Returns how many faults were set and did not occur, including those that stay
    /// for a key.
    pub fn heal_unused(&self) -> usize {
        std::mem::take(&mut *self.faults.list()).len()
    }

    /// Stops failing.
    pub fn heal(&self) {
        self.faults.list().clear();
    }
}

impl Faults {
    fn list(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, call: Call, name: &str) -> Result<(), StoreError> {
        let mut faults = self.list();
        let mut due = None;
        for (i, fault) in faults.iter_mut().enumerate() {
            if fault.call != Call::Any && fault.call != call {
                continue;
            }
            match &mut fault.when {
                When::Name(failing) if failing == name => return Err(fault.error.clone()),
                When::Name(_) => {}
                When::From(0) => return Err(fault.error.clone()),
                When::Nth(0) => due = due.or(Some(i)),
                When::Nth(n) | When::From(n) => *n -= 1,
            }
        }
        match due {
            Some(i) => Err(faults.remove(i).error),
            None => Ok(()),
        }
    }
}

impl<S: Store> Store for FaultStore<S> {
    forward!(inner: name, place, unlisted_names, range_merging, can);

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.faults.check(Call::Fetch, fetch.key.as_str())?;
        self.inner.fetch(fetch)
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.faults.check(Call::Put, key.as_str())?;
        self.inner.put(key, parts, only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.faults.check(Call::Erase, key.as_str())?;
        self.inner.erase(key, only_if)
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        self.faults.check(Call::Lock, key.as_str())?;
        Ok(match self.inner.lock(key, wait)? {
            Locked::Held(lock) => Locked::Held(Box::new(FaultLock {
                lock,
                key: key.clone(),
                faults: self.faults.clone(),
            })),
            other => other,
        })
    }

    fn temporary(&self, key: &Key) -> Result<Option<Box<dyn Temporary>>, StoreError> {
        self.faults.check(Call::Temporary, key.as_str())?;
        Ok(self.inner.temporary(key)?.map(|temporary| {
            Box::new(FaultTemporary {
                temporary,
                key: key.clone(),
                faults: self.faults.clone(),
            }) as _
        }))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        self.faults.check(Call::List, prefix.as_str())?;
        self.inner.list_dir(prefix)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.faults.check(Call::List, prefix.as_str())?;
        self.inner.list_prefix(prefix)
    }

    fn erase_prefix(&self, prefix: &Prefix, wait: Wait<'_>) -> Result<(), StoreError> {
        self.faults.check(Call::List, prefix.as_str())?;
        self.inner.erase_prefix(prefix, wait)
    }
}

impl<S: AsyncStore> AsyncStore for FaultStore<S> {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        Box::pin(async move {
            self.faults.check(Call::Fetch, fetch.key.as_str())?;
            self.inner.fetch(fetch).await
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(async move {
            self.faults.check(Call::Put, key.as_str())?;
            self.inner.put(key, parts, only_if).await
        })
    }

    fn erase<'a>(
        &'a self,
        key: &'a Key,
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(async move {
            self.faults.check(Call::Erase, key.as_str())?;
            self.inner.erase(key, only_if).await
        })
    }

    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        Box::pin(async move {
            self.faults.check(Call::List, prefix.as_str())?;
            self.inner.list_dir(prefix).await
        })
    }

    fn list_prefix<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxFuture<'a, Result<Vec<Key>, StoreError>> {
        Box::pin(async move {
            self.faults.check(Call::List, prefix.as_str())?;
            self.inner.list_prefix(prefix).await
        })
    }

    fn unlisted_names<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        self.inner.unlisted_names(prefix)
    }

    fn can(&self) -> Can {
        self.inner.can()
    }

    fn range_merging(&self) -> RangeMerging {
        self.inner.range_merging()
    }

    fn block_on(&self, future: Pinned<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        self.inner.block_on(future)
    }
}

struct FaultLock {
    lock: Box<dyn KeyLock>,
    key: Key,
    faults: Faults,
}

impl KeyLock for FaultLock {
    fn lock_value(&mut self, wait: Wait<'_>) -> Result<bool, StoreError> {
        self.lock.lock_value(wait)
    }

    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.faults.check(Call::Fetch, self.key.as_str())?;
        self.lock.fetch(of, want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.faults.check(Call::Write, self.key.as_str())?;
        self.lock.append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.faults.check(Call::Write, self.key.as_str())?;
        self.lock.write_at(at, part)
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        self.faults.check(Call::Publish, self.key.as_str())?;
        self.lock.publish()
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        self.faults.check(Call::Erase, self.key.as_str())?;
        self.lock.erase()
    }
}

#[derive(Debug)]
struct FaultTemporary {
    temporary: Box<dyn Temporary>,
    key: Key,
    faults: Faults,
}

impl Temporary for FaultTemporary {
    fn append(&self, part: &[u8]) -> Result<u64, StoreError> {
        self.faults.check(Call::Write, self.key.as_str())?;
        self.temporary.append(part)
    }

    fn write_at(&self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.faults.check(Call::Write, self.key.as_str())?;
        self.temporary.write_at(at, part)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.faults.check(Call::Fetch, self.key.as_str())?;
        self.temporary.read(range)
    }

    fn publish(self: Box<Self>, lock: Box<dyn KeyLock>) -> Result<Pin, StoreError> {
        self.faults.check(Call::Publish, self.key.as_str())?;
        let Self { temporary, .. } = *self;
        temporary.publish(lock)
    }
}
