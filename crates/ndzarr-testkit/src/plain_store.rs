//! A store without locks and conditional writes.

use bytes::Bytes;
use ndzarr_store::{Can, Key, Precondition, Put, Store, StoreError};

use crate::forward;

/// A store without locks and conditional writes, which cannot serialize writers.
///
/// ```
/// use ndzarr_store::{Key, Locked, MemoryStore, Precondition, Put, Store, Wait};
/// use ndzarr_testkit::PlainStore;
///
/// # fn main() -> Result<(), ndzarr_store::StoreError> {
/// let store = PlainStore::new(MemoryStore::new());
/// let key = Key::new("a")?;
/// assert!(matches!(store.lock(&key, Wait::Block)?, Locked::Unsupported));
/// assert!(matches!(store.put(&key, &[], Precondition::Absent)?, Put::Unsupported));
/// assert!(matches!(store.put(&key, &[], Precondition::None)?, Put::Done(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PlainStore<S>(S);

impl<S> PlainStore<S> {
    /// Hides the locks and conditional writes of a store.
    pub fn new(inner: S) -> Self {
        Self(inner)
    }

    /// The wrapped store.
    pub fn inner(&self) -> &S {
        &self.0
    }
}

impl<S: Store> Store for PlainStore<S> {
    forward!(0: name, fetch, list_dir, list_prefix, range_merging);

    fn can(&self) -> Can {
        Can {
            put_if: false,
            erase_if: false,
            lock: false,
            ..self.0.can()
        }
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        match only_if {
            Precondition::None => self.0.put(key, parts, only_if),
            Precondition::Absent | Precondition::Current(_) => Ok(Put::Unsupported),
        }
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        match only_if {
            Precondition::None => self.0.erase(key, only_if),
            Precondition::Absent | Precondition::Current(_) => Ok(Put::Unsupported),
        }
    }
}
