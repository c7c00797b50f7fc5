//! The store suite on real servers, which `cargo xtask remote` starts and names.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use ndzarr_store::AsyncStore;
use ndzarr_store::{Fetch, Fetched, Key, Precondition, Put, Store, StoreError, block_on};
use ndzarr_store_object::{ObjectStore, RemoteOptions, Service};
use ndzarr_testkit::check_values;

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("`cargo xtask remote` sets {name}"))
}

/// A store below the URL of the environment, with credentials from the environment.
fn store(prefix: &str) -> ObjectStore {
    let url = variable("NDZARR_REMOTE");
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (bucket, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = format!("{path}/{prefix}");
    let options = |service| RemoteOptions::from_environment(service, |name| env::var(name).ok());
    let store = match scheme {
        "s3" => ObjectStore::s3(bucket, &path, &options(Service::S3)),
        "gs" => ObjectStore::gcs(bucket, &path, &options(Service::Gcs)),
        "az" => ObjectStore::azure(bucket, &path, &options(Service::Azure)),
        _ => ObjectStore::http(&format!("{url}/{prefix}"), &options(Service::Http)),
    };
    store.expect("the options fit")
}

#[test]
#[ignore = "needs a server: cargo xtask remote"]
fn real_bucket_behaves_as_every_store() {
    crate::it::suite::check(store);
}

/// A web server, and the folder that it serves, to write into.
#[derive(Debug)]
struct Served {
    folder: PathBuf,
    store: ObjectStore,
}

impl Store for Served {
    fn name(&self) -> String {
        self.store.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        // lighttpd finds the file `a` under each name below it, such as `a/b`.
        let path = self.folder.join(fetch.key.as_str());
        if path.ancestors().skip(1).any(|above| above.is_file()) {
            return Ok(Fetched::Missing);
        }
        block_on(self.store.fetch(fetch))
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        assert!(matches!(only_if, Precondition::None));
        let path = self.folder.join(key.as_str());
        let written = fs::create_dir_all(path.parent().expect("the folder is above"))
            .and_then(|()| fs::write(&path, parts.concat()));
        written
            .map(|()| Put::Done(None))
            .map_err(|error| StoreError::io("write", key, error))
    }

    fn erase(&self, key: &Key, _: Precondition) -> Result<Put, StoreError> {
        // It may not exist, or be a folder.
        let _ = fs::remove_file(self.folder.join(key.as_str()));
        Ok(Put::Done(None))
    }
}

#[test]
#[ignore = "needs a server: cargo xtask remote"]
fn real_web_server_has_values_as_every_store() {
    let count = AtomicU32::new(0);
    check_values(|| -> Box<dyn Store> {
        let name = format!("suite/{}", count.fetch_add(1, Ordering::Relaxed));
        let folder = PathBuf::from(variable("NDZARR_REMOTE_FOLDER")).join(&name);
        Box::new(Served {
            folder,
            store: store(&name),
        })
    });
}
