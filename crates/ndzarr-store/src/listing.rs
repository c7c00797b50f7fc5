//! What lists of keys return.

use crate::{Fetched, StoreError};

/// The keys and prefixes directly below a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirListing {
    /// Last segments of the keys.
    pub keys: Vec<String>,
    /// Last segments of the prefixes, without the closing `/`.
    pub prefixes: Vec<String>,
}

/// What a list with lengths tells about a key.
#[derive(Clone, Debug)]
pub enum Listed {
    /// It has a value of this length, in bytes.
    Value(u64),
    /// It has a value that cannot be looked at: a link that leads nowhere, a device, a file that
    /// others may not see.
    Unreadable(StoreError),
    /// It has no value, and cannot have one: it names an empty folder.
    Folder,
    /// It names a folder that cannot be listed: its contents are unknown.
    Unlisted(StoreError),
}

impl Listed {
    /// From the answer to a request for the length of a value; `None` if the value is missing.
    pub(crate) fn of_size(answer: Result<Fetched, StoreError>) -> Result<Option<Self>, StoreError> {
        match answer {
            Ok(Fetched::Parts { size, .. }) => Ok(Some(Self::Value(size))),
            Ok(Fetched::Missing | Fetched::Changed) => Ok(None),
            Err(error) if error.is_of_one_value() => Ok(Some(Self::Unreadable(error))),
            Err(error) => Err(error),
        }
    }

    /// The length of the value, in bytes; `None` for an empty folder.
    ///
    /// # Errors
    /// Why it cannot be looked at.
    pub(crate) fn value(self) -> Result<Option<u64>, StoreError> {
        match self {
            Self::Value(len) => Ok(Some(len)),
            Self::Folder => Ok(None),
            Self::Unreadable(error) | Self::Unlisted(error) => Err(error),
        }
    }

    /// The length of the value, in bytes, if it can be looked at.
    #[must_use]
    pub fn byte_len(&self) -> Option<u64> {
        match self {
            Self::Value(byte_len) => Some(*byte_len),
            Self::Unreadable(_) | Self::Folder | Self::Unlisted(_) => None,
        }
    }
}
