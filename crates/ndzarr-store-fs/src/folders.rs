use std::io::{self, ErrorKind};
use std::path::Path;

use crate::syscalls::again;
use crate::{Durability, FsStore};

impl FsStore {
    /// Does something in the folder of `path`, which is made first if it is not there, as often as others remove it in
    /// between. `call` answers none where there is no folder.
    pub(crate) fn in_folder<T>(
        &self,
        path: &Path,
        mut call: impl FnMut() -> io::Result<Option<T>>,
    ) -> io::Result<T> {
        // Others remove a folder only when they find it empty, so this many times in a row mean something else: a
        // symbolic link to nowhere, say.
        const ATTEMPTS: usize = 1000;
        let folder = path.parent().unwrap_or(path);
        for _ in 0..ATTEMPTS {
            if let Some(done) = call()? {
                return Ok(done);
            }
            match self.make(folder) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        Err(io::Error::new(ErrorKind::NotFound, "its folder cannot be made"))
    }

    fn make(&self, folder: &Path) -> io::Result<()> {
        match again(|| self.sys.make_folder(folder)) {
            Ok(()) => {}
            Err(e) if self.is_there(folder, &e) => return Ok(()),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let Some(parent) = folder.parent() else { return Err(e) };
                self.make(parent)?;
                match again(|| self.sys.make_folder(folder)) {
                    Err(e) if !self.is_there(folder, &e) => return Err(e),
                    _ => {}
                }
            }
            Err(e) => return Err(e),
        }
        match folder.parent() {
            Some(parent) if self.durability == Durability::Full => again(|| self.sys.sync_folder(parent)),
            _ => Ok(()),
        }
    }

    /// Whether a folder was not made since it is there. sshfs says that it is not permitted then.
    fn is_there(&self, folder: &Path, e: &io::Error) -> bool {
        match e.kind() {
            ErrorKind::AlreadyExists => true,
            ErrorKind::PermissionDenied => again(|| self.sys.stat(folder)).is_ok_and(|stat| stat.is_dir()),
            _ => false,
        }
    }

    /// Removes the folders of `path` that are empty, up to the root, which stays. One that somebody has just put a file
    /// into is not empty, and who meant to and finds it gone makes it again.
    pub(crate) fn prune_above(&self, path: &Path) {
        let base = self.base();
        let mut folder = path.parent();
        while let Some(empty) = folder.filter(|folder| folder.starts_with(&base) && **folder != *base) {
            if again(|| self.sys.remove_folder(empty)).is_err() {
                break;
            }
            folder = empty.parent();
        }
    }

    /// Syncs the entry of `path` in its folder, if the settings say so.
    pub(crate) fn sync_entry(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(folder) if self.durability == Durability::Full => again(|| self.sys.sync_folder(folder)),
            _ => Ok(()),
        }
    }
}
