//! `Stored`: the number and size of the stored values of an array.

use ndzarr::{AnyArray, ErrorKind};
use serde_json::{Value, json};

use crate::arguments::sizes::plural;

/// The number and size of the stored values of an array: chunks, or shards.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) n: u64,
    /// The number of values that the array has if all are stored.
    pub(crate) n_all: u64,
    pub(crate) bytes: u64,
    /// The number of values whose size cannot be read.
    n_unreadable: u64,
    /// The number of folders that cannot be listed, which may contain more values.
    n_unlisted: u64,
}

impl Stored {
    /// Lists the keys; `None` if the store cannot list. The error `InvalidMetadata` means that the
    /// chunks are not where the metadata say.
    pub(crate) fn of(array: &AnyArray) -> Result<Option<Self>, ndzarr::Error> {
        let units = array.units();
        let mut n_unlisted = 0;
        let stored = match units.stored_but(|_| n_unlisted += 1) {
            Ok(stored) => stored,
            Err(error) if cannot_list(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let n_all = units.iter().len() as u64;
        let mut found = Self {
            n: stored.len() as u64,
            n_all,
            n_unlisted,
            ..Self::default()
        };
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
            "of_units": self.n_all,
            "byte_len": self.bytes,
            "unreadable": self.n_unreadable,
            "unlisted": self.n_unlisted,
        })
    }

    /// The end of a line about values and folders that cannot be read; empty if all can.
    pub(crate) fn left_out(&self) -> String {
        let mut text = String::new();
        if self.n_unreadable > 0 {
            text += &format!(
                ", {} cannot be read",
                plural(self.n_unreadable, "value", "values")
            );
        }
        if self.n_unlisted > 0 {
            text += &format!(
                ", {} cannot be listed",
                plural(self.n_unlisted, "folder", "folders")
            );
        }
        text
    }
}

/// True if the store cannot list, or does not allow it: S3 has different permissions for listing
/// and reading.
pub(crate) fn cannot_list(error: &ndzarr::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Denied)
}
