//! Locks of open file descriptions, which exclude tensorstore too.

use std::fs::File;
use std::io;

use ndzarr_store::Wait;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::part::{OWNER_BYTES, Part};

pub(crate) fn lock(file: &File, part: Part, wait: Wait<'_>) -> io::Result<bool> {
    let lock = of(part, libc::F_WRLCK);
    if matches!(wait, Wait::Block) {
        return Ok(fcntl(file, FcntlArg::F_OFD_SETLKW(&lock)).map(|_| true)?);
    }
    let attempt = || match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
        Ok(_) => Ok(Some(())),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(None),
        Err(errno) => Err(errno.into()),
    };
    wait.by_trying::<_, io::Error>(attempt)
        .map(|taken| taken.is_some())
}

pub(crate) fn lock_to_read(file: &File, part: Part) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&of(part, libc::F_RDLCK))) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

pub(crate) fn unlock(file: &File) -> io::Result<()> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&of(Part::Whole, libc::F_UNLCK)))?;
    Ok(())
}

fn of(part: Part, kind: libc::c_int) -> libc::flock {
    // A length of 0 leads to the end, wherever that is.
    let (l_start, l_len) = match part {
        Part::Whole => (0, 0),
        Part::Owner => (0, OWNER_BYTES as _),
        Part::Rest => (OWNER_BYTES as _, 0),
    };
    libc::flock {
        l_type: kind as _,
        l_whence: libc::SEEK_SET as _,
        l_start,
        l_len,
        l_pid: 0,
    }
}
