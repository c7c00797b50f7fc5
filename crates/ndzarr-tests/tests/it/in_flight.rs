//! Requests in flight: the limit is that of the store, whatever its calls want.

use std::error::Error;
use std::thread;

use ndarray::Array1;
use ndzarr::Array;
use ndzarr::store::{Credentials, ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer};

const LIMIT: usize = 16;

#[test]
fn rs_29_concurrent_calls_share_the_limit() -> Result<(), Box<dyn Error + Send + Sync>> {
    let server = ObjectServer::start(Dialect::S3);
    let options = RemoteOptions::new()
        .endpoint(server.url())
        .credentials(Credentials::Anonymous);
    let store = ObjectStore::s3(BUCKET, "", &options.requests_in_flight(LIMIT))?;
    let a = Array::<u16>::builder([100])
        .chunks([1])
        .create((&store, "a"))?;
    let values = Array1::from_iter(1..101);
    a.write([0..100], &values)?;
    let regions: Vec<_> = (0..1000_u64).map(|n| [n % 100..n % 100 + 1]).collect();
    for calls in 1..=2 {
        server.forget();
        // All that may be sent is, before the first answer.
        let held = server.hold();
        thread::scope(|scope| {
            let reads: Vec<_> = (0..8).map(|_| scope.spawn(|| a.read([0..100]))).collect();
            let many = (calls == 2).then(|| scope.spawn(|| a.read_many(regions.clone())));
            held.wait_for(LIMIT);
            drop(held);
            for read in reads {
                assert_eq!(read.join().expect("no panic")?, values);
            }
            if let Some(many) = many {
                for (n, one) in many.join().expect("no panic")?.into_iter().enumerate() {
                    assert_eq!(one, values.slice(ndarray::s![n % 100..n % 100 + 1]));
                }
            }
            Ok::<_, ndzarr::Error>(())
        })?;
        assert_eq!(server.traffic().most_in_flight, LIMIT);
        assert!(server.traffic().requests >= 800);
    }
    Ok(())
}
