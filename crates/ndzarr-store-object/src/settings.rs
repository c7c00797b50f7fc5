//! Settings by their names, from environment variables and from files that other tools share.

mod ini;
#[cfg(feature = "http")]
pub(crate) mod netrc;
#[cfg(feature = "s3")]
pub(crate) mod profile;
pub(crate) mod setting;
pub(crate) mod variables;
