//! The error of every store.

use std::sync::Arc;
use std::time::Duration;

use crate::Key;

/// Why a store could not do what it was asked. An absent key is not an error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No value can have this name.
    #[error("{key:?} {what}")]
    InvalidKey {
        /// The key or prefix as given.
        key: String,
        /// What a key must not contain.
        what: &'static str,
    },
    /// The operating system or the network refused.
    #[error("{action} {key}")]
    Io {
        /// The action: "open", "read", "write", "sync", "publish", "lock", "list" …
        action: &'static str,
        /// Its key or prefix.
        key: String,
        /// The error of the system.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// A range extends beyond the end of a value.
    #[error("{key}: bytes {start}..{end} requested, but the value has {size}")]
    OutOfRange {
        /// Key of the value.
        key: Key,
        /// First byte asked for.
        start: u64,
        /// One past the last byte asked for.
        end: u64,
        /// Size of the value in bytes.
        size: u64,
    },
    /// A value is larger than the caller's limit.
    #[error("{key}: {size} bytes are stored, more than the limit of {limit}")]
    TooLarge {
        /// Key of the value.
        key: Key,
        /// Size of the value in bytes.
        size: u64,
        /// The caller's limit, in bytes.
        limit: u64,
    },
    /// Waiting for the write lock of a key timed out.
    #[error("{key} is locked by {} and was not free after {waited:.1?}", holder.as_deref().unwrap_or("another writer"))]
    Busy {
        /// Key or prefix of the lock.
        key: String,
        /// How long the call waited.
        waited: Duration,
        /// Who holds it, if known.
        holder: Option<String>,
    },
    /// The write lock of a key was lost while it was held: this process did not renew it in time,
    /// and another writer took it over. Nothing was written; retrying is safe.
    #[error("{action} {key}: another writer took over its lock, which was not renewed in time")]
    LockLost {
        /// The action: "publish", "erase" …
        action: &'static str,
        /// Key of the lock.
        key: String,
    },
    /// The service refused: no credentials, wrong ones, or none that allow this.
    #[error("{action} {key}: not allowed: {what}")]
    Denied {
        /// The action.
        action: &'static str,
        /// Its key or prefix.
        key: String,
        /// The answer of the service, without secrets.
        what: String,
        /// Whether the user said that the service answers so for absent values. A chunk is then
        /// missing; a document is not.
        or_missing: bool,
    },
    /// The service was not reached, did not answer in time, or asked to slow down and went on to do
    /// so. Nothing was written; retrying later is safe.
    #[error("{action} {key}: no success in {attempts} attempts: {what}")]
    Unavailable {
        /// The action.
        action: &'static str,
        /// Its key or prefix.
        key: String,
        /// The number of requests that failed.
        attempts: u32,
        /// The last failure, without secrets.
        what: String,
    },
    /// The answer to a write was lost: the value may be the old or the new one.
    #[error("{action} {key}: the outcome is unknown: {what}")]
    Unknown {
        /// The action.
        action: &'static str,
        /// Its key or prefix.
        key: String,
        /// The failure, without secrets.
        what: String,
    },
    /// The store cannot do this at all.
    #[error("this store cannot {0}")]
    Unsupported(&'static str),
    /// Something else, in the store's own words. To keep the error of another library as the source, use
    /// [`StoreError::io`] with [`std::io::Error::other`].
    #[error("{action} {key}: {what}")]
    Other {
        /// The action.
        action: &'static str,
        /// Its key or prefix.
        key: String,
        /// What went wrong.
        what: String,
    },
}

impl StoreError {
    /// An error of the system on a key or prefix.
    pub fn io(action: &'static str, key: impl ToString, source: std::io::Error) -> Self {
        Self::Io { action, key: key.to_string(), source: Arc::new(source) }
    }

    /// Whether the process or the system has no more file descriptors: the caller can close some
    /// and retry.
    #[must_use]
    pub fn is_out_of_files(&self) -> bool {
        // ENFILE and EMFILE are the same number on every Unix; Windows has
        // ERROR_TOO_MANY_OPEN_FILES.
        const NUMBERS: &[i32] = if cfg!(windows) { &[4] } else { &[23, 24] };
        matches!(self, Self::Io { source, .. }
            if source.raw_os_error().is_some_and(|number| NUMBERS.contains(&number)))
    }
}
