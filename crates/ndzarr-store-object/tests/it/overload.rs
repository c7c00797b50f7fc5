//! Services that refuse requests for a while, and hosts that do not exist.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use futures_util::future::join_all;
use ndzarr_store::{AsyncStore, StoreError, block_on};
use ndzarr_testkit::object_server::{Dialect, Fault, FaultRule, ObjectServer};

use crate::it::virtual_clock::VirtualClock;
use crate::it::{options, part, s3_with, whole};

/// Up to 256 of the first requests are refused, then only those that probe if the outage is over.
#[test]
fn rs_30_an_outage_of_two_seconds_costs_few_requests() {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", "a value");
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let rule = FaultRule::always(Fault::Status(503)).only_if(move |_| !over.load(Ordering::SeqCst));
    server.faults([rule]);
    let clock = VirtualClock::start();
    let long = Duration::from_secs(1 << 20);
    let options = options(&server)
        .connect_timeout(long)
        .read_timeout(long)
        .retry_for(long);
    let store = s3_with(&options.runtime(clock.handle()), "");
    let reader = thread::spawn(move || {
        let fetch = whole("a");
        block_on(join_all((0..1000).map(|_| store.fetch(&fetch))))
    });
    // Waits for the first refusal.
    while server.traffic().faults == 0 {
        thread::yield_now();
    }
    for step in 0.. {
        clock.advance(Duration::from_millis(10));
        is_over.store(step >= 200, Ordering::SeqCst);
        if reader.is_finished() {
            break;
        }
    }
    for fetched in reader.join().expect("it does not panic") {
        assert_eq!(part(fetched.expect("it is asked again")), "a value");
    }
    let traffic = server.traffic();
    assert!(traffic.requests <= 2000, "{traffic:?}");
    assert!((1..300).contains(&traffic.faults), "{traffic:?}");
    assert!(traffic.most_in_flight <= 256, "{traffic:?}");
}

#[test]
fn an_outage_that_lasts_ends_every_call() {
    let server = ObjectServer::start(Dialect::S3);
    server.faults([FaultRule::always(Fault::Status(503))]);
    let options = options(&server)
        .retry_for(Duration::from_secs(1))
        .requests_in_flight(4);
    let store = s3_with(&options, "");
    let fetch = whole("a");
    for fetched in block_on(join_all((0..64).map(|_| store.fetch(&fetch)))) {
        assert!(
            matches!(fetched, Err(StoreError::Unavailable { .. })),
            "{fetched:?}"
        );
    }
}

/// No resolver looks up a name with a label of 64 letters.
#[test]
fn a_host_without_an_address_is_not_looked_up_eight_times() {
    let options = ndzarr_store_object::RemoteOptions::new()
        .endpoint(format!("http://{}.invalid", "a".repeat(64)));
    let error =
        block_on(s3_with(&options, "").fetch(&whole("a"))).expect_err("there is no such host");
    assert!(
        matches!(error, StoreError::Unavailable { attempts: 3, .. }),
        "{error:?}"
    );
}
