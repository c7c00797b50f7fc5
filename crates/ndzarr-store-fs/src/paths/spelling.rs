//! Distinguishes keys that a file system takes for one: most on Windows and macOS ignore case, some
//! of them the form of Unicode, and Windows has short names.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use ndzarr_store::{Key, StoreError};

use crate::FsStore;
use crate::names::lock_names::LOCK_SUFFIX;
use crate::system::os_error::is_absent;
use crate::system::syscalls::once_free;

impl FsStore {
    /// True if an open file lies at this path below the root in exactly this spelling.
    pub(crate) fn is_spelled(&self, file: &File, segments: &str) -> Result<bool, StoreError> {
        if !self.sys.folds_names() {
            return Ok(true);
        }
        let names = self
            .root()
            .file_name()
            .into_iter()
            .chain(segments.split('/').map(AsRef::as_ref));
        match once_free(&*self.sys, || self.sys.path_of(file)) {
            Ok(found) if found.ends_with(names.collect::<PathBuf>()) => Ok(true),
            // A link on the path leads to another path, and not every system reports each path:
            // then each name is checked by itself.
            _ => self.has_exact_names(segments),
        }
    }

    /// True if each folder on the path, and the file itself, exists and is listed in exactly this
    /// spelling.
    pub(crate) fn has_exact_names(&self, segments: &str) -> Result<bool, StoreError> {
        if !self.sys.folds_names() {
            return Ok(true);
        }
        let mut path = self.root().to_owned();
        for segment in segments.split('/') {
            path.push(segment);
            if self
                .listed_name(&path, segments)?
                .is_none_or(|found| found != segment)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Refuses a key if its folder, or its value at `path`, has another spelling. Takes the open
    /// lock file, whose name has `part` after that of the key: the other spelling has the same
    /// lock.
    pub(crate) fn refuse_other_spelling(
        &self,
        key: &Key,
        path: &Path,
        lock: &File,
        part: &str,
    ) -> Result<(), StoreError> {
        const WHAT: &str = "differs from a name that is there only in case or in its form of Unicode, which this \
                            file system does not tell apart";
        if !self.sys.folds_names() {
            return Ok(());
        }
        let is_named = |found: OsString| path.file_name() == Some(&found);
        if self.is_spelled(lock, &format!("{key}{part}{LOCK_SUFFIX}"))?
            && self.listed_name(path, key.as_str())?.is_none_or(is_named)
        {
            return Ok(());
        }
        Err(StoreError::InvalidKey {
            key: key.to_string(),
            what: WHAT,
        })
    }

    /// The name of a file, folder or link as its folder lists it; `None` if there is none.
    fn listed_name(&self, path: &Path, key: &str) -> Result<Option<OsString>, StoreError> {
        match once_free(&*self.sys, || self.sys.listed_name(path)) {
            Ok(found) => Ok(Some(found)),
            Err(e) if is_absent(&e) => Ok(None),
            Err(e) => Err(StoreError::io("look up the name of", key, e)),
        }
    }
}
