//! Zarr v2: groups, members, attributes, and the erasure of nodes.

use ndzarr_metadata::{
    AttributeChange, MemberKind, NodeKind, attribute_f64, change_attributes, erase,
};
use serde_json::json;

use crate::it::store::Store;
use crate::it::zarr2::ARRAY;

#[test]
fn v2_t39_attributes_with_nan() {
    let store = Store::new(&[
        (".zarray", ARRAY),
        (
            ".zattrs",
            "{\"a\": NaN, \"b\": 1e400, \"c\": 18446744073709551616}",
        ),
    ]);
    let node = store
        .open("")
        .expect("numbers that JSON does not have are let in");
    assert_eq!(node.attributes["a"], "NaN");
    assert!(attribute_f64(&node.attributes["a"]).is_some_and(f64::is_nan));
    assert_eq!(node.attributes["b"], "Infinity");
    assert_eq!(attribute_f64(&node.attributes["b"]), Some(f64::INFINITY));
    assert_eq!(node.attributes["c"], 18_446_744_073_709_551_616.0);
    let change = AttributeChange::Merge(json!({"d": 1}).as_object().cloned().expect("an object"));
    let current = store.text(".zattrs").as_bytes();
    let changed = change_attributes(&node, Some(current), &change).expect("another attribute");
    let compact: String = String::from_utf8_lossy(&changed)
        .split_whitespace()
        .collect();
    assert_eq!(
        compact,
        r#"{"a":NaN,"b":1e400,"c":18446744073709551616,"d":1}"#
    );
    // As a user puts all of them back.
    let mut all = node.attributes.clone();
    all.insert("d".to_owned(), 1.into());
    let put =
        change_attributes(&node, Some(current), &AttributeChange::Replace(all)).expect("as it was");
    assert_eq!(put, changed);
    let remove = AttributeChange::Remove(vec!["a".to_owned()]);
    let changed =
        change_attributes(&node, Some(current), &remove).expect("nothing else is in the way");
    assert_eq!(
        &changed[..],
        "{\n  \"b\": 1e400,\n  \"c\": 18446744073709551616\n}".as_bytes()
    );
}

#[test]
fn v2_033_attributes() {
    let store = Store::new(&[(".zgroup", "{\"zarr_format\":2}")]);
    let node = store.open("").expect("opens");
    assert!(node.attributes.is_empty());
    assert_eq!(ndzarr_metadata::attributes_key(&node), ".zattrs");
    let new = json!({"b": {"x": null}, "a": "é"})
        .as_object()
        .cloned()
        .expect("an object");
    let changed =
        change_attributes(&node, None, &AttributeChange::Replace(new)).expect("no document yet");
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&changed).ok(),
        Some(json!({"b": {"x": null}, "a": "é"}))
    );
    let path = AttributeChange::RemoveN5Path("a".to_owned());
    assert!(change_attributes(&node, None, &path).is_err());
    for bad in ["[]", "{", "", "null"] {
        let error =
            Store::new(&[("g/.zgroup", "{\"zarr_format\":2}"), ("g/.zattrs", bad)]).open("g");
        assert!(
            error.expect_err(bad).to_string().contains("g/.zattrs"),
            "{bad}"
        );
    }
}

#[test]
fn v2_t40_a_node_without_ancestors() {
    let store = Store::new(&[("foo/.zarray", ARRAY)]);
    assert!(store.open("foo").is_ok());
    let error = store.open("").expect_err("no implicit groups").to_string();
    for tried in ["zarr.json", ".zarray", ".zgroup", "attributes.json"] {
        assert!(error.contains(tried), "{error}");
    }
}

#[test]
fn v2_t41_members() {
    let group = "{\"zarr_format\":2}";
    let store = Store::new(&[
        (".zgroup", group),
        (".zattrs", "{}"),
        ("a/.zarray", ARRAY),
        ("a/0", ""),
        ("b/.zgroup", group),
        ("b/x/.zarray", ARRAY),
        ("c/d/.zarray", ARRAY),
        ("e/zarr.json", "{}"),
        (".DS_Store", ""),
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
        [("a", MemberKind::Array), ("b", MemberKind::Group)]
    );
    assert_eq!(store.members("a"), [""; 0]);
}

#[test]
fn v2_t43_t59_group_documents() {
    for good in [
        "{\"zarr_format\":2}",
        "{\"zarr_format\":2,\"consolidated_metadata\":{\"x\":1}}",
    ] {
        let node = Store::new(&[(".zgroup", good)]).open("").expect(good);
        assert_eq!(node.kind, NodeKind::Group);
    }
    for bad in [
        "{\"zarr_format\":3}",
        "{\"zarr_format\":2.0}",
        "{}",
        "[]",
        "x",
        "",
        "{\"zarr_format\":2} x",
    ] {
        let error = Store::new(&[("g/.zgroup", bad)])
            .open("g")
            .expect_err(bad)
            .to_string();
        assert!(error.starts_with("g/.zgroup: "), "{error}");
    }
}

#[test]
fn v2_137_an_array_before_a_group() {
    let store = Store::new(&[(".zarray", ARRAY), (".zgroup", "{\"zarr_format\":2}")]);
    assert!(store.open("").expect("opens").kind.array().is_some());
}

#[test]
fn v2_144_erasing() {
    let store = Store::new(&[(".zgroup", "{\"zarr_format\":2}"), ("a/.zarray", ARRAY)]);
    let erasure = erase(&store.open("a").expect("opens"));
    assert_eq!(erasure.documents, ["a/.zarray", "a/.zgroup", "a/.zattrs"]);
    assert_eq!(erasure.prefixes, ["a/"]);
    assert_eq!(erase(&store.open("").expect("opens")).prefixes, [""]);
}

#[test]
fn v2_146_dimension_names() {
    let names = |attributes: &str| {
        let store = Store::new(&[(".zarray", ARRAY), (".zattrs", attributes)]);
        let node = store.open("").expect("opens");
        assert_eq!(node.attributes.len(), 1, "the attribute stays in sight");
        node.kind
            .array()
            .and_then(|spec| spec.dimension_names.clone())
    };
    assert_eq!(
        names("{\"_ARRAY_DIMENSIONS\":[\"x\"]}"),
        Some(vec![Some("x".to_owned())])
    );
    for other in ["[\"x\",\"y\"]", "[1]", "\"x\"", "null", "[null]"] {
        assert_eq!(
            names(&format!("{{\"_ARRAY_DIMENSIONS\":{other}}}")),
            None,
            "{other}"
        );
    }
}
