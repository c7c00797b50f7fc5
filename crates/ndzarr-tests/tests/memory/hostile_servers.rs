//! Servers whose answers do not end: each call takes a bounded amount of memory.

use std::time::Duration;

use ndzarr::store::{ObjectStore, RemoteOptions};
use ndzarr::{AnyArray, Group};
use ndzarr_testkit::in_own_process;
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};

use crate::with_peak;

/// For a page of a list and its text, and for what the server of this process itself sends.
const MOST: usize = 160 << 20;

#[test]
fn answers_without_end_take_bounded_memory() {
    in_own_process!();
    let faults = [
        Fault::EndlessBody,
        Fault::EndlessHeaders,
        // The server of this process holds it, too.
        Fault::HugeHeader(1 << 20),
        Fault::EndlessList,
        Fault::GzipBomb,
        Fault::Long(u64::MAX),
        Fault::RedirectCircle,
    ];
    for dialect in [Dialect::S3, Dialect::Gcs, Dialect::Azure, Dialect::Http] {
        for fault in &faults {
            let server = ObjectServer::start(dialect);
            server.objects().put("a/zarr.json", "{}");
            server.faults([FaultRule::always(fault.clone())]);
            let options = RemoteOptions::new()
                .endpoint(server.url())
                .account("lab")
                .retry_for(Duration::ZERO);
            let store = match dialect {
                Dialect::S3 => ObjectStore::s3(BUCKET, "", &options),
                Dialect::Gcs => ObjectStore::gcs(BUCKET, "", &options),
                Dialect::Azure => ObjectStore::azure(BUCKET, "", &options),
                Dialect::Http => ObjectStore::http(&server.url(), &options),
            };
            let store = store.expect("the options fit");
            let ((), taken) = with_peak(|| {
                assert!(
                    AnyArray::open((&store, "a")).is_err(),
                    "{dialect:?} {fault:?}"
                );
                // A list of nothing is all that may succeed.
                let _ = Group::open(&store)
                    .map(|group| group.children().map(|children| children.len()));
            });
            assert!(taken < MOST, "{dialect:?} {fault:?}: {taken} bytes");
        }
    }
}
