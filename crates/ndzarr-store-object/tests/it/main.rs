//! The store over a server of this process.

mod races;
mod redirects;
mod suite;

use ndzarr_store_object::{Credentials, ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, ObjectServer};

fn options(server: &ObjectServer) -> RemoteOptions {
    RemoteOptions::new().endpoint(server.url()).credentials(Credentials::key("id", "secret"))
}

fn s3(server: &ObjectServer, prefix: &str) -> ObjectStore {
    ObjectStore::s3(BUCKET, prefix, &options(server)).expect("the options fit")
}
