//! The URL of a service. It must not have a password: names, errors and `Debug` show it.

use std::fmt;
use std::ops::Deref;

use ndzarr_store::StoreError;

use crate::fault::bad;

/// A URL in options.
#[derive(Clone)]
pub(crate) struct Endpoint(pub(crate) String);

impl Deref for Endpoint {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if has_user(self) { f.write_str("…") } else { fmt::Debug::fmt(&**self, f) }
    }
}

/// Refuses a name or password in a URL.
pub(crate) fn check(url: &str, name: &str) -> Result<(), StoreError> {
    match has_user(url) {
        true => Err(bad("its URL must not have a user name and password: give them by the options", name)),
        false => Ok(()),
    }
}

/// Whether there is one, also in what is hardly a URL.
fn has_user(url: &str) -> bool {
    let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = authority.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let has_user = |url: reqwest::Url| !url.username().is_empty() || url.password().is_some();
    authority.contains('@') || reqwest::Url::parse(url).is_ok_and(has_user)
}
