//! Lists and removes the lock files and temporaries that killed writers have left.

use std::io;
use std::path::{Path, PathBuf};

use ndzarr_store::{Prefix, StoreError, Wait};

use crate::FsStore;
use crate::locks::Take;
use crate::names::key_path::of_prefix;
use crate::names::lock_names::{LOCK_SUFFIX, target_of_temporary};
use crate::system::os_error::is_absent;
use crate::system::syscalls::again;

/// A lock file or temporary that a killed writer has left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// Its path below the root of the store, with `/` between names.
    pub path: String,
    /// Its size in bytes.
    pub byte_len: u64,
}

impl Leftover {
    /// The key whose writer has left it, if it has the name of such a file.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        let of = self.path.strip_suffix(LOCK_SUFFIX)?;
        let name = of.rsplit('/').next().unwrap_or(of);
        let key = target_of_temporary(name).unwrap_or(name);
        of.get(..of.len() - (name.len() - key.len()))
            .filter(|_| !key.is_empty())
    }
}

impl FsStore {
    /// The lock files and temporaries below a prefix that no writer holds, in the order of their
    /// paths. They block no writer, since the next writer of the key takes them over; but there may
    /// be no next writer. Those on a file system of [several hosts](crate::Locking::Portable) are
    /// listed if their process is known to have ended. Links are not followed. Nothing is changed.
    ///
    /// A writer that is making its lock file at this moment may be listed;
    /// [`remove_leftover`](Self::remove_leftover) does not disturb it.
    ///
    /// ```
    /// use ndzarr::FsStore;
    /// use ndzarr::store::Prefix;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// // As a killed writer leaves it.
    /// std::fs::write(folder.path().join("0.0.__lock"), "half a chunk")?;
    ///
    /// let store = FsStore::new(folder.path());
    /// let leftovers = store.leftovers(&Prefix::root())?;
    /// assert_eq!((&leftovers[0].path[..], leftovers[0].byte_len), ("0.0.__lock", 12));
    /// assert!(store.remove_leftover(&leftovers[0])?);
    /// assert_eq!(store.leftovers(&Prefix::root())?, []);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A folder or a lock file cannot be read.
    pub fn leftovers(&self, prefix: &Prefix) -> Result<Vec<Leftover>, StoreError> {
        let mut first = None;
        let found = self.leftovers_but(prefix, |error| first = first.take().or(Some(error)))?;
        first.map_or(Ok(found), Err)
    }

    /// The lock files and temporaries below a prefix that no writer holds, as by
    /// [`leftovers`](Self::leftovers). The error of a folder or a lock file that cannot be read is
    /// passed to `unlisted`, and the rest is listed.
    ///
    /// # Errors
    /// The prefix is no folder of this store; its drive is gone.
    pub fn leftovers_but(
        &self,
        prefix: &Prefix,
        mut unlisted: impl FnMut(StoreError),
    ) -> Result<Vec<Leftover>, StoreError> {
        let mut pending = vec![of_prefix(self.root(), prefix)?];
        self.check_drive(prefix)?;
        let mut found = Vec::new();
        while let Some(folder) = pending.pop() {
            if let Err(error) = self.list_leftovers(&folder, &mut pending, &mut found) {
                let below = folder
                    .strip_prefix(self.root())
                    .unwrap_or(&folder)
                    .display();
                unlisted(StoreError::io(
                    "list what writers have left in",
                    below,
                    error,
                ));
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Removes a lock file or temporary as the next writer of the key would, by taking its lock.
    /// Returns `false` if a writer holds it now, and `true` if it does not exist any more.
    ///
    /// # Errors
    /// The file system refuses it.
    pub fn remove_leftover(&self, leftover: &Leftover) -> Result<bool, StoreError> {
        let failed = |e| StoreError::io("remove", &leftover.path, e);
        let Some(of) = leftover.path.strip_suffix(LOCK_SUFFIX) else {
            return Err(failed(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a lock file",
            )));
        };
        let Ok(prefix) = Prefix::new(
            of.rsplit_once('/')
                .map_or(String::new(), |(folder, _)| format!("{folder}/")),
        ) else {
            return Err(failed(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not below the root",
            )));
        };
        let name = of.rsplit('/').next().unwrap_or(of);
        let path = of_prefix(self.root(), &prefix)?.join(name);
        let file = self.root().join(&leftover.path);
        if again(|| self.sys.link_stat(&file)).is_err_and(|e| is_absent(&e)) {
            return Ok(true);
        }
        if self.locks.len_if_left(&file).map_err(failed)?.is_none() {
            return Ok(false);
        }
        match self.locks.take(&path, Wait::Try).map_err(failed)? {
            // Dropping it removes the file.
            Take::Held(lock) => {
                drop(lock);
                self.prune_above(&path);
                Ok(true)
            }
            Take::NoFolder => Ok(true),
            Take::Busy | Take::Unsupported => Ok(false),
        }
    }

    /// Those in a folder, and the folders in it. The error is the first of an entry; it ends
    /// nothing.
    fn list_leftovers(
        &self,
        folder: &Path,
        pending: &mut Vec<PathBuf>,
        found: &mut Vec<Leftover>,
    ) -> io::Result<()> {
        let entries = match again(|| self.sys.list(folder)) {
            Ok(entries) => entries,
            Err(e) if is_absent(&e) => return Ok(()),
            Err(e) => return Err(e),
        };
        let mut outcome = Ok(());
        for entry in entries {
            let entry = entry?;
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(e) if is_absent(&e) => continue,
                Err(e) => {
                    outcome = outcome.and(Err(e));
                    continue;
                }
            };
            let path = entry.path();
            if kind.is_dir() {
                pending.push(path);
            } else if kind.is_file()
                && entry
                    .file_name()
                    .to_str()
                    .is_some_and(|name| name.ends_with(LOCK_SUFFIX))
            {
                match self.leftover(&path) {
                    Ok(leftover) => found.extend(leftover),
                    Err(e) => outcome = outcome.and(Err(e)),
                }
            }
        }
        outcome
    }

    /// A lock file, unless a writer holds it.
    fn leftover(&self, path: &Path) -> io::Result<Option<Leftover>> {
        let below = path.strip_prefix(self.root()).unwrap_or(path);
        // A folder whose name is not text is not that of a key.
        let names: Option<Vec<_>> = below
            .components()
            .map(|name| name.as_os_str().to_str())
            .collect();
        let byte_len = self.locks.len_if_left(path)?;
        let (Some(names), Some(byte_len)) = (names, byte_len) else {
            return Ok(None);
        };
        Ok(Some(Leftover {
            path: names.join("/"),
            byte_len,
        }))
    }
}
