//! Answers that are late, cut off, about another value, or not as requested.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ndzarr_store::{
    AsyncStore, Fetch, Fetched, Key, Of, Precondition, Prefix, Put, StoreError, Want, block_on,
};
use ndzarr_store_object::{ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};

use crate::it::hostile::answering;
use crate::it::{Outcome, fetch, options, read, s3, tried_s3};

fn azure(server: &ObjectServer) -> ObjectStore {
    let options = RemoteOptions::new().endpoint(server.url()).account("lab");
    ObjectStore::azure(BUCKET, "", &options).expect("the options fit")
}

pub(crate) fn web(server: &ObjectServer) -> ObjectStore {
    ObjectStore::http(&server.url(), &once()).expect("it is a URL")
}

/// Options with a single attempt.
fn once() -> RemoteOptions {
    RemoteOptions::new().retry_for(Duration::ZERO)
}

fn create(store: &ObjectStore, key: &str, value: &'static str) -> Result<Put, StoreError> {
    block_on(store.put(&Key::new(key)?, &[value.into()], Precondition::Absent))
}

#[test]
fn rs_04_a_race_for_a_new_key_is_run_again_and_has_one_winner() -> Outcome {
    // Amazon answers 409 while another request for the key is under way.
    let server = ObjectServer::start(Dialect::S3);
    let store = tried_s3(&server);
    server.faults([FaultRule::always(Fault::Status(409)).of(&["PUT"]).times(2)]);
    let put = create(&store, "a", "value")?;
    assert!(matches!(put, Put::Done(Some(_))), "{put:?}");
    assert_eq!(server.objects().get("a").as_deref(), Some(&b"value"[..]));

    // If no writer wins, and no value exists, that is an error and not a conflict.
    server.faults([FaultRule::always(Fault::Status(409)).of(&["PUT"])]);
    let options = options(&server).retry_for(Duration::ZERO);
    let put = create(&ObjectStore::s3(BUCKET, "", &options)?, "b", "value");
    assert!(put.is_err(), "{put:?}");

    // On Azure 409 means that the blob exists.
    let server = ObjectServer::start(Dialect::Azure);
    let store = azure(&server);
    assert!(matches!(create(&store, "tried", "value")?, Put::Done(_)));
    server.objects().put("there", "of another");
    server.forget();
    assert!(matches!(create(&store, "there", "value")?, Put::Conflict));
    assert!(
        server.traffic().requests <= 4,
        "of a loser: {:?}",
        server.traffic()
    );
    // The mark shows that it is the blob of this writer, whose answer was lost.
    for fault in [Fault::Lost500, Fault::Lost] {
        server.faults([FaultRule::always(fault.clone()).of(&["PUT"]).times(1)]);
        let put = create(&store, &format!("{fault:?}"), "value")?;
        assert!(matches!(put, Put::Done(Some(_))), "{fault:?}: {put:?}");
    }
    server.heal();
    for race in 0..20 {
        server.forget();
        let key = format!("race{race}");
        let start = Barrier::new(4);
        let winners = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for value in ["a", "b", "c", "d"] {
                let (store, key, start, winners, server) =
                    (&store, &key, &start, &winners, &server);
                scope.spawn(move || {
                    start.wait();
                    match create(store, key, value).expect("the server answers") {
                        Put::Done(_) => {
                            winners.fetch_add(1, Ordering::Relaxed);
                            assert_eq!(
                                server.objects().get(key).as_deref(),
                                Some(value.as_bytes())
                            );
                        }
                        put => assert!(matches!(put, Put::Conflict), "{put:?}"),
                    }
                });
            }
        });
        assert_eq!(winners.into_inner(), 1);
        // One request for the winner, and at most four for each of the others.
        assert!(server.traffic().requests <= 13, "{:?}", server.traffic());
    }
    Ok(())
}

#[test]
fn rs_08_ranges_of_two_values_are_requested_again() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", "first");
    server.faults([FaultRule::always(Fault::NoConditions)]);
    // Another writer writes between the requests of one fetch, which are sent one at a time.
    let objects = server.objects().clone();
    let n_requests = AtomicU32::new(0);
    server.before_each(move |_| {
        if n_requests.fetch_add(1, Ordering::Relaxed) == 1 {
            objects.put("a", "other");
        }
    });
    let store = ObjectStore::s3(BUCKET, "", &options(&server).requests_in_flight(1))?;
    let Fetched::Parts { pin, parts, .. } = fetch(&store, "a", Want::Ranges(vec![0..2, 2..5]))?
    else {
        panic!("it is there")
    };
    assert_eq!(parts, ["ot", "her"]);
    assert_eq!(server.traffic().requests, 4);

    // The pin is checked here, too: this server ignores it.
    server.objects().put("a", "third");
    let of = Of::Snapshot(pin);
    let want = Want::Ranges(vec![0..1]);
    let fetched = block_on(store.fetch(&Fetch {
        key: Key::new("a")?,
        of,
        want,
    }))?;
    assert!(matches!(fetched, Fetched::Changed), "{fetched:?}");
    Ok(())
}

#[test]
fn rs_12_weak_etags_are_compared_and_never_sent() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", "value");
    server.faults([FaultRule::always(Fault::WeakEtag)]);
    let store = s3(&server, "");
    let Fetched::Parts { pin, .. } = fetch(&store, "a", Want::Ranges(vec![0..1, 3..5]))? else {
        panic!("it is there")
    };
    let pinned = || Fetch {
        key: Key::new("a").expect("a key"),
        of: Of::Snapshot(pin.clone()),
        want: Want::Tail(2),
    };
    assert!(matches!(
        block_on(store.fetch(&pinned()))?,
        Fetched::Parts { .. }
    ));
    // No other writer would be noticed.
    let put = block_on(store.put(
        &Key::new("a")?,
        &["b".into()],
        Precondition::Current(pin.clone()),
    ))?;
    assert!(matches!(put, Put::Unsupported), "{put:?}");
    server.objects().put("a", "other");
    assert!(matches!(
        block_on(store.fetch(&pinned()))?,
        Fetched::Changed
    ));
    for seen in server.requests() {
        assert_eq!(seen.request.header("if-match"), None, "{:?}", seen.request);
        assert_ne!(seen.request.method, "PUT");
    }
    Ok(())
}

#[test]
fn rs_13_cut_and_padded_answers_are_never_values() -> Outcome {
    let value = "0123456789".repeat(100);
    let faults = [
        Fault::Short,
        Fault::Long(10),
        Fault::Truncate,
        Fault::TruncateFin,
        Fault::WrongRange,
    ];
    for dialect in [Dialect::S3, Dialect::Gcs, Dialect::Azure, Dialect::Http] {
        let server = ObjectServer::start(dialect);
        server.objects().put("a", value.clone());
        let options = once().endpoint(server.url()).account("lab");
        let store = match dialect {
            Dialect::S3 => ObjectStore::s3(BUCKET, "", &options)?,
            Dialect::Gcs => ObjectStore::gcs(BUCKET, "", &options)?,
            Dialect::Azure => ObjectStore::azure(BUCKET, "", &options)?,
            Dialect::Http => web(&server),
        };
        for fault in &faults {
            server.faults([FaultRule::always(fault.clone()).of(&["GET"])]);
            let wants = [
                Want::Ranges(vec![10..20, 500..600]),
                Want::Tail(100),
                Want::Whole { limit: 1 << 20 },
            ];
            for want in wants {
                // Nothing shows that a whole value was longer once, and its answer has no range.
                let is_whole = matches!(want, Want::Whole { .. });
                if is_whole && matches!(fault, Fault::Short | Fault::WrongRange) {
                    continue;
                }
                let fetched = fetch(&store, "a", want.clone());
                assert!(
                    fetched.is_err(),
                    "{dialect:?} {fault:?} {want:?}: {fetched:?}"
                );
            }
        }
        // A second attempt brings the value.
        if dialect == Dialect::S3 {
            for fault in &faults[1..] {
                server.faults([FaultRule::every(1, fault.clone()).of(&["GET"]).times(1)]);
                assert_eq!(
                    read(&s3(&server, ""), "a")?.as_deref(),
                    Some(value.as_bytes()),
                    "{fault:?}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn rs_13_a_part_of_a_list_is_not_the_list() -> Outcome {
    for (dialect, fault) in [
        (Dialect::S3, Fault::Short),
        (Dialect::S3, Fault::TruncateFin),
        (Dialect::Gcs, Fault::Short),
        (Dialect::Azure, Fault::Short),
        (Dialect::Azure, Fault::Long(1)),
    ] {
        let server = ObjectServer::start(dialect);
        for number in 0..10 {
            server.objects().put(&format!("a{number}"), "value");
        }
        server.faults([FaultRule::always(fault)]);
        let options = once().endpoint(server.url()).account("lab");
        let store = match dialect {
            Dialect::S3 => ObjectStore::s3(BUCKET, "", &options)?,
            Dialect::Gcs => ObjectStore::gcs(BUCKET, "", &options)?,
            _ => ObjectStore::azure(BUCKET, "", &options)?,
        };
        let listed = block_on(store.list_prefix(&Prefix::root()));
        assert!(
            matches!(listed, Err(StoreError::Unavailable { .. })),
            "{dialect:?}: {listed:?}"
        );
        server.faults([FaultRule::always(Fault::Short).times(1)]);
        let store = store_with_retries(&server, dialect)?;
        assert_eq!(block_on(store.list_prefix(&Prefix::root()))?.len(), 10);
    }
    Ok(())
}

/// A store that repeats requests.
fn store_with_retries(server: &ObjectServer, dialect: Dialect) -> Result<ObjectStore, StoreError> {
    let options = RemoteOptions::new().endpoint(server.url()).account("lab");
    match dialect {
        Dialect::S3 => ObjectStore::s3(BUCKET, "", &options),
        Dialect::Gcs => ObjectStore::gcs(BUCKET, "", &options),
        _ => ObjectStore::azure(BUCKET, "", &options),
    }
}

#[test]
fn rs_15_a_redirect_to_a_folder_is_a_missing_value() -> Outcome {
    let server = ObjectServer::start(Dialect::Http);
    server.objects().put("a/zarr.json", "{}");
    for query in ["", "?token=a"] {
        let store = ObjectStore::http(&format!("{}{query}", server.url()), &once())?;
        for want in [
            Want::Whole { limit: 1000 },
            Want::Size,
            Want::Tail(4),
            Want::Ranges(vec![0..1]),
        ] {
            server.forget();
            let fetched = fetch(&store, "a", want.clone())?;
            assert!(matches!(fetched, Fetched::Missing), "{want:?}: {fetched:?}");
            assert_eq!(server.traffic().requests, 1, "{want:?}");
            assert_eq!(server.requests()[0].status, Some(301));
        }
        assert_eq!(read(&store, "a/zarr.json")?.as_deref(), Some(&b"{}"[..]));
    }
    // With each status and spelling, even of a server that does not know its own name: none is
    // followed.
    for status in [301, 302, 303, 307, 308] {
        for to in [
            "/data/a/",
            "a/",
            "a/?",
            "http://127.0.0.1:1/data/a/",
            "//localhost:1/data/a/",
        ] {
            let head =
                format!("HTTP/1.1 {status} Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
            let (url, server) = answering(head);
            let fetched = fetch(
                &ObjectStore::http(&format!("{url}/data"), &once())?,
                "a",
                Want::Tail(4),
            )?;
            assert!(
                matches!(fetched, Fetched::Missing),
                "{status} {to}: {fetched:?}"
            );
            server.join().expect("it answered");
        }
    }
    Ok(())
}

#[test]
fn rs_16_only_a_denial_may_stand_for_a_missing_value() -> Outcome {
    for (code, or_missing) in [
        (Some("AccessDenied"), true),
        (None, true),
        (Some("InvalidObjectState"), false),
        (Some("RequestTimeTooSkewed"), false),
        (Some("SignatureDoesNotMatch"), false),
        (Some("InvalidAccessKeyId"), false),
        (Some("ExpiredToken"), false),
    ] {
        let body = code
            .map(|code| format!("<Error><Code>{code}</Code></Error>"))
            .unwrap_or_default();
        let denied = format!(
            "HTTP/1.1 403 No\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let (url, _) = answering(denied);
        let store = ObjectStore::s3(BUCKET, "", &once().endpoint(url).missing_if_denied())?;
        match fetch(&store, "a", Want::Whole { limit: 1 << 20 }) {
            Err(StoreError::Denied {
                or_missing: found,
                what,
                ..
            }) => {
                assert_eq!(found, or_missing, "{code:?}");
                assert!(what.contains(code.unwrap_or_default()), "{what}");
            }
            fetched => panic!("{code:?}: {fetched:?}"),
        }
    }
    Ok(())
}

#[test]
fn odd_heads_are_accepted_if_they_tell_enough() -> Outcome {
    let whole = || Want::Whole { limit: 100 };
    let cases: [(&[u8], Want, u64, &str); 3] = [
        // The length follows from the range.
        (
            b"206 Partial Content\r\nContent-Range: bytes 2-4/10\r\n\r\n234",
            Want::Ranges(vec![2..5]),
            10,
            "234",
        ),
        (
            b"200 OK\r\nContent-Length: 3\r\nContent-Disposition: inline; filename=\"\xe9\"\r\n\r\n012",
            whole(),
            3,
            "012",
        ),
        (
            "200 OK\r\nContent-Length: 3\r\nX-Amz-Meta-Of: é\r\nETag: \"a\"\r\n\r\n012".as_bytes(),
            whole(),
            3,
            "012",
        ),
    ];
    for (answer, want, expected, part) in cases {
        let (url, server) = answering([b"HTTP/1.1 ", answer].concat());
        let fetched = fetch(&ObjectStore::http(&url, &once())?, "a", want)?;
        let Fetched::Parts { size, parts, .. } = fetched else {
            panic!("{fetched:?}")
        };
        assert_eq!((size, parts), (expected, vec![part.into()]));
        server.join().expect("it answered");
    }
    // Another attempt would bring the same.
    let (url, server) = answering("HTTP/1.1 200 OK\r\n\r\n012");
    let error = fetch(
        &ObjectStore::http(&url, &RemoteOptions::new())?,
        "a",
        whole(),
    )
    .expect_err("no length");
    assert!(matches!(error, StoreError::Other { .. }), "{error:?}");
    assert!(error.to_string().contains("Content-Length"), "{error}");
    server.join().expect("it answered");
    Ok(())
}

#[test]
fn rs_11_a_state_that_shows_no_changes_has_no_light_pin() -> Outcome {
    let server = ObjectServer::start(Dialect::Http);
    server.objects().put("a", "value");
    let store = web(&server);
    for (faults, shows_changes) in [
        (vec![], true),
        (vec![FaultRule::always(Fault::NoEtag)], false),
    ] {
        server.faults(faults);
        for want in [
            Want::Whole { limit: 100 },
            Want::Size,
            Want::Ranges(vec![0..2]),
            Want::Tail(1),
        ] {
            let Fetched::Parts { pin, .. } = fetch(&store, "a", want.clone())? else {
                panic!("it is there")
            };
            assert_eq!(pin.light().is_some(), shows_changes, "{want:?}");
            let again = Fetch {
                key: Key::new("a")?,
                of: Of::IfCurrent(pin),
                want,
            };
            let is_current = matches!(block_on(store.fetch(&again))?, Fetched::Parts { .. });
            assert_eq!(is_current, shows_changes, "{:?}", again.want);
        }
    }
    Ok(())
}
