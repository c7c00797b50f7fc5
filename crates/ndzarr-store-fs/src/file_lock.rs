use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndzarr_store::Wait;

use crate::identity::{file_id, has_other_names};
use crate::syscalls::{Syscalls, again};

/// What the name of a lock file ends in. tensorstore has the same, and so both exclude each other.
pub(crate) const LOCK_SUFFIX: &str = ".__lock";

/// The write lock of a path. Its file becomes the new value, so there is no other temporary, and a killed writer leaves
/// at most this one behind, which the next writer takes over.
#[derive(Debug)]
pub(crate) struct FileLock {
    sys: Arc<dyn Syscalls>,
    path: PathBuf,
    file: Arc<File>,
    /// Bytes that a killed writer left.
    rest: u64,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// The lock file is under its own name.
    Locked,
    /// It is gone or has become the value: its name is for others to take.
    Released,
}

/// The answer to [`FileLock::take`].
#[derive(Debug)]
pub(crate) enum Take {
    Held(FileLock),
    Busy,
    /// The file system has no locks.
    Unsupported,
    /// There is no folder for the lock file to be in.
    NoFolder,
}

impl FileLock {
    /// Takes the lock of the file at `path`, whose folder must be there.
    pub(crate) fn take(sys: &Arc<dyn Syscalls>, path: &Path, wait: Wait<'_>) -> io::Result<Take> {
        let path = lock_path(path);
        loop {
            let file = match open(&**sys, &path) {
                Ok(Some(file)) => Arc::new(file),
                Ok(None) => continue,
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Take::NoFolder),
                Err(e) => return Err(e),
            };
            match again(|| sys.lock(&file, wait)) {
                Ok(true) => {}
                Ok(false) => return Ok(Take::Busy),
                Err(e) if is_unsupported(&e) => {
                    // Where nobody can lock, nobody needs the file. ENOLCK may be a passing shortage, though, and then
                    // another writer may hold the lock by now.
                    if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput) {
                        let _ = sys.unlink(&path);
                    }
                    return Ok(Take::Unsupported);
                }
                Err(e) => return Err(e),
            }
            let mut lock =
                Self { sys: sys.clone(), path: path.clone(), file, rest: 0, state: State::Released };
            // Nothing may be written before this check: the file may have become the live value in the meantime.
            if lock.is_under_its_name()? {
                lock.state = State::Locked;
                return Ok(Take::Held(lock));
            }
        }
    }

    /// The file that becomes the new value.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Removes what a killed writer left. To be called before the first byte is written.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        if self.rest > 0 {
            again(|| self.sys.truncate(&self.file))?;
            self.rest = 0;
        }
        Ok(())
    }

    /// Makes the file the value at `path`. The lock is held until it is dropped, but others may wait for the next one.
    pub(crate) fn rename_over(&mut self, path: &Path) -> io::Result<()> {
        again(|| self.sys.rename(&self.path, path))?;
        self.state = State::Released;
        Ok(())
    }

    fn is_under_its_name(&mut self) -> io::Result<bool> {
        let held = again(|| self.sys.file_stat(&self.file))?;
        let named = match again(|| self.sys.link_stat(&self.path)) {
            Ok(named) => named,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(e),
        };
        if file_id(&held) != file_id(&named) {
            return Ok(false);
        }
        if !held.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the lock file is no regular file"));
        }
        if has_other_names(&held) {
            // A copy made of hard links: what is written here would show there.
            again(|| self.sys.unlink(&self.path))?;
            return Ok(false);
        }
        self.rest = held.len();
        Ok(true)
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        if self.state == State::Locked {
            // Removed before it is unlocked, so that whoever waits for it sees that it is not the lock any more.
            let _ = again(|| self.sys.unlink(&self.path));
        }
        // Closing would do, were there no forked child with a copy of the descriptor and no pin that keeps it open.
        let _ = again(|| self.sys.unlock(&self.file));
    }
}

/// Opens the lock file or makes it; none when it went away in between.
fn open(sys: &dyn Syscalls, path: &Path) -> io::Result<Option<File>> {
    match again(|| sys.create(path)) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        other => return other.map(Some),
    }
    match again(|| sys.reopen(path)) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Whether the system says by this error that it cannot lock: ENOSYS, ENOTSUP, EINVAL or ENOLCK.
fn is_unsupported(e: &io::Error) -> bool {
    if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput) {
        return true;
    }
    #[cfg(unix)]
    if e.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) {
        return true;
    }
    false
}

/// Where the lock file of a path lies.
pub(crate) fn lock_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(LOCK_SUFFIX);
    name.into()
}
