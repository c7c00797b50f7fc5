//! Documents written by Python that contain invalid JSON or invalid text.

use std::fs;
use std::path::Path;

use ndzarr::{AnyNode, Array, CopyOptions, Format, Group, copy};
use serde_json::json;

use crate::folder_files::put;

/// As `json.dumps` writes them: a name and a text with bytes that are not UTF-8
/// (`os.fsdecode(b"\x80")`), and a NaN.
const ATTRIBUTES: &str = r#"{"z": 1.50, "a\udc80": "\ud800", "n": 12345678901234567890123}"#;

const ZARR3: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default"}, "fill_value": NaN,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": ATTRIBUTES}"#;

#[test]
fn an_array_with_half_a_surrogate_pair_and_a_bare_nan() {
    let root = tempfile::tempdir().expect("a folder");
    put(
        root.path(),
        "a/zarr.json",
        ZARR3.replace("ATTRIBUTES", ATTRIBUTES),
    );
    let mut array = Array::<f32>::open(root.path().join("a")).expect("opens");
    assert_eq!(array.attributes()["a\u{fffd}"], "\u{fffd}");
    assert!(array.read(..).expect("readable").iter().all(|x| x.is_nan()));
    array
        .merge_attributes(json!({"more": true}))
        .expect("standard JSON");
    array.resize([6]).expect("standard JSON");
    let text = fs::read_to_string(root.path().join("a/zarr.json")).expect("the document");
    for kept in [
        r#""a\udc80": "\ud800""#,
        r#""z": 1.50"#,
        "12345678901234567890123",
        r#""fill_value": "NaN""#,
    ] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    let again = Array::<f32>::open(root.path().join("a")).expect("opens");
    assert_eq!(again.attributes()["more"], true);
    assert_eq!(again.shape(), [6]);
}

/// A node with such a name has no valid key; the others are found.
#[test]
fn consolidated_metadata_with_half_a_surrogate_pair() {
    let array = ZARR3.replace("ATTRIBUTES", ATTRIBUTES);
    let root = tempfile::tempdir().expect("a folder");
    let group = r#"{"zarr_format": 3, "node_type": "group", "attributes": {}"#;
    let map = format!(
        r#""kind": "inline", "must_understand": false, "metadata": {{"a": {array}, "b\udc80": {array}}}"#
    );
    put(
        root.path(),
        "zarr.json",
        format!(r#"{group}, "consolidated_metadata": {{{map}}}}}"#),
    );
    put(root.path(), "a/zarr.json", &array);
    let group = Group::open(root.path()).expect("opens");
    let a = group.array::<f32>("a").expect("opens");
    assert_eq!(a.attributes()["a\u{fffd}"], "\u{fffd}");
    a.read(..).expect("readable");

    let root = tempfile::tempdir().expect("a folder");
    let zarray = r#"{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<f4", "compressor": null, "filters": null,
        "order": "C", "fill_value": NaN}"#;
    let documents = format!(
        r#"".zgroup": {{"zarr_format": 2}}, "a/.zarray": {zarray}, "a/.zattrs": {ATTRIBUTES}, "b\udc80/.zarray": {zarray}"#
    );
    put(root.path(), ".zgroup", r#"{"zarr_format": 2}"#);
    put(
        root.path(),
        ".zmetadata",
        format!(r#"{{"metadata": {{{documents}}}, "zarr_consolidated_format": 1}}"#),
    );
    let group = Group::open(root.path()).expect("opens");
    let a = group.array::<f32>("a").expect("opens");
    assert_eq!(a.attributes()["a\u{fffd}"], "\u{fffd}");
    assert!(a.read(..).expect("readable").iter().all(|x| x.is_nan()));
}

/// Names that differ only in an unpaired surrogate stay unchanged when other copies change.
#[test]
fn names_with_half_a_pair_stay_in_the_copies() {
    let array = ZARR3.replace("ATTRIBUTES", "{}");
    let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
    let v3 = |root: &Path| {
        let names = [
            r"b\udc80",
            r"b\udc81",
            r"\ud800",
            r"\ud800/x",
            "b\u{fffd}",
            "gone",
            r"gone/\udc80",
        ];
        let copies = names.map(|name| {
            format!(
                "\"{name}\": {}",
                if name == "gone" { group } else { &array }
            )
        });
        let copies = copies.join(", ").replace(
            &format!(r#""\ud800": {array}"#),
            &format!(r#""\ud800": {group}"#),
        );
        let map = format!(
            r#""kind": "inline", "must_understand": false, "metadata": {{"a": {array}, {copies}}}"#
        );
        let text = group.replace('}', &format!(r#", "consolidated_metadata": {{{map}}}}}"#));
        put(root, "zarr.json", &text);
        put(root, "a/zarr.json", &array);
        put(root, "gone/zarr.json", group);
        put(root, "b\u{fffd}/zarr.json", &array);
        "zarr.json"
    };
    let v2 = |root: &Path| {
        let group = r#"{"zarr_format": 2}"#;
        let names = [
            r"b\udc80",
            r"b\udc81",
            r"\ud800",
            r"\ud800/x",
            "b\u{fffd}",
            "gone",
            r"gone/\udc80",
        ];
        let copies = names
            .map(|name| format!("\"{name}/.zgroup\": {group}"))
            .join(", ");
        let text = format!(
            r#"{{"zarr_consolidated_format": 1, "metadata": {{"a/.zgroup": {group}, {copies}}}}}"#
        );
        put(root, ".zmetadata", &text);
        for node in ["", "a/", "gone/", "b\u{fffd}/"] {
            put(root, &format!("{node}.zgroup"), group);
        }
        ".zmetadata"
    };
    type Make<'m> = &'m dyn Fn(&Path) -> &'static str;
    for make in [&v3 as Make<'_>, &v2] {
        let folder = tempfile::tempdir().expect("a folder");
        let key = make(folder.path());
        let text = || fs::read_to_string(folder.path().join(key)).expect("the copies");
        let count = |names: &[&str]| {
            names
                .iter()
                .filter(|name| text().contains(&format!("\"{name}")))
                .count()
        };
        let root = Group::open(folder.path()).expect("opens");
        let mut a = AnyNode::open((folder.path(), "a")).expect("opens");
        let attributes = json!({"new": 1});
        match &mut a {
            AnyNode::Array(a) => a.merge_attributes(attributes),
            AnyNode::Group(a) => a.merge_attributes(attributes),
        }
        .expect("a change");
        assert!(text().contains("\"new\""), "{}", text());
        let stay = [r"b\udc80", r"b\udc81", r"\ud800", r"\ud800/x", "b\u{fffd}"];
        assert_eq!(count(&stay), stay.len(), "{}", text());
        assert_eq!(count(&["gone", r"gone/\udc80"]), 2, "{}", text());
        assert_eq!(text().matches('\u{fffd}').count(), 1, "{}", text());

        // Nodes below a removed group are removed with it.
        root.erase("gone").expect("it exists");
        assert_eq!(count(&["gone", r"gone/\udc80"]), 0, "{}", text());
        assert_eq!(count(&stay), stay.len(), "{}", text());
    }
}

/// Attributes keep their digits and order in another format.
#[test]
fn a_conversion_copies_attributes_to_the_letter() {
    let root = tempfile::tempdir().expect("a folder");
    put(
        root.path(),
        "a/zarr.json",
        ZARR3.replace("ATTRIBUTES", ATTRIBUTES),
    );
    copy(
        (root.path(), "a"),
        (root.path(), "b"),
        &CopyOptions::new().format(Format::Zarr2),
    )
    .expect("converted");
    let text = fs::read_to_string(root.path().join("b/.zattrs")).expect("the attributes");
    let compact: String = text.split_whitespace().collect();
    assert_eq!(compact, ATTRIBUTES.replace(' ', ""));

    // So do the numbers that JSON does not have and Python writes: xarray reads them from both.
    put(
        root.path(),
        "c/zarr.json",
        ZARR3.replace("ATTRIBUTES", r#"{"x": [NaN]}"#),
    );
    let report = copy(
        (root.path(), "c"),
        (root.path(), "d"),
        &CopyOptions::new().format(Format::Zarr2),
    );
    assert_eq!(report.expect("converted").nodes[0].losses, [""; 0]);
    let text = fs::read_to_string(root.path().join("d/.zattrs")).expect("the attributes");
    assert_eq!(
        text.split_whitespace().collect::<String>(),
        r#"{"x":[NaN]}"#
    );
}

/// What `json.dumps` writes for the attributes of xarray's `missing_value=numpy.nan`.
const NOT_FINITE: &str =
    r#"{"missing_value": NaN, "range": [-Infinity, {"to": Infinity}], "units": "K"}"#;

fn compact(root: &Path, key: &str) -> String {
    fs::read_to_string(root.join(key))
        .expect("the document")
        .split_whitespace()
        .collect()
}

/// A group and an array in each format, with these attributes, and the key of those of the array.
fn with_numbers_of_python(root: &Path) -> [(&'static str, &'static str); 3] {
    let expected = NOT_FINITE;
    put(root, "two/.zgroup", r#"{"zarr_format": 2}"#);
    put(root, "two/.zattrs", expected);
    put(
        root,
        "two/a/.zarray",
        r#"{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<f4", "compressor": null,
        "filters": null, "order": "C", "fill_value": NaN}"#,
    );
    put(root, "two/a/.zattrs", expected);
    let group = r#"{"zarr_format": 3, "node_type": "group", "attributes": ATTRIBUTES, "consolidated_metadata":
        {"kind": "inline", "must_understand": false, "metadata": {"a": ARRAY}}}"#;
    let array = ZARR3.replace("ATTRIBUTES", expected);
    put(
        root,
        "three/zarr.json",
        group
            .replace("ATTRIBUTES", expected)
            .replace("ARRAY", &array),
    );
    put(root, "three/a/zarr.json", &array);
    put(
        root,
        "five/attributes.json",
        expected.replacen('{', r#"{"n5": "2.5.1", "#, 1),
    );
    let n5 = r#"{"dimensions": [4], "blockSize": [2], "dataType": "float32", "compression": {"type": "raw"}, "#;
    put(
        root,
        "five/a/attributes.json",
        expected.replacen('{', n5, 1),
    );
    [
        ("two", ".zattrs"),
        ("three", "zarr.json"),
        ("five", "attributes.json"),
    ]
}

#[test]
fn v2_t39_a_copy_keeps_the_numbers_that_json_does_not_have() {
    let root = tempfile::tempdir().expect("a folder");
    let attributes: String = NOT_FINITE.split_whitespace().collect();
    let inner = attributes.trim_start_matches('{').trim_end_matches('}');
    for (from, key) in with_numbers_of_python(root.path()) {
        let copied = format!("{from}-copy");
        let report = copy(
            (root.path(), from),
            (root.path(), &*copied),
            &CopyOptions::new(),
        )
        .expect("copied");
        assert!(
            report.nodes.iter().all(|node| node.losses.is_empty()),
            "{report:?}"
        );
        for node in ["", "a/"] {
            let text = compact(root.path(), &format!("{copied}/{node}{key}"));
            assert!(text.contains(inner), "{from}: {text}");
        }
    }
}

#[test]
fn v2_t39_changes_keep_the_numbers_that_json_does_not_have() {
    let root = tempfile::tempdir().expect("a folder");
    let attributes: String = NOT_FINITE.split_whitespace().collect();
    let inner = attributes.trim_start_matches('{').trim_end_matches('}');
    for (from, key) in with_numbers_of_python(root.path()) {
        let mut array = Array::<f32>::open((root.path(), &*format!("{from}/a"))).expect("opens");
        array
            .append(0, &ndarray::array![1.0_f32, 2.0])
            .expect("appended");
        array.resize([9]).expect("resized");
        array
            .merge_attributes(json!({"more": true}))
            .expect("another attribute");
        let mut group = Group::open((root.path(), from)).expect("opens");
        group
            .merge_attributes(json!({"more": true}))
            .expect("another attribute");
        for node in ["", "a/"] {
            let text = compact(root.path(), &format!("{from}/{node}{key}"));
            assert!(
                text.contains(inner) && text.contains(r#""more":true"#),
                "{from}: {text}"
            );
        }
        let again = Array::<f32>::open((root.path(), &*format!("{from}/a"))).expect("opens");
        assert_eq!(
            (again.shape(), &again.attributes()["missing_value"]),
            (&[9][..], &json!("NaN"))
        );
    }
}
