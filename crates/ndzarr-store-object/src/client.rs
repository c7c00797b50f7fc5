//! The HTTP client below object_store: connections, redirects, certificates, the region of a bucket, signing.

mod as_sent;
pub(crate) mod backend;
mod certificates;
pub(crate) mod connector;
mod pace;
mod per_process;
#[cfg(feature = "s3")]
pub(crate) mod region;
mod service;
pub(crate) mod signing;
