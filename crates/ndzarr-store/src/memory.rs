//! `MemoryStore`: a store in the memory of the process.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::per_process::{this_process, try_lock};
use crate::{
    DirListing, Fetch, Fetched, Key, Listed, Of, Pin, Precondition, Prefix, Put, Store, StoreError,
    Wait,
};

/// A store in this process's memory. Clones share their values.
///
/// Preconditions serialize writers: every value has a generation, and a pin keeps the value that it
/// names. There are no locks. Unlike in a file system, `a` and `a/b` may both have values.
///
/// A forked child has a copy. If a thread of its parent was using the store at that moment, the
/// copy may be half changed, and calls on it are errors after some seconds.
///
/// ```
/// use ndzarr::store::{Key, Precondition, Put};
/// use ndzarr::{MemoryStore, Store};
///
/// # fn main() -> Result<(), ndzarr::store::StoreError> {
/// let store = MemoryStore::new();
/// let key = Key::new("a/b")?;
/// assert!(matches!(store.put(&key, &["first".into()], Precondition::Absent)?, Put::Done(_)));
/// assert!(matches!(store.put(&key, &["second".into()], Precondition::Absent)?, Put::Conflict));
/// assert_eq!(store.get("a/b").as_deref(), Some(&b"first"[..]));
/// assert_eq!(store.keys(), ["a/b"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    values: Arc<Mutex<BTreeMap<Key, Value>>>,
    generations: Arc<AtomicU64>,
    /// The process that made the store.
    process: u32,
}

/// How long a forked child waits for the lock of its copy.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The pause between two attempts.
const LOCK_PAUSE: Duration = Duration::from_micros(100);

#[derive(Clone, Debug)]
struct Value {
    bytes: Bytes,
    name: Name,
}

/// Names one state of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name {
    generation: u64,
    /// Identifies the store: the address of the state that its clones share.
    store: usize,
}

impl Value {
    fn pin(self) -> Pin {
        Pin::holding(self, |value| Some(Pin::new(value.name)))
    }

    fn is_named_by(&self, pin: &Pin) -> bool {
        Some(&self.name)
            == pin
                .get::<Self>()
                .map(|value| &value.name)
                .or_else(|| pin.get())
    }
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value under a key, for tests and for passing values on.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Bytes> {
        let key = Key::new(key).ok()?;
        self.values()
            .ok()?
            .get(&key)
            .map(|value| value.bytes.clone())
    }

    /// Sets the value under a key.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`]; in a forked child, a thread of its parent was using the store.
    pub fn set(&self, key: &str, value: impl Into<Bytes>) -> Result<(), StoreError> {
        let key = Key::new(key)?;
        let value = value.into();
        self.insert(&mut *self.values()?, &key, value);
        Ok(())
    }

    /// Every key, in order.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        self.values().map_or_else(
            |_| Vec::new(),
            |values| values.keys().map(ToString::to_string).collect(),
        )
    }

    fn id(&self) -> usize {
        Arc::as_ptr(&self.values).addr()
    }

    /// The map is changed by single calls that do not panic half-way, so a poisoned one is intact.
    fn values(&self) -> Result<MutexGuard<'_, BTreeMap<Key, Value>>, StoreError> {
        if let Some(values) = try_lock(&self.values) {
            return Ok(values);
        }
        if self.process == this_process() {
            return Ok(self.values.lock().unwrap_or_else(PoisonError::into_inner));
        }
        // A thread of this process has the lock for a moment, or one of the parent for ever.
        let start = Instant::now();
        while start.elapsed() < LOCK_WAIT {
            std::thread::sleep(LOCK_PAUSE);
            if let Some(values) = try_lock(&self.values) {
                return Ok(values);
            }
        }
        Err(StoreError::Unsupported(
            "use memory that a thread of the parent was using when this process was forked",
        ))
    }

    fn insert(&self, values: &mut BTreeMap<Key, Value>, key: &Key, bytes: Bytes) -> Pin {
        let generation = self.generations.fetch_add(1, Ordering::Relaxed);
        let value = Value {
            bytes,
            name: Name {
                generation,
                store: self.id(),
            },
        };
        values.insert(key.clone(), value.clone());
        value.pin()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            values: Arc::default(),
            generations: Arc::default(),
            process: this_process(),
        }
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryStore({} values)", self.keys().len())
    }
}

impl Store for MemoryStore {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let current = self.values()?.get(&fetch.key).cloned();
        let value = match &fetch.of {
            Of::Any => match current {
                Some(value) => value,
                None => return Ok(Fetched::Missing),
            },
            Of::Snapshot(pin) | Of::IfCurrent(pin) => {
                let pinned = pin
                    .get::<Value>()
                    .filter(|_| matches!(fetch.of, Of::Snapshot(_)));
                match pinned
                    .cloned()
                    .or_else(|| current.filter(|current| current.is_named_by(pin)))
                {
                    Some(value) => value,
                    None => return Ok(Fetched::Changed),
                }
            }
        };
        let (size, parts) = fetch.want.cut(&fetch.key, &value.bytes)?;
        Ok(Fetched::Parts {
            pin: value.pin(),
            size,
            parts,
        })
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        let bytes = match parts {
            [one] => one.clone(),
            many => many.concat().into(),
        };
        let mut values = self.values()?;
        if !precondition_holds(&values, key, &only_if) {
            return Ok(Put::Conflict);
        }
        Ok(Put::Done(Some(self.insert(&mut values, key, bytes))))
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        let mut values = self.values()?;
        if !precondition_holds(&values, key, &only_if) {
            return Ok(Put::Conflict);
        }
        values.remove(key);
        Ok(Put::Done(None))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        let mut listing = DirListing::default();
        for key in keys_below(&*self.values()?, prefix) {
            let rest = &key.as_str()[prefix.as_str().len()..];
            match rest.split_once('/') {
                None => listing.keys.push(rest.to_owned()),
                // Keys are in order, so those that start with the same "a/" are neighbours.
                Some((name, _)) if listing.prefixes.last().is_none_or(|last| last != name) => {
                    listing.prefixes.push(name.to_owned());
                }
                Some(_) => {}
            }
        }
        Ok(listing)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        Ok(keys_below(&*self.values()?, prefix).cloned().collect())
    }

    fn list_lengths(
        &self,
        prefix: &Prefix,
        take: &mut dyn FnMut(&Key, Listed),
    ) -> Result<(), StoreError> {
        for key in self.list_prefix(prefix)? {
            let byte_len = self
                .values()?
                .get(&key)
                .map(|value| value.bytes.len() as u64);
            if let Some(byte_len) = byte_len {
                take(&key, Listed::Value(byte_len));
            }
        }
        Ok(())
    }

    /// Atomically: no other write comes in between.
    fn erase_prefix(&self, prefix: &Prefix, _wait: Wait<'_>) -> Result<(), StoreError> {
        self.values()?
            .retain(|key, _| !key.as_str().starts_with(prefix.as_str()));
        Ok(())
    }
}

fn keys_below<'a>(
    values: &'a BTreeMap<Key, Value>,
    prefix: &'a Prefix,
) -> impl Iterator<Item = &'a Key> {
    let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
    values
        .range::<str, _>(from)
        .map(|(key, _)| key)
        .take_while(|key| key.as_str().starts_with(prefix.as_str()))
}

fn precondition_holds(values: &BTreeMap<Key, Value>, key: &Key, only_if: &Precondition) -> bool {
    match only_if {
        Precondition::None => true,
        Precondition::Absent => !values.contains_key(key),
        Precondition::Current(pin) => values
            .get(key)
            .is_some_and(|current| current.is_named_by(pin)),
    }
}
