//! Calls of Windows that the standard library does not have: locks of ranges, and what a handle
//! leads to.
#![expect(unsafe_code, reason = "foreign functions")]

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::mem;
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};
use std::ptr;

use ndzarr_store::Wait;
use windows_sys::Win32::Foundation::{
    ERROR_IO_PENDING, ERROR_LOCK_VIOLATION, ERROR_NO_MORE_FILES, FILETIME, INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ID_INFO, FILE_INFO_BY_HANDLE_CLASS, FILE_NAME_NORMALIZED,
    FILE_REMOTE_PROTOCOL_INFO, FileIdInfo, FileRemoteProtocolInfo, FindClose, FindFirstFileW,
    GetFileInformationByHandle, GetFileInformationByHandleEx, GetFinalPathNameByHandleW,
    GetVolumeInformationByHandleW, LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx,
    UnlockFileEx, VOLUME_NAME_NONE, WIN32_FIND_DATAW,
};
use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0};

use super::part::Part;
use crate::system::file_system::{FileSystem, Place};
use crate::system::stat::FileId;

/// Locks the file against every other handle; `false` if it is locked and `wait` says not to wait.
pub(crate) fn lock(file: &File, _: Part, wait: Wait<'_>) -> io::Result<bool> {
    if matches!(wait, Wait::Block) {
        return lock_range(file, LOCKFILE_EXCLUSIVE_LOCK).map(|()| true);
    }
    let attempt = || {
        at_once(lock_range(
            file,
            LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY,
        ))
    };
    Ok(wait.by_trying(attempt)?.is_some())
}

pub(crate) fn lock_to_read(file: &File, _: Part) -> io::Result<bool> {
    Ok(at_once(lock_range(file, LOCKFILE_FAIL_IMMEDIATELY))?.is_some())
}

pub(crate) fn unlock(file: &File) -> io::Result<()> {
    let mut range = locked_range();
    // SAFETY: the handle is open as long as `file` is borrowed, and the call ends before `range`
    // does, since the handle is not an overlapped one.
    check(unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &raw mut range) })
}

fn lock_range(file: &File, flags: u32) -> io::Result<()> {
    let mut range = locked_range();
    // SAFETY: as in `unlock`.
    check(unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &raw mut range) })
}

/// The byte that tensorstore locks too. Locks are mandatory here, and the lock file becomes the
/// value, so it lies after every byte that is read.
fn locked_range() -> OVERLAPPED {
    let at = OVERLAPPED_0_0 {
        Offset: 0xffff_fffe,
        OffsetHigh: 0xffff_ffff,
    };
    OVERLAPPED {
        Anonymous: OVERLAPPED_0 { Anonymous: at },
        ..OVERLAPPED::default()
    }
}

fn at_once(locked: io::Result<()>) -> io::Result<Option<()>> {
    const HELD: [u32; 2] = [ERROR_LOCK_VIOLATION, ERROR_IO_PENDING];
    match locked {
        Ok(()) => Ok(Some(())),
        Err(e)
            if HELD
                .iter()
                .any(|held| e.raw_os_error() == Some(held.cast_signed())) =>
        {
            Ok(None)
        }
        Err(e) => Err(e),
    }
}

/// What Windows tells about an open file in addition to its metadata.
pub(crate) struct Information {
    pub(crate) file: FileId,
    /// In units of 100 ns.
    pub(crate) modified: i64,
    pub(crate) names: u32,
}

pub(crate) fn information(file: &File) -> io::Result<Information> {
    let mut by_handle = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open as long as `file` is borrowed, and `by_handle` has the type that
    // the call fills.
    check(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut by_handle) })?;
    let number = u64::from(by_handle.nFileIndexHigh) << 32 | u64::from(by_handle.nFileIndexLow);
    let mut id = FileId {
        device: by_handle.dwVolumeSerialNumber.into(),
        number: number.into(),
    };
    // ReFS has numbers of 128 bits; FAT and some shares have no more than the above.
    // SAFETY: the class is that of the type.
    if let Ok(long) = unsafe { of_class::<FILE_ID_INFO>(file, FileIdInfo) } {
        id.number = u128::from_le_bytes(long.FileId.Identifier);
    }
    let ticks =
        |time: FILETIME| i64::from(time.dwHighDateTime) << 32 | i64::from(time.dwLowDateTime);
    let modified = ticks(by_handle.ftLastWriteTime);
    Ok(Information {
        file: id,
        modified,
        names: by_handle.nNumberOfLinks,
    })
}

pub(crate) fn file_system(file: &File) -> io::Result<FileSystem> {
    let (mut name, mut flags) = ([0_u16; 64], 0_u32);
    // SAFETY: the handle is open as long as `file` is borrowed; `name` has the given length,
    // `flags` is a number of 32 bits, and the other results are not asked for.
    check(unsafe {
        GetVolumeInformationByHandleW(
            file.as_raw_handle(),
            ptr::null_mut(),
            0,
            ptr::null_mut(),
            ptr::null_mut(),
            &raw mut flags,
            name.as_mut_ptr(),
            name.len() as u32,
        )
    })?;
    let len = name
        .iter()
        .position(|unit| *unit == 0)
        .unwrap_or(name.len());
    // A local file has no such protocol.
    // SAFETY: the class is that of the type.
    let remote = unsafe { of_class::<FILE_REMOTE_PROTOCOL_INFO>(file, FileRemoteProtocolInfo) };
    let place = if remote.is_ok() {
        Place::Share
    } else {
        Place::Drive
    };
    Ok(FileSystem::of_volume(
        &String::from_utf16_lossy(&name[..len]),
        flags,
        place,
    ))
}

/// The path of an open file as its folders list it, without links and without its volume, which not
/// every one tells.
pub(crate) fn path_of(file: &File) -> io::Result<PathBuf> {
    let mut path = vec![0_u16; 512];
    loop {
        // SAFETY: the handle is open as long as `file` is borrowed, and `path` has the given
        // length.
        let len = unsafe {
            GetFinalPathNameByHandleW(
                file.as_raw_handle(),
                path.as_mut_ptr(),
                path.len() as u32,
                FILE_NAME_NORMALIZED | VOLUME_NAME_NONE,
            )
        } as usize;
        match len {
            0 => return Err(io::Error::last_os_error()),
            // Without the NUL at its end if it fits, with it if it does not.
            len if len < path.len() => return Ok(OsString::from_wide(&path[..len]).into()),
            len => path.resize(len, 0),
        }
    }
}

/// The name of a file, folder or link as its folder lists it; the path is absolute.
pub(crate) fn listed_name(path: &Path) -> io::Result<OsString> {
    let path: Vec<u16> = verbatim(path.as_os_str().encode_wide().collect());
    let mut found = WIN32_FIND_DATAW::default();
    // SAFETY: the path ends in a NUL, and `found` has the type that the call fills.
    let search = unsafe { FindFirstFileW(path.as_ptr(), &raw mut found) };
    if search == INVALID_HANDLE_VALUE {
        return Err(match io::Error::last_os_error() {
            // Its folder became empty meanwhile.
            e if e.raw_os_error() == Some(ERROR_NO_MORE_FILES.cast_signed()) => {
                io::ErrorKind::NotFound.into()
            }
            e => e,
        });
    }
    // SAFETY: the search was opened a moment ago, and is not used after this.
    unsafe { FindClose(search) };
    let len = found
        .cFileName
        .iter()
        .position(|unit| *unit == 0)
        .unwrap_or(found.cFileName.len());
    Ok(OsString::from_wide(&found.cFileName[..len]))
}

/// The path in the form that may be longer than 260 characters, with a NUL at its end.
fn verbatim(path: Vec<u16>) -> Vec<u16> {
    let is_unit = |at: usize, unit: char| path.get(at) == Some(&(unit as u16));
    let (start, rest) = match (
        is_unit(0, '\\') && is_unit(1, '\\'),
        is_unit(2, '?') || is_unit(2, '.'),
    ) {
        (true, true) => ("", &path[..]),
        (true, false) => (r"\\?\UNC\", &path[2..]),
        (false, _) => (r"\\?\", &path[..]),
    };
    start
        .encode_utf16()
        .chain(rest.iter().copied())
        .chain([0])
        .collect()
}

/// # Safety
/// `T` must be the type that the call fills for this class: only numbers.
unsafe fn of_class<T: Default>(file: &File, class: FILE_INFO_BY_HANDLE_CLASS) -> io::Result<T> {
    let mut info = T::default();
    let size = mem::size_of::<T>() as u32;
    // SAFETY: the handle is open as long as `file` is borrowed; `info` has the size and, as the
    // caller promises, the type that the call fills.
    check(unsafe {
        GetFileInformationByHandleEx(file.as_raw_handle(), class, (&raw mut info).cast(), size)
    })?;
    Ok(info)
}

fn check(ok: i32) -> io::Result<()> {
    if ok == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
