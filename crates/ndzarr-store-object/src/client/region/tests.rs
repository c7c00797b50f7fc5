//! Buckets without a given region, on a server that takes the place of Amazon.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use futures_util::FutureExt;
use futures_util::future::join;
use http::HeaderValue;
use ndzarr_store::{AsyncStore, Fetch, Fetched, Key, Of, StoreError, Want, block_on};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};

use super::*;
use crate::{Credentials, ObjectStore, RemoteOptions};

/// The region that the server names.
const REGION: &str = "eu-central-1";

impl Regional {
    /// Sends requests to a server of the test instead of Amazon.
    pub(crate) fn go_to(&mut self, server: &str, limit: Duration) -> Arc<AmazonS3> {
        let builder = self
            .builder
            .clone()
            .with_endpoint(server)
            .with_client_options(client_options(true));
        self.url = format!("{server}/{BUCKET}");
        self.builder = builder.clone();
        self.limit = limit;
        Arc::new(builder.build().expect("a store"))
    }
}

fn server() -> ObjectServer {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", "a value");
    server
}

fn open(server: &ObjectServer) -> ObjectStore {
    open_with(server, LIMIT)
}

fn open_with(server: &ObjectServer, limit: Duration) -> ObjectStore {
    let key = Credentials::Key {
        id: "id".to_owned(),
        secret: "hidden".to_owned(),
        session_token: Some("hidden-token".to_owned()),
    };
    let options = RemoteOptions::new()
        .credentials(key)
        .header("x-lab-password", "hidden")
        .expect("a header");
    let mut store = ObjectStore::s3(BUCKET, "", &options).expect("the options fit");
    let backend = &mut Arc::get_mut(&mut store.0).expect("it is new").backend;
    backend.go_to(&server.url(), limit);
    store
}

async fn read(store: &ObjectStore) -> Result<(), StoreError> {
    let want = Want::Whole { limit: 1 << 20 };
    let fetch = Fetch {
        key: Key::new("a")?,
        of: Of::Any,
        want,
    };
    match store.fetch(&fetch).await? {
        Fetched::Parts { parts, .. } => assert_eq!(parts, ["a value"]),
        other => panic!("{other:?}"),
    }
    Ok(())
}

/// The answer about a bucket.
fn answer_about(regional: &Regional) -> SharedAnswer {
    Arc::clone(
        &BUCKETS
            .get(|_| std::sync::Mutex::default())
            .lock()
            .expect("no panic")[&regional.url],
    )
}

/// The number of requests for the region. None of them has a secret; all others have this region in
/// their signature.
fn n_region_requests(server: &ObjectServer, region: &str) -> usize {
    let (for_region, others): (Vec<_>, Vec<_>) = server
        .requests()
        .into_iter()
        .partition(|seen| seen.request.target == format!("/{BUCKET}"));
    for seen in &for_region {
        assert_eq!(seen.request.method, "HEAD");
        let public = ["host", "accept", "accept-encoding", "user-agent"];
        let names = seen.request.headers.iter().map(|(name, _)| name.as_str());
        let secret: Vec<_> = names.filter(|name| !public.contains(name)).collect();
        assert!(secret.is_empty(), "{secret:?}");
    }
    for seen in others {
        let signed = seen.request.header("authorization").unwrap_or_default();
        assert!(signed.contains(&format!("/{region}/s3/")), "{signed}");
    }
    for_region.len()
}

#[test]
fn the_region_of_a_bucket_is_asked_for_once() -> Result<(), StoreError> {
    let server = server();
    let [first, second] = [open(&server), open(&server)];
    assert_eq!(server.traffic().requests, 0, "opening asks for nothing");
    let (one, other) = block_on(join(read(&first), read(&second)));
    one.and(other)?;
    block_on(read(&open(&server)))?;
    block_on(first.list_prefix(&ndzarr_store::Prefix::root()))?;
    assert_eq!(n_region_requests(&server, REGION), 1);
    assert_eq!(
        first.name(),
        format!("s3://{BUCKET}/"),
        "pins stay the same"
    );
    Ok(())
}

/// Amazon names the region in refusals, and in answers to requests in another region.
#[test]
fn a_refusal_or_a_redirect_names_the_region_too() {
    for status in [
        "301 Moved Permanently",
        "307 Temporary Redirect",
        "400 Bad Request",
        "403 Forbidden",
    ] {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
        let address = listener.local_addr().expect("it is bound");
        let head = format!(
            "HTTP/1.1 {status}\r\nx-amz-bucket-region: eu-west-9\r\nConnection: close\r\n\r\n"
        );
        let serving = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("one client");
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a head");
                asked.extend(byte);
            }
            stream.write_all(head.as_bytes()).expect("it reads");
        });
        let mut store =
            ObjectStore::s3(BUCKET, "", &RemoteOptions::new()).expect("the options fit");
        let backend = &mut Arc::get_mut(&mut store.0).expect("it is new").backend;
        backend.go_to(&format!("http://{address}"), LIMIT);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let regional = store.0.backend.regional().expect("no region is given");
        assert_eq!(
            runtime.block_on(regional.region()).as_deref(),
            Some("eu-west-9"),
            "{status}"
        );
        serving.join().expect("it served");
    }
}

#[test]
fn a_region_or_an_endpoint_that_is_given_leaves_nothing_to_ask() -> Result<(), StoreError> {
    let asks = |options: &RemoteOptions| {
        ObjectStore::s3(BUCKET, "", options).map(|store| store.0.backend.regional().is_some())
    };
    let none = RemoteOptions::new();
    assert!(asks(&none)?);
    assert!(!asks(&none.clone().region("eu-west-1"))?);
    assert!(!asks(&none.clone().endpoint("http://127.0.0.1:1"))?);
    let set = [("AWS_DEFAULT_REGION", "eu-west-1")];
    let of = |set: &[(&str, &str)]| {
        RemoteOptions::from_environment(crate::Service::S3, |name| {
            set.iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        })
    };
    assert!(asks(&of(&[]))? && !asks(&of(&set))?);
    Ok(())
}

#[test]
fn without_an_answer_it_goes_on_in_the_default_region() -> Result<(), StoreError> {
    let other = server();
    for fault in [
        Fault::Status(403),
        Fault::Status(503),
        Fault::Reset,
        Fault::Hang,
        Fault::EndlessHeaders,
        Fault::HugeHeader(16 << 20),
        Fault::RedirectTo(other.url()),
    ] {
        let server = server();
        let rule = FaultRule::always(fault.clone()).of(&["HEAD"]);
        server.faults([rule]);
        // Only the one that hangs waits for so long.
        let limit = if fault == Fault::Hang {
            Duration::from_secs(1)
        } else {
            LIMIT
        };
        for _ in 0..2 {
            let store = open_with(&server, limit);
            block_on(read(&store))?;
            block_on(read(&store))?;
        }
        assert_eq!(n_region_requests(&server, DEFAULT), 1, "{fault:?}");
    }
    assert_eq!(other.traffic().requests, 0, "a redirect is not followed");
    Ok(())
}

/// After a while the region is requested again, by stores that exist already, too.
#[test]
fn an_answer_without_a_region_is_not_kept_for_ever() {
    let server = server();
    server.faults([FaultRule::always(Fault::Status(404)).of(&["HEAD"])]);
    let store = open(&server);
    let regional = store.0.backend.regional().expect("no region is given");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        assert_eq!(regional.region().await, None);
        server.heal();
        assert_eq!(regional.region().await, None);
        *answer_about(regional).lock().await = Some(Answer::NoneUntil(Instant::now()));
        assert_eq!(regional.region().await.as_deref(), Some(REGION));
    });
    assert_eq!(server.traffic().requests, 2);
}

#[test]
fn a_call_that_is_dropped_leaves_the_question_to_the_next() -> Result<(), StoreError> {
    let server = server();
    let [first, second] = [open(&server), open(&server)];
    let held = server.hold();
    let mut dropped = Box::pin(read(&first));
    assert!((&mut dropped).now_or_never().is_none());
    held.wait_for(1);
    drop(dropped);
    drop(held);
    block_on(read(&second))?;
    assert!(n_region_requests(&server, REGION) <= 2);
    Ok(())
}

/// The lock is held as by a call in a runtime of the caller's that no longer runs.
#[test]
fn a_lock_that_is_held_for_ever_does_not_hold_up_others() -> Result<(), StoreError> {
    let server = server();
    server.faults([FaultRule::always(Fault::Reset).of(&["HEAD"]).times(1)]);
    block_on(read(&open(&server)))?;
    let store = open_with(&server, Duration::from_millis(100));
    let answer = answer_about(store.0.backend.regional().expect("no region is given"));
    let held = answer.try_lock().expect("the call has ended");
    server.forget();
    // On a busy machine the server may take longer than the limit.
    for _ in 0..100 {
        block_on(read(&store))?;
        if store
            .0
            .backend
            .regional()
            .and_then(Regional::store)
            .is_some()
        {
            break;
        }
    }
    server.forget();
    block_on(read(&store))?;
    drop(held);
    assert_eq!(n_region_requests(&server, REGION), 0);
    assert_eq!(server.traffic().requests, 1);
    Ok(())
}

/// The lock stays with a thread of the parent.
#[cfg(unix)]
#[test]
fn a_forked_child_asks_itself() {
    use std::sync::mpsc;

    use fork::Fork;

    ndzarr_testkit::in_own_process!();
    let server = server();
    let store = open(&server);
    let held = server.hold();
    let mut pending = Box::pin(read(&store));
    assert!((&mut pending).now_or_never().is_none());
    held.wait_for(1);
    let child = match fork::fork().expect("the system has one more process") {
        Fork::Child => {
            let (sender, receiver) = mpsc::channel();
            let store = store.clone();
            let reader = std::thread::spawn(move || sender.send(block_on(read(&store)).is_ok()));
            let is_right = receiver.recv_timeout(Duration::from_secs(60));
            drop(reader);
            std::process::exit(if is_right.unwrap_or_default() { 0 } else { 1 });
        }
        Fork::Parent(child) => child,
    };
    held.wait_for(2);
    drop(held);
    block_on(pending).expect("the parent's answer comes");
    assert_eq!(fork::waitpid(child).expect("it is a child"), 0, "the child");
    assert_eq!(n_region_requests(&server, REGION), 2);
}

#[test]
fn other_text_is_not_taken_for_a_region() {
    let long = "a".repeat(10_000);
    for (text, expected) in [
        ("eu-south-2", true),
        ("us-isob-east-1", true),
        ("", false),
        ("EU", false),
        ("eu-west-1.evil.example/", false),
        ("evil.example#", false),
        ("eu-west-1\t", false),
        ("eu west", false),
        (&long, false),
    ] {
        let value = HeaderValue::from_str(text).expect("hyper lets it through");
        let headers =
            HeaderMap::from_iter([(http::HeaderName::from_static("x-amz-bucket-region"), value)]);
        assert_eq!(
            region_in(&headers).as_deref(),
            expected.then_some(text),
            "{text:.20}"
        );
    }
    assert_eq!(region_in(&HeaderMap::new()), None);
}
