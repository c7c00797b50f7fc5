//! The draft: the paths and documents of new nodes.

use ndzarr_metadata::{
    ArrayRequest, CreateOptions, Creation, Existing, ExistingDocument, Format, MetadataError,
    NodeKind, NodePath,
};
use ndzarr_model::Attributes;
use serde_json::{Value, json};

use crate::it::draft::{ARRAY_A, ARRAY_B, ENTRY_A, ENTRY_B, refused, store_a, store_b};
use crate::it::store::{Store, create, request, with};

pub(crate) const BOTH: [Format; 2] = [Format::DraftA, Format::DraftB];

pub(crate) fn try_create(
    store: &Store,
    path: &str,
    request: &ArrayRequest,
    options: &CreateOptions,
) -> Result<Creation, MetadataError> {
    let path = NodePath::new(path)?;
    store.ask(|known| ndzarr_metadata::create_array(&path, request, known, options))
}

pub(crate) fn create_group(
    store: &Store,
    path: &str,
    attributes: Value,
    options: &CreateOptions,
) -> Result<Creation, MetadataError> {
    let path = NodePath::new(path)?;
    let attributes = object(attributes);
    store.ask(|known| ndzarr_metadata::create_group(&path, &attributes, known, options))
}

pub(crate) fn object(value: Value) -> Attributes {
    value.as_object().expect("an object").clone()
}

pub(crate) fn keys(creation: &Creation) -> Vec<&str> {
    creation
        .put
        .iter()
        .map(|document| document.key.as_str())
        .collect()
}

#[test]
fn d3_t26_a_new_node_writes_itself_alone() {
    for (format, own) in [
        (Format::DraftA, "meta/a/b/c.array.json"),
        (Format::DraftB, "meta/root/a/b/c.array.json"),
    ] {
        let mut store = Store::new(&[]);
        let first = try_create(
            &store,
            "a/b/c",
            &request(&[4], &[2], "uint16"),
            &CreateOptions::new(format),
        )
        .expect("free");
        assert_eq!(
            keys(&first),
            ["zarr.json", own],
            "the entry point comes first (D3-016)"
        );
        assert_eq!(first.put[0].existing, ExistingDocument::Keep);
        store.apply(&first);
        let next = try_create(
            &store,
            "x",
            &request(&[4], &[2], "uint16"),
            &CreateOptions::new(format),
        )
        .expect("free");
        assert_eq!(next.put.len(), 1);
        for path in ["", "a", "a/b"] {
            assert_eq!(store.open(path).expect(path).kind, NodeKind::ImplicitGroup);
        }
        assert_eq!(store.members("a"), ["b"]);
        assert_eq!(store.open("a/b/c").expect("opens"), first.node);
    }
}

#[test]
fn d3_010_014_entry_points_as_written() {
    let entry = |format| {
        let mut store = Store::new(&[]);
        create(&mut store, format, "a", &request(&[4], &[2], "uint16")).expect("free");
        store.json("zarr.json")
    };
    let parse = |text| serde_json::from_str::<Value>(text).expect("valid");
    assert_eq!(entry(Format::DraftA), parse(ENTRY_A));
    assert_eq!(entry(Format::DraftB), parse(ENTRY_B));
}

#[test]
fn d3_016_an_entry_point_is_never_written_over() {
    let plain = request(&[4], &[2], "uint16");
    let other_suffix = with(ENTRY_B, &[("metadata_key_suffix", "\".jsn\"")]);
    let store = Store::new(&[("zarr.json", &other_suffix)]);
    let creation =
        try_create(&store, "a", &plain, &CreateOptions::new(Format::DraftB)).expect("free");
    assert_eq!(
        keys(&creation),
        ["meta/root/a.array.jsn"],
        "the suffix of the hierarchy counts"
    );
    refused(
        try_create(&store, "a", &plain, &CreateOptions::new(Format::DraftA)),
        &["zarr3-draft-b"],
    );
    let v3 = Store::new(&[("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#)]);
    for format in BOTH {
        let result = try_create(&v3, "a", &plain, &CreateOptions::new(format));
        assert!(
            matches!(result, Err(MetadataError::Occupied { .. })),
            "{result:?}"
        );
    }
}

#[test]
fn d3_t28_d3_113_what_is_in_the_way() {
    let group = r#"{"attributes":{}}"#;
    let plain = request(&[4], &[2], "uint16");
    let options = CreateOptions::new(Format::DraftA);
    let replace = CreateOptions {
        existing: Existing::Replace,
        ..options.clone()
    };
    let store = store_a(&[
        ("meta/a.array.json", ARRAY_A),
        ("meta/g.group.json", group),
        ("meta/i/x.array.json", ARRAY_A),
    ]);
    let occupied = |path: &str, options: &CreateOptions| {
        let array = try_create(&store, path, &plain, options);
        assert!(
            matches!(array, Err(MetadataError::Occupied { .. })),
            "{path}: {array:?}"
        );
    };
    for path in ["a/b", "a/b/c", "a", "g", "i"] {
        occupied(path, &options);
    }
    for path in ["a/b", "a/b/c"] {
        occupied(path, &replace);
        assert!(matches!(
            create_group(&store, path, json!({}), &replace),
            Err(MetadataError::Occupied { .. })
        ));
    }
    for path in ["a", "g"] {
        assert!(matches!(
            create_group(&store, path, json!({}), &options),
            Err(MetadataError::Occupied { .. })
        ));
    }
    assert!(
        create_group(&store, "i", json!({}), &options).is_ok(),
        "an implicit group may get its document"
    );
    let creation = try_create(&store, "g", &plain, &replace).expect("replaced");
    assert_eq!(creation.erase, ["meta/g.array.json", "meta/g.group.json"]);
    assert_eq!(creation.erase_prefixes, ["meta/g/", "data/g/"]);
    let root = try_create(&store, "", &plain, &replace).expect("replaced");
    assert_eq!(root.erase_prefixes, ["meta/", "data/"]);
    assert_eq!(keys(&root), ["meta/array.json"], "the entry point stays");
    occupied("", &options);
}

#[test]
fn d3_t30_names() {
    let plain = request(&[4], &[2], "uint16");
    for format in BOTH {
        let options = CreateOptions::new(format);
        for path in [
            "a b",
            "é",
            "...",
            "x/....",
            "x.array.json",
            "x.group.json",
            "x.group.json/y",
            "a%20",
        ] {
            let result = try_create(&Store::new(&[]), path, &plain, &options);
            assert!(
                matches!(result, Err(MetadataError::Path { .. })),
                "{path}: {result:?}"
            );
            assert!(
                create_group(&Store::new(&[]), path, json!({}), &options).is_err(),
                "{path}"
            );
        }
        for path in ["__x", "a..b", "-", "A", "a", ".a", "x.array", "x.json", "0"] {
            assert!(
                try_create(&Store::new(&[]), path, &plain, &options).is_ok(),
                "{path}"
            );
        }
    }
    for name in ["", "a/b"] {
        assert!(NodePath::root().child(name).is_err());
    }
}

#[test]
fn d3_022_a_name_that_ends_as_documents_do_is_read() {
    let store = store_b(&[("meta/root/x.array.json.array.json", ARRAY_B)]);
    assert_eq!(store.members(""), ["x.array.json"]);
    assert!(store.open("x.array.json").is_ok());
}
