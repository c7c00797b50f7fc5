//! Takes the locks of paths.

pub(crate) mod file_lock;
mod lease;
pub(crate) mod lock_error;
mod lock_file;
mod owner;
pub(crate) mod pauses;
pub(crate) mod renewal;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ndzarr_store::Wait;

use crate::locks::file_lock::{FileLock, LocalLock, State};
use crate::locks::lease::Lease;
use crate::locks::lock_error::Shadowed;
use crate::locks::lock_file::{Found, Watched, give_up, set_aside};
use crate::locks::pauses::{LONGEST_PAUSE, Pauses};
use crate::names::lock_names::{LOCK_SUFFIX, has_lock_suffix, lock_path, temporary_path};
use crate::system::devices::Devices;
use crate::system::file_system::{FileSystem, Locking};
use crate::system::os_error::{
    blame_leases, cannot_lock, is_gone, is_in_use, is_lost, is_not_found, is_refusal, never_locks,
};
use crate::system::stat::Stat;
use crate::system::syscalls::part::OWNER_BYTES;
use crate::system::syscalls::{Part, Syscalls, again, once_free};

/// The answer to [`Locks::take`].
#[derive(Debug)]
pub(crate) enum Take {
    Held(FileLock),
    Busy,
    /// The file system has no locks.
    Unsupported,
    /// The folder of the lock file does not exist.
    NoFolder,
}

/// The outcome of one attempt to take a lock.
#[derive(Debug)]
enum Attempt {
    Locked(LocalLock),
    Leased(Lease),
    /// Another writer holds it; which one, if known.
    Busy(Option<String>),
    /// The lock file went away in the meantime.
    Again,
    /// The lock file went away, or was already gone and the system still remembers its name: Linux
    /// does, of SMB, for as long as it caches attributes.
    Gone,
    /// It may have gone away in the meantime.
    Refused(io::Error),
    Unsupported,
    NoFolder,
}

/// The lock file of a local file system, open.
#[derive(Debug)]
struct Opened {
    file: File,
    /// Its name, if its folder lists it in another spelling.
    other_name: Option<OsString>,
}

/// The number of times in a row that creating a lock file that does not exist may be refused like
/// this. On Windows its name is taken until every waiting writer has closed it; on SMB, whose
/// refusal is EINVAL, until this system has closed the previous file of the name.
fn max_refused(refusal: &io::Error) -> usize {
    if cfg!(windows) || refusal.kind() == ErrorKind::InvalidInput {
        200
    } else {
        20
    }
}

/// A process that only checks if a new lock file is locked may lock it itself for a moment: the
/// number of attempts to lock it until then, and the pause between them.
const MAX_CHECKS: u32 = 50;
const CHECK_PAUSE: Duration = Duration::from_millis(1);

/// Takes locks, with the settings of a store.
#[derive(Clone, Debug)]
pub(crate) struct Locks {
    sys: Arc<dyn Syscalls>,
    devices: Arc<Devices>,
    lease: Duration,
    /// How long to wait for another writer; `None`: as long as it takes.
    timeout: Option<Duration>,
    watched: Arc<Watched>,
}

impl Locks {
    pub(crate) fn new(
        sys: Arc<dyn Syscalls>,
        devices: Arc<Devices>,
        lease: Duration,
        timeout: Option<Duration>,
    ) -> Self {
        Self {
            sys,
            devices,
            lease,
            timeout,
            watched: Arc::default(),
        }
    }

    /// How long to wait for another writer; `None`: as long as it takes.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Takes the lock of the file at `path`, whose folder must exist.
    ///
    /// # Errors
    /// The wait timed out: [`TooLong`](crate::locks::lock_error::TooLong).
    pub(crate) fn take(&self, path: &Path, wait: Wait<'_>) -> io::Result<Take> {
        let path = lock_path(path);
        // Windows reports a missing folder for such a name.
        if cfg!(windows)
            && path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().encode_utf16().count() > 255)
        {
            return Err(io::Error::new(
                ErrorKind::InvalidFilename,
                "the name of its lock file would be too long",
            ));
        }
        let mut pauses = Pauses::new(&*self.sys, wait, self.timeout);
        let mut refused = 0;
        let mut was_gone = false;
        loop {
            let attempt = self.attempt(&path, wait)?;
            let is_remembered = was_gone;
            was_gone = matches!(attempt, Attempt::Gone);
            let holder = match attempt {
                Attempt::Locked(lock) => return Ok(Take::Held(FileLock::Local(lock))),
                Attempt::Leased(lease) => return Ok(Take::Held(FileLock::Portable(lease))),
                Attempt::Unsupported => return Ok(Take::Unsupported),
                Attempt::NoFolder => return Ok(Take::NoFolder),
                Attempt::Again => continue,
                Attempt::Gone if !is_remembered => continue,
                // Without pauses, those who wait would take the server's time from other writers.
                Attempt::Gone => None,
                Attempt::Refused(e) if refused >= max_refused(&e) => return Err(blame_leases(e)),
                Attempt::Refused(_) => {
                    refused += 1;
                    pauses.pause(LONGEST_PAUSE);
                    continue;
                }
                Attempt::Busy(holder) => holder,
            };
            refused = 0;
            if !pauses.wait_for(&path, holder)? {
                return Ok(Take::Busy);
            }
        }
    }

    fn attempt(&self, path: &Path, wait: Wait<'_>) -> io::Result<Attempt> {
        let sys = &*self.sys;
        let file = match again(|| sys.create(path)) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                return self.attempt_existing(path, wait);
            }
            Err(e) if is_not_found(&e) => return Ok(Attempt::NoFolder),
            // SFTP's generic failure, which sshfs also reports for a file that exists.
            Err(e) if is_refusal(&e) => {
                return match again(|| sys.open_unfollowed(path)) {
                    Ok(_) => self.attempt_existing(path, wait),
                    Err(_) => Ok(Attempt::Refused(e)),
                };
            }
            Err(e) => return Err(e),
        };
        let (_, file_system) = match self.file_system_of(&file) {
            Err(e) if is_gone(&e) => return Ok(Attempt::Again),
            found => found?,
        };
        if file_system.locking() == Locking::Portable {
            return self.attempt_made(path, file);
        }
        let locked = again(|| sys.lock(&file, Part::Whole, Wait::Try));
        self.attempt_open(
            path,
            Opened {
                file,
                other_name: None,
            },
            &file_system,
            locked,
            wait,
        )
    }

    /// With a lock file that this process has made on a file system of several hosts.
    fn attempt_made(&self, path: &Path, file: File) -> io::Result<Attempt> {
        let sys = &*self.sys;
        // Only what follows the owner: a lock file without one is taken over after the lease,
        // although this process, which may be stopped before it writes it, has locked the rest.
        let attempt = || again(|| sys.lock(&file, Part::Rest, Wait::Try));
        let mut locked = attempt();
        for _ in 0..MAX_CHECKS {
            if !matches!(locked, Ok(false)) {
                break;
            }
            sys.pause(CHECK_PAUSE);
            locked = attempt();
        }
        match locked {
            Ok(false) => return Ok(Attempt::Busy(None)),
            Err(e) if is_gone(&e) => return Ok(Attempt::Again),
            Err(e) if !cannot_lock(&e) => {
                return give_up(sys, path, &file, e).map(|()| Attempt::Again);
            }
            _ => {}
        }
        let lease = Lease::begin(&self.sys, self.lease, path, file)?;
        Ok(lease.map_or(Attempt::Again, Attempt::Leased))
    }

    /// With the lock file of another writer, past or present.
    fn attempt_existing(&self, path: &Path, wait: Wait<'_>) -> io::Result<Attempt> {
        let sys = &*self.sys;
        let other_name = self.other_name(path)?;
        if other_name
            .as_ref()
            .is_some_and(|name| !is_lock_name(name) && may_be_lock_name(name))
        {
            return Err(Shadowed.into());
        }
        let file = match again(|| sys.reopen(path)) {
            Ok(file) => file,
            Err(e) if is_not_found(&e) => return Ok(Attempt::Gone),
            Err(e) if e.kind() == ErrorKind::PermissionDenied => {
                return self.attempt_unwritable(path, e);
            }
            Err(e) if is_refusal(&e) => return Ok(Attempt::Refused(e)),
            Err(e) => return Err(e),
        };
        let (_, file_system) = match self.file_system_of(&file) {
            Err(e) if is_gone(&e) => return Ok(Attempt::Again),
            found => found?,
        };
        if file_system.locking() == Locking::Portable {
            return self.judge(path, file);
        }
        let locked = again(|| sys.lock(&file, Part::Whole, Wait::Try));
        self.attempt_open(
            path,
            Opened { file, other_name },
            &file_system,
            locked,
            wait,
        )
    }

    /// The name of the file at a path, if its folder lists it in another spelling.
    fn other_name(&self, path: &Path) -> io::Result<Option<OsString>> {
        if !self.sys.folds_names() {
            return Ok(None);
        }
        match once_free(&*self.sys, || self.sys.listed_name(path)) {
            Ok(name) => Ok(Some(name).filter(|name| path.file_name() != Some(name))),
            Err(e) if is_not_found(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// For a lock file of another user, which cannot be written. If it is no longer held, it can
    /// be removed where the folder may be written.
    fn attempt_unwritable(&self, path: &Path, refused: io::Error) -> io::Result<Attempt> {
        let sys = &*self.sys;
        let file = match again(|| sys.open_unfollowed(path)) {
            Ok(file) => file,
            Err(e) if is_not_found(&e) => return Ok(Attempt::Again),
            Err(_) if is_refusal(&refused) => return Ok(Attempt::Refused(refused)),
            Err(_) => return Err(refused),
        };
        let (stat, file_system) = self.file_system_of(&file)?;
        if file_system.locking() == Locking::Portable {
            return self.judge(path, file);
        }
        match again(|| sys.lock_to_read(&file, Part::Whole)) {
            Ok(true) => {}
            Ok(false) => return Ok(Attempt::Busy(None)),
            Err(_) => return Err(refused),
        }
        set_aside(sys, path, |aside| {
            Ok(again(|| sys.link_stat(aside))?.file == stat.file)
        })?;
        Ok(Attempt::Again)
    }

    pub(crate) fn file_system_of(&self, file: &File) -> io::Result<(Stat, FileSystem)> {
        let stat = again(|| self.sys.file_stat(file))?;
        let file_system = self.devices.of(&*self.sys, stat.device(), file)?;
        Ok((stat, file_system))
    }

    /// With an open lock file on a local file system, after a first try to lock it.
    fn attempt_open(
        &self,
        path: &Path,
        Opened { file, other_name }: Opened,
        file_system: &FileSystem,
        locked: io::Result<bool>,
        wait: Wait<'_>,
    ) -> io::Result<Attempt> {
        let sys = &*self.sys;
        // The file that is waited for becomes a value, which could not be replaced while it is
        // open.
        let blocks =
            matches!(wait, Wait::Block) && self.timeout.is_none() && file_system.replaces_open();
        let locked = match locked {
            Ok(false) if blocks => again(|| sys.lock(&file, Part::Whole, Wait::Block)),
            other => other,
        };
        match locked {
            Ok(true) => {}
            Ok(false) => return Ok(Attempt::Busy(None)),
            Err(e) if cannot_lock(&e) => {
                // Where locking is impossible, the file is not needed. But ENOLCK may be a
                // temporary shortage, and another writer may hold the lock by now.
                if never_locks(&e) {
                    let _ = sys.unlink(path);
                }
                return Ok(Attempt::Unsupported);
            }
            Err(e) => return Err(e),
        }
        let mut lock = match LocalLock::of(&self.sys, path, file) {
            Ok(Some(lock)) => lock,
            Ok(None) => return Ok(Attempt::Again),
            Err(e) if is_refusal(&e) => return Ok(Attempt::Refused(e)),
            Err(e) => return Err(e),
        };
        if (1..=OWNER_BYTES as u64).contains(&lock.rest) {
            // A writer on another host, for which this is not a local file system, may hold it.
            let found = Found::of(&*self.sys, lock.file.try_clone()?)?;
            if found.is_none_or(|found| found.owner().is_some()) {
                return self.judge(path, lock.file.try_clone()?);
            }
        }
        // The name may have been that of a file before this one.
        match if other_name.is_some() {
            self.other_name(path)?
        } else {
            None
        } {
            None => {}
            Some(name) if !is_lock_name(&name) => return Err(Shadowed.into()),
            // A killed writer of another key left it.
            Some(_) => {
                return match once_free(sys, || sys.unlink(path)) {
                    Err(e) if !is_not_found(&e) => Err(e),
                    _ => Ok(Attempt::Again),
                };
            }
        }
        lock.state = State::Locked;
        lock.reports_late = file_system.reports_late();
        Ok(Attempt::Locked(lock))
    }

    /// Checks another writer's lock file: its owner may be alive, or the lock can be taken over.
    fn judge(&self, path: &Path, file: File) -> io::Result<Attempt> {
        let sys = &*self.sys;
        let found = match Found::of(sys, file) {
            Err(e) if is_lost(&e) => return Ok(Attempt::Refused(e)),
            found => found?,
        };
        let Some(found) = found else {
            return Ok(Attempt::Again);
        };
        let owner = found.owner();
        let is_old = self.watched.unchanged_for(path, &found.state, sys.now()) >= self.lease;
        if !is_old && !owner.as_ref().is_some_and(|owner| owner.is_dead(sys)) {
            return Ok(Attempt::Busy(owner.map(|owner| owner.describe(sys))));
        }
        // A program that does not renew its locks may hold it; or the owner, which only looks dead.
        let is_held = match &owner {
            // Nor do those with leases lock this part.
            None => !self.can_lock(&found.file, Part::Owner)?,
            Some(_) => !is_old && !self.can_lock(&found.file, Part::Whole)?,
        };
        if is_held {
            if owner.is_none() {
                self.watched.forget(path);
            }
            let holder = owner.map_or("a process on this host".to_owned(), |owner| {
                owner.describe(sys)
            });
            return Ok(Attempt::Busy(Some(holder)));
        }
        self.take_over(path, &found)?;
        Ok(Attempt::Again)
    }

    /// The size of a lock file whose writer is known to have ended; `None` if a writer may hold it.
    /// It stays as it is.
    pub(crate) fn len_if_left(&self, path: &Path) -> io::Result<Option<u64>> {
        let found = match Found::at(&*self.sys, path) {
            // Windows keeps it until it is closed.
            Err(e) if is_in_use(&e) => None,
            found => found?,
        };
        let Some(found) = found else { return Ok(None) };
        let (_, file_system) = self.file_system_of(&found.file)?;
        let is_left = match found.owner() {
            Some(owner) => owner.is_dead(&*self.sys) && self.can_lock(&found.file, Part::Whole)?,
            // On several hosts, one without an owner may be a temporary of any of them; where files
            // cannot be locked, of any process.
            None if file_system.locking() == Locking::Local => {
                match again(|| self.sys.lock_to_read(&found.file, Part::Whole)) {
                    Err(e) if cannot_lock(&e) => false,
                    locked => locked?,
                }
            }
            None => false,
        };
        Ok(is_left.then_some(found.byte_len()))
    }

    /// True if a part of the file is unlocked on this host, as far as files can be locked.
    fn can_lock(&self, file: &File, part: Part) -> io::Result<bool> {
        match again(|| self.sys.lock_to_read(file, part)) {
            Err(e) if cannot_lock(&e) => Ok(true),
            locked => locked,
        }
    }

    fn take_over(&self, path: &Path, judged: &Found) -> io::Result<()> {
        let sys = &*self.sys;
        let is_judged = |path: &Path| {
            Ok::<_, io::Error>(
                Found::at(sys, path)?.is_some_and(|found| found.state == judged.state),
            )
        };
        if !is_judged(path)? {
            return Ok(());
        }
        if let Some(owner) = judged.owner() {
            match once_free(sys, || sys.unlink(&temporary_path(path, &owner.mark))) {
                Err(e) if !is_not_found(&e) => return Err(e),
                _ => {}
            }
        }
        set_aside(sys, path, is_judged)?;
        self.watched.forget(path);
        Ok(())
    }
}

/// True if no key has this name, so that it is that of a lock file.
fn is_lock_name(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| name.ends_with(LOCK_SUFFIX))
}

/// True if a file system that ignores case may take it for the name of a lock file.
fn may_be_lock_name(name: &OsStr) -> bool {
    name.to_str().is_some_and(has_lock_suffix)
}
