//! Keeps paths inside the root of the store where symbolic links may lead out.

use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use ndzarr_store::{Key, StoreError};

use crate::names::key_path::of_key;
use crate::system::os_error::is_absent;
use crate::system::syscalls::again;
use crate::{FsStore, Links};

impl FsStore {
    /// The path at which a key is read; `None` if it does not exist.
    pub(crate) fn path_to_read(&self, key: &Key) -> Result<Option<PathBuf>, StoreError> {
        self.confined(key, of_key(self.root(), key)?)
    }

    /// The path at which a key is written. If the key itself is a link, its target does not matter,
    /// since the link is replaced.
    pub(crate) fn path_to_write(&self, key: &Key) -> Result<PathBuf, StoreError> {
        let path = of_key(self.root(), key)?;
        Ok(self.confined_parent(key, path.clone())?.unwrap_or(path))
    }

    /// The path itself, or with [`Links::Confine`] its target inside the store; `None` if it does
    /// not exist.
    pub(crate) fn confined(
        &self,
        key: impl ToString,
        path: PathBuf,
    ) -> Result<Option<PathBuf>, StoreError> {
        match self.links {
            Links::Follow => Ok(Some(path)),
            Links::Confine => {
                let key = key.to_string();
                let resolved = self.resolve_inside(&key, &path)?;
                if resolved.is_none() {
                    // Outside the store, absence is an error.
                    self.confined_parent(&key, path.clone())?;
                    return self.absent(key, &path);
                }
                Ok(resolved)
            }
        }
    }

    /// The path with only its folder resolved: the path itself, or with [`Links::Confine`] the path
    /// in the target of its folder inside the store. `None` if no folder above it exists.
    pub(crate) fn confined_parent(
        &self,
        key: impl ToString,
        path: PathBuf,
    ) -> Result<Option<PathBuf>, StoreError> {
        if self.links == Links::Follow {
            return Ok(Some(path));
        }
        let key = key.to_string();
        // Folders that do not exist yet will be real ones.
        for folder in path
            .ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(self.root()))
        {
            if let Some(resolved) = self.resolve_inside(&key, folder)? {
                let rest = path.strip_prefix(folder).unwrap_or(Path::new(""));
                return Ok(Some(resolved.join(rest)));
            }
        }
        Ok(None)
    }

    /// The prefix of all confined paths of this store.
    pub(crate) fn base(&self) -> Cow<'_, Path> {
        match self.links {
            Links::Follow => self.root().into(),
            Links::Confine => {
                again(|| self.sys.resolve(self.root())).map_or(self.root().into(), Cow::Owned)
            }
        }
    }

    fn resolve_inside(&self, key: &str, path: &Path) -> Result<Option<PathBuf>, StoreError> {
        let resolve = |path: &Path| match again(|| self.sys.resolve(path)) {
            Ok(path) => Ok(Some(path)),
            Err(e) if is_absent(&e) => Ok(None),
            Err(e) => Err(StoreError::io("resolve the links of", key, e)),
        };
        let (Some(root), Some(path)) = (resolve(self.root())?, resolve(path)?) else {
            return Ok(None);
        };
        if !path.starts_with(root) {
            let why = io::Error::new(
                ErrorKind::PermissionDenied,
                "a symbolic link leads out of the store, which is confined",
            );
            return Err(StoreError::io("follow the links of", key, why));
        }
        Ok(Some(path))
    }
}
