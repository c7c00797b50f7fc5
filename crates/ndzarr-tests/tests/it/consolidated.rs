//! Consolidated metadata: nodes seen through them, and our own writes, which never leave them
//! outdated.

use std::sync::Arc;

use ndzarr::{Array, ConsolidatedUse, ErrorKind, Format, Group, MemoryStore, OpenOptions, Storage};
use ndzarr_testkit::{CountingStore, PlainStore};
use ndzarr_tests::cases;
use serde_json::{Value, json};

pub(crate) const FORMATS: [Format; 2] = [Format::Zarr2, Format::Zarr3];

pub(crate) fn options(consolidated: ConsolidatedUse) -> OpenOptions {
    OpenOptions::new().consolidated(consolidated)
}

/// A root with group `g` and the arrays `a` and `g/b`, consolidated.
pub(crate) fn made(storage: &Storage, format: Format) -> Group {
    let mut root = Group::create(storage, format).expect("a new group");
    root.create_array("a", Array::<u16>::builder([4]).chunks([2]))
        .expect("a new array");
    root.create_group("g").expect("a new group");
    root.create_array(
        "g/b",
        Array::<u8>::builder([3]).attributes(json!({"unit": "m"})),
    )
    .expect("a new array");
    root.consolidate().expect("it is a group");
    root
}

pub(crate) fn paths(group: &Group) -> Vec<String> {
    group
        .walk()
        .expect("a listing")
        .iter()
        .map(|child| child.path())
        .collect()
}

/// Compares the consolidated copies with the documents, as JSON.
fn assert_fresh(store: &MemoryStore, format: Format) {
    let parse = |text: &[u8]| -> Value { serde_json::from_slice(text).expect("standard JSON") };
    let map = match format {
        Format::Zarr2 => parse(&store.get(".zmetadata").expect("it exists"))["metadata"].clone(),
        _ => {
            parse(&store.get("zarr.json").expect("it exists"))["consolidated_metadata"]["metadata"]
                .clone()
        }
    };
    let mut expected = serde_json::Map::new();
    for key in store.keys() {
        let name = key.rsplit('/').next().unwrap_or(&key);
        let mut document = match name {
            ".zarray" | ".zgroup" | ".zattrs" | "zarr.json" if key != "zarr.json" => {
                parse(&store.get(&key).expect("it is listed"))
            }
            _ => continue,
        };
        if document.get("node_type") == Some(&json!("group")) {
            document["consolidated_metadata"] =
                json!({"kind": "inline", "must_understand": false, "metadata": {}});
        }
        expected.insert(key.trim_end_matches("/zarr.json").to_owned(), document);
    }
    assert_eq!(map, Value::Object(expected), "{format}");
}

#[test]
fn v2_152_v3_183_listing_and_opening_through_a_group_asks_the_store_for_nothing() {
    for format in FORMATS {
        let memory = MemoryStore::new();
        made(&Storage::from(&memory), format);
        let store = Arc::new(CountingStore::new(memory));
        let storage = Storage::blocking(Arc::clone(&store));
        let root = Group::open(&storage).expect("the group");
        let opened = store.reset().fetches;
        assert_eq!(opened, if format == Format::Zarr2 { 3 } else { 1 });
        assert_eq!(paths(&root), ["a", "g", "g/b"]);
        let b = root
            .group("g")
            .expect("a group")
            .array::<u8>("b")
            .expect("an array");
        assert_eq!(b.attributes()["unit"], "m");
        assert_eq!(root.array::<u16>("a").expect("an array").shape(), [4]);
        assert_eq!(
            root.array::<u16>("c").expect_err("none").kind(),
            ErrorKind::NotFound
        );
        let counts = store.counts();
        let fetches = u64::from(format == Format::Zarr2);
        assert_eq!(
            (counts.fetches, counts.lists, counts.looks),
            (fetches, 0, 0),
            "{format}: {counts:?}"
        );
    }
}

#[test]
fn v2_t42_v3_t51_t61_nodes_missing_from_the_consolidated_metadata_are_not_listed_unless_it_is_ignored()
 {
    for format in FORMATS {
        let store = MemoryStore::new();
        made(&Storage::from(&store), format);
        // A writer that does not know about them.
        let other = MemoryStore::new();
        Array::<u16>::builder([4])
            .format(format)
            .create((&other, "x"))
            .expect("a new array");
        for key in other.keys().into_iter().filter(|key| key.starts_with("x/")) {
            store
                .set(&key, other.get(&key).expect("it is listed"))
                .expect("a value");
        }
        let root = Group::open(&store).expect("the group");
        assert_eq!(paths(&root), ["a", "g", "g/b"]);
        assert_eq!(
            root.array::<u16>("x").expect_err("not in them").kind(),
            ErrorKind::NotFound
        );
        // V3-T61: it is found by its path.
        Array::<u16>::open((&store, "x")).expect("by its path");
        let plain = options(ConsolidatedUse::Ignore)
            .open_group(&store)
            .expect("the group");
        assert_eq!(paths(&plain), ["a", "g", "g/b", "x"]);
        // Consolidated again, they match the real documents.
        let mut root = root;
        root.consolidate().expect("it is a group");
        assert_eq!(paths(&root), ["a", "g", "g/b", "x"]);
        assert_fresh(&store, format);
    }
}

#[test]
fn v2_155_v3_184_consolidated_metadata_follow_every_write_below() {
    for format in FORMATS {
        let store = MemoryStore::new();
        let root = made(&Storage::from(&store), format);
        assert_fresh(&store, format);

        let mut b = root.array::<u8>("g/b").expect("an array");
        b.merge_attributes(json!({"unit": "km"}))
            .expect("a new attribute");
        assert_fresh(&store, format);
        assert_eq!(
            root.array::<u8>("g/b").expect("an array").attributes()["unit"],
            "km",
            "seen at once"
        );

        b.resize([7]).expect("a new shape");
        assert_fresh(&store, format);
        b.append(0, &ndarray::array![1, 2]).expect("appending");
        assert_fresh(&store, format);
        assert_eq!(root.array::<u8>("g/b").expect("an array").shape(), [9]);

        Array::<u8>::builder([1])
            .format(format)
            .create((&store, "new/deep/c"))
            .expect("a new array");
        assert_fresh(&store, format);
        let opened = Group::open(&store).expect("the group");
        assert_eq!(
            paths(&opened),
            ["a", "g", "g/b", "new", "new/deep", "new/deep/c"]
        );

        root.erase("g/b").expect("removed");
        Array::<u8>::builder([2])
            .format(format)
            .overwrite()
            .create((&store, "g"))
            .expect("in place of a group");
        assert_fresh(&store, format);
        opened.erase("new").expect("removed");
        assert_fresh(&store, format);
        assert_eq!(paths(&opened), ["a", "g"]);
        let mut opened = opened;
        opened
            .merge_attributes(json!({"title": "root"}))
            .expect("a new attribute");
        if format == Format::Zarr2 {
            assert_fresh(&store, format);
        }
        assert_eq!(paths(&Group::open(&store).expect("the group")), ["a", "g"]);
        // A group in between that has consolidated metadata itself.
        let mut nested = opened.create_group("n").expect("a new group");
        nested
            .create_array("d", Array::<u8>::builder([1]))
            .expect("a new array");
        nested.consolidate().expect("it is a group");
        Array::<u8>::builder([1])
            .format(format)
            .create((&store, "n/e"))
            .expect("a new array");
        for path in ["", "n"] {
            let group = Group::open((&store, path)).expect("the group");
            let expected = if path.is_empty() { "n/e" } else { "e" };
            assert!(
                paths(&group).contains(&expected.to_owned()),
                "{format} {path:?}: {:?}",
                paths(&group)
            );
        }
    }
}

/// Consolidated metadata by zarr-python 2 are read, and our writes keep them up to date.
#[test]
fn d3_123_consolidated_metadata_of_the_draft_are_kept_fresh() {
    const COPIES: &str = "meta/root/consolidated/.zmetadata";
    let case = cases()
        .expect("the cases")
        .into_iter()
        .find(|case| case.path() == "draft/zp2-hierarchy-consolidated");
    let store = case.expect("the case").memory().expect("the stored files");
    let fresh = |what: &str| {
        let parse = |key: &str| -> Value {
            serde_json::from_slice(&store.get(key).expect(key)).expect("JSON")
        };
        let keys = store.keys();
        let documents = keys.iter().filter(|key| key.ends_with(".json"));
        let expected: serde_json::Map<_, _> =
            documents.map(|key| (key.clone(), parse(key))).collect();
        assert_eq!(parse(COPIES)["metadata"], Value::Object(expected), "{what}");
    };
    fresh("as it was written");
    let mut a = Array::<i16>::open((&store, "g/a")).expect("the array");
    a.merge_attributes(json!({"unit": "km"}))
        .expect("a new attribute");
    fresh("attributes");
    a.resize([5]).expect("a new shape");
    fresh("a shape");
    a.append(0, &ndarray::array![1, 2]).expect("appending");
    fresh("an append");
    let root = Group::open(&store).expect("the group");
    let seen = root.array::<i16>("g/a").expect("an array");
    assert_eq!(
        (seen.shape(), &seen.attributes()["unit"]),
        (&[7][..], &json!("km"))
    );
    Array::<u8>::builder([1])
        .format(Format::DraftB)
        .create((&store, "new/deep/c"))
        .expect("a new array");
    fresh("a new array");
    assert!(paths(&Group::open(&store).expect("the group")).contains(&"new/deep/c".to_owned()));
    root.erase("g").expect("removed");
    fresh("without g");
    assert!(!paths(&Group::open(&store).expect("the group")).contains(&"g/a".to_owned()));
}

#[test]
fn concurrent_writers_leave_consolidated_metadata_fresh() {
    for format in FORMATS {
        let store = MemoryStore::new();
        made(&Storage::from(&store), format);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let store = &store;
                scope.spawn(move || {
                    for round in 0..5 {
                        let path = format!("t{thread}/r{round}");
                        Array::<u8>::builder([1])
                            .format(format)
                            .create((store, &path))
                            .expect("a new array");
                        let mut a = Array::<u16>::open((store, "a")).expect("the array");
                        a.merge_attributes(json!({format!("{thread}"): round}))
                            .expect("a new attribute");
                    }
                    if thread == 0 {
                        Group::open(store)
                            .expect("the group")
                            .consolidate()
                            .expect("it is a group");
                    }
                });
            }
        });
        assert_fresh(&store, format);
    }
}

/// Where writers cannot be serialized, copies that cannot be updated are dropped, or the writer
/// gets an error.
#[test]
fn a_store_without_locks_has_no_stale_consolidated_metadata() {
    for format in FORMATS {
        let memory = MemoryStore::new();
        made(&Storage::from(&memory), format);
        let plain = Storage::blocking(PlainStore::new(memory.clone()));
        let created = Array::<u8>::builder([1])
            .format(format)
            .create((&plain, "c"));
        match format {
            Format::Zarr2 => {
                created.expect("a new array");
                assert_eq!(memory.get(".zmetadata"), None, "dropped");
            }
            _ => assert_eq!(created.expect_err("says so").kind(), ErrorKind::NoLocking),
        }
    }
}

#[test]
fn a_format_without_consolidated_metadata_refuses_and_changes_nothing() {
    for format in [Format::DraftA, Format::DraftB, Format::N5] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut group = Group::create(folder.path(), format).expect("a new group");
        group
            .create_array("a", Array::<u8>::builder([4]).chunks([2]))
            .expect("a new array");
        let before = paths(&group);
        let error = group.consolidate().expect_err("it has none");
        assert_eq!(
            error.kind(),
            ErrorKind::InvalidArgument,
            "{format}: {error}"
        );
        assert!(
            error.to_string().contains("no consolidated metadata"),
            "{format}: {error}"
        );
        assert_eq!(paths(&group), before, "{format}");
    }
}
