//! Faults of the options.

use ndzarr_store::StoreError;

/// The error for options that cannot be used, in a text without secrets.
pub(crate) fn option_error(what: impl ToString, name: &str) -> StoreError {
    StoreError::Other {
        action: "open",
        key: name.to_owned(),
        what: what.to_string(),
    }
}

/// The error for credentials that do not exist although they are named, or cannot be used.
pub(crate) fn no_credentials(what: impl ToString, name: &str) -> StoreError {
    StoreError::Denied {
        action: "open",
        key: name.to_owned(),
        what: what.to_string(),
        or_missing: false,
    }
}

pub(crate) fn wrong_credentials(name: &str) -> StoreError {
    option_error("the service has no credentials of this kind", name)
}
