//! A new value that is written beside the old one, under a name that no key has.

use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use ndzarr_store::{Exchanged, Key, KeyLock, Pin, StoreError, Temporary, Wait};

use crate::file_lock::FileLock;
use crate::identity::Pinned;
use crate::lock_error::failure;
use crate::locks::Take;
use crate::new_value::NewValue;
use crate::syscalls::again;
use crate::{Durability, FsStore};

/// A new value: a lock file beside the value's, with a name that no key has. While it is locked it
/// has a writer; that of a killed writer is unlocked and is taken over.
#[derive(Debug)]
pub(crate) struct FsTemporary {
    store: FsStore,
    key: Key,
    path: PathBuf,
    /// `None` once it is published.
    lock: Option<FileLock>,
    end: AtomicU64,
    /// Size and time of change of the value that it was, if any.
    was: Option<(u64, i128)>,
    failed: AtomicBool,
}

/// The maximum number of writers of one value at a time.
const MAX_WRITERS: usize = 4096;

impl FsStore {
    pub(crate) fn make_temporary(&self, key: &Key) -> Result<Option<FsTemporary>, StoreError> {
        let failed = |e| failure("make a temporary for", key, e);
        let path = self.path_to_write(key)?;
        for number in 0..MAX_WRITERS {
            let part = format!(".part{number}");
            let mut name = OsString::from(&path);
            name.push(&part);
            let (take, mut folders) = self.take_in_folder(name.as_ref(), Wait::Try).map_err(failed)?;
            match take {
                // Dropping it removes the file.
                Take::Held(lock) if lock.may_be_read() => {}
                Take::Held(mut lock) => {
                    self.refuse_other_spelling(key, &path, lock.lock_file(), &part)?;
                    lock.new_value().map_err(failed)?;
                    // They are removed with the temporary.
                    folders.keep();
                    return Ok(Some(FsTemporary {
                        store: self.clone(),
                        key: key.clone(),
                        path,
                        lock: Some(lock),
                        end: AtomicU64::new(0),
                        was: None,
                        failed: AtomicBool::new(false),
                    }));
                }
                Take::Busy => {}
                Take::Unsupported | Take::NoFolder => return Ok(None),
            }
        }
        Err(failed(io::Error::other("too many writers of it")))
    }
}

impl FsTemporary {
    fn lock(&self) -> io::Result<&FileLock> {
        self.lock.as_ref().ok_or_else(|| io::Error::other("it was published"))
    }

    /// Publishes the file, then gives the key's lock to others.
    fn end<T>(
        mut self: Box<Self>,
        key_lock: Box<dyn KeyLock>,
        rename: impl FnOnce(&mut FileLock, &Path) -> io::Result<T>,
    ) -> Result<(Pin, T), StoreError> {
        let failed = |action| move |e| (action, e);
        let this = &mut *self;
        let publish = || {
            let Some(mut lock) = this.lock.take() else {
                return Err(("publish", io::Error::other("it was published")));
            };
            if this.failed.load(Ordering::Relaxed) {
                return Err(("publish", io::Error::other("a part of it could not be written before")));
            }
            let file = lock.file().map_err(failed("publish"))?.clone();
            let (sys, level, time) =
                (&*this.store.sys, this.store.durability, this.store.time_of_next(&this.path));
            NewValue::default().finish(sys, &file, level, time).map_err(failed("sync"))?;
            let renamed = rename(&mut lock, &this.path).map_err(failed("publish"))?;
            this.store.sync_entry(&this.path).map_err(failed("sync the folder of"))?;
            Ok((this.store.pin(file), renamed))
        };
        let published = publish().map_err(|(action, e)| failure(action, &self.key, e));
        // Others may continue now, whether it was published or not.
        drop(key_lock);
        if published.is_err() {
            // The lock may have recreated the folder of a removed array.
            self.store.prune_above(&self.path);
        }
        published
    }

    fn write(&self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        let write = || {
            let lock = self.lock()?;
            if !lock.is_own() {
                return Err(io::Error::other("another process writes it, from which this one was forked"));
            }
            NewValue::default().write_at(&*self.store.sys, lock.file()?, at, part)
        };
        write().map_err(|e| {
            self.failed.store(true, Ordering::Relaxed);
            StoreError::io("write", &self.key, e)
        })
    }
}

impl Temporary for FsTemporary {
    fn append(&self, part: &[u8]) -> Result<u64, StoreError> {
        let at = self.end.fetch_add(part.len() as u64, Ordering::Relaxed);
        self.write(at, part).map(|()| at)
    }

    fn write_at(&self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.write(at, part)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        let read = || self.store.range(self.lock()?.file()?, range);
        read().map_err(|e| StoreError::io("read a temporary of", &self.key, e))
    }

    fn publish(self: Box<Self>, key_lock: Box<dyn KeyLock>) -> Result<Pin, StoreError> {
        self.end(key_lock, |lock, path| lock.rename_over_locked(path)).map(|(pin, ())| pin)
    }

    fn exchange(self: Box<Self>, key_lock: Box<dyn KeyLock>, old: &Pin) -> Result<Exchanged, StoreError> {
        let Some(Pinned { identity, .. }) = old.get::<Pinned>() else {
            return Ok((self.publish(key_lock)?, None));
        };
        let (store, key, path) = (self.store.clone(), self.key.clone(), self.path.clone());
        let (pin, before) = self.end(key_lock, |lock, path| lock.exchange_locked(path, identity))?;
        let keep = |lock: FileLock| -> io::Result<Box<dyn Temporary>> {
            let stat = again(|| store.sys.file_stat(lock.file()?))?;
            Ok(Box::new(FsTemporary {
                store,
                key,
                path,
                lock: Some(lock),
                end: AtomicU64::new(stat.size),
                was: Some((stat.size, stat.modified)),
                failed: AtomicBool::new(false),
            }))
        };
        Ok((pin, before.and_then(|lock| keep(lock).ok())))
    }

    fn shorten(&self, len: u64) -> Result<bool, StoreError> {
        let sys = &*self.store.sys;
        let shorten = || {
            let lock = self.lock()?;
            let file = lock.file()?;
            let stat = again(|| sys.file_stat(file))?;
            let is_same = self.was.is_none_or(|was| was == (stat.size, stat.modified));
            if matches!(lock, FileLock::Portable(_))
                || !lock.is_own()
                || !is_same
                || stat.names > 1
                || sys.is_open_elsewhere(file)
            {
                return Ok(false);
            }
            if self.was.is_some() && self.store.durability != Durability::None {
                // After a crash it must not be the value again.
                let folder = self.path.parent().unwrap_or(&self.path);
                again(|| sys.sync_folder(folder))?;
            }
            again(|| sys.truncate(file, len))?;
            self.end.store(len, Ordering::Relaxed);
            Ok(true)
        };
        shorten().map_err(|e| {
            self.failed.store(true, Ordering::Relaxed);
            StoreError::io("shorten a temporary of", &self.key, e)
        })
    }
}

impl Drop for FsTemporary {
    fn drop(&mut self) {
        if self.lock.take().is_some() {
            self.store.prune_above(&self.path);
        }
    }
}
