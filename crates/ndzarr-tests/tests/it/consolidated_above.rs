//! Consolidated metadata of groups above the store in which a node was opened, above groups without
//! documents, and in maps that were empty.

use std::path::Path;

use ndarray::arr1;
use ndzarr::store::Links;
use ndzarr::{Array, Format, FsStore, Group, MemoryStore, Storage};
use serde_json::{Value, json};

const FORMATS: [Format; 2] = [Format::Zarr2, Format::Zarr3];

/// A consolidated root with the array `g/a` of four elements.
fn make(root: &Path, format: Format) {
    let mut group = Group::create(root, format).expect("a new group");
    let below = group.create_group("g").expect("a new group");
    below
        .create_array("a", Array::<u8>::builder([4]))
        .expect("a new array");
    group.consolidate().expect("it can be");
}

fn in_each_format(test: impl Fn(Format, &Path)) {
    for format in FORMATS {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("root");
        make(&root, format);
        test(format, &root);
    }
}

/// The root as a reader opens it, with its consolidated metadata.
fn root(root: &Path) -> Group {
    Group::open(root).expect("the root")
}

fn paths(group: &Group) -> Vec<String> {
    group
        .walk()
        .expect("copies")
        .iter()
        .map(|child| child.path())
        .collect()
}

fn shape(root: &Path) -> Vec<u64> {
    self::root(root)
        .array::<u8>("g/a")
        .expect("an array")
        .shape()
        .to_vec()
}

#[test]
fn changes_of_an_array_opened_by_its_path_reach_the_root() {
    in_each_format(|format, at| {
        let mut a = Array::<u8>::open(at.join("g/a")).expect("an array");
        a.append(0, &arr1(&[7, 7])).expect("an append");
        assert_eq!(shape(at), [6], "{format}");
        a.resize([3]).expect("a smaller shape");
        assert_eq!(shape(at), [3], "{format}");
        a.merge_attributes(json!({"unit": "K"}))
            .expect("an attribute");
        assert_eq!(
            root(at).array::<u8>("g/a").expect("an array").attributes()["unit"],
            "K",
            "{format}"
        );
    });
}

#[test]
fn changes_in_a_store_below_the_root_reach_the_root() {
    in_each_format(|format, at| {
        let below = at.join("g");
        Array::<u8>::open((&below, "a"))
            .expect("an array")
            .resize([2])
            .expect("a smaller shape");
        assert_eq!(shape(at), [2], "{format}");
        Array::<u8>::builder([1])
            .format(format)
            .create((&below, "h/b"))
            .expect("a new array");
        Array::<u8>::builder([1])
            .format(format)
            .create(below.join("c"))
            .expect("a new array");
        assert_eq!(
            paths(&root(at)),
            ["g", "g/a", "g/c", "g/h", "g/h/b"],
            "{format}"
        );
        let mut group = Group::open(&below).expect("a group");
        group
            .merge_attributes(json!({"x": 1}))
            .expect("an attribute");
        assert_eq!(
            root(at).group("g").expect("a group").attributes()["x"],
            1,
            "{format}"
        );
        group.erase("h").expect("it exists");
        Group::open(&below)
            .expect("a group")
            .erase("c")
            .expect("it exists");
        assert_eq!(paths(&root(at)), ["g", "g/a"], "{format}");
        Group::open(&below)
            .expect("a group")
            .erase_self()
            .expect("it exists");
        assert!(paths(&root(at)).is_empty(), "{format}");
    });
}

#[cfg(unix)]
#[test]
fn changes_through_links_reach_the_root() {
    use std::os::unix::fs::symlink;
    in_each_format(|format, at| {
        let outside = tempfile::tempdir().expect("a folder");
        // From elsewhere into the hierarchy.
        symlink(at.join("g/a"), outside.path().join("latest")).expect("a link");
        let mut a = Array::<u8>::open(outside.path().join("latest")).expect("an array");
        a.append(0, &arr1(&[7])).expect("an append");
        assert_eq!(shape(at), [5], "{format}");
        // Out of the hierarchy.
        std::fs::rename(at.join("g/a"), outside.path().join("a")).expect("it moves");
        symlink(outside.path().join("a"), at.join("g/a")).expect("a link");
        let mut a = Array::<u8>::open(at.join("g/a")).expect("an array");
        a.append(0, &arr1(&[7])).expect("an append");
        assert_eq!(shape(at), [6], "{format}");
    });
}

/// A store that must change nothing outside its root does not.
#[test]
fn a_confined_store_changes_nothing_above_it() {
    in_each_format(|_, at| {
        let name = if at.join("zarr.json").exists() {
            "zarr.json"
        } else {
            ".zmetadata"
        };
        let before = std::fs::read(at.join(name)).expect("a document");
        let store = FsStore::builder(at.join("g")).links(Links::Confine).build();
        Array::<u8>::open((&store, "a"))
            .expect("an array")
            .resize([2])
            .expect("a smaller shape");
        assert_eq!(std::fs::read(at.join(name)).expect("a document"), before);
    });
}

/// Opening looks no further up than before.
#[test]
fn a_folder_above_that_is_no_group_ends_the_search() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("root");
    make(&at, Format::Zarr3);
    std::fs::create_dir_all(at.join("plain")).expect("a folder");
    let before = std::fs::read(at.join("zarr.json")).expect("a document");
    Array::<u8>::builder([1])
        .create(at.join("plain/store").as_path())
        .expect("a new array");
    assert_eq!(
        std::fs::read(at.join("zarr.json")).expect("a document"),
        before
    );
}

/// tensorstore leaves such nodes, since it creates no groups. zarr-python cannot open a root whose
/// copies contain `g/a` but not `g`.
#[test]
fn nodes_below_a_group_without_document_are_not_added() {
    for format in FORMATS {
        let store = MemoryStore::new();
        let mut root = Group::create(&store, format).expect("a new group");
        root.create_array("b", Array::<u8>::builder([4]))
            .expect("a new array");
        root.consolidate().expect("it can be");
        let (document, copies) = match format {
            Format::Zarr2 => (".zarray", ".zmetadata"),
            _ => ("zarr.json", "zarr.json"),
        };
        let value = store.get(&format!("b/{document}")).expect("a document");
        store.set(&format!("g/a/{document}"), value).expect("a key");
        let before = store.get(copies);
        let mut a = Array::<u8>::open((&store, "g/a")).expect("an array");
        a.append(0, &arr1(&[1])).expect("an append");
        a.merge_attributes(json!({"x": 1})).expect("an attribute");
        assert_eq!(store.get(copies), before, "{format}");
        let root = Group::open(&store).expect("the root");
        assert_eq!(paths(&root), ["b"], "{format}");
        // With a group it is added.
        Group::create((&store, "g"), format).expect("a new group");
        a.append(0, &arr1(&[1])).expect("an append");
        assert_eq!(
            paths(&Group::open(&store).expect("the root")),
            ["b", "g", "g/a"],
            "{format}"
        );
    }
}

/// The next change repairs copies that readers refuse.
#[test]
fn a_node_without_its_group_is_removed_from_the_map() {
    let store = MemoryStore::new();
    let mut root = Group::create(&store, Format::Zarr3).expect("a new group");
    for path in ["b", "g/a"] {
        Array::<u8>::builder([4])
            .create((&store, path))
            .expect("a new array");
    }
    root.consolidate().expect("it can be");
    let mut document: Value =
        serde_json::from_slice(&store.get("zarr.json").expect("a document")).expect("JSON");
    let map = document["consolidated_metadata"]["metadata"]
        .as_object_mut()
        .expect("a map");
    map.remove("g").expect("a group");
    store.set("zarr.json", document.to_string()).expect("a key");
    assert!(Group::open(&store).expect("the root").walk().is_err());
    Array::<u8>::open((&store, "b"))
        .expect("an array")
        .resize([2])
        .expect("a smaller shape");
    assert_eq!(paths(&Group::open(&store).expect("the root")), ["b"]);
}

/// zarr-python also lists by an empty map, and finds nothing.
#[test]
fn an_empty_map_is_filled() {
    for format in FORMATS {
        let store = MemoryStore::new();
        let storage = Storage::from(&store);
        let mut root = Group::create(&storage, format).expect("a new group");
        root.consolidate().expect("it can be");
        root.create_array("b", Array::<u8>::builder([4]))
            .expect("a new array");
        assert!(
            copies(&store, format).contains(&"b".to_owned()),
            "{format}: {:?}",
            copies(&store, format)
        );
        root.erase("b").expect("it exists");
        assert!(
            !copies(&store, format).contains(&"b".to_owned()),
            "{format}"
        );
        root.create_group("c").expect("a new group");
        assert!(copies(&store, format).contains(&"c".to_owned()), "{format}");
    }
}

/// zarr-python writes an empty map into copies of groups, which may end up in a group with nodes. A
/// single entry would hide the others.
#[test]
fn an_empty_map_is_filled_with_all_nodes() {
    let store = MemoryStore::new();
    let root = Group::create(&store, Format::Zarr3).expect("a new group");
    root.create_array("a", Array::<u8>::builder([4]))
        .expect("a new array");
    root.create_group("g")
        .expect("a new group")
        .create_array("b", Array::<u8>::builder([4]))
        .expect("a new array");
    let empty = json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata":
        {"kind": "inline", "must_understand": false, "metadata": {}}});
    store.set("zarr.json", empty.to_string()).expect("a key");
    Array::<u8>::open((&store, "a"))
        .expect("an array")
        .resize([2])
        .expect("a smaller shape");
    assert_eq!(copies(&store, Format::Zarr3), ["a", "g", "g/b"]);
    assert_eq!(
        paths(&Group::open(&store).expect("the root")),
        ["a", "g", "g/b"]
    );
}

/// The nodes in the copies of the root.
fn copies(store: &MemoryStore, format: Format) -> Vec<String> {
    let key = if format == Format::Zarr2 {
        ".zmetadata"
    } else {
        "zarr.json"
    };
    let document: Value =
        serde_json::from_slice(&store.get(key).expect("a document")).expect("JSON");
    let map = match format {
        Format::Zarr2 => &document["metadata"],
        _ => &document["consolidated_metadata"]["metadata"],
    };
    let name = |name: &String| {
        name.rsplit_once("/.z")
            .map_or(name.as_str(), |(node, _)| node)
            .to_owned()
    };
    let mut nodes: Vec<String> = map.as_object().expect("a map").keys().map(name).collect();
    nodes.sort();
    nodes.dedup();
    nodes
}
