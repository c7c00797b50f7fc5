//! The lock file of a value, which becomes the new value when it is renamed.

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ndzarr_store::{StoreError, Wait};

use crate::identity::{device_of, file_id, has_other_names};
use crate::owner::MAX_BYTES;
use crate::portable::{Found, Lease, set_aside};
use crate::renewal::Lost;
use crate::syscalls::{Syscalls, again};
use crate::{FsStore, Locking};

/// The suffix of lock files. tensorstore has the same, so each excludes the other.
pub(crate) const LOCK_SUFFIX: &str = ".__lock";

/// The write lock of a path, and the file that becomes its new value.
#[derive(Debug)]
pub(crate) enum FileLock {
    Local(LocalLock),
    Portable(Lease),
}

/// The write lock of a path on a local file system. Its file becomes the new value, so there is no
/// other temporary, and a killed writer leaves at most this one behind, which the next writer takes
/// over.
#[derive(Debug)]
pub(crate) struct LocalLock {
    sys: Arc<dyn Syscalls>,
    path: PathBuf,
    file: Arc<File>,
    /// Bytes left by a killed writer.
    rest: u64,
    state: State,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// The lock file is under its own name.
    Locked,
    /// It is gone or has become the value: others may take its name.
    Released,
}

/// The answer to [`FsStore::take`].
#[derive(Debug)]
pub(crate) enum Take {
    Held(FileLock),
    Busy,
    /// The file system has no locks.
    Unsupported,
    /// There is no folder for the lock file to be in.
    NoFolder,
}

/// The outcome of one attempt to take a lock.
#[derive(Debug)]
pub(crate) enum Attempt {
    Locked(LocalLock),
    Leased(Lease),
    /// Another writer holds it; which one, if known.
    Busy(Option<String>),
    /// The lock file went away in the meantime.
    Again,
    /// It may have gone away in the meantime.
    Refused(io::Error),
    Unsupported,
    NoFolder,
}

/// Pauses between attempts: they begin short and double.
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// How often in a row creating a lock file that does not exist may be refused.
const MAX_REFUSED: usize = 20;

/// How long a lock file that was just made may be locked by a process that only checks whether it
/// is.
const LOOKS: u32 = 50;
const LOOK: Duration = Duration::from_millis(1);

impl FsStore {
    /// Takes the lock of the file at `path`, whose folder must be there.
    ///
    /// # Errors
    /// The wait timed out: [`TooLong`].
    pub(crate) fn take(&self, path: &Path, wait: Wait<'_>) -> io::Result<Take> {
        let path = lock_path(path);
        let start = self.sys.now();
        let (mut pause, mut refused) = (FIRST_PAUSE, 0);
        loop {
            let holder = match self.attempt(&path, wait)? {
                Attempt::Locked(lock) => return Ok(Take::Held(FileLock::Local(lock))),
                Attempt::Leased(lease) => return Ok(Take::Held(FileLock::Portable(lease))),
                Attempt::Unsupported => return Ok(Take::Unsupported),
                Attempt::NoFolder => return Ok(Take::NoFolder),
                Attempt::Again => continue,
                Attempt::Refused(e) if refused == MAX_REFUSED => return Err(e),
                Attempt::Refused(_) => {
                    refused += 1;
                    continue;
                }
                Attempt::Busy(holder) => holder,
            };
            refused = 0;
            match wait {
                Wait::Block => {}
                Wait::While(goes_on) if goes_on() => {}
                Wait::Try | Wait::While(_) => return Ok(Take::Busy),
            }
            let waited = self.sys.now().saturating_sub(start);
            let left = self.lock_timeout.map_or(pause, |limit| limit.saturating_sub(waited));
            if left.is_zero() {
                return Err(io::Error::new(ErrorKind::TimedOut, TooLong { lock: path, waited, holder }));
            }
            self.sys.pause(pause.min(left));
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn attempt(&self, path: &Path, wait: Wait<'_>) -> io::Result<Attempt> {
        let sys = &*self.sys;
        let file = match again(|| sys.create(path)) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => return self.attempt_existing(path, wait),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Attempt::NoFolder),
            // SFTP's generic failure, which sshfs also reports for a file that exists.
            Err(e) if is_refusal(&e) => {
                return match again(|| sys.open_unfollowed(path)) {
                    Ok(_) => self.attempt_existing(path, wait),
                    Err(_) => Ok(Attempt::Refused(e)),
                };
            }
            Err(e) => return Err(e),
        };
        let mut locked = again(|| sys.lock(&file, Wait::Try));
        let locking = match self.locking_of(&file) {
            Err(e) if is_gone(&e) => return Ok(Attempt::Again),
            locking => locking?,
        };
        if locking == Locking::Portable {
            for _ in 0..LOOKS {
                if !matches!(locked, Ok(false)) {
                    break;
                }
                sys.pause(LOOK);
                locked = again(|| sys.lock(&file, Wait::Try));
            }
            return match locked {
                Ok(true) => Lease::begin(self, path, file),
                Ok(false) => Ok(Attempt::Busy(None)),
                Err(e) if is_unsupported(&e) => Lease::begin(self, path, file),
                Err(e) => Err(e),
            };
        }
        self.attempt_open(path, file, locked, wait)
    }

    /// With the lock file of another writer, past or present.
    fn attempt_existing(&self, path: &Path, wait: Wait<'_>) -> io::Result<Attempt> {
        let sys = &*self.sys;
        let file = match again(|| sys.reopen(path)) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Attempt::Again),
            Err(e) if e.kind() == ErrorKind::PermissionDenied => return self.attempt_unwritable(path, e),
            Err(e) => return Err(e),
        };
        let locking = match self.locking_of(&file) {
            Err(e) if is_gone(&e) => return Ok(Attempt::Again),
            locking => locking?,
        };
        if locking == Locking::Portable {
            return self.judge(path, file);
        }
        let locked = again(|| sys.lock(&file, Wait::Try));
        self.attempt_open(path, file, locked, wait)
    }

    /// With a lock file of another user that may not be written to. If it is no longer held, it can
    /// be removed where the folder may be written.
    fn attempt_unwritable(&self, path: &Path, refused: io::Error) -> io::Result<Attempt> {
        let sys = &*self.sys;
        let file = match again(|| sys.open_unfollowed(path)) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Attempt::Again),
            Err(_) => return Err(refused),
        };
        let stat = again(|| sys.file_stat(&file))?;
        if self.locking_on(device_of(&stat), &file)? == Locking::Portable {
            return self.judge(path, file);
        }
        match again(|| sys.lock_to_read(&file)) {
            Ok(true) => {}
            Ok(false) => return Ok(Attempt::Busy(None)),
            Err(_) => return Err(refused),
        }
        set_aside(sys, path, |aside| Ok(file_id(&again(|| sys.link_stat(aside))?) == file_id(&stat)))?;
        Ok(Attempt::Again)
    }

    fn locking_of(&self, file: &File) -> io::Result<Locking> {
        self.locking_on(device_of(&again(|| self.sys.file_stat(file))?), file)
    }

    /// With an open lock file on a local file system, after a first try to lock it.
    fn attempt_open(
        &self,
        path: &Path,
        file: File,
        locked: io::Result<bool>,
        wait: Wait<'_>,
    ) -> io::Result<Attempt> {
        let sys = &*self.sys;
        let locked = match locked {
            Ok(false) if matches!(wait, Wait::Block) && self.lock_timeout.is_none() => {
                again(|| sys.lock(&file, Wait::Block))
            }
            other => other,
        };
        match locked {
            Ok(true) => {}
            Ok(false) => return Ok(Attempt::Busy(None)),
            Err(e) if is_unsupported(&e) => {
                // Where locking is impossible, the file is not needed. But ENOLCK may be a
                // temporary shortage, and another writer may hold the lock by now.
                if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput) {
                    let _ = sys.unlink(path);
                }
                return Ok(Attempt::Unsupported);
            }
            Err(e) => return Err(e),
        }
        let (sys, path, file) = (self.sys.clone(), path.to_owned(), Arc::new(file));
        let mut lock = LocalLock { sys, path, file, rest: 0, state: State::Released };
        // Nothing may be written before this check: the file may have become the live value in the
        // meantime.
        if !lock.is_under_its_name()? {
            return Ok(Attempt::Again);
        }
        if (1..=MAX_BYTES as u64).contains(&lock.rest) {
            // A writer on another host, for which this is not a local file system, may hold it.
            let file = lock.file.try_clone()?;
            if Found::of(&*self.sys, file)?.is_none_or(|found| found.owner().is_some()) {
                return self.judge(&lock.path, lock.file.try_clone()?);
            }
        }
        lock.state = State::Locked;
        Ok(Attempt::Locked(lock))
    }
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

    /// The file that [`new_value`](Self::new_value) returned.
    pub(crate) fn file(&self) -> io::Result<&Arc<File>> {
        match self {
            Self::Local(lock) => Ok(&lock.file),
            Self::Portable(lease) => lease.made().ok_or_else(|| io::Error::other("it was published")),
        }
    }

    /// Makes the file the value at `path`. The lock is held until it is dropped; on a local file
    /// system others may wait for the next one from now on.
    pub(crate) fn rename_over(&mut self, path: &Path) -> io::Result<()> {
        match self {
            Self::Local(lock) => {
                again(|| lock.sys.rename(&lock.path, path))?;
                lock.state = State::Released;
                Ok(())
            }
            Self::Portable(lease) => lease.publish(path),
        }
    }

    /// The same for the lock of a temporary, under the lock of `path`.
    pub(crate) fn rename_over_locked(&mut self, path: &Path) -> io::Result<()> {
        match self {
            Self::Local(lock) => {
                // Under that lock the temporaries beside `path` are removed when it is erased with
                // others. The name may be that of another one by now.
                if !lock.is_under_its_name()? {
                    lock.state = State::Released;
                    return Err(removed());
                }
            }
            Self::Portable(lease) => return lease.publish_under_lock_of(path),
        }
        self.rename_over(path)
    }

    /// Looks whether the lock is still held, if it was not renewed for so long that it may be lost.
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

    /// Looks whether the lock is still held.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self {
            Self::Local(_) => Ok(()),
            Self::Portable(lease) => lease.check(),
        }
    }
}

fn removed() -> io::Error {
    io::Error::new(ErrorKind::NotFound, "it was removed in the meantime, with what it belongs to")
}

impl LocalLock {
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
            return Err(io::Error::new(ErrorKind::InvalidInput, "the lock file is not a regular file"));
        }
        if has_other_names(&held) {
            // A copy made of hard links: writes here would show there.
            again(|| self.sys.unlink(&self.path))?;
            return Ok(false);
        }
        self.rest = held.len();
        Ok(true)
    }
}

impl Drop for LocalLock {
    fn drop(&mut self) {
        if self.state == State::Locked {
            // Removed before it is unlocked, so that a waiting writer sees that it is no longer the
            // lock.
            let _ = again(|| self.sys.unlink(&self.path));
        }
        // Closing would suffice if no forked child had a copy of the descriptor and no pin kept it
        // open.
        let _ = again(|| self.sys.unlock(&self.file));
    }
}

/// Waiting for a lock timed out.
#[derive(Debug)]
struct TooLong {
    lock: PathBuf,
    waited: Duration,
    holder: Option<String>,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "another writer held its lock for {:?}", self.waited)
    }
}

impl Error for TooLong {}

/// The error of an operation on the lock of a key.
pub(crate) fn failure(action: &'static str, key: impl ToString, e: io::Error) -> StoreError {
    let inner = e.get_ref();
    if let Some(TooLong { waited, holder, .. }) = inner.and_then(|inner| inner.downcast_ref()) {
        return StoreError::Busy { key: key.to_string(), waited: *waited, holder: holder.clone() };
    }
    if inner.is_some_and(|inner| inner.is::<Lost>()) {
        return StoreError::LockLost { action, key: key.to_string() };
    }
    StoreError::io(action, key, e)
}

/// The path whose lock was waited for too long, if that is the error.
pub(crate) fn waited_for(e: &io::Error) -> Option<PathBuf> {
    let TooLong { lock, .. } = e.get_ref()?.downcast_ref()?;
    Some(lock.with_file_name(lock.file_name()?.to_str()?.strip_suffix(LOCK_SUFFIX)?))
}

/// Whether this error means that the system cannot lock: ENOSYS, ENOTSUP, EINVAL or ENOLCK.
pub(crate) fn is_unsupported(e: &io::Error) -> bool {
    if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput) {
        return true;
    }
    #[cfg(unix)]
    if e.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) {
        return true;
    }
    false
}

/// EPERM, which sshfs gives for errors that it cannot express.
fn is_refusal(e: &io::Error) -> bool {
    #[cfg(unix)]
    {
        e.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error())
    }
    #[cfg(not(unix))]
    {
        let _ = e;
        false
    }
}

/// Whether this error means that the file is gone, by its name or, on a network file system,
/// although it is open.
pub(crate) fn is_gone(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::NotFound | ErrorKind::StaleNetworkFileHandle)
}

/// The lock file of a path.
pub(crate) fn lock_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(LOCK_SUFFIX);
    name.into()
}
