//! The lock file of a value, which becomes the new value when it is renamed.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;

use crate::locks::lease::Lease;
use crate::system::os_error::is_not_found;
use crate::system::syscalls::{Syscalls, again, replace};

/// The write lock of a path, and the file that becomes its new value.
#[derive(Debug)]
pub(crate) enum FileLock {
    Local(LocalLock),
    Portable(Lease),
}

/// The write lock of a path on a local file system. Its file becomes the new value, so there is no
/// other temporary, and a killed writer leaves at most this one, which the next writer takes over.
#[derive(Debug)]
pub(crate) struct LocalLock {
    sys: Arc<dyn Syscalls>,
    path: PathBuf,
    pub(crate) file: Arc<File>,
    /// Bytes left by a killed writer.
    pub(crate) rest: u64,
    pub(crate) state: State,
    /// True if the file system reports some failed writes only when the file is flushed.
    pub(crate) reports_late: bool,
    /// The process that took it.
    process: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The lock file is under its own name.
    Locked,
    /// It is gone or has become the value: others may take its name.
    Released,
}

impl FileLock {
    /// The file that becomes the new value, empty at first. To be called before the first byte is
    /// written.
    pub(crate) fn new_value(&mut self) -> io::Result<&Arc<File>> {
        match self {
            Self::Local(lock) => {
                if lock.rest > 0 {
                    again(|| lock.sys.truncate(&lock.file))?;
                    lock.rest = 0;
                }
                Ok(&lock.file)
            }
            Self::Portable(lease) => lease.temporary(),
        }
    }

    /// True if this process took it, and not one from which it was forked.
    pub(crate) fn is_own(&self) -> bool {
        match self {
            Self::Local(lock) => lock.process == process::id(),
            Self::Portable(_) => true,
        }
    }

    /// The file that is the lock.
    pub(crate) fn lock_file(&self) -> &File {
        match self {
            Self::Local(lock) => &lock.file,
            Self::Portable(lease) => lease.lock_file(),
        }
    }

    /// The file that [`new_value`](Self::new_value) returned.
    pub(crate) fn file(&self) -> io::Result<&Arc<File>> {
        match self {
            Self::Local(lock) => Ok(&lock.file),
            Self::Portable(lease) => lease
                .made()
                .ok_or_else(|| io::Error::other("it was published")),
        }
    }

    /// Makes the file the value at `path`. The lock is held until it is dropped; on a local file
    /// system others may wait for the next one from now on.
    pub(crate) fn rename_over(&mut self, path: &Path) -> io::Result<()> {
        match self {
            Self::Local(lock) => {
                lock.flush()?;
                replace(&*lock.sys, &lock.path, path)?;
                lock.state = State::Released;
                Ok(())
            }
            Self::Portable(lease) => lease.publish(path),
        }
    }

    /// Makes the file of a temporary the value at `path`, whose lock is held.
    pub(crate) fn rename_over_locked(&mut self, path: &Path) -> io::Result<()> {
        match self {
            Self::Local(lock) => lock.check_not_removed()?,
            Self::Portable(lease) => return lease.publish_under_lock_of(path),
        }
        self.rename_over(path)
    }

    /// Checks that the lock is still held, if it was not renewed for so long that it may be lost.
    pub(crate) fn check_old(&self) -> io::Result<()> {
        match self {
            Self::Local(_) => Ok(()),
            Self::Portable(lease) => lease.check_old(),
        }
    }

    /// The loss of the lock, if that may have led to an error.
    pub(crate) fn blame(&self, e: io::Error) -> io::Error {
        self.check_old().err().unwrap_or(e)
    }

    /// Checks that the lock is still held.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self {
            Self::Local(_) => Ok(()),
            Self::Portable(lease) => lease.check(),
        }
    }
}

fn removed() -> io::Error {
    io::Error::new(
        ErrorKind::NotFound,
        "it was removed in the meantime, with what it belongs to",
    )
}

impl LocalLock {
    /// The lock of a lock file that is locked, unless the file went away in the meantime, or became
    /// the value. Nothing may be written to it before.
    pub(crate) fn of(sys: &Arc<dyn Syscalls>, path: &Path, file: File) -> io::Result<Option<Self>> {
        let mut lock = Self {
            sys: sys.clone(),
            path: path.to_owned(),
            file: Arc::new(file),
            rest: 0,
            state: State::Released,
            reports_late: false,
            process: process::id(),
        };
        Ok(lock.is_under_its_name()?.then_some(lock))
    }

    fn flush(&self) -> io::Result<()> {
        if self.reports_late {
            again(|| self.sys.flush(&self.file))
        } else {
            Ok(())
        }
    }

    /// An erasure of a prefix removes temporaries under the lock of their key. The name may be that
    /// of another temporary by now.
    fn check_not_removed(&mut self) -> io::Result<()> {
        if self.is_under_its_name()? {
            return Ok(());
        }
        self.state = State::Released;
        Err(removed())
    }

    fn is_under_its_name(&mut self) -> io::Result<bool> {
        let held = again(|| self.sys.file_stat(&self.file))?;
        let named = match again(|| self.sys.link_stat(&self.path)) {
            Ok(named) => named,
            Err(e) if is_not_found(&e) => return Ok(false),
            Err(e) => return Err(e),
        };
        if held.file != named.file {
            return Ok(false);
        }
        if !held.is_file() {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "the lock file is not a regular file",
            ));
        }
        if held.names > 1 {
            // A copy made of hard links: writes here would show there.
            again(|| self.sys.unlink(&self.path))?;
            return Ok(false);
        }
        self.rest = held.size;
        Ok(true)
    }

    /// True if the name is that of another file by now: a temporary may be removed under the lock
    /// of its key.
    fn is_replaced(&self) -> bool {
        let held = again(|| self.sys.file_stat(&self.file));
        let named = again(|| self.sys.link_stat(&self.path));
        // In doubt it stays, unlocked: the next writer takes it over.
        !matches!((held, named), (Ok(held), Ok(named)) if held.file == named.file)
    }
}

impl Drop for LocalLock {
    fn drop(&mut self) {
        // A forked child has a copy of the descriptor, and unlocking it would unlock the parent's.
        if self.process != process::id() {
            return;
        }
        if self.state == State::Locked && !self.is_replaced() {
            // Removed before it is unlocked, so that a waiting writer sees that it is no longer the
            // lock.
            let _ = again(|| self.sys.unlink(&self.path));
        }
        // Closing would suffice if no forked child had a copy of the descriptor and no pin kept it
        // open.
        let _ = again(|| self.sys.unlock(&self.file));
    }
}
