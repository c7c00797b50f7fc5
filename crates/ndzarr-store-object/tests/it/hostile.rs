//! Hostile servers: every call ends with an error or the right answer.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;
use std::time::Duration;

use ndzarr_store::{AsyncStore, Fetched, Key, Precondition, Prefix, StoreError, Want, block_on};
use ndzarr_store_object::{ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};

use crate::it::{Outcome, fetch};

const VALUE: &str = "0123456789";
/// The bytes that sockets hold although the client never reads them, and those that it may read.
const MAX_SENT: u64 = 64 << 20;

fn open(server: &ObjectServer, dialect: Dialect) -> Result<ObjectStore, StoreError> {
    let options = RemoteOptions::new()
        .endpoint(server.url())
        .account("lab")
        .retry_for(Duration::ZERO);
    match dialect {
        Dialect::S3 => ObjectStore::s3(BUCKET, "", &options),
        Dialect::Gcs => ObjectStore::gcs(BUCKET, "", &options),
        Dialect::Azure => ObjectStore::azure(BUCKET, "", &options),
        Dialect::Http => ObjectStore::http(&server.url(), &options),
    }
}

fn server(dialect: Dialect) -> ObjectServer {
    let server = ObjectServer::start(dialect);
    server.objects().put("a", VALUE);
    server
}

/// Reads with each kind of request. Returns the errors, and the number of right answers.
fn reads(store: &ObjectStore) -> (Vec<StoreError>, usize) {
    let wants = [
        Want::Whole { limit: 1 << 20 },
        Want::Tail(3),
        Want::Ranges(vec![1..3, 5..6]),
        Want::Size,
    ];
    let mut errors = Vec::new();
    let mut n_right = 0;
    for want in wants {
        match fetch(store, "a", want.clone()) {
            Err(error) => errors.push(error),
            Ok(Fetched::Parts { size, parts, .. }) => {
                let expected = want
                    .cut(&Key::new("a").expect("a key"), &VALUE.into())
                    .expect("it is inside");
                assert_eq!((size, parts), expected, "{want:?}");
                n_right += 1;
            }
            Ok(fetched) => panic!("{want:?}: {fetched:?}"),
        }
    }
    (errors, n_right)
}

/// Writes, erases and lists. Returns the errors.
fn others(store: &ObjectStore) -> Vec<StoreError> {
    let key = Key::new("b").expect("a key");
    let put = |only_if| block_on(store.put(&key, &["value".into()], only_if)).map(|_| ());
    let results = [
        put(Precondition::None),
        put(Precondition::Absent),
        block_on(store.list_prefix(&Prefix::root())).map(|keys| assert!(keys.len() <= 2)),
        block_on(store.list_dir(&Prefix::root())).map(|listing| assert!(listing.keys.len() <= 2)),
        block_on(store.erase(&key, Precondition::None)).map(|_| ()),
        block_on(store.erase_keys(std::slice::from_ref(&key))),
    ];
    results.into_iter().filter_map(Result::err).collect()
}

#[test]
fn bodies_and_heads_without_end_are_errors() -> Outcome {
    let faults = [
        Fault::EndlessBody,
        Fault::HugeHeader(16 << 20),
        Fault::EndlessHeaders,
        Fault::GzipBomb,
        Fault::Long(u64::MAX),
    ];
    for dialect in [Dialect::S3, Dialect::Gcs, Dialect::Azure, Dialect::Http] {
        for fault in &faults {
            let server = server(dialect);
            server.faults([FaultRule::always(fault.clone())]);
            let store = open(&server, dialect)?;
            let (errors, n_right) = reads(&store);
            // The answer to HEAD has no body.
            assert!(n_right <= 1, "{dialect:?} {fault:?}: {errors:?}");
            if dialect != Dialect::Http {
                let errors = others(&store);
                let lists = errors
                    .iter()
                    .filter(|error| error.to_string().starts_with("list"));
                assert_eq!(lists.count(), 2, "{dialect:?} {fault:?}: {errors:?}");
            }
            assert!(
                server.traffic().bytes_sent < 16 * MAX_SENT,
                "{dialect:?} {fault:?}: {:?}",
                server.traffic()
            );
        }
    }
    Ok(())
}

#[test]
fn an_error_without_end_is_cut() -> Outcome {
    let server = server(Dialect::S3);
    // The status is an error, and its body does not end.
    server.objects().erase("a");
    server.faults([FaultRule::always(Fault::EndlessBody)]);
    let store = open(&server, Dialect::S3)?;
    let fetched = fetch(&store, "a", Want::Whole { limit: 1 << 20 })?;
    assert!(matches!(fetched, Fetched::Missing), "{fetched:?}");
    assert!(
        server.traffic().bytes_sent < MAX_SENT,
        "{:?}",
        server.traffic()
    );
    Ok(())
}

#[test]
fn redirects_in_circles_are_errors() -> Outcome {
    for dialect in [Dialect::S3, Dialect::Gcs, Dialect::Azure, Dialect::Http] {
        let server = server(dialect);
        server.faults([FaultRule::always(Fault::RedirectCircle)]);
        let store = open(&server, dialect)?;
        let (errors, n_right) = reads(&store);
        assert_eq!(n_right, 0);
        for error in errors {
            assert!(
                error.to_string().contains("redirected more than 5 times"),
                "{error}"
            );
        }
        // Two ranges are two requests; a suffix is a HEAD first on Azure.
        assert!(server.traffic().requests <= 5 * 6, "{:?}", server.traffic());
        if dialect != Dialect::Http {
            let put = block_on(store.put(&Key::new("b")?, &["value".into()], Precondition::None));
            assert!(put.is_err(), "{put:?}");
        }
    }
    Ok(())
}

#[test]
fn lists_without_end_are_errors() -> Outcome {
    for dialect in [Dialect::S3, Dialect::Gcs, Dialect::Azure] {
        let server = server(dialect);
        server.faults([FaultRule::always(Fault::EndlessList)]);
        let store = open(&server, dialect)?;
        for error in [
            block_on(store.list_prefix(&Prefix::root())).expect_err("it does not end"),
            block_on(store.list_dir(&Prefix::root())).expect_err("it does not end"),
            block_on(store.erase_prefix(&Prefix::new("a/")?)).expect_err("it does not end"),
        ] {
            assert!(error.to_string().contains("do not end"), "{error}");
        }
        assert_eq!(server.traffic().requests, 3000);
    }
    Ok(())
}

/// A server that answers one request, and ends.
pub(crate) fn answering(answer: impl Into<Vec<u8>>) -> (String, JoinHandle<()>) {
    let answer = answer.into();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client comes");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("it sends a request");
            head.extend(byte);
        }
        stream.write_all(&answer).expect("it reads");
    });
    (url, server)
}

#[test]
fn what_a_service_says_is_quoted_in_part() -> Outcome {
    let long = "z".repeat(20_000);
    let body = format!("<Error><Code>{long}</Code><Message>{long}</Message></Error>");
    let head = format!(
        "HTTP/1.1 403 No\r\nx-amz-request-id: {long}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let (url, server) = answering(head + &body);
    let options = RemoteOptions::new().endpoint(url).retry_for(Duration::ZERO);
    let error = fetch(&ObjectStore::s3(BUCKET, "", &options)?, "a", Want::Tail(1))
        .expect_err("it is denied");
    assert!(matches!(error, StoreError::Denied { .. }), "{error:?}");
    server.join().expect("it answered");
    let n_quoted = error.to_string().matches('z').count();
    assert!((900..1000).contains(&n_quoted), "{n_quoted}");
    Ok(())
}

#[test]
fn a_bucket_elsewhere_is_an_error_that_says_where() -> Outcome {
    let head = "HTTP/1.1 301 Moved\r\nx-amz-bucket-region: eu-west-9\r\nContent-Length: 0\r\n\r\n";
    let (url, server) = answering(head.to_owned());
    let options = RemoteOptions::new().endpoint(url).retry_for(Duration::ZERO);
    let error = fetch(&ObjectStore::s3(BUCKET, "", &options)?, "a", Want::Size)
        .expect_err("it is elsewhere");
    server.join().expect("it answered");
    assert!(
        error
            .to_string()
            .contains("the bucket is in the region eu-west-9"),
        "{error}"
    );
    Ok(())
}

/// Servers that know only the first version of lists ignore `list-type=2`.
#[test]
fn a_list_that_is_cut_and_cannot_be_continued_is_an_error() -> Outcome {
    for token in [
        "",
        "<NextContinuationToken/>",
        "<NextContinuationToken></NextContinuationToken>",
    ] {
        let body = format!(
            "<ListBucketResult><IsTruncated>true</IsTruncated>{token}<Contents><Key>a</Key></Contents>\
             </ListBucketResult>"
        );
        let (url, server) = answering(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let store = ObjectStore::s3(BUCKET, "", &RemoteOptions::new().endpoint(url))?;
        let error = block_on(store.list_dir(&Prefix::root())).expect_err("it is cut");
        assert!(matches!(error, StoreError::Other { .. }), "{error:?}");
        assert!(error.to_string().contains("list-type=2"), "{error}");
        server.join().expect("it answered");
    }
    Ok(())
}
