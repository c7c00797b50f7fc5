//! Consolidated metadata with odd, hostile and too many entries.

use ndzarr::{
    AnyNode, Array, ConsolidatedUse, ErrorKind, Format, Group, MemberKind, MemoryStore,
    OpenOptions, Storage,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency};
use serde_json::{Value, json};

use crate::consolidated::{FORMATS, made, options, paths};

#[test]
fn v2_t44_v2_158_unusable_consolidated_metadata_are_ignored_unless_they_are_required() {
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
        store
            .set(".zgroup", "{\"zarr_format\": 2}")
            .expect("a value");
        store.set("b/.zarray", array.to_string()).expect("a value");
        store.set(".zmetadata", bad.clone()).expect("a value");
        let root = Group::open(&store).expect("the group");
        assert_eq!(paths(&root), ["b"], "{bad}");
        let error = options(ConsolidatedUse::Require)
            .open_group(&store)
            .expect_err(&bad);
        assert!(error.to_string().contains(".zmetadata"), "{error}");
    }
    let none = MemoryStore::new();
    none.set(".zgroup", "{\"zarr_format\": 2}")
        .expect("a value");
    let error = options(ConsolidatedUse::Require)
        .open_group(&none)
        .expect_err("there are none");
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn v2_t43_v2_154_v2_158_v3_186_odd_entries_are_ignored() {
    let group = json!({"zarr_format": 2, "consolidated_metadata": {"x": 1}});
    let map = json!({".zgroup": group, "x/.zgroup": group, "x/.zother": 1, "x/zarr.json": 1, "../y/.zgroup": group,
        "/y/.zgroup": group, "y//z/.zgroup": group, "./y/.zgroup": group, "y\\z/.zgroup": group, "y/0.0": 1,
        "y\u{0}/.zgroup": group});
    let store = MemoryStore::new();
    store
        .set(".zgroup", "{\"zarr_format\": 2}")
        .expect("a value");
    let text = json!({"zarr_consolidated_format": 1, "metadata": map}).to_string();
    store.set(".zmetadata", text).expect("a value");
    let root = Group::open(&store).expect("the group");
    assert_eq!(
        root.walk()
            .expect("a listing")
            .iter()
            .map(|child| (child.path(), child.kind()))
            .collect::<Vec<_>>(),
        [("x".to_owned(), Some(MemberKind::Group))]
    );

    let group = json!({"zarr_format": 3, "node_type": "group"});
    let map = json!({"x": group, "../y": group, "/y": group, "": group, "x/": group, "x//y": group, "y\\z": group,
        "__y": group});
    let inline = json!({"kind": "inline", "must_understand": false, "metadata": map});
    let text = json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata": inline})
        .to_string();
    let store = MemoryStore::new();
    store.set("zarr.json", text).expect("a value");
    let root = Group::open(&store).expect("the group");
    assert_eq!(
        root.walk()
            .expect("a listing")
            .iter()
            .map(|child| (child.path(), child.kind()))
            .collect::<Vec<_>>(),
        [("x".to_owned(), Some(MemberKind::Group))]
    );
    assert!(root.group("../y").is_err());
}

#[test]
fn v3_182_v3_183_nested_maps_have_no_effect_and_missing_parents_are_errors() {
    let array = json!({"zarr_format": 3, "node_type": "array", "shape": [1], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]});
    let empty = json!({"kind": "inline", "must_understand": false, "metadata": {}});
    let group = json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata": empty});
    let root = |map: Value| {
        let inline = json!({"kind": "inline", "must_understand": false, "metadata": map});
        let store = MemoryStore::new();
        let text = json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata": inline})
            .to_string();
        store.set("zarr.json", text).expect("a value");
        Group::open(&store).expect("the group")
    };
    // The map of a group in the map has no effect: its children are in the outer one.
    let full = root(json!({"g": group, "g/a": array}));
    assert_eq!(paths(&full.group("g").expect("a group")), ["a"]);
    let orphan = root(json!({"g/a": array}));
    let error = orphan
        .children()
        .expect_err("without its group")
        .to_string();
    assert!(error.contains("g/a"), "{error}");
    // For the group itself, an empty map hides nothing.
    let store = MemoryStore::new();
    store.set("zarr.json", group.to_string()).expect("a value");
    store
        .set("b/zarr.json", array.to_string())
        .expect("a value");
    assert_eq!(paths(&Group::open(&store).expect("the group")), ["b"]);
}

/// V2-T54, also in Zarr v3: a store of chunks and one document.
#[test]
fn v2_t54_nodes_that_only_consolidated_metadata_have_are_opened() {
    for format in FORMATS {
        let full = MemoryStore::new();
        let root = made(&Storage::from(&full), format);
        root.array::<u8>("g/b")
            .expect("an array")
            .fill([0..3], 7)
            .expect("elements");
        let store = MemoryStore::new();
        for key in full.keys() {
            let is_copied = ["zarr.json", ".zarray", ".zgroup", ".zattrs"]
                .iter()
                .any(|name| key.ends_with(name));
            if !is_copied || key == "zarr.json" {
                store
                    .set(&key, full.get(&key).expect("it is listed"))
                    .expect("a value");
            }
        }
        let latency = Latency::default();
        let asynchronous = Storage::asynchronous(AsyncMemoryStore::over(store.clone(), latency));
        for storage in [Storage::from(&store), asynchronous] {
            let b = Array::<u8>::open((&storage, "g/b")).expect("an array");
            assert_eq!(
                b.read(..).expect("elements").as_slice(),
                Some(&[7, 7, 7][..])
            );
            assert_eq!(
                paths(&Group::open(&storage).expect("the group")),
                ["a", "g", "g/b"]
            );
            let g = AnyNode::open((&storage, "g")).expect("a group");
            assert!(
                matches!(g, AnyNode::Group(g) if paths(&g) == ["b"]),
                "{format}"
            );
            let ignored = options(ConsolidatedUse::Ignore);
            let error = ignored
                .open_node((&storage, "g/b"))
                .expect_err("no document");
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
    store
        .set(".zgroup", "{\"zarr_format\": 2}")
        .expect("a value");
    store.set(".zmetadata", text).expect("a value");
    let root = Group::open(&store).expect("the group");
    assert_eq!(root.children().expect("a listing").len(), 10_000);
    let limits = ndzarr::Limits::default().document_bytes(1000);
    let root = OpenOptions::new()
        .limits(limits)
        .open_group(&store)
        .expect("the group");
    assert_eq!(
        root.children().expect_err("too large").kind(),
        ErrorKind::InvalidMetadata
    );
}

/// A change that could not be opened again is not written; the old value stays readable.
#[test]
fn consolidated_metadata_stay_within_the_limits() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let store = MemoryStore::new();
        let limits = ndzarr::Limits::default().document_bytes(2000);
        let open = OpenOptions::new().limits(limits);
        let mut root = Group::builder()
            .format(format)
            .limits(limits)
            .create(&store)
            .expect("a new group");
        let array = |name: &str| {
            let attributes = json!({"a": "x".repeat(1000)});
            root.create_array(name, Array::<u8>::builder([4]).attributes(attributes))
        };
        array("a").expect("a new array");
        array("b").expect("a new array");
        let before = store.keys();
        let error = root
            .clone()
            .consolidate()
            .expect_err("two arrays are too large for one document");
        assert_eq!(
            error.kind(),
            ErrorKind::InvalidMetadata,
            "{format}: {error}"
        );
        assert!(
            error.to_string().contains("limit of 2000"),
            "{format}: {error}"
        );
        assert_eq!(store.keys(), before, "{format}");
        let read = |path: &str| {
            open.open_group(&store)
                .and_then(|root| root.array::<u8>(path))
        };
        read("b").unwrap_or_else(|error| panic!("{format}: {error}"));

        root.erase("b").expect("it exists");
        root.consolidate().expect("one array is not too large");
        let key = if format == Format::Zarr2 {
            ".zmetadata"
        } else {
            "zarr.json"
        };
        let before = store.get(key);
        let attributes = json!({"a": "x".repeat(1000)});
        let error = root
            .create_array("b", Array::<u8>::builder([4]).attributes(attributes))
            .expect_err("its copy is too large");
        assert_eq!(
            error.kind(),
            ErrorKind::InvalidMetadata,
            "{format}: {error}"
        );
        let message = error.to_string();
        assert!(
            message.contains("limit of 2000") && message.contains("the change is stored"),
            "{message}"
        );
        assert_eq!(store.get(key), before, "{format}");
        read("a").unwrap_or_else(|error| panic!("{format}: {error}"));
    }
}
