//! Faults, counts and the life of the server.

use std::io::ErrorKind;
use std::time::Duration;

use ndzarr_testkit::ObjectServer;
use ndzarr_testkit::object_server::{Dialect, Fault, FaultRule};

use super::client::Client;

fn start(fault: Fault) -> (ObjectServer, Client) {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", "0123456789");
    server.faults([FaultRule::always(fault)]);
    let client = Client::new(&server);
    (server, client)
}

fn get(client: &mut Client) -> std::io::Result<super::client::Answer> {
    client.begin("GET", "/bucket/a", &[], b"");
    client.answer("GET")
}

#[test]
fn refusals_do_nothing() {
    for (status, code) in [
        (503, "SlowDown"),
        (500, "InternalError"),
        (403, "AccessDenied"),
    ] {
        let (server, mut client) = start(Fault::Status(status));
        let answer = client.put("/bucket/b", &[], "value");
        assert_eq!((answer.status, answer.element("Code")), (status, code));
        assert_eq!(server.objects().keys(), ["a"]);
    }
    let (_server, mut client) = start(Fault::RetryAfter {
        status: 429,
        seconds: 7,
    });
    assert_eq!(client.get("/bucket/a").header("retry-after"), Some("7"));
}

#[test]
fn resets_and_lost_answers_end_the_connection() {
    for (fault, is_done) in [(Fault::Reset, false), (Fault::Lost, true)] {
        let (server, mut client) = start(fault.clone());
        for body in [b"".as_slice(), &[7; 300_000]] {
            client.begin("PUT", "/bucket/b", &[], body);
            assert_eq!(
                client.answer("PUT").expect_err("it is lost").kind(),
                ErrorKind::ConnectionReset
            );
            assert_eq!(
                server
                    .objects()
                    .get("b")
                    .is_some_and(|value| value.len() == body.len()),
                is_done
            );
            client = Client::new(&server);
        }
        client.begin("GET", "/bucket/a", &[], b"");
        assert_eq!(
            client.answer("GET").expect_err("it is lost").kind(),
            ErrorKind::ConnectionReset
        );
    }
    let (server, mut client) = start(Fault::Lost500);
    assert_eq!(client.put("/bucket/b", &[], "value").status, 500);
    assert_eq!(server.objects().keys(), ["a", "b"]);
    assert_eq!(server.requests()[0].status, Some(200));
}

#[test]
#[cfg_attr(
    windows,
    ignore = "under wine, a client waits for ever at the end of a connection"
)]
fn bodies_are_wrong_as_the_fault_says() {
    let read = |fault| get(&mut start(fault).1);
    assert_eq!(
        read(Fault::Truncate).expect_err("half").kind(),
        ErrorKind::ConnectionReset
    );
    assert_eq!(
        read(Fault::TruncateFin).expect_err("half").kind(),
        ErrorKind::UnexpectedEof
    );
    assert_eq!(read(Fault::Short).expect("an answer").text(), "012345678");
    assert_eq!(
        read(Fault::Long(10)).expect_err("too little").kind(),
        ErrorKind::UnexpectedEof
    );
    assert_eq!(
        read(Fault::Corrupt).expect("an answer").text(),
        "0123446789"
    );
    assert_eq!(
        read(Fault::Slow(Duration::ZERO)).expect("an answer").text(),
        "0123456789"
    );
    let answer = read(Fault::HugeHeader(1 << 20)).expect("an answer");
    assert_eq!(answer.header("x-padding").map(str::len), Some(1 << 20));
}

#[test]
fn headers_are_wrong_as_the_fault_says() {
    let (server, mut client) = start(Fault::NoRange);
    let range = [("Range", "bytes=2-3")];
    assert_eq!(client.send("GET", "/bucket/a", &range, b"").status, 200);
    server.faults([FaultRule::always(Fault::WrongRange)]);
    assert_eq!(
        client
            .send("GET", "/bucket/a", &range, b"")
            .header("content-range"),
        Some("bytes 3-4/10")
    );
    server.faults([FaultRule::always(Fault::NoConditions)]);
    assert_eq!(
        client
            .put("/bucket/a", &[("If-None-Match", "*")], "0123456789")
            .status,
        200
    );
    server.faults([FaultRule::always(Fault::NoEtag)]);
    assert_eq!(client.get("/bucket/a").header("etag"), None);
    server.faults([FaultRule::always(Fault::WeakEtag)]);
    let weak = "W/\"781e5e245d69b566979b86e28d23f2c7\"";
    assert_eq!(client.get("/bucket/a").header("etag"), Some(weak));
    server.faults([FaultRule::always(Fault::DeniedIfMissing)]);
    assert_eq!(
        (
            client.get("/bucket/b").status,
            client.get("/bucket/a").status
        ),
        (403, 200)
    );
    server.faults([FaultRule::always(Fault::RedirectCircle)]);
    assert_eq!(
        client.get("/bucket/a?x=1").header("location"),
        Some("/bucket/a?x=1")
    );
    server.faults([FaultRule::always(Fault::EndlessList)]);
    let page = client.get("/bucket?list-type=2");
    let next = client.get(&format!(
        "/bucket?list-type=2&continuation-token={}",
        page.element("NextContinuationToken")
    ));
    assert_eq!(
        (next.element("IsTruncated"), next.elements("Key").len()),
        ("true", 0)
    );
    assert_ne!(
        next.element("NextContinuationToken"),
        page.element("NextContinuationToken")
    );
}

#[test]
fn rules_count_what_they_mean() {
    let (server, mut client) = start(Fault::Reset);
    let rule = FaultRule::every(2, Fault::Status(503))
        .of(&["GET"])
        .times(2);
    server.faults([rule.only_if(|request| request.target.ends_with("/a"))]);
    let mut statuses = Vec::new();
    for target in [
        "/bucket/a",
        "/bucket/b",
        "/bucket/a",
        "/bucket/a",
        "/bucket/a",
        "/bucket/a",
        "/bucket/a",
    ] {
        statuses.push(client.get(target).status);
    }
    assert_eq!(statuses, [200, 404, 503, 200, 503, 200, 200]);
    let traffic = server.traffic();
    assert_eq!(
        (
            traffic.requests,
            traffic.connections,
            traffic.faults,
            traffic.most_in_flight
        ),
        (7, 1, 2, 1)
    );
    server.forget();
    assert_eq!(server.traffic().requests, 0);
}

#[test]
fn random_faults_are_the_same_for_each_seed() {
    let statuses = |seed: &str| {
        let (server, mut client) = start(Fault::Hang);
        server.faults([FaultRule::at_random(
            seed,
            4,
            [Fault::Status(503), Fault::Status(500)],
        )]);
        (0..100)
            .map(|_| client.get("/bucket/a").status)
            .collect::<Vec<_>>()
    };
    let one = statuses("one");
    assert_eq!(one, statuses("one"));
    assert_ne!(one, statuses("another"));
    let count = |status| one.iter().filter(|&&found| found == status).count();
    assert!(
        count(200) > 50 && count(500) > 3 && count(503) > 3,
        "{one:?}"
    );
}

/// The length is stated right; a client that inflates it gets more than 1 GB of zeros.
#[test]
fn gzip_bombs_are_gzip() {
    let (_server, mut client) = start(Fault::GzipBomb);
    let bomb = get(&mut client).expect("an answer");
    assert_eq!(bomb.header("content-encoding"), Some("gzip"));
    let mut inflated = std::io::Read::take(flate2::read::GzDecoder::new(&bomb.body[..]), 1 << 20);
    assert_eq!(
        std::io::copy(&mut inflated, &mut std::io::sink()).expect("it inflates"),
        1 << 20
    );
}

#[test]
fn held_requests_are_in_flight_together() {
    let (server, _) = start(Fault::Hang);
    server.heal();
    let mut clients: Vec<_> = (0..5).map(|_| Client::new(&server)).collect();
    let held = server.hold();
    for client in &mut clients {
        client.begin("GET", "/bucket/a", &[], b"");
    }
    held.wait_for(5);
    drop(held);
    for client in &mut clients {
        assert_eq!(client.answer("GET").expect("an answer").status, 200);
    }
    assert_eq!(server.traffic().most_in_flight, 5);
}

/// A hook may change the object that the request is for.
#[test]
fn hooks_run_first() {
    let (server, mut client) = start(Fault::Hang);
    server.heal();
    let objects = server.objects().clone();
    server.before_each(move |request| objects.put("a", request.target.clone()));
    assert_eq!(client.get("/bucket/a").text(), "/bucket/a");
}

/// Nothing that hangs or never ends outlives the server.
#[test]
fn the_end_of_the_server_is_the_end_of_its_answers() {
    for fault in [
        Fault::Hang,
        Fault::Stall,
        Fault::EndlessBody,
        Fault::EndlessHeaders,
        Fault::Slow(Duration::from_secs(3600)),
    ] {
        let (server, mut client) = start(fault);
        let held = server.hold();
        client.begin("GET", "/bucket/a", &[], b"");
        held.wait_for(1);
        drop(held);
        drop(server);
        // Cut off or reset.
        let _ = client.rest();
    }
}
