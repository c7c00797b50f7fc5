//! Answers that are lost, lists with odd names, and pins of other buckets.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
use ndzarr_store::{
    AsyncStore, Fetch, Fetched, Key, Of, Precondition, Prefix, Put, StoreError, Want, block_on,
};
use ndzarr_store_object::{ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer};

use crate::it::{options, s3, s3_with, tried_s3};

type Outcome = Result<(), StoreError>;

#[test]
fn rs_01_a_lost_answer_of_a_conditional_put_is_not_a_conflict() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let store = tried_s3(&server);
    server.faults([FaultRule::every(2, Fault::Lost500).of(&["PUT"])]);
    for number in 0..6 {
        let key = Key::new(format!("a{number}"))?;
        let put = block_on(store.put(&key, &["value".into()], Precondition::Absent))?;
        assert!(matches!(put, Put::Done(Some(_))), "{number}: {put:?}");
    }
    assert_eq!(server.objects().keys().len(), 6);
    // For each second value: a put, and a request for its mark.
    assert!(server.traffic().requests <= 12, "{:?}", server.traffic());
    Ok(())
}

#[test]
fn rs_02_a_conditional_put_is_sent_again_after_a_reset() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let store = tried_s3(&server);
    server.faults([FaultRule::every(1, Fault::Reset).of(&["PUT"]).times(1)]);
    let put = block_on(store.put(&Key::new("a")?, &["value".into()], Precondition::Absent))?;
    assert!(matches!(put, Put::Done(Some(_))), "{put:?}");
    assert_eq!(server.objects().get("a").as_deref(), Some(&b"value"[..]));
    Ok(())
}

#[test]
fn rs_09_a_pin_names_nothing_in_another_bucket() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("one/a", "value");
    server.objects().put("two/a", "value");
    let one = s3(&server, "one");
    let two = s3(&server, "two");
    let fetch = |of| Fetch {
        key: Key::new("a").expect("a key"),
        of,
        want: Want::Size,
    };
    let Fetched::Parts { pin, .. } = block_on(one.fetch(&fetch(Of::Any)))? else {
        panic!("it was put")
    };
    let of = Of::IfCurrent(pin);
    assert!(matches!(
        block_on(one.fetch(&fetch(of.clone())))?,
        Fetched::Parts { .. }
    ));
    assert!(matches!(block_on(two.fetch(&fetch(of)))?, Fetched::Changed));
    Ok(())
}

#[test]
fn rs_17_rs_18_odd_names_are_left_out_of_lists() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    for name in ["a//b", "a/", "a/c", "a/d/", "a/d/e"] {
        server.objects().put(name, "value");
    }
    let store = s3(&server, "");
    let keys = block_on(store.list_prefix(&Prefix::new("a/")?))?;
    assert_eq!(keys, [Key::new("a/c")?, Key::new("a/d/e")?]);
    let unlisted = || block_on(store.unlisted_names(&Prefix::root()));
    assert_eq!(unlisted()?, ["a//b"]);
    let listing = block_on(store.list_dir(&Prefix::new("a/")?))?;
    assert_eq!(
        (listing.keys, listing.prefixes),
        (vec!["c".to_owned()], vec!["d".to_owned()])
    );
    assert_eq!(
        unlisted()?,
        ["a//b"],
        "a list of one folder changes nothing"
    );
    server.objects().erase("a//b");
    server.objects().put("b\\c", "value");
    let pages: Vec<_> = block_on(store.list_pages(&Prefix::root()).try_collect::<Vec<_>>())?;
    assert_eq!(pages.concat(), keys);
    assert_eq!(unlisted()?, ["b\\c"]);
    Ok(())
}

/// With a hierarchical namespace folders are listed, and answered like empty values.
#[test]
fn rs_18_folders_of_azure_are_neither_keys_nor_values() -> Outcome {
    let server = ObjectServer::start(Dialect::Azure);
    for folder in ["a", "a/c", "empty"] {
        server.objects().make_folder(folder);
    }
    for name in ["a/zarr.json", "a/c/0"] {
        server.objects().put(name, "value");
    }
    let options = RemoteOptions::new().endpoint(server.url()).account("lab");
    let store = ObjectStore::azure(BUCKET, "", &options)?;
    let all = [Key::new("a/c/0")?, Key::new("a/zarr.json")?];
    assert_eq!(block_on(store.list_prefix(&Prefix::root()))?, all);
    let listing = block_on(store.list_dir(&Prefix::new("a/")?))?;
    assert_eq!(
        (listing.keys, listing.prefixes),
        (vec!["zarr.json".to_owned()], vec!["c".to_owned()])
    );
    for want in [
        Want::Size,
        Want::Whole { limit: 9 },
        Want::Tail(1),
        Want::Ranges(vec![0..1]),
    ] {
        let fetch = Fetch {
            key: Key::new("a/c")?,
            of: Of::Any,
            want,
        };
        let fetched = block_on(store.fetch(&fetch))?;
        assert!(
            matches!(fetched, Fetched::Missing),
            "{:?}: {fetched:?}",
            fetch.want
        );
    }
    block_on(store.erase_prefix(&Prefix::root()))?;
    assert_eq!(server.objects().keys(), ["a", "a/c", "empty"]);
    Ok(())
}

#[test]
fn rs_39_errors_say_what_was_refused_and_no_secret() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().put("a", "value");
    server.faults([FaultRule::always(Fault::Status(403))]);
    let store = s3(&server, "");
    let fetch = Fetch {
        key: Key::new("a")?,
        of: Of::Any,
        want: Want::Size,
    };
    let error = block_on(store.fetch(&fetch)).expect_err("it is denied");
    assert!(matches!(error, StoreError::Denied { .. }), "{error:?}");
    assert!(error.to_string().contains("403"), "{error}");
    assert!(store.name().contains(BUCKET) && !format!("{error:?} {store:?}").contains("secret"));
    Ok(())
}

#[test]
fn a_write_that_may_have_been_carried_out_is_not_called_undone() -> Outcome {
    let key = Key::new("a")?;
    let server = ObjectServer::start(Dialect::S3);
    let store = s3_with(&options(&server).retry_for(Duration::ZERO), "");
    let erase = || block_on(store.erase(&key, Precondition::None)).map(drop);
    let erase_keys = || block_on(store.erase_keys(std::slice::from_ref(&key)));
    let put = || block_on(store.put(&key, &["value".into()], Precondition::None)).map(drop);
    for fault in [Fault::Lost500, Fault::Lost] {
        server.faults([FaultRule::always(fault.clone()).of(&["PUT", "POST", "DELETE"])]);
        let error = put().expect_err("its answer is lost");
        assert_eq!(server.objects().get("a").as_deref(), Some(&b"value"[..]));
        assert!(
            matches!(error, StoreError::Unknown { .. }),
            "{fault:?}: {error:?}"
        );
        for erase in [&erase as &dyn Fn() -> Outcome, &erase_keys] {
            server.objects().put("a", "value");
            let error = erase().expect_err("its answer is lost");
            assert_eq!(server.objects().get("a"), None);
            assert!(
                matches!(error, StoreError::Unknown { .. }),
                "{fault:?}: {error:?}"
            );
        }
    }
    // Whatever the answer to the last attempt is, an earlier one may have been carried out.
    server.faults([
        FaultRule::always(Fault::Lost500).of(&["PUT"]).times(1),
        FaultRule::always(Fault::Status(403)).of(&["PUT"]),
    ]);
    let error = block_on(s3(&server, "").put(&key, &["value".into()], Precondition::None));
    assert!(
        matches!(error, Err(StoreError::Unknown { .. })),
        "{error:?}"
    );

    // Refused, or not sent at all.
    for status in [429, 503] {
        server.faults([FaultRule::always(Fault::Status(status))]);
        for write in [&put as &dyn Fn() -> Outcome, &erase, &erase_keys] {
            let error = write().expect_err("it is refused");
            assert!(
                matches!(error, StoreError::Unavailable { .. }),
                "{status}: {error:?}"
            );
        }
    }
    // A port that was never used, so that no connection to it is open.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let nowhere = listener.local_addr().expect("it has one");
    drop(listener);
    let options = options(&server)
        .endpoint(format!("http://{nowhere}"))
        .retry_for(Duration::ZERO);
    let put = block_on(s3_with(&options, "").put(&key, &["value".into()], Precondition::None));
    assert!(
        matches!(put, Err(StoreError::Unavailable { .. })),
        "{put:?}"
    );
    Ok(())
}

/// A gateway answers before the service has carried out the put, which happens later. If another
/// value exists by then, it may have replaced this one, and it is not known which writer was first.
#[test]
fn a_put_that_may_come_late_is_no_conflict() -> Outcome {
    for (status, is_unknown) in [(504, true), (502, true), (500, false)] {
        let server = ObjectServer::start(Dialect::S3);
        let store = tried_s3(&server);
        let objects = server.objects().clone();
        let n_puts = AtomicU32::new(0);
        server.before_each(move |request| {
            if request.method == "PUT" && n_puts.fetch_add(1, Ordering::Relaxed) == 1 {
                objects.put("a", "of another");
            }
        });
        server.faults([FaultRule::always(Fault::Status(status))
            .of(&["PUT"])
            .times(1)]);
        let put = block_on(store.put(&Key::new("a")?, &["value".into()], Precondition::Absent));
        match (is_unknown, put) {
            (true, Err(StoreError::Unknown { .. })) | (false, Ok(Put::Conflict)) => {}
            (_, put) => panic!("{status}: {put:?}"),
        }
        assert_eq!(
            server.objects().get("a").as_deref(),
            Some(&b"of another"[..])
        );
        // The last answer is not a refusal.
        let server = ObjectServer::start(Dialect::S3);
        let options = options(&server).retry_for(Duration::ZERO);
        let store = s3_with(&options, "");
        let tried = block_on(store.put(&Key::new("b")?, &["value".into()], Precondition::Absent))?;
        assert!(matches!(tried, Put::Done(_)), "{tried:?}");
        server.faults([FaultRule::always(Fault::Status(status)).of(&["PUT"])]);
        let put = block_on(store.put(&Key::new("a")?, &["value".into()], Precondition::Absent));
        match (is_unknown, put) {
            (true, Err(StoreError::Unknown { .. }))
            | (false, Err(StoreError::Unavailable { .. })) => {}
            (_, put) => panic!("{status}: {put:?}"),
        }
    }
    Ok(())
}
