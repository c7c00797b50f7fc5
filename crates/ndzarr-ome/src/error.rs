//! `Error`: why a call of this crate failed.

use ndzarr::ErrorKind;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An array or group could not be opened, read, written or created.
    #[error(transparent)]
    Array(#[from] ndzarr::Error),
    /// The metadata of an image cannot be understood.
    #[error("the image at {path:?} {what}")]
    Metadata {
        /// The path of the group that has the metadata, from the root of the store.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// A group has no image in any convention.
    #[error("the group at {path:?} has no multiscale image")]
    NoImage {
        /// The path of the group from the root of the store.
        path: String,
    },
    /// The arguments of a call do not fit each other or the image.
    #[error("{0}")]
    Argument(String),
}

/// The result of the calls of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The kind of an error of an array or group; `None` for errors of this crate.
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Array(error) => Some(error.kind()),
            _ => None,
        }
    }

    pub(crate) fn metadata(path: &str, what: impl Into<String>) -> Self {
        Self::Metadata {
            path: path.to_owned(),
            what: what.into(),
        }
    }
}
