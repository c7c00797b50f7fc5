//! Tests of the store on servers of this process, and on those that `cargo xtask remote` names.
#![forbid(unsafe_code)]

mod as_sent;
mod conditions;
mod containers;
mod erasures;
mod google;
mod hedged;
mod hostile;
mod ignored_ranges;
mod large_values;
mod long_lists;
mod outside;
mod overload;
mod passwords;
mod profiles;
mod proxies;
mod races;
mod real_servers;
mod redirects;
mod runtimes;
mod scripted_server;
mod secrets;
mod settings;
mod slow_answers;
mod suite;
mod tls;
mod tls_server;
mod virtual_clock;
mod wrong_answers;

use bytes::Bytes;
use ndzarr_store::{AsyncStore, Fetch, Fetched, Key, Of, Precondition, StoreError, Want, block_on};
use ndzarr_store_object::{Credentials, ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, ObjectServer};

type Outcome = Result<(), StoreError>;

fn options(server: &ObjectServer) -> RemoteOptions {
    RemoteOptions::new()
        .endpoint(server.url())
        .credentials(Credentials::key("id", "secret"))
}

fn s3(server: &ObjectServer, prefix: &str) -> ObjectStore {
    s3_with(&options(server), prefix)
}

/// A store that has already tried if conditions are checked, which takes requests of its own.
fn tried_s3(server: &ObjectServer) -> ObjectStore {
    let store = s3(server, "");
    let key = Key::new("tried").expect("a key");
    block_on(store.put(&key, &[], Precondition::Absent)).expect("the server answers");
    block_on(store.erase(&key, Precondition::None)).expect("the server answers");
    server.forget();
    store
}

fn s3_with(options: &RemoteOptions, prefix: &str) -> ObjectStore {
    ObjectStore::s3(BUCKET, prefix, options).expect("the options fit")
}

/// All of a value.
fn whole(key: &str) -> Fetch {
    Fetch {
        key: Key::new(key).expect("a key"),
        of: Of::Any,
        want: Want::Whole { limit: u64::MAX },
    }
}

/// The one part that was fetched.
fn part(fetched: Fetched) -> Bytes {
    match fetched {
        Fetched::Parts { mut parts, .. } if parts.len() == 1 => parts.remove(0),
        other => panic!("{other:?}"),
    }
}

/// Parts of the current value.
fn fetch(store: &ObjectStore, key: &str, want: Want) -> Result<Fetched, StoreError> {
    block_on(store.fetch(&Fetch {
        key: Key::new(key)?,
        of: Of::Any,
        want,
    }))
}

/// All of a value; `None` if it is missing.
fn read(store: &ObjectStore, key: &str) -> Result<Option<Bytes>, StoreError> {
    Ok(match fetch(store, key, Want::Whole { limit: 1 << 20 })? {
        Fetched::Parts { parts, .. } => parts.into_iter().next(),
        Fetched::Missing | Fetched::Changed => None,
    })
}
