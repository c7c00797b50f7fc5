//! Asks Linux whether a file is open elsewhere: it then gives no lease on it.

#![expect(unsafe_code, reason = "foreign functions")]

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};

use nix::libc;

/// The same on every architecture; the crate `libc` lacks it.
const F_SETSIG: libc::c_int = 10;

/// A file that is mapped into memory counts as open.
pub(crate) fn is_open_elsewhere(file: &File) -> bool {
    let file = file.as_raw_fd();
    // Who opens the file while there is a lease has the owner of the lease signalled. The signal that
    // is set unless told otherwise ends a process. This one is ignored unless a program handles it.
    if !set(file, F_SETSIG, libc::SIGURG) || !set(file, libc::F_SETLEASE, libc::F_WRLCK) {
        return true;
    }
    !set(file, libc::F_SETLEASE, libc::F_UNLCK)
}

fn set(file: RawFd, what: libc::c_int, to: libc::c_int) -> bool {
    // SAFETY: the descriptor is open, and these commands take an integer.
    unsafe { libc::fcntl(file, what, to) == 0 }
}
