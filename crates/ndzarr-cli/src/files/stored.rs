//! How much of an array is stored: values, bytes, and what cannot be looked at.

use ndzarr::{AnyArray, ErrorKind};
use serde_json::{Value, json};

use crate::arguments::sizes::plural;

/// How much of an array is stored.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) n: u64,
    pub(crate) of: u64,
    pub(crate) bytes: u64,
    /// How many of the values cannot be looked at.
    n_unreadable: u64,
    /// How many folders cannot be listed, in which there may be more.
    n_unlisted: u64,
}

impl Stored {
    /// By a list of the keys; `None` if the store cannot list. `InvalidMetadata`: its chunks are not
    /// where its metadata say.
    pub(crate) fn of(array: &AnyArray) -> Result<Option<Self>, ndzarr::Error> {
        let units = array.units();
        let mut n_unlisted = 0;
        let stored = match units.stored_but(|_| n_unlisted += 1) {
            Ok(stored) => stored,
            Err(error) if cannot_list(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let of = units.iter().len() as u64;
        let mut found = Self { n: stored.len() as u64, of, n_unlisted, ..Self::default() };
        for unit in stored {
            match unit.byte_len {
                Some(byte_len) => found.bytes += byte_len,
                None => found.n_unreadable += 1,
            }
        }
        Ok(Some(found))
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "units": self.n,
            "of_units": self.of,
            "byte_len": self.bytes,
            "unreadable": self.n_unreadable,
            "unlisted": self.n_unlisted,
        })
    }

    /// What could not be looked at: a part of a line, or nothing.
    pub(crate) fn left_out(&self) -> String {
        let mut text = String::new();
        if self.n_unreadable > 0 {
            text += &format!(", {} cannot be read", plural(self.n_unreadable, "value", "values"));
        }
        if self.n_unlisted > 0 {
            text += &format!(", {} cannot be listed", plural(self.n_unlisted, "folder", "folders"));
        }
        text
    }
}

/// Whether the store does not list, or does not allow it: S3 asks for another permission than for reading.
pub(crate) fn cannot_list(error: &ndzarr::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Denied)
}
