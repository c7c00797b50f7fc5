//! Arrays on servers that lack something or give wrong answers.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ndarray::{Array1, Array2, array};
use ndzarr::codec;
use ndzarr::store::{Credentials, ObjectStore, RemoteOptions};
use ndzarr::{
    AnyNode, Array, ConcurrentUpdate, ErrorKind, MemoryStore, OpenOptions, RunOptions, Storage,
};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer, Request};

pub(crate) type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// Copies what is in memory to a server.
fn upload(store: &MemoryStore, server: &ObjectServer) {
    for key in store.keys() {
        server
            .objects()
            .put(key.as_str(), store.get(&key).expect("it is listed"));
    }
}

/// A sharded array of 4 x 100 numbers, all this one, in one shard of two inner chunks.
fn sharded(value: u16) -> Result<MemoryStore, ndzarr::Error> {
    let store = MemoryStore::new();
    let a = Array::<u16>::builder([4, 100])
        .chunks([4, 50])
        .shards([4, 100])
        .codecs([])
        .create(&store)?;
    a.write([0..4, 0..100], &Array2::from_elem((4, 100), value))?;
    Ok(store)
}

/// An array of three numbers, all this one, in one chunk.
fn one_chunk(value: u16) -> Result<MemoryStore, ndzarr::Error> {
    let store = MemoryStore::new();
    Array::<u16>::builder([3])
        .codecs([])
        .create(&store)?
        .write([0..3], &Array1::from_elem(3, value))?;
    Ok(store)
}

fn web(server: &ObjectServer) -> Result<ObjectStore, ndzarr::store::StoreError> {
    ObjectStore::http(
        &server.url(),
        &RemoteOptions::new().retry_for(Duration::ZERO),
    )
}

fn is_chunk(request: &Request) -> bool {
    request.target.contains("/c/")
}

/// Documents that got no answer are not requested in a second round.
#[test]
fn a_silent_service_is_asked_in_one_round() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    server.faults([FaultRule::always(Fault::Hang)]);
    let options = RemoteOptions::new()
        .endpoint(server.url())
        .region("eu-central-1")
        .credentials(Credentials::key("id", "secret"))
        .read_timeout(Duration::from_millis(200))
        .attempts(2);
    let store = ObjectStore::s3(BUCKET, "", &options)?;
    let error = AnyNode::open((Storage::from(store), "a"))
        .err()
        .ok_or("nothing answers")?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for received in server.requests() {
        *times.entry(received.request.target).or_default() += 1;
    }
    assert!(
        !times.is_empty() && times.values().all(|n| *n == 2),
        "{times:?}"
    );
    Ok(())
}

#[test]
fn rs_10_without_etags_a_writer_is_noticed_by_time_or_size_or_not_at_all() -> Outcome {
    let server = ObjectServer::start(Dialect::Http);
    upload(&sharded(1)?, &server);
    server.faults([FaultRule::always(Fault::NoEtag)]);
    let a = Array::<u16>::open(&web(&server)?)?;
    assert_eq!(a.read(..)?, Array2::from_elem((4, 100), 1).into_dyn());

    // A writer comes between the index of the shard and its chunks.
    let between = |value: Bytes| {
        let objects = server.objects().clone();
        let n_chunk_requests = AtomicU32::new(0);
        server.before_each(move |request| {
            if is_chunk(request) && n_chunk_requests.fetch_add(1, Ordering::Relaxed) == 1 {
                objects.put("c/0/0", value.clone());
            }
        });
    };
    // Another size: only one chunk is stored.
    let smaller = sharded(2)?;
    Array::<u16>::open(&smaller)?.fill([0..4, 0..50], 0)?;
    let smaller = smaller.get("c/0/0").expect("it has values");
    between(smaller.clone());
    let read = Array::<u16>::open(&web(&server)?)?.read([0..1, 49..51])?;
    assert_eq!(read, array![[0, 2]]);

    // Neither time nor size differ, so nothing tells: documented.
    let same = |value| -> Result<Bytes, Box<dyn Error + Send + Sync>> {
        Ok(sharded(value)?.get("c/0/0").expect("it has values"))
    };
    server.objects().put("c/0/0", same(1)?);
    between(same(3)?);
    server.forget();
    let read = Array::<u16>::open(&web(&server)?)?.read([0..1, 49..51])?;
    assert_eq!(read, array![[3, 3]]);
    assert_eq!(
        server
            .requests()
            .iter()
            .filter(|received| is_chunk(&received.request))
            .count(),
        2
    );
    Ok(())
}

#[test]
fn rs_11_values_of_one_second_and_size_look_the_same_to_nginx() -> Outcome {
    let server = ObjectServer::start(Dialect::Http);
    server.objects().hold_clock();
    upload(&one_chunk(1)?, &server);
    let cache = ndzarr::Cache::new(1 << 20);
    let a = OpenOptions::new()
        .cache(&cache)
        .open_array::<u16>(&web(&server)?)?;
    assert_eq!(a.read(..)?, array![1, 1, 1].into_dyn());
    upload(&one_chunk(2)?, &server);
    // The chunk in the cache seems to be current.
    assert_eq!(a.read(..)?, array![1, 1, 1].into_dyn());
    assert_eq!(
        Array::<u16>::open(&web(&server)?)?.read(..)?,
        array![2, 2, 2].into_dyn()
    );
    Ok(())
}

/// Nothing tells such values apart, so they are read each time.
#[test]
fn rs_11_values_without_etag_and_time_are_not_cached() -> Outcome {
    let server = ObjectServer::start(Dialect::Http);
    server.faults([FaultRule::always(Fault::NoEtag)]);
    upload(&one_chunk(1)?, &server);
    let cache = ndzarr::Cache::new(1 << 20);
    let a = OpenOptions::new()
        .cache(&cache)
        .open_array::<u16>(&web(&server)?)?;
    assert_eq!(a.read(..)?, array![1, 1, 1].into_dyn());
    upload(&one_chunk(2)?, &server);
    assert_eq!(a.read(..)?, array![2, 2, 2].into_dyn());
    Ok(())
}

#[test]
fn rs_13_flipped_bits_are_found_by_a_checksum() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let store = MemoryStore::new();
    let codecs = [codec::crc32c()];
    let a = Array::<u16>::builder([4, 100])
        .chunks([4, 50])
        .codecs(codecs)
        .create(&store)?;
    a.write([0..4, 0..100], &Array2::from_elem((4, 100), 7))?;
    upload(&store, &server);
    let options = RemoteOptions::new()
        .endpoint(server.url())
        .retry_for(Duration::ZERO);
    let remote = ObjectStore::s3(BUCKET, "", &options)?;
    let a = Array::<u16>::open(&remote)?;
    server.faults([FaultRule::always(Fault::Corrupt).only_if(is_chunk)]);
    let error = a.read(..).expect_err("a bit is wrong");
    assert_eq!(
        (error.kind(), error.codec()),
        (ErrorKind::Corrupt, Some("crc32c")),
        "{error}"
    );
    // Whole values that lack a byte, and shards that do, have no values either.
    for fault in [
        Fault::Short,
        Fault::Long(1),
        Fault::Truncate,
        Fault::TruncateFin,
    ] {
        server.faults([FaultRule::always(fault.clone()).only_if(is_chunk)]);
        assert!(a.read(..).is_err(), "{fault:?}");
    }
    upload(&sharded(7)?, &server);
    for fault in [
        Fault::Short,
        Fault::Long(1),
        Fault::Truncate,
        Fault::TruncateFin,
        Fault::WrongRange,
    ] {
        server.faults([FaultRule::always(fault.clone()).only_if(is_chunk)]);
        let read = Array::<u16>::open(&remote)?.read([0..1, 0..1]);
        assert!(read.is_err(), "{fault:?}: {read:?}");
    }
    Ok(())
}

#[test]
fn rs_14_a_shard_is_read_whole_once_from_a_server_that_ignores_ranges() -> Outcome {
    let server = ObjectServer::start(Dialect::Http);
    let store = MemoryStore::new();
    let expected = Array2::from_shape_fn((40, 100), |(y, x)| (y * 100 + x) as u16);
    let a = Array::<u16>::builder([40, 100])
        .chunks([4, 10])
        .shards([40, 100])
        .create(&store)?;
    a.write([0..40, 0..100], &expected)?;
    upload(&store, &server);
    server.faults([FaultRule::always(Fault::NoRange)]);
    let a = Array::<u16>::open(&web(&server)?)?;
    server.forget();
    for y in 0..40 {
        let row = a.read([y..y + 1, 5..95])?;
        let y = y as usize;
        assert_eq!(row, expected.slice(ndarray::s![y..y + 1, 5..95]));
    }
    let bodies = server
        .requests()
        .iter()
        .filter(|received| received.request.method == "GET")
        .count();
    assert_eq!(bodies, 2, "{:?}", server.traffic());
    Ok(())
}

/// Two writers would undo what the other wrote, and an erasure on a condition would erase.
#[test]
fn rs_05_updates_are_refused_where_conditions_are_ignored() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    server.faults([FaultRule::always(Fault::NoConditions).of(&["PUT", "DELETE"])]);
    let url = format!("s3+{}/{BUCKET}/a", server.url());
    let created = Array::<u16>::builder([4]).chunks([4]).create(&url)?;
    created.write([0..4], &array![1, 2, 3, 4])?;
    let mut opened = Array::<u16>::open(&url)?;
    let refused = |result: ndzarr::Result<()>| {
        let error = result.expect_err("others may write");
        assert_eq!(error.kind(), ErrorKind::NoLocking, "{error}");
    };
    for a in [&created, &opened] {
        refused(a.write([0..2], &array![5, 6]));
        refused(a.write([0..3], &array![0, 0, 0]));
    }
    refused(opened.set_attribute("unit", "nm"));
    refused(opened.append(0, &array![5]));
    refused(opened.resize([2]));
    assert_eq!(
        Array::<u16>::open(&url)?.read(..)?,
        array![1, 2, 3, 4].into_dyn()
    );
    assert!(Array::<u16>::open(&url)?.attributes().is_empty());
    let last_writer_wins = opened
        .with_options(RunOptions::default().concurrent_update(ConcurrentUpdate::LastWriterWins));
    last_writer_wins.write([0..2], &array![5, 6])?;
    last_writer_wins.write([0..4], &array![0, 0, 0, 0])?;
    let deletions = server
        .requests()
        .into_iter()
        .filter(|received| received.request.method == "DELETE");
    for received in deletions {
        assert_eq!(received.request.header("if-match"), None);
    }
    assert_eq!(
        Array::<u16>::open(&url)?.read(..)?,
        array![0, 0, 0, 0].into_dyn()
    );
    Ok(())
}

/// Chunks are erased before the smaller shape is published.
#[test]
fn rs_05_a_resize_that_cannot_be_published_erases_nothing() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    server.faults([FaultRule::always(Fault::NoConditions).of(&["PUT"])]);
    let url = format!("s3+{}/{BUCKET}/a", server.url());
    Array::<u16>::builder([8])
        .chunks([2])
        .create(&url)?
        .write([0..8], &Array1::from_iter(1..9))?;
    let mut a = Array::<u16>::open(&url)?;
    let error = a.resize([4]).expect_err("another writer could be undone");
    assert_eq!(error.kind(), ErrorKind::NoLocking, "{error}");
    for chunk in 0..4 {
        assert!(
            server.objects().get(&format!("a/c/{chunk}")).is_some(),
            "chunk {chunk}"
        );
    }
    assert_eq!(
        Array::<u16>::open(&url)?.read(..)?,
        Array1::from_iter(1..9).into_dyn()
    );
    Ok(())
}

#[test]
fn rs_39_an_error_has_everything_that_a_service_desk_asks_for() -> Outcome {
    let server = ObjectServer::start(Dialect::S3);
    let options = RemoteOptions::new().endpoint(server.url());
    let signed = options
        .clone()
        .credentials(Credentials::key("an-id", "hidden"));
    let store = |options| ObjectStore::s3(BUCKET, "volumes", options);
    Array::<u16>::builder([4])
        .create(store(&options)?)?
        .write([0..4], &array![1, 2, 3, 4])?;
    let without_credentials = Array::<u16>::open(store(&options)?)?;
    let with_credentials = Array::<u16>::open(store(&signed)?)?;
    server.faults([FaultRule::always(Fault::Status(403))]);
    let unsigned = "nothing was signed, for lack of credentials";
    for (a, is_signed) in [(without_credentials, false), (with_credentials, true)] {
        let error = a.read(..).expect_err("it is denied");
        let text = error.to_string();
        let bucket = format!("s3+{}/{BUCKET}/volumes", server.url());
        for part in [&*bucket, "c/0", "403", "AccessDenied", "4442587FB7D0A2F9"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.contains(unsigned), !is_signed, "{text}");
        assert!(!format!("{error:?} {text} {a:?}").contains("hidden"));
    }
    Ok(())
}
