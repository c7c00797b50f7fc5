//! Every call to the operating system, in one trait, so that tests can make each fail.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions, ReadDir};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ndzarr_store::Wait;

use crate::Durability;
use crate::file_system::{self, FileSystem};
use crate::owner::{self, Host};
use crate::renewal::Process;

/// Every call of the store to the operating system, in one place, so that tests can make each of
/// them fail.
///
/// The provided methods are the real calls; they may be interrupted and may read or write less than
/// asked.
pub(crate) trait Syscalls: fmt::Debug + Send + Sync {
    /// Opens a file to read. Does not hang on a pipe.
    fn open(&self, path: &Path) -> io::Result<File> {
        open_to_read(path)
    }

    /// Creates and opens a file to read and write; it must not exist yet.
    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    /// Opens a file that is there, to read and write, not through a symbolic link.
    fn reopen(&self, path: &Path) -> io::Result<File> {
        open_to_write(path)
    }

    /// Opens a file that is there, to read it alone, not through a symbolic link.
    fn open_unfollowed(&self, path: &Path) -> io::Result<File> {
        unfollowed(OpenOptions::new().read(true), path)
    }

    /// Appends up to `len` bytes of the file from `at` on to `into`, and gives their number.
    fn read_at(&self, file: &File, at: u64, len: usize, into: &mut Vec<u8>) -> io::Result<usize> {
        positional::read(file, at, len, into)
    }

    /// Reads bytes of the file from `at` on into memory, and gives their number.
    fn read_into(&self, file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
        positional::read_into(file, at, into)
    }

    /// Writes bytes of `from` at `at`, and gives their number.
    fn write_at(&self, file: &File, at: u64, from: &[u8]) -> io::Result<usize> {
        positional::write(file, at, from)
    }

    /// Makes the file empty.
    fn truncate(&self, file: &File) -> io::Result<()> {
        file.set_len(0)
    }

    /// Syncs a file as the level says.
    fn sync(&self, file: &File, level: Durability) -> io::Result<()> {
        match level {
            Durability::None => Ok(()),
            Durability::Data => file.sync_data(),
            Durability::Full => file.sync_all(),
        }
    }

    /// Syncs the entries of a folder.
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        // Elsewhere a folder cannot be opened as a file, and renaming is journalled.
        if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
    }

    /// About an open file.
    fn file_stat(&self, file: &File) -> io::Result<Metadata> {
        file.metadata()
    }

    /// Makes sure that metadata of an open file is not cached, on file systems that others write
    /// to.
    fn refresh(&self, file: &File) -> io::Result<()> {
        refresh(file)
    }

    /// About what a path leads to, through symbolic links.
    fn stat(&self, path: &Path) -> io::Result<Metadata> {
        fs::metadata(path)
    }

    /// About the path itself, which may be a symbolic link.
    fn link_stat(&self, path: &Path) -> io::Result<Metadata> {
        fs::symlink_metadata(path)
    }

    /// The path without symbolic links.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    /// Locks a file against every other open descriptor of it; `false` if it is locked and `wait`
    /// says not to wait.
    fn lock(&self, file: &File, wait: Wait<'_>) -> io::Result<bool> {
        whole_file::lock(file, wait)
    }

    /// Unlocks a file, for copies of the descriptor in forked children too.
    fn unlock(&self, file: &File) -> io::Result<()> {
        whole_file::unlock(file)
    }

    /// Tries to lock a file, open to read alone, against writers that lock it; `false` when one of
    /// them holds it.
    fn lock_to_read(&self, file: &File) -> io::Result<bool> {
        whole_file::lock_to_read(file)
    }

    /// Renames a file, replacing any file of that name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    /// Gives a file a second name, which must not be there yet.
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
        flush(file)
    }

    /// Sets the time at which a file was last changed.
    fn touch(&self, file: &File, time: SystemTime) -> io::Result<()> {
        file.set_modified(time)
    }

    /// The file system that a file is on.
    fn file_system(&self, file: &File) -> io::Result<FileSystem> {
        file_system::of_file(file)
    }

    /// The time since some moment, by a clock that never goes back.
    fn now(&self) -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
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
        owner::process_start(process)
    }

    /// Removes a file or a symbolic link.
    fn unlink(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
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

/// Carries on after interruptions.
pub(crate) fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(unix)]
fn open_to_read(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;

    let mut options = OpenOptions::new();
    options.read(true);
    // Without it, a named pipe in a store would hold the reader for ever. It means nothing for a
    // regular file, unless a process has a lease on it: then wait for the lease to end.
    options.custom_flags(OFlags::NONBLOCK.bits() as _);
    match options.open(path) {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock && fs::metadata(path)?.is_file() => File::open(path),
        other => other,
    }
}

#[cfg(not(unix))]
fn open_to_read(path: &Path) -> io::Result<File> {
    File::open(path)
}

fn open_to_write(path: &Path) -> io::Result<File> {
    unfollowed(OpenOptions::new().read(true).write(true), path)
}

fn unfollowed(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;

        use rustix::fs::OFlags;

        options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as _);
    }
    options.open(path)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn flush(file: &File) -> io::Result<()> {
    // Closing any descriptor of the file flushes it and, unlike dropping one, reports errors.
    Ok(nix::unistd::close(file.try_clone()?)?)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn refresh(file: &File) -> io::Result<()> {
    use rustix::fs::{AtFlags, StatxFlags};

    rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC, StatxFlags::BASIC_STATS)?;
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn refresh(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn flush(file: &File) -> io::Result<()> {
    file.sync_data()
}

#[cfg(unix)]
mod positional {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;

    pub(super) fn read(file: &File, at: u64, len: usize, into: &mut Vec<u8>) -> io::Result<usize> {
        let before = into.len();
        into.try_reserve_exact(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // Memory that need not be zeroed first. There may be more of it than was asked for.
        let read = rustix::io::pread(file, rustix::buffer::spare_capacity(into), at)?;
        into.truncate(before + len);
        Ok(read.min(len))
    }

    pub(super) fn read_into(file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
        file.read_at(into, at)
    }

    pub(super) fn write(file: &File, at: u64, from: &[u8]) -> io::Result<usize> {
        file.write_at(from, at)
    }
}

#[cfg(not(unix))]
mod positional {
    use std::fs::File;
    use std::io::{self, Read, Seek, SeekFrom, Write};
    use std::sync::{Mutex, PoisonError};

    /// Descriptors are shared, and so is their cursor: no other thread may move it between seek and
    /// read.
    static CURSOR: Mutex<()> = Mutex::new(());

    pub(super) fn read(mut file: &File, at: u64, len: usize, into: &mut Vec<u8>) -> io::Result<usize> {
        into.try_reserve_exact(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let _turn = CURSOR.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.take(len as u64).read_to_end(into)
    }

    pub(super) fn read_into(mut file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
        let _turn = CURSOR.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.read(into)
    }

    pub(super) fn write(mut file: &File, at: u64, from: &[u8]) -> io::Result<usize> {
        let _turn = CURSOR.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.write(from)
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod whole_file {
    use std::fs::File;
    use std::io;

    use ndzarr_store::Wait;
    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;

    pub(super) fn lock(file: &File, wait: Wait<'_>) -> io::Result<bool> {
        let lock = whole_file(libc::F_WRLCK);
        if matches!(wait, Wait::Block) {
            return Ok(fcntl(file, FcntlArg::F_OFD_SETLKW(&lock)).map(|_| true)?);
        }
        let attempt = || match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
            Ok(_) => Ok(Some(())),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
            Err(errno) => Err(errno.into()),
        };
        wait.by_trying::<_, io::Error>(attempt).map(|taken| taken.is_some())
    }

    pub(super) fn lock_to_read(file: &File) -> io::Result<bool> {
        match fcntl(file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_RDLCK))) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    pub(super) fn unlock(file: &File) -> io::Result<()> {
        fcntl(file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_UNLCK)))?;
        Ok(())
    }

    fn whole_file(kind: libc::c_int) -> libc::flock {
        libc::flock { l_type: kind as _, l_whence: libc::SEEK_SET as _, l_start: 0, l_len: 0, l_pid: 0 }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod whole_file {
    use std::fs::{File, TryLockError};
    use std::io;

    use ndzarr_store::Wait;

    pub(super) fn lock(file: &File, wait: Wait<'_>) -> io::Result<bool> {
        if matches!(wait, Wait::Block) {
            return file.lock().map(|()| true);
        }
        let attempt = || match file.try_lock() {
            Ok(()) => Ok(Some(())),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(e),
        };
        Ok(wait.by_trying(attempt)?.is_some())
    }

    pub(super) fn lock_to_read(file: &File) -> io::Result<bool> {
        match file.try_lock_shared() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(e)) => Err(e),
        }
    }

    pub(super) fn unlock(file: &File) -> io::Result<()> {
        file.unlock()
    }
}
