//! Reads that are sent twice because their answer is late.

use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use ndzarr_store::{AsyncStore, Key, Precondition, StoreError, block_on};
use ndzarr_store_object::ObjectStore;
use ndzarr_testkit::object_server::{Dialect, Fault, FaultRule, ObjectServer, Request};

use crate::it::virtual_clock::VirtualClock;
use crate::it::{options, part, s3_with, whole};

const HOUR: Duration = Duration::from_secs(3600);

/// A store that hedges, and has read often enough to send some requests twice.
fn store(server: &ObjectServer, clock: &VirtualClock) -> Result<ObjectStore, StoreError> {
    server.objects().put("a", "a value");
    let options = options(server)
        .connect_timeout(100 * HOUR)
        .read_timeout(100 * HOUR)
        .retry_for(100 * HOUR);
    let store = s3_with(&options.hedge_after(HOUR).runtime(clock.handle()), "");
    for _ in 0..20 {
        block_on(store.fetch(&whole("a")))?;
    }
    server.forget();
    Ok(store)
}

/// Holds the first request back until the second has come.
fn hold_first(server: &ObjectServer) {
    let n = Mutex::new(0);
    let come = Condvar::new();
    server.before_each(move |_: &Request| {
        let mut n = n.lock().expect("no panic");
        *n += 1;
        come.notify_all();
        drop(come.wait_while(n, |n| *n < 2).expect("no panic"));
    });
}

fn wait_for(server: &ObjectServer, requests: u64) {
    while server.traffic().requests < requests {
        thread::yield_now();
    }
}

#[test]
fn the_second_answer_counts_if_the_first_is_late() -> Result<(), StoreError> {
    let server = ObjectServer::start(Dialect::S3);
    let clock = VirtualClock::start();
    let store = store(&server, &clock)?;
    hold_first(&server);
    // The first ends without an answer.
    server.faults([FaultRule::always(Fault::Hang).times(1)]);
    let reader = thread::spawn(move || block_on(store.fetch(&whole("a"))).map(part));
    wait_for(&server, 1);
    assert!(!reader.is_finished());
    clock.advance(HOUR + Duration::from_secs(1));
    assert_eq!(reader.join().expect("it does not panic")?, "a value");
    assert_eq!(server.traffic().requests, 2);
    Ok(())
}

#[test]
fn the_first_answer_counts_if_the_second_fails() -> Result<(), StoreError> {
    for fault in [Fault::Status(500), Fault::Reset, Fault::Status(503)] {
        let server = ObjectServer::start(Dialect::S3);
        let clock = VirtualClock::start();
        let store = store(&server, &clock)?;
        hold_first(&server);
        server.faults([FaultRule::every(2, fault)]);
        let reader = thread::spawn(move || block_on(store.fetch(&whole("a"))).map(part));
        wait_for(&server, 1);
        clock.advance(HOUR + Duration::from_secs(1));
        assert_eq!(reader.join().expect("it does not panic")?, "a value");
        assert_eq!(server.traffic().requests, 2);
    }
    Ok(())
}

#[test]
fn few_reads_and_no_writes_are_sent_twice() -> Result<(), StoreError> {
    let server = ObjectServer::start(Dialect::S3);
    let clock = VirtualClock::start();
    let store = store(&server, &clock)?;
    let held = server.hold();
    // A write, and four reads of which one may be sent twice.
    let writer = thread::spawn({
        let store = store.clone();
        move || block_on(store.put(&Key::new("b")?, &["b".into()], Precondition::None))
    });
    held.wait_for(1);
    clock.advance(10 * HOUR);
    assert_eq!(server.traffic().requests, 1);
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let store = store.clone();
            thread::spawn(move || block_on(store.fetch(&whole("a"))).map(part))
        })
        .collect();
    held.wait_for(5);
    clock.advance(10 * HOUR);
    held.wait_for(6);
    clock.advance(10 * HOUR);
    assert_eq!(server.traffic().requests, 6);
    drop(held);
    writer.join().expect("it does not panic")?;
    for reader in readers {
        assert_eq!(reader.join().expect("it does not panic")?, "a value");
    }
    assert_eq!(server.traffic().requests, 6);
    Ok(())
}
