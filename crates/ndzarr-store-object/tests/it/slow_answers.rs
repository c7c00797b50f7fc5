//! Answers that take their time, stop, or are no longer waited for.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use ndzarr_store::{AsyncStore, StoreError, block_on};
use ndzarr_testkit::object_server::{Dialect, Fault, FaultRule, ObjectServer};

use crate::{options, part, s3_with, whole};

#[test]
fn rs_21_an_answer_takes_as_long_as_bytes_come() -> Result<(), StoreError> {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", vec![7; 60 << 10]);
    // In all more than twice what may pass without a byte.
    server.faults([FaultRule::always(Fault::Slow(Duration::from_millis(30)))]);
    let store = s3_with(&options(&server).read_timeout(Duration::from_millis(800)), "");
    assert_eq!(part(block_on(store.fetch(&whole("a")))?), vec![7; 60 << 10]);
    assert_eq!(server.traffic().requests, 1);
    Ok(())
}

#[test]
fn rs_22_answers_that_stop_are_asked_for_again() {
    for fault in [Fault::Stall, Fault::Hang] {
        let server = ObjectServer::start(Dialect::S3);
        server.objects().put("a", "a value");
        server.faults([FaultRule::always(fault).times(64)]);
        let store = s3_with(&options(&server).read_timeout(Duration::from_millis(500)), "");
        let fetch = whole("a");
        for fetched in block_on(join_all((0..64).map(|_| store.fetch(&fetch)))) {
            assert_eq!(part(fetched.expect("it is asked again")), "a value");
        }
        // Those that the first time stopped, and once more each.
        assert!(server.traffic().requests >= 128, "{:?}", server.traffic());
    }
}

/// The store allows one request at once: the second is sent only if the first has ended.
#[test]
fn rs_23_a_dropped_read_ends_its_request() -> Result<(), StoreError> {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", "a value");
    let store = s3_with(&options(&server).requests_in_flight(1), "");
    let fetch = whole("a");
    let held = server.hold();
    let mut first = store.fetch(&fetch);
    assert!((&mut first).now_or_never().is_none());
    held.wait_for(1);
    drop(first);
    let mut second = store.fetch(&fetch);
    assert!((&mut second).now_or_never().is_none());
    held.wait_for(2);
    drop(held);
    assert_eq!(part(block_on(second)?), "a value");
    assert_eq!(server.traffic().requests, 2);
    Ok(())
}
