//! Buckets and web servers as stores: Amazon S3 and what speaks like it, Google Cloud Storage,
//! Azure Blob Storage, and plain HTTP, read only.
//!
//! [`ObjectStore`] is an [`AsyncStore`](ndzarr_store::AsyncStore) that works on any executor: its
//! requests run on a runtime of two threads that starts with the first of them, or on one of the
//! caller's. Each constructor takes [`RemoteOptions`]:
//!
//! ```no_run
//! # #[cfg(feature = "s3")]
//! # fn main() -> Result<(), ndzarr_store::StoreError> {
//! use ndzarr_store_object::{Credentials, ObjectStore, RemoteOptions};
//!
//! let options = RemoteOptions::new().region("eu-central-1").credentials(Credentials::Anonymous);
//! let store = ObjectStore::s3("a-public-bucket", "volumes/a", &options)?;
//! # drop(store);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "s3"))]
//! # fn main() {}
//! ```
//!
//! # Concurrent writers
//! S3, Google and Azure check the condition of a put, so partial updates by several writers lose
//! nothing. A mark in the metadata of the object tells whether a put whose answer was lost took
//! place. Erasures are never conditional: several services ignore the condition, and erase.
// docs.rs shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
// With a single service, some of the shared code is unused.
#![cfg_attr(
    not(all(feature = "s3", feature = "gcs", feature = "azure", feature = "http")),
    allow(dead_code, unused_imports)
)]

mod answers;
mod client;
mod conditions;
mod credentials;
mod errors;
mod opening;
mod operations;
mod options;
mod requests;
mod settings;
mod state;
mod store;
mod unlisted;
mod unranged;

// The integration tests are part of the program of the unit tests, which saves a program.
#[cfg(test)]
extern crate self as ndzarr_store_object;
#[cfg(all(
    test,
    feature = "s3",
    feature = "gcs",
    feature = "azure",
    feature = "http"
))]
#[path = "../tests/it/main.rs"]
mod it;

pub use options::{Credentials, RemoteOptions};
pub use store::{ObjectStore, Service};
