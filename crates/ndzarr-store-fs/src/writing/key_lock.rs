//! Holds the lock of a key and writes its value under it.

use std::ops::Range;
use std::path::PathBuf;

use ndzarr_store::{Fetched, Key, KeyLock, Locked, Of, Pin, StoreError, Wait, Want};

use crate::FsStore;
use crate::locks::Take;
use crate::locks::file_lock::FileLock;
use crate::locks::lock_error::failure;
use crate::new_value::NewValue;
use crate::system::identity::Pinned;
use crate::writing::folders::MadeFolders;
use crate::writing::value_lock::{TakeValue, ValueLock};

/// The lock of a key, and the value that is written under it.
#[derive(Debug)]
pub(crate) struct FsKeyLock {
    store: FsStore,
    key: Key,
    path: PathBuf,
    lock: FileLock,
    value: NewValue,
    /// The lock of the present value itself.
    value_lock: Option<ValueLock>,
    /// Dropped after the lock, whose file is in them.
    folders: MadeFolders,
}

impl FsStore {
    pub(crate) fn take_lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        let path = self.path_to_write(key)?;
        let (take, folders) = self
            .take_in_folder(&path, wait)
            .map_err(|e| failure("lock", key, e))?;
        match take {
            Take::Held(lock) => {
                self.refuse_other_spelling(key, &path, lock.lock_file(), "")?;
                Ok(Locked::Held(Box::new(FsKeyLock::new(
                    self.clone(),
                    key.clone(),
                    path,
                    lock,
                    folders,
                ))))
            }
            Take::Busy => Ok(Locked::Busy),
            Take::Unsupported | Take::NoFolder => Ok(Locked::Unsupported),
        }
    }
}

impl FsKeyLock {
    pub(crate) fn new(
        store: FsStore,
        key: Key,
        path: PathBuf,
        lock: FileLock,
        folders: MadeFolders,
    ) -> Self {
        Self {
            store,
            key,
            path,
            lock,
            value: NewValue::default(),
            value_lock: None,
            folders,
        }
    }
}

impl KeyLock for FsKeyLock {
    /// On local file systems of Linux, whose locks exclude those of Java.
    fn lock_value(&mut self, wait: Wait<'_>) -> Result<bool, StoreError> {
        if matches!(self.lock, FileLock::Portable(_)) {
            return Ok(true);
        }
        let limit = self.store.locks.timeout();
        match self
            .store
            .lock_value(&self.path, wait, limit)
            .map_err(|e| failure("lock", &self.key, e))?
        {
            TakeValue::Held(lock) => self.value_lock = Some(lock),
            TakeValue::None => {}
            TakeValue::Busy => return Ok(false),
        }
        Ok(true)
    }

    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        let fetched = self.store.read(&self.key, &of, &want);
        // A read that took longer than the lock lasts may include parts written by another writer.
        self.lock
            .check_old()
            .map_err(|e| failure("read", &self.key, e))?;
        fetched
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        let at = self.value.end();
        self.write_at(at, part)?;
        Ok(at)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        let sys = &*self.store.sys;
        let lock = &mut self.lock;
        lock.new_value()
            .and_then(|file| self.value.write_at(sys, file, at, part))
            .map_err(|e| failure("write", &self.key, self.lock.blame(e)))
    }

    fn copy_at(&mut self, at: u64, pin: &Pin, range: Range<u64>) -> Result<bool, StoreError> {
        let Some(Pinned {
            file: Some(old), ..
        }) = pin.get::<Pinned>()
        else {
            return Ok(false);
        };
        let sys = &*self.store.sys;
        let lock = &mut self.lock;
        let copied = lock
            .new_value()
            .and_then(|file| self.value.copy_at(sys, file, at, old, range));
        let copied = copied.map_err(|e| failure("write", &self.key, self.lock.blame(e)))?;
        // The old file may be one that another host has written into.
        self.lock
            .check_old()
            .map_err(|e| failure("read", &self.key, e))?;
        Ok(copied)
    }

    fn check(&mut self) -> Result<(), StoreError> {
        self.lock
            .check_old()
            .map_err(|e| failure("keep the lock of", &self.key, e))
    }

    fn publish(mut self: Box<Self>) -> Result<Pin, StoreError> {
        let failed = |action| move |e| (action, e);
        let mut publish = || {
            let file = self.lock.new_value().map_err(failed("write"))?.clone();
            let level = self.store.durability.of(&self.key);
            let time = self.store.time_of_next(&self.path);
            let finished = self.value.finish(&*self.store.sys, &file, level, time);
            finished.map_err(|e| ("sync", self.lock.blame(e)))?;
            self.lock
                .rename_over(&self.path)
                .map_err(failed("publish"))?;
            self.folders.keep();
            if let Some(value_lock) = self.value_lock.take() {
                value_lock.hand_over();
            }
            self.store
                .sync_entry(&self.path)
                .map_err(failed("sync the folder of"))?;
            // Renaming touches the file, so its identity is taken afterwards.
            Ok(self.store.pin(file))
        };
        publish().map_err(|(action, e)| failure(action, &self.key, e))
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        let Self {
            store,
            key,
            path,
            lock,
            value_lock,
            ..
        } = *self;
        lock.check().map_err(|e| failure("erase", &key, e))?;
        store.unlink(&key, &path)?;
        if let Some(value_lock) = value_lock {
            value_lock.hand_over();
        }
        drop(lock);
        store.prune_above(&path);
        Ok(())
    }
}
