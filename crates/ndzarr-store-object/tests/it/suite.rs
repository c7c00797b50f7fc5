//! The store suite, in each dialect.

use std::sync::atomic::{AtomicU32, Ordering};

use ndzarr_store::{AsyncStore, Can};
use ndzarr_store_object::{ObjectStore, RemoteOptions};
use ndzarr_testkit::check_async_store;
use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};

use crate::it::s3;

pub(crate) fn check(make: impl Fn(&str) -> ObjectStore) {
    let count = AtomicU32::new(0);
    let can = check_async_store(|| -> Box<dyn AsyncStore> {
        Box::new(make(&format!(
            "suite/{}",
            count.fetch_add(1, Ordering::Relaxed)
        )))
    });
    assert_eq!(
        can,
        Can {
            erase_if: false,
            ..Can::default()
        }
    );
}

#[test]
fn rs_05_rs_06_rs_34_s3_behaves_as_every_store() {
    let server = ObjectServer::start(Dialect::S3);
    check(|prefix| s3(&server, prefix));
}

#[test]
fn rs_38_google_behaves_as_every_store() {
    let server = ObjectServer::start(Dialect::Gcs);
    let options = RemoteOptions::new().endpoint(server.url());
    check(|prefix| ObjectStore::gcs(BUCKET, prefix, &options).expect("the options fit"));
}

#[test]
fn rs_03_rs_07_azure_behaves_as_every_store() {
    let server = ObjectServer::start(Dialect::Azure);
    let options = RemoteOptions::new()
        .endpoint(server.url())
        .account("account");
    check(|prefix| ObjectStore::azure(BUCKET, prefix, &options).expect("the options fit"));
}
