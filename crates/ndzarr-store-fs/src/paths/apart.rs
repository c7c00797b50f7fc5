//! Finds out if removing a folder removes files that are read elsewhere, by links or other names of
//! the folder.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::system::os_error::{is_absent, is_loop};
use crate::system::stat::FileId;
use crate::system::syscalls::{Syscalls, System, again};

/// No system follows more links on one path.
const MAX_LINKS: u32 = 40;

/// True if removing the folder `removed` removes anything that is read at or below the path `read`:
/// a file in the folder, or one whose path leads through a link in it, whatever names the folders
/// have. Links on the path `read` and below it are followed. If `removed` is a link, only the link
/// is removed, and its target stays.
///
/// ```
/// use ndzarr_store_fs::reads_from;
///
/// # fn main() -> std::io::Result<()> {
/// # let folder = tempfile::tempdir()?;
/// # #[cfg(unix)] {
/// let [a, view] = ["a", "view"].map(|name| folder.path().join(name));
/// std::fs::create_dir_all(a.join("c"))?;
/// std::fs::create_dir(&view)?;
/// std::os::unix::fs::symlink("../a/c", view.join("c"))?;
///
/// assert!(reads_from(&view, &a)?);
/// assert!(!reads_from(&a, &view)?);
/// # }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// A folder cannot be listed, or a link cannot be read.
pub fn reads_from(read: &Path, removed: &Path) -> io::Result<bool> {
    let gone = Gone::with(removed)?;
    if gone.folders.is_empty() && gone.link.is_none() {
        return Ok(false);
    }
    gone.is_read(std::path::absolute(read)?)
}

/// The folders and links that a removal removes.
#[derive(Default)]
struct Gone {
    /// Everything in them.
    folders: HashSet<FileId>,
    /// A link to a folder: the folder that it is in, and its name.
    link: Option<(FileId, OsString)>,
}

impl Gone {
    /// Those that are removed with a folder.
    fn with(top: &Path) -> io::Result<Self> {
        let mut gone = Self::default();
        match again(|| System.link_stat(top)) {
            Ok(stat) if stat.is_symlink() => {
                if let (Some(above), Some(name)) = (top.parent(), top.file_name()) {
                    gone.link = Some((again(|| System.stat(above))?.file, name.to_owned()));
                }
                return Ok(gone);
            }
            Ok(_) => {}
            Err(e) if is_absent(&e) => return Ok(gone),
            Err(e) => return Err(e),
        }
        let mut pending = vec![top.to_owned()];
        while let Some(folder) = pending.pop() {
            let entries = match again(|| System.list(&folder)) {
                Ok(entries) => entries,
                Err(e) if is_absent(&e) => continue,
                Err(e) => return Err(e),
            };
            gone.folders.insert(again(|| System.stat(&folder))?.file);
            for entry in entries {
                let entry = entry?;
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    pending.push(entry.path());
                }
            }
        }
        Ok(gone)
    }

    /// True if anything at or below a path is removed, or is reached through something that is.
    fn is_read(&self, top: PathBuf) -> io::Result<bool> {
        if self.is_passed(&top)? {
            return Ok(true);
        }
        let mut entered = HashSet::new();
        let mut pending = vec![top];
        while let Some(folder) = pending.pop() {
            let id = match again(|| System.stat(&folder)) {
                Ok(stat) if stat.is_dir() => stat.file,
                Ok(_) => continue,
                Err(e) if is_absent(&e) || is_loop(&e) => continue,
                Err(e) => return Err(e),
            };
            if self.folders.contains(&id) {
                return Ok(true);
            }
            if !entered.insert(id) {
                continue;
            }
            for entry in again(|| System.list(&folder))? {
                let entry = entry?;
                let kind = entry.file_type()?;
                if kind.is_symlink() && self.is_passed(&entry.path())? {
                    return Ok(true);
                }
                if kind.is_dir() || kind.is_symlink() {
                    pending.push(entry.path());
                }
            }
        }
        Ok(false)
    }

    /// True if the system passes through anything that is removed when it opens an absolute path.
    fn is_passed(&self, path: &Path) -> io::Result<bool> {
        let mut pending: Vec<OsString> = reversed(path);
        // Without links.
        let mut at = PathBuf::new();
        let mut links = 0;
        while let Some(part) = pending.pop() {
            if part == ".." {
                at.pop();
                continue;
            }
            if !at.has_root() || Path::new(&part).has_root() {
                at.push(part);
                continue;
            }
            if self.has(again(|| System.stat(&at))?.file, &part) {
                return Ok(true);
            }
            at.push(part);
            match again(|| System.link_stat(&at)) {
                Ok(stat) if stat.is_symlink() => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Ok(false);
                    }
                    let target = again(|| System.read_link(&at))?;
                    at.pop();
                    pending.extend(reversed(&target));
                }
                Ok(_) => {}
                // It leads nowhere.
                Err(e) if is_absent(&e) => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(false)
    }

    fn has(&self, folder: FileId, name: &OsStr) -> bool {
        let is_link = self
            .link
            .as_ref()
            .is_some_and(|(above, link)| *above == folder && link == name);
        is_link || self.folders.contains(&folder)
    }
}

/// The parts of a path, the last one first.
fn reversed(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .map(|part| part.as_os_str().to_owned())
        .collect()
}
