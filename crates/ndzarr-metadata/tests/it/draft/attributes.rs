//! The draft: changes of attributes, and the erasure of nodes.

use ndzarr_metadata::{
    AttributeChange, CreateOptions, Format, MetadataError, Node, change_attributes, erase,
};
use serde_json::{Value, json};

use crate::it::draft::create::{create_group, keys, object};
use crate::it::draft::{ARRAY_A, ARRAY_B, refused, store_a, store_b};
use crate::it::store::with;

fn change(
    node: &Node,
    current: Option<&str>,
    change: &AttributeChange,
) -> Result<Value, MetadataError> {
    let bytes = change_attributes(node, current.map(str::as_bytes), change)?;
    Ok(serde_json::from_slice(&bytes).expect("standard JSON"))
}

#[test]
fn d3_t34_attributes_of_dialect_b_keep_the_filters() {
    let node = store_b(&[("meta/root/b.array.json", ARRAY_B)])
        .open("b")
        .expect("opens");
    let filters = json!([{"astype": ">u2", "dtype": ">u2", "id": "delta"}]);
    for (new, expected) in [
        (
            AttributeChange::Replace(object(json!({"w": 1}))),
            json!({"w": 1, "filters": filters}),
        ),
        (
            AttributeChange::Merge(object(json!({"w": 1}))),
            json!({"w": 1, "filters": filters}),
        ),
        (
            AttributeChange::Remove(vec!["w".into()]),
            json!({"filters": filters}),
        ),
    ] {
        let after = change(&node, Some(ARRAY_B), &new).expect("fine");
        assert_eq!(after["attributes"], expected);
        let reopened = store_b(&[("meta/root/b.array.json", &after.to_string())])
            .open("b")
            .expect("opens");
        assert!(!reopened.attributes.contains_key("filters"));
        assert_eq!(reopened.kind, node.kind);
    }
    for new in [
        AttributeChange::Merge(object(json!({"filters": "none"}))),
        AttributeChange::Replace(object(json!({"filters": []}))),
        AttributeChange::Remove(vec!["filters".into()]),
        AttributeChange::SetN5Path {
            path: "a/b".into(),
            value: json!(1),
        },
    ] {
        assert!(change(&node, Some(ARRAY_B), &new).is_err(), "{new:?}");
    }
    let plain = with(ARRAY_B, &[("attributes", r#"{"filters":"none"}"#)]);
    let node = store_b(&[("meta/root/b.array.json", &plain)])
        .open("b")
        .expect("opens");
    assert_eq!(node.attributes["filters"], "none");
    assert!(
        change(
            &node,
            Some(&plain),
            &AttributeChange::Merge(object(json!({"filters": "x"})))
        )
        .is_err()
    );
    let after = change(
        &node,
        Some(&plain),
        &AttributeChange::Remove(vec!["filters".into()]),
    )
    .expect("the user's own");
    assert_eq!(after["attributes"], json!({}));
}

#[test]
fn d3_t13_t15_t41_changes_keep_everything_else() {
    let document = with(
        ARRAY_B,
        &[
            ("fill_value", "null"),
            ("unknown", "[9007199254740993]"),
            (
                "extensions",
                r#"[{"extension":"http://x/y","must_understand":false}]"#,
            ),
        ],
    );
    let node = store_b(&[("meta/root/b.array.json", &document)])
        .open("b")
        .expect("opens");
    let after = change(
        &node,
        Some(&document),
        &AttributeChange::Merge(object(json!({"w": 1}))),
    )
    .expect("fine");
    let mut expected: Value = serde_json::from_str(&document).expect("valid");
    expected["attributes"]["w"] = json!(1);
    assert_eq!(after, expected);
    let a = store_a(&[("meta/a.array.json", ARRAY_A)])
        .open("a")
        .expect("opens");
    let after = change(
        &a,
        Some(ARRAY_A),
        &AttributeChange::Merge(object(json!({"filters": []}))),
    )
    .expect("A has none");
    let mut expected: Value = serde_json::from_str(ARRAY_A).expect("valid");
    expected["attributes"] = json!({"filters": []});
    assert_eq!(after, expected);
    refused(
        change(&a, None, &AttributeChange::Remove(vec![])),
        &["meta/a.array.json"],
    );
}

#[test]
fn d3_112_attributes_make_an_implicit_group_explicit() {
    for (store, key) in [
        (
            store_a(&[("meta/g/a.array.json", ARRAY_A)]),
            "meta/g.group.json",
        ),
        (
            store_b(&[("meta/root/g/a.array.json", ARRAY_B)]),
            "meta/root/g.group.json",
        ),
    ] {
        let node = store.open("g").expect("implicit");
        assert_eq!(ndzarr_metadata::attributes_key(&node), key);
        let after = change(
            &node,
            None,
            &AttributeChange::Merge(object(json!({"x": 1}))),
        )
        .expect("made");
        assert_eq!(after, json!({"attributes": {"x": 1}}));
    }
    let root = store_a(&[]).open("").expect("implicit");
    assert_eq!(ndzarr_metadata::attributes_key(&root), "meta/group.json");
    let creation = create_group(
        &store_b(&[]),
        "",
        json!({"x": 1}),
        &CreateOptions::new(Format::DraftB),
    )
    .expect("free");
    assert_eq!(keys(&creation), ["meta/root.group.json"]);
}

#[test]
fn d3_t25_d3_120_what_goes_with_a_node() {
    let group = r#"{"attributes":{}}"#;
    let documents = [
        ("meta/foo.group.json", group),
        ("meta/foo/x.array.json", ARRAY_A),
        ("meta/foo2.array.json", ARRAY_A),
    ];
    let store = store_a(&documents);
    let foo = erase(&store.open("foo").expect("a group"));
    assert_eq!(foo.documents, ["meta/foo.group.json"]);
    assert_eq!(foo.prefixes, ["meta/foo/", "data/foo/"]);
    let array = erase(&store.open("foo2").expect("an array"));
    assert_eq!(
        (array.documents, array.prefixes),
        (
            vec!["meta/foo2.array.json".to_owned()],
            vec!["data/foo2/".to_owned()]
        )
    );
    let root = erase(&store.open("").expect("the root"));
    assert_eq!(root.documents, ["meta/array.json", "meta/group.json"]);
    assert_eq!(root.prefixes, ["meta/", "data/"]);
    let root = erase(&store_b(&[]).open("").expect("the root"));
    assert_eq!(
        root.documents,
        ["meta/root.array.json", "meta/root.group.json"]
    );
    assert_eq!(root.prefixes, ["meta/root/", "data/root/"]);
}
