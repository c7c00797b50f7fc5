//! Makes the folders above a value and removes those that stay empty.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use ndzarr_store::Wait;

use crate::locks::Take;
use crate::system::os_error::is_not_found;
use crate::system::syscalls::{again, once_free};
use crate::{Durability, FsStore};

impl FsStore {
    /// Runs `call` in the folder of `path`, creating the folder first if needed, and again whenever
    /// others remove it in between. `call` returns `None` if there is no folder. The result
    /// includes the folders that were created.
    pub(crate) fn in_folder<T>(
        &self,
        path: &Path,
        mut call: impl FnMut() -> io::Result<Option<T>>,
    ) -> io::Result<(T, MadeFolders)> {
        // Others remove a folder only when it is empty, so this many times in a row have another
        // cause, such as a dangling symbolic link.
        const ATTEMPTS: usize = 1000;
        let folder = path.parent().unwrap_or(path);
        let mut made = MadeFolders::default();
        let mut last = None;
        for _ in 0..ATTEMPTS {
            if let Some(done) = call()? {
                return Ok((done, made));
            }
            match self.make(folder) {
                Err(e) if !is_not_found(&e) => return Err(e),
                // Windows reports a missing folder where a file has the name of one.
                Err(_) | Ok(0) if self.is_below_file(folder) => {
                    return Err(ErrorKind::NotADirectory.into());
                }
                Err(e) => last = Some(e),
                Ok(0) => {}
                // Assigns only the field: dropping the whole value would remove the folders.
                Ok(levels) => {
                    made.0 = Some(Made {
                        store: self.clone(),
                        path: path.to_owned(),
                        levels,
                    });
                }
            }
        }
        Err(last.unwrap_or_else(|| io::Error::other("its folder is removed again and again")))
    }

    fn is_below_file(&self, folder: &Path) -> bool {
        let mut found = folder
            .ancestors()
            .map(|above| again(|| self.sys.stat(above)));
        found
            .find_map(Result::ok)
            .is_some_and(|above| !above.is_dir())
    }

    /// Takes the lock of a path, whose folder is created if it does not exist.
    pub(crate) fn take_in_folder(
        &self,
        path: &Path,
        wait: Wait<'_>,
    ) -> io::Result<(Take, MadeFolders)> {
        self.in_folder(path, || {
            Ok(match self.locks.take(path, wait)? {
                Take::NoFolder => None,
                taken => Some(taken),
            })
        })
    }

    /// Creates a folder and those above it that do not exist. Returns the number of created
    /// folders.
    fn make(&self, folder: &Path) -> io::Result<usize> {
        let mut above = 0;
        // On Windows, a folder that others remove stays until all have closed it.
        match once_free(&*self.sys, || self.sys.make_folder(folder)) {
            Ok(()) => {}
            // Another process, which made it a moment ago, may not have synced it yet.
            Err(e) if self.exists_already(folder, &e) => {
                return self.sync_entry(folder).map(|()| 0);
            }
            Err(e) if is_not_found(&e) => {
                let Some(parent) = folder.parent() else {
                    return Err(e);
                };
                above = self.make(parent)?;
                match again(|| self.sys.make_folder(folder)) {
                    Err(e) if !self.exists_already(folder, &e) => return Err(e),
                    _ => {}
                }
            }
            Err(e) => return Err(e),
        }
        self.sync_entry(folder)?;
        Ok(above + 1)
    }

    /// True if creating a folder failed because it exists. sshfs reports "not permitted" then.
    fn exists_already(&self, folder: &Path, e: &io::Error) -> bool {
        match e.kind() {
            ErrorKind::AlreadyExists => true,
            ErrorKind::PermissionDenied => {
                again(|| self.sys.stat(folder)).is_ok_and(|stat| stat.is_dir())
            }
            _ => false,
        }
    }

    /// Removes the folders of `path` that are empty, up to the root, which stays. One into which
    /// another writer has just put a file is not empty; a writer that finds it gone creates it
    /// again.
    pub(crate) fn prune_above(&self, path: &Path) {
        self.prune(path, usize::MAX);
    }

    fn prune(&self, path: &Path, levels: usize) {
        let base = self.base();
        let folders = path.ancestors().skip(1).take(levels);
        for empty in folders.take_while(|folder| folder.starts_with(&base) && **folder != *base) {
            if again(|| self.sys.remove_folder(empty)).is_err() {
                break;
            }
        }
    }

    /// Syncs the entry of `path` in its folder, if the settings say so.
    pub(crate) fn sync_entry(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(folder) if self.durability == Durability::Full => {
                again(|| self.sys.sync_folder(folder))
            }
            _ => Ok(()),
        }
    }
}

/// Folders that were created for a path in them. Dropping it removes the empty ones.
#[derive(Debug, Default)]
pub(crate) struct MadeFolders(Option<Made>);

#[derive(Debug)]
struct Made {
    store: FsStore,
    path: PathBuf,
    /// How many of the folders above it were created.
    levels: usize,
}

impl MadeFolders {
    /// Keeps them, because a value in them exists.
    pub(crate) fn keep(&mut self) {
        self.0 = None;
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        if let Some(made) = &self.0 {
            made.store.prune(&made.path, made.levels);
        }
    }
}
