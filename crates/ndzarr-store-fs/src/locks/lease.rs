//! Serializes writers on file systems whose file locks may not reach every writer.
//!
//! The writer that creates the lock file of a key holds its lock. The file names the process and
//! has a unique mark; its time stamp is renewed as long as the lock is held. The new value is
//! written into a temporary whose name has the mark. A lock file whose process is known to have
//! ended, or that did not change for a lease by the clock of the waiting process, is taken over:
//! first its temporary is removed, so that its owner, should it wake up, has nothing to publish;
//! then it is renamed to a unique name, checked once more, and removed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::locks::lock_file::give_up;
use crate::locks::owner::Owner;
use crate::locks::renewal::{self, Held, Lost};
use crate::names::lock_names::{lock_path, temporary_path};
use crate::new_value::NewValue;
use crate::system::os_error::{is_gone, is_in_use};
use crate::system::syscalls::{Syscalls, again, once_free, replace};

/// The lock of a path, and the temporary that becomes its value.
#[derive(Debug)]
pub(crate) struct Lease {
    sys: Arc<dyn Syscalls>,
    /// The lock file.
    path: PathBuf,
    /// Locked, if files can be locked, for programs on this host that use only file locks:
    /// tensorstore, and ndzarr on a file system that it takes for a local one.
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
    /// possible; `None` if the lock file went away in the meantime.
    pub(crate) fn begin(
        sys: &Arc<dyn Syscalls>,
        lease: Duration,
        path: &Path,
        file: File,
    ) -> io::Result<Option<Self>> {
        let named = match again(|| sys.link_stat(path)) {
            Ok(named) => {
                again(|| sys.file_stat(&file)).map(|stat| (stat.file == named.file).then_some(stat))
            }
            Err(e) => Err(e),
        };
        let device = match named {
            Ok(Some(stat)) => stat.device(),
            Ok(None) => return Ok(None),
            Err(e) if is_gone(&e) => return Ok(None),
            Err(e) => return Err(e),
        };
        let owner = Owner::new(&**sys);
        let write = || {
            NewValue::default().write_at(&**sys, &file, 0, owner.to_string().as_bytes())?;
            again(|| sys.flush(&file))
        };
        match write() {
            Ok(()) => {}
            // It was taken over, after this process had been stopped.
            Err(e) if is_gone(&e) => return Ok(None),
            Err(e) => return give_up(&**sys, path, &file, e).map(|()| None),
        }
        let held = Held::new(sys, path, device, &owner, lease);
        Ok(Some(Self {
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
        self.temporary
            .as_ref()
            .map(|temporary| &temporary.file)
            .ok_or_else(|| io::Error::other(Lost))
    }

    /// The temporary, if there is one.
    pub(crate) fn made(&self) -> Option<&Arc<File>> {
        self.temporary.as_ref().map(|temporary| &temporary.file)
    }

    pub(crate) fn lock_file(&self) -> &File {
        &self.file
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        self.held.check()
    }

    pub(crate) fn check_old(&self) -> io::Result<()> {
        if self.held.is_fresh() {
            Ok(())
        } else {
            self.held.check()
        }
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
        let held = renewal::held_by_this_process(&lock_path(path))
            .ok_or_else(|| io::Error::other(Lost))?;
        let Some(Temporary { path: own, .. }) = &mut self.temporary else {
            return Err(io::Error::other(Lost));
        };
        // Under the name that a writer taking over the lock removes.
        let name = temporary_path(&lock_path(path), held.mark());
        renamed(replace(&*self.sys, own, &name), &self.held)?;
        *own = name;
        self.publish_as(&held, path)
    }

    fn publish_as(&mut self, held: &Held, path: &Path) -> io::Result<()> {
        let Some(temporary) = &self.temporary else {
            return Err(io::Error::other(Lost));
        };
        gone_is_lost(again(|| self.sys.flush(&temporary.file)))?;
        held.check()?;
        renamed(replace(&*self.sys, &temporary.path, path), held)?;
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
            let _ = once_free(&*self.sys, || self.sys.unlink(&self.path));
        }
        self.held.forget();
        // After the file is gone, so that a writer waiting for this lock sees that it is released.
        let _ = again(|| self.sys.unlock(&self.file));
    }
}

/// A temporary that is gone means that the lock is lost: a writer that takes over a lock removes
/// the temporary first.
fn gone_is_lost(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(e) if is_gone(&e) => Err(io::Error::other(Lost)),
        other => other,
    }
}

/// The outcome of renaming the temporary of a lock.
fn renamed(done: io::Result<()>, held: &Held) -> io::Result<()> {
    match gone_is_lost(done) {
        // On SMB a removed file keeps its name for the process that has it open.
        Err(e) if is_in_use(&e) => {
            held.check()?;
            Err(e)
        }
        other => other,
    }
}
