//! Tests of what happens when the operating system fails, or does less than asked.

#[cfg(unix)]
mod failures;
mod flocks;
#[cfg(target_os = "linux")]
mod folded_names;
mod interleavings;
mod leases;
mod light_pins;
mod no_locks;
#[cfg(target_os = "linux")]
mod open_files;
#[cfg(target_os = "linux")]
mod value_locks;

use std::collections::VecDeque;
use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use ndzarr_store::{Fetch, Fetched, Key, Of, Precondition, Put, Store, StoreError, Wait, Want};
use rustix::io::Errno;
use tempfile::TempDir;

use crate::system::file_system::FileSystem;
use crate::system::stat::Stat;
use crate::system::syscalls::{Part, Syscalls, System};
use crate::{Durability, FsStore, FsStoreBuilder};

type Outcome = Result<(), Box<dyn Error>>;

/// The operating system, with faults.
#[derive(Clone, Default)]
struct Faulty {
    /// Errors that calls of these names give, once each.
    once: Arc<Mutex<VecDeque<(&'static str, Errno)>>>,
    /// Errors that calls of these names give always.
    always: Arc<Mutex<Vec<(&'static str, Errno)>>>,
    /// The most bytes that are read or written at once; 0 for as many as the system does.
    at_once: usize,
    /// What another process does just before the first call of this name.
    meanwhile: Arc<Mutex<Option<(&'static str, Meanwhile)>>>,
    /// The file system by the number that `statfs` gives, if not the true one.
    file_system: Option<u32>,
}

type Meanwhile = Box<dyn FnOnce() + Send>;

impl std::fmt::Debug for Faulty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Faulty")
    }
}

fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Faulty {
    fn once(call: &'static str, errno: Errno) -> Self {
        let faulty = Self::default();
        held(&faulty.once).push_back((call, errno));
        faulty
    }

    fn always(call: &'static str, errno: Errno) -> Self {
        let faulty = Self::default();
        held(&faulty.always).push((call, errno));
        faulty
    }

    fn meanwhile(call: &'static str, what: impl FnOnce() + Send + 'static) -> Self {
        let faulty = Self::default();
        *held(&faulty.meanwhile) = Some((call, Box::new(what)));
        faulty
    }

    fn check(&self, call: &'static str) -> io::Result<()> {
        let mut meanwhile = held(&self.meanwhile);
        if let Some((_, what)) = meanwhile.take_if(|(before, _)| *before == call) {
            drop(meanwhile);
            what();
        }
        if let Some((_, errno)) = held(&self.always).iter().find(|(fails, _)| *fails == call) {
            return Err((*errno).into());
        }
        let mut once = held(&self.once);
        match once.iter().position(|(fails, _)| *fails == call) {
            Some(i) => Err(once.remove(i).map_or(Errno::IO, |(_, errno)| errno).into()),
            None => Ok(()),
        }
    }

    fn at_most(&self, len: usize) -> usize {
        if self.at_once == 0 {
            len
        } else {
            len.min(self.at_once)
        }
    }
}

impl Syscalls for Faulty {
    fn open(&self, path: &Path) -> io::Result<File> {
        self.check("open")?;
        System.open(path)
    }
    fn create(&self, path: &Path) -> io::Result<File> {
        self.check("create")?;
        System.create(path)
    }
    fn reopen(&self, path: &Path) -> io::Result<File> {
        self.check("reopen")?;
        System.reopen(path)
    }
    fn read_at(&self, file: &File, at: u64, len: usize, into: &mut Vec<u8>) -> io::Result<usize> {
        self.check("read_at")?;
        System.read_at(file, at, self.at_most(len), into)
    }
    fn write_at(&self, file: &File, at: u64, from: &[u8]) -> io::Result<usize> {
        self.check("write_at")?;
        System.write_at(file, at, &from[..self.at_most(from.len())])
    }
    fn copy(
        &self,
        from: &File,
        from_at: u64,
        to: &File,
        to_at: u64,
        len: u64,
    ) -> io::Result<usize> {
        self.check("copy")?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        System.copy(from, from_at, to, to_at, self.at_most(len) as u64)
    }
    fn truncate(&self, file: &File) -> io::Result<()> {
        self.check("truncate")?;
        System.truncate(file)
    }
    fn sync(&self, file: &File, level: Durability) -> io::Result<()> {
        self.check("sync")?;
        System.sync(file, level)
    }
    fn flush(&self, file: &File) -> io::Result<()> {
        self.check("flush")?;
        System.flush(file)
    }
    fn file_system(&self, file: &File) -> io::Result<FileSystem> {
        self.file_system.map_or_else(
            || System.file_system(file),
            |number| Ok(FileSystem::of_number(number)),
        )
    }
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        self.check("sync_folder")?;
        System.sync_folder(path)
    }
    fn file_stat(&self, file: &File) -> io::Result<Stat> {
        self.check("file_stat")?;
        System.file_stat(file)
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.check("stat")?;
        System.stat(path)
    }
    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        self.check("link_stat")?;
        System.link_stat(path)
    }
    fn lock(&self, file: &File, part: Part, wait: Wait<'_>) -> io::Result<bool> {
        self.check("lock")?;
        System.lock(file, part, wait)
    }
    fn unlock(&self, file: &File) -> io::Result<()> {
        self.check("unlock")?;
        System.unlock(file)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check("rename")?;
        System.rename(from, to)
    }
    fn lock_to_read(&self, file: &File, part: Part) -> io::Result<bool> {
        self.check("lock_to_read")?;
        System.lock_to_read(file, part)
    }
    fn unlink(&self, path: &Path) -> io::Result<()> {
        self.check("unlink")?;
        System.unlink(path)
    }
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.check("make_folder")?;
        System.make_folder(path)
    }
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.check("remove_folder")?;
        System.remove_folder(path)
    }
    fn list(&self, path: &Path) -> io::Result<fs::ReadDir> {
        self.check("list")?;
        System.list(path)
    }
}

/// A folder with the value "old value" under `a/b`, a store on it that works, and one whose system
/// calls may fail.
struct Setup {
    folder: TempDir,
    good: FsStore,
}

impl Setup {
    fn new() -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let good = FsStore::new(folder.path());
        good.put(&key()?, &["old value".into()], Precondition::None)?;
        Ok(Self { folder, good })
    }

    fn faulty(&self, faulty: Faulty) -> FsStore {
        self.faulty_with(faulty, |builder| builder)
    }

    fn faulty_with(
        &self,
        faulty: Faulty,
        set: impl FnOnce(FsStoreBuilder) -> FsStoreBuilder,
    ) -> FsStore {
        set(FsStore::builder(self.folder.path())).build_on(Arc::new(faulty))
    }

    fn value(&self) -> Result<Option<String>, StoreError> {
        read(&self.good)
    }

    /// The names in the folder of the value.
    fn files(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.folder.path().join("a"))? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn lock_file(&self) -> PathBuf {
        self.folder.path().join("a/b.__lock")
    }
}

fn key() -> Result<Key, StoreError> {
    Key::new("a/b")
}

fn read(store: &FsStore) -> Result<Option<String>, StoreError> {
    let fetch = Fetch {
        key: key()?,
        of: Of::Any,
        want: Want::Whole { limit: u64::MAX },
    };
    Ok(match store.fetch(&fetch)? {
        Fetched::Parts { parts, .. } => Some(String::from_utf8_lossy(&parts[0]).into_owned()),
        _ => None,
    })
}

fn put(store: &FsStore, only_if: Precondition) -> Result<Put, StoreError> {
    store.put(
        &key()?,
        &[Bytes::from("new "), Bytes::from("value")],
        only_if,
    )
}

fn errno(error: &StoreError) -> Option<i32> {
    match error {
        StoreError::Io { source, .. } => source.raw_os_error(),
        _ => None,
    }
}
