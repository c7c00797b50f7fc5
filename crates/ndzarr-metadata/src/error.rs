//! The error of this crate.

use std::fmt;

use ndzarr_json::{JsonError, TOO_LARGE};

use crate::NodePath;

/// Why documents cannot be read, written or found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// There is no node in any of the formats.
    #[error("no array or group at {path:?}; tried {}", tried.join(", "))]
    NotFound {
        /// Path of the node.
        path: String,
        /// Keys and prefixes that were tried.
        tried: Vec<String>,
    },
    /// A node was removed after it was opened.
    #[error("{path:?} is gone: {key} no longer exists")]
    Gone {
        /// Path of the node.
        path: String,
        /// Key of the document that was there.
        key: String,
    },
    /// A document is invalid in its format.
    #[error("{key}: {what}")]
    Invalid {
        /// Key of the document.
        key: String,
        /// The problem.
        what: String,
    },
    /// A document needs something that is not supported, named in the message.
    #[error("{key}: unsupported {feature} {name}")]
    Unsupported {
        /// Key of the document.
        key: String,
        /// "data type", "codec", "chunk grid" …
        feature: &'static str,
        /// Its name in the document.
        name: String,
    },
    /// A path or node name that the format does not allow.
    #[error("path {path:?}: {what}")]
    Path {
        /// The path as given.
        path: String,
        /// The problem.
        what: String,
    },
    /// The requested node cannot be expressed in the format.
    #[error("{format}: {what}")]
    Inexpressible {
        /// The format.
        format: crate::Format,
        /// The part that cannot be expressed.
        what: String,
    },
    /// There is a node at the path of a new one, or an array among its ancestors.
    #[error("{path:?}: {what}")]
    Occupied {
        /// Path of the node in the way.
        path: String,
        /// The obstacle.
        what: String,
    },
}

impl MetadataError {
    pub(crate) fn invalid(key: impl Into<String>, what: impl fmt::Display) -> Self {
        Self::Invalid {
            key: key.into(),
            what: what.to_string(),
        }
    }

    pub(crate) fn json(key: &str, error: &JsonError) -> Self {
        if error.what == TOO_LARGE {
            return Self::invalid(key, error.what);
        }
        Self::invalid(
            key,
            format_args!("not valid JSON: {} at byte {}", error.what, error.at),
        )
    }

    /// A document of white space, or of nothing, says less than one that does not exist: a program
    /// that cut it to write it again has not written it yet.
    pub(crate) fn blank(key: &str, bytes: &[u8]) -> Self {
        let what = "another program may be writing it, or was stopped while it did";
        Self::invalid(
            key,
            format_args!("is blank ({} bytes): {what}", bytes.len()),
        )
    }

    pub(crate) fn gone(path: &NodePath, key: &str) -> Self {
        Self::Gone {
            path: path.to_string(),
            key: key.to_owned(),
        }
    }

    pub(crate) fn occupied(path: &NodePath, what: impl fmt::Display) -> Self {
        Self::Occupied {
            path: path.to_string(),
            what: what.to_string(),
        }
    }

    pub(crate) fn unsupported(
        key: impl Into<String>,
        feature: &'static str,
        name: impl fmt::Display,
    ) -> Self {
        Self::Unsupported {
            key: key.into(),
            feature,
            name: name.to_string(),
        }
    }

    pub(crate) fn inexpressible(format: crate::Format, what: impl fmt::Display) -> Self {
        Self::Inexpressible {
            format,
            what: what.to_string(),
        }
    }
}
