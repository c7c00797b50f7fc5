//! A store that records every change, so that a test can stop a writer at any of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ndzarr_store::{Key, MemoryStore, Precondition, Put, Store, StoreError};

use crate::forward;

/// A store that records every change, in order. Clones share the log.
///
/// It has no locks, so preconditions serialize writers, and it erases prefixes key by key: each
/// moment at which a writer could be stopped is another entry of the log.
///
/// ```
/// use ndzarr_store::{Key, MemoryStore, Precondition, Store};
/// use ndzarr_testkit::RecordingStore;
///
/// # fn main() -> Result<(), ndzarr_store::StoreError> {
/// let store = RecordingStore::new(MemoryStore::new());
/// store.put(&Key::new("a")?, &["first".into()], Precondition::None)?;
/// store.erase(&Key::new("a")?, Precondition::None)?;
/// let log = store.log();
/// assert_eq!(log[0].replay_into(&MemoryStore::new())?.get("a").as_deref(), Some(&b"first"[..]));
/// assert_eq!((log.len(), &log[1].value), (2, &None));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RecordingStore<S> {
    inner: S,
    log: Arc<Mutex<Vec<Change>>>,
}

/// A change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key that was written or erased.
    pub key: Key,
    /// Its new value, `None` if it was erased.
    pub value: Option<Bytes>,
}

impl Change {
    /// Makes the same change in another store, which is returned.
    ///
    /// # Errors
    /// Those of [`Store::put`].
    pub fn replay_into<'s>(&self, store: &'s MemoryStore) -> Result<&'s MemoryStore, StoreError> {
        match &self.value {
            Some(value) => store.put(&self.key, std::slice::from_ref(value), Precondition::None)?,
            None => store.erase(&self.key, Precondition::None)?,
        };
        Ok(store)
    }
}

impl<S> RecordingStore<S> {
    /// A store with an empty log.
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            log: Arc::default(),
        }
    }

    /// The changes up to now.
    #[must_use]
    pub fn log(&self) -> Vec<Change> {
        self.changes().clone()
    }

    fn changes(&self) -> MutexGuard<'_, Vec<Change>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Store> Store for RecordingStore<S> {
    forward!(inner: name, fetch, list_dir, list_prefix, range_merging, can);

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        // Held during the change, so that the log has the order in which changes happened.
        let mut log = self.changes();
        let put = self.inner.put(key, parts, only_if)?;
        if matches!(put, Put::Done(_)) {
            log.push(Change {
                key: key.clone(),
                value: Some(parts.concat().into()),
            });
        }
        Ok(put)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        let mut log = self.changes();
        let put = self.inner.erase(key, only_if)?;
        if matches!(put, Put::Done(_)) {
            log.push(Change {
                key: key.clone(),
                value: None,
            });
        }
        Ok(put)
    }
}
