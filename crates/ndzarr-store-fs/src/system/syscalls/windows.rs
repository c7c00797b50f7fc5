//! System calls of Windows.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::windows::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES,
};

use std::time::SystemTime;

use super::win32;
pub(crate) use super::win32::{file_system, listed_name, path_of};
use crate::names::lock_names::{is_removed_path, removed_path};
use crate::system::stat::Stat;

// Files are opened so that others may read, write, rename and remove them, as the standard library
// does unless it is told otherwise.

pub(crate) fn open(path: &Path) -> io::Result<File> {
    // Folders open as well, which are told apart afterwards.
    OpenOptions::new()
        .read(true)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)
}

pub(crate) fn open_unfollowed(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}

pub(crate) fn read_at(file: &File, at: u64, len: usize, into: &mut Vec<u8>) -> io::Result<usize> {
    let before = into.len();
    into.try_reserve_exact(len)
        .map_err(|_| ErrorKind::OutOfMemory)?;
    into.resize(before + len, 0);
    let read = file.seek_read(&mut into[before..], at);
    into.truncate(before + *read.as_ref().unwrap_or(&0));
    read
}

pub(crate) fn read_into(file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
    file.seek_read(into, at)
}

pub(crate) fn copy(_: &File, _: u64, _: &File, _: u64, _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn write_at(file: &File, at: u64, from: &[u8]) -> io::Result<usize> {
    file.seek_write(from, at)
}

pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    file.sync_data()
}

pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// As far as Windows does it: a share, or a folder whose list of entries this user may not change,
/// cannot be flushed, and need not be where changes of folders are written through a journal.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    const INVALID_FUNCTION: i32 = 1;
    const INVALID_HANDLE: i32 = 6;
    let flush = || {
        OpenOptions::new()
            .write(true)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
            .open(path)?
            .sync_all()
    };
    match flush() {
        Err(e)
            if matches!(
                e.kind(),
                ErrorKind::PermissionDenied | ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        Err(e) if matches!(e.raw_os_error(), Some(INVALID_FUNCTION | INVALID_HANDLE)) => Ok(()),
        flushed => flushed,
    }
}

/// From 1601, when the time of Windows begins, in units of 100 ns.
const TICKS_TO_1970: i128 = 116_444_736_000_000_000;

pub(crate) fn file_stat(file: &File) -> io::Result<Stat> {
    let (metadata, more) = (file.metadata()?, win32::information(file)?);
    let modified = (i128::from(more.modified) - TICKS_TO_1970) * 100;
    Ok(Stat {
        kind: metadata.file_type().into(),
        file: more.file,
        size: metadata.len(),
        modified,
        // The time of the last change is set anew when the writer closes the file.
        changed: modified,
        names: more.names.into(),
    })
}

pub(crate) fn stat(path: &Path) -> io::Result<Stat> {
    file_stat(&open_to_look(path, 0)?)
}

pub(crate) fn link_stat(path: &Path) -> io::Result<Stat> {
    file_stat(&open_to_look(path, FILE_FLAG_OPEN_REPARSE_POINT)?)
}

/// NTFS ignores case unless a folder is told otherwise, and has short names.
pub(crate) const FOLDS_NAMES: bool = true;

/// Opens anything, even what others have opened only for themselves, to look at its attributes.
fn open_to_look(path: &Path, flags: u32) -> io::Result<File> {
    let flags = FILE_FLAG_BACKUP_SEMANTICS | flags;
    OpenOptions::new()
        .access_mode(FILE_READ_ATTRIBUTES)
        .custom_flags(flags)
        .open(path)
}

pub(crate) fn is_open_to_write(_: &File) -> bool {
    false
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    let Err(e) = fs::rename(from, to) else {
        return Ok(());
    };
    // The same error as of a file that is open, but there is nothing to wait for.
    match fs::symlink_metadata(to) {
        _ if e.kind() != ErrorKind::PermissionDenied => Err(e),
        Ok(there) if there.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(there) if there.permissions().readonly() => Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "the file to be replaced is read-only",
        )),
        _ => Err(e),
    }
}

/// A file that is open keeps its name until it is closed, on file systems other than NTFS. So it is
/// given another one first, as those who take over a lock do.
pub(crate) fn unlink(path: &Path) -> io::Result<()> {
    let entry = fs::symlink_metadata(path)?;
    if entry.is_file() && entry.permissions().readonly() {
        // It could be renamed, but then not be removed.
        return Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "the file to be removed is read-only",
        ));
    }
    let aside = match is_removed_path(path) {
        true => path.to_owned(),
        false => {
            let aside = removed_path(path);
            fs::rename(path, &aside)?;
            aside
        }
    };
    match fs::remove_file(&aside) {
        // Links to folders, and junctions, are removed as folders are.
        Err(e)
            if fs::symlink_metadata(&aside)
                .is_ok_and(|entry| entry.file_type().is_symlink_dir()) =>
        {
            fs::remove_dir(&aside).map_err(|_| e)
        }
        removed => removed,
    }
}

/// Sets the time of a file that was written, or it would be set when the file is closed.
pub(crate) fn settle(file: &File) -> io::Result<()> {
    file.set_modified(SystemTime::now())
}

pub(crate) fn flush(file: &File) -> io::Result<()> {
    file.sync_data()
}

pub(crate) fn refresh(_: &File) -> io::Result<()> {
    Ok(())
}
