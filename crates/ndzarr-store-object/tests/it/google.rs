//! Values that Google would inflate during the transfer.

use ndzarr_store::{AsyncStore, Fetch, StoreError, Want, block_on};
use ndzarr_store_object::{ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};

use crate::it::{part, s3, whole};

#[test]
fn rs_37_values_that_are_stored_as_gzip_are_not_inflated() -> Result<(), StoreError> {
    let server = ObjectServer::start(Dialect::Gcs);
    server.objects().put_gzip("a", "some text");
    let stored = server.objects().get("a").expect("it was put");
    let store = ObjectStore::gcs(BUCKET, "", &RemoteOptions::new().endpoint(server.url()))?;
    assert_eq!(part(block_on(store.fetch(&whole("a")))?), stored);
    let want = |want| Fetch { want, ..whole("a") };
    let range = Want::Ranges(vec![3..9]);
    assert_eq!(part(block_on(store.fetch(&want(range)))?), stored[3..9]);
    assert_eq!(
        part(block_on(store.fetch(&want(Want::Tail(5))))?),
        stored[stored.len() - 5..]
    );
    Ok(())
}

/// Some services compress values for clients that accept gzip.
#[test]
fn rs_37_other_services_send_values_as_they_are() -> Result<(), StoreError> {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put_gzip("a", "some text");
    block_on(s3(&server, "").fetch(&whole("a")))?;
    assert_eq!(
        server.requests()[0].request.header("accept-encoding"),
        Some("identity")
    );
    Ok(())
}
