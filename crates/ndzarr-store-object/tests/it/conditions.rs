//! Endpoints that may or may not check the conditions of puts.

use std::time::Duration;

use ndzarr_store::{
    AsyncStore, Can, Fetch, Fetched, Key, Of, Pin, Precondition, Put, StoreError, Want, block_on,
};
use ndzarr_store_object::{ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};

use crate::it::{options, s3};

type Outcome = Result<(), StoreError>;

fn put(
    store: &ObjectStore,
    key: &str,
    value: &str,
    only_if: Precondition,
) -> Result<Put, StoreError> {
    block_on(store.put(&Key::new(key)?, &[value.to_owned().into()], only_if))
}

fn pin(store: &ObjectStore, key: &str) -> Result<Pin, StoreError> {
    let fetch = Fetch {
        key: Key::new(key)?,
        of: Of::Any,
        want: Want::Size,
    };
    match block_on(store.fetch(&fetch))? {
        Fetched::Parts { pin, .. } => Ok(pin),
        other => panic!("{other:?}"),
    }
}

/// A server that ignores the conditions of puts.
fn careless() -> ObjectServer {
    let server = ObjectServer::start(Dialect::S3);
    server.faults([FaultRule::always(Fault::NoConditions).of(&["PUT"])]);
    server
}

fn methods(server: &ObjectServer) -> Vec<String> {
    server
        .requests()
        .into_iter()
        .map(|seen| seen.request.method)
        .collect()
}

#[test]
fn an_endpoint_is_tried_out_once() -> Outcome {
    for dialect in [Dialect::S3, Dialect::Gcs, Dialect::Azure] {
        let server = ObjectServer::start(dialect);
        let options = RemoteOptions::new()
            .endpoint(server.url())
            .account("account");
        let store = match dialect {
            Dialect::Gcs => ObjectStore::gcs(BUCKET, "", &options)?,
            Dialect::Azure => ObjectStore::azure(BUCKET, "", &options)?,
            _ => ObjectStore::s3(BUCKET, "", &options)?,
        };
        assert!(matches!(
            put(&store, "a", "one", Precondition::Absent)?,
            Put::Done(_)
        ));
        let made = methods(&server);
        assert_eq!(made.len(), 6, "{dialect:?}: {made:?}");
        assert_eq!(made[..4], ["PUT"; 4], "{dialect:?}: the trial");
        assert_eq!(
            made[5], "PUT",
            "{dialect:?}: the value, after the trial was erased"
        );
        assert_eq!(server.objects().keys(), ["a"]);
        server.forget();
        assert!(matches!(
            put(&store, "b", "one", Precondition::Absent)?,
            Put::Done(_)
        ));
        let of_a = pin(&store, "a")?;
        assert!(matches!(
            put(&store, "a", "two", Precondition::Current(of_a))?,
            Put::Done(_)
        ));
        assert_eq!(methods(&server), ["PUT", "HEAD", "PUT"], "{dialect:?}");
        assert_eq!(server.objects().get("a").as_deref(), Some(&b"two"[..]));
        assert_eq!(
            store.can(),
            Can {
                erase_if: false,
                lock: false,
                ..Can::default()
            }
        );
    }
    Ok(())
}

#[test]
fn rs_05_an_endpoint_that_ignores_conditions_replaces_nothing() -> Outcome {
    let server = careless();
    server.objects().put("a", "one");
    let store = s3(&server, "");
    let of_a = pin(&store, "a")?;
    // Another writer was first, which this server would not notice.
    server.objects().put("b", "one");
    let old = pin(&store, "b")?;
    server.objects().put("b", "of another");
    assert!(matches!(
        put(&store, "b", "two", Precondition::Current(old))?,
        Put::Unsupported
    ));
    assert_eq!(
        server.objects().get("b").as_deref(),
        Some(&b"of another"[..])
    );
    assert!(matches!(
        put(&store, "a", "two", Precondition::Current(of_a))?,
        Put::Unsupported
    ));
    assert_eq!(server.objects().get("a").as_deref(), Some(&b"one"[..]));
    assert!(!store.can().put_if);
    server.forget();
    for only_if in [
        Precondition::Absent,
        Precondition::Current(pin(&store, "a")?),
    ] {
        assert!(matches!(
            put(&store, "c", "two", only_if.clone())?,
            Put::Unsupported
        ));
        assert!(matches!(
            block_on(store.erase(&Key::new("a")?, only_if))?,
            Put::Unsupported
        ));
    }
    assert_eq!(methods(&server), ["HEAD"], "it is known");
    // Without a condition everything works.
    assert!(matches!(
        put(&store, "a", "two", Precondition::None)?,
        Put::Done(_)
    ));
    Ok(())
}

#[test]
fn a_creation_is_refused_where_conditions_are_ignored() -> Outcome {
    let server = careless();
    let store = s3(&server, "");
    assert!(matches!(
        put(&store, "a", "one", Precondition::Absent)?,
        Put::Unsupported
    ));
    assert_eq!(server.objects().keys(), [""; 0]);
    Ok(())
}

/// S3 itself did so for some months.
#[test]
fn an_endpoint_that_only_checks_creations_is_not_trusted() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let updates = FaultRule::always(Fault::NoConditions).of(&["PUT"]);
    server.faults([updates.only_if(|request| request.header("if-match").is_some())]);
    let store = s3(&server, "");
    assert!(matches!(
        put(&store, "a", "one", Precondition::Absent)?,
        Put::Unsupported
    ));
    Ok(())
}

#[test]
fn an_endpoint_without_etags_takes_values_and_no_conditions() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    server.faults([FaultRule::always(Fault::NoEtag)]);
    let store = s3(&server, "");
    // It is not written again because the answer has no ETag.
    assert!(matches!(
        put(&store, "a", "one", Precondition::None)?,
        Put::Done(None)
    ));
    assert_eq!(methods(&server), ["PUT"]);
    let options = options(&server).retry_for(Duration::ZERO);
    let store = ObjectStore::s3(BUCKET, "", &options)?;
    assert!(matches!(
        put(&store, "b", "one", Precondition::Absent)?,
        Put::Unsupported
    ));
    assert_eq!(server.objects().keys(), ["a"]);
    Ok(())
}

/// A policy may forbid erasing.
#[test]
fn a_trial_that_cannot_be_erased_is_one_all_the_same() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    server.faults([FaultRule::always(Fault::Status(403)).of(&["POST", "DELETE"])]);
    let store = s3(&server, "");
    assert!(matches!(
        put(&store, "a", "one", Precondition::Absent)?,
        Put::Done(_)
    ));
    assert!(store.can().put_if);
    Ok(())
}

#[test]
fn a_trial_goes_through_failures() -> Outcome {
    for fault in [
        Fault::Lost500,
        Fault::Reset,
        Fault::Status(503),
        Fault::Lost,
    ] {
        let server = ObjectServer::start(Dialect::S3);
        let store = s3(&server, "");
        server.faults([FaultRule::every(2, fault).of(&["PUT"]).times(1)]);
        assert!(matches!(
            put(&store, "a", "one", Precondition::Absent)?,
            Put::Done(_)
        ));
        assert_eq!(methods(&server).len(), 7, "one more");
        assert!(store.can().put_if);
    }
    Ok(())
}

/// Callers put with such a pin to find out if the store can serialize writers, before they erase
/// anything.
#[test]
fn a_pin_of_another_store_is_a_conflict_only_if_conditions_are_checked() -> Outcome {
    let foreign = || Precondition::Current(Pin::new(()));
    let server = ObjectServer::start(Dialect::S3);
    assert!(matches!(
        put(&s3(&server, ""), "a", "one", foreign())?,
        Put::Conflict
    ));
    let careless = careless();
    // A server whose ETags cannot be used in conditions.
    let weak = ObjectServer::start(Dialect::S3);
    weak.faults([FaultRule::always(Fault::WeakEtag)]);
    for server in [careless, weak] {
        assert!(matches!(
            put(&s3(&server, ""), "a", "one", foreign())?,
            Put::Unsupported
        ));
        assert_eq!(server.objects().keys(), [""; 0]);
    }
    Ok(())
}
