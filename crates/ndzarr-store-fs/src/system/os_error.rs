//! The meanings of errors of the system for this store.

use std::io::{self, ErrorKind};

/// True if this error means that there is definitely no such file: nothing of this name, or a file
/// where a folder should be.
pub(crate) fn is_absent(e: &io::Error) -> bool {
    is_not_found(e) || e.kind() == ErrorKind::NotADirectory
}

/// True if this error means that there is nothing of this name, or no folder for it.
pub(crate) fn is_not_found(e: &io::Error) -> bool {
    // To std, "not found" is also a server, a share or a drive that cannot be reached.
    const UNREACHABLE: [i32; 3] = [
        windows::BAD_NETPATH,
        windows::BAD_NET_NAME,
        windows::INVALID_DRIVE,
    ];
    e.kind() == ErrorKind::NotFound && !is_one_of(e, &UNREACHABLE)
}

/// True if this error means that the file is gone, by its name or, on a network file system,
/// although it is open.
pub(crate) fn is_gone(e: &io::Error) -> bool {
    is_not_found(e) || e.kind() == ErrorKind::StaleNetworkFileHandle
}

/// True if this error may mean that an open file is gone: Linux gives EIO for one of NFS 4 of which
/// it has lost the state.
pub(crate) fn is_lost(e: &io::Error) -> bool {
    #[cfg(unix)]
    if e.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) {
        return true;
    }
    let _ = e;
    false
}

/// True if this error means that the system cannot lock, not even later: ENOSYS, EOPNOTSUPP,
/// ENOTSUP or EINVAL.
pub(crate) fn never_locks(e: &io::Error) -> bool {
    // On Apple's systems it is not EOPNOTSUPP, and std has no kind for it.
    #[cfg(unix)]
    if e.raw_os_error() == Some(rustix::io::Errno::NOTSUP.raw_os_error()) {
        return true;
    }
    matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput)
        || is_one_of(e, &[windows::INVALID_FUNCTION, windows::NOT_SUPPORTED])
}

/// True if the system cannot lock now (ENOLCK) or ever ([`never_locks`]).
pub(crate) fn cannot_lock(e: &io::Error) -> bool {
    #[cfg(unix)]
    if e.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) {
        return true;
    }
    never_locks(e)
}

/// True if this error means that a link leads to itself.
pub(crate) fn is_loop(e: &io::Error) -> bool {
    #[cfg(unix)]
    if e.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return true;
    }
    is_one_of(e, &[windows::CANT_RESOLVE_FILENAME])
}

/// True if this error may hide another one. sshfs gives EPERM for errors that it cannot express,
/// and Linux EINVAL for a file of SMB that it has open under another name. Windows denies access to
/// a file that is removed as soon as the last handle of it is closed, and reports a sharing
/// violation for a file that is being renamed.
pub(crate) fn is_refusal(e: &io::Error) -> bool {
    #[cfg(unix)]
    if [rustix::io::Errno::PERM, rustix::io::Errno::INVAL]
        .map(|it| Some(it.raw_os_error()))
        .contains(&e.raw_os_error())
    {
        return true;
    }
    is_one_of(
        e,
        &[
            windows::ACCESS_DENIED,
            windows::DELETE_PENDING,
            windows::SHARING_VIOLATION,
        ],
    )
}

/// True if this error may end when another process closes a file: EBUSY of shares that a Windows
/// server exports, and on Windows any of those by which it protects open files.
pub(crate) fn is_in_use(e: &io::Error) -> bool {
    const IN_USE: [i32; 6] = [
        windows::ACCESS_DENIED,
        windows::SHARING_VIOLATION,
        windows::LOCK_VIOLATION,
        windows::BUSY,
        windows::DELETE_PENDING,
        windows::USER_MAPPED_FILE,
    ];
    matches!(e.kind(), ErrorKind::ResourceBusy) || is_one_of(e, &IN_USE)
}

/// The error of a file that could not be replaced or removed in all this time.
pub(crate) fn blame_users(e: io::Error) -> io::Error {
    if !is_in_use(&e) {
        return e;
    }
    let why = format!("it is open elsewhere, or may not be written: {e}");
    io::Error::new(e.kind(), why)
}

/// The error of a file that could not be opened.
pub(crate) fn blame_leases(e: io::Error) -> io::Error {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if e.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) {
        let why =
            format!("{e}; Linux says so of a share of SMB that is not mounted with `nolease`");
        return io::Error::new(e.kind(), why);
    }
    e
}

/// True if this is one of these errors of Windows.
fn is_one_of(e: &io::Error, errors: &[i32]) -> bool {
    cfg!(windows)
        && e.raw_os_error()
            .is_some_and(|number| errors.contains(&number))
}

/// The numbers of `winerror.h`.
mod windows {
    pub(super) const INVALID_FUNCTION: i32 = 1;
    pub(super) const ACCESS_DENIED: i32 = 5;
    pub(super) const INVALID_DRIVE: i32 = 15;
    pub(super) const SHARING_VIOLATION: i32 = 32;
    pub(super) const LOCK_VIOLATION: i32 = 33;
    pub(super) const NOT_SUPPORTED: i32 = 50;
    pub(super) const BAD_NETPATH: i32 = 53;
    pub(super) const BAD_NET_NAME: i32 = 67;
    pub(super) const BUSY: i32 = 170;
    pub(super) const DELETE_PENDING: i32 = 303;
    pub(super) const USER_MAPPED_FILE: i32 = 1224;
    pub(super) const CANT_RESOLVE_FILENAME: i32 = 1921;
}

#[cfg(all(test, windows))]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_in_circles_are_told_from_absent_files() {
        let e = io::Error::from_raw_os_error(windows::CANT_RESOLVE_FILENAME);
        assert!(is_loop(&e) && !is_absent(&e));
    }
}
