//! A store that a copy writes to only while its note exists.
//!
//! A copy may be taken for dead while it only waits: another call goes on with it, begins another
//! one in its place, or removes what it has written. From then on nothing that it still has in hand
//! is published. In a store with locks the note is looked at under the lock of each value, and a
//! call that takes the note away removes values under the same locks afterwards.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ndzarr_engine::{AnyStore, with_files};
use ndzarr_store::{
    AsyncStore, Fetch, Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Prefix, Put, Store,
    StoreError, Temporary, Wait, Want,
};

/// The store, with every write on the condition that `note` has the value `text`.
pub(super) fn fenced(store: AnyStore, note: &Key, text: &Bytes) -> AnyStore {
    let note = Noted {
        key: note.clone(),
        text: text.clone(),
    };
    match store {
        AnyStore::Blocking(store) => AnyStore::Blocking(Arc::new(Fenced { store, note })),
        AnyStore::Async(store) => AnyStore::Async(Arc::new(Fenced { store, note })),
    }
}

#[derive(Clone, Debug)]
struct Fenced<S> {
    store: S,
    note: Noted,
}

/// The note of a copy, as its call has written it.
#[derive(Clone, Debug)]
struct Noted {
    key: Key,
    text: Bytes,
}

impl Noted {
    fn fetch(&self) -> Fetch {
        // Another note may be longer: so much of it tells.
        let want = Want::Whole {
            limit: self.text.len() as u64,
        };
        Fetch {
            key: self.key.clone(),
            of: Of::Any,
            want,
        }
    }

    /// Fails unless this was found.
    fn check(&self, found: Result<Fetched, StoreError>) -> Result<(), StoreError> {
        let is_own = match found {
            Ok(Fetched::Parts { parts, .. }) => parts.concat() == self.text,
            Ok(Fetched::Missing | Fetched::Changed) | Err(StoreError::TooLarge { .. }) => false,
            Err(error) => return Err(error),
        };
        if is_own {
            Ok(())
        } else {
            Err(StoreError::LockLost {
                action: "publish",
                key: self.key.to_string(),
            })
        }
    }
}

impl Fenced<Arc<dyn Store>> {
    fn check(&self) -> Result<(), StoreError> {
        self.note
            .check(with_files(|| self.store.fetch(&self.note.fetch())))
    }
}

impl Fenced<Arc<dyn AsyncStore>> {
    async fn check(&self) -> Result<(), StoreError> {
        self.note.check(self.store.fetch(&self.note.fetch()).await)
    }
}

impl Store for Fenced<Arc<dyn Store>> {
    fn inner(&self) -> Option<&dyn Store> {
        Some(&*self.store)
    }

    fn name(&self) -> String {
        self.store.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.store.fetch(fetch)
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.check()?;
        self.store.put(key, parts, only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.check()?;
        self.store.erase(key, only_if)
    }

    fn erase_prefix(&self, prefix: &Prefix, wait: Wait<'_>) -> Result<(), StoreError> {
        self.check()?;
        self.store.erase_prefix(prefix, wait)
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        Ok(match self.store.lock(key, wait)? {
            Locked::Held(lock) => Locked::Held(Box::new(FencedLock {
                lock,
                fence: self.clone(),
            })),
            other => other,
        })
    }

    fn temporary(&self, key: &Key) -> Result<Option<Box<dyn Temporary>>, StoreError> {
        let temporary = self.store.temporary(key)?;
        Ok(temporary.map(|temporary| -> Box<dyn Temporary> {
            Box::new(FencedTemporary {
                temporary,
                fence: self.clone(),
            })
        }))
    }
}

impl AsyncStore for Fenced<Arc<dyn AsyncStore>> {
    fn inner(&self) -> Option<&dyn AsyncStore> {
        Some(&*self.store)
    }

    fn name(&self) -> String {
        self.store.name()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        self.store.fetch(fetch)
    }

    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(async move {
            self.check().await?;
            self.store.put(key, parts, only_if).await
        })
    }

    fn erase<'a>(
        &'a self,
        key: &'a Key,
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(async move {
            self.check().await?;
            self.store.erase(key, only_if).await
        })
    }

    fn erase_keys<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.check().await?;
            self.store.erase_keys(keys).await
        })
    }

    fn erase_prefix<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            self.check().await?;
            self.store.erase_prefix(prefix).await
        })
    }
}

struct FencedLock {
    lock: Box<dyn KeyLock>,
    fence: Fenced<Arc<dyn Store>>,
}

impl KeyLock for FencedLock {
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.lock.fetch(of, want)
    }

    fn lock_value(&mut self, wait: Wait<'_>) -> Result<bool, StoreError> {
        self.lock.lock_value(wait)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.lock.append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.lock.write_at(at, part)
    }

    fn copy_at(&mut self, at: u64, pin: &Pin, range: Range<u64>) -> Result<bool, StoreError> {
        self.lock.copy_at(at, pin, range)
    }

    fn check(&mut self) -> Result<(), StoreError> {
        self.lock.check()
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        self.fence.check()?;
        self.lock.publish()
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        self.fence.check()?;
        self.lock.erase()
    }
}

#[derive(Debug)]
struct FencedTemporary {
    temporary: Box<dyn Temporary>,
    fence: Fenced<Arc<dyn Store>>,
}

impl Temporary for FencedTemporary {
    fn append(&self, part: &[u8]) -> Result<u64, StoreError> {
        self.temporary.append(part)
    }

    fn write_at(&self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.temporary.write_at(at, part)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.temporary.read(range)
    }

    fn publish(self: Box<Self>, lock: Box<dyn KeyLock>) -> Result<Pin, StoreError> {
        // The lock is that of the store, and checks the note only when it publishes itself.
        self.fence.check()?;
        self.temporary.publish(lock)
    }
}
