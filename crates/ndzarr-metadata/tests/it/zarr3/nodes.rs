//! Zarr v3: groups, members, attributes, consolidated metadata, and the erasure of nodes.

use ndzarr_json::JsonText;
use ndzarr_metadata::{AttributeChange, MemberKind, NodeKind, change_attributes, erase};
use serde_json::json;

use crate::it::store::{Store, with};
use crate::it::zarr3::{ARRAY, GROUP, fails};

#[test]
fn v3_018_attributes() {
    let attributes = |json: &str| {
        let text = with(ARRAY, &[("attributes", json)]);
        Store::new(&[("zarr.json", &text)])
            .open("")
            .map(|node| node.attributes)
    };
    assert!(attributes("null").is_ok_and(|attributes| attributes.is_empty()));
    assert!(attributes("[]").is_err());
    let odd = attributes("{\"a\":[NaN,1e400,18446744073709551616]}").expect("opens");
    assert_eq!(
        odd["a"],
        serde_json::json!(["NaN", "Infinity", 18_446_744_073_709_551_616.0])
    );
    fails(&[("fill_value", "NaN")], "not a value of uint16");
    fails(&[("foo", "{\"must_understand\":false,\"x\":NaN}")], "JSON");
}

#[test]
fn attributes_change_in_place() {
    let text = with(ARRAY, &[("attributes", r#"{"b":1,"a":2,"c":3}"#)]);
    let node = Store::new(&[("zarr.json", &text)]).open("").expect("opens");
    let change = |change: AttributeChange| {
        let changed =
            change_attributes(&node, Some(text.as_bytes()), &change).expect("a new document");
        let mut text = Vec::new();
        JsonText::canonical(&changed, &mut text).expect("JSON");
        let text = String::from_utf8(text).expect("text");
        let (_, attributes) = text.split_once(r#""attributes":"#).expect("attributes");
        attributes
            .split_inclusive('}')
            .next()
            .expect("an object")
            .to_owned()
    };
    let new = json!({"a": 5, "d": null})
        .as_object()
        .cloned()
        .expect("an object");
    assert_eq!(
        change(AttributeChange::Merge(new.clone())),
        r#"{"b":1,"a":5,"c":3,"d":null}"#
    );
    assert_eq!(change(AttributeChange::Replace(new)), r#"{"a":5,"d":null}"#);
    assert_eq!(
        change(AttributeChange::Remove(vec!["b".into(), "x".into()])),
        r#"{"a":2,"c":3}"#
    );
    assert!(change_attributes(&node, None, &AttributeChange::Remove(vec![])).is_err());
    let path = AttributeChange::SetN5Path {
        path: "a/b".into(),
        value: json!(1),
    };
    assert!(change_attributes(&node, Some(text.as_bytes()), &path).is_err());
}

#[test]
fn v3_t49_members() {
    let store = Store::new(&[
        ("zarr.json", GROUP),
        ("a/b/zarr.json", ARRAY),
        ("c/zarr.json", ARRAY),
        ("c/c/0", ""),
        ("d/zarr.json", GROUP),
        ("e/.zarray", "{}"),
        // V3-T48
        ("__x/zarr.json", GROUP),
        ("_x/zarr.json", GROUP),
    ]);
    let node = store.open("").expect("a group");
    let members = store
        .ask(|known| ndzarr_metadata::members(&node, known))
        .expect("members");
    let members: Vec<_> = members
        .iter()
        .map(|member| (member.name.as_str(), member.kind))
        .collect();
    assert_eq!(
        members,
        [
            ("_x", MemberKind::Group),
            ("c", MemberKind::Array),
            ("d", MemberKind::Group)
        ]
    );
    store.asked.borrow_mut().clear();
    assert_eq!(store.members("c"), [""; 0]);
    assert_eq!(store.asked.borrow().as_slice(), ["c/zarr.json"]);
    let corrupt = Store::new(&[("zarr.json", GROUP), ("a/zarr.json", "{")]);
    let node = corrupt.open("").expect("a group");
    let error = corrupt
        .ask(|known| ndzarr_metadata::members(&node, known))
        .expect_err("corrupt")
        .to_string();
    assert!(error.contains("a/zarr.json"), "{error}");
}

#[test]
fn v3_t50_t61_consolidated_metadata() {
    for good in [
        "null",
        r#"{"kind":"inline","must_understand":false,"metadata":{}}"#,
        r#"{"kind":"other","must_understand":false}"#,
        r#"{"must_understand":false}"#,
    ] {
        let text = with(GROUP, &[("consolidated_metadata", good)]);
        let store = Store::new(&[("zarr.json", &text), ("b/zarr.json", ARRAY)]);
        assert_eq!(store.open("").expect(good).kind, NodeKind::Group);
        // V3-T61: without the map, existing nodes are found.
        assert!(store.open("b").is_ok());
        assert_eq!(store.members(""), ["b"]);
    }
    for bad in [
        r#"{"kind":"other"}"#,
        r#"{"kind":"inline","must_understand":true,"metadata":{}}"#,
        "1",
    ] {
        let text = with(GROUP, &[("consolidated_metadata", bad)]);
        let error = Store::new(&[("zarr.json", &text)])
            .open("")
            .expect_err(bad)
            .to_string();
        assert!(error.contains("consolidated_metadata"), "{error}");
    }
}

#[test]
fn v3_031_groups() {
    let node = Store::new(&[("zarr.json", &with(GROUP, &[("attributes", "{\"a\":1}")]))])
        .open("")
        .expect("opens");
    assert_eq!(node.attributes["a"], 1);
    for (name, value) in [
        ("shape", "[1]"),
        ("attributes", "1"),
        ("node_type", ""),
        ("foo", "null"),
    ] {
        let text = with(GROUP, &[(name, value)]);
        let error = Store::new(&[("g/zarr.json", &text)])
            .open("g")
            .expect_err(name)
            .to_string();
        assert!(
            error.contains(name) && error.starts_with("g/zarr.json: "),
            "{error}"
        );
    }
}

#[test]
fn v3_t52_erasing() {
    let store = Store::new(&[
        ("zarr.json", GROUP),
        ("foo/zarr.json", ARRAY),
        ("foobar/zarr.json", ARRAY),
    ]);
    let erasure = erase(&store.open("foo").expect("opens"));
    assert_eq!(erasure.documents, ["foo/zarr.json"]);
    assert_eq!(erasure.prefixes, ["foo/"]);
    assert_eq!(erase(&store.open("").expect("opens")).prefixes, [""]);
}

#[test]
fn v3_009_what_is_no_document() {
    for bad in [
        "",
        " ",
        "[]",
        "null",
        "3",
        "{",
        "{}{}",
        "{\"zarr_format\":3,}",
    ] {
        let error = Store::new(&[("a/zarr.json", bad)])
            .open("a")
            .expect_err(bad)
            .to_string();
        assert!(error.starts_with("a/zarr.json: "), "{error}");
    }
}
