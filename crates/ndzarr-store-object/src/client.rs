//! The HTTP client below object_store: connections, redirects, certificates, the region of a
//! bucket, signing.

pub(crate) mod backend;
mod certificates;
pub(crate) mod connector;
mod per_process;
#[cfg(feature = "s3")]
pub(crate) mod region;
mod service;
pub(crate) mod signing;
mod stall;
mod web_value;
