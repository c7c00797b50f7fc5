//! Tests that change attributes of N5 nodes, or erase nodes.

use super::*;

#[test]
fn n5_flat_changes_do_not_read_slashes() {
    let root = r#"{"n5":"2.0.0","a":{"x":1},"z":9007199254740993}"#;
    let node = node(&[("attributes.json", root)], "");
    assert_eq!(crate::attributes_key(&node), "attributes.json");
    let merge = AttributeChange::Merge(attributes(
        json!({"a/b[1]": true, "a": {"y": 2}, "nil": null}),
    ));
    let after = changed(&node, Some(root), &merge).expect("fine");
    assert_eq!(
        after,
        r#"{"n5":"2.0.0","a":{"y":2},"z":9007199254740993,"a/b[1]":true,"nil":null}"#
    );
    let remove = AttributeChange::Remove(vec!["a".into(), "absent".into()]);
    assert_eq!(
        changed(&node, Some(root), &remove).expect("fine"),
        r#"{"n5":"2.0.0","z":9007199254740993}"#
    );
    let replace = AttributeChange::Replace(attributes(json!({"b": 1})));
    assert_eq!(
        change(&node, Some(root), &replace).expect("fine"),
        json!({"n5": "2.0.0", "b": 1})
    );
    for reserved in [
        json!({"n5": "9.0.0"}),
        json!({"dimensions": [1]}),
        json!({"blockSize": [1]}),
    ] {
        let merge = AttributeChange::Merge(attributes(reserved.clone()));
        assert!(change(&node, Some(root), &merge).is_err(), "{reserved}");
    }
    assert!(
        change(
            &node,
            Some(root),
            &AttributeChange::Remove(vec!["n5".into()])
        )
        .is_err()
    );
    assert_eq!(
        change(
            &node,
            None,
            &AttributeChange::Merge(attributes(json!({"k": 1})))
        )
        .expect("made"),
        json!({"k": 1})
    );
    assert!(
        change(
            &node,
            Some("[1]"),
            &AttributeChange::Merge(attributes(json!({"k": 1})))
        )
        .is_err()
    );
    assert!(change(&node, Some("{"), &AttributeChange::Remove(vec![])).is_err());
}

#[test]
fn n5_changes_keep_what_describes_a_dataset() {
    let document = r#"{"n5":"2.0.0","dataType":"uint8","compressionType":"raw","blockSize":[5],"dimensions":[7],"k":1.0}"#;
    let node = node(&[("a/attributes.json", document)], "a");
    let replace = AttributeChange::Replace(attributes(json!({"units": ["nm"]})));
    assert_eq!(
        changed(&node, Some(document), &replace).expect("fine"),
        r#"{"n5":"2.0.0","dataType":"uint8","compressionType":"raw","blockSize":[5],"dimensions":[7],"units":["nm"]}"#
    );
    for name in [
        "n5",
        "dataType",
        "compressionType",
        "compression",
        "blockSize",
        "dimensions",
        "codecs",
    ] {
        let merge = AttributeChange::Merge(attributes(json!({name: "x"})));
        let error = change(&node, Some(document), &merge)
            .expect_err(name)
            .to_string();
        assert!(
            error.contains(name) && error.contains("a/attributes.json"),
            "{error}"
        );
        let set = AttributeChange::SetN5Path {
            path: format!("/{name}/x"),
            value: json!(1),
        };
        assert!(change(&node, Some(document), &set).is_err(), "{name}");
    }
    for path in ["/", "", "[0]"] {
        let set = AttributeChange::SetN5Path {
            path: path.to_owned(),
            value: json!({}),
        };
        assert!(change(&node, Some(document), &set).is_err(), "{path:?}");
    }
    assert!(
        change(
            &node,
            Some(document),
            &AttributeChange::RemoveN5Path("/".into())
        )
        .is_err()
    );
    assert!(
        change(&node, None, &AttributeChange::Remove(vec![])).is_err(),
        "it is gone"
    );
}

/// The attributes that Java wrote through paths: n5_vectors.tsv, java-extra `g`.
#[test]
fn n5_java_paths_build_the_vector() {
    let node = node(
        &[
            ("attributes.json", r#"{"n5":"4.0.0"}"#),
            ("g/x/attributes.json", RAW),
        ],
        "g",
    );
    let mut document = None;
    for (path, value) in [
        ("a/b[2]/c", json!(1.5)),
        ("html", json!("<a href=\"x\">&'</a>")),
        ("int", json!(3)),
        ("arr", json!([1.0, 2.5])),
        ("\\/k\\[0]", json!(true)),
        ("uni", json!("þ\u{2028}\t\u{1}")),
        ("nested", json!({"x": 1, "y": 2})),
        ("fill[3]", json!(7)),
    ] {
        let set = AttributeChange::SetN5Path {
            path: path.to_owned(),
            value,
        };
        document = Some(changed(&node, document.as_deref(), &set).expect("fine"));
    }
    let expected: Value = serde_json::from_str(
        r#"{"a":{"b":[null,null,{"c":1.5}]},"html":"<a href=\"x\">&'</a>","int":3,"arr":[1.0,2.5],"/k[0]":true,"uni":"þ\u2028\t\u0001","nested":{"x":1,"y":2},"fill":[0,0,0,7]}"#,
    )
    .expect("valid");
    let document: Value = serde_json::from_str(&document.expect("written")).expect("valid");
    assert_eq!(document, expected);
}

#[test]
fn n5_numbers_that_json_does_not_have_stay() {
    let root = r#"{"n5":"2.0.0","bad":NaN}"#;
    let node = node(&[("attributes.json", root)], "");
    let merge = AttributeChange::Merge(attributes(json!({"k": 1})));
    let text = changed(&node, Some(root), &merge).expect("another attribute");
    assert_eq!(text, r#"{"n5":"2.0.0","bad":NaN,"k":1}"#);
    assert!(
        change(
            &node,
            Some(root),
            &AttributeChange::Remove(vec!["bad".into()])
        )
        .is_ok()
    );
}

#[test]
fn n5_erasing_takes_all_below_the_prefix() {
    let store = [
        ("attributes.json", r#"{"n5":"2.0.0"}"#),
        ("a/attributes.json", RAW),
    ];
    let erasure = super::super::erase(&node(&store, "a"));
    assert_eq!(erasure.prefixes, ["a/"]);
    assert_eq!(super::super::erase(&node(&store, "")).prefixes, [""]);
}
