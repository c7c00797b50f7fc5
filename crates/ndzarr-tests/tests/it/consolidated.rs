//! Consolidated metadata: nodes seen through them, and our own writes, which never leave them
//! outdated.

use std::sync::Arc;

use ndzarr::{
    AnyNode, Array, ConsolidatedUse, ErrorKind, Format, Group, MemberKind, MemoryStore, OpenOptions, Storage,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, PlainStore};
use ndzarr_tests::cases;
use serde_json::{Value, json};

const FORMATS: [Format; 2] = [Format::Zarr2, Format::Zarr3];

fn options(consolidated: ConsolidatedUse) -> OpenOptions {
    OpenOptions::new().consolidated(consolidated)
}

/// A root with group `g` and the arrays `a` and `g/b`, consolidated.
fn made(storage: &Storage, format: Format) -> Group {
    let mut root = Group::create(storage, format).expect("a new group");
    root.create_array("a", Array::<u16>::builder([4]).chunks([2])).expect("a new array");
    root.create_group("g").expect("a new group");
    root.create_array("g/b", Array::<u8>::builder([3]).attributes(json!({"unit": "m"})))
        .expect("a new array");
    root.consolidate().expect("it is a group");
    root
}

fn paths(group: &Group) -> Vec<String> {
    group.walk().expect("a listing").iter().map(|child| child.path()).collect()
}

/// The copies and the documents, compared as JSON in every format.
fn copies_are_fresh(store: &MemoryStore, format: Format) {
    let parse = |text: &[u8]| -> Value { serde_json::from_slice(text).expect("standard JSON") };
    let map = match format {
        Format::Zarr2 => parse(&store.get(".zmetadata").expect("it is there"))["metadata"].clone(),
        _ => {
            parse(&store.get("zarr.json").expect("it is there"))["consolidated_metadata"]["metadata"].clone()
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
        let b = root.group("g").expect("a group").array::<u8>("b").expect("an array");
        assert_eq!(b.attributes()["unit"], "m");
        assert_eq!(root.array::<u16>("a").expect("an array").shape(), [4]);
        assert_eq!(root.array::<u16>("c").expect_err("none").kind(), ErrorKind::NotFound);
        let counts = store.counts();
        let fetches = u64::from(format == Format::Zarr2);
        assert_eq!((counts.fetches, counts.lists, counts.looks), (fetches, 0, 0), "{format}: {counts:?}");
    }
}

#[test]
fn v2_t42_v3_t51_t61_what_they_lack_is_not_listed_unless_they_are_ignored() {
    for format in FORMATS {
        let store = MemoryStore::new();
        made(&Storage::from(&store), format);
        // A writer that does not know about them.
        let other = MemoryStore::new();
        Array::<u16>::builder([4]).format(format).create((&other, "x")).expect("a new array");
        for key in other.keys().into_iter().filter(|key| key.starts_with("x/")) {
            store.set(&key, other.get(&key).expect("it is listed")).expect("a value");
        }
        let root = Group::open(&store).expect("the group");
        assert_eq!(paths(&root), ["a", "g", "g/b"]);
        assert_eq!(root.array::<u16>("x").expect_err("not in them").kind(), ErrorKind::NotFound);
        // V3-T61: it is found by its path.
        Array::<u16>::open((&store, "x")).expect("by its path");
        let plain = options(ConsolidatedUse::Ignore).open_group(&store).expect("the group");
        assert_eq!(paths(&plain), ["a", "g", "g/b", "x"]);
        // Consolidated again, they match the real documents.
        let mut root = root;
        root.consolidate().expect("it is a group");
        assert_eq!(paths(&root), ["a", "g", "g/b", "x"]);
        copies_are_fresh(&store, format);
    }
}

#[test]
fn v2_155_v3_184_every_write_below_is_in_them_too() {
    for format in FORMATS {
        let store = MemoryStore::new();
        let root = made(&Storage::from(&store), format);
        copies_are_fresh(&store, format);

        let mut b = root.array::<u8>("g/b").expect("an array");
        b.merge_attributes(json!({"unit": "km"})).expect("a new attribute");
        copies_are_fresh(&store, format);
        assert_eq!(root.array::<u8>("g/b").expect("an array").attributes()["unit"], "km", "seen at once");

        b.resize([7]).expect("a new shape");
        copies_are_fresh(&store, format);
        b.append(0, &ndarray::array![1, 2]).expect("appending");
        copies_are_fresh(&store, format);
        assert_eq!(root.array::<u8>("g/b").expect("an array").shape(), [9]);

        Array::<u8>::builder([1]).format(format).create((&store, "new/deep/c")).expect("a new array");
        copies_are_fresh(&store, format);
        let opened = Group::open(&store).expect("the group");
        assert_eq!(paths(&opened), ["a", "g", "g/b", "new", "new/deep", "new/deep/c"]);

        root.erase("g/b").expect("removed");
        Array::<u8>::builder([2])
            .format(format)
            .overwrite()
            .create((&store, "g"))
            .expect("in place of a group");
        copies_are_fresh(&store, format);
        opened.erase("new").expect("removed");
        copies_are_fresh(&store, format);
        assert_eq!(paths(&opened), ["a", "g"]);
        let mut opened = opened;
        opened.merge_attributes(json!({"title": "root"})).expect("a new attribute");
        if format == Format::Zarr2 {
            copies_are_fresh(&store, format);
        }
        assert_eq!(paths(&Group::open(&store).expect("the group")), ["a", "g"]);
        // A group in between that has consolidated metadata itself.
        let mut nested = opened.create_group("n").expect("a new group");
        nested.create_array("d", Array::<u8>::builder([1])).expect("a new array");
        nested.consolidate().expect("it is a group");
        Array::<u8>::builder([1]).format(format).create((&store, "n/e")).expect("a new array");
        for path in ["", "n"] {
            let group = Group::open((&store, path)).expect("the group");
            let expected = if path.is_empty() { "n/e" } else { "e" };
            assert!(paths(&group).contains(&expected.to_owned()), "{format} {path:?}: {:?}", paths(&group));
        }
    }
}

/// Consolidated metadata by zarr-python 2 are read, and our writes keep them up to date.
#[test]
fn d3_123_those_of_the_draft_are_kept_fresh() {
    const COPIES: &str = "meta/root/consolidated/.zmetadata";
    let case = cases()
        .expect("the cases")
        .into_iter()
        .find(|case| case.path() == "draft/zp2-hierarchy-consolidated");
    let store = case.expect("the case").memory().expect("the stored files");
    let fresh = |what: &str| {
        let parse =
            |key: &str| -> Value { serde_json::from_slice(&store.get(key).expect(key)).expect("JSON") };
        let keys = store.keys();
        let documents = keys.iter().filter(|key| key.ends_with(".json"));
        let expected: serde_json::Map<_, _> = documents.map(|key| (key.clone(), parse(key))).collect();
        assert_eq!(parse(COPIES)["metadata"], Value::Object(expected), "{what}");
    };
    fresh("as it was written");
    let mut a = Array::<i16>::open((&store, "g/a")).expect("the array");
    a.merge_attributes(json!({"unit": "km"})).expect("a new attribute");
    fresh("attributes");
    a.resize([5]).expect("a new shape");
    fresh("a shape");
    a.append(0, &ndarray::array![1, 2]).expect("appending");
    fresh("an append");
    let root = Group::open(&store).expect("the group");
    let seen = root.array::<i16>("g/a").expect("an array");
    assert_eq!((seen.shape(), &seen.attributes()["unit"]), (&[7][..], &json!("km")));
    Array::<u8>::builder([1]).format(Format::DraftB).create((&store, "new/deep/c")).expect("a new array");
    fresh("a new array");
    assert!(paths(&Group::open(&store).expect("the group")).contains(&"new/deep/c".to_owned()));
    root.erase("g").expect("removed");
    fresh("without g");
    assert!(!paths(&Group::open(&store).expect("the group")).contains(&"g/a".to_owned()));
}

#[test]
fn writers_side_by_side_leave_them_fresh() {
    for format in FORMATS {
        let store = MemoryStore::new();
        made(&Storage::from(&store), format);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let store = &store;
                scope.spawn(move || {
                    for round in 0..5 {
                        let path = format!("t{thread}/r{round}");
                        Array::<u8>::builder([1]).format(format).create((store, &path)).expect("a new array");
                        let mut a = Array::<u16>::open((store, "a")).expect("the array");
                        a.merge_attributes(json!({format!("{thread}"): round})).expect("a new attribute");
                    }
                    if thread == 0 {
                        Group::open(store).expect("the group").consolidate().expect("it is a group");
                    }
                });
            }
        });
        copies_are_fresh(&store, format);
    }
}

/// Where writers cannot be serialized, copies that cannot be updated are dropped, or the writer
/// gets an error.
#[test]
fn a_store_without_turns_has_none_that_are_stale() {
    for format in FORMATS {
        let memory = MemoryStore::new();
        made(&Storage::from(&memory), format);
        let plain = Storage::blocking(PlainStore::new(memory.clone()));
        let created = Array::<u8>::builder([1]).format(format).create((&plain, "c"));
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
fn v2_t44_v2_158_what_is_of_no_use_is_passed_over_unless_it_is_required() {
    let array = json!({"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|u1", "order": "C",
        "compressor": null, "filters": null, "fill_value": 0});
    for bad in [
        json!({"zarr_consolidated_format": 2, "metadata": {"a/.zarray": array}}).to_string(),
        json!({"zarr_consolidated_format": 1.0, "metadata": {"a/.zarray": array}}).to_string(),
        json!({"metadata": {"a/.zarray": array}}).to_string(),
        json!({"zarr_consolidated_format": 1, "metadata": [1]}).to_string(),
        json!({"zarr_consolidated_format": 1}).to_string(),
        "{\"zarr_consolidated_format\": 1, \"metadata\": {\"a/.zarray\": {".to_owned(),
        "no JSON".to_owned(),
        String::new(),
    ] {
        let store = MemoryStore::new();
        store.set(".zgroup", "{\"zarr_format\": 2}").expect("a value");
        store.set("b/.zarray", array.to_string()).expect("a value");
        store.set(".zmetadata", bad.clone()).expect("a value");
        let root = Group::open(&store).expect("the group");
        assert_eq!(paths(&root), ["b"], "{bad}");
        let error = options(ConsolidatedUse::Require).open_group(&store).expect_err(&bad);
        assert!(error.to_string().contains(".zmetadata"), "{error}");
    }
    let none = MemoryStore::new();
    none.set(".zgroup", "{\"zarr_format\": 2}").expect("a value");
    let error = options(ConsolidatedUse::Require).open_group(&none).expect_err("there are none");
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn v2_t43_v2_154_v2_158_v3_186_odd_entries_are_ignored() {
    let group = json!({"zarr_format": 2, "consolidated_metadata": {"x": 1}});
    let map = json!({".zgroup": group, "x/.zgroup": group, "x/.zother": 1, "x/zarr.json": 1, "../y/.zgroup": group,
        "/y/.zgroup": group, "y//z/.zgroup": group, "./y/.zgroup": group, "y\\z/.zgroup": group, "y/0.0": 1,
        "y\u{0}/.zgroup": group});
    let store = MemoryStore::new();
    store.set(".zgroup", "{\"zarr_format\": 2}").expect("a value");
    let text = json!({"zarr_consolidated_format": 1, "metadata": map}).to_string();
    store.set(".zmetadata", text).expect("a value");
    let root = Group::open(&store).expect("the group");
    assert_eq!(
        root.walk().expect("a listing").iter().map(|child| (child.path(), child.kind())).collect::<Vec<_>>(),
        [("x".to_owned(), Some(MemberKind::Group))]
    );

    let group = json!({"zarr_format": 3, "node_type": "group"});
    let map = json!({"x": group, "../y": group, "/y": group, "": group, "x/": group, "x//y": group, "y\\z": group,
        "__y": group});
    let inline = json!({"kind": "inline", "must_understand": false, "metadata": map});
    let text = json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata": inline}).to_string();
    let store = MemoryStore::new();
    store.set("zarr.json", text).expect("a value");
    let root = Group::open(&store).expect("the group");
    assert_eq!(
        root.walk().expect("a listing").iter().map(|child| (child.path(), child.kind())).collect::<Vec<_>>(),
        [("x".to_owned(), Some(MemberKind::Group))]
    );
    assert!(root.group("../y").is_err());
}

#[test]
fn v3_182_v3_183_nested_maps_and_missing_parents() {
    let array = json!({"zarr_format": 3, "node_type": "array", "shape": [1], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]});
    let empty = json!({"kind": "inline", "must_understand": false, "metadata": {}});
    let group = json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata": empty});
    let root = |map: Value| {
        let inline = json!({"kind": "inline", "must_understand": false, "metadata": map});
        let store = MemoryStore::new();
        let text =
            json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata": inline}).to_string();
        store.set("zarr.json", text).expect("a value");
        Group::open(&store).expect("the group")
    };
    // The map of a group in the map has no effect: its children are in the outer one.
    let full = root(json!({"g": group, "g/a": array}));
    assert_eq!(paths(&full.group("g").expect("a group")), ["a"]);
    let orphan = root(json!({"g/a": array}));
    let error = orphan.children().expect_err("without its group").to_string();
    assert!(error.contains("g/a"), "{error}");
    // For the group itself, an empty map hides nothing.
    let store = MemoryStore::new();
    store.set("zarr.json", group.to_string()).expect("a value");
    store.set("b/zarr.json", array.to_string()).expect("a value");
    assert_eq!(paths(&Group::open(&store).expect("the group")), ["b"]);
}

/// V2-T54, and the same of Zarr v3: a store of chunks and one document.
#[test]
fn v2_t54_nodes_that_are_in_them_alone_are_opened() {
    for format in FORMATS {
        let full = MemoryStore::new();
        let root = made(&Storage::from(&full), format);
        root.array::<u8>("g/b").expect("an array").fill([0..3], 7).expect("elements");
        let store = MemoryStore::new();
        for key in full.keys() {
            let is_copied =
                ["zarr.json", ".zarray", ".zgroup", ".zattrs"].iter().any(|name| key.ends_with(name));
            if !is_copied || key == "zarr.json" {
                store.set(&key, full.get(&key).expect("it is listed")).expect("a value");
            }
        }
        let latency = Latency::default();
        let asynchronous = Storage::asynchronous(AsyncMemoryStore::over(store.clone(), latency));
        for storage in [Storage::from(&store), asynchronous] {
            let b = Array::<u8>::open((&storage, "g/b")).expect("an array");
            assert_eq!(b.read(..).expect("elements").as_slice(), Some(&[7, 7, 7][..]));
            assert_eq!(paths(&Group::open(&storage).expect("the group")), ["a", "g", "g/b"]);
            let g = AnyNode::open((&storage, "g")).expect("a group");
            assert!(matches!(g, AnyNode::Group(g) if paths(&g) == ["b"]), "{format}");
            let ignored = options(ConsolidatedUse::Ignore);
            let error = ignored.open_node((&storage, "g/b")).expect_err("no document");
            assert_eq!(error.kind(), ErrorKind::NotFound);
        }
    }
}

/// Documents with many entries or long paths cost time in proportion to their size.
#[test]
fn hostile_maps_are_bounded() {
    let store = MemoryStore::new();
    let deep = "a/".repeat(200_000);
    let mut map = serde_json::Map::new();
    map.insert(format!("{deep}.zgroup"), json!({"zarr_format": 2}));
    for i in 0..10_000 {
        map.insert(format!("n{i}/.zgroup"), json!({"zarr_format": 2}));
    }
    let text = json!({"zarr_consolidated_format": 1, "metadata": map}).to_string();
    store.set(".zgroup", "{\"zarr_format\": 2}").expect("a value");
    store.set(".zmetadata", text).expect("a value");
    let root = Group::open(&store).expect("the group");
    assert_eq!(root.children().expect("a listing").len(), 10_000);
    let limits = ndzarr::Limits::default().document_bytes(1000);
    let root = OpenOptions::new().limits(limits).open_group(&store).expect("the group");
    assert_eq!(root.children().expect_err("too large").kind(), ErrorKind::InvalidMetadata);
}

/// A change that could not be opened again is not written, and the old value stays readable.
#[test]
fn they_stay_within_the_limits() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let store = MemoryStore::new();
        let limits = ndzarr::Limits::default().document_bytes(2000);
        let open = OpenOptions::new().limits(limits);
        let mut root = Group::builder().format(format).limits(limits).create(&store).expect("a new group");
        let array = |name: &str| {
            let attributes = json!({"a": "x".repeat(1000)});
            root.create_array(name, Array::<u8>::builder([4]).attributes(attributes))
        };
        array("a").expect("a new array");
        array("b").expect("a new array");
        let before = store.keys();
        let error = root.clone().consolidate().expect_err("two arrays are too large for one document");
        assert_eq!(error.kind(), ErrorKind::InvalidMetadata, "{format}: {error}");
        assert!(error.to_string().contains("limit of 2000"), "{format}: {error}");
        assert_eq!(store.keys(), before, "{format}");
        let read = |path: &str| open.open_group(&store).and_then(|root| root.array::<u8>(path));
        read("b").unwrap_or_else(|error| panic!("{format}: {error}"));

        root.erase("b").expect("it is there");
        root.consolidate().expect("one array is not too large");
        let key = if format == Format::Zarr2 { ".zmetadata" } else { "zarr.json" };
        let before = store.get(key);
        let attributes = json!({"a": "x".repeat(1000)});
        let error = root
            .create_array("b", Array::<u8>::builder([4]).attributes(attributes))
            .expect_err("its copy is too large");
        assert_eq!(error.kind(), ErrorKind::InvalidMetadata, "{format}: {error}");
        let message = error.to_string();
        assert!(message.contains("limit of 2000") && message.contains("the change is stored"), "{message}");
        assert_eq!(store.get(key), before, "{format}");
        read("a").unwrap_or_else(|error| panic!("{format}: {error}"));
    }
}

#[test]
fn a_format_without_them_refuses_and_changes_nothing() {
    for format in [Format::DraftA, Format::DraftB, Format::N5] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut group = Group::create(folder.path(), format).expect("a new group");
        group.create_array("a", Array::<u8>::builder([4]).chunks([2])).expect("a new array");
        let before = paths(&group);
        let error = group.consolidate().expect_err("it has none");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{format}: {error}");
        assert!(error.to_string().contains("no consolidated metadata"), "{format}: {error}");
        assert_eq!(paths(&group), before, "{format}");
    }
}
