//! The sources of credentials, and the renewal of credentials that expire.

#[cfg(feature = "s3")]
mod container;
#[cfg(feature = "s3")]
mod credential_process;
#[cfg(feature = "s3")]
mod expiring;
pub(crate) mod fetched;
pub(crate) mod source;
