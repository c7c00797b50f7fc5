//! The errors of a lock that was not taken, or was lost.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use ndzarr_store::StoreError;

use crate::locks::renewal::Lost;
use crate::names::lock_names::LOCK_SUFFIX;

/// Waiting for a lock timed out.
#[derive(Debug)]
pub(crate) struct TooLong {
    pub(crate) lock: PathBuf,
    pub(crate) waited: Duration,
    pub(crate) holder: Option<String>,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "another writer held its lock for {:?}", self.waited)
    }
}

impl Error for TooLong {}

impl From<TooLong> for io::Error {
    fn from(too_long: TooLong) -> Self {
        Self::new(ErrorKind::TimedOut, too_long)
    }
}

/// The file system takes another file for the lock file, since it ignores case, or more. It may be
/// someone's value.
#[derive(Debug)]
pub(crate) struct Shadowed;

impl fmt::Display for Shadowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::WHAT)
    }
}

impl Shadowed {
    const WHAT: &str =
        "has a lock file that this file system does not tell apart from another file";
}

impl Error for Shadowed {}

impl From<Shadowed> for io::Error {
    fn from(shadowed: Shadowed) -> Self {
        Self::new(ErrorKind::InvalidFilename, shadowed)
    }
}

/// The error of an operation on the lock of a key.
pub(crate) fn failure(action: &'static str, key: impl ToString, e: io::Error) -> StoreError {
    let inner = e.get_ref();
    if let Some(TooLong { waited, holder, .. }) = inner.and_then(|inner| inner.downcast_ref()) {
        return StoreError::Busy {
            key: key.to_string(),
            waited: *waited,
            holder: holder.clone(),
        };
    }
    if inner.is_some_and(|inner| inner.is::<Lost>()) {
        return StoreError::LockLost {
            action,
            key: key.to_string(),
        };
    }
    if inner.is_some_and(|inner| inner.is::<Shadowed>()) {
        return StoreError::InvalidKey {
            key: key.to_string(),
            what: Shadowed::WHAT,
        };
    }
    StoreError::io(action, key, e)
}

/// The path of the lock, if the error is that waiting for it took too long.
pub(crate) fn waited_for(e: &io::Error) -> Option<PathBuf> {
    let TooLong { lock, .. } = e.get_ref()?.downcast_ref()?;
    Some(lock.with_file_name(lock.file_name()?.to_str()?.strip_suffix(LOCK_SUFFIX)?))
}
