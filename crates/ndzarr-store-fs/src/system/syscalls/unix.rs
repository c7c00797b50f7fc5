//! System calls of Linux, macOS and the BSDs.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::system::file_system::FileSystem;
use crate::system::stat::{FileId, Stat};

pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    // Without it, a named pipe in a store would hold the reader for ever. It means nothing for a
    // regular file, unless a process has a lease on it: then wait for the lease to end.
    options.custom_flags(OFlags::NONBLOCK.bits() as _);
    match options.open(path) {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock && fs::metadata(path)?.is_file() => {
            File::open(path)
        }
        other => other,
    }
}

pub(crate) fn open_unfollowed(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    match options
        .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as _)
        .open(path)
    {
        // A lease, as above.
        Err(e)
            if e.kind() == io::ErrorKind::WouldBlock && fs::symlink_metadata(path)?.is_file() =>
        {
            options
                .custom_flags(OFlags::NOFOLLOW.bits() as _)
                .open(path)
        }
        other => other,
    }
}

pub(crate) fn read_at(file: &File, at: u64, len: usize, into: &mut Vec<u8>) -> io::Result<usize> {
    let before = into.len();
    into.try_reserve_exact(len)
        .map_err(|_| io::ErrorKind::OutOfMemory)?;
    // Memory that need not be zeroed first. There may be more of it than was asked for.
    let read = rustix::io::pread(file, rustix::buffer::spare_capacity(into), at)?;
    into.truncate(before + len);
    Ok(read.min(len))
}

pub(crate) fn read_into(file: &File, at: u64, into: &mut [u8]) -> io::Result<usize> {
    file.read_at(into, at)
}

pub(crate) fn write_at(file: &File, at: u64, from: &[u8]) -> io::Result<usize> {
    file.write_at(from, at)
}

/// File systems with reflinks share the blocks.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn copy(
    from: &File,
    mut from_at: u64,
    to: &File,
    mut to_at: u64,
    len: u64,
) -> io::Result<usize> {
    use rustix::io::Errno;

    let len = usize::try_from(len).unwrap_or(1 << 30);
    match rustix::fs::copy_file_range(from, Some(&mut from_at), to, Some(&mut to_at), len) {
        // Not by this kernel, this file system, between these two, or in this sandbox.
        Err(
            Errno::NOSYS
            | Errno::OPNOTSUPP
            | Errno::XDEV
            | Errno::INVAL
            | Errno::PERM
            | Errno::TXTBSY,
        ) => Err(io::ErrorKind::Unsupported.into()),
        copied => Ok(copied?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn copy(_: &File, _: u64, _: &File, _: u64, _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    or_plain(file.sync_data(), file)
}

pub(crate) fn sync_all(file: &File) -> io::Result<()> {
    or_plain(file.sync_all(), file)
}

pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    sync_all(&File::open(path)?)
}

/// The standard library syncs with `F_FULLFSYNC` on Apple's systems, since `fsync` does not reach
/// the disk there. File systems that cannot do it, such as SMB, have only `fsync`.
#[cfg(target_vendor = "apple")]
fn or_plain(synced: io::Result<()>, file: &File) -> io::Result<()> {
    use rustix::io::Errno;

    const CANNOT: [Errno; 3] = [Errno::NOTSUP, Errno::NOTTY, Errno::INVAL];
    match synced {
        Err(e)
            if CANNOT
                .iter()
                .any(|errno| e.raw_os_error() == Some(errno.raw_os_error())) =>
        {
            Ok(rustix::fs::fsync(file)?)
        }
        other => other,
    }
}

#[cfg(not(target_vendor = "apple"))]
fn or_plain(synced: io::Result<()>, _: &File) -> io::Result<()> {
    synced
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

fn stat_of(metadata: &Metadata) -> Stat {
    let nanos = |secs, nanos| i128::from(secs) * 1_000_000_000 + i128::from(nanos);
    Stat {
        kind: metadata.file_type().into(),
        file: FileId {
            device: metadata.dev(),
            number: metadata.ino().into(),
        },
        size: metadata.size(),
        modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
        names: metadata.nlink(),
    }
}

/// APFS ignores case and the form of Unicode unless it is formatted otherwise. File systems that do
/// elsewhere are not found out.
pub(crate) const FOLDS_NAMES: bool = cfg!(target_vendor = "apple");

#[cfg(target_vendor = "apple")]
pub(crate) fn listed_name(path: &Path) -> io::Result<OsString> {
    // `O_EVTONLY` needs no permission to read; `O_SYMLINK` opens a link itself. rustix has neither.
    const EVTONLY: i32 = 0x8000;
    const SYMLINK: i32 = 0x20_0000;
    let entry = OpenOptions::new()
        .read(true)
        .custom_flags(EVTONLY | SYMLINK)
        .open(path)?;
    let found = path_of(&entry).map_err(|e| match e.kind() {
        // It was there, but is not any more: another one may have taken its place.
        io::ErrorKind::NotFound => io::Error::from(io::ErrorKind::ResourceBusy),
        _ => e,
    })?;
    let asked = path.file_name().unwrap_or_default();
    // A file of several names may be told by any of them.
    let told = found.file_name().unwrap_or_default();
    if told != asked {
        for listed in fs::read_dir(path.parent().unwrap_or(path))? {
            if listed?.file_name() == asked {
                return Ok(asked.to_owned());
            }
        }
    }
    Ok(told.to_owned())
}

#[cfg(target_vendor = "apple")]
pub(crate) fn path_of(file: &File) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;

    Ok(OsString::from_vec(rustix::fs::getpath(file)?.into_bytes()).into())
}

#[cfg(not(target_vendor = "apple"))]
pub(crate) fn listed_name(_: &Path) -> io::Result<OsString> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_vendor = "apple"))]
pub(crate) fn path_of(_: &File) -> io::Result<PathBuf> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use super::kernel_lease::is_open_to_write;

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn is_open_to_write(_: &File) -> bool {
    false
}

pub(crate) fn unlink(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

pub(crate) fn settle(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn flush(file: &File) -> io::Result<()> {
    // Closing any descriptor of the file flushes it and, unlike dropping one, reports errors.
    Ok(nix::unistd::close(file.try_clone()?)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn flush(file: &File) -> io::Result<()> {
    sync_data(file)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn refresh(file: &File) -> io::Result<()> {
    use rustix::fs::{AtFlags, StatxFlags};

    rustix::fs::statx(
        file,
        c"",
        AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC,
        StatxFlags::BASIC_STATS,
    )?;
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn refresh(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn file_system(file: &File) -> io::Result<FileSystem> {
    Ok(FileSystem::of_number(
        rustix::fs::fstatfs(file)?.f_type as u32,
    ))
}

#[cfg(any(
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "dragonfly"
))]
pub(crate) fn file_system(file: &File) -> io::Result<FileSystem> {
    let statfs = rustix::fs::fstatfs(file)?;
    let name = statfs
        .f_fstypename
        .iter()
        .map(|byte| *byte as u8)
        .take_while(|byte| *byte != 0);
    Ok(FileSystem::of_name(&String::from_utf8_lossy(
        &name.collect::<Vec<u8>>(),
    )))
}

#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "dragonfly"
)))]
pub(crate) fn file_system(_: &File) -> io::Result<FileSystem> {
    Ok(FileSystem::of_name("unknown"))
}
