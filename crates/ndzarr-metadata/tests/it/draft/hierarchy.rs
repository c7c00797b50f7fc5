//! The draft: keys, groups, members.

use ndzarr_metadata::{Format, MemberKind, MetadataError, NodeKind, NodePath, OpenOptions};
use serde_json::{Value, json};

use crate::it::draft::{ARRAY_A, ARRAY_B, ENTRY_A, ENTRY_B, refused, store_a, store_b};
use crate::it::store::{Store, with};

fn kinds(store: &Store, path: &str) -> Vec<(String, MemberKind)> {
    let node = store.open(path).expect("a group");
    let members = store
        .ask(|known| ndzarr_metadata::members(&node, known))
        .expect("members");
    members
        .into_iter()
        .map(|member| (member.name, member.kind))
        .collect()
}

#[test]
fn d3_t05_t06_only_the_entry_point_tells_the_dialect() {
    let store = store_a(&[("meta/root.array.json", ARRAY_A)]);
    assert_eq!(kinds(&store, ""), [("root".to_owned(), MemberKind::Array)]);
    assert_eq!(
        store.open("").expect("the root").kind,
        NodeKind::ImplicitGroup
    );
    let spec = store.open("root").expect("an array");
    assert_eq!(
        spec.kind.array().expect("an array").keys.key(&[0]),
        "data/root/c0"
    );

    let documents = [("meta/root/a.array.json", ARRAY_A)];
    assert!(store_a(&documents).open("root/a").is_ok());
    assert!(matches!(
        store_a(&documents).open("a"),
        Err(MetadataError::NotFound { .. })
    ));
    let b = with(ARRAY_A, &[("codecs", "")]);
    let documents = [("meta/root/a.array.json", b.as_str())];
    assert!(store_b(&documents).open("a").is_ok());
    assert!(matches!(
        store_b(&documents).open("root/a"),
        Err(MetadataError::NotFound { .. })
    ));
    // A caller may know better.
    let options = OpenOptions {
        format: Some(Format::DraftB),
        ..OpenOptions::default()
    };
    assert_eq!(
        store_a(&documents)
            .open_with("a", &options)
            .expect("forced")
            .format,
        Format::DraftB
    );
    assert!(matches!(
        Store::new(&documents).open_with("a", &options),
        Err(MetadataError::NotFound { .. })
    ));
}

#[test]
fn d3_t07_root_arrays() {
    let a = store_a(&[("meta/array.json", ARRAY_A)])
        .open("")
        .expect("an array");
    assert_eq!(a.kind.array().expect("an array").keys.key(&[0]), "data/c0");
    let b = store_b(&[("meta/root.array.json", ARRAY_B)])
        .open("")
        .expect("an array");
    assert_eq!(
        b.kind.array().expect("an array").keys.key(&[0]),
        "data/root/c0"
    );
    let named = store_a(&[("meta/array.array.json", ARRAY_A)]);
    assert!(named.open("array").is_ok());
    assert_eq!(kinds(&named, ""), [("array".to_owned(), MemberKind::Array)]);
}

#[test]
fn d3_t08_t29_children_of_a_root() {
    let group = r#"{"attributes":{}}"#;
    let store = store_a(&[
        ("meta/group.json", group),
        ("meta/x.array.json", ARRAY_A),
        ("meta/y/z.group.json", group),
        ("meta/.array.json", "nameless"),
        ("meta/...group.json", "only periods"),
        ("meta/other.txt", "no document"),
    ]);
    let expected = [
        ("x".to_owned(), MemberKind::Array),
        ("y".to_owned(), MemberKind::Group),
    ];
    assert_eq!(kinds(&store, ""), expected);
    assert_eq!(
        store.open("y").expect("implicit").kind,
        NodeKind::ImplicitGroup
    );
    assert_eq!(store.open("y/z").expect("explicit").kind, NodeKind::Group);
    let asked = store.asked.borrow();
    assert!(
        !asked.iter().any(|key| key.contains("//")),
        "D3-T29: {asked:?}"
    );
}

#[test]
fn d3_t31_another_suffix() {
    let entry_b = with(ENTRY_B, &[("metadata_key_suffix", "\".jsn\"")]);
    let store = Store::new(&[
        ("zarr.json", &entry_b),
        ("meta/root/x.array.jsn", ARRAY_B),
        ("meta/root/y.array.json", ARRAY_B),
    ]);
    let node = store.open("x").expect("the suffix counts");
    assert_eq!(
        ndzarr_metadata::attributes_key(&node),
        "meta/root/x.array.jsn"
    );
    assert_eq!(kinds(&store, ""), [("x".to_owned(), MemberKind::Array)]);
    let encoding = r#"{"type":"json","metadata_key_suffix":".jsn"}"#;
    let entry_a = with(ENTRY_A, &[("metadata_encoding", encoding)]);
    let store = Store::new(&[("zarr.json", &entry_a), ("meta/array.jsn", ARRAY_A)]);
    assert!(
        store
            .open("")
            .expect("the root array")
            .kind
            .array()
            .is_some()
    );
}

#[test]
fn d3_110_111_group_documents() {
    let a = |text: &str| store_a(&[("meta/g.group.json", text)]).open("g");
    let b = |text: &str| store_b(&[("meta/root/g.group.json", text)]).open("g");
    assert_eq!(
        Value::Object(a(r#"{"attributes":{"x":1}}"#).expect("opens").attributes),
        json!({"x": 1})
    );
    refused(a("{}"), &["meta/g.group.json", "attributes"]);
    refused(
        a(r#"{"attributes":{},"extensions":[]}"#),
        &["meta/g.group.json", "extensions"],
    );
    refused(a(r#"{"attributes":null}"#), &["attributes"]);
    refused(a(r#"{"attributes":[]}"#), &["attributes"]);
    refused(a("{"), &["meta/g.group.json"]);
    assert!(
        b(r#"{"attributes":null,"extensions":[]}"#)
            .expect("as ZTA writes it")
            .attributes
            .is_empty()
    );
    assert!(
        b(r#"{"attributes":{"filters":"none"}}"#)
            .expect("opens")
            .attributes
            .contains_key("filters")
    );
    refused(
        b(r#"{"attributes":3}"#),
        &["meta/root/g.group.json", "attributes"],
    );
}

#[test]
fn d3_t25_t27_t29_documents_and_prefixes_of_one_name() {
    let group = r#"{"attributes":{}}"#;
    let store = store_a(&[
        ("meta/foo.group.json", group),
        ("meta/foo/bar.array.json", ARRAY_A),
    ]);
    assert_eq!(kinds(&store, ""), [("foo".to_owned(), MemberKind::Group)]);
    assert_eq!(store.open("foo").expect("explicit").kind, NodeKind::Group);
    let twins = store_a(&[
        ("meta/foo.group.json", group),
        ("meta/foo.array.json", ARRAY_A),
        ("meta/foo/bar.array.json", ARRAY_A),
    ]);
    assert_eq!(kinds(&twins, ""), [("foo".to_owned(), MemberKind::Array)]);
    let node = twins.open("foo").expect("the array wins");
    assert!(node.kind.array().is_some() && node.warnings.len() == 1);
    assert!(
        matches!(twins.open("foo/bar"), Err(MetadataError::NotFound { .. })),
        "D3-118: below an array"
    );
    // D3-T29: a prefix does not match longer names.
    let other = store_a(&[("meta/foobar.array.json", ARRAY_A)]);
    assert!(matches!(
        other.open("foo"),
        Err(MetadataError::NotFound { .. })
    ));
}

#[test]
fn d3_115_the_root_always_opens() {
    assert_eq!(
        store_a(&[]).open("").expect("empty").kind,
        NodeKind::ImplicitGroup
    );
    assert_eq!(
        store_b(&[]).open("").expect("empty").kind,
        NodeKind::ImplicitGroup
    );
    assert_eq!(kinds(&store_b(&[]), ""), []);
    let b = store_b(&[
        ("meta/root/consolidated.group.json", r#"{"attributes":{}}"#),
        ("meta/root/consolidated/.zmetadata", "{}"),
        ("meta/other", "neither root. nor root/"),
    ]);
    assert_eq!(
        kinds(&b, ""),
        [("consolidated".to_owned(), MemberKind::Group)]
    );
    assert_eq!(kinds(&b, "consolidated"), [], "D3-123");
}

#[test]
fn v3_t60_a_path_in_a_draft_hierarchy_is_found_through_the_root() {
    let store = store_b(&[("meta/root/foo.array.json", ARRAY_B)]);
    assert_eq!(
        store.open("foo").expect("found").path,
        NodePath::new("foo").expect("a path")
    );
    match store.open("bar") {
        Err(MetadataError::NotFound { tried, .. }) => {
            assert!(tried.contains(&"zarr.json".to_owned()))
        }
        other => panic!("{other:?}"),
    }
}
