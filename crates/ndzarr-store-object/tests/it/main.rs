//! The store over servers: of this process, or those that `cargo xtask remote` names.
#![forbid(unsafe_code)]

mod google;
mod overload;
mod races;
mod real_servers;
mod redirects;
mod runtimes;
mod slow_answers;
mod suite;

use bytes::Bytes;
use ndzarr_store::{Fetch, Fetched, Key, Of, Want};
use ndzarr_store_object::{Credentials, ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, ObjectServer};

fn options(server: &ObjectServer) -> RemoteOptions {
    RemoteOptions::new().endpoint(server.url()).credentials(Credentials::key("id", "secret"))
}

fn s3(server: &ObjectServer, prefix: &str) -> ObjectStore {
    s3_with(&options(server), prefix)
}

fn s3_with(options: &RemoteOptions, prefix: &str) -> ObjectStore {
    ObjectStore::s3(BUCKET, prefix, options).expect("the options fit")
}

/// All of a value.
fn whole(key: &str) -> Fetch {
    Fetch { key: Key::new(key).expect("a key"), of: Of::Any, want: Want::Whole { limit: u64::MAX } }
}

/// The one part that was fetched.
fn part(fetched: Fetched) -> Bytes {
    match fetched {
        Fetched::Parts { mut parts, .. } if parts.len() == 1 => parts.remove(0),
        other => panic!("{other:?}"),
    }
}
