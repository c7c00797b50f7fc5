//! What is read of an archive, and what is refused: each row of the table in RS-42.

use ndzarr::{CopyOptions, LeftOutReason, MemoryStore, Storage, copy};
use ndzarr_store::{Prefix, Store, StoreError, Want};
use ndzarr_store_zip::ZipStore;

use crate::zip::by_hand::{Archive, Entry, assert_fails, assert_value, fetch, get, open};

pub(crate) const DOCUMENT: &str = r#"{"zarr_format": 3}"#;

pub(crate) fn entries() -> [Entry; 3] {
    let chunk: Vec<u8> = (0..=255).cycle().take(1024).collect();
    [
        Entry::stored("zarr.json", DOCUMENT),
        Entry::stored("c/0/0", chunk),
        Entry::deflated("c/0/1", [b'x'; 1000]),
    ]
}

pub(crate) fn check(archive: Vec<u8>) {
    let store = open(archive).expect("it opens");
    assert_value(&store, "zarr.json", DOCUMENT);
    assert_value(&store, "c/0/0", &entries()[1].stored);
    assert_value(&store, "c/0/1", [b'x'; 1000]);
    assert_eq!((store.n_values(), store.n_skipped()), (3, 0));
    for (name, size) in [("c/0/0", 1024), ("c/0/1", 1000)] {
        let parts = fetch(
            &store,
            name,
            Want::Ranges(vec![990..1000, 0..0, 0..10, 5..995]),
        )
        .expect("it reads");
        let whole = get(&store, name).expect("it reads").expect("it exists");
        assert_eq!(
            parts.expect("it exists"),
            [&whole[990..1000], b"", &whole[..10], &whole[5..995]]
        );
        let tail = fetch(&store, name, Want::Tail(7))
            .expect("it reads")
            .expect("it exists");
        assert_eq!(tail, [&whole[size - 7..]]);
        let beyond = fetch(&store, name, Want::Ranges(vec![0..size as u64 + 1]));
        assert!(
            matches!(beyond, Err(StoreError::OutOfRange { .. })),
            "{beyond:?}"
        );
        let limited = fetch(
            &store,
            name,
            Want::Whole {
                limit: size as u64 - 1,
            },
        );
        assert!(
            matches!(limited, Err(StoreError::TooLarge { .. })),
            "{limited:?}"
        );
    }
    assert!(get(&store, "c/0").expect("it reads").is_none());
}

#[test]
fn plain_archives_are_read() {
    check(Archive::of(&entries()).bytes());
    let empty = open(Archive::default().bytes()).expect("an empty archive opens");
    assert_eq!(empty.n_values(), 0);
}

#[test]
fn rs_42_of_one_name_the_last_counts() {
    let [document, chunk, _] = entries();
    let new = Entry::stored("zarr.json", "new");
    for repeated in [
        vec![document.clone(), chunk, new.clone()],
        vec![new.clone(), document, new],
    ] {
        let store = open(Archive::of(&repeated).bytes()).expect("it opens");
        assert_value(&store, "zarr.json", "new");
        let listed = store.list_dir(&Prefix::root()).expect("it lists");
        assert_eq!(listed.keys, ["zarr.json"]);
    }
}

#[test]
fn rs_42_bytes_in_front_are_read_over() {
    let junk = b"#!/bin/sh\n".repeat(100);
    check(
        Archive {
            junk: junk.clone(),
            ..Archive::of(&entries())
        }
        .bytes(),
    );
    check(
        Archive {
            junk,
            ..Archive::of(&entries())
        }
        .zip64_bytes(),
    );
}

#[test]
fn rs_42_data_descriptors_are_read_over() {
    check(Archive::of(&entries().map(Entry::streamed)).bytes());
}

#[test]
fn rs_42_names_that_are_not_keys_are_skipped() {
    let names: [&[u8]; 6] = [b"../evil", b"..\\evil", b"a//b", b"a\0b", b"\xe9", b""];
    let mut archive = Archive::of(&entries());
    for name in names {
        archive.add(&Entry::stored(name, "1"));
    }
    for folder in ["a/", "b\\", "./"] {
        archive.add(&Entry::stored(folder, ""));
    }
    let store = open(archive.bytes()).expect("it opens");
    assert_eq!(
        (store.n_values(), store.n_skipped()),
        (3, names.len() as u64)
    );
    assert_eq!(
        store.skipped(),
        ["../evil", "..\\evil", "a//b", "a\0b", "\u{fffd}", ""]
    );
    assert_value(&store, "zarr.json", DOCUMENT);
    // UTF-8 is read with and without its flag.
    for flags in [0, 0x800] {
        let named = Entry {
            flags,
            ..Entry::stored("é/日本", "1")
        };
        assert_value(
            &open(Archive::of(&[named]).bytes()).expect("it opens"),
            "é/日本",
            "1",
        );
    }
}

#[test]
fn a_copy_names_those_below_its_source_whose_names_are_not_keys() {
    let store = open(
        Archive::of(&[
            Entry::stored("g/zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#),
            Entry::stored("g/x//y", "1"),
            Entry::stored("h//z", "1"),
        ])
        .bytes(),
    )
    .expect("it opens");
    let source = (Storage::blocking(store), "g");
    let target = (MemoryStore::new(), "to");
    let report = copy(source, target, &CopyOptions::new()).expect("a copy");
    assert!(!report.is_complete());
    let left_out = report.account.expect("an account").left_out;
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    assert_eq!(left_out[0].reason, LeftOutReason::Unreadable);
    assert_eq!(left_out[0].keys.first, ["g/x//y"]);
}

#[test]
fn rs_42_names_of_other_systems_are_keys() {
    let [document, stored, deflated] = entries();
    for spell in [
        |name: &str| name.replace('/', "\\"),
        |name: &str| format!("./{name}"),
        |name: &str| format!("/{name}"),
    ] {
        let spelled = [&document, &stored, &deflated].map(|entry| {
            let name = spell(std::str::from_utf8(&entry.name).expect("a name")).into_bytes();
            Entry {
                local_name: name.clone(),
                name,
                ..entry.clone()
            }
        });
        check(Archive::of(&spelled).bytes());
        let store = open(Archive::of(&spelled).bytes()).expect("it opens");
        assert_eq!(
            store
                .list_dir(&Prefix::new("c/0/").expect("a prefix"))
                .expect("it lists")
                .keys,
            ["0", "1"]
        );
        // An entry that replaces another is spelled like it.
        let [new, _, _] = spelled.clone();
        let new = Entry {
            name: new.name.clone(),
            local_name: new.name,
            ..Entry::stored("", "new")
        };
        let [document, stored, _] = spelled;
        let store = open(Archive::of(&[document, stored, new]).bytes()).expect("it opens");
        assert_value(&store, "zarr.json", "new");
    }
    let both = [Entry::stored("c/0", "1"), Entry::stored("c\\0", "2")];
    let error = open(Archive::of(&both).bytes())
        .expect_err("two values of one key")
        .to_string();
    assert!(error.contains(r#""c/0" and "c\\0""#), "{error}");
}

#[test]
fn rs_42_encrypted_entries_are_errors() {
    for flags in [1, 0x40, 0x2000] {
        let [document, chunk, _] = entries();
        let store =
            open(Archive::of(&[document, Entry { flags, ..chunk }]).bytes()).expect("it opens");
        assert_value(&store, "zarr.json", DOCUMENT);
        assert_fails(get(&store, "c/0/0"), "encrypted");
    }
}

#[test]
fn rs_42_wrong_sizes_are_errors() {
    let [document, stored, deflated] = entries();
    for size in [5, 999, 1001, 5000] {
        let lying = Entry {
            size,
            ..deflated.clone()
        };
        let store = open(Archive::of(&[document.clone(), lying]).bytes()).expect("it opens");
        assert_value(&store, "zarr.json", DOCUMENT);
        assert_fails(get(&store, "c/0/1"), "archive states");
        assert_fails(
            fetch(&store, "c/0/1", Want::Ranges(vec![0..2])),
            "archive states",
        );
    }
    for size in [1023, 1025] {
        let lying = Entry {
            size,
            ..stored.clone()
        };
        let store = open(Archive::of(&[document.clone(), lying]).bytes()).expect("it opens");
        assert_value(&store, "zarr.json", DOCUMENT);
        assert_fails(get(&store, "c/0/0"), "two sizes");
    }
}

#[test]
fn rs_42_wrong_checksums_are_errors() {
    for entry in &entries()[1..] {
        let name = std::str::from_utf8(&entry.name).expect("its name is UTF-8");
        let wrong = Entry {
            crc: entry.crc ^ 1,
            ..entry.clone()
        };
        let store = open(Archive::of(&[wrong]).bytes()).expect("it opens");
        assert_fails(get(&store, name), "CRC-32");
    }
    let empty = Entry {
        crc: 1,
        ..Entry::stored("a", "")
    };
    assert_fails(
        get(&open(Archive::of(&[empty]).bytes()).expect("it opens"), "a"),
        "CRC-32",
    );
}

#[test]
fn rs_42_entries_outside_are_refused() {
    let [document, chunk, _] = entries();
    let mut archive = Archive::of(&[document]);
    for at in [0x7fff_ffff, u32::MAX, archive.values.len() as u32] {
        let mut archive = archive.clone();
        archive.list(&chunk, at);
        assert_fails(open(archive.bytes()), "outside");
    }
    let long = Entry {
        stored_len: 0x7fff_ffff,
        ..chunk.clone()
    };
    archive.add(&long);
    assert_fails(open(archive.bytes()), "outside");
    // The archive is at its start: no offset reaches in front of it.
    let cut = Archive::of(&entries()).bytes()[50..].to_vec();
    assert_fails(open(cut), "not where it is said to be");
}

#[test]
fn rs_42_another_number_of_entries_is_refused() {
    for n in [0, 1, 2, 4, 60_000] {
        assert_fails(
            open(
                Archive {
                    n,
                    ..Archive::of(&entries())
                }
                .bytes(),
            ),
            "number of entries",
        );
        assert_fails(
            open(
                Archive {
                    n,
                    ..Archive::of(&entries())
                }
                .zip64_bytes(),
            ),
            "number of entries",
        );
    }
    assert_fails(
        open(
            Archive {
                n: u64::MAX,
                ..Archive::of(&entries())
            }
            .zip64_bytes(),
        ),
        "number of entries",
    );
}

#[test]
fn rs_42_local_headers_of_other_names_are_errors() {
    let [document, chunk, _] = entries();
    let other = Entry {
        local_name: b"c/0/X".to_vec(),
        ..chunk
    };
    let store = open(Archive::of(&[document, other]).bytes()).expect("it opens");
    assert_value(&store, "zarr.json", DOCUMENT);
    assert_fails(get(&store, "c/0/0"), "another name");
    let mut bytes = Archive::of(&entries()).bytes();
    bytes[2] = 9;
    assert_fails(
        get(&open(bytes).expect("it opens"), "zarr.json"),
        "no local header",
    );
}

#[test]
fn rs_42_entries_that_overlap_are_refused() {
    let body = Entry::deflated("c/000", vec![0; 1 << 20]);
    let mut archive = Archive::of(std::slice::from_ref(&body));
    for i in 1..200 {
        archive.list(
            &Entry {
                name: format!("c/{i:03}").into(),
                ..body.clone()
            },
            0,
        );
    }
    assert_fails(open(archive.bytes()), "overlap");
    // One inside of another.
    let inner = Archive::of(&[Entry::stored("b", "inner")]);
    let mut outer = Archive::of(&[Entry::stored("a", &inner.values)]);
    outer.list(&Entry::stored("b", "inner"), 31);
    assert_fails(open(outer.bytes()), "overlap");
}

#[test]
fn rs_42_the_end_inside_a_comment_counts() {
    let inner = Archive::of(&[Entry::stored("zarr.json", "inner")]).bytes();
    let outer = Archive {
        comment: inner,
        ..Archive::of(&[Entry::stored("zarr.json", "outer")])
    };
    assert_value(
        &open(outer.bytes()).expect("it opens"),
        "zarr.json",
        "inner",
    );
}

#[test]
fn archives_on_several_disks_are_refused() {
    let archive = Archive::of(&entries()).bytes();
    let end = archive.len() - 22;
    for at in [4, 6, 8] {
        let mut split = archive.clone();
        split[end + at] ^= 1;
        assert_fails(open(split), "disks");
    }
}

#[test]
fn what_is_not_an_archive_is_refused() {
    for bytes in [&b""[..], b"PK", &b"hello".repeat(100)] {
        assert_fails(open(bytes.to_vec()), "does not end as a zip archive does");
    }
    let absent = ZipStore::open(
        crate::zip::by_hand::memory("x"),
        crate::zip::by_hand::key("b.zip"),
    );
    assert_fails(absent, "no such archive");
}
