//! Tests that open N5 groups: versions, folders without a document, members.

use super::*;

#[test]
fn n5_versions_are_checked_on_the_way_down() {
    let raw =
        r#"{"dataType":"uint8","compression":{"type":"raw"},"blockSize":[5,4],"dimensions":[7,5]}"#;
    for version in ["1.5.0", "2.5.1", "4.0.0", "4.9.9", "2.1.3-SNAPSHOT"] {
        let root = format!(r#"{{"n5":"{version}"}}"#);
        let store = [
            ("attributes.json", root.as_str()),
            ("g/a/attributes.json", raw),
        ];
        assert!(open(&store, "g/a").expect(version).is_some());
        assert_eq!(
            open(&store, "").expect(version).expect("the root").kind,
            NodeKind::Group
        );
    }
    let store = [
        ("attributes.json", r#"{"n5":"5.0.0"}"#),
        ("g/a/attributes.json", raw),
    ];
    for at in ["", "g", "g/a"] {
        let error = open(&store, at).expect_err("too new").to_string();
        assert!(
            error.contains("5.0.0") && error.starts_with("attributes.json"),
            "{error}"
        );
        let options = OpenOptions {
            n5_version: crate::N5VersionCheck::Skip,
            ..OpenOptions::default()
        };
        assert!(
            open_with(&store, at, &options)
                .expect("not looked at")
                .is_some()
        );
    }
}

#[test]
fn n5_groups_need_no_document() {
    let raw =
        r#"{"dataType":"uint8","compression":{"type":"raw"},"blockSize":[5,4],"dimensions":[7,5]}"#;
    let store = [
        ("attributes.json", r#"{"n5":"2.0.0","k":1}"#),
        ("g/h/a/attributes.json", raw),
        ("g/h/a/0/0", "block"),
        ("g/x/.n5tmp1", "left over"),
        ("g/attributes.json.__lock", ""),
    ];
    let root = open(&store, "").expect("valid").expect("there");
    assert_eq!(
        (root.kind.clone(), root.attributes.clone()),
        (NodeKind::Group, attributes(json!({"k": 1})))
    );
    let g = open(&store, "g").expect("valid").expect("there");
    assert_eq!(g.kind, NodeKind::ImplicitGroup);
    assert!(g.documents.is_empty());
    assert_eq!(open(&store, "nothing").expect("valid"), None);
    assert_eq!(
        open(&store, "g/h/a/0").expect("valid"),
        None,
        "a folder of blocks is no node"
    );
    let names = |node: &Node| -> Vec<(String, MemberKind)> {
        let members = try_with(&store, |known| {
            crate::operations::children::listed(node, known)
        })
        .expect("valid");
        members
            .into_iter()
            .map(|member| (member.name, member.kind))
            .collect()
    };
    assert_eq!(names(&root), [("g".to_owned(), MemberKind::Group)]);
    let h = open(&store, "g/h").expect("valid").expect("there");
    assert_eq!(names(&h), [("a".to_owned(), MemberKind::Array)]);
    let a = open(&store, "g/h/a").expect("valid").expect("there");
    assert_eq!(names(&a), []);
}

#[test]
fn n5_an_empty_folder_is_a_group() {
    let mut known = Known::new();
    known.add_document(
        "attributes.json",
        Some(Bytes::from_static(br#"{"n5":"4.0.0"}"#)),
    );
    known.add_document("g/attributes.json", None);
    known.add_listing("g/", Listing::default());
    known.add_listing(
        "",
        Listing {
            keys: vec!["attributes.json".into()],
            prefixes: vec!["g".into()],
        },
    );
    let node = super::super::open(&path("g"), &known, &OpenOptions::default());
    assert_eq!(
        node.ok().flatten().map(|node| node.kind),
        Some(NodeKind::ImplicitGroup)
    );
}

/// Found by CI: threads that created one array and opened it read the document before it was there
/// and the folder after that, and took the array for a group.
#[test]
fn n5_a_document_that_was_written_meanwhile_is_read() {
    let mut known = Known::new();
    known.add_document(
        "attributes.json",
        Some(Bytes::from_static(br#"{"n5":"4.0.0"}"#)),
    );
    known.add_presence("g/attributes.json", false);
    known.add_document("g/attributes.json", None);
    let need = |known: &Known| match super::super::open(&path("g"), known, &OpenOptions::default())
    {
        Err(Stop::Need(need)) => need,
        other => panic!("{other:?}"),
    };
    assert_eq!(need(&known), crate::Need::Listings(vec!["g/".into()]));
    known.add_listing(
        "g/",
        Listing {
            keys: vec!["attributes.json".into()],
            prefixes: vec![],
        },
    );
    assert_eq!(
        need(&known),
        crate::Need::Presence(vec!["g/attributes.json".into()])
    );
    known.add_presence("g/attributes.json", true);
    assert_eq!(
        need(&known),
        crate::Need::Documents(vec!["g/attributes.json".into()])
    );
}

#[test]
fn n5_without_a_version_only_nodes_with_members_are_found_unless_n5_is_asked_for() {
    let raw =
        r#"{"dataType":"uint8","compression":{"type":"raw"},"blockSize":[5,4],"dimensions":[7,5]}"#;
    let store = [
        ("g/a/attributes.json", raw),
        ("k/attributes.json", r#"{"some":"thing"}"#),
    ];
    let forced = OpenOptions {
        format: Some(Format::N5),
        ..OpenOptions::default()
    };
    assert!(
        open(&store, "g/a").expect("valid").is_some(),
        "as tensorstore writes it"
    );
    for at in ["", "g"] {
        assert_eq!(open(&store, at).expect("valid"), None, "{at:?}");
        let node = open_with(&store, at, &forced)
            .expect("valid")
            .expect("N5 was asked for");
        assert_eq!(node.kind, NodeKind::ImplicitGroup, "{at:?}");
    }
    // As viewers and neuroglancer's writers leave the groups of their images.
    let odd = open(&store, "k").expect("valid").expect("it has members");
    assert_eq!(odd.kind, NodeKind::Group);
    assert_eq!(
        odd.warnings,
        ["the version of N5 is not stated, neither in k/attributes.json nor above"]
    );
    let asked = open_with(&store, "k", &forced)
        .expect("valid")
        .expect("N5 was asked for");
    assert_eq!((asked.kind, asked.warnings), (NodeKind::Group, Vec::new()));
    let empty = [("k/attributes.json", "{}")];
    assert_eq!(open(&empty, "k").expect("valid"), None);
    assert_eq!(open_with(&[], "", &forced).expect("valid"), None);
    // A container inside a store, and zarr-python 2 with a version in every group.
    let store = [
        ("v.n5/attributes.json", r#"{"n5":"2.0.0"}"#),
        ("v.n5/sub/attributes.json", r#"{"n5":"2.0.0","q":null}"#),
    ];
    assert_eq!(
        open(&store, "v.n5").expect("valid").expect("there").kind,
        NodeKind::Group
    );
    let sub = open(&store, "v.n5/sub").expect("valid").expect("there");
    assert_eq!(
        Value::Object(sub.attributes),
        json!({"q": null}),
        "nulls are shown"
    );
    assert_eq!(open(&store, "").expect("valid"), None);
}
