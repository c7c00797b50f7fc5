//! An archive that is changed while it is read.

use std::fs;

use ndzarr_store::Store;
use ndzarr_store_zip::{ZipStore, ZipWriter};

use crate::zip::by_hand::{Archive, Entry, assert_fails, assert_value, get, key, memory, open};

fn archive(fill: u8) -> Vec<u8> {
    Archive::of(&[
        Entry::stored("a", [fill; 50]),
        Entry::stored("b", [fill; 50]),
    ])
    .bytes()
}

#[test]
fn rs_45_a_replaced_archive_is_an_error_and_not_a_mixture() {
    let memory = memory(archive(1));
    let store = ZipStore::open(memory.clone(), key("a.zip")).expect("it opens");
    assert_value(&store, "a", [1; 50]);
    memory.set("a.zip", archive(2)).expect("a key");
    for name in ["a", "b"] {
        assert_fails(get(&store, name), "changed since it was opened");
    }
    memory
        .erase(&key("a.zip"), ndzarr_store::Precondition::None)
        .expect("it erases");
    assert_fails(get(&store, "a"), "changed since it was opened");
}

#[test]
fn rs_45_a_replaced_file_is_an_error_and_not_a_mixture() {
    let folder = tempfile::tempdir().expect("the system has a folder for temporaries");
    let path = folder.path().join("a.zip");
    // By renaming, and in place as zipfile does it.
    for in_place in [false, true] {
        fs::write(&path, archive(1)).expect("it writes");
        let store = ZipStore::open_file(&path).expect("it opens");
        assert_value(&store, "a", [1; 50]);
        let other = archive(2).iter().chain(b"").copied().collect::<Vec<u8>>();
        if in_place {
            // Of another size, so that it shows whatever the resolution of the clock.
            let other = Archive {
                junk: b"#".to_vec(),
                ..Archive::of(&[Entry::stored("a", [2; 50])])
            };
            fs::write(&path, other.bytes()).expect("it writes");
        } else {
            let new = folder.path().join("new");
            fs::write(&new, other).expect("it writes");
            fs::rename(new, &path).expect("it renames");
        }
        for name in ["a", "b"] {
            assert_fails(get(&store, name), "changed since it was opened");
        }
    }
}

#[test]
fn pins_name_values_of_one_archive() {
    use ndzarr_store::{Fetch, Fetched, Of, Want};
    let first = open(archive(1)).expect("it opens");
    let second = open(archive(1)).expect("it opens");
    let fetch = |of| Fetch {
        key: key("a"),
        of,
        want: Want::Size,
    };
    let Ok(Fetched::Parts { pin, .. }) = first.fetch(&fetch(Of::Any)) else {
        panic!("it exists")
    };
    for of in [Of::Snapshot(pin.clone()), Of::IfCurrent(pin)] {
        assert!(matches!(
            first.fetch(&fetch(of.clone())),
            Ok(Fetched::Parts { .. })
        ));
        assert!(matches!(second.fetch(&fetch(of)), Ok(Fetched::Changed)));
    }
}

#[test]
fn archives_are_not_written_to() {
    let store = open(archive(1)).expect("it opens");
    assert_fails(
        store.put(&key("a"), &[], ndzarr_store::Precondition::None),
        "only write a new one",
    );
    assert_fails(
        store.erase(&key("a"), ndzarr_store::Precondition::None),
        "only write a new one",
    );
    let memory = memory("");
    assert_fails(ZipWriter::create(memory, key("b.zip")), "temporaries");
}

/// A copy, a new link or another time: the pin is out of date, and the archive is the same.
#[test]
fn an_archive_that_is_the_same_again_is_read_on() {
    let memory = memory(archive(1));
    let store = ZipStore::open(memory.clone(), key("a.zip")).expect("it opens");
    for _ in 0..3 {
        memory.set("a.zip", archive(1)).expect("a key");
        assert_value(&store, "a", [1; 50]);
        assert_value(&store, "b", [1; 50]);
    }
    memory.set("a.zip", archive(2)).expect("a key");
    assert_fails(get(&store, "a"), "changed since it was opened");
    memory.set("a.zip", archive(1)).expect("a key");
    assert_value(&store, "a", [1; 50]);
    memory.set("a.zip", "short").expect("a key");
    assert_fails(get(&store, "a"), "changed since it was opened");
}

/// As over sshfs, whose times are too coarse.
#[test]
fn a_store_that_cannot_tell_whether_a_value_is_current() {
    let store = ZipStore::open(Forgetful(memory(archive(1))), key("a.zip")).expect("it opens");
    assert_value(&store, "a", [1; 50]);
    assert_value(&store, "b", [1; 50]);
}

#[derive(Debug)]
struct Forgetful(ndzarr_store::MemoryStore);

impl Store for Forgetful {
    ndzarr_testkit::forward!(0: name, put, erase);

    fn fetch(
        &self,
        fetch: &ndzarr_store::Fetch,
    ) -> Result<ndzarr_store::Fetched, ndzarr_store::StoreError> {
        match fetch.of {
            ndzarr_store::Of::IfCurrent(_) => Ok(ndzarr_store::Fetched::Changed),
            _ => self.0.fetch(fetch),
        }
    }
}
