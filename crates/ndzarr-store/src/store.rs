//! The traits `Store` and `AsyncStore`.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::pin::Pin as Pinned;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};

use crate::key::is_numbered;
use crate::{Fetch, Fetched, FetchedPieces, Key, Locked, Of, Pin, Prefix, StoreError, Temporary, Wait, Want};

/// A store whose calls block: a file system, memory, an archive.
///
/// # What every store promises
/// - A key that is definitely absent is [`Fetched::Missing`]; every other failure is an error.
/// - A value is replaced as a whole: no reader ever sees a mixture of old and new.
/// - Writers of one key are serialized by [`lock`](Self::lock) or by the precondition of
///   [`put`](Self::put).
///
/// Implement [`fetch`](Self::fetch), [`put`](Self::put) and [`erase`](Self::erase); the rest has
/// defaults, which answer `Unsupported` or call these. [`list_dir`](Self::list_dir) alone provides
/// all listing. A store behind a reference, a `Box` or an `Arc` is a store.
///
/// # A store around another
/// With [`inner`](Self::inner) the defaults call the store inside, so that no lock, temporary or
/// merged range is lost on the way:
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
    /// [`erase_prefix`](Self::erase_prefix). A wrapper that changes or refuses some of these writes
    /// all of them, and one that changes keys or values has no `inner`.
    fn inner(&self) -> Option<&dyn Store> {
        None
    }

    /// Names the store in errors: a path or URL.
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

    /// Whether there is a value under a key. Opens no file.
    ///
    /// # Errors
    /// The same as for [`fetch`](Self::fetch).
    fn has(&self, key: &Key) -> Result<bool, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.has(key);
        }
        let fetch = Fetch { key: key.clone(), of: Of::Any, want: Want::Size };
        Ok(matches!(self.fetch(&fetch)?, Fetched::Parts { .. }))
    }

    /// Stores the concatenation of `parts` as the value of `key`, provided that `only_if` holds.
    ///
    /// # Errors
    /// If the store fails. The old value is then intact, unless the new one is in place and only
    /// syncing failed, or the outcome is [`StoreError::Unknown`].
    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError>;

    /// Removes a value, provided that `only_if` holds. Removing what is absent succeeds. A store may
    /// answer `Unsupported` to a precondition that [`put`](Self::put) can check; then the caller
    /// replaces the value instead.
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

    /// Whether a value that makes no sense to its reader is there to stay. Other programs may write it in
    /// place, so that it is blank or cut for a moment: then this waits for them, and `false` says to read
    /// again. `seen` names what was read. Also `true` when the wait has ended. By default values are
    /// replaced as a whole.
    ///
    /// # Errors
    /// The same as for [`fetch`](Self::fetch); [`Busy`](StoreError::Busy) if another program keeps its
    /// lock.
    fn stays(&self, key: &Key, seen: &Pin, wait: Wait<'_>) -> Result<bool, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.stays(key, seen, wait);
        }
        Ok(true)
    }

    /// A temporary for a new value that is too large for memory; `None` if the store has none. No
    /// one else sees it before it is published.
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
    /// A walk by [`list_dir`](Self::list_dir) enters each target once: with two links to the next
    /// in each of 31 folders there are 2³¹ paths, and 31 targets.
    ///
    /// # Errors
    /// The same as for [`list_dir`](Self::list_dir).
    fn place(&self, prefix: &Prefix) -> Result<Option<(u64, u64)>, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.place(prefix);
        }
        Ok(None)
    }

    /// The last segments of prefixes directly below a prefix that [`list_dir`](Self::list_dir) leaves out,
    /// because they are links that lead back up: no walk through all prefixes would end there. A walk of a
    /// known depth can enter them. By default there are none.
    ///
    /// # Errors
    /// The same as for [`list_dir`](Self::list_dir).
    fn links_up(&self, prefix: &Prefix) -> Result<Vec<String>, StoreError> {
        if let Some(inner) = self.inner() {
            return inner.links_up(prefix);
        }
        Ok(Vec::new())
    }

    /// Where the values below a prefix are in the local file system, if the store keeps them there: by
    /// links and other names, two stores may share folders. By default they are elsewhere.
    fn folder(&self, prefix: &Prefix) -> Option<PathBuf> {
        if let Some(inner) = self.inner() {
            return inner.folder(prefix);
        }
        None
    }

    /// Every key below a prefix, unordered, each once. A folder behind several links is listed
    /// behind one of them, see [`place`](Self::place).
    ///
    /// # Errors
    /// The same as for [`list_dir`](Self::list_dir).
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

    /// Passes on every key below a prefix, unordered, each once, and the length of its value in
    /// bytes. A value that is erased meanwhile may be left out. A value that cannot be looked at, and
    /// a folder below the prefix that is empty or cannot be listed, are passed on as [`Listed`] says.
    /// The default asks for each length alone, and has the names in one folder in memory.
    ///
    /// # Errors
    /// The same as for [`list_dir`](Self::list_dir) and [`fetch`](Self::fetch), if they are not about
    /// one value or folder.
    fn list_sizes(&self, prefix: &Prefix, take: &mut dyn FnMut(&Key, Listed)) -> Result<(), StoreError> {
        if let Some(inner) = self.inner() {
            return inner.list_sizes(prefix, take);
        }
        walk(self, prefix, |found| {
            match found {
                Found::Key(key) => {
                    let fetch = Fetch { key, of: Of::Any, want: Want::Size };
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

    /// Removes every value below a prefix; `a/` leaves `a` and `ab` alone. Values that others write
    /// in the meantime may stay. The caller must not hold a lock below.
    ///
    /// Values whose names are numbers, like chunks, go after others beside them, see
    /// [`is_numbered`]: what describes them is gone before they are.
    ///
    /// # Errors
    /// The same as for [`list_dir`](Self::list_dir) and [`erase`](Self::erase); [`Busy`](StoreError::Busy)
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
                    let (key, waited) =
                        (key.to_string(), start.map_or(Duration::ZERO, |start| start.elapsed()));
                    return Err(StoreError::Busy { key, waited, holder: None });
                }
            }
        }
        Ok(())
    }

    /// What the store can do beyond reading.
    fn can(&self) -> Can {
        if let Some(inner) = self.inner() {
            return inner.can();
        }
        Can::default()
    }

    /// When merging neighbouring ranges pays off here.
    fn range_merging(&self) -> RangeMerging {
        if let Some(inner) = self.inner() {
            return inner.range_merging();
        }
        RangeMerging::default()
    }

    /// Whether a writer mostly waits, for example for a disk to sync. Then more threads than
    /// processors pay off.
    fn writes_wait(&self) -> bool {
        if let Some(inner) = self.inner() {
            return inner.writes_wait();
        }
        false
    }
}

/// A store whose calls are futures: object storage, HTTP. Names no runtime.
///
/// Asynchronous calls need only the methods without a default. For blocking calls,
/// [`block_on`](Self::block_on) says how a thread may wait for the store.
pub trait AsyncStore: fmt::Debug + Send + Sync {
    /// Like [`Store::inner`].
    fn inner(&self) -> Option<&dyn AsyncStore> {
        None
    }

    /// Like [`Store::name`].
    fn name(&self) -> String;

    /// Like [`Store::fetch`].
    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>>;

    /// Like [`Store::has`].
    fn has<'a>(&'a self, key: &'a Key) -> BoxFuture<'a, Result<bool, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.has(key);
        }
        Box::pin(async move {
            let fetch = Fetch { key: key.clone(), of: Of::Any, want: Want::Size };
            Ok(matches!(self.fetch(&fetch).await?, Fetched::Parts { .. }))
        })
    }

    /// Like [`Store::put`]. There is no lock here: the precondition serializes writers.
    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>>;

    /// Like [`Store::erase`].
    fn erase<'a>(&'a self, key: &'a Key, only_if: Precondition) -> BoxFuture<'a, Result<Put, StoreError>>;

    /// Like [`Store::list_dir`].
    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.list_dir(prefix);
        }
        Box::pin(std::future::ready(Err(StoreError::Unsupported("list"))))
    }

    /// The listing of [`list_dir`](Self::list_dir) page by page, in the order of the store, so that work
    /// on the first names can begin while the next ones are listed. Ends after an error.
    fn list_dir_pages<'a>(&'a self, prefix: &Prefix) -> BoxStream<'a, Result<DirListing, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.list_dir_pages(prefix);
        }
        let prefix = prefix.clone();
        Box::pin(stream::once(async move { self.list_dir(&prefix).await }))
    }

    /// Like [`Store::list_prefix`].
    fn list_prefix<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<Vec<Key>, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.list_prefix(prefix);
        }
        Box::pin(async move {
            let mut keys = Vec::new();
            let mut pending = vec![prefix.clone()];
            while let Some(prefix) = pending.pop() {
                let listing = self.list_dir(&prefix).await?;
                for name in listing.keys {
                    keys.push(prefix.key(&name)?);
                }
                for name in listing.prefixes {
                    pending.push(Prefix::new(format!("{prefix}{name}/"))?);
                }
            }
            Ok(keys)
        })
    }

    /// The keys of [`list_prefix`](Self::list_prefix) page by page, so that no more than a page is
    /// in memory. Ends after an error.
    fn list_pages<'a>(&'a self, prefix: &'a Prefix) -> BoxStream<'a, Result<Vec<Key>, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.list_pages(prefix);
        }
        Box::pin(stream::once(self.list_prefix(prefix)))
    }

    /// The keys of [`list_prefix`](Self::list_prefix) and the lengths of their values, in bytes, page
    /// by page. A value that is erased meanwhile may be left out. Ends after an error. The default
    /// asks for each length alone.
    fn list_sizes<'a>(&'a self, prefix: &'a Prefix) -> BoxStream<'a, Result<Vec<(Key, Listed)>, StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.list_sizes(prefix);
        }
        let size = move |key: Key| async move {
            let fetch = Fetch { key, of: Of::Any, want: Want::Size };
            let listed = Listed::of_size(self.fetch(&fetch).await)?;
            Ok(listed.map(|listed| (fetch.key, listed)))
        };
        let sizes = move |page: Vec<Key>| {
            let found = stream::iter(page).map(size).buffer_unordered(SIZES_AT_ONCE);
            found.try_filter_map(|found| std::future::ready(Ok(found))).try_collect()
        };
        Box::pin(self.list_pages(prefix).and_then(sizes))
    }

    /// Removes values, in no order. Absent ones count as removed.
    ///
    /// # Errors
    /// The first value that could not be removed; others may be gone.
    fn erase_keys<'a>(&'a self, keys: &'a [Key]) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.erase_keys(keys);
        }
        Box::pin(async move {
            for key in keys {
                self.erase(key, Precondition::None).await?;
            }
            Ok(())
        })
    }

    /// Like [`Store::erase_prefix`].
    fn erase_prefix<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(inner) = self.inner() {
            return inner.erase_prefix(prefix);
        }
        Box::pin(async move {
            let (mut numbered, mut more) = (Vec::new(), false);
            let mut pages = self.list_pages(prefix);
            while let Some(page) = pages.next().await {
                let (last, first): (Vec<Key>, Vec<Key>) =
                    page?.into_iter().partition(|key| is_numbered(key.name()));
                self.erase_keys(&first).await?;
                if numbered.len() < HELD_KEYS {
                    numbered.extend(last);
                } else {
                    more |= !last.is_empty();
                }
            }
            self.erase_keys(&numbered).await?;
            if more {
                let mut pages = self.list_pages(prefix);
                while let Some(page) = pages.next().await {
                    self.erase_keys(&page?).await?;
                }
            }
            Ok(())
        })
    }

    /// What the store can do beyond reading. It has no locks.
    fn can(&self) -> Can {
        if let Some(inner) = self.inner() {
            return inner.can();
        }
        Can::default()
    }

    /// Like [`Store::range_merging`].
    fn range_merging(&self) -> RangeMerging {
        if let Some(inner) = self.inner() {
            return inner.range_merging();
        }
        RangeMerging::default()
    }

    /// Runs a future that makes requests of this store to completion, on the calling thread, for a
    /// blocking call. The future is polled nowhere else, and not before. If threads of a call make
    /// requests, each of them calls this too, while the calling thread does.
    ///
    /// The store alone knows who drives its requests, so the default refuses. Where other threads
    /// do (a store in memory, one that spawns each request on a multi-threaded runtime),
    /// [`block_on`](crate::block_on) is enough. A store whose requests belong to a runtime enters
    /// that runtime, and refuses on a thread that the runtime cannot do without:
    ///
    /// ```
    /// use std::future::Future;
    /// use std::pin::Pin;
    ///
    /// use ndzarr::store::StoreError;
    /// use tokio::runtime::{Handle, RuntimeFlavor};
    ///
    /// struct MyStore {
    ///     /// Of a multi-threaded runtime: `Handle::current()` where the store is made.
    ///     runtime: Handle,
    /// }
    ///
    /// # trait Just { fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError>; }
    /// # impl Just for MyStore {
    /// // In `impl AsyncStore for MyStore`:
    /// fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
    ///     if Handle::try_current().is_ok_and(|here| here.runtime_flavor() == RuntimeFlavor::CurrentThread) {
    ///         return Err(StoreError::Unsupported("block a runtime of one thread: use the asynchronous call"));
    ///     }
    ///     // Other threads of the runtime take over the tasks of this one.
    ///     tokio::task::block_in_place(|| self.runtime.block_on(future));
    ///     Ok(())
    /// }
    /// # }
    /// # let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().expect("a runtime");
    /// # let store = MyStore { runtime: runtime.handle().clone() };
    /// # assert!(store.block_on(std::pin::pin!(async { tokio::task::yield_now().await })).is_ok());
    /// # let alone = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    /// # assert!(alone.block_on(async { store.block_on(std::pin::pin!(async {})) }).is_err());
    /// ```
    ///
    /// # Errors
    /// This thread cannot wait for the store. The future was not polled.
    fn block_on(&self, future: Pinned<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        if let Some(inner) = self.inner() {
            return inner.block_on(future);
        }
        Err(StoreError::Unsupported("be waited for by a blocking call: use the asynchronous call"))
    }
}

/// What is found below a prefix.
enum Found {
    Key(Key),
    /// A folder with nothing in it, by its path without the slash.
    Folder(Key),
    /// A folder that cannot be listed.
    Unlisted(Key, StoreError),
}

/// Visits everything below a prefix, which itself has to be listed.
fn walk<S: Store + ?Sized>(
    store: &S,
    prefix: &Prefix,
    mut visit: impl FnMut(Found) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    // Each with its folder, which the first one does not have.
    let mut pending: VecDeque<(Prefix, Option<Key>)> = VecDeque::from([(prefix.clone(), None)]);
    let mut entered = HashSet::new();
    // Level by level, so that of several links to a folder the uppermost is followed.
    while let Some((prefix, folder)) = pending.pop_front() {
        let listed = store.place(&prefix).and_then(|place| {
            let is_new = place.is_none_or(|place| entered.insert(place));
            is_new.then(|| store.list_dir(&prefix)).transpose()
        });
        let listing = match (listed, folder) {
            (Ok(None), _) => continue,
            (Ok(Some(listing)), Some(folder)) if listing == DirListing::default() => {
                visit(Found::Folder(folder))?;
                continue;
            }
            (Ok(Some(listing)), _) => listing,
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

/// How many lengths a list asks for at once.
const SIZES_AT_ONCE: usize = 16;

/// How many keys an erasure remembers before it lists them a second time instead.
const HELD_KEYS: usize = 100_000;

/// The condition for a write.
#[derive(Clone, Debug)]
pub enum Precondition {
    /// Nothing.
    None,
    /// The key has no value.
    Absent,
    /// The key has the value that this pin names. A pin of another store never matches.
    Current(Pin),
}

/// The outcome of a write.
#[derive(Clone, Debug)]
pub enum Put {
    /// It happened; the pin names the new value (none after an erasure).
    Done(Option<Pin>),
    /// The precondition did not hold; nothing has changed.
    Conflict,
    /// The store cannot check the precondition; nothing has changed.
    Unsupported,
}

/// What a store can do beyond reading.
///
/// `false` means that it never can. `true` may still turn out otherwise for some keys, by the answer
/// `Unsupported`: of the file systems below one folder, one may have no locks.
///
/// ```
/// use ndzarr::store::Can;
/// use ndzarr::{MemoryStore, Store};
///
/// assert_eq!(MemoryStore::new().can(), Can::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Can {
    /// Write and erase.
    pub write: bool,
    /// Check the precondition of a put.
    pub put_if: bool,
    /// Check the precondition of an erasure.
    pub erase_if: bool,
    /// Lock.
    pub lock: bool,
    /// List.
    pub list: bool,
}

impl Default for Can {
    /// Everything but locks.
    fn default() -> Self {
        Self { write: true, put_if: true, erase_if: true, lock: false, list: true }
    }
}

/// The keys and prefixes directly below a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirListing {
    /// Last segments of the keys.
    pub keys: Vec<String>,
    /// Last segments of the prefixes, without the closing `/`.
    pub prefixes: Vec<String>,
}

/// What a list with lengths says of a key.
#[derive(Clone, Debug)]
pub enum Listed {
    /// It has a value of this length, in bytes.
    Value(u64),
    /// It has a value that cannot be looked at: a link that leads nowhere, a device, a file that others
    /// may not see.
    Unreadable(StoreError),
    /// It has no value, and cannot have one: it names a folder with nothing in it.
    Folder,
    /// It names a folder that cannot be listed: what is in there is not known.
    Unlisted(StoreError),
}

impl Listed {
    /// What the answer to a request for the length of a value says; `None` if it is not there.
    fn of_size(answer: Result<Fetched, StoreError>) -> Result<Option<Self>, StoreError> {
        match answer {
            Ok(Fetched::Parts { size, .. }) => Ok(Some(Self::Value(size))),
            Ok(Fetched::Missing | Fetched::Changed) => Ok(None),
            Err(error) if error.is_of_one_value() => Ok(Some(Self::Unreadable(error))),
            Err(error) => Err(error),
        }
    }

    /// The length of the value, in bytes, if it can be looked at.
    #[must_use]
    pub fn byte_len(&self) -> Option<u64> {
        match self {
            Self::Value(byte_len) => Some(*byte_len),
            Self::Unreadable(_) | Self::Folder | Self::Unlisted(_) => None,
        }
    }
}

/// When two ranges of one value are better read as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeMerging {
    /// The most bytes between two ranges that may be read unnecessarily.
    pub gap: u64,
    /// The most bytes that a merged range may have.
    pub max: u64,
    /// About how many bytes of a large value are best read at once, so that they are still in the
    /// cache of a core when they are decoded; `None` for everything at once. Only for stores whose
    /// pins last: a pinned value can be read even if the key changes.
    pub piece: Option<u64>,
}

impl Default for RangeMerging {
    /// For stores on this machine.
    fn default() -> Self {
        Self { gap: 4096, max: 16 << 20, piece: None }
    }
}
