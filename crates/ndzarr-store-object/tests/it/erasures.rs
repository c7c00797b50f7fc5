//! Erasures of many values, some of which the service refuses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ndzarr_store::{AsyncStore, Key, Precondition, Prefix, StoreError, block_on};
use ndzarr_store_object::{ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};

use crate::it::hostile::answering;
use crate::it::{Outcome, options, s3};

fn open(server: &ObjectServer, dialect: Dialect, prefix: &str) -> Result<ObjectStore, StoreError> {
    let options = RemoteOptions::new().endpoint(server.url()).account("lab");
    match dialect {
        Dialect::S3 => ObjectStore::s3(BUCKET, prefix, &options),
        Dialect::Gcs => ObjectStore::gcs(BUCKET, prefix, &options),
        _ => ObjectStore::azure(BUCKET, prefix, &options),
    }
}

fn keys(names: &[&str]) -> Result<Vec<Key>, StoreError> {
    names.iter().map(Key::new).collect()
}

/// 2,499 chunks and their document, below this prefix.
fn array(server: &ObjectServer, prefix: &str) {
    for number in 0..2499 {
        server
            .objects()
            .put(&format!("{prefix}a/c/{number}"), "value");
    }
    server
        .objects()
        .put(&format!("{prefix}a/zarr.json"), "value");
}

#[test]
fn rs_19_rs_20_lists_have_pages_and_erasures_go_by_the_thousand() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    array(&server, "");
    let store = s3(&server, "");
    assert_eq!(block_on(store.list_prefix(&Prefix::root()))?.len(), 2500);
    let objects = server.objects().clone();
    let is_late = Arc::new(AtomicBool::new(false));
    let late = Arc::clone(&is_late);
    server.before_each(move |_| {
        let keys = objects.keys();
        if keys.len() < 2499 && keys.iter().any(|key| key == "a/zarr.json") {
            late.store(true, Ordering::Relaxed);
        }
    });
    server.forget();
    block_on(store.erase_prefix(&Prefix::new("a/")?))?;
    assert!(server.objects().keys().is_empty());
    // Three pages, the document, and three times up to a thousand chunks.
    assert_eq!(server.traffic().requests, 7);
    assert!(
        !is_late.load(Ordering::Relaxed),
        "a chunk was erased before the document"
    );
    Ok(())
}

#[test]
fn rs_20_a_value_that_cannot_be_removed_is_named() -> Outcome {
    // S3 names it inside an answer with the status of success.
    let server = ObjectServer::start(Dialect::S3);
    array(&server, "below/");
    for protected in ["below/a/c/1700", "below/a/c/1777", "below/a/c/1778"] {
        server.objects().protect(protected);
    }
    let store = s3(&server, "below");
    let error = block_on(store.erase_prefix(&Prefix::new("a/")?)).expect_err("it is denied");
    let StoreError::Denied { key, what, .. } = &error else {
        panic!("{error:?}")
    };
    assert_eq!(key, "a/c/1700");
    let parts = [
        "refused, like 2 other keys",
        "AccessDenied",
        "4442587FB7D0A2F9",
    ];
    assert!(parts.iter().all(|part| what.contains(part)), "{what}");
    // Three pages, the document, and the chunks up to those: no request is repeated.
    let n_requests = server.traffic().requests;
    assert!(n_requests <= 7, "{n_requests}");
    let left = server.objects().keys();
    assert!(
        left.contains(&"below/a/c/1700".to_owned()) && !left.contains(&"below/a/c/1701".to_owned())
    );

    for dialect in [Dialect::S3, Dialect::Gcs, Dialect::Azure] {
        let server = ObjectServer::start(dialect);
        for name in ["p/a", "p/b", "p/c"] {
            server.objects().put(name, "value");
        }
        server.objects().protect("p/b");
        let store = open(&server, dialect, "p")?;
        let one = Key::new("b")?;
        for error in [
            block_on(store.erase_keys(&keys(&["a", "b", "c"])?)).expect_err("one is denied"),
            block_on(store.erase_keys(&keys(&["b"])?)).expect_err("it is denied"),
            block_on(store.erase(&one, Precondition::None))
                .map(drop)
                .expect_err("it is denied"),
        ] {
            let StoreError::Denied { key, .. } = &error else {
                panic!("{dialect:?}: {error:?}")
            };
            assert_eq!(key, "b", "{dialect:?}");
        }
        assert!(
            server.traffic().requests <= 5,
            "{dialect:?}: {:?}",
            server.traffic()
        );
        assert_eq!(server.objects().get("p/b").as_deref(), Some(&b"value"[..]));
    }
    Ok(())
}

#[test]
fn rs_20_what_is_refused_for_a_while_is_asked_for_again_and_nothing_else() -> Outcome {
    for code in ["SlowDown", "InternalError"] {
        let server = ObjectServer::start(Dialect::S3);
        let store = s3(&server, "");
        for name in ["a", "b", "c"] {
            server.objects().put(name, "value");
        }
        // Another writer writes the value again before the second request.
        let objects = server.objects().clone();
        let n_requests = std::sync::atomic::AtomicU32::new(0);
        server.before_each(move |_| {
            if n_requests.fetch_add(1, Ordering::Relaxed) == 1 {
                objects.put("c", "of another");
            }
        });
        server.faults([FaultRule::always(Fault::RefusedInside(code)).times(1)]);
        block_on(store.erase_keys(&keys(&["a", "b", "c"])?))?;
        assert_eq!(server.objects().keys(), ["c"]);
        assert_eq!(server.traffic().requests, 2, "{code}");
    }
    for (code, is_unknown) in [("SlowDown", false), ("InternalError", true)] {
        let server = ObjectServer::start(Dialect::S3);
        let options = options(&server).retry_for(Duration::ZERO);
        let store = ObjectStore::s3(BUCKET, "", &options)?;
        server.faults([FaultRule::always(Fault::RefusedInside(code))]);
        let error = block_on(store.erase_keys(&keys(&["x", "y"])?)).expect_err("it is refused");
        match (is_unknown, &error) {
            (false, StoreError::Unavailable { key, .. })
            | (true, StoreError::Unknown { key, .. }) => {
                assert_eq!(key, "x");
            }
            _ => panic!("{code}: {error:?}"),
        }
        assert!(error.to_string().contains(code), "{error}");
    }
    let server = ObjectServer::start(Dialect::Azure);
    let names: Vec<String> = (0..600).map(|i| format!("a/{i}")).collect();
    for name in &names {
        server.objects().put(name, "value");
    }
    server.faults([FaultRule::always(Fault::RefusedInside("ServerBusy")).times(1)]);
    let keys: Vec<Key> = names.iter().map(Key::new).collect::<Result<_, _>>()?;
    block_on(open(&server, Dialect::Azure, "")?.erase_keys(&keys))?;
    // Requests of 256 values, and another one for the refused value.
    assert_eq!(
        (server.objects().keys(), server.traffic().requests),
        (vec![], 4)
    );
    Ok(())
}

#[test]
fn a_service_without_batches_erases_one_by_one() -> Outcome {
    for status in [404, 405, 501] {
        let server = ObjectServer::start(Dialect::S3);
        for name in ["p/a", "p/b", "p/c", "p/d", "p/e"] {
            server.objects().put(name, "value");
        }
        server.objects().protect("p/e");
        server.faults([FaultRule::always(Fault::Status(status)).of(&["POST"])]);
        let store = s3(&server, "p");
        block_on(store.erase_keys(&keys(&["a", "b", "absent"])?))?;
        assert_eq!(
            server.traffic().requests,
            4,
            "{status}: a batch, and each of its keys"
        );
        block_on(store.erase(&Key::new("c")?, Precondition::None))?;
        assert_eq!(
            server.traffic().requests,
            5,
            "{status}: no other batch is tried"
        );
        let error = block_on(store.erase_keys(&keys(&["d", "e"])?)).expect_err("one is denied");
        assert!(
            matches!(&error, StoreError::Denied { key, .. } if key == "e"),
            "{error:?}"
        );
        // The other value may be gone, or left because the error ended the call first.
        let left = server.objects().keys();
        assert!(left == ["p/e"] || left == ["p/d", "p/e"], "{left:?}");
    }
    // A batch that is repeated after another call was refused.
    let server = ObjectServer::start(Dialect::S3);
    for name in ["a", "b", "c", "d"] {
        server.objects().put(name, "value");
    }
    let busy = FaultRule::always(Fault::Status(503)).of(&["POST"]).times(1);
    server.faults([busy, FaultRule::always(Fault::Status(501)).of(&["POST"])]);
    let store = s3(&server, "");
    let some = keys(&["a", "b"])?;
    let others = keys(&["c", "d"])?;
    let (one, other) = block_on(futures_util::future::join(
        store.erase_keys(&some),
        store.erase_keys(&others),
    ));
    one.and(other)?;
    assert_eq!(
        (server.objects().keys(), server.traffic().requests),
        (vec![], 7)
    );
    Ok(())
}

/// object_store panics over some of these.
#[test]
fn answers_about_other_values_are_errors() -> Outcome {
    let once = || {
        RemoteOptions::new()
            .account("lab")
            .retry_for(Duration::ZERO)
    };
    let other = "<Key>other</Key><Code>AccessDenied</Code><Message>no</Message>";
    let long = "z".repeat(100_000);
    for (body, key) in [
        (
            format!("<DeleteResult><Error>{other}</Error></DeleteResult>"),
            "other",
        ),
        (
            format!(
                "<DeleteResult><Error><Key>a//b</Key><Code>{long}</Code></Error></DeleteResult>"
            ),
            "a//b",
        ),
        (
            format!("<DeleteResult><Error><Key>{long}</Key></Error></DeleteResult>"),
            &long[..300],
        ),
        (
            "<DeleteResult><Error><Code>AccessDenied</Code></Error></DeleteResult>".to_owned(),
            "a and 1 other keys",
        ),
        (format!("<Error>{other}</Error>"), "a and 1 other keys"),
        (
            "<DeleteResult><Deleted><Key>a</Key></Deleted>".to_owned(),
            "a and 1 other keys",
        ),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        let (url, server) = answering(head + &body);
        let store = ObjectStore::s3(BUCKET, "", &once().endpoint(url))?;
        let error = block_on(store.erase_keys(&keys(&["a", "b"])?)).expect_err("not all are gone");
        server.join().expect("it answered");
        let (StoreError::Denied { key: found, .. }
        | StoreError::Unknown { key: found, .. }
        | StoreError::Other { key: found, .. }) = &error
        else {
            panic!("{error:?}")
        };
        assert_eq!(found, key);
        assert!(error.to_string().len() < 1000, "{error}");
    }
    for inside in [
        "Content-ID: 7\r\n\r\nHTTP/1.1 403 No\r\n\r\n",
        "X: \x01\r\n\r\nHTTP/1.1 500 No\r\n\r\n",
        "",
    ] {
        let body = format!("--b\r\n{inside}\r\n--b--\r\n");
        let head = "HTTP/1.1 202 Accepted\r\nContent-Type: multipart/mixed; boundary=b\r\n";
        let (url, server) = answering(format!(
            "{head}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let store = ObjectStore::azure(BUCKET, "", &once().endpoint(url))?;
        let error = block_on(store.erase_keys(&keys(&["a"])?)).expect_err("it is not gone");
        server.join().expect("it answered");
        assert!(error.to_string().starts_with("erase a: "), "{error}");
    }
    Ok(())
}

#[test]
fn erasing_in_a_bucket_that_is_missing_is_an_error() -> Outcome {
    for dialect in [Dialect::S3, Dialect::Gcs, Dialect::Azure] {
        let server = ObjectServer::start(dialect);
        let options = RemoteOptions::new().endpoint(server.url()).account("lab");
        let store = match dialect {
            Dialect::S3 => ObjectStore::s3("nowhere", "", &options),
            Dialect::Gcs => ObjectStore::gcs("nowhere", "", &options),
            _ => ObjectStore::azure("nowhere", "", &options),
        }?;
        let one = Key::new("a")?;
        for erased in [
            block_on(store.erase(&one, Precondition::None)).map(drop),
            block_on(store.erase_keys(std::slice::from_ref(&one))),
        ] {
            let error = erased.expect_err("the bucket is missing");
            assert!(matches!(error, StoreError::NoBucket { .. }), "{error:?}");
        }
    }
    Ok(())
}

/// The answer of a server that does not know the request is not taken for that about an absent
/// value.
#[test]
fn an_erasure_that_a_server_does_not_know_is_an_error() -> Outcome {
    for dialect in [Dialect::S3, Dialect::Gcs, Dialect::Azure] {
        let server = ObjectServer::start(dialect);
        server.objects().put("a", "value");
        server.faults([FaultRule::always(Fault::Status(404)).of(&["POST", "DELETE"])]);
        let store = open(&server, dialect, "")?;
        for erased in [
            block_on(store.erase(&Key::new("a")?, Precondition::None)).map(drop),
            block_on(store.erase_keys(&keys(&["a", "absent"])?)),
            block_on(store.erase_prefix(&Prefix::root())),
        ] {
            let error = erased.expect_err("it is still there").to_string();
            assert!(
                error.starts_with("erase a") && error.contains("404"),
                "{dialect:?}: {error}"
            );
        }
        assert_eq!(server.objects().keys(), ["a"]);
        // Where values are erased one by one, a HEAD shows that this one does not exist.
        let absent = block_on(store.erase_keys(&keys(&["absent"])?));
        assert_eq!(
            absent.is_ok(),
            dialect != Dialect::Azure,
            "{dialect:?}: {absent:?}"
        );
    }
    let head = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let part = "HTTP/1.1 404 The specified container does not exist.\r\nx-ms-error-code: ContainerNotFound";
    let body = format!("--b\r\nContent-ID: 0\r\n\r\n{part}\r\n\r\n\r\n--b--\r\n");
    let multipart = "HTTP/1.1 202 Accepted\r\nContent-Type: multipart/mixed; boundary=b\r\n";
    for answer in [
        head.to_owned(),
        format!("{multipart}Content-Length: {}\r\n\r\n{body}", body.len()),
    ] {
        let (url, server) = answering(answer);
        let options = RemoteOptions::new()
            .account("lab")
            .retry_for(Duration::ZERO)
            .endpoint(url);
        let store = ObjectStore::azure(BUCKET, "", &options)?;
        let error = block_on(store.erase_keys(&keys(&["a"])?)).expect_err("it is not gone");
        server.join().expect("it answered");
        let is_no_container = error.to_string().contains("ContainerNotFound");
        assert_eq!(
            matches!(error, StoreError::NoBucket { .. }),
            is_no_container,
            "{error:?}"
        );
    }
    Ok(())
}
