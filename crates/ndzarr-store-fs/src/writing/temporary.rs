//! A new value that is written next to the old one, under a name that no key has.

use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use ndzarr_store::{Key, KeyLock, Pin, StoreError, Temporary, Wait};

use crate::FsStore;
use crate::locks::Take;
use crate::locks::file_lock::FileLock;
use crate::locks::lock_error::failure;
use crate::new_value::NewValue;

/// A new value: a lock file next to that of the value, with a name that no key has. While it is
/// locked it has a writer; that of a killed writer is unlocked and is taken over.
#[derive(Debug)]
pub(crate) struct FsTemporary {
    store: FsStore,
    key: Key,
    path: PathBuf,
    /// `None` once it is published.
    lock: Option<FileLock>,
    end: AtomicU64,
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
            let (take, mut folders) = self
                .take_in_folder(name.as_ref(), Wait::Try)
                .map_err(failed)?;
            match take {
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
        self.lock
            .as_ref()
            .ok_or_else(|| io::Error::other("it was published"))
    }

    fn write(&self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        let write = || {
            let lock = self.lock()?;
            if !lock.is_own() {
                return Err(io::Error::other(
                    "another process writes it, from which this one was forked",
                ));
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

    fn publish(mut self: Box<Self>, key_lock: Box<dyn KeyLock>) -> Result<Pin, StoreError> {
        let failed = |action| move |e| (action, e);
        let this = &mut *self;
        let mut publish = || {
            let Some(mut lock) = this.lock.take() else {
                return Err(("publish", io::Error::other("it was published")));
            };
            if this.failed.load(Ordering::Relaxed) {
                return Err((
                    "publish",
                    io::Error::other("a part of it could not be written before"),
                ));
            }
            let file = lock.file().map_err(failed("publish"))?.clone();
            let level = this.store.durability.of(&this.key);
            let time = this.store.time_of_next(&this.path);
            NewValue::default()
                .finish(&*this.store.sys, &file, level, time)
                .map_err(failed("sync"))?;
            lock.rename_over_locked(&this.path)
                .map_err(failed("publish"))?;
            this.store
                .sync_entry(&this.path)
                .map_err(failed("sync the folder of"))?;
            Ok(this.store.pin(file))
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
}

impl Drop for FsTemporary {
    fn drop(&mut self) {
        if self.lock.take().is_some() {
            self.store.prune_above(&self.path);
        }
    }
}
