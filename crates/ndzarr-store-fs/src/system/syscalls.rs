//! Every call to the operating system, in one trait, so that tests can make each fail.

#[cfg(any(
    all(test, unix),
    not(any(target_os = "linux", target_os = "android", windows))
))]
pub(crate) mod flock;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod kernel_lease;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod ofd;
#[cfg(not(any(unix, windows)))]
mod other;
pub(crate) mod part;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod win32;
#[cfg(windows)]
mod windows;

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions, ReadDir};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ndzarr_store::{PerProcess, Wait};

#[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
use self::flock as locks;
#[cfg(any(target_os = "linux", target_os = "android"))]
use self::ofd as locks;
#[cfg(not(any(unix, windows)))]
use self::other as platform;
pub(crate) use self::part::Part;
#[cfg(unix)]
use self::unix as platform;
#[cfg(windows)]
use self::win32 as locks;
#[cfg(windows)]
use self::windows as platform;
use crate::Durability;
use crate::system::file_system::FileSystem;
use crate::system::host::{self, Host, Process};
use crate::system::os_error::{blame_users, is_in_use, is_not_found};
use crate::system::stat::Stat;

/// Every call of the store to the operating system, in one place, so that tests can make each of
/// them fail.
///
/// The provided methods are the real calls; they may be interrupted and may read or write less than
/// asked.
pub(crate) trait Syscalls: fmt::Debug + Send + Sync {
    /// Opens a file to read. Does not hang on a pipe.
    fn open(&self, path: &Path) -> io::Result<File> {
        platform::open(path)
    }

    /// Creates and opens a file to read and write; it must not exist yet.
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)
    }

    /// Opens an existing file to read and write, not through a symbolic link.
    fn reopen(&self, path: &Path) -> io::Result<File> {
        platform::open_unfollowed(OpenOptions::new().read(true).write(true), path)
    }

    /// Opens an existing file only to read it, not through a symbolic link.
    fn open_unfollowed(&self, path: &Path) -> io::Result<File> {
        platform::open_unfollowed(OpenOptions::new().read(true), path)
    }

    /// Appends up to `len` bytes of the file from `at` on to `into`, and gives their number.
    fn read_at(&self, file: &File, at: u64, len: usize, into: &mut Vec<u8>) -> io::Result<usize> {
        platform::read_at(file, at, len, into)
    }

    /// Reads bytes of the file from `at` on into memory, and gives their number.
    fn read_into(&self, file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
        platform::read_into(file, at, into)
    }

    /// Writes bytes of `from` at `at`, and gives their number.
    fn write_at(&self, file: &File, at: u64, from: &[u8]) -> io::Result<usize> {
        platform::write_at(file, at, from)
    }

    /// Copies up to `len` bytes from one file to another within the file system, and gives their
    /// number. `Unsupported` if it cannot.
    fn copy(
        &self,
        from: &File,
        from_at: u64,
        to: &File,
        to_at: u64,
        len: u64,
    ) -> io::Result<usize> {
        platform::copy(from, from_at, to, to_at, len)
    }

    /// Makes the file empty.
    fn truncate(&self, file: &File) -> io::Result<()> {
        file.set_len(0)
    }

    /// Fixes the identity of a file that was written, before it is published.
    fn settle(&self, file: &File) -> io::Result<()> {
        platform::settle(file)
    }

    /// Syncs a file as the level says.
    fn sync(&self, file: &File, level: Durability) -> io::Result<()> {
        match level {
            Durability::None => Ok(()),
            Durability::Documents | Durability::Data => platform::sync_data(file),
            Durability::Full => platform::sync_all(file),
        }
    }

    /// Syncs the entries of a folder.
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        platform::sync_folder(path)
    }

    /// About an open file.
    fn file_stat(&self, file: &File) -> io::Result<Stat> {
        platform::file_stat(file)
    }

    /// Makes sure that metadata of an open file is not cached, on file systems that others write
    /// to.
    fn refresh(&self, file: &File) -> io::Result<()> {
        platform::refresh(file)
    }

    /// About what a path leads to, through symbolic links.
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        platform::stat(path)
    }

    /// About the path itself, which may be a symbolic link.
    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        platform::link_stat(path)
    }

    /// The path without symbolic links.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    /// True if a file may be found under another name than its folder lists.
    fn folds_names(&self) -> bool {
        platform::FOLDS_NAMES
    }

    /// The name of a file, folder or link as its folder lists it. Only where
    /// [names are folded](Self::folds_names). `ResourceBusy` if it was replaced in the meantime.
    fn listed_name(&self, path: &Path) -> io::Result<OsString> {
        platform::listed_name(path)
    }

    /// The path of an open file as its folders list it, without links. Only where
    /// [names are folded](Self::folds_names).
    fn path_of(&self, file: &File) -> io::Result<PathBuf> {
        platform::path_of(file)
    }

    /// Locks a part of a file against every other open descriptor of it; `false` if it is locked
    /// and `wait` says not to wait.
    fn lock(&self, file: &File, part: Part, wait: Wait<'_>) -> io::Result<bool> {
        locks::lock(file, part, wait)
    }

    /// Unlocks a file, for copies of the descriptor in forked children too.
    fn unlock(&self, file: &File) -> io::Result<()> {
        locks::unlock(file)
    }

    /// Tries to lock a part of a file that is open only to read, against writers that lock it;
    /// `false` when one of them holds it.
    fn lock_to_read(&self, file: &File, part: Part) -> io::Result<bool> {
        locks::lock_to_read(file, part)
    }

    /// Renames a file, replacing any file of that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        platform::rename(from, to)
    }

    /// True if a file that is open here only to be read is open elsewhere to be written. False if
    /// the system does not report that.
    fn is_open_to_write(&self, file: &File) -> bool {
        platform::is_open_to_write(file)
    }

    /// Gives a file a second name, which must not exist yet.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    /// The target of a symbolic link.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    /// Flushes writes to the file system, so that other hosts see them and errors are known. A
    /// network file system does so when a file is closed.
    fn flush(&self, file: &File) -> io::Result<()> {
        platform::flush(file)
    }

    /// Sets the time at which a file was last changed.
    fn touch(&self, file: &File, time: SystemTime) -> io::Result<()> {
        file.set_modified(time)
    }

    /// The file system that a file is on.
    fn file_system(&self, file: &File) -> io::Result<FileSystem> {
        platform::file_system(file)
    }

    /// The time since some moment, by a clock that never goes back.
    fn now(&self) -> Duration {
        // Of this process: the copy of a child that was forked at its first use may be locked.
        static START: PerProcess<Instant> = PerProcess::new();
        START.inherited(
            Instant::now,
            |start| Some(start.elapsed()),
            Instant::elapsed,
        )
    }

    /// Lets some time pass.
    fn pause(&self, time: Duration) {
        thread::sleep(time);
    }

    /// Identifies this machine.
    fn host(&self) -> Host {
        Process::current().host.clone()
    }

    /// When a process of this machine was started; `None` if there is no such process. An error if
    /// that cannot be found out.
    fn process_start(&self, process: u32) -> io::Result<Option<String>> {
        host::process_start(process)
    }

    /// Removes a file or a symbolic link.
    fn unlink(&self, path: &Path) -> io::Result<()> {
        platform::unlink(path)
    }

    /// Creates a folder in an existing one.
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    /// Opens a folder to list it.
    fn list(&self, path: &Path) -> io::Result<ReadDir> {
        fs::read_dir(path)
    }
}

/// The operating system itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct System;

impl Syscalls for System {}

/// Renames a file over a value, once programs that have the value open let it be replaced.
pub(crate) fn replace(sys: &dyn Syscalls, from: &Path, to: &Path) -> io::Result<()> {
    let exists = |path: &Path| again(|| sys.link_stat(path)).is_ok();
    once_closed(sys, || match sys.rename(from, to) {
        // Linux removes an open value from a share of SMB to replace it, which the server carries
        // out only once it is closed. Until then nothing can have its name.
        Err(e) if is_not_found(&e) && exists(from) && to.parent().is_some_and(exists) => {
            Err(io::ErrorKind::ResourceBusy.into())
        }
        renamed => renamed,
    })
}

/// How long to wait for others to close a file that they only look at, and for them to close a
/// value that is to be replaced or removed.
const MOMENT: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(10);

/// Carries on after interruptions, and while the file is in the hands of others for a moment.
pub(crate) fn once_free<T>(
    sys: &dyn Syscalls,
    call: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    while_in_use(sys, MOMENT, call)
}

/// Carries on after interruptions, and while the file is open elsewhere, which protects it where
/// the file system does not replace or remove open files; for ten seconds at most.
pub(crate) fn once_closed<T>(
    sys: &dyn Syscalls,
    call: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    while_in_use(sys, PATIENCE, call).map_err(blame_users)
}

fn while_in_use<T>(
    sys: &dyn Syscalls,
    limit: Duration,
    mut call: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let mut start = None;
    let mut pause = Duration::from_micros(50);
    loop {
        match again(&mut call) {
            Err(e) if is_in_use(&e) => {
                let now = sys.now();
                if now.saturating_sub(*start.get_or_insert(now)) >= limit {
                    return Err(e);
                }
                sys.pause(pause);
                pause = (pause * 2).min(Duration::from_millis(1));
            }
            other => return other,
        }
    }
}

/// Carries on after interruptions.
pub(crate) fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
