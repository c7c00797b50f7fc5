//! The store over a server of this process.

mod containers;
mod hostile;
mod profiles;
mod proxies;
mod races;
mod redirects;
mod secrets;
mod suite;
mod tls;
mod tls_server;
mod wrong_answers;

use bytes::Bytes;
use ndzarr_store::{AsyncStore, Fetch, Fetched, Key, Of, StoreError, Want, block_on};
use ndzarr_store_object::{Credentials, ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, ObjectServer};

type Outcome = Result<(), StoreError>;

fn options(server: &ObjectServer) -> RemoteOptions {
    RemoteOptions::new().endpoint(server.url()).credentials(Credentials::key("id", "secret"))
}

fn s3(server: &ObjectServer, prefix: &str) -> ObjectStore {
    ObjectStore::s3(BUCKET, prefix, &options(server)).expect("the options fit")
}

/// Parts of the current value.
fn fetch(store: &ObjectStore, key: &str, want: Want) -> Result<Fetched, StoreError> {
    block_on(store.fetch(&Fetch { key: Key::new(key)?, of: Of::Any, want }))
}

/// All of a value; `None` if it is missing.
fn read(store: &ObjectStore, key: &str) -> Result<Option<Bytes>, StoreError> {
    Ok(match fetch(store, key, Want::Whole { limit: 1 << 20 })? {
        Fetched::Parts { parts, .. } => parts.into_iter().next(),
        Fetched::Missing | Fetched::Changed => None,
    })
}
