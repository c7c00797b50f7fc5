//! The trait `Store`.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::key::is_numbered;
use crate::{
    Can, DirListing, Fetch, Fetched, FetchedPieces, Key, Listed, Locked, Of, Pin, Precondition,
    Prefix, Put, RangeMerging, StoreError, Temporary, Wait, Want,
};

/// # What every store promises
/// - A key that is definitely absent is [`Fetched::Missing`]; every other failure is an error.
/// - A value is replaced as a whole: no reader ever sees a mixture of old and new.
/// - Writers of one key are serialized by [`lock`](Self::lock) or by the precondition of
///   [`put`](Self::put).
///
/// Implement [`fetch`](Self::fetch), [`put`](Self::put) and [`erase`](Self::erase); the rest has
/// defaults, which answer `Unsupported` or call these. All listing follows from
/// [`list_dir`](Self::list_dir). A reference, a `Box` or an `Arc` of a store is a store.
///
/// # A wrapper of another store
/// With [`inner`](Self::inner) the defaults call the wrapped store, so that no lock, temporary or
/// merged range is lost:
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use ndzarr::store::{Fetch, Fetched, Key, Precondition, Put, StoreError};
/// use ndzarr::store::bytes::Bytes;
/// use ndzarr::{MemoryStore, Store};
///
/// /// Counts what is read.
/// #[derive(Debug)]
/// struct Counting<S>(S, AtomicUsize);
///
/// impl<S: Store> Store for Counting<S> {
///     fn inner(&self) -> Option<&dyn Store> {
///         Some(&self.0)
///     }
///     fn name(&self) -> String {
///         self.0.name()
///     }
///     fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
///         self.1.fetch_add(1, Ordering::Relaxed);
///         self.0.fetch(fetch)
///     }
///     fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
///         self.0.put(key, parts, only_if)
///     }
///     fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
///         self.0.erase(key, only_if)
///     }
/// }
///
/// let store = Counting(MemoryStore::new(), AtomicUsize::new(0));
/// store.put(&Key::new("a")?, &["1".into()], Precondition::None)?;
/// assert_eq!(store.list_prefix(&ndzarr::store::Prefix::root())?.len(), 1);
/// # Ok::<(), StoreError>(())
/// ```
pub trait Store: fmt::Debug + Send + Sync {
    /// The store that this one wraps, if it leaves keys and values as they are. Every method with a
    /// default is then forwarded to it.
    ///
    /// What is forwarded goes past the wrapper's own methods: reads also come by
    /// [`fetch_pieces`](Self::fetch_pieces) and [`has`](Self::has), writes by
    /// [`lock`](Self::lock) and [`temporary`](Self::temporary), removals by
    /// [`erase_prefix`](Self::erase_prefix). A wrapper that changes or refuses any of these must
    /// implement all of them, and one that changes keys or values has no `inner`.
    fn inner(&self) -> Option<&dyn Store> {
        None
    }

    /// Names the store in errors: a path or URL. Changes of stores with one name queue together, and
    /// calls wait for what such a store still stores for a future that was dropped.
    fn name(&self) -> String;

    /// Reads a value or parts of it.
    ///
    /// # Errors
    /// Why the store could not answer; absence is not an error.
    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError>;

    /// Reads ranges of a value of exactly `byte_len` bytes piece by piece, in the given order. Each
    /// piece is read into the front of `piece`, which it fills unless it is the last of its range,
    /// and passed to `take`. All pieces come from one state of the value. A store that cannot do
    /// this better than [`fetch`](Self::fetch) answers `Unsupported`, as the default does. Ranges
    /// are in bytes, and inside the value.
    ///
    /// # Errors
    /// Why the store could not answer. Pieces may have been passed on before.
    fn fetch_pieces(
        &self,
        key: &Key,
        byte_len: u64,
        ranges: &[Range<u64>],
        piece: &mut [u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<FetchedPieces, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.fetch_pieces(key, byte_len, ranges, piece, take);
        }
        Ok(FetchedPieces::Unsupported)
    }

    /// Returns `true` if the key has a value. Opens no file.
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch).
    fn has(&self, key: &Key) -> Result<bool, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.has(key);
        }
        let fetch = Fetch {
            key: key.clone(),
            of: Of::Any,
            want: Want::Size,
        };
        Ok(matches!(self.fetch(&fetch)?, Fetched::Parts { .. }))
    }

    /// Stores the concatenation of `parts` as the value of `key`, provided that `only_if` holds.
    ///
    /// # Errors
    /// If the store fails. The old value is then intact, unless the new one is in place and only
    /// syncing failed, or the outcome is [`StoreError::Unknown`].
    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError>;

    /// Removes a value, provided that `only_if` holds. Removing what is absent succeeds. A store
    /// may answer `Unsupported` to a precondition that [`put`](Self::put) can check; then the
    /// caller replaces the value instead.
    ///
    /// # Errors
    /// If the store fails.
    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError>;

    /// Takes the write lock of a key. Locks are not re-entrant: a thread that waits for its own
    /// lock deadlocks.
    ///
    /// Publishing or erasing through the lock is ordered against every other write of the key by
    /// this and other processes, [`put`](Self::put) and [`erase`](Self::erase) included. The lock
    /// borrows nothing from the store, so it can outlive the call that took it.
    ///
    /// # Errors
    /// If the store fails; [`Locked::Unsupported`] is not an error.
    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.lock(key, wait);
        }
        Ok(Locked::Unsupported)
    }

    /// Returns `true` if a value that its reader cannot decode is final. `seen` is the pin of what
    /// was read.
    ///
    /// Other programs may write a value in place, so that it is blank or cut for a moment. Then
    /// this waits for them and returns `false`, which means that the caller should read again, or
    /// `true` when the wait has ended. By default values are replaced as a whole, and every value
    /// is final.
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch); [`Busy`](StoreError::Busy) if another program keeps its lock.
    fn stays(&self, key: &Key, seen: &Pin, wait: Wait<'_>) -> Result<bool, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.stays(key, seen, wait);
        }
        Ok(true)
    }

    /// A temporary for a new value that is too large for memory; `None` if the store has none. It
    /// is invisible to everyone else until it is published.
    ///
    /// # Errors
    /// If the store fails.
    fn temporary(&self, key: &Key) -> Result<Option<Box<dyn Temporary>>, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.temporary(key);
        }
        Ok(None)
    }

    /// The keys and prefixes directly below a prefix. An unknown prefix gives an empty listing.
    /// Temporary and lock files of the store itself are not shown.
    ///
    /// # Errors
    /// If the store fails; `Unsupported` if it cannot list.
    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.list_dir(prefix);
        }
        Err(StoreError::Unsupported("list"))
    }

    /// Two numbers that identify the target of a prefix that other prefixes may also lead to, by
    /// symbolic links: equal for all of them, and `None` for the path without links.
    ///
    /// A walk by [`list_dir`](Self::list_dir) enters each target once: if each of 31 folders has
    /// two links to the next, there are 2³¹ paths, but 31 targets.
    ///
    /// # Errors
    /// As for [`list_dir`](Self::list_dir).
    fn place(&self, prefix: &Prefix) -> Result<Option<(u64, u64)>, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.place(prefix);
        }
        Ok(None)
    }

    /// The last segments of prefixes directly below a prefix that [`list_dir`](Self::list_dir)
    /// leaves out, because they are links that lead back up, where a walk through all prefixes
    /// would never end. A walk of a known depth can enter them. Empty by default.
    ///
    /// # Errors
    /// As for [`list_dir`](Self::list_dir).
    fn links_up(&self, prefix: &Prefix) -> Result<Vec<String>, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.links_up(prefix);
        }
        Ok(Vec::new())
    }

    /// The folder of the local file system that has the values below a prefix, for stores that keep
    /// them in one: two stores may share folders, by links or under other names. `None` by default.
    fn folder(&self, prefix: &Prefix) -> Option<PathBuf> {
        if let Some(inner) = self.inner() {
            return inner.folder(prefix);
        }
        None
    }

    /// Every key below a prefix, unordered, each once. A folder that several links lead to is
    /// listed below one of them, see [`place`](Self::place).
    ///
    /// # Errors
    /// As for [`list_dir`](Self::list_dir).
    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.list_prefix(prefix);
        }
        let mut keys = Vec::new();
        walk(self, prefix, |found| {
            match found {
                Found::Key(key) => keys.push(key),
                Found::Folder(_) => {}
                Found::Unlisted(_, error) => return Err(error),
            }
            Ok(())
        })?;
        Ok(keys)
    }

    /// The names below a prefix that no key can have, which lists leave out: with an empty segment
    /// or a backslash, or not UTF-8. Whole, like keys, and in order. Empty by default.
    ///
    /// A store that learns of them only by a list remembers those that the last list of all keys
    /// below the prefix left out, so call this after one. Of many it may remember only the first.
    ///
    /// # Errors
    /// As for [`list_dir`](Self::list_dir).
    fn unlisted_names(&self, prefix: &Prefix) -> Result<Vec<String>, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.unlisted_names(prefix);
        }
        Ok(Vec::new())
    }

    /// Passes on every key below a prefix, unordered, each once, and the length of its value in
    /// bytes. A value that is erased meanwhile may be left out. A value that cannot be looked at,
    /// and a folder below the prefix that is empty or cannot be listed, are passed on as [`Listed`]
    /// says. The default makes one request for each length, and holds the names of one folder in
    /// memory.
    ///
    /// # Errors
    /// As for [`list_dir`](Self::list_dir) and [`fetch`](Self::fetch), but for errors that concern
    /// a single value or folder.
    fn list_lengths(
        &self,
        prefix: &Prefix,
        take: &mut dyn FnMut(&Key, Listed),
    ) -> Result<(), StoreError> {
        if let Some(inner) = self.inner() {
            return inner.list_lengths(prefix, take);
        }
        walk(self, prefix, |found| {
            match found {
                Found::Key(key) => {
                    let fetch = Fetch {
                        key,
                        of: Of::Any,
                        want: Want::Size,
                    };
                    if let Some(listed) = Listed::of_size(self.fetch(&fetch))? {
                        take(&fetch.key, listed);
                    }
                }
                Found::Folder(folder) => take(&folder, Listed::Folder),
                Found::Unlisted(folder, error) => take(&folder, Listed::Unlisted(error)),
            }
            Ok(())
        })
    }

    /// [`list_lengths`](Self::list_lengths) as it was, without what cannot be looked at. The library
    /// does not call it.
    ///
    /// # Errors
    /// As for [`list_lengths`](Self::list_lengths); something cannot be looked at.
    #[doc(hidden)]
    #[deprecated(note = "renamed, since it also passes on what cannot be looked at")]
    fn list_sizes(
        &self,
        prefix: &Prefix,
        take: &mut dyn FnMut(&Key, u64),
    ) -> Result<(), StoreError> {
        let mut failed = None;
        self.list_lengths(prefix, &mut |key, listed| match listed.value() {
            Ok(Some(len)) => take(key, len),
            Ok(None) => {}
            Err(error) => failed = failed.take().or(Some(error)),
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// Removes every value below a prefix; `a/` does not include `a` and `ab`. Values that others
    /// write in the meantime may stay. The caller must not hold a lock below the prefix.
    ///
    /// Values whose names are numbers, like those of chunks, are removed last (see
    /// [`is_numbered`]), so that the documents that describe them are gone before they are.
    ///
    /// # Errors
    /// As for [`list_dir`](Self::list_dir) and [`erase`](Self::erase); [`Busy`](StoreError::Busy)
    /// when the wait for the lock of a value has ended.
    fn erase_prefix(&self, prefix: &Prefix, wait: Wait<'_>) -> Result<(), StoreError> {
        if let Some(inner) = self.inner() {
            return inner.erase_prefix(prefix, wait);
        }
        // WebAssembly has neither locks nor, in a browser, this clock.
        let start = self.can().lock.then(Instant::now);
        let mut keys = self.list_prefix(prefix)?;
        keys.sort_by_cached_key(|key| is_numbered(key.name()));
        for key in keys {
            match self.lock(&key, wait)? {
                Locked::Held(lock) => lock.erase()?,
                Locked::Unsupported => drop(self.erase(&key, Precondition::None)?),
                Locked::Busy => {
                    let waited = start.map_or(Duration::ZERO, |start| start.elapsed());
                    return Err(StoreError::Busy {
                        key: key.to_string(),
                        waited,
                        holder: None,
                    });
                }
            }
        }
        Ok(())
    }

    /// The abilities of the store beyond reading.
    fn can(&self) -> Can {
        if let Some(inner) = self.inner() {
            return inner.can();
        }
        Can::default()
    }

    /// When merging neighbouring ranges pays off for this store.
    fn range_merging(&self) -> RangeMerging {
        if let Some(inner) = self.inner() {
            return inner.range_merging();
        }
        RangeMerging::default()
    }

    /// Returns `true` if writers mostly wait, for example for a disk to sync, so that more threads
    /// than processors pay off.
    fn writes_wait(&self) -> bool {
        if let Some(inner) = self.inner() {
            return inner.writes_wait();
        }
        false
    }
}

/// What a walk below a prefix visits.
enum Found {
    Key(Key),
    /// An empty folder, by its path without the slash.
    Folder(Key),
    /// A folder that cannot be listed.
    Unlisted(Key, StoreError),
}

/// Visits everything below a prefix. Fails if the prefix itself cannot be listed.
fn walk<S: Store + ?Sized>(
    store: &S,
    prefix: &Prefix,
    mut visit: impl FnMut(Found) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    // Each prefix with the key that names its folder; the first has no such key.
    let mut pending: VecDeque<(Prefix, Option<Key>)> = VecDeque::from([(prefix.clone(), None)]);
    let mut entered = HashSet::new();
    // Level by level, so that of several links to a folder the uppermost is followed.
    while let Some((prefix, folder)) = pending.pop_front() {
        let listed = match store.place(&prefix) {
            Ok(Some(place)) if !entered.insert(place) => continue,
            Ok(_) => store.list_dir(&prefix),
            Err(error) => Err(error),
        };
        let listing = match (listed, folder) {
            (Ok(listing), Some(folder)) if listing == DirListing::default() => {
                visit(Found::Folder(folder))?;
                continue;
            }
            (Ok(listing), _) => listing,
            (Err(error), Some(folder)) if error.is_of_one_value() => {
                visit(Found::Unlisted(folder, error))?;
                continue;
            }
            (Err(error), _) => return Err(error),
        };
        for name in listing.keys {
            visit(Found::Key(prefix.key(&name)?))?;
        }
        for name in listing.prefixes {
            let folder = prefix.key(&name)?;
            pending.push_back((Prefix::new(format!("{prefix}{name}/"))?, Some(folder)));
        }
    }
    Ok(())
}
