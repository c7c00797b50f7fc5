//! The error of every store.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Key;

/// Why a request of a store failed. An absent key is not an error.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The name is not a valid key or prefix.
    InvalidKey {
        /// The key or prefix as given.
        key: String,
        /// What a key must not contain.
        what: &'static str,
    },
    /// The operating system or the network refused.
    Io {
        /// The action: "open", "read", "write", "sync", "publish", "lock", "list" …
        action: &'static str,
        /// Its key or prefix.
        key: String,
        /// The error of the system.
        source: Arc<std::io::Error>,
    },
    /// A range extends beyond the end of a value.
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
    TooLarge {
        /// Key of the value.
        key: Key,
        /// Size of the value in bytes.
        size: u64,
        /// The caller's limit, in bytes.
        limit: u64,
    },
    /// Waiting for the write lock of a key timed out.
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
    LockLost {
        /// The action: "publish", "erase" …
        action: &'static str,
        /// Key of the lock.
        key: String,
    },
    /// The service was reached, and has no such bucket, container or account.
    NoBucket {
        /// The action.
        action: &'static str,
        /// Its key or prefix.
        key: String,
        /// The answer of the service, without secrets.
        what: String,
    },
    /// The service refused: no credentials, wrong ones, or none that allow this.
    Denied {
        /// The action.
        action: &'static str,
        /// Its key or prefix.
        key: String,
        /// The answer of the service, without secrets.
        what: String,
        /// `true` if the user has said that the service denies access to absent values. A chunk is
        /// then missing, and so is a document that a node may lack.
        or_missing: bool,
    },
    /// The service was not reached, did not answer in time, or kept asking to slow down. Nothing
    /// was written; retrying later is safe.
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
    Unknown {
        /// The action.
        action: &'static str,
        /// Its key or prefix.
        key: String,
        /// The failure, without secrets.
        what: String,
    },
    /// The store cannot do this at all.
    Unsupported(&'static str),
    /// Any other failure, in the store's own words. To keep the error of another library as the
    /// source, use [`StoreError::io`] with [`std::io::Error::other`].
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
        Self::Io {
            action,
            key: key.to_string(),
            source: Arc::new(source),
        }
    }

    /// The key or prefix that the error concerns, as the store names it.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::OutOfRange { key, .. } | Self::TooLarge { key, .. } => Some(key.as_str()),
            Self::InvalidKey { key, .. }
            | Self::Io { key, .. }
            | Self::Busy { key, .. }
            | Self::LockLost { key, .. }
            | Self::NoBucket { key, .. }
            | Self::Denied { key, .. }
            | Self::Unavailable { key, .. }
            | Self::Unknown { key, .. }
            | Self::Other { key, .. } => Some(key),
            Self::Unsupported(_) => None,
        }
    }

    /// Returns `true` if the error may concern only this value, so that a listing goes on.
    pub(crate) fn is_of_one_value(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::Denied { .. }) && !self.is_out_of_files()
    }

    /// Returns `true` if the process or the system has no more file descriptors: the caller can
    /// close some and retry.
    #[must_use]
    pub fn is_out_of_files(&self) -> bool {
        // ENFILE and EMFILE are the same number on every Unix; Windows has
        // ERROR_TOO_MANY_OPEN_FILES.
        const NUMBERS: &[i32] = if cfg!(windows) { &[4] } else { &[23, 24] };
        matches!(self, Self::Io { source, .. }
            if source.raw_os_error().is_some_and(|number| NUMBERS.contains(&number)))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidKey { key, what } => write!(f, "{key:?} {what}"),
            Self::Io { action, key, .. } => write!(f, "{action} {key}"),
            Self::OutOfRange {
                key,
                start,
                end,
                size,
            } => {
                write!(
                    f,
                    "{key}: bytes {start}..{end} requested, but the value has {size}"
                )
            }
            Self::TooLarge { key, size, limit } => {
                write!(
                    f,
                    "{key}: {size} bytes are stored, more than the limit of {limit}"
                )
            }
            Self::Busy {
                key,
                waited,
                holder,
            } => {
                let holder = holder.as_deref().unwrap_or("another writer");
                write!(
                    f,
                    "{key} is locked by {holder} and was not free after {waited:.1?}"
                )
            }
            Self::LockLost { action, key } => {
                write!(
                    f,
                    "{action} {key}: another writer took over its lock, which was not renewed in time"
                )
            }
            Self::Denied {
                action, key, what, ..
            } => write!(f, "{action} {key}: not allowed: {what}"),
            Self::Unavailable {
                action,
                key,
                attempts,
                what,
            } => {
                write!(
                    f,
                    "{action} {key}: no success in {attempts} attempts: {what}"
                )
            }
            Self::Unknown { action, key, what } => {
                write!(f, "{action} {key}: the outcome is unknown: {what}")
            }
            Self::Unsupported(what) => write!(f, "this store cannot {what}"),
            Self::NoBucket { action, key, what } | Self::Other { action, key, what } => {
                write!(f, "{action} {key}: {what}")
            }
        }
    }
}

/// By hand, because `thiserror` would return the `Arc`, which a caller cannot downcast to the error
/// in it.
impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(&**source),
            _ => None,
        }
    }
}
