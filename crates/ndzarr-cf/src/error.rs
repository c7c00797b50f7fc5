//! `Error`: why a call of this crate failed.

use ndzarr::ErrorKind;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An array or group could not be opened, read, written or created.
    #[error(transparent)]
    Array(#[from] ndzarr::Error),
    /// The array of a variable could not be opened.
    #[error("the variable {variable:?} cannot be opened: {error}")]
    Unopened {
        /// The name of the variable.
        variable: String,
        /// Why not.
        #[source]
        error: ndzarr::Error,
    },
    /// An attribute of a variable does not comply with the conventions.
    #[error("the attribute {attribute:?} of the variable {variable:?} {what}")]
    Attribute {
        /// The name of the variable.
        variable: String,
        /// The name of the attribute.
        attribute: String,
        /// What is wrong with it.
        what: String,
    },
    /// The variable does not exist, or the call does not fit it.
    #[error("the variable {variable:?} {what}")]
    Variable {
        /// The name of the variable.
        variable: String,
        /// Why not.
        what: String,
    },
    /// Labels do not select anything along a coordinate.
    #[error("the coordinate {coordinate:?} {what}")]
    Label {
        /// The name of the coordinate.
        coordinate: String,
        /// Why not.
        what: String,
    },
    /// A text is not a time, or not one of the calendar.
    #[error("{text:?} is not a time: {what}")]
    Time {
        /// The text.
        text: String,
        /// What is wrong with it.
        what: String,
    },
}

/// The result of the calls of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The kind of an error of an array or group; `None` for errors of this crate.
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Array(error) | Self::Unopened { error, .. } => Some(error.kind()),
            _ => None,
        }
    }

    pub(crate) fn attribute(variable: &str, attribute: &str, what: impl Into<String>) -> Self {
        Self::Attribute {
            variable: variable.to_owned(),
            attribute: attribute.to_owned(),
            what: what.into(),
        }
    }

    pub(crate) fn variable(variable: &str, what: impl Into<String>) -> Self {
        Self::Variable {
            variable: variable.to_owned(),
            what: what.into(),
        }
    }

    pub(crate) fn label(coordinate: &str, what: impl Into<String>) -> Self {
        Self::Label {
            coordinate: coordinate.to_owned(),
            what: what.into(),
        }
    }
}
