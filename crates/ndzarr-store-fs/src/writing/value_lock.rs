//! The lock that other programs take on the file of a value itself, to write it in place: Java N5
//! does.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use ndzarr_store::{Key, Pin, StoreError, Wait};

use crate::FsStore;
use crate::locks::lock_error::failure;
use crate::locks::pauses::{FIRST_PAUSE, LONGEST_PAUSE, Pauses};
use crate::names::lock_names::lock_path;
use crate::system::identity::Identity;
use crate::system::os_error::{cannot_lock, is_absent, is_gone, is_lost};
use crate::system::syscalls::{Part, Syscalls, again};

/// A value that no program that locks it can write.
#[derive(Debug)]
pub(crate) struct ValueLock {
    sys: Arc<dyn Syscalls>,
    file: File,
    /// The process that took it.
    process: u32,
}

/// The answer to [`FsStore::lock_value`].
#[derive(Debug)]
pub(crate) enum TakeValue {
    Held(ValueLock),
    /// There is no value, or it cannot be locked.
    None,
    Busy,
}

/// Longer than any program takes to write a value.
const READERS_LIMIT: Duration = Duration::from_secs(10);

/// How long a program that was waiting for the lock of a value gets to write it.
const MOMENT: Duration = Duration::from_millis(250);

/// How often a value is opened again because its open file was lost, before that is an error.
const MAX_LOST: u32 = 8;

const HOLDER: &str = "a program that locks the file itself, as Java N5 does,";

impl FsStore {
    /// Locks the value at a path, shared with readers: programs that would write it in place wait.
    pub(crate) fn lock_value(
        &self,
        path: &Path,
        wait: Wait<'_>,
        limit: Option<Duration>,
    ) -> io::Result<TakeValue> {
        // Elsewhere locks of this store do not exclude those of Java, and an open file may be in
        // the way of the one that replaces it.
        if !cfg!(any(target_os = "linux", target_os = "android")) {
            return Ok(TakeValue::None);
        }
        let mut pauses = Pauses::new(&*self.sys, wait, limit);
        let mut n_lost = 0;
        loop {
            match self.try_to_lock_value(path) {
                Ok(Some(TakeValue::Busy)) => {}
                Ok(Some(taken)) => return Ok(taken),
                Ok(None) => continue,
                // Another host has replaced it since it was opened here.
                Err(e) if n_lost < MAX_LOST && (is_gone(&e) || is_lost(&e)) => n_lost += 1,
                Err(e) => return Err(e),
            }
            if !pauses.wait_for(&lock_path(path), Some(HOLDER.to_owned()))? {
                return Ok(TakeValue::Busy);
            }
        }
    }

    /// Opens and locks it; `None` if another file has its name by then.
    fn try_to_lock_value(&self, path: &Path) -> io::Result<Option<TakeValue>> {
        let sys = &*self.sys;
        let file = match again(|| sys.open(path)) {
            Err(e) if is_absent(&e) => return Ok(Some(TakeValue::None)),
            file => file?,
        };
        match again(|| sys.lock_to_read(&file, Part::Whole)) {
            Ok(true) => {}
            Ok(false) => return Ok(Some(TakeValue::Busy)),
            Err(e) if cannot_lock(&e) => return Ok(Some(TakeValue::None)),
            Err(e) => return Err(e),
        }
        let lock = ValueLock {
            sys: Arc::clone(&self.sys),
            file,
            process: process::id(),
        };
        Ok(lock.is_at(path)?.then_some(TakeValue::Held(lock)))
    }

    /// True if the value of a pin is final: no program is writing it in place.
    pub(crate) fn value_stays(
        &self,
        key: &Key,
        seen: &Pin,
        wait: Wait<'_>,
    ) -> Result<bool, StoreError> {
        let Some(path) = self.path_to_read(key)? else {
            return Ok(false);
        };
        let limit = self
            .locks
            .timeout()
            .map_or(READERS_LIMIT, |timeout| timeout.min(READERS_LIMIT));
        let start = self.sys.now();
        match self
            .lock_value(&path, wait, Some(limit))
            .map_err(|e| failure("read", key, e))?
        {
            TakeValue::Held(_) | TakeValue::None => {}
            // The caller was asked to stop.
            TakeValue::Busy => return Ok(true),
        }
        let mut was_recent = false;
        loop {
            if !self.is_current(key, &path, seen)? {
                return Ok(false);
            }
            // A program that takes no lock may still be writing what was touched a moment ago.
            let is_recent = self
                .current(key, &path)?
                .is_some_and(|stat| Identity::of(&stat).is_recent());
            if !is_recent {
                return Ok(!was_recent);
            }
            was_recent = true;
            let goes_on = match wait {
                Wait::Block => true,
                Wait::While(goes_on) => goes_on(),
                Wait::Try => false,
            };
            if !goes_on || self.sys.now().saturating_sub(start) >= limit {
                return Ok(true);
            }
            self.sys.pause(LONGEST_PAUSE);
        }
    }
}

impl ValueLock {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let held = again(|| self.sys.file_stat(&self.file))?;
        match again(|| self.sys.stat(path)) {
            Ok(named) => Ok(named.file == held.file),
            Err(e) if is_absent(&e) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Lets others have the value after another one took its name.
    ///
    /// A program that waited for this lock opens the path once more when it has it (Java N5 4), and
    /// then writes the new value without a lock. Its file of the old one stays open as long as it
    /// does.
    pub(crate) fn hand_over(self) {
        self.unlock();
        let start = self.sys.now();
        while self.sys.is_open_to_write(&self.file) && self.sys.now().saturating_sub(start) < MOMENT
        {
            self.sys.pause(FIRST_PAUSE);
        }
    }

    fn unlock(&self) {
        // A forked child has a copy of the descriptor, and unlocking it would unlock the parent's.
        if self.process == process::id() {
            let _ = again(|| self.sys.unlock(&self.file));
        }
    }
}

impl Drop for ValueLock {
    fn drop(&mut self) {
        self.unlock();
    }
}
