//! Asks Linux whether a file is open to be written: it then gives no lease to read it.

#![expect(unsafe_code, reason = "foreign functions")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

use nix::libc;

/// The same on every architecture; the crate `libc` lacks it.
const F_SETSIG: libc::c_int = 10;

/// A lease to read is refused as long as the file is open to be written. `false` for a file that
/// this user may have no lease on.
pub(crate) fn is_open_to_write(file: &File) -> bool {
    let file = file.as_raw_fd();
    // Who opens the file while there is a lease has the owner of the lease signalled. The signal
    // that is set unless told otherwise ends a process. This one is ignored unless a program
    // handles it.
    if !set(file, F_SETSIG, libc::SIGURG) {
        return false;
    }
    if set(file, libc::F_SETLEASE, libc::F_RDLCK) {
        set(file, libc::F_SETLEASE, libc::F_UNLCK);
        return false;
    }
    io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
}

fn set(file: RawFd, what: libc::c_int, to: libc::c_int) -> bool {
    // SAFETY: the descriptor is open, and these commands take an integer.
    unsafe { libc::fcntl(file, what, to) == 0 }
}
