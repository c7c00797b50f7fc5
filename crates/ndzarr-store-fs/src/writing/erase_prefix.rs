//! Removes everything below a prefix, each value under its lock.

use std::cell::Cell;
use std::fs::DirEntry;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use ndzarr_store::{Prefix, StoreError, Wait, is_numbered};

use crate::FsStore;
use crate::locks::Take;
use crate::locks::lock_error::{TooLong, failure, waited_for};
use crate::names::key_path::of_prefix;
use crate::names::lock_names::{LOCK_SUFFIX, is_removed, lock_path, target_of_temporary};
use crate::system::os_error::{is_absent, is_in_use};
use crate::system::syscalls::{again, once_closed, once_free};

/// An erasure, and how it waits for other writers.
struct Erasure<'e> {
    store: &'e FsStore,
    wait: Wait<'e>,
    start: Duration,
    /// True if a lock file, or one that is removed when it is closed, had to stay.
    leaves_locks: Cell<bool>,
}

impl FsStore {
    pub(crate) fn remove_below(&self, prefix: &Prefix, wait: Wait<'_>) -> Result<(), StoreError> {
        let path = of_prefix(self.root(), prefix)?;
        self.check_drive(prefix)?;
        let path = if prefix.as_str().is_empty() {
            path
        } else {
            let Some(path) = self.confined_parent(prefix, path)? else {
                return Ok(());
            };
            path
        };
        let failed = |e: io::Error| {
            let file = waited_for(&e)
                .and_then(|file| Some(file.strip_prefix(&path).ok()?.to_str()?.to_owned()));
            failure("erase", format!("{prefix}{}", file.unwrap_or_default()), e)
        };
        let erasure = Erasure {
            store: self,
            wait,
            start: self.sys.now(),
            leaves_locks: Cell::new(false),
        };
        if prefix.as_str().is_empty() {
            return erasure.empty(&path).map_err(failed);
        }
        if !self.has_exact_names(prefix.as_str().trim_end_matches('/'))? {
            return Ok(());
        }
        match again(|| self.sys.link_stat(&path)) {
            Ok(entry) if entry.is_dir() => erasure.remove_tree(&path).map_err(failed)?,
            // A link to a folder is removed, its target stays. A link to a file is a value next to
            // the prefix, not below it.
            Ok(entry) if entry.is_symlink() => match again(|| self.sys.stat(&path)) {
                Ok(target) if target.is_dir() => {
                    again(|| self.sys.unlink(&path)).map_err(failed)?
                }
                _ => return Ok(()),
            },
            Ok(_) => return Ok(()),
            Err(e) if is_absent(&e) => return Ok(()),
            Err(e) => return Err(failed(e)),
        }
        self.sync_entry(&path).map_err(failed)?;
        self.prune_above(&path);
        Ok(())
    }
}

impl Erasure<'_> {
    fn remove_tree(&self, folder: &Path) -> io::Result<()> {
        // Anything in the folder was put there since it was emptied, and may stay. Mostly it is the
        // lock file of a writer that waited, so try again.
        const ATTEMPTS: usize = 100;
        for _ in 0..ATTEMPTS {
            self.empty(folder)?;
            match once_free(&*self.store.sys, || self.store.sys.remove_folder(folder)) {
                Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty && self.leaves_locks.get() => {
                    break;
                }
                Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => {}
                // sshfs reports this for a folder that is not empty.
                Err(e) if e.kind() == ErrorKind::PermissionDenied && self.has_entries(folder) => {}
                removed => return absent_is_fine(removed),
            }
        }
        Ok(())
    }

    fn has_entries(&self, folder: &Path) -> bool {
        again(|| self.store.sys.list(folder)).is_ok_and(|mut entries| entries.next().is_some())
    }

    fn empty(&self, folder: &Path) -> io::Result<()> {
        let entries = match again(|| self.store.sys.list(folder)) {
            Err(e) if is_absent(&e) => return Ok(()),
            entries => entries?,
        };
        // Files whose names are not numbers first: documents go before the chunks that they
        // describe.
        let mut later = Vec::new();
        for entry in entries {
            let entry = entry?;
            let is_first = entry.file_type().is_ok_and(|kind| kind.is_file())
                && entry.file_name().to_str().is_some_and(|name| {
                    !is_numbered(name.strip_suffix(LOCK_SUFFIX).unwrap_or(name))
                });
            if is_first {
                self.remove_entry(&entry)?
            } else {
                later.push(entry)
            }
        }
        // An entry that may not be removed does not keep the others.
        let mut outcome = Ok(());
        for entry in later {
            match self.remove_entry(&entry) {
                Err(e) if e.kind() == ErrorKind::PermissionDenied => outcome = outcome.and(Err(e)),
                removed => removed?,
            }
        }
        outcome
    }

    fn remove_entry(&self, entry: &DirEntry) -> io::Result<()> {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_str();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => self.remove_tree(&path),
            // A link is not a lock, whatever its name.
            Ok(kind)
                if kind.is_symlink()
                    && (name.is_some_and(|name| name.ends_with(LOCK_SUFFIX))
                        || !leads_to_file(&path)) =>
            {
                absent_is_fine(again(|| self.store.sys.unlink(&path)))
            }
            Ok(_) => match name.and_then(|name| name.strip_suffix(LOCK_SUFFIX)) {
                Some(of) if !of.is_empty() => self.remove_lock_file(&path, of),
                _ => self.remove_value(&path),
            },
            Err(e) => absent_is_fine(Err(e)),
        }
    }

    /// Removes the lock file or temporary at `path`, which is `of` with a suffix.
    fn remove_lock_file(&self, path: &Path, of: &str) -> io::Result<()> {
        if is_removed(of) {
            let removed = again(|| self.store.sys.unlink(path));
            // Windows may keep it for as long as it is open, with or without an error.
            if removed.as_ref().is_err_and(is_in_use)
                || again(|| self.store.sys.link_stat(path)).is_ok()
            {
                self.leaves_locks.set(true);
                return Ok(());
            }
            return absent_is_fine(removed);
        }
        let value = path.with_file_name(of);
        match target_of_temporary(of) {
            // Its writer may work on it for long, but cannot publish it any more: that needs the
            // same lock.
            Some(key) if !value.exists() => self.under_lock(&path.with_file_name(key), || {
                once_closed(&*self.store.sys, || self.store.sys.unlink(path))
            }),
            _ => self.remove_value(&value),
        }
    }

    /// Removes a file under its lock: a writer that has read it and will replace it comes before or
    /// after.
    fn remove_value(&self, path: &Path) -> io::Result<()> {
        self.under_lock(path, || {
            once_closed(&*self.store.sys, || self.store.sys.unlink(path))
        })
    }

    fn under_lock(&self, path: &Path, remove: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let take = match self.store.locks.take(path, self.wait) {
            Err(_) if lock_path(path).is_symlink() => {
                absent_is_fine(again(|| self.store.sys.unlink(&lock_path(path))))?;
                self.store.locks.take(path, self.wait)
            }
            take => take,
        };
        let lock = match take {
            Ok(Take::NoFolder) => return Ok(()),
            Ok(Take::Held(lock)) => Some(lock),
            Ok(Take::Busy) => {
                let waited = self.store.sys.now().saturating_sub(self.start);
                return Err(TooLong {
                    lock: lock_path(path),
                    waited,
                    holder: None,
                }
                .into());
            }
            Ok(Take::Unsupported) => {
                // In a shortage of locks another writer may hold it.
                if again(|| self.store.sys.link_stat(&lock_path(path))).is_ok() {
                    self.leaves_locks.set(true);
                }
                None
            }
            // Not a key of this store: the name of its lock file would be too long.
            Err(e) if e.kind() == ErrorKind::InvalidFilename => None,
            Err(e) => return Err(e),
        };
        if let Some(lock) = &lock {
            lock.check()?;
        }
        absent_is_fine(remove())
    }
}

fn leads_to_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|target| target.is_file())
}

fn absent_is_fine(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(e) if is_absent(&e) => Ok(()),
        other => other,
    }
}
