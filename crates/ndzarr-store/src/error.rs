use std::sync::Arc;

use crate::Key;

/// Why a store could not do what it was asked. An absent key is no error.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No value can have this name.
    #[error("{key:?} {what}")]
    InvalidKey {
        /// The key or prefix as given.
        key: String,
        /// What a key must not have.
        what: &'static str,
    },
    /// The operating system or the network said no.
    #[error("{action} {key}")]
    Io {
        /// What was tried: "open", "read", "write", "sync", "publish", "lock", "list" …
        action: &'static str,
        /// Key or prefix that it was tried on.
        key: String,
        /// What the system said.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// A range reaches over the end of a value.
    #[error("{key}: bytes {start}..{end} asked for, the value has {size}")]
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
    /// A value is larger than the caller wants to read.
    #[error("{key}: {size} bytes are stored, more than the limit of {limit}")]
    TooLarge {
        /// Key of the value.
        key: Key,
        /// Size of the value in bytes.
        size: u64,
        /// The most that the caller takes, in bytes.
        limit: u64,
    },
    /// The store cannot do this at all.
    #[error("this store cannot {0}")]
    Unsupported(&'static str),
    /// Something else, in the store's own words.
    #[error("{action} {key}: {what}")]
    Other {
        /// What was tried.
        action: &'static str,
        /// Key or prefix that it was tried on.
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
}
