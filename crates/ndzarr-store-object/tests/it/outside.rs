//! Ranges outside a value, and how servers refuse them.

use std::sync::atomic::{AtomicU32, Ordering};

use ndzarr_store::Store;
use ndzarr_store_object::{ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};
use ndzarr_testkit::{BlockOn, check_values};

/// The requests of the suite, especially of its checks `ranges` and `limits`.
#[test]
fn rs_06_ranges_outside_are_errors_however_they_are_refused() {
    for dialect in [Dialect::S3, Dialect::Gcs, Dialect::Azure] {
        for fault in [Fault::NoSize, Fault::NonsenseRange, Fault::WholeIfEmpty] {
            let server = ObjectServer::start(dialect);
            server.faults([FaultRule::always(fault).of(&["GET"])]);
            let options = RemoteOptions::new().endpoint(server.url()).account("lab");
            let count = AtomicU32::new(0);
            check_values(|| -> Box<dyn Store> {
                let prefix = format!("suite/{}", count.fetch_add(1, Ordering::Relaxed));
                let store = match dialect {
                    Dialect::S3 => ObjectStore::s3(BUCKET, &prefix, &options),
                    Dialect::Gcs => ObjectStore::gcs(BUCKET, &prefix, &options),
                    _ => ObjectStore::azure(BUCKET, &prefix, &options),
                };
                Box::new(BlockOn(Box::new(store.expect("the options fit"))))
            });
            // Some requests were refused.
            let is_refused = |status: u16| status != 200;
            assert!(
                server
                    .requests()
                    .iter()
                    .any(|seen| seen.status.is_some_and(is_refused)),
                "{dialect:?}"
            );
        }
    }
}
