use std::ffi::OsStr;
use std::fs::DirEntry;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use ndzarr_store::{Prefix, StoreError, Wait, is_numbered};

use crate::FsStore;
use crate::file_lock::{FileLock, LOCK_SUFFIX, Take, lock_path};
use crate::key_path::of_prefix;
use crate::read::is_absent;
use crate::syscalls::again;

impl FsStore {
    pub(crate) fn remove_below(&self, prefix: &Prefix) -> Result<(), StoreError> {
        let path = of_prefix(self.root(), prefix)?;
        let failed = |e| StoreError::io("erase", prefix, e);
        if prefix.as_str().is_empty() {
            return self.empty(&path).map_err(failed);
        }
        let Some(path) = self.confined_parent(prefix, path)? else { return Ok(()) };
        match again(|| self.sys.link_stat(&path)) {
            Ok(entry) if entry.is_dir() => self.remove_tree(&path).map_err(failed)?,
            // A link to a folder goes, what it leads to stays. One to a file is a value beside the prefix, not below.
            Ok(entry) if entry.is_symlink() => match again(|| self.sys.stat(&path)) {
                Ok(target) if target.is_dir() => again(|| self.sys.unlink(&path)).map_err(failed)?,
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

    fn remove_tree(&self, folder: &Path) -> io::Result<()> {
        // Whatever keeps the folder was put there since it was emptied, and may stay. Mostly it is the lock file of a
        // writer that waited, so it is worth another look.
        const ATTEMPTS: usize = 100;
        for _ in 0..ATTEMPTS {
            self.empty(folder)?;
            match again(|| self.sys.remove_folder(folder)) {
                Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => {}
                removed => return absent_is_fine(removed),
            }
        }
        Ok(())
    }

    fn empty(&self, folder: &Path) -> io::Result<()> {
        let entries = match again(|| self.sys.list(folder)) {
            Err(e) if is_absent(&e) => return Ok(()),
            entries => entries?,
        };
        // Files whose names are no numbers first: documents are gone before the chunks that they describe.
        let mut later = Vec::new();
        for entry in entries {
            let entry = entry?;
            let is_first = entry.file_type().is_ok_and(|kind| kind.is_file())
                && entry
                    .file_name()
                    .to_str()
                    .is_some_and(|name| !is_numbered(name.strip_suffix(LOCK_SUFFIX).unwrap_or(name)));
            if is_first { self.remove_entry(&entry)? } else { later.push(entry) }
        }
        later.iter().try_for_each(|entry| self.remove_entry(entry))
    }

    fn remove_entry(&self, entry: &DirEntry) -> io::Result<()> {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => self.remove_tree(&path),
            Ok(kind) if kind.is_symlink() && !leads_to_file(&path) => absent_is_fine(self.sys.unlink(&path)),
            Ok(_) => self.remove_value(&locked_path(path, &entry.file_name())),
            Err(e) => absent_is_fine(Err(e)),
        }
    }

    /// Removes a file under its lock: whoever is about to replace it, having read it, comes before or after.
    fn remove_value(&self, path: &Path) -> io::Result<()> {
        let _lock = match FileLock::take(&self.sys, path, Wait::Block) {
            Ok(Take::NoFolder) => return Ok(()),
            Ok(Take::Unsupported) => {
                // The attempt may have left it, and the folder is to be empty.
                absent_is_fine(again(|| self.sys.unlink(&lock_path(path))))?;
                None
            }
            Ok(take) => Some(take),
            // No key of this store: its lock file would have too long a name.
            Err(e) if e.kind() == ErrorKind::InvalidFilename => None,
            Err(e) => return Err(e),
        };
        absent_is_fine(again(|| self.sys.unlink(path)))
    }
}

fn leads_to_file(path: &Path) -> bool {
    path.metadata().is_ok_and(|target| target.is_file())
}

/// The path that a file is the lock of, or else its own.
fn locked_path(path: PathBuf, name: &OsStr) -> PathBuf {
    match name.to_str().and_then(|name| name.strip_suffix(LOCK_SUFFIX)) {
        Some(value) if !value.is_empty() => path.with_file_name(value),
        _ => path,
    }
}

fn absent_is_fine(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(e) if is_absent(&e) => Ok(()),
        other => other,
    }
}
