//! `FsStore`: a store that keeps values in files below a folder.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ndzarr_store::{
    Can, DirListing, Fetch, Fetched, FetchedPieces, Key, Locked, Pin, Precondition, Prefix, Put,
    RangeMerging, Store, StoreError, Temporary, Wait,
};

use crate::buffers::Buffers;
use crate::locks::Locks;
use crate::names::key_path::of_prefix;
use crate::system::devices::Devices;
use crate::system::file_system::FileSystem;
use crate::system::os_error::is_absent;
use crate::system::syscalls::{Syscalls, System, again};
use crate::{Durability, Links, Locking};

/// Values in files below a folder: the key `a/c/0` is the file `c/0` in the folder `a` of the root.
///
/// See the [crate's page](crate) for what it promises. Clones share nothing but settings, and
/// stores on one folder in any number of threads and processes may be used at the same time.
///
/// ```
/// use ndzarr::store::{Fetch, Fetched, Key, Of, Precondition, Want};
/// use ndzarr::{FsStore, Store};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let store = FsStore::new(folder.path().join("volume.zarr"));
/// let key = Key::new("c/0/0")?;
/// store.put(&key, &["some ".into(), "bytes".into()], Precondition::None)?;
/// let fetch = Fetch { key, of: Of::Any, want: Want::Ranges(vec![5..10, 0..4]) };
/// let Fetched::Parts { size, parts, .. } = store.fetch(&fetch)? else { unreachable!("just written") };
/// assert_eq!((size, &parts[0][..], &parts[1][..]), (10, &b"bytes"[..], &b"some"[..]));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FsStore {
    root: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) links: Links,
    pub(crate) sys: Arc<dyn Syscalls>,
    pub(crate) buffers: Buffers,
    pub(crate) devices: Arc<Devices>,
    pub(crate) locks: Locks,
    /// True if a listing had a symbolic link to a folder.
    pub(crate) has_linked_folders: Arc<AtomicBool>,
    /// True if a listing has left out a link that leads back up.
    pub(crate) has_links_up: Arc<AtomicBool>,
}

/// Settings of an [`FsStore`] to be.
///
/// ```
/// use ndzarr::FsStore;
/// use ndzarr::store::{Durability, Links};
///
/// let store = FsStore::builder("/data/volume.zarr").durability(Durability::Data).links(Links::Confine).build();
/// # #[cfg(unix)]
/// assert_eq!(store.root(), std::path::Path::new("/data/volume.zarr"));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct FsStoreBuilder {
    root: PathBuf,
    durability: Durability,
    links: Links,
    locking: Locking,
    lease: Duration,
    lock_timeout: Option<Duration>,
}

impl FsStore {
    /// A store in this folder, which the first write creates if it does not exist. A relative path
    /// is relative to the current folder at this moment.
    #[must_use]
    pub fn new(root: impl AsRef<Path>) -> Self {
        Self::builder(root).build()
    }

    /// Begins with the default settings of a store in this folder.
    pub fn builder(root: impl AsRef<Path>) -> FsStoreBuilder {
        FsStoreBuilder {
            root: FsStoreBuilder::absolute(root.as_ref()),
            durability: Durability::default(),
            links: Links::default(),
            locking: Locking::default(),
            lease: LEASE,
            lock_timeout: None,
        }
    }

    /// The root folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A store in another folder, with the same settings.
    #[must_use]
    pub fn with_root(&self, root: impl AsRef<Path>) -> Self {
        Self {
            root: FsStoreBuilder::absolute(root.as_ref()),
            ..self.clone()
        }
    }

    /// How symbolic links are treated.
    #[must_use]
    pub fn links(&self) -> Links {
        self.links
    }

    /// The file system that the root is on, or will be on, and how writers are serialized there.
    /// Folders of the store that are links, or have something mounted on them, may be on another
    /// one, which is found out for each of them.
    ///
    /// ```
    /// use ndzarr::FsStore;
    /// use ndzarr::store::Locking;
    ///
    /// # fn main() -> Result<(), ndzarr::store::StoreError> {
    /// # let folder = tempfile::tempdir().expect("a temporary folder");
    /// let store = FsStore::new(folder.path().join("volume.zarr"));
    /// let file_system = store.file_system()?;
    /// if file_system.locking() == Locking::Portable {
    ///     println!("{}: writers on several hosts take turns by leases", file_system.name());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The system does not report it.
    pub fn file_system(&self) -> Result<FileSystem, StoreError> {
        let failed = |e| StoreError::io("look up the file system of", self.root.display(), e);
        for folder in self.root.ancestors() {
            match again(|| self.sys.open(folder)) {
                Ok(folder) => {
                    return self.devices.unknown(&*self.sys, &folder).map_err(failed);
                }
                Err(e) if is_absent(&e) => {}
                Err(e) => return Err(failed(e)),
            }
        }
        Err(failed(io::ErrorKind::NotFound.into()))
    }
}

/// Long enough for a renewal to be late by some network trouble.
const LEASE: Duration = Duration::from_secs(30);

/// Shorter leases are below the resolution of the times that file systems store.
const SHORTEST_LEASE: Duration = Duration::from_secs(1);

impl FsStoreBuilder {
    /// Fails if there is no current folder; then the path stays as it is, and the first access
    /// reports the error.
    fn absolute(root: &Path) -> PathBuf {
        path::absolute(root).unwrap_or_else(|_| Path::new(".").join(root))
    }

    /// The data that must have reached the disk when a write returns; [`Durability::Documents`]
    /// unless set.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// How symbolic links are treated; [`Links::Follow`] unless set.
    pub fn links(mut self, links: Links) -> Self {
        self.links = links;
        self
    }

    /// How writers are serialized; [`Locking::Auto`] unless set.
    pub fn locking(mut self, locking: Locking) -> Self {
        self.locking = locking;
        self
    }

    /// After how long without renewal a lock by the [portable](Locking::Portable) protocol is taken
    /// over; 30 s unless set, at least a second. It must be the same for all writers. A process
    /// that sleeps for longer, or does not reach the file system, loses its locks.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(SHORTEST_LEASE);
        self
    }

    /// How long any call waits for a lock that another writer holds, before it fails with
    /// [`StoreError::Busy`]; `None`, the default: as long as it takes.
    pub fn lock_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.lock_timeout = limit.into();
        self
    }

    /// The store. Nothing is read or created yet.
    #[must_use]
    pub fn build(self) -> FsStore {
        self.build_on(Arc::new(System))
    }

    pub(crate) fn build_on(self, sys: Arc<dyn Syscalls>) -> FsStore {
        let Self {
            root,
            durability,
            links,
            locking,
            lease,
            lock_timeout,
        } = self;
        let devices = Arc::new(Devices::new(locking));
        let locks = Locks::new(sys.clone(), devices.clone(), lease, lock_timeout);
        FsStore {
            root,
            durability,
            links,
            sys,
            buffers: Buffers::default(),
            devices,
            locks,
            has_linked_folders: Arc::default(),
            has_links_up: Arc::default(),
        }
    }
}

impl fmt::Debug for FsStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            root,
            durability,
            links,
            ..
        } = self;
        write!(f, "FsStore({}, {durability:?}, {links:?})", root.display())
    }
}

impl Store for FsStore {
    fn name(&self) -> String {
        self.root.display().to_string()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.read(&fetch.key, &fetch.of, &fetch.want)
    }

    fn fetch_pieces(
        &self,
        key: &Key,
        byte_len: u64,
        ranges: &[Range<u64>],
        piece: &mut [u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<FetchedPieces, StoreError> {
        self.read_pieces(key, byte_len, ranges, piece, take)
    }

    fn has(&self, key: &Key) -> Result<bool, StoreError> {
        match self.path_to_read(key)? {
            Some(path) => {
                Ok(self.current(key, &path)?.is_some() && self.has_exact_names(key.as_str())?)
            }
            None => Ok(false),
        }
    }

    /// Waits for the key's lock. On file systems without locks it continues without one, unless
    /// there is a precondition to check.
    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.write(key, parts, &only_if)
    }

    /// Waits for the key's lock, as [`put`](Self::put). Folders that are empty afterwards are
    /// removed.
    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.remove(key, &only_if)
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        self.take_lock(key, wait)
    }

    /// Waits for a program that has locked the file to write it in place, for ten seconds at most,
    /// and until the file was not touched for a tenth of a second.
    fn stays(&self, key: &Key, seen: &Pin, wait: Wait<'_>) -> Result<bool, StoreError> {
        self.value_stays(key, seen, wait)
    }

    /// A file next to that of the key, under its own lock. None on file systems without locks.
    fn temporary(&self, key: &Key) -> Result<Option<Box<dyn Temporary>>, StoreError> {
        Ok(self
            .make_temporary(key)?
            .map(|temporary| Box::new(temporary) as _))
    }

    /// In alphabetical order. See [the crate's page](crate#what-is-listed) for what is left out.
    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        self.list(prefix)
    }

    fn unlisted_names(&self, prefix: &Prefix) -> Result<Vec<String>, StoreError> {
        self.unlisted(prefix)
    }

    fn place(&self, prefix: &Prefix) -> Result<Option<(u64, u64)>, StoreError> {
        self.linked_folder(prefix)
    }

    fn links_up(&self, prefix: &Prefix) -> Result<Vec<String>, StoreError> {
        // Most folders have none, and listing has shown that.
        if !self.has_links_up.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        Ok(self.entries(prefix)?.1)
    }

    /// The folder of the prefix. That of the root is named without links, since it is emptied and
    /// not removed.
    fn folder(&self, prefix: &Prefix) -> Option<PathBuf> {
        let path = of_prefix(self.root(), prefix).ok()?;
        let is_root = prefix.as_str().is_empty();
        Some(if is_root {
            self.sys.resolve(&path).unwrap_or(path)
        } else {
            path
        })
    }

    /// Removes the folder with everything in it, foreign files included, each value under its lock.
    /// Symbolic links are removed, not followed. With the empty prefix the root itself stays. The
    /// caller must not hold a lock below. Temporaries that are being written to are removed as
    /// well: publishing them is an error then.
    fn erase_prefix(&self, prefix: &Prefix, wait: Wait<'_>) -> Result<(), StoreError> {
        self.remove_below(prefix, wait)
    }

    /// A pin is an open file.
    fn can(&self) -> Can {
        Can {
            lock: true,
            ..Can::default()
        }
    }

    fn range_merging(&self) -> RangeMerging {
        RangeMerging {
            piece: Some(256 << 10),
            ..RangeMerging::default()
        }
    }

    /// Where it syncs chunks, writers wait for the disk.
    fn writes_wait(&self) -> bool {
        matches!(self.durability, Durability::Data | Durability::Full)
    }
}
