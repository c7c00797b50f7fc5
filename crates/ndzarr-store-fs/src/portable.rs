//! Serializes writers on file systems whose file locks may not reach every writer.
//!
//! The writer that creates the lock file of a key holds its lock. The file names the process and
//! has a unique mark; its time stamp is renewed as long as the lock is held. The new value is
//! written into a temporary whose name has the mark. A lock file whose process is known to have
//! ended, or that did not change for a lease by the clock of the waiting process, is taken over:
//! first its temporary is removed, so that its owner, should it wake up, has nothing to publish;
//! then it is renamed to a unique name, checked once more, and removed.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::FsStore;
use crate::file_lock::{Attempt, LOCK_SUFFIX, is_gone, is_unsupported, lock_path};
use crate::identity::file_id;
use crate::new_value::NewValue;
use crate::owner::{self, Owner};
use crate::renewal::{Held, Lost, Process};
use crate::syscalls::{Syscalls, again};

/// The lock of a path, and the temporary that becomes its value.
#[derive(Debug)]
pub(crate) struct Lease {
    sys: Arc<dyn Syscalls>,
    /// The lock file.
    path: PathBuf,
    /// Locked for programs on this host that know nothing else, tensorstore and ndzarr on what they
    /// take for a local file system; where files can be locked at all.
    file: File,
    held: Arc<Held>,
    temporary: Option<Temporary>,
    is_published: bool,
}

#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    file: Arc<File>,
}

impl Lease {
    /// Becomes the owner of a lock file that this process has just made, and locked if that is
    /// possible.
    pub(crate) fn begin(store: &FsStore, path: &Path, file: File) -> io::Result<Attempt> {
        let sys = &store.sys;
        let is_there = match again(|| sys.link_stat(path)) {
            Ok(named) => again(|| sys.file_stat(&file)).map(|stat| file_id(&stat) == file_id(&named)),
            Err(e) => Err(e),
        };
        match is_there {
            Ok(true) => {}
            Ok(false) => return Ok(Attempt::Again),
            Err(e) if is_gone(&e) => return Ok(Attempt::Again),
            Err(e) => return Err(e),
        }
        let owner = Owner::new(&**sys);
        let write = || {
            NewValue::default().write_at(&**sys, &file, 0, owner.to_string().as_bytes())?;
            again(|| sys.flush(&file))
        };
        match write() {
            Ok(()) => {}
            // It was taken over, after this process had been stopped.
            Err(e) if is_gone(&e) => return Ok(Attempt::Again),
            Err(e) => {
                // A full disk, say. It was made a moment ago, so it is still this process's.
                let _ = again(|| sys.unlink(path));
                return Err(e);
            }
        }
        let held = Held::new(sys, path, &owner, store.lease);
        Ok(Attempt::Leased(Self {
            sys: sys.clone(),
            path: path.to_owned(),
            file,
            held,
            temporary: None,
            is_published: false,
        }))
    }

    /// The temporary that becomes the value; created on first use.
    pub(crate) fn temporary(&mut self) -> io::Result<&Arc<File>> {
        if self.temporary.is_none() {
            let path = temporary_path(&self.path, self.held.mark());
            let file = Arc::new(again(|| self.sys.create(&path))?);
            self.temporary = Some(Temporary { path, file });
        }
        self.temporary.as_ref().map(|temporary| &temporary.file).ok_or_else(|| io::Error::other(Lost))
    }

    /// The temporary, if there is one.
    pub(crate) fn made(&self) -> Option<&Arc<File>> {
        self.temporary.as_ref().map(|temporary| &temporary.file)
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        self.held.check()
    }

    pub(crate) fn check_old(&self) -> io::Result<()> {
        if self.held.is_fresh() { Ok(()) } else { self.held.check() }
    }

    /// Makes the temporary the value at `path`.
    pub(crate) fn publish(&mut self, path: &Path) -> io::Result<()> {
        let held = self.held.clone();
        self.publish_as(&held, path)?;
        self.is_published = true;
        Ok(())
    }

    /// Makes the temporary the value at `path`, whose lock this process holds.
    pub(crate) fn publish_under_lock_of(&mut self, path: &Path) -> io::Result<()> {
        let held = Process::current().holds(&lock_path(path)).ok_or_else(|| io::Error::other(Lost))?;
        let Some(Temporary { path: own, .. }) = &mut self.temporary else {
            return Err(io::Error::other(Lost));
        };
        // Under the name that a writer taking over the lock removes.
        let name = temporary_path(&lock_path(path), held.mark());
        gone_is_lost(again(|| self.sys.rename(own, &name)))?;
        *own = name;
        self.publish_as(&held, path)
    }

    fn publish_as(&mut self, held: &Held, path: &Path) -> io::Result<()> {
        let Some(temporary) = &self.temporary else { return Err(io::Error::other(Lost)) };
        again(|| self.sys.flush(&temporary.file))?;
        held.check()?;
        gone_is_lost(again(|| self.sys.rename(&temporary.path, path)))?;
        self.temporary = None;
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !self.held.is_of_this_process() {
            return;
        }
        // None of this can be repaired here: the next writer takes over left-overs.
        if let Some(temporary) = &self.temporary {
            let _ = again(|| self.sys.unlink(&temporary.path));
        }
        // It was checked before a value was published, a moment ago.
        if self.is_published || self.held.check().is_ok() {
            let _ = again(|| self.sys.unlink(&self.path));
        }
        Process::current().remove(&self.held);
        // After the file is gone, so that a writer waiting for this lock sees that it is released.
        let _ = again(|| self.sys.unlock(&self.file));
    }
}

fn gone_is_lost(renamed: io::Result<()>) -> io::Result<()> {
    match renamed {
        Err(e) if e.kind() == ErrorKind::NotFound => Err(io::Error::other(Lost)),
        other => other,
    }
}

/// The temporary of the owner with this mark. Listings leave it out, as they do lock files.
fn temporary_path(lock: &Path, mark: &str) -> PathBuf {
    let name = lock.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(LOCK_SUFFIX).unwrap_or(&name);
    lock.with_file_name(format!("{name}.{mark}{LOCK_SUFFIX}"))
}

/// The observed state of a lock file.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) file: File,
    state: State,
}

/// The part that changes with a renewal or a new owner.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    bytes: Vec<u8>,
    len: u64,
    modified: Option<SystemTime>,
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
        let mut bytes = Vec::with_capacity(owner::MAX_BYTES);
        while bytes.len() < owner::MAX_BYTES {
            let (at, most) = (bytes.len() as u64, owner::MAX_BYTES - bytes.len());
            if again(|| sys.read_at(&file, at, most, &mut bytes))? == 0 {
                break;
            }
        }
        let stat = again(|| sys.file_stat(&file))?;
        if !stat.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the lock file is not a regular file"));
        }
        Ok(Self { state: State { bytes, len: stat.len(), modified: stat.modified().ok() }, file })
    }

    pub(crate) fn owner(&self) -> Option<Owner> {
        Owner::parse(&self.state.bytes)
    }

    pub(crate) fn has_mark(&self, mark: &str) -> bool {
        self.owner().is_some_and(|owner| owner.mark == mark)
    }
}

/// Lock files that were found held, and since when each has not changed.
#[derive(Debug, Default)]
pub(crate) struct Watched(Mutex<HashMap<PathBuf, Seen>>);

#[derive(Debug)]
struct Seen {
    state: State,
    /// By the clock of this process: those of two hosts cannot be compared.
    since: Duration,
}

/// How many are kept: the last ones seen.
const MOST_WATCHED: usize = 1024;

impl Watched {
    /// How long a lock file has been unchanged, as far as this process has seen.
    fn unchanged_for(&self, path: &Path, state: &State, now: Duration) -> Duration {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen) = watched.get(path).filter(|seen| seen.state == *state) {
            return now.saturating_sub(seen.since);
        }
        if watched.len() >= MOST_WATCHED {
            let oldest = watched.iter().min_by_key(|(_, seen)| seen.since).map(|(path, _)| path.clone());
            oldest.and_then(|path| watched.remove(&path));
        }
        watched.insert(path.to_owned(), Seen { state: state.clone(), since: now });
        Duration::ZERO
    }

    fn forget(&self, path: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
    }
}

impl FsStore {
    /// Checks another writer's lock file: its owner may be alive, or the lock can be taken over.
    pub(crate) fn judge(&self, path: &Path, file: File) -> io::Result<Attempt> {
        let sys = &*self.sys;
        let Some(found) = Found::of(sys, file)? else { return Ok(Attempt::Again) };
        let owner = found.owner();
        let is_old = self.watched.unchanged_for(path, &found.state, sys.now()) >= self.lease;
        if !is_old && !owner.as_ref().is_some_and(|owner| owner.is_dead(sys)) {
            return Ok(Attempt::Busy(owner.map(|owner| owner.describe(sys))));
        }
        // A program on this host that does not renew its locks may hold it.
        if owner.is_none() && !self.can_lock(&found.file)? {
            self.watched.forget(path);
            return Ok(Attempt::Busy(Some("a process on this host".to_owned())));
        }
        self.take_over(path, &found)?;
        Ok(Attempt::Again)
    }

    /// Whether the file is unlocked on this host, as far as files can be locked.
    fn can_lock(&self, file: &File) -> io::Result<bool> {
        match again(|| self.sys.lock_to_read(file)) {
            Err(e) if is_unsupported(&e) => Ok(true),
            locked => locked,
        }
    }

    fn take_over(&self, path: &Path, judged: &Found) -> io::Result<()> {
        let sys = &*self.sys;
        let is_judged = |path: &Path| {
            Ok::<_, io::Error>(Found::at(sys, path)?.is_some_and(|found| found.state == judged.state))
        };
        if !is_judged(path)? {
            return Ok(());
        }
        if let Some(owner) = judged.owner() {
            match again(|| sys.unlink(&temporary_path(path, &owner.mark))) {
                Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        set_aside(sys, path, is_judged)?;
        self.watched.forget(path);
        Ok(())
    }
}

/// Removes a lock file if it is the expected one. Another one may replace it between the check and
/// the removal, so it is renamed first, and put back if it is another one.
pub(crate) fn set_aside(
    sys: &dyn Syscalls,
    path: &Path,
    is_meant: impl FnOnce(&Path) -> io::Result<bool>,
) -> io::Result<()> {
    let aside = temporary_path(path, &owner::new_mark());
    match again(|| sys.rename(path, &aside)) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
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
                    Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
                    _ => Ok(()),
                };
            }
        }
    }
    match again(|| sys.unlink(&aside)) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The name of the file that a temporary is for; `name` is that of the temporary, without the
/// suffix of lock files.
pub(crate) fn is_temporary_of(name: &str) -> Option<&str> {
    let without_mark = name.rsplit_once('.').filter(|(_, mark)| owner::is_mark(mark)).map(|(rest, _)| rest);
    let rest = without_mark.unwrap_or(name);
    let is_number = |n: &str| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit());
    let without_part = rest.rsplit_once(".part").filter(|(_, n)| is_number(n)).map(|(rest, _)| rest);
    without_part.or(without_mark).filter(|rest| !rest.is_empty())
}
