//! Names with dots, in every format: what lies below a group, with and without the documents of the
//! groups between, is found, counted and copied.

use ndzarr::store::{Key, Precondition, StoreError};
use ndzarr::{
    AnyNode, Array, Child, CopyOptions, ErrorKind, Format, Group, MemoryStore, Storage, Store,
    codec, copy,
};
use ndzarr_testkit::{AsyncMemoryStore, Call, FaultStore, Latency};

use crate::children::FORMATS;

/// Dots at the start, at the end, several, and beside a group whose name lacks them.
const GROUPS: [&str; 8] = [".a", "a", "a.", "a..b", "a.b", "a.b.c", "v1.0", "v1.0/2.1"];

/// In each of the groups.
const ARRAY: &str = "x.y";

/// An array in each of the groups.
fn fill(memory: &MemoryStore, format: Format) {
    let root = Group::create(memory, format).expect("a new group");
    for group in GROUPS {
        let array = Array::<u8>::builder([2]).codecs([codec::gzip(1)]);
        root.create_array(&format!("{group}/{ARRAY}"), array)
            .expect("a new array")
            .fill(.., 7)
            .expect("a write");
    }
}

/// Removes the documents of all groups but the root, as if their writer had left them out.
fn remove_groups(memory: &MemoryStore) {
    for group in GROUPS {
        for key in [
            format!("{group}/.zgroup"),
            format!("{group}/zarr.json"),
            format!("meta/{group}.group.json"),
            format!("meta/root/{group}.group.json"),
        ] {
            let key = Key::new(key).expect("a key");
            memory.erase(&key, Precondition::None).expect("it goes");
        }
    }
}

/// The groups and the arrays in them, in the order of a walk.
fn nodes() -> Vec<String> {
    let arrays = GROUPS.map(|group| format!("{group}/{ARRAY}"));
    let mut nodes: Vec<String> = GROUPS
        .map(str::to_owned)
        .into_iter()
        .chain(arrays)
        .collect();
    nodes.sort();
    nodes
}

fn paths(children: &[Child]) -> Vec<String> {
    children.iter().map(Child::path).collect()
}

fn walked(storage: &Storage) -> Vec<String> {
    let root = Group::open(storage).expect("the root");
    paths(&root.walk().expect("a listing"))
}

/// The same values, in a store that blocks and in one that does not.
fn both(memory: &MemoryStore) -> [Storage; 2] {
    let served = AsyncMemoryStore::over(memory.clone(), Latency::default());
    [Storage::from(memory), Storage::asynchronous(served)]
}

#[test]
fn nodes_with_dots_in_their_names_are_listed_and_counted() {
    for format in FORMATS {
        for has_groups in [true, false] {
            let memory = MemoryStore::new();
            fill(&memory, format);
            if !has_groups {
                remove_groups(&memory);
            }
            // Without its document a folder is a group only where a format needs none.
            let are_children = has_groups || !matches!(format, Format::Zarr2 | Format::Zarr3);
            let children: Vec<&str> = GROUPS
                .into_iter()
                .filter(|group| are_children && !group.contains('/'))
                .collect();
            for storage in both(&memory) {
                let root = Group::open(&storage).expect("the root");
                let found = root.children().expect("a listing");
                assert_eq!(paths(&found), children, "{format} {has_groups}");
                assert_eq!(walked(&storage), nodes(), "{format} {has_groups}");
                let contents = AnyNode::Group(root).contents().expect("a listing");
                assert_eq!(
                    (contents.n_arrays, contents.n_groups),
                    (8, 9),
                    "{format} {has_groups}"
                );
                assert_eq!(contents.foreign, [""; 0], "{format} {has_groups}");
            }
        }
    }
}

#[test]
fn consolidated_metadata_have_the_nodes_with_dots_in_their_names() {
    for format in [Format::Zarr2, Format::Zarr3] {
        for has_groups in [true, false] {
            let memory = MemoryStore::new();
            fill(&memory, format);
            if !has_groups {
                remove_groups(&memory);
            }
            Group::open(&memory)
                .expect("the root")
                .consolidate()
                .expect("it is consolidated");
            for storage in both(&memory) {
                assert_eq!(walked(&storage), nodes(), "{format} {has_groups}");
            }
        }
    }
}

#[test]
fn nodes_with_dots_in_their_names_are_copied_to_every_format() {
    for from in FORMATS {
        let memory = MemoryStore::new();
        fill(&memory, from);
        remove_groups(&memory);
        for storage in both(&memory) {
            for to in FORMATS {
                let target = Storage::from(MemoryStore::new());
                let options = CopyOptions::new().format(to);
                let report = copy(&storage, &target, &options).expect("a copy");
                let account = report.account.expect("an account");
                assert_eq!(account.files.first, [""; 0], "{from} to {to}");
                assert_eq!(account.n_chunks, 8, "{from} to {to}");
                assert_eq!(walked(&target), nodes(), "{from} to {to}");
                for group in GROUPS {
                    let array = Array::<u8>::open((&target, format!("{group}/{ARRAY}")));
                    let elements = array.expect("an array").read(..).expect("elements");
                    assert_eq!(elements.sum(), 14, "{from} to {to}: {group}");
                }
            }
        }
    }
}

#[test]
fn a_folder_of_others_beside_a_group_does_not_double_it() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let memory = MemoryStore::new();
        let root = Group::create(&memory, format).expect("a new group");
        root.create_group("a").expect("a new group");
        root.create_array("a/b", Array::<u8>::builder([2]))
            .expect("a new array");
        for key in ["a.backup/text", "a./text", "a.0.1/text", ".a/text"] {
            memory.set(key, "no node").expect("a write");
        }
        for storage in both(&memory) {
            assert_eq!(walked(&storage), ["a", "a/b"], "{format}");
        }
    }
}

/// The error of a child has its whole name.
#[test]
fn a_child_with_dots_in_its_name_that_cannot_be_read_is_named() {
    for (format, document) in [
        (Format::Zarr2, "v1.0/.zarray"),
        (Format::Zarr3, "v1.0/zarr.json"),
        (Format::N5, "v1.0/attributes.json"),
        (Format::DraftA, "meta/v1.0.array.json"),
        (Format::DraftB, "meta/root/v1.0.array.json"),
    ] {
        let store = FaultStore::new(MemoryStore::new());
        let storage = Storage::blocking(store.clone());
        let root = Group::create(&storage, format).expect("a new group");
        root.create_array("v1.0", Array::<u8>::builder([2]))
            .expect("a new array");
        let denied = std::io::ErrorKind::PermissionDenied.into();
        store.fail_key(
            Call::Fetch,
            document,
            StoreError::io("read", document, denied),
        );
        let mut found = root.children().expect("a listing");
        assert_eq!(paths(&found), ["v1.0"], "{format}");
        assert_eq!(walked(&storage), ["v1.0"], "{format}");
        let opened = found.pop().map(Child::open).expect("the only one");
        let error = opened.expect_err("it cannot be read");
        assert_eq!(error.kind(), ErrorKind::Denied, "{format}: {error}");
    }
}
