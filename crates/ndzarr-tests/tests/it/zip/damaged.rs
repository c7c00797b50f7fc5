//! Every truncation and flipped bits: an error or the right values, and no panic.

use ndzarr_store::{Prefix, Store};

use crate::zip::by_hand::{Archive, Entry, get, open};

fn archive() -> Vec<u8> {
    let entries = [
        Entry::stored("zarr.json", "{}"),
        Entry::deflated("c/0", [7; 300]).streamed(),
        Entry {
            method: 93,
            ..zstd("c/1", &[9; 300])
        },
    ];
    Archive {
        comment: b"a comment".to_vec(),
        ..Archive::of(&entries)
    }
    .zip64_bytes()
}

fn zstd(name: &str, value: &[u8]) -> Entry {
    let stored = zstd::bulk::compress(value, 3).expect("zstd encodes");
    Entry {
        stored_len: stored.len() as u32,
        stored,
        ..Entry::stored(name, value)
    }
}

/// Reads everything; what is read is one of the values.
fn read(bytes: Vec<u8>) -> usize {
    let values: [&[u8]; 3] = [b"{}", &[7; 300], &[9; 300]];
    let Ok(store) = open(bytes) else { return 0 };
    let keys = store.list_prefix(&Prefix::root()).expect("it lists");
    let value = |key: &ndzarr_store::Key| get(&store, key.as_str()).ok().flatten();
    let read: Vec<_> = keys.iter().filter_map(value).collect();
    assert!(read.iter().all(|value| values.contains(&&value[..])));
    read.len()
}

#[test]
fn truncated_archives_are_refused() {
    let whole = archive();
    assert_eq!(read(whole.clone()), 3);
    for len in 0..whole.len() {
        assert_eq!(read(whole[..len].to_vec()), 0, "the first {len} bytes");
        read(whole[whole.len() - len..].to_vec());
    }
}

#[test]
fn flipped_bits_give_errors_or_the_same_values() {
    let whole = archive();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            read(flipped);
        }
    }
}
