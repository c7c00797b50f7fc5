//! Locks of open file descriptions, which exclude tensorstore too.

use std::fs::File;
use std::io;

use ndzarr_store::Wait;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

pub(crate) fn lock(file: &File, wait: Wait<'_>) -> io::Result<bool> {
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

pub(crate) fn lock_to_read(file: &File) -> io::Result<bool> {
    match fcntl(file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_RDLCK))) {
        Ok(_) => Ok(true),
        Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

pub(crate) fn unlock(file: &File) -> io::Result<()> {
    fcntl(file, FcntlArg::F_OFD_SETLK(&whole_file(libc::F_UNLCK)))?;
    Ok(())
}

fn whole_file(kind: libc::c_int) -> libc::flock {
    libc::flock { l_type: kind as _, l_whence: libc::SEEK_SET as _, l_start: 0, l_len: 0, l_pid: 0 }
}
