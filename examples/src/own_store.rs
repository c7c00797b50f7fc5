//! A custom store below the facade: changes on top of data that must not be touched.
//!
//! ```sh
//! cargo run --release -p examples --features all own_store
//! ```
//!
//! Keys that were not changed are read from the store below; writes go to memory. Arrays and groups
//! notice no difference.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ndzarr::store::{
    DirListing, Fetch, Fetched, Key, Of, Pin, Precondition, Prefix, Put, StoreError, Want,
};
use ndzarr::{Array, FsStore, Storage, Store, s};

/// Changes in memory on top of another store.
#[derive(Debug)]
struct Overlay<S> {
    below: S,
    changes: Mutex<BTreeMap<Key, Change>>,
}

/// The state of a changed key. A change with the same allocation is the same change.
#[derive(Clone, Debug)]
enum Change {
    Written(Bytes),
    Erased,
}

/// The meaning of a pin of this store: a value of one of the two layers.
enum State {
    Above(Bytes),
    Below(Pin),
}

impl<S: Store> Overlay<S> {
    fn new(below: S) -> Self {
        Self {
            below,
            changes: Mutex::default(),
        }
    }

    fn changes(&self) -> MutexGuard<'_, BTreeMap<Key, Change>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From below, unless the key was changed; pins are wrapped and unwrapped.
    fn fetch_below(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let below = |pin: &Pin| match pin.get() {
            Some(State::Below(pin)) => Some(pin.clone()),
            _ => None,
        };
        let of = match &fetch.of {
            Of::Any => Some(Of::Any),
            Of::Snapshot(pin) => below(pin).map(Of::Snapshot),
            Of::IfCurrent(pin) => below(pin).map(Of::IfCurrent),
        };
        // A value that was written here and no longer exists.
        let Some(of) = of else {
            return Ok(Fetched::Changed);
        };
        let fetch = Fetch {
            key: fetch.key.clone(),
            of,
            want: fetch.want.clone(),
        };
        Ok(match self.below.fetch(&fetch)? {
            Fetched::Parts { pin, size, parts } => Fetched::Parts {
                pin: Pin::new(State::Below(pin)),
                size,
                parts,
            },
            other => other,
        })
    }

    /// True if a write may proceed; the changes stay locked, so that no other comes between.
    fn holds(
        &self,
        changes: &BTreeMap<Key, Change>,
        key: &Key,
        only_if: &Precondition,
    ) -> Result<bool, StoreError> {
        let of = match only_if {
            Precondition::None => return Ok(true),
            Precondition::Absent => Of::Any,
            Precondition::Current(pin) => Of::IfCurrent(pin.clone()),
        };
        let want_absent = matches!(only_if, Precondition::Absent);
        Ok(match (changes.get(key), &of) {
            (Some(Change::Erased), _) => want_absent,
            (Some(Change::Written(value)), Of::IfCurrent(pin)) => is_same(pin, value),
            (Some(Change::Written(_)), _) => false,
            (None, _) => {
                let fetched = self.fetch_below(&Fetch {
                    key: key.clone(),
                    of,
                    want: Want::Size,
                })?;
                matches!(fetched, Fetched::Missing) == want_absent
                    && !matches!(fetched, Fetched::Changed)
            }
        })
    }

    fn change(&self, key: &Key, change: Change, only_if: &Precondition) -> Result<Put, StoreError> {
        let mut changes = self.changes();
        if !self.holds(&changes, key, only_if)? {
            return Ok(Put::Conflict);
        }
        let pin = match &change {
            Change::Written(value) => Some(Pin::new(State::Above(value.clone()))),
            Change::Erased => None,
        };
        changes.insert(key.clone(), change);
        Ok(Put::Done(pin))
    }
}

fn is_same(pin: &Pin, value: &Bytes) -> bool {
    matches!(pin.get(), Some(State::Above(pinned)) if pinned.as_ptr() == value.as_ptr() && pinned.len() == value.len())
}

impl<S: Store> Store for Overlay<S> {
    fn name(&self) -> String {
        format!("changes over {}", self.below.name())
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        // A pin keeps its value, so that a read can continue with it.
        if let Of::Snapshot(pin) = &fetch.of
            && let Some(State::Above(value)) = pin.get()
        {
            let (size, parts) = fetch.want.cut(&fetch.key, value)?;
            return Ok(Fetched::Parts {
                pin: pin.clone(),
                size,
                parts,
            });
        }
        let change = self.changes().get(&fetch.key).cloned();
        match (change, &fetch.of) {
            (None, _) | (_, Of::Snapshot(_)) => self.fetch_below(fetch),
            (Some(Change::Written(value)), Of::IfCurrent(pin)) if !is_same(pin, &value) => {
                Ok(Fetched::Changed)
            }
            (Some(Change::Erased), Of::IfCurrent(_)) => Ok(Fetched::Changed),
            (Some(Change::Erased), _) => Ok(Fetched::Missing),
            (Some(Change::Written(value)), _) => {
                let (size, parts) = fetch.want.cut(&fetch.key, &value)?;
                Ok(Fetched::Parts {
                    pin: Pin::new(State::Above(value)),
                    size,
                    parts,
                })
            }
        }
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.change(key, Change::Written(Bytes::from(parts.concat())), &only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.change(key, Change::Erased, &only_if)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        let mut listing = self.below.list_dir(prefix)?;
        for (key, change) in self.changes().iter() {
            let Some(rest) = key.as_str().strip_prefix(prefix.as_str()) else {
                continue;
            };
            let (names, name) = match rest.split_once('/') {
                Some((folder, _)) => (&mut listing.prefixes, folder),
                None => (&mut listing.keys, rest),
            };
            match change {
                Change::Written(_) if !names.iter().any(|other| other == name) => {
                    names.push(name.to_owned())
                }
                // Empty folders stay: readers do not mind them.
                Change::Erased if !rest.contains('/') => names.retain(|other| other != name),
                _ => {}
            }
        }
        Ok(listing)
    }
}

/// Runs the example.
///
/// # Errors
/// The array below cannot be read.
pub fn main() -> ndzarr::Result<()> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/zarr3/zp3-shard-inner-zstd/store");
    let untouched = Array::<u16>::open(&folder)?;
    let storage = Storage::blocking(Overlay::new(FsStore::new(&folder)));
    let mut changed = Array::<u16>::open(&storage)?;

    // Parts of shards: read from below, merged and written above, with conditional writes.
    changed.fill(s![3..5, 1..4], 1)?;
    changed.merge_attributes(serde_json::json!({"changed": true}))?;

    let mut expected = untouched.read(s![.., ..])?;
    expected.slice_mut(s![3..5, 1..4]).fill(1);
    assert_eq!(changed.read(s![.., ..])?, expected);

    println!("{}\n", storage.name());
    println!("as it is:\n{}\n", untouched.read(s![2..6, ..])?);
    println!("as it was changed:\n{}\n", changed.read(s![2..6, ..])?);
    println!(
        "attributes: {}",
        serde_json::Value::from(changed.attributes().clone())
    );
    assert_eq!(Array::<u16>::open(&folder)?.read(..)?, untouched.read(..)?);
    Ok(())
}
