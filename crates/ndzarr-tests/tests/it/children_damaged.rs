//! Children and descendants with damaged documents: each is an error of its own.

use bytes::Bytes;
use ndzarr::store::{Key, Precondition};
use ndzarr::{
    Any, Child, CopyOptions, ErrorKind, Format, Group, MemberKind, MemoryStore, Storage, Store,
    copy,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency};
use serde_json::json;

use crate::children::{fill, fill_deep};

#[test]
fn a_broken_descendant_is_an_error_of_its_own() {
    let memory = MemoryStore::new();
    let storage = Storage::from(&memory);
    fill_deep(&storage, Format::Zarr3);
    let array = r#"{"zarr_format": 3, "node_type": "array"}"#;
    let group = r#"{"zarr_format": 3, "node_type": "group", "of": "tomorrow"}"#;
    memory.set("g/c/n8/x3/zarr.json", array).expect("a write");
    memory.set("g/c/n5/zarr.json", group).expect("a write");
    let found = Group::open(&storage)
        .expect("the root")
        .walk()
        .expect("a listing");
    let broken: Vec<String> = (found.into_iter())
        .map(|child| (child.path(), child.open()))
        .filter_map(|(path, opened)| opened.is_err().then_some(path))
        .collect();
    assert_eq!(broken, ["g/c/n5", "g/c/n8/x3"]);
}

/// As a writer that was killed, or a full disk, leaves them.
#[test]
fn a_document_that_was_cut_off_hides_no_other_node() {
    for (format, document) in [
        (Format::Zarr3, "zarr.json"),
        (Format::N5, "attributes.json"),
    ] {
        for is_blocking in [true, false] {
            let served = AsyncMemoryStore::new(Latency::default());
            let memory = served.memory().clone();
            let storage = if is_blocking {
                Storage::from(&memory)
            } else {
                Storage::asynchronous(served.clone())
            };
            fill_deep(&storage, format);
            let n_nodes = Group::open(&storage)
                .expect("the root")
                .walk()
                .expect("a listing")
                .len();
            for cut in ["{", "{\"dimensions\": [1"] {
                let path = "g/c/n8/x3";
                memory
                    .set(&format!("{path}/{document}"), cut)
                    .expect("a write");
                let root = Group::open(&storage).expect("the root");
                let mut found = root.walk().expect("a listing");
                assert_eq!(found.len(), n_nodes, "{format}");
                found.retain(|child| child.kind().is_none());
                assert_eq!(
                    found.iter().map(Child::path).collect::<Vec<_>>(),
                    [path],
                    "{format}"
                );
                let error = found
                    .pop()
                    .and_then(|child| child.open().err())
                    .expect("it cannot be read");
                assert_eq!(error.kind(), ErrorKind::InvalidMetadata);
                assert!(
                    error.to_string().contains(&format!("{path}/{document}")),
                    "{error}"
                );
                let copied = copy(&storage, MemoryStore::new(), &CopyOptions::new());
                let copied = copied.expect_err("one cannot be copied").to_string();
                assert!(copied.contains(path), "{copied}");
                assert!(
                    root.clone().consolidate().is_err(),
                    "not all can be consolidated"
                );
            }
        }
    }
}

#[test]
fn what_is_wrong_with_a_consolidated_child_is_an_error_of_its_own() {
    let memory = MemoryStore::new();
    let storage = Storage::from(&memory);
    fill(&storage, Format::Zarr3);
    Group::open((&storage, "g"))
        .expect("the group")
        .consolidate()
        .expect("a group that can");
    let whole =
        String::from_utf8(memory.get("g/zarr.json").expect("a document").to_vec()).expect("text");
    let document: serde_json::Value = serde_json::from_str(&whole).expect("standard JSON");
    let with = |name: &str, child: serde_json::Value| {
        let mut document = document.clone();
        document["consolidated_metadata"]["metadata"][name] = child;
        memory
            .set("g/zarr.json", document.to_string())
            .expect("a write");
        Group::open((&storage, "g")).expect("the group")
    };
    let array = json!({"zarr_format": 3, "node_type": "array"});
    for name in ["a00", "a07", "b"] {
        let children = with(name, array.clone()).children().expect("a listing");
        assert_eq!(children.len(), 22);
        for child in children {
            let is_wrong = child.name() == name;
            assert!(!is_wrong || child.kind() == Some(MemberKind::Array));
            let opened = child.open();
            assert_eq!(opened.is_err(), is_wrong, "{name}");
            let error = opened
                .err()
                .map(|error| (error.kind(), error.to_string().contains(name)));
            assert!(
                error.is_none_or(|error| error == (ErrorKind::InvalidMetadata, true)),
                "{error:?}"
            );
        }
    }
    // Neither array nor group.
    let mut children = with("a07", json!({"zarr_format": 3}))
        .children()
        .expect("a listing");
    children.retain(|child| child.kind().is_none());
    let error = children
        .pop()
        .and_then(|child| child.open().err())
        .expect("only a07");
    assert!(
        children.is_empty() && error.to_string().contains("a07"),
        "{error}"
    );
}

#[test]
fn what_is_wrong_with_a_child_is_an_error_of_its_own() {
    let memory = MemoryStore::new();
    let storage = Storage::from(&memory);
    fill(&storage, Format::Zarr3);
    let put = |key: &str, text: &str| {
        let value = Bytes::copy_from_slice(text.as_bytes());
        memory
            .put(&Key::new(key).expect("a key"), &[value], Precondition::None)
            .expect("a write");
    };
    let document = memory.get("g/a05/zarr.json").expect("a document");
    let document = String::from_utf8(document.to_vec()).expect("text");
    put(
        "g/a05/zarr.json",
        &document.replace("\"uint16\"", "\"of tomorrow\""),
    );
    put(
        "g/a06/zarr.json",
        r#"{"zarr_format": 3, "node_type": "array", "shape": [1"#,
    );
    put(
        "g/a07/zarr.json",
        r#"{"zarr_format": 3, "node_type": "array"}"#,
    );
    let group = Group::open((&storage, "g")).expect("the group");
    // A document that cannot be split into members has no kind.
    let kinds = group
        .children()
        .expect("a listing")
        .into_iter()
        .filter(|child| child.kind().is_none());
    assert_eq!(kinds.map(|child| child.path()).collect::<Vec<_>>(), ["a06"]);
    put(
        "g/a06/zarr.json",
        r#"{"zarr_format": 3, "node_type": "array", "shape": [1, ]}"#,
    );
    for child in group.children().expect("a listing") {
        let expected = match child.name() {
            "a05" => Some(ErrorKind::Unsupported),
            "a06" | "a07" => Some(ErrorKind::InvalidMetadata),
            _ => None,
        };
        let name = child.path();
        let kind = child.kind();
        let opened = child.open();
        let error = opened.as_ref().err();
        assert_eq!(error.map(ndzarr::Error::kind), expected, "{name}");
        assert!(
            error.is_none_or(|error| error.to_string().contains(&name)),
            "{error:?}"
        );
        assert_eq!(
            kind == Some(MemberKind::Array),
            name.contains('a'),
            "{name}"
        );
    }
    let mut children = group.children().expect("a listing");
    assert!(
        children
            .swap_remove(0)
            .group()
            .expect_err("an array")
            .to_string()
            .contains("g/a00")
    );
    let last = children.pop().expect("some").kind();
    assert_eq!(last, Some(MemberKind::Group));
    let group = children
        .into_iter()
        .find(|child| child.kind() == Some(MemberKind::Group))
        .expect("a group");
    assert!(
        group
            .array::<Any>()
            .expect_err("a group")
            .to_string()
            .contains("not an array")
    );
}
