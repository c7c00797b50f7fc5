//! Checks that values are read, replaced and erased.

use std::ops::Range;

use ndzarr_store::{Fetch, Fetched, FetchedPieces, Of, Precondition, Put, Store, StoreError, Want};

use super::calls::{assert_value, erase, fetch, key, ok, put, whole};

pub(super) fn check(make: &dyn Fn() -> Box<dyn Store>) {
    absent(&*make());
    replace_and_erase(&*make());
    names(&*make());
    parts_are_joined(&*make());
    ranges(&*make());
    limits(&*make());
    pieces(&*make());
}

/// Reading in pieces returns the same as `fetch`, where it is supported.
fn pieces(store: &dyn Store) {
    let value: Vec<u8> = (0..100_000_u32).map(|i| (i % 251) as u8).collect();
    let read = |byte_len: u64, ranges: &[Range<u64>], piece_len: usize| {
        let mut taken = Vec::new();
        let mut piece = vec![0; piece_len];
        let mut take = |bytes: &[u8]| {
            assert!(bytes.len() == piece_len || (bytes.len() < piece_len && !bytes.is_empty()));
            taken.push(bytes.to_vec());
        };
        let fetched = ok(store.fetch_pieces(&key("a"), byte_len, ranges, &mut piece, &mut take));
        (fetched, taken)
    };
    let (fetched, taken) = read(7, &[0..7], 7);
    if fetched == FetchedPieces::Unsupported {
        return;
    }
    assert_eq!((fetched, taken.len()), (FetchedPieces::Missing, 0));
    assert!(matches!(
        ok(store.put(&key("a"), &[value.clone().into()], Precondition::None)),
        Put::Done(_)
    ));
    for piece_len in [1 << 20, 100_000, 99_999, 4096, 1000] {
        for ranges in [
            vec![0..100_000],
            vec![0..1],
            vec![99_999..100_000],
            vec![4095..8193],
            vec![4096..8192, 0..4096],
            vec![7..99_000, 50..50, 3..80_000],
            vec![],
        ] {
            let (fetched, taken) = read(100_000, &ranges, piece_len);
            let wanted: Vec<&[u8]> = ranges
                .iter()
                .map(|range| &value[range.start as usize..range.end as usize])
                .collect();
            assert_eq!(fetched, FetchedPieces::All);
            assert_eq!(
                taken.len(),
                wanted
                    .iter()
                    .map(|range| range.len().div_ceil(piece_len))
                    .sum::<usize>()
            );
            assert_eq!(taken.concat(), wanted.concat());
        }
    }
    for byte_len in [0, 99_999, 100_001] {
        assert_eq!(
            read(byte_len, &[0..byte_len], 4096),
            (FetchedPieces::OtherSize(100_000), vec![])
        );
    }
}

fn absent(store: &dyn Store) {
    for want in [
        whole(),
        Want::Tail(4),
        Want::Ranges(vec![0..4, 9..9]),
        Want::Ranges(vec![]),
        Want::Size,
    ] {
        let fetched = fetch(store, "a/b", Of::Any, want.clone());
        assert!(matches!(fetched, Fetched::Missing), "{want:?}: {fetched:?}");
    }
    erase(store, "a/b");
    erase(store, "a");
    assert_value(store, "a/b", None);
}

fn replace_and_erase(store: &dyn Store) {
    put(store, "a/b", "first");
    assert_value(store, "a/b", Some("first"));
    assert_value(store, "a", None);
    assert_value(store, "a/b/c", None);
    put(store, "a/b", "2nd");
    assert_value(store, "a/b", Some("2nd"));
    put(store, "a/b", "a longer one");
    assert_value(store, "a/b", Some("a longer one"));
    // An empty value is still a value.
    put(store, "a/b", "");
    assert_value(store, "a/b", Some(""));
    put(store, "a/c", "other");
    erase(store, "a/b");
    assert_value(store, "a/b", None);
    assert_value(store, "a/c", Some("other"));
    erase(store, "a/b");
    put(store, "a/b", "again");
    assert_value(store, "a/b", Some("again"));
}

fn names(store: &dyn Store) {
    let names = [
        ".zarray",
        "zarr.json",
        "c/0/0",
        "0.0",
        "a b",
        "é",
        "日本/語",
        "...",
        "a..b",
        "%2F",
        "x?y=z#w",
        "~",
    ];
    let is_supported = |name: &&str| {
        let outcome = store.fetch(&Fetch {
            key: key(name),
            of: Of::Any,
            want: Want::Size,
        });
        // A folder of Windows has no such names.
        let may_refuse = cfg!(windows) && ["...", "x?y=z#w"].contains(name);
        !(may_refuse && matches!(outcome, Err(StoreError::InvalidKey { .. })))
    };
    for name in names.into_iter().filter(is_supported) {
        assert_value(store, name, None);
        assert!(matches!(
            ok(store.put(&key(name), &[name.into()], Precondition::None)),
            Put::Done(_)
        ));
    }
    for name in names.into_iter().filter(is_supported) {
        assert_value(store, name, Some(name));
    }
}

fn parts_are_joined(store: &dyn Store) {
    let parts = ["one ".into(), "".into(), "value".into()];
    assert!(matches!(
        ok(store.put(&key("a"), &parts, Precondition::None)),
        Put::Done(_)
    ));
    assert_value(store, "a", Some("one value"));
    assert!(matches!(
        ok(store.put(&key("a"), &[], Precondition::None)),
        Put::Done(_)
    ));
    assert_value(store, "a", Some(""));
    // More bytes than one system call may write.
    let big: Vec<u8> = (0..3_000_000_u32).map(|i| (i % 251) as u8).collect();
    assert!(matches!(
        ok(store.put(&key("a"), &[big.clone().into()], Precondition::None)),
        Put::Done(_)
    ));
    assert_eq!(
        got(store, Want::Tail(5)),
        (big.len() as u64, vec![big[big.len() - 5..].to_vec()])
    );
    assert!(got(store, whole()).1[0] == big);
}

fn ranges(store: &dyn Store) {
    put(store, "a", "0123456789");
    let check = |want: Want, expected: &[&str]| {
        let expected = expected
            .iter()
            .map(|part| part.as_bytes().to_vec())
            .collect();
        assert_eq!(got(store, want.clone()), (10, expected), "{want:?}");
    };
    check(
        Want::Ranges(vec![6..8, 0..1, 9..10, 0..10]),
        &["67", "0", "9", "0123456789"],
    );
    check(Want::Ranges(vec![3..5, 3..5, 2..6]), &["34", "34", "2345"]);
    check(
        Want::Ranges(vec![4..4, 1..2, 0..0, 10..10]),
        &["", "1", "", ""],
    );
    check(Want::Ranges(vec![]), &[]);
    check(Want::Tail(3), &["789"]);
    check(Want::Tail(0), &[""]);
    check(Want::Tail(10), &["0123456789"]);
    check(Want::Tail(11), &["0123456789"]);
    check(Want::Tail(u64::MAX), &["0123456789"]);
    check(Want::Size, &[]);
    #[expect(clippy::reversed_empty_ranges, reason = "it is to be refused")]
    for bad in [
        8..11,
        10..11,
        11..11,
        0..u64::MAX,
        u64::MAX - 1..u64::MAX,
        5..4,
    ] {
        // The valid range before it does not help.
        let want = Want::Ranges(vec![0..1, bad.clone()]);
        let outcome = store.fetch(&ndzarr_store::Fetch {
            key: key("a"),
            of: Of::Any,
            want,
        });
        assert!(
            matches!(outcome, Err(StoreError::OutOfRange { size: 10, .. })),
            "{bad:?}: {outcome:?}"
        );
    }
    put(store, "a", "");
    assert_eq!(got(store, Want::Tail(4)), (0, vec![vec![]]));
    assert_eq!(
        got(store, Want::Ranges(vec![0..0, 0..0])),
        (0, vec![vec![], vec![]])
    );
}

fn limits(store: &dyn Store) {
    put(store, "a", "0123456789");
    assert_eq!(got(store, Want::Whole { limit: 10 }).0, 10);
    for limit in [9, 0] {
        let want = Want::Whole { limit };
        let outcome = store.fetch(&ndzarr_store::Fetch {
            key: key("a"),
            of: Of::Any,
            want,
        });
        assert!(
            matches!(outcome, Err(StoreError::TooLarge { size: 10, limit: l, .. }) if l == limit),
            "{outcome:?}"
        );
    }
    put(store, "a", "");
    assert_eq!(got(store, Want::Whole { limit: 0 }), (0, vec![vec![]]));
}

fn got(store: &dyn Store, want: Want) -> (u64, Vec<Vec<u8>>) {
    match fetch(store, "a", Of::Any, want) {
        Fetched::Parts { size, parts, .. } => {
            (size, parts.iter().map(|part| part.to_vec()).collect())
        }
        other => panic!("{other:?}"),
    }
}
