//! `NewArchive`: appends values to a temporary, and makes an archive of it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Bound, Range};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use bytes::Bytes;
use flate2::Crc;
use ndzarr_store::{
    DirListing, Fetch, Fetched, Key, Locked, Of, Pin, Precondition, Prefix, RangeMerging, Store,
    StoreError, Temporary, Wait, Want,
};

use crate::key_turn::Turns;
use crate::records::{self, LOCAL_CRC_AT, Stored};
use crate::store::ZipStore;
use crate::wanted;

/// The most that is copied at once, in bytes.
const PIECE_BYTES: u64 = 1 << 20;

/// The archive is copied without its unused bytes if more than one in this many bytes is unused.
const ONE_UNUSED_IN: u64 = 10;

/// A new archive: values in a temporary of the store that is to have it.
pub(crate) struct NewArchive {
    base: Arc<dyn Store>,
    key: Key,
    /// `None` once the archive is finished, or failed to be.
    temporary: RwLock<Option<Box<dyn Temporary>>>,
    /// The length of the temporary, in bytes. Locked while a value is appended, so that its parts
    /// stay together.
    end: Mutex<u64>,
    entries: Mutex<Entries>,
    turns: Arc<Turns>,
    /// The finished archive, or why it could not be opened for reading.
    finished: OnceLock<Result<ZipStore<Arc<dyn Store>>, StoreError>>,
}

#[derive(Default)]
struct Entries {
    values: BTreeMap<Key, Value>,
    /// The number of bytes of the temporary that the values and their headers take.
    used: u64,
    generation: u64,
}

#[derive(Clone, Copy)]
struct Value {
    stored: Stored,
    /// Where it begins, in bytes of the archive.
    start: u64,
    generation: u64,
}

/// Names a value of an archive. It keeps the archive alive, so that no other one gets its address.
struct Pinned {
    value: Value,
    archive: Arc<NewArchive>,
}

impl NewArchive {
    pub(crate) fn create(base: Arc<dyn Store>, key: Key) -> Result<Self, StoreError> {
        let temporary = base.temporary(&key)?;
        let temporary = temporary.ok_or(StoreError::Unsupported(
            "write an archive: it has no temporaries",
        ))?;
        Ok(Self {
            base,
            key,
            temporary: RwLock::new(Some(temporary)),
            end: Mutex::default(),
            entries: Mutex::default(),
            turns: Arc::default(),
            finished: OnceLock::new(),
        })
    }

    /// The name of the archive in errors.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}|zip:", self.base.name(), self.key)
    }

    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    pub(crate) fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }

    pub(crate) fn range_merging(&self) -> RangeMerging {
        self.base.range_merging()
    }

    pub(crate) fn n_values(&self) -> usize {
        self.entries().values.len()
    }

    /// Writes the directory and publishes the archive.
    pub(crate) fn finish(&self, comment: &[u8]) -> Result<(), StoreError> {
        if comment.len() > usize::from(u16::MAX) {
            return Err(self.failed(
                "finish the archive",
                "its comment is longer than 65535 bytes",
            ));
        }
        // No value is half written now, and none is added from now on.
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let mut slot = self
            .temporary
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let mut temporary = slot.take().ok_or_else(|| self.finished_error())?;
        let mut values: Vec<(Key, Stored)> = self
            .entries()
            .values
            .iter()
            .map(|(key, value)| (key.clone(), value.stored))
            .collect();
        // Stable: the rest stays in the order of the keys.
        values.sort_by_cached_key(|(key, _)| match key.name() {
            "zarr.json" => (0, key.as_str().matches('/').count()),
            _ => (1, 0),
        });
        let unused = *end - self.entries().used;
        if unused.saturating_mul(ONE_UNUSED_IN) > *end {
            temporary = self.without_unused(&*temporary, &mut values, &mut end)?;
        }
        let start = *end;
        let mut directory = Vec::new();
        for (key, stored) in &values {
            stored.add_central(key, &mut directory);
        }
        let n_values = values.len() as u64;
        directory.extend(records::end(
            n_values,
            directory.len() as u64,
            start,
            comment,
        ));
        if temporary.append(&directory)? != start {
            return Err(self.failed("finish the archive", "a value could not be written before"));
        }
        let Locked::Held(lock) = self.base.lock(&self.key, Wait::Block)? else {
            return Err(self.failed("finish the archive", "the store has no lock for it"));
        };
        temporary.publish(lock)?;
        let _ = self
            .finished
            .set(ZipStore::open(Arc::clone(&self.base), self.key.clone()));
        Ok(())
    }

    /// Copies the values and their headers to a new temporary, in this order.
    fn without_unused(
        &self,
        old: &dyn Temporary,
        values: &mut [(Key, Stored)],
        end: &mut u64,
    ) -> Result<Box<dyn Temporary>, StoreError> {
        let Some(new) = self.base_temporary()? else {
            return Err(self.failed(
                "finish the archive",
                "the store has no second temporary for it",
            ));
        };
        *end = 0;
        for (key, stored) in values {
            let from = stored.header;
            let len = stored.header_len(key) + stored.size;
            stored.header = *end;
            copy(old, from..from + len, |piece| new.append(piece).map(drop))?;
            *end += len;
        }
        Ok(new)
    }

    pub(crate) fn base_temporary(&self) -> Result<Option<Box<dyn Temporary>>, StoreError> {
        self.base.temporary(&self.key)
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // The entries are changed by code that does not panic half-way, so poisoned ones are
        // intact.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, action: &'static str, what: &str) -> StoreError {
        StoreError::Other {
            action,
            key: self.key.to_string(),
            what: what.to_owned(),
        }
    }

    fn finished_error(&self) -> StoreError {
        self.failed("write the archive", "it is finished, or could not be")
    }

    fn pin(self: &Arc<Self>, value: Value) -> Pin {
        Pin::holding(
            Pinned {
                value,
                archive: Arc::clone(self),
            },
            |_| None,
        )
    }

    fn pinned_value(self: &Arc<Self>, pin: &Pin) -> Option<Value> {
        let pinned = pin.get::<Pinned>()?;
        Arc::ptr_eq(&pinned.archive, self).then_some(pinned.value)
    }

    pub(crate) fn read(
        self: &Arc<Self>,
        key: &Key,
        of: &Of,
        want: &Want,
    ) -> Result<Fetched, StoreError> {
        let temporary = self
            .temporary
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(temporary) = temporary.as_ref() else {
            let finished = self.finished.get().ok_or_else(|| self.finished_error())?;
            let finished = finished.as_ref().map_err(StoreError::clone)?;
            return finished.fetch(&Fetch {
                key: key.clone(),
                of: of.clone(),
                want: want.clone(),
            });
        };
        let current = self.entries().values.get(key).copied();
        let value = match of {
            Of::Any => match current {
                Some(value) => value,
                None => return Ok(Fetched::Missing),
            },
            // Old values stay in the temporary.
            Of::Snapshot(pin) => match self.pinned_value(pin) {
                Some(value) => value,
                None => return Ok(Fetched::Changed),
            },
            Of::IfCurrent(pin) => match (current, self.pinned_value(pin)) {
                (Some(value), Some(pinned)) if value.generation == pinned.generation => value,
                _ => return Ok(Fetched::Changed),
            },
        };
        let ranges = wanted::ranges(want, key, value.stored.size)?;
        let mut parts = Vec::with_capacity(ranges.len());
        for range in ranges {
            parts.push(temporary.read(value.start + range.start..value.start + range.end)?);
        }
        Ok(Fetched::Parts {
            pin: self.pin(value),
            size: value.stored.size,
            parts,
        })
    }

    /// Adds a value. The caller has the turn of the key.
    pub(crate) fn add(self: &Arc<Self>, key: &Key, parts: &[Bytes]) -> Result<Pin, StoreError> {
        let size = parts.iter().map(|part| part.len() as u64).sum();
        let mut crc = Crc::new();
        for part in parts {
            crc.update(part);
        }
        self.append(
            key,
            Stored {
                header: 0,
                size,
                crc: crc.sum(),
            },
            |temporary, _| {
                for part in parts.iter().filter(|part| !part.is_empty()) {
                    temporary.append(part)?;
                }
                Ok(())
            },
        )
    }

    /// Adds the value that a temporary of this length has. The caller has the turn of the key.
    pub(crate) fn add_from(
        self: &Arc<Self>,
        key: &Key,
        value: &dyn Temporary,
        len: u64,
    ) -> Result<Pin, StoreError> {
        self.append(
            key,
            Stored {
                header: 0,
                size: len,
                crc: 0,
            },
            |temporary, stored| {
                let mut crc = Crc::new();
                copy(value, 0..len, |piece| {
                    crc.update(piece);
                    temporary.append(piece).map(drop)
                })?;
                stored.crc = crc.sum();
                temporary.write_at(stored.header + LOCAL_CRC_AT, &stored.crc.to_le_bytes())
            },
        )
    }

    /// Appends a local header and then the value, by calling `append_value`.
    fn append(
        self: &Arc<Self>,
        key: &Key,
        mut stored: Stored,
        append_value: impl FnOnce(&dyn Temporary, &mut Stored) -> Result<(), StoreError>,
    ) -> Result<Pin, StoreError> {
        if key.as_str().len() > usize::from(u16::MAX) {
            let what = "has more than 65535 bytes, which an archive cannot hold";
            return Err(StoreError::InvalidKey {
                key: key.to_string(),
                what,
            });
        }
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let temporary = self
            .temporary
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let temporary = temporary.as_deref().ok_or_else(|| self.finished_error())?;
        let header = stored.local_header(key);
        stored.header = temporary.append(&header)?;
        let start = stored.header + header.len() as u64;
        append_value(temporary, &mut stored)?;
        *end = start + stored.size;
        let mut entries = self.entries();
        entries.forget(key);
        entries.generation += 1;
        entries.used += *end - stored.header;
        let value = Value {
            stored,
            start,
            generation: entries.generation,
        };
        entries.values.insert(key.clone(), value);
        drop(entries);
        Ok(self.pin(value))
    }

    /// Removes a value. The caller has the turn of the key.
    pub(crate) fn remove(&self, key: &Key) -> Result<(), StoreError> {
        // Held until the value is gone: `finish` takes the temporary, then lists the values.
        let temporary = self
            .temporary
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if temporary.is_none() {
            return Err(self.finished_error());
        }
        self.entries().forget(key);
        Ok(())
    }

    pub(crate) fn precondition_holds(self: &Arc<Self>, key: &Key, only_if: &Precondition) -> bool {
        let current = self.entries().values.get(key).copied();
        match only_if {
            Precondition::None => true,
            Precondition::Absent => current.is_none(),
            Precondition::Current(pin) => match (current, self.pinned_value(pin)) {
                (Some(value), Some(pinned)) => value.generation == pinned.generation,
                _ => false,
            },
        }
    }

    pub(crate) fn list_dir(&self, prefix: &Prefix) -> DirListing {
        let mut listing = DirListing::default();
        for key in self.entries().keys_below(prefix) {
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
        listing
    }

    pub(crate) fn list_prefix(&self, prefix: &Prefix) -> Vec<Key> {
        self.entries().keys_below(prefix).cloned().collect()
    }
}

impl Entries {
    fn forget(&mut self, key: &Key) {
        if let Some(old) = self.values.remove(key) {
            self.used -= old.start - old.stored.header + old.stored.size;
        }
    }

    fn keys_below<'a>(&'a self, prefix: &'a Prefix) -> impl Iterator<Item = &'a Key> {
        let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        let keys = self.values.range::<str, _>(from).map(|(key, _)| key);
        keys.take_while(|key| key.as_str().starts_with(prefix.as_str()))
    }
}

/// Reads a range of a temporary in pieces.
fn copy(
    from: &dyn Temporary,
    range: Range<u64>,
    mut take: impl FnMut(&[u8]) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut at = range.start;
    while at < range.end {
        let end = range.end.min(at + PIECE_BYTES);
        take(&from.read(at..end)?)?;
        at = end;
    }
    Ok(())
}

impl fmt::Debug for NewArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NewArchive({}, {} values)", self.key, self.n_values())
    }
}
