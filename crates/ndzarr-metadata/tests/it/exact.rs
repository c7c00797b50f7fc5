//! Documents keep their exact text, although values of `serde_json` keep neither the texts of
//! numbers nor the order of members; and Python's extensions of JSON are read.

use std::sync::Arc;

use ndzarr_json::JsonText;
use ndzarr_metadata::{
    AttributeChange, CreateOptions, Format, NodePath, change_attributes, change_shape, create_array,
};
use ndzarr_model::Attributes;
use serde_json::{Value, json};

use crate::it::store::{Store, array, request, with};
use crate::it::{draft, zarr2, zarr3};

/// As Python's `json.dumps` writes `{"z": …, "a\udc80": "\ud800", …}`, which happens with names of
/// files that are not UTF-8.
const ATTRIBUTES: &str =
    r#"{"z":1.50,"a\udc80":"\ud800","big":12345678901234567890123,"n":{"y":1E2,"x":[1e400,-0]}}"#;

fn seen() -> Value {
    json!({
        "z": 1.5,
        "a\u{fffd}": "\u{fffd}",
        "big": 1.234_567_890_123_456_8e22,
        "n": {"y": 100.0, "x": ["Infinity", -0.0]},
    })
}

fn object(value: Value) -> Attributes {
    value.as_object().expect("an object").clone()
}

/// Documents of each format with the attributes, and the key of the one that contains them.
fn stores() -> Vec<(Store, &'static str, &'static str)> {
    let zarr3 = with(zarr3::ARRAY, &[("attributes", ATTRIBUTES)]);
    let draft_a = with(draft::ARRAY_A, &[("attributes", ATTRIBUTES)]);
    let draft_b = with(draft::ARRAY_B, &[("attributes", ATTRIBUTES)]);
    let n5 = r#"{"dataType":"uint8","compression":{"type":"raw"},"blockSize":[5],"dimensions":[7],"#
        .to_owned() + &ATTRIBUTES[1..];
    let v2 = Store::new(&[("a/.zarray", zarr2::ARRAY), ("a/.zattrs", ATTRIBUTES)]);
    vec![
        (v2, "a", "a/.zattrs"),
        (Store::new(&[("a/zarr.json", &zarr3)]), "a", "a/zarr.json"),
        (
            draft::store_a(&[("meta/a.array.json", &draft_a)]),
            "a",
            "meta/a.array.json",
        ),
        (
            draft::store_b(&[("meta/root/a.array.json", &draft_b)]),
            "a",
            "meta/root/a.array.json",
        ),
        (
            Store::new(&[("a/attributes.json", &n5)]),
            "a",
            "a/attributes.json",
        ),
    ]
}

fn compact(text: &[u8]) -> String {
    let mut out = Vec::new();
    JsonText::canonical(text, &mut out).expect("JSON");
    String::from_utf8(out).expect("text")
}

#[test]
fn what_a_change_leaves_alone_keeps_text_and_place() {
    for (store, path, key) in stores() {
        let node = store.open(path).expect(key);
        assert_eq!(Value::Object(node.attributes.clone()), seen(), "{key}");
        let before = compact(store.text(key).as_bytes());
        let changed = |change: AttributeChange| {
            compact(
                &change_attributes(&node, Some(store.text(key).as_bytes()), &change).expect(key),
            )
        };
        let merged = changed(AttributeChange::Merge(object(json!({"b": 0.1, "z": 2}))));
        assert_eq!(merged.matches(r#""b":0.1"#).count(), 1, "{key}: {merged}");
        assert_eq!(
            merged
                .replace(r#","b":0.1"#, "")
                .replace(r#""z":2"#, r#""z":1.50"#),
            before,
            "{key}"
        );
        // Read, changed, written as a whole.
        let mut all = node.attributes.clone();
        all["n"]["x"][1] = json!(3);
        let replaced = changed(AttributeChange::Replace(all));
        assert_eq!(replaced, before.replace("-0]", "3]"), "{key}");
        let removed = changed(AttributeChange::Remove(vec!["z".to_owned()]));
        assert_eq!(removed, before.replace(r#""z":1.50,"#, ""), "{key}");
    }
}

#[test]
fn a_shape_changes_nothing_else() {
    for (store, path, key) in stores() {
        let node = store.open(path).expect(key);
        let key = ndzarr_metadata::shape_key(&node);
        let spec = node.kind.array().expect("an array");
        let change =
            change_shape(&node, Some(store.text(&key).as_bytes()), &spec.shape).expect("the same");
        assert_eq!(
            compact(&change.document),
            compact(store.text(&key).as_bytes()),
            "{key}"
        );
    }
}

#[test]
fn attributes_of_another_node_are_copied_to_the_letter() {
    for (store, path, key) in stores() {
        let node = store.open(path).expect(key);
        let mut request = request(&[4], &[2], "uint8");
        request.attributes.clone_from(&node.attributes);
        request.attributes.insert("more".to_owned(), json!(1));
        for format in [
            Format::Zarr2,
            Format::Zarr3,
            Format::DraftA,
            Format::DraftB,
            Format::N5,
        ] {
            let options = CreateOptions {
                attributes_of: Some(Arc::new(node.clone())),
                ..CreateOptions::new(format)
            };
            let path = NodePath::new("new").expect("a path");
            let creation = Store::new(&[])
                .ask(|known| create_array(&path, &request, known, &options))
                .expect("made");
            let written: String = creation
                .put
                .iter()
                .map(|document| compact(&document.value))
                .collect();
            let expected = format!("{},\"more\":1}}", &ATTRIBUTES[1..ATTRIBUTES.len() - 1]);
            assert!(written.contains(&expected), "{key} to {format}: {written}");
        }
    }
}

/// People, and readers that stop after the first members, rely on the order of these.
#[test]
fn members_of_new_documents_have_an_order() {
    let mut request = request(&[4], &[2], "uint8");
    request.attributes = object(json!({"x": 1}));
    for (format, key, names) in [
        (
            Format::Zarr3,
            "zarr.json",
            &[
                "zarr_format",
                "node_type",
                "shape",
                "data_type",
                "chunk_grid",
                "name",
                "configuration",
            ][..],
        ),
        (
            Format::Zarr2,
            ".zarray",
            &[
                "zarr_format",
                "shape",
                "chunks",
                "dtype",
                "compressor",
                "filters",
            ],
        ),
        (
            Format::DraftB,
            "meta/root.array.json",
            &["attributes", "x", "chunk_grid", "chunk_shape"],
        ),
        (
            Format::N5,
            "attributes.json",
            &[
                "n5",
                "dataType",
                "compression",
                "type",
                "blockSize",
                "dimensions",
                "x",
            ],
        ),
    ] {
        let options = CreateOptions::new(format);
        let mut store = Store::new(&[]);
        let creation = store
            .ask(|known| create_array(&NodePath::root(), &request, known, &options))
            .expect("made");
        store.apply(&creation);
        let text = compact(store.text(key).as_bytes());
        let places = names
            .iter()
            .map(|name| text.find(&format!("\"{name}\":")).expect(name));
        assert!(places.is_sorted(), "{text}");
    }
}

/// zarrita.py writes `json.dumps(float("nan"))`.
#[test]
fn tokens_of_python_as_a_fill_value() {
    let codecs = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;
    for (data_type, fill, written, bytes) in [
        (
            "\"float32\"",
            "NaN",
            "\"NaN\"",
            f32::NAN.to_ne_bytes().to_vec(),
        ),
        (
            "\"float64\"",
            "-Infinity",
            "\"-Infinity\"",
            f64::NEG_INFINITY.to_ne_bytes().to_vec(),
        ),
        (
            "\"complex64\"",
            "[Infinity, NaN]",
            "[\"Infinity\",\"NaN\"]",
            [f32::INFINITY.to_ne_bytes(), f32::NAN.to_ne_bytes()].concat(),
        ),
    ] {
        let members = [
            ("data_type", data_type),
            ("fill_value", fill),
            ("codecs", codecs),
        ];
        let text = with(zarr3::ARRAY, &members);
        let spec = array("zarr.json", &text).expect("opens");
        assert_eq!(spec.fill_value.bytes(), bytes, "{fill}");
        // Written again, it takes the specification's form.
        let node = Store::new(&[("zarr.json", &text)]).open("").expect("opens");
        let change = AttributeChange::Merge(object(json!({"a": 1})));
        let changed = compact(
            &change_attributes(&node, Some(text.as_bytes()), &change).expect("standard JSON"),
        );
        assert!(
            changed.contains(&format!("\"fill_value\":{written}")),
            "{changed}"
        );
        let grown = change_shape(&node, Some(text.as_bytes()), &[9]).expect("standard JSON");
        assert!(
            compact(&grown.document).contains(&format!("\"fill_value\":{written}")),
            "{grown:?}"
        );
    }
    let text = with(zarr2::ARRAY, &[("dtype", "\"<f8\""), ("fill_value", "NaN")]);
    let node = Store::new(&[(".zarray", &text)]).open("").expect("opens");
    let grown = change_shape(&node, Some(text.as_bytes()), &[90]).expect("standard JSON");
    assert!(
        compact(&grown.document).contains("\"fill_value\":\"NaN\""),
        "{grown:?}"
    );
}

/// Fill values of `S` and of byte strings are Base64; this one is not.
#[test]
fn the_text_0_as_a_fill_value_of_zarr2() {
    let bytes = r#"[{"id": "vlen-bytes"}]"#;
    let texts = r#"[{"id": "vlen-utf8"}]"#;
    for (dtype, filters, fill, expected) in [
        ("\"|S3\"", "null", "\"0\"", &[0; 3][..]),
        ("\"|S3\"", "null", "0", &[0; 3]),
        ("\"|O\"", bytes, "\"0\"", b""),
        ("\"|O\"", bytes, "0", b""),
        // A string keeps its text.
        ("\"|O\"", texts, "\"0\"", b"0"),
        ("\"|O\"", texts, "0", b""),
    ] {
        let text = with(
            zarr2::ARRAY,
            &[("dtype", dtype), ("filters", filters), ("fill_value", fill)],
        );
        let spec = array(".zarray", &text).expect(dtype);
        assert_eq!(
            spec.fill_value.bytes(),
            expected,
            "{dtype} {filters} {fill}"
        );
    }
}
