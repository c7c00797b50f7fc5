//! The file-system store: the key `a/c/0` is the file `c/0` in the folder `a` below the root.
//!
//! It does not know arrays and can be used without them, where threads and processes share values
//! in files:
//!
//! ```
//! use ndzarr_store::{Fetch, Fetched, Key, Locked, Of, Precondition, Store, Wait, Want};
//! use ndzarr_store_fs::FsStore;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let store = FsStore::new(folder.path());
//! let counter = Key::new("statistics/counter")?;
//! let whole = || Want::Whole { limit: 1 << 20 };
//!
//! // An update: no other process or thread writes the key between reading and publishing.
//! for _ in 0..3 {
//!     let Locked::Held(mut lock) = store.lock(&counter, Wait::Block)? else { panic!("no locks on this file system") };
//!     let count = match lock.fetch(Of::Any, whole())? {
//!         Fetched::Parts { parts, .. } => parts[0][0],
//!         _ => 0,
//!     };
//!     lock.append(&[count + 1])?;
//!     lock.publish()?;
//! }
//!
//! // Reading takes no lock. A pinned value stays readable even if the key changes.
//! let fetch = |of| store.fetch(&Fetch { key: counter.clone(), of, want: whole() });
//! let Fetched::Parts { pin, parts, .. } = fetch(Of::Any)? else { panic!("it was written") };
//! assert_eq!(parts[0][..], [3]);
//! store.erase(&counter, Precondition::None)?;
//! assert!(matches!(fetch(Of::Any)?, Fetched::Missing));
//! assert!(matches!(fetch(Of::Snapshot(pin.clone()))?, Fetched::Parts { parts, .. } if parts[0][..] == [3]));
//! assert!(matches!(fetch(Of::IfCurrent(pin))?, Fetched::Changed));
//! # Ok(())
//! # }
//! ```
//!
//! # Writers are serialized, readers never wait
//! A write takes the lock file `<file name>.__lock` next to the file, writes the new value into it
//! and renames it over the key. So a reader sees the old value or the new one, never a mixture, and
//! there is no other temporary. A killed writer leaves its lock file, unlocked; the next writer
//! takes it over. On Linux the lock is one of the open file description, as tensorstore takes it on
//! a file of the same name, so each excludes the other. Programs that take no lock, such as
//! zarr-python, never show a reader half a value as long as they rename, but may undo the update of
//! another.
//!
//! A [`temporary`](ndzarr_store::Store::temporary) for a value that takes longer to write is the
//! file `<file name>.part<number>.__lock`, locked as long as its writer lives. The left-over of a
//! killed writer is taken over by the next one for the same key.
//!
//! Locks are not fair: a writer in a tight loop can delay others for a while. Different keys are
//! not ordered against each other. Locks are not re-entrant: a thread that waits for a lock that it
//! holds deadlocks, unless there is a [limit](FsStoreBuilder::lock_timeout).
//!
//! # File systems of several hosts
//! This holds on file systems that are known to be local to this machine. On all others
//! ([`FsStore::file_system`] says which), file locks may not reach other hosts. There the writer
//! that creates the lock file holds the lock; the file names its owner, and a thread of the process
//! renews it as long as the lock is held. After a [lease](FsStoreBuilder::lease) without renewal it
//! is taken over. The value is written into a separate temporary, `<file name>.<24 digits>.__lock`.
//! A writer that was stopped for longer than a lease gets
//! [`LockLost`](ndzarr_store::StoreError::LockLost).
//!
//! On local file systems without locks, [`lock`](ndzarr_store::Store::lock) and writes with a
//! precondition answer `Unsupported`, and unconditional writes rename a separate temporary. Empty
//! lock files may be left there, where the file system says that it has no locks at the moment
//! (`ENOLCK`) rather than none at all.
//!
//! # Pins
//! A pin is an open file: each pin that is kept costs a descriptor. A pin is current as long as its
//! key leads to a file of the same number, size and times. A program that writes in place rather
//! than renaming is detected as far as the resolution of the file system's clock allows, and its
//! half-written values can be seen.
//!
//! # What is listed
//! Values and folders, through symbolic links. Left out are lock files, names that are not keys
//! (not UTF-8, with a backslash), and links back to a folder that they lie in. A link that leads
//! nowhere is listed as a value, and reading it is an error that names the link: git-annex and
//! DataLad leave these for files that are not fetched. So are pipes, sockets and devices, which are
//! not read either. A key that leads to a folder is absent if something is in the folder, as it may
//! be in a bucket; an empty folder in the place of a value is an error.
//! [`list_prefix`](ndzarr_store::Store::list_prefix) enters a folder once, however many links lead
//! there. Temporaries of other programs (`*.partial`, `.n5tmp*`) are files like any other, and are
//! listed.
//!
//! # Limits
//! - A key that is a folder, or lies below a file, is absent to a reader, and an error to a writer.
//!   So a store cannot hold both `a` and `a/b`. Segments that end in `.__lock` are refused.
//! - Whether `A` and `a` can both be keys is up to the file system. Where they cannot, on Windows
//!   and macOS, reading finds a key only in its own spelling, and writing the other one is
//!   [`InvalidKey`](ndzarr_store::StoreError::InvalidKey). The same goes for forms of Unicode.
//! - Erasing removes the folders that are empty afterwards, the root excepted. A write that fails
//!   may leave empty ones.
//!
//! # Windows
//! Names that it keeps for itself (`con`, `a:b`, those that end in a dot or a space) are refused.
//! Locks are past every byte that is read, so they keep no reader out. NTFS replaces and removes
//! values that are open. Other file systems and shares do not: there a pin holds the identity of
//! its file instead of the file, a snapshot of a value that was replaced is `Changed`, and a value
//! that another program has open is waited for, up to ten seconds, before the write is an error.
#![deny(unsafe_code)]

mod buffers;
#[cfg(all(test, unix))]
mod injected;
mod listing;
mod locks;
mod names;
mod new_value;
mod options;
mod paths;
mod pins;
mod read;
mod store;

// What the crate exports is tested in the program of its unit tests.
#[cfg(test)]
extern crate self as ndzarr_store_fs;
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
mod system;
mod writing;

pub use listing::leftovers::Leftover;
pub use options::{Durability, Links};
pub use paths::apart::reads_from;
pub use store::{FsStore, FsStoreBuilder};
pub use system::file_system::{FileSystem, Locking};
