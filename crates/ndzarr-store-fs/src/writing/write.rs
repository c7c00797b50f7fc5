//! Replaces and erases values, with or without a precondition.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use ndzarr_store::{Key, KeyLock, Precondition, Put, StoreError, Wait};

use crate::locks::Take;
use crate::locks::lock_error::failure;
use crate::names::lock_names::lock_path;
use crate::new_value::NewValue;
use crate::system::os_error::{is_absent, is_not_found};
use crate::system::syscalls::{again, once_closed, once_free, replace};
use crate::writing::folders::MadeFolders;
use crate::writing::key_lock::FsKeyLock;
use crate::{FsStore, Locking};

impl FsStore {
    pub(crate) fn write(
        &self,
        key: &Key,
        parts: &[Bytes],
        only_if: &Precondition,
    ) -> Result<Put, StoreError> {
        unless_lost(|| self.write_once(key, parts, only_if))
    }

    fn write_once(
        &self,
        key: &Key,
        parts: &[Bytes],
        only_if: &Precondition,
    ) -> Result<Put, StoreError> {
        let path = self.path_to_write(key)?;
        // If the value does not exist at this moment, neither a wait nor a folder is needed.
        if matches!(only_if, Precondition::Current(_)) && !self.holds(key, &path, only_if)? {
            return Ok(Put::Conflict);
        }
        let taken = self.take_in_folder(&path, Wait::Block);
        let (take, folders) = taken.map_err(|e| failure("lock", key, e))?;
        let lock = match take {
            Take::Held(lock) => lock,
            _ if matches!(only_if, Precondition::None) => {
                return self.write_unlocked(key, &path, parts);
            }
            _ => return Ok(Put::Unsupported),
        };
        self.refuse_other_spelling(key, &path, lock.lock_file(), "")?;
        if !self.holds(key, &path, only_if)? {
            return Ok(Put::Conflict);
        }
        let mut lock = Box::new(FsKeyLock::new(
            self.clone(),
            key.clone(),
            path,
            lock,
            folders,
        ));
        for part in parts {
            lock.append(part)?;
        }
        Ok(Put::Done(Some(lock.publish()?)))
    }

    pub(crate) fn remove(&self, key: &Key, only_if: &Precondition) -> Result<Put, StoreError> {
        unless_lost(|| self.remove_once(key, only_if))
    }

    fn remove_once(&self, key: &Key, only_if: &Precondition) -> Result<Put, StoreError> {
        let path = self.path_to_write(key)?;
        // Erasing an absent value changes nothing, so it needs neither a lock nor a folder for one.
        if self.current_entry(key, &path)?.is_none() && self.knows_what_is_absent(&path) {
            return Ok(erased_absent(only_if));
        }
        match self
            .locks
            .take(&path, Wait::Block)
            .map_err(|e| failure("lock", key, e))?
        {
            Take::Held(lock) => {
                self.refuse_other_spelling(key, &path, lock.lock_file(), "")?;
                if !self.holds(key, &path, only_if)? {
                    return Ok(Put::Conflict);
                }
                Box::new(FsKeyLock::new(
                    self.clone(),
                    key.clone(),
                    path,
                    lock,
                    MadeFolders::default(),
                ))
                .erase()?;
            }
            Take::NoFolder => return Ok(erased_absent(only_if)),
            Take::Unsupported | Take::Busy if matches!(only_if, Precondition::None) => {
                self.unlink(key, &path)?;
                self.prune_above(&path);
            }
            Take::Unsupported | Take::Busy => return Ok(Put::Unsupported),
        }
        Ok(Put::Done(None))
    }

    /// True if a file reported as absent really is: a network file system may report so from its
    /// cache, until this process changes the folder, by a lock file for instance.
    fn knows_what_is_absent(&self, path: &Path) -> bool {
        let locking = |folder| {
            let folder = again(|| self.sys.open(folder)).ok()?;
            let stat = again(|| self.sys.file_stat(&folder)).ok()?;
            Some(
                self.devices
                    .of(&*self.sys, stat.device(), &folder)
                    .ok()?
                    .locking(),
            )
        };
        self.devices.are_local()
            || path
                .parent()
                .and_then(locking)
                .is_none_or(|locking| locking == Locking::Local)
    }

    /// Removes the file of a key.
    pub(crate) fn unlink(&self, key: &Key, path: &Path) -> Result<(), StoreError> {
        if self.current_entry(key, path)?.is_none() {
            return Ok(());
        }
        match once_closed(&*self.sys, || self.sys.unlink(path)) {
            Err(e) if !is_absent(&e) => return Err(StoreError::io("erase", key, e)),
            _ => {}
        }
        self.sync_entry(path)
            .map_err(|e| StoreError::io("sync the folder of", key, e))
    }

    /// What to unlink so that the key has no value: a file, or a symbolic link that does not lead
    /// to a folder.
    fn current_entry(&self, key: &Key, path: &Path) -> Result<Option<()>, StoreError> {
        let failed = |e| StoreError::io("look up", key, e);
        match once_free(&*self.sys, || self.sys.link_stat(path)) {
            Ok(entry) if entry.is_dir() => Ok(None),
            Ok(_) if !self.has_exact_names(key.as_str())? => Ok(None),
            Ok(entry) if entry.is_symlink() => match again(|| self.sys.stat(path)) {
                Ok(target) if target.is_dir() => Ok(None),
                // A link to nowhere goes too: it is not a value now, but would be one if its target
                // came back.
                _ => Ok(Some(())),
            },
            Ok(_) => Ok(Some(())),
            Err(e) if is_absent(&e) => self.check_drive(key).map(|()| None),
            Err(e) => Err(failed(e)),
        }
    }

    fn holds(&self, key: &Key, path: &Path, only_if: &Precondition) -> Result<bool, StoreError> {
        match only_if {
            Precondition::None => Ok(true),
            Precondition::Absent => Ok(self.open(key)?.is_none()),
            Precondition::Current(pin) => self.is_current(key, path, pin),
        }
    }

    /// Replaces the value from a separate temporary file. For file systems without locks.
    fn write_unlocked(&self, key: &Key, path: &Path, parts: &[Bytes]) -> Result<Put, StoreError> {
        let part = unique_part();
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(&part);
        let temporary = lock_path(temporary.as_ref());
        let (file, mut folders) = self
            .in_folder(path, || match again(|| self.sys.create(&temporary)) {
                Err(e) if is_not_found(&e) => Ok(None),
                other => other.map(Some),
            })
            .map_err(|e| StoreError::io("open", key, e))?;
        let publish = || {
            self.refuse_other_spelling(key, path, &file, &part)?;
            let failed = |action| move |e| StoreError::io(action, key, e);
            let mut value = NewValue::default();
            for part in parts {
                value
                    .write_at(&*self.sys, &file, value.end(), part)
                    .map_err(failed("write"))?;
            }
            let time = self.time_of_next(path);
            value
                .finish(&*self.sys, &file, self.durability.of(key), time)
                .map_err(failed("sync"))?;
            let (_, file_system) = self.locks.file_system_of(&file).map_err(failed("write"))?;
            if file_system.reports_late() {
                again(|| self.sys.flush(&file)).map_err(failed("write"))?;
            }
            replace(&*self.sys, &temporary, path).map_err(failed("publish"))
        };
        if let Err(e) = publish() {
            let _ = again(|| self.sys.unlink(&temporary));
            return Err(e);
        }
        folders.keep();
        self.sync_entry(path)
            .map_err(|e| StoreError::io("sync the folder of", key, e))?;
        Ok(Put::Done(Some(self.pin(Arc::new(file)))))
    }
}

/// The outcome of erasing a value that is absent.
fn erased_absent(only_if: &Precondition) -> Put {
    match only_if {
        Precondition::Current(_) => Put::Conflict,
        Precondition::None | Precondition::Absent => Put::Done(None),
    }
}

/// Retries a few times if the lock was lost: nothing was written then.
fn unless_lost<T>(mut write: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
    const ATTEMPTS: usize = 4;
    for _ in 1..ATTEMPTS {
        match write() {
            Err(StoreError::LockLost { .. }) => {}
            other => return other,
        }
    }
    write()
}

/// The part that makes the name of a temporary unique.
fn unique_part() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    format!(".{:x}-{nanos:x}-{count:x}", std::process::id())
}
