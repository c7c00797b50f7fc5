//! Locks of `flock`, as the standard library takes them.

use std::fs::{File, TryLockError};
use std::io;

use ndzarr_store::Wait;

use super::part::Part;

pub(crate) fn lock(file: &File, _: Part, wait: Wait<'_>) -> io::Result<bool> {
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

pub(crate) fn lock_to_read(file: &File, _: Part) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

pub(crate) fn unlock(file: &File) -> io::Result<()> {
    file.unlock()
}
