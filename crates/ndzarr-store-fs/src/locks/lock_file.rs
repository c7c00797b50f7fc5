//! Reads lock files: their owners, and for how long they have not changed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use ndzarr_store::PerProcess;

use crate::locks::owner::Owner;
use crate::names::lock_names::{new_mark, temporary_path};
use crate::system::os_error::{is_gone, is_not_found};
use crate::system::syscalls::part::OWNER_BYTES;
use crate::system::syscalls::{Syscalls, again, once_free};

/// The observed state of a lock file.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) file: File,
    pub(crate) state: State,
}

/// The part that changes with a renewal or a new owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    bytes: Vec<u8>,
    len: u64,
    modified: i128,
}

impl Found {
    /// Opens and reads it, since on a network file system the metadata of a file that is not open
    /// may be outdated; `None` if there is no file.
    pub(crate) fn at(sys: &dyn Syscalls, path: &Path) -> io::Result<Option<Self>> {
        match again(|| sys.open_unfollowed(path)) {
            Ok(file) => Self::of(sys, file),
            Err(e) if is_gone(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Reads one that has just been opened; `None` if it is gone by now.
    pub(crate) fn of(sys: &dyn Syscalls, file: File) -> io::Result<Option<Self>> {
        match Self::read(sys, file) {
            Err(e) if is_gone(&e) => Ok(None),
            read => read.map(Some),
        }
    }

    fn read(sys: &dyn Syscalls, file: File) -> io::Result<Self> {
        again(|| sys.refresh(&file))?;
        let mut bytes = Vec::with_capacity(OWNER_BYTES);
        while bytes.len() < OWNER_BYTES {
            let at = bytes.len() as u64;
            let max = OWNER_BYTES - bytes.len();
            match again(|| sys.read_at(&file, at, max, &mut bytes)) {
                Ok(0) => break,
                Ok(_) => {}
                // A program has locked all of it, which on SMB forbids others to read it.
                Err(e) if e.kind() == ErrorKind::PermissionDenied => break,
                Err(e) => return Err(e),
            }
        }
        let stat = again(|| sys.file_stat(&file))?;
        if !stat.is_file() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "the lock file is not a regular file",
            ));
        }
        Ok(Self {
            state: State {
                bytes,
                len: stat.size,
                modified: stat.modified,
            },
            file,
        })
    }

    pub(crate) fn byte_len(&self) -> u64 {
        self.state.len
    }

    pub(crate) fn owner(&self) -> Option<Owner> {
        Owner::parse(&self.state.bytes)
    }

    pub(crate) fn has_mark(&self, mark: &str) -> bool {
        self.owner().is_some_and(|owner| owner.mark == mark)
    }
}

/// Gives up a lock file that this process has made, after a failure: a full disk, say. It is no
/// failure if another writer has taken it over while this process was stopped: Linux says EIO of a
/// file of NFS 4 whose locks it has lost.
pub(crate) fn give_up(
    sys: &dyn Syscalls,
    path: &Path,
    file: &File,
    failure: io::Error,
) -> io::Result<()> {
    match leads_to(sys, path, file) {
        Ok(false) => return Ok(()),
        Ok(true) => drop(again(|| sys.unlink(path))),
        Err(_) => {}
    }
    Err(failure)
}

/// True if a path leads to this file, which is open.
fn leads_to(sys: &dyn Syscalls, path: &Path, file: &File) -> io::Result<bool> {
    let Some(found) = Found::at(sys, path)? else {
        return Ok(false);
    };
    let named = again(|| sys.file_stat(&found.file));
    match named.and_then(|named| Ok(again(|| sys.file_stat(file))?.file == named.file)) {
        Err(e) if is_gone(&e) => Ok(false),
        leads => leads,
    }
}

/// Lock files that were found held, and since when each has not changed.
#[derive(Debug, Default)]
pub(crate) struct Watched(PerProcess<Mutex<HashMap<PathBuf, Seen>>>);

#[derive(Debug)]
struct Seen {
    state: State,
    /// By the clock of this process: those of two hosts cannot be compared.
    since: Duration,
}

/// The maximum number of lock files that are watched: those that were found last.
const MAX_WATCHED: usize = 1024;

impl Watched {
    /// How long a lock file has been unchanged, as far as this process has seen.
    pub(crate) fn unchanged_for(&self, path: &Path, state: &State, now: Duration) -> Duration {
        let mut watched = self.0.lock_inherited();
        if let Some(seen) = watched.get(path).filter(|seen| seen.state == *state) {
            return now.saturating_sub(seen.since);
        }
        if watched.len() >= MAX_WATCHED {
            let oldest = watched
                .iter()
                .min_by_key(|(_, seen)| seen.since)
                .map(|(path, _)| path.clone());
            if let Some(oldest) = oldest {
                watched.remove(&oldest);
            }
        }
        watched.insert(
            path.to_owned(),
            Seen {
                state: state.clone(),
                since: now,
            },
        );
        Duration::ZERO
    }

    pub(crate) fn forget(&self, path: &Path) {
        self.0.lock_inherited().remove(path);
    }
}

/// Removes a lock file if it is the expected one. Another one may replace it between the check and
/// the removal, so it is renamed first, and put back if it is another one.
pub(crate) fn set_aside(
    sys: &dyn Syscalls,
    path: &Path,
    is_meant: impl FnOnce(&Path) -> io::Result<bool>,
) -> io::Result<()> {
    let aside = temporary_path(path, &new_mark());
    match once_free(sys, || sys.rename(path, &aside)) {
        Err(e) if is_not_found(&e) => return Ok(()),
        renamed => renamed?,
    }
    if !is_meant(&aside)? {
        // Another writer may hold the lock by now; then the one that was renamed is lost, as its
        // owner finds out.
        match again(|| sys.link(&aside, path)) {
            Ok(()) => {}
            Err(_) if Found::at(sys, path)?.is_some() => {}
            // There are no hard links here.
            Err(_) => {
                return match again(|| sys.rename(&aside, path)) {
                    Err(e) if !is_not_found(&e) => Err(e),
                    _ => Ok(()),
                };
            }
        }
    }
    match once_free(sys, || sys.unlink(&aside)) {
        Err(e) if !is_not_found(&e) => Err(e),
        _ => Ok(()),
    }
}
