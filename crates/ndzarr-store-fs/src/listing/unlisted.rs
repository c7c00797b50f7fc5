//! Lists the entries of folders of the store whose names are not keys.

use std::path::Path;

use ndzarr_store::{Prefix, StoreError};

use crate::FsStore;
use crate::names::key_path::{is_segment, of_prefix};
use crate::names::lock_names::LOCK_SUFFIX;
use crate::system::os_error::is_absent;
use crate::system::syscalls::again;

impl FsStore {
    /// The files, folders and links below a prefix whose names cannot be keys, such as those that
    /// are not UTF-8: no call lists them, and erasing the prefix removes them with their folder. As
    /// paths below the root of the store, with `/` between names, in order. Lock files are not
    /// among them, links are not followed, and folders that cannot be listed are left out.
    ///
    /// ```
    /// use ndzarr::FsStore;
    /// use ndzarr::store::Prefix;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # #[cfg(unix)] {
    /// std::fs::write(folder.path().join("C:\\notes.txt"), "mine")?;
    /// std::fs::write(folder.path().join("0.0"), "a chunk")?;
    ///
    /// assert_eq!(FsStore::new(folder.path()).unlisted(&Prefix::root())?, ["C:\\notes.txt"]);
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The prefix is no folder of this store, or cannot be listed.
    pub fn unlisted(&self, prefix: &Prefix) -> Result<Vec<String>, StoreError> {
        let top = of_prefix(self.root(), prefix)?;
        let Some(top) = self.confined(prefix, top)? else {
            return Ok(Vec::new());
        };
        let failed = |e| StoreError::io("list", prefix, e);
        // Erasing a link removes nothing of its target.
        let is_link = !prefix.as_str().is_empty() && top.is_symlink();
        let mut found = Vec::new();
        let mut pending = if is_link {
            Vec::new()
        } else {
            vec![top.clone()]
        };
        while let Some(folder) = pending.pop() {
            let entries = match again(|| self.sys.list(&folder)) {
                Ok(entries) => entries,
                Err(e) if folder == top && !is_absent(&e) => return Err(failed(e)),
                Err(_) => continue,
            };
            for entry in entries {
                let entry = entry.map_err(failed)?;
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let name = entry.file_name();
                match name.to_str() {
                    Some(name) if is_segment(name) && is_folder => pending.push(entry.path()),
                    Some(name) if is_segment(name) || !is_folder && name.ends_with(LOCK_SUFFIX) => {
                    }
                    _ => found.push(format!("{prefix}{}", shown(&top, &entry.path()))),
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }
}

/// The path from a folder.
fn shown(top: &Path, path: &Path) -> String {
    let parts = path
        .strip_prefix(top)
        .unwrap_or(path)
        .iter()
        .map(|part| part.to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}
