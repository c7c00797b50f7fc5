//! System calls of systems that are neither Unix nor Windows, only by the standard library.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::system::file_system::FileSystem;
use crate::system::stat::{FileId, Stat};

pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

pub(crate) fn open_unfollowed(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path)
}

/// Descriptors are shared, and so is their cursor: no other thread may move it between seek and
/// read.
static CURSOR: Mutex<()> = Mutex::new(());

pub(crate) fn read_at(
    mut file: &File,
    at: u64,
    len: usize,
    into: &mut Vec<u8>,
) -> io::Result<usize> {
    into.try_reserve_exact(len)
        .map_err(|_| io::ErrorKind::OutOfMemory)?;
    let _turn = CURSOR.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(at))?;
    file.take(len as u64).read_to_end(into)
}

pub(crate) fn read_into(mut file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
    let _turn = CURSOR.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(at))?;
    file.read(into)
}

pub(crate) fn copy(_: &File, _: u64, _: &File, _: u64, _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn write_at(mut file: &File, at: u64, from: &[u8]) -> io::Result<usize> {
    let _turn = CURSOR.lock().unwrap_or_else(PoisonError::into_inner);
    file.seek(SeekFrom::Start(at))?;
    file.write(from)
}

pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    file.sync_data()
}

pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    file.sync_all()
}

pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn file_stat(file: &File) -> io::Result<Stat> {
    file.metadata().map(|metadata| stat_of(&metadata))
}

pub(crate) fn stat(path: &Path) -> io::Result<Stat> {
    fs::metadata(path).map(|metadata| stat_of(&metadata))
}

pub(crate) fn link_stat(path: &Path) -> io::Result<Stat> {
    fs::symlink_metadata(path).map(|metadata| stat_of(&metadata))
}

/// Only with the times: the standard library has no more on every system.
fn stat_of(metadata: &Metadata) -> Stat {
    let nanos = |time: io::Result<SystemTime>| {
        let since = time
            .ok()
            .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        since.map_or(0, |since| since.as_nanos())
    };
    let modified = nanos(metadata.modified()).cast_signed();
    Stat {
        kind: metadata.file_type().into(),
        file: FileId {
            device: 0,
            number: nanos(metadata.created()),
        },
        size: metadata.len(),
        modified,
        changed: modified,
        names: 1,
    }
}

pub(crate) const FOLDS_NAMES: bool = false;

pub(crate) fn listed_name(_: &Path) -> io::Result<OsString> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn path_of(_: &File) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

pub(crate) fn is_open_to_write(_: &File) -> bool {
    false
}

pub(crate) fn unlink(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

pub(crate) fn settle(_: &File) -> io::Result<()> {
    Ok(())
}

pub(crate) fn flush(file: &File) -> io::Result<()> {
    file.sync_data()
}

pub(crate) fn refresh(_: &File) -> io::Result<()> {
    Ok(())
}

pub(crate) fn file_system(_: &File) -> io::Result<FileSystem> {
    Ok(FileSystem::of_name("unknown"))
}
