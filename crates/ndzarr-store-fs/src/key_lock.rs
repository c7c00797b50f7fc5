use std::path::PathBuf;

use ndzarr_store::{Fetched, Key, KeyLock, Locked, Of, Pin, StoreError, Wait, Want};

use crate::FsStore;
use crate::file_lock::{FileLock, Take};
use crate::identity::{Identity, Pinned};
use crate::new_value::NewValue;
use crate::syscalls::again;

/// The lock of a key, and the value that is written under it.
#[derive(Debug)]
pub(crate) struct FsKeyLock {
    store: FsStore,
    key: Key,
    path: PathBuf,
    lock: FileLock,
    value: NewValue,
}

impl FsStore {
    pub(crate) fn take_lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        let path = self.path_to_write(key)?;
        let take = self.in_folder(&path, || {
            Ok(match FileLock::take(&self.sys, &path, wait)? {
                Take::NoFolder => None,
                taken => Some(taken),
            })
        });
        match take.map_err(|e| StoreError::io("lock", key, e))? {
            Take::Held(lock) => {
                Ok(Locked::Held(Box::new(FsKeyLock::new(self.clone(), key.clone(), path, lock))))
            }
            Take::Busy => Ok(Locked::Busy),
            Take::Unsupported | Take::NoFolder => Ok(Locked::Unsupported),
        }
    }
}

impl FsKeyLock {
    pub(crate) fn new(store: FsStore, key: Key, path: PathBuf, lock: FileLock) -> Self {
        Self { store, key, path, lock, value: NewValue::default() }
    }
}

impl KeyLock for FsKeyLock {
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.store.read(&self.key, &of, &want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        let at = self.value.end();
        self.write_at(at, part)?;
        Ok(at)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        let (sys, lock) = (&*self.store.sys, &mut self.lock);
        lock.clear()
            .and_then(|()| self.value.write_at(sys, lock.file(), at, part))
            .map_err(|e| StoreError::io("write", &self.key, e))
    }

    fn publish(mut self: Box<Self>) -> Result<Pin, StoreError> {
        let failed = |action| move |e| (action, e);
        let publish = || {
            self.lock.clear().map_err(failed("write"))?;
            self.value
                .finish(&*self.store.sys, self.lock.file(), self.store.durability)
                .map_err(failed("sync"))?;
            self.lock.rename_over(&self.path).map_err(failed("publish"))?;
            self.store.sync_entry(&self.path).map_err(failed("sync the folder of"))?;
            // Renaming touches the file, so its identity is taken afterwards.
            let stat = again(|| self.store.sys.file_stat(self.lock.file())).map_err(failed("look up"))?;
            Ok(Pin::new(Pinned { file: self.lock.file().clone(), identity: Identity::of(&stat) }))
        };
        let mut publish = publish;
        publish().map_err(|(action, e)| StoreError::io(action, &self.key, e))
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        let Self { store, key, path, lock, .. } = *self;
        store.unlink(&key, &path)?;
        drop(lock);
        store.prune_above(&path);
        Ok(())
    }
}
