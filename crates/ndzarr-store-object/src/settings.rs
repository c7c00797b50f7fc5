//! Named settings, from environment variables and from the files of other tools.

mod ini;
#[cfg(feature = "http")]
pub(crate) mod netrc;
#[cfg(feature = "s3")]
pub(crate) mod profile;
pub(crate) mod setting;
pub(crate) mod variables;
