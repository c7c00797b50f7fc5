//! The behaviour of every store.

use std::cell::RefCell;

use ndzarr_store::{Can, MemoryStore, Prefix, Store};
use ndzarr_store_zip::ZipWriter;
use ndzarr_testkit::check_store;
use tempfile::TempDir;

use crate::zip::by_hand::{Archive, Entry, open};

#[test]
fn a_new_archive_behaves_as_every_store() {
    let folders = RefCell::new(Vec::<TempDir>::new());
    let can = check_store(|| {
        let folder = tempfile::tempdir().expect("the system has a folder for temporaries");
        let writer = ZipWriter::create_file(folder.path().join("a.zip")).expect("it begins");
        folders.borrow_mut().push(folder);
        Box::new(writer)
    });
    assert_eq!(
        can,
        Can {
            lock: true,
            ..Can::default()
        }
    );
}

/// In the order of bytes, `-` and `.` come before `/`, and `0` after it.
#[test]
fn an_archive_lists_as_a_store_in_memory_does() {
    let names = [
        "z", "a-/x", "a.", "a/-", "a/x/-", "a/x-", "a/x-y/z", "a/x/y", "a/x0", "a0", "ab/x", "a",
        "a/x", "é/0", "é0", "c/0/0", "c/0/1", "c/1/0",
    ];
    let memory = MemoryStore::new();
    names
        .iter()
        .for_each(|name| memory.set(name, "value").expect("a key"));
    let entries: Vec<Entry> = names
        .iter()
        .map(|name| Entry::stored(name, "value"))
        .collect();
    let archive = open(Archive::of(&entries).bytes()).expect("it opens");
    for prefix in [
        "", "a/", "a/x/", "a/x-y/", "ab/", "b/", "c/", "c/0/", "é/", "z/", "zz/",
    ] {
        let prefix = Prefix::new(prefix).expect("a prefix");
        let (found, expected) = (archive.list_dir(&prefix), memory.list_dir(&prefix));
        assert_eq!(
            found.expect("it lists"),
            expected.expect("it lists"),
            "{prefix}"
        );
        let (found, expected) = (archive.list_prefix(&prefix), memory.list_prefix(&prefix));
        assert_eq!(
            found.expect("it lists"),
            expected.expect("it lists"),
            "{prefix}"
        );
    }
}
