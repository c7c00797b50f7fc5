//! Answers that are slow, stall, or are no longer waited for.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use ndzarr_store::{AsyncStore, Fetch, Key, Precondition, Prefix, Put, StoreError, Want, block_on};
use ndzarr_store_object::RemoteOptions;
use ndzarr_testkit::object_server::{Dialect, Fault, FaultRule, ObjectServer};

use crate::it::virtual_clock::VirtualClock;
use crate::it::{options, part, s3_with, whole};

const HOUR: Duration = Duration::from_secs(3600);

/// An answer in pieces that are larger than what sockets hold: when one is sent, the client has
/// read some of it.
#[test]
fn rs_21_an_answer_takes_as_long_as_bytes_come() -> Result<(), StoreError> {
    const PIECE: usize = 32 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let clock = VirtualClock::start();
    let options = RemoteOptions::new()
        .endpoint(format!(
            "http://{}",
            listener.local_addr().expect("it is bound")
        ))
        .connect_timeout(10 * HOUR)
        .read_timeout(HOUR)
        .runtime(clock.handle());
    let store = s3_with(&options, "");
    let size = 3 * PIECE;
    let reader = thread::spawn(move || {
        let fetch = Fetch {
            want: Want::Ranges(vec![0..size as u64]),
            ..whole("a")
        };
        block_on(store.fetch(&fetch)).map(part)
    });
    let (mut stream, _) = listener.accept().expect("the store connects");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a request");
        head.extend(byte);
    }
    let last = size - 1;
    let head = format!(
        "HTTP/1.1 206 Partial Content\r\nContent-Length: {size}\r\nContent-Range: bytes 0-{last}/{size}\r\n\
         ETag: \"a\"\r\nLast-Modified: Wed, 21 Oct 2026 07:28:00 GMT\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).expect("it is read");
    for _ in 0..3 {
        stream.write_all(&vec![7; PIECE]).expect("it is read");
        // All together more than twice the time that may pass without a byte.
        clock.advance(HOUR * 3 / 4);
    }
    assert_eq!(reader.join().expect("it does not panic")?, vec![7; size]);
    Ok(())
}

/// A server that reads slowly, in pieces that are larger than what sockets hold.
#[test]
fn rs_21_a_write_takes_as_long_as_bytes_go() -> Result<(), StoreError> {
    const PIECE: usize = 32 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let clock = VirtualClock::start();
    let options = RemoteOptions::new()
        .endpoint(format!(
            "http://{}",
            listener.local_addr().expect("it is bound")
        ))
        .connect_timeout(10 * HOUR)
        .read_timeout(HOUR)
        .retry_for(Duration::ZERO)
        .runtime(clock.handle());
    let store = s3_with(&options, "");
    let value = Bytes::from((0..3 * PIECE).map(|at| (at / 5) as u8).collect::<Vec<_>>());
    let sent = value.clone();
    let writer = thread::spawn(move || {
        block_on(store.put(&Key::new("a").expect("a key"), &[sent], Precondition::None))
    });
    let (mut stream, _) = listener.accept().expect("the store connects");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a request");
        head.extend(byte);
    }
    let head = String::from_utf8(head)
        .expect("it is ASCII")
        .to_ascii_lowercase();
    assert!(
        head.contains(&format!("content-length: {}\r\n", value.len())),
        "{head}"
    );
    let mut piece = vec![0; PIECE];
    for expected in value.chunks(PIECE) {
        clock.advance(HOUR * 3 / 4);
        stream.read_exact(&mut piece).expect("it is sent");
        assert!(piece == expected);
    }
    stream
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: \"a\"\r\n\r\n")
        .expect("it is read");
    let put = writer.join().expect("it does not panic")?;
    assert!(matches!(put, Put::Done(Some(_))), "{put:?}");
    Ok(())
}

#[test]
fn rs_22_answers_that_stop_are_asked_for_again() {
    for fault in [Fault::Stall, Fault::Hang] {
        let server = ObjectServer::start(Dialect::S3);
        server.objects().put("a", "a value");
        server.faults([FaultRule::always(fault.clone()).times(64)]);
        let clock = VirtualClock::start();
        let options = options(&server)
            .read_timeout(HOUR)
            .retry_for(100 * HOUR)
            .runtime(clock.handle());
        let store = s3_with(&options.connect_timeout(100 * HOUR), "");
        let reader = thread::spawn(move || {
            let fetch = whole("a");
            block_on(join_all((0..64).map(|_| store.fetch(&fetch))))
        });
        let have_stopped = || {
            let traffic = server.traffic();
            let seen = server.requests();
            let answered = seen.iter().filter(|seen| seen.status.is_some()).count();
            traffic.faults == 64
                && (fault == Fault::Hang || (answered == 64 && traffic.bytes_sent > 64 * 100))
        };
        while !have_stopped() {
            thread::yield_now();
        }
        clock.advance(HOUR + Duration::from_secs(1));
        // Each waits a little before its next attempt.
        let since = Instant::now();
        while !reader.is_finished() {
            clock.advance(Duration::from_secs(1));
            assert!(
                since.elapsed() < Duration::from_secs(120),
                "they are not asked for again: {fault:?}"
            );
        }
        for fetched in reader.join().expect("it does not panic") {
            assert_eq!(part(fetched.expect("it is asked again")), "a value");
        }
        // Each request was made twice.
        assert_eq!(server.traffic().requests, 128, "{fault:?}");
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

/// A server that sends a byte now and then, in a value and in an error.
#[test]
fn rs_22_an_answer_of_which_hardly_anything_comes_ends() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nETag: \"a\"\r\n\
              Last-Modified: Wed, 21 Oct 2026 07:28:00 GMT\r\n\r\n";
    let denied = "HTTP/1.1 403 Forbidden\r\n\r\n<Error><Code>AccessDenied</Code>";
    let list = "HTTP/1.1 200 OK\r\n\r\n<ListBucketResult>";
    for head in [ok, denied, list] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let clock = VirtualClock::start();
        let options = RemoteOptions::new()
            .endpoint(format!(
                "http://{}",
                listener.local_addr().expect("it is bound")
            ))
            .connect_timeout(10 * HOUR)
            .read_timeout(HOUR)
            .retry_for(Duration::ZERO)
            .runtime(clock.handle());
        let store = s3_with(&options, "");
        let reader = thread::spawn(move || {
            if head == list {
                block_on(store.list_prefix(&Prefix::root())).map(drop)
            } else {
                block_on(store.fetch(&whole("a"))).map(drop)
            }
        });
        let (mut stream, _) = listener.accept().expect("the store connects");
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a request");
            request.extend(byte);
        }
        stream.write_all(head.as_bytes()).expect("it is read");
        let mut n_bytes = 0;
        while !reader.is_finished() {
            // The client may have gone away.
            let _ = stream.write_all(b"a");
            clock.advance(HOUR / 10);
            n_bytes += 1;
            assert!(n_bytes < 1000, "it waits for each byte: {head}");
        }
        let error = reader
            .join()
            .expect("it does not panic")
            .expect_err("it does not end");
        if head == denied {
            assert!(error.to_string().contains("AccessDenied"), "{error}");
        } else {
            assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        }
    }
}

/// If the pause is longer than failed requests are repeated for, the caller decides.
#[test]
fn rs_30_a_service_that_asks_for_a_pause_of_a_day_is_an_error_at_once() {
    let server = ObjectServer::start(Dialect::S3);
    server.faults([FaultRule::always(Fault::RetryAfter {
        status: 503,
        seconds: 86_400,
    })]);
    let clock = VirtualClock::start();
    let store = s3_with(
        &options(&server)
            .connect_timeout(HOUR)
            .runtime(clock.handle()),
        "",
    );
    // The clock is never moved, so nothing waits.
    let error = block_on(store.fetch(&whole("a"))).expect_err("it is refused");
    assert!(
        matches!(error, StoreError::Unavailable { attempts: 1, .. }),
        "{error:?}"
    );
    assert!(
        error
            .to_string()
            .contains("to be tried again after 86400 s"),
        "{error}"
    );
}
