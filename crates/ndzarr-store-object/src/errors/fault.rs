//! Faults of the options.

use ndzarr_store::StoreError;

/// A fault of the options, in a text without secrets.
pub(crate) fn bad(what: impl ToString, name: &str) -> StoreError {
    StoreError::Other { action: "open", key: name.to_owned(), what: what.to_string() }
}

/// Credentials that are named and not there, or cannot be used.
pub(crate) fn no_credentials(what: impl ToString, name: &str) -> StoreError {
    StoreError::Denied { action: "open", key: name.to_owned(), what: what.to_string(), or_missing: false }
}

pub(crate) fn wrong_credentials(name: &str) -> StoreError {
    bad("the service has no credentials of this kind", name)
}
