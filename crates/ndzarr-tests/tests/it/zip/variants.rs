//! Archives as other programs may write them: zip64, comments, other fields, an archive in an
//! archive.

use ndzarr_store::Store;
use ndzarr_store_zip::ZipStore;

use crate::zip::by_hand::{
    Archive, Entry, assert_fails, assert_value, crc, get, longest, longs, open, shorts,
};
use crate::zip::rules::{DOCUMENT, check, entries};

#[test]
fn comments_are_read_over() {
    for comment in [
        &b"c"[..],
        &[b'c'; 65535],
        b"PK\x05\x06",
        b"PK\x05\x06 is how an end begins, and more",
    ] {
        check(
            Archive {
                comment: comment.to_vec(),
                ..Archive::of(&entries())
            }
            .bytes(),
        );
        check(
            Archive {
                comment: comment.to_vec(),
                ..Archive::of(&entries())
            }
            .zip64_bytes(),
        );
    }
}

#[test]
fn zip64_is_read() {
    check(Archive::of(&entries()).zip64_bytes());
    // Records of zip64, after which the end states the same.
    let archive = Archive::of(&entries());
    let with_both = archive.zip64_bytes();
    let all = with_both.len();
    let end = archive.bytes();
    check([&with_both[..all - 22], &end[end.len() - 22..]].concat());
    // Sizes and offset in the extra field, after another one.
    let value = b"a value";
    let mut extra = Vec::new();
    shorts(&mut extra, &[0x5455, 1, 0x0099]);
    extra.truncate(5);
    shorts(&mut extra, &[1, 24]);
    longest(&mut extra, &[7, 7, 0]);
    let entry = Entry {
        size: u32::MAX,
        stored_len: u32::MAX,
        central_extra: extra,
        ..Entry::stored("a", value)
    };
    let mut archive = Archive {
        values: Archive::of(&[Entry::stored("a", value)]).values,
        ..Archive::default()
    };
    archive.list(&entry, u32::MAX);
    assert_value(&open(archive.bytes()).expect("it opens"), "a", value);
    let mut short = archive.clone();
    short.directory.clear();
    short.n = 0;
    let cut = [&[1, 0, 8, 0][..], &[0; 8]].concat();
    short.list(
        &Entry {
            central_extra: cut,
            ..entry
        },
        u32::MAX,
    );
    assert_fails(open(short.bytes()), "too short");
}

#[test]
fn local_headers_may_have_other_extra_fields() {
    for (local, central) in [
        (0, 28),
        (28, 0),
        (36, 24),
        (64, 0),
        (65, 0),
        (4000, 0),
        (65535, 0),
    ] {
        let field = |len: usize| -> Vec<u8> { vec![0x99; len] };
        let entries = entries().map(|entry| Entry {
            local_extra: field(local),
            central_extra: field(central),
            ..entry
        });
        check(Archive::of(&entries).bytes());
    }
}

#[test]
fn zstd_is_read_and_other_methods_are_errors() {
    let value = b"zstd zstd zstd zstd".repeat(1000);
    let encoded = zstd::bulk::compress(&value, 3).expect("zstd encodes");
    let frames = [&encoded[..], &encoded].concat();
    let twice = value.repeat(2);
    let entry = |stored: &[u8], value: &[u8]| Entry {
        method: 93,
        stored: stored.to_vec(),
        stored_len: stored.len() as u32,
        ..Entry::stored("a", value)
    };
    assert_value(
        &open(Archive::of(&[entry(&encoded, &value)]).bytes()).expect("it opens"),
        "a",
        &value,
    );
    assert_value(
        &open(Archive::of(&[entry(&frames, &twice)]).bytes()).expect("it opens"),
        "a",
        &twice,
    );
    let cut = entry(&encoded[..encoded.len() - 1], &value);
    assert!(get(&open(Archive::of(&[cut]).bytes()).expect("it opens"), "a").is_err());
    for method in [1, 9, 12, 14, 95, 98, 99] {
        let other = Entry {
            method,
            ..entry(&encoded, &value)
        };
        let store = open(Archive::of(&[other]).bytes()).expect("it opens");
        assert_fails(get(&store, "a"), &format!("method {method}"));
    }
}

/// Java's and macOS's writers state the number of entries modulo 65,536, without zip64.
#[test]
fn the_number_of_entries_may_be_stated_in_16_bits() {
    let mut archive = Archive::default();
    for i in 0..65_540 {
        archive.add(&Entry::stored(format!("{i}"), ""));
    }
    let store = open(archive.bytes()).expect("it opens");
    assert_eq!(store.n_values(), 65_540);
    assert_fails(
        open(archive_with(&archive, 65_536 + 5)),
        "number of entries",
    );
}

#[test]
fn an_archive_in_an_archive_is_read() {
    let inner = Archive::of(&entries()).bytes();
    let outer = Archive::of(&[
        Entry::stored("stored.zip", &inner),
        Entry::deflated("deflated.zip", &inner),
    ]);
    for name in ["stored.zip", "deflated.zip"] {
        let outer = open(outer.bytes()).expect("it opens");
        let store = ZipStore::open(outer, crate::zip::by_hand::key(name)).expect("it opens");
        assert_eq!(store.name(), format!("memory/a.zip|zip:/{name}|zip:"));
        assert_value(&store, "zarr.json", DOCUMENT);
        assert_value(&store, "c/0/1", [b'x'; 1000]);
    }
}

fn archive_with(archive: &Archive, n: u64) -> Vec<u8> {
    Archive {
        n,
        ..archive.clone()
    }
    .bytes()
}

#[test]
fn a_signature_of_the_directory_is_read_over() {
    let mut archive = Archive::of(&entries());
    archive.directory.extend(b"PK\x05\x05\x04\x00sign");
    check(archive.bytes());
}

#[test]
fn checksums_are_the_known_ones() {
    // The check value of CRC-32 (ISO-HDLC).
    assert_eq!(crc(b"123456789"), 0xcbf4_3926);
    let mut out = Vec::new();
    longs(&mut out, &[0x0201_4b50]);
    assert_eq!(out, b"PK\x01\x02");
}
