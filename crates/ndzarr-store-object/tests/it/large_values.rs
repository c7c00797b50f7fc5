//! Whole values of more than 16 MiB, which are read in pieces of 8 MiB (C13 of the design).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ndzarr_store::{AsyncStore, Fetch, Fetched, Key, Of, StoreError, Want, block_on};
use ndzarr_store_object::{ObjectStore, RemoteOptions};
use ndzarr_testkit::object_server::{BUCKET, Dialect, Fault, FaultRule, ObjectServer, Request};

use crate::it::{Outcome, fetch, part};

const PIECE: usize = 8 << 20;
/// Two pieces and a part of one.
const SIZE: usize = 2 * PIECE + 1000;

/// A value of which no two pieces are the same.
fn value(seed: u32) -> Vec<u8> {
    (0..SIZE as u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 ^ seed as u8)
        .collect()
}

fn open(server: &ObjectServer, dialect: Dialect) -> Result<ObjectStore, StoreError> {
    let options = RemoteOptions::new().endpoint(server.url()).account("lab");
    match dialect {
        Dialect::S3 => ObjectStore::s3(BUCKET, "", &options),
        Dialect::Gcs => ObjectStore::gcs(BUCKET, "", &options),
        Dialect::Azure => ObjectStore::azure(BUCKET, "", &options),
        Dialect::Http => ObjectStore::http(&server.url(), &options),
    }
}

fn all() -> Want {
    Want::Whole { limit: 1 << 30 }
}

fn range(request: &Request) -> Option<String> {
    request
        .header("x-ms-range")
        .or(request.header("range"))
        .map(str::to_owned)
}

#[test]
fn c13_a_large_value_is_read_in_pieces_of_one_state() -> Outcome {
    let expected = value(0);
    for dialect in [Dialect::S3, Dialect::Gcs, Dialect::Azure, Dialect::Http] {
        let server = ObjectServer::start(dialect);
        server.objects().put("a", expected.clone());
        let store = open(&server, dialect)?;
        assert!(part(fetch(&store, "a", all())?) == expected, "{dialect:?}");
        let seen = server.requests();
        // A request that shows the size and is given up, and the pieces, under its ETag.
        let mut ranges: Vec<_> = seen.iter().map(|seen| range(&seen.request)).collect();
        ranges.sort_unstable();
        let pieces = [0..PIECE, PIECE..2 * PIECE, 2 * PIECE..SIZE];
        let mut pieces: Vec<_> = pieces
            .iter()
            .map(|piece| Some(format!("bytes={}-{}", piece.start, piece.end - 1)))
            .collect();
        pieces.push(None);
        pieces.sort_unstable();
        assert_eq!(ranges, pieces, "{dialect:?}");
        let is_pinned = |request: &Request| request.header("if-match").is_some();
        assert!(
            seen.iter()
                .all(|seen| is_pinned(&seen.request) == range(&seen.request).is_some()),
            "{dialect:?}"
        );

        // A limit is checked before anything is read, and up to 16 MiB one request is enough.
        server.forget();
        let limited = fetch(
            &store,
            "a",
            Want::Whole {
                limit: SIZE as u64 - 1,
            },
        );
        assert!(
            matches!(limited, Err(StoreError::TooLarge { .. })),
            "{dialect:?}: {limited:?}"
        );
        server.objects().put("a", expected[..2 * PIECE].to_vec());
        assert!(
            part(fetch(&store, "a", all())?) == expected[..2 * PIECE],
            "{dialect:?}"
        );
        assert_eq!(server.traffic().requests, 2, "{dialect:?}");
    }
    Ok(())
}

#[test]
fn c13_pieces_of_two_values_are_never_joined() -> Outcome {
    let first = value(1);
    let second = value(2);
    for fault in [None, Some(Fault::NoConditions), Some(Fault::WeakEtag)] {
        // The ETags of Azure are no hashes, which would take long.
        let server = ObjectServer::start(Dialect::Azure);
        server.objects().put("a", first.clone());
        server.faults(fault.clone().map(FaultRule::always));
        // Another writer writes after the head, or between pieces. Requests are sent one at a time.
        for at in [1, 2, 3] {
            server.objects().put("a", first.clone());
            let options = RemoteOptions::new()
                .endpoint(server.url())
                .account("lab")
                .requests_in_flight(1);
            let store = ObjectStore::azure(BUCKET, "", &options)?;
            let Fetched::Parts { pin, .. } = fetch(&store, "a", Want::Size)? else {
                panic!("it is there")
            };
            for is_pinned in [false, true] {
                server.objects().put("a", first.clone());
                let objects = server.objects().clone();
                let new = second.clone();
                let n_requests = Arc::new(AtomicU32::new(0));
                server.before_each(move |_| {
                    if n_requests.fetch_add(1, Ordering::Relaxed) == at {
                        objects.put("a", new.clone());
                    }
                });
                let of = if is_pinned {
                    Of::Snapshot(pin.clone())
                } else {
                    Of::Any
                };
                let fetched = block_on(store.fetch(&Fetch {
                    key: Key::new("a")?,
                    of,
                    want: all(),
                }))?;
                match fetched {
                    Fetched::Changed if is_pinned => {}
                    fetched => assert!(!is_pinned && part(fetched) == second, "{fault:?} {at}"),
                }
            }
        }
    }
    Ok(())
}

#[test]
fn c13_a_large_value_is_read_whole_from_a_server_that_ignores_ranges() -> Outcome {
    let server = ObjectServer::start(Dialect::Http);
    server.objects().put("a", value(3));
    server.faults([FaultRule::always(Fault::NoRange)]);
    assert!(part(fetch(&open(&server, Dialect::Http)?, "a", all())?) == value(3));
    Ok(())
}
