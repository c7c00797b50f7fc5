//! Lists the keys and prefixes directly below a prefix, and detects links that lead in circles.

use std::fs::DirEntry;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use ndzarr_store::{DirListing, Prefix, StoreError};

use crate::FsStore;
use crate::names::key_path::{is_segment, of_prefix};
use crate::system::os_error::{is_absent, is_loop};
use crate::system::stat::FileId;
use crate::system::syscalls::again;

impl FsStore {
    pub(crate) fn list(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        Ok(self.entries(prefix)?.0)
    }

    /// The listing of a folder, and the links in it that lead back up.
    pub(crate) fn entries(&self, prefix: &Prefix) -> Result<(DirListing, Vec<String>), StoreError> {
        let path = of_prefix(self.root(), prefix)?;
        let Some(path) = self.confined(prefix, path)? else {
            return Ok(Default::default());
        };
        let failed = |e| StoreError::io("list", prefix, e);
        let entries = match again(|| self.sys.list(&path)) {
            Ok(entries) => entries,
            Err(e) if is_absent(&e) => {
                return Ok((self.absent(prefix, &path)?.unwrap_or_default(), Vec::new()));
            }
            Err(e) => return Err(failed(e)),
        };
        let folder = prefix.as_str().trim_end_matches('/');
        if !folder.is_empty() && !self.has_exact_names(folder)? {
            return Ok(Default::default());
        }
        let mut listing = DirListing::default();
        let mut up = Vec::new();
        let mut above = None;
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_segment(name)) else {
                continue;
            };
            match self.kind(&entry, &path, &mut above).map_err(failed)? {
                Some(Kind::Value) => listing.keys.push(name.to_owned()),
                Some(Kind::Folder) => listing.prefixes.push(name.to_owned()),
                Some(Kind::LinkUp) => up.push(name.to_owned()),
                None => {}
            }
        }
        listing.keys.sort_unstable();
        listing.prefixes.sort_unstable();
        if !up.is_empty() {
            self.has_links_up.store(true, Ordering::Relaxed);
        }
        Ok((listing, up))
    }

    /// How an entry is listed; `None` if it went away. An entry that is neither file nor folder
    /// counts as a value that cannot be read, and so does a link that cannot be followed.
    fn kind(
        &self,
        entry: &DirEntry,
        folder: &Path,
        above: &mut Option<Vec<FileId>>,
    ) -> io::Result<Option<Kind>> {
        let kind = match entry.file_type() {
            Ok(kind) => kind,
            Err(e) if is_absent(&e) => return Ok(None),
            Err(e) => return Err(e),
        };
        if kind.is_dir() {
            return Ok(Some(Kind::Folder));
        }
        if !kind.is_symlink() {
            return Ok(Some(Kind::Value));
        }
        let target = match again(|| self.sys.stat(&entry.path())) {
            Ok(target) if target.is_dir() => target,
            _ => return Ok(Some(Kind::Value)),
        };
        // Without the links that lead to a folder on their own path, every descent ends. A walk
        // enters each folder that links lead to once, see `linked_folder`, which limits the number
        // of descents.
        let above = match above {
            Some(above) => above,
            None => above.insert(self.folders_above(folder)?),
        };
        if above.contains(&target.file) {
            return Ok(Some(Kind::LinkUp));
        }
        self.has_linked_folders.store(true, Ordering::Relaxed);
        Ok(Some(Kind::Folder))
    }

    /// A number for the folder that a prefix leads to by a symbolic link; `None` if there is no
    /// link below the root.
    pub(crate) fn linked_folder(&self, prefix: &Prefix) -> Result<Option<(u64, u64)>, StoreError> {
        // A walk has listed the link before.
        if !self.has_linked_folders.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let path = of_prefix(self.root(), prefix)?;
        let resolve = |path: &Path| match again(|| self.sys.resolve(path)) {
            Ok(path) => Ok(Some(path)),
            Err(e) if is_absent(&e) || is_loop(&e) => Ok(None),
            Err(e) => Err(StoreError::io("resolve the links of", prefix, e)),
        };
        let (Some(root), Some(real)) = (resolve(self.root())?, resolve(&path)?) else {
            return Ok(None);
        };
        if path
            .strip_prefix(self.root())
            .is_ok_and(|below| root.join(below) == real)
        {
            return Ok(None);
        }
        let hash =
            |salt: u8| BuildHasherDefault::<DefaultHasher>::default().hash_one((salt, &real));
        Ok(Some((hash(0), hash(1))))
    }

    /// The folder and those above it, up to the root.
    fn folders_above(&self, folder: &Path) -> io::Result<Vec<FileId>> {
        let base = self.base();
        folder
            .ancestors()
            .take_while(|folder| folder.starts_with(&base))
            .map(|folder| again(|| self.sys.stat(folder)).map(|stat| stat.file))
            .collect()
    }
}

enum Kind {
    Value,
    Folder,
    /// A link to a folder that it lies in.
    LinkUp,
}
