//! Where credentials come from, and how those that expire are fetched again.

#[cfg(feature = "s3")]
mod container;
#[cfg(feature = "s3")]
mod credential_process;
pub(crate) mod fetched;
#[cfg(feature = "s3")]
mod kept;
pub(crate) mod source;
