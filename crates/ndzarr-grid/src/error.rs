//! The error of this crate.

use std::fmt;

/// The reason why shapes do not form a grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridError(pub(crate) String);

impl fmt::Display for GridError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GridError {}
