use ndzarr_metadata::{Format, Known, NodePath, OpenOptions, Resolved, open};

use crate::it::store::Store;
use crate::it::{zarr2, zarr3};

const GROUP2: &str = r#"{"zarr_format":2}"#;

fn asked(store: &Store, path: &str) -> Vec<String> {
    store.asked.borrow_mut().clear();
    store.open(path).expect("opens");
    store.asked.borrow().clone()
}

/// The reads of opening by path, one key after the other; other formats are only looked for.
#[test]
fn v3_177_what_is_asked_for() {
    let store = Store::new(&[
        ("a/zarr.json", zarr3::ARRAY),
        ("b/.zarray", zarr2::ARRAY),
        ("c/.zgroup", GROUP2),
        // Ancestors are not read.
        ("zarr.json", "{"),
        (".zgroup", "{"),
    ]);
    assert_eq!(asked(&store, "a"), ["a/zarr.json"]);
    assert_eq!(
        asked(&store, "b"),
        ["b/zarr.json", "b/.zarray", "b/.zattrs"]
    );
    assert_eq!(
        asked(&store, "c"),
        ["c/zarr.json", "c/.zgroup", "c/.zattrs"]
    );
}

#[test]
fn v2_t53_v3_t53_several_formats() {
    let mut known = Known::new();
    for (key, text) in [
        ("p/zarr.json", zarr3::ARRAY),
        ("p/.zarray", zarr2::ARRAY),
        ("p/.zgroup", GROUP2),
    ] {
        known.add_document(key, Some(text.into()));
    }
    known.add_document("p/.zattrs", None);
    let path = NodePath::new("p").expect("a path");
    let opened = |options: &OpenOptions| match open(&path, &known, options) {
        Ok(Resolved::Done(node)) => node,
        other => panic!("{other:?}"),
    };
    let node = opened(&OpenOptions::default());
    assert_eq!(node.format, Format::Zarr3);
    assert!(
        node.warnings
            .iter()
            .any(|warning| warning.contains("p/.zarray")),
        "{:?}",
        node.warnings
    );
    let node = opened(&OpenOptions {
        format: Some(Format::Zarr2),
        ..OpenOptions::default()
    });
    assert_eq!(node.format, Format::Zarr2);
    assert!(node.kind.array().is_some());
    assert!(
        node.warnings
            .iter()
            .any(|warning| warning.contains("p/.zgroup")),
        "{:?}",
        node.warnings
    );
}

#[test]
fn v3_177_an_error_is_no_miss() {
    let store = Store::new(&[("p/zarr.json", "{"), ("p/.zarray", zarr2::ARRAY)]);
    assert!(
        store
            .open("p")
            .expect_err("invalid JSON")
            .to_string()
            .starts_with("p/zarr.json: ")
    );
    let store = Store::new(&[("p/.zarray", "nonsense"), ("p/.zgroup", GROUP2)]);
    assert!(
        store
            .open("p")
            .expect_err("invalid JSON")
            .to_string()
            .starts_with("p/.zarray: ")
    );
}

#[test]
fn not_found_names_what_was_tried() {
    let store = Store::new(&[]);
    let error = store.open("x/y").expect_err("nothing is there").to_string();
    for tried in [
        "x/y/zarr.json",
        "x/y/.zarray",
        "x/y/.zgroup",
        "x/y/attributes.json",
    ] {
        assert!(error.contains(tried), "{error}");
    }
    let options = OpenOptions {
        format: Some(Format::Zarr2),
        ..OpenOptions::default()
    };
    let error = store
        .open_with("x", &options)
        .expect_err("nothing is there")
        .to_string();
    assert!(
        error.contains("x/.zarray") && !error.contains("zarr.json"),
        "{error}"
    );
}

#[test]
fn consolidated_metadata_are_the_business_of_who_lists() {
    let consolidated = r#"{"zarr_consolidated_format":1,"metadata":{"a/.zarray":{}}}"#;
    let store = Store::new(&[
        (".zgroup", GROUP2),
        (".zmetadata", consolidated),
        ("b/.zarray", zarr2::ARRAY),
    ]);
    assert_eq!(store.members(""), ["b"]);
    assert!(store.open("b").is_ok());
}

#[test]
fn nodes_of_n5_are_in_the_way_too() {
    let dataset =
        r#"{"dimensions":[4],"blockSize":[2],"dataType":"uint8","compression":{"type":"raw"}}"#;
    let array = crate::it::store::request(&[4], &[2], "uint16");
    for format in [Format::Zarr2, Format::Zarr3] {
        for path in ["a", "a/b"] {
            let mut store = Store::new(&[("a/attributes.json", dataset)]);
            let error = crate::it::store::create(&mut store, format, path, &array)
                .expect_err("an array is there");
            assert!(error.to_string().contains("/a"), "{error}");
            assert_eq!(store.keys(), ["a/attributes.json"]);
        }
        let mut store = Store::new(&[
            ("a/attributes.json", "{\"mine\":1}"),
            ("attributes.json", "no JSON"),
        ]);
        crate::it::store::create(&mut store, format, "a", &array).expect("a file of the user's");
    }
}
