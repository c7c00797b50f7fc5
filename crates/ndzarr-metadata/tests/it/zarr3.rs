use ndzarr_json::JsonText;
use ndzarr_metadata::{AttributeChange, MemberKind, NodeKind, change_attributes, erase};
use ndzarr_model::{ArraySpec, CodecCheck, CodecConfig, DataType, Endian};
use serde_json::json;

use crate::it::store::{Store, array, with};

/// V3-T01.
pub(crate) const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint16",
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
    "chunk_key_encoding":{"name":"default"},"fill_value":7,
    "codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;

pub(crate) const GROUP: &str = r#"{"zarr_format":3,"node_type":"group"}"#;

pub(crate) fn spec(members: &[(&str, &str)]) -> Result<ArraySpec, String> {
    array("zarr.json", &with(ARRAY, members)).map_err(|e| e.to_string())
}

pub(crate) fn opens(members: &[(&str, &str)]) -> ArraySpec {
    spec(members).unwrap_or_else(|e| panic!("{members:?}: {e}"))
}

pub(crate) fn fails(members: &[(&str, &str)], in_message: &str) {
    let error = spec(members).expect_err(&format!("{members:?} opens"));
    assert!(error.starts_with("zarr.json: "), "{error}");
    assert!(error.contains(in_message), "{error:?} does not name {in_message:?}");
}

#[test]
fn v3_t01_minimal_array() {
    let spec = opens(&[]);
    assert_eq!(spec.shape, [4]);
    assert_eq!(spec.unit_shape, [2]);
    assert_eq!(spec.data_type, DataType::UInt { bits: 16 });
    assert_eq!(spec.fill_value.bytes(), 7u16.to_ne_bytes());
    assert_eq!(spec.codecs[..], [CodecConfig::Bytes { endian: Some(Endian::Little) }.into()]);
    assert_eq!(spec.codec_check, CodecCheck::AtOpen);
    assert_eq!(spec.keys.key(&[1]), "c/1");
    assert_eq!(spec.dimension_names, None);
}

#[test]
fn v3_t02_required_members() {
    fails(&[("zarr_format", "3.0")], "zarr_format");
    fails(&[("zarr_format", "2")], "zarr_format");
    fails(&[("zarr_format", "null")], "zarr_format");
    fails(&[("node_type", "\"Array\"")], "node_type");
    for name in
        ["zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value"]
    {
        fails(&[(name, "")], name);
    }
    // A string is the entry point of the draft, which exists only at the root.
    let draft = with(ARRAY, &[("zarr_format", "\"3\"")]);
    let error =
        Store::new(&[("a/zarr.json", &draft)]).open("a").expect_err("the number is a string").to_string();
    assert!(error.starts_with("a/zarr.json: ") && error.contains("draft"), "{error}");
    assert!(Store::new(&[("zarr.json", &draft)]).open("").is_err());
}

#[test]
fn v3_t03_unknown_members() {
    for bad in ["1", "null", "{}", "[]", r#"{"must_understand":"false"}"#, r#"{"must_understand":true}"#] {
        fails(&[("foo", bad)], "foo");
    }
    let foo = r#"{"must_understand":false,"x":1}"#;
    let text = with(ARRAY, &[("foo", foo), ("attributes", "{\"b\":1}")]);
    let store = Store::new(&[("zarr.json", &text)]);
    let node = store.open("").expect("opens");
    let change = AttributeChange::Merge(json!({"a": 2}).as_object().cloned().expect("an object"));
    let changed = change_attributes(&node, Some(text.as_bytes()), &change).expect("a new document");
    let changed: serde_json::Value = serde_json::from_slice(&changed).expect("JSON");
    let mut expected: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    expected["attributes"] = json!({"b": 1, "a": 2});
    assert_eq!(changed, expected);
    // Arrays do not know the consolidated metadata of groups.
    fails(&[("consolidated_metadata", "null")], "consolidated_metadata");
    opens(&[("consolidated_metadata", r#"{"kind":"inline","must_understand":false}"#)]);
}

#[test]
fn v3_t13_t14_keys() {
    for (encoding, index, key) in [
        ("\"default\"", &[1, 23, 45][..], "c/1/23/45"),
        (r#"{"name":"default","configuration":{"separator":"."}}"#, &[1, 23, 45], "c.1.23.45"),
        (r#"{"name":"default"}"#, &[], "c"),
        (r#"{"name":"default","configuration":{"separator":"."}}"#, &[], "c"),
        ("\"v2\"", &[1, 23, 45], "1.23.45"),
        (r#"{"name":"v2","configuration":{"separator":"/"}}"#, &[1, 23, 45], "1/23/45"),
        (r#"{"name":"v2","configuration":{}}"#, &[], "0"),
    ] {
        let shape = if index.is_empty() { "[]" } else { "[100,100,100]" };
        let chunks = if index.is_empty() { "[]" } else { "[1,1,1]" };
        let grid = format!(r#"{{"name":"regular","configuration":{{"chunk_shape":{chunks}}}}}"#);
        let text = with(ARRAY, &[("shape", shape), ("chunk_grid", &grid), ("chunk_key_encoding", encoding)]);
        for (path, prefix) in [("", ""), ("a/b", "a/b/")] {
            let store = Store::new(&[(&format!("{prefix}zarr.json"), &text)]);
            let node = store.open(path).expect(encoding);
            let spec = node.kind.array().expect("an array");
            assert_eq!(spec.keys.key(index), format!("{prefix}{key}"));
        }
    }
    fails(&[("chunk_key_encoding", "\"n5\"")], "unsupported chunk key encoding n5");
    fails(&[("chunk_key_encoding", r#"{"name":"default","configuration":{"separator":"-"}}"#)], "separator");
    fails(&[("chunk_key_encoding", r#"{"name":"default","configuration":{"sep":"/"}}"#)], "sep");
}

#[test]
fn v3_050_extension_values() {
    let grid =
        |members: &str| format!(r#"{{"name":"regular","configuration":{{"chunk_shape":[2]}}{members}}}"#);
    opens(&[("chunk_grid", &grid(",\"must_understand\":true"))]);
    opens(&[("chunk_grid", &grid(",\"must_understand\":false"))]);
    fails(&[("chunk_grid", &grid(",\"must_understand\":1"))], "must_understand");
    fails(&[("chunk_grid", &grid(",\"extra\":1"))], "extra");
    fails(&[("chunk_grid", r#"{"name":"regular","configuration":null}"#)], "configuration");
    fails(&[("chunk_grid", r#"{"configuration":{"chunk_shape":[2]}}"#)], "name");
    fails(&[("chunk_grid", "\"regular\"")], "chunk_shape");
    fails(&[("chunk_grid", "[1]")], "chunk_grid");
    fails(&[("chunk_grid", r#"{"name":"rectilinear","configuration":{"kind":"inline"}}"#)], "chunk_shapes");
    fails(&[("chunk_grid", r#"{"name":"voronoi","configuration":{}}"#)], "chunk grid voronoi");
    fails(&[("chunk_grid", r#"{"name":"regular","configuration":{"chunk_shape":[2],"x":1}}"#)], "\"x\"");
}

#[test]
fn v3_t17_chunk_shapes() {
    let with_grid = |shape: &str, chunks: &str| {
        let grid = format!(r#"{{"name":"regular","configuration":{{"chunk_shape":{chunks}}}}}"#);
        spec(&[("shape", shape), ("chunk_grid", &grid)])
    };
    assert!(with_grid("[4]", "[0]").is_err());
    assert!(with_grid("[4]", "[2,2]").is_err());
    assert!(with_grid("[4]", "[2.0]").is_err());
    assert!(with_grid("[4]", "[-2]").is_err());
    assert!(with_grid("[-4]", "[2]").is_err());
    assert!(with_grid("[0]", "[0]").is_ok());
    assert!(with_grid("[0,2]", "[1,1]").is_ok());
    assert!(with_grid("[18446744073709551615,18446744073709551615]", "[1,1]").is_ok());
    assert!(with_grid("[1,1]", "[18446744073709551615,18446744073709551615]").is_err());
    // The most bytes that a machine can address; an element has two.
    let most = isize::MAX as u64 / 2;
    assert!(with_grid("[1]", &format!("[{}]", most + 1)).is_err());
    assert!(with_grid("[1]", &format!("[{most}]")).is_ok());
}

#[test]
fn v3_t54_dimension_names() {
    let names = |json: &str| spec(&[("dimension_names", json)]).map(|spec| spec.dimension_names);
    assert_eq!(names("[\"x\"]"), Ok(Some(vec![Some("x".to_owned())])));
    assert_eq!(names("[null]"), Ok(Some(vec![None])));
    assert_eq!(names("[\"\"]"), Ok(Some(vec![Some(String::new())])));
    assert_eq!(names("null"), Ok(None));
    for bad in ["[]", "[\"x\",\"y\"]", "\"x\"", "[1]", "{}"] {
        assert!(names(bad).expect_err(bad).contains("dimension_names"), "{bad}");
    }
}

#[test]
fn v3_t55_storage_transformers() {
    opens(&[("storage_transformers", "[]")]);
    fails(&[("storage_transformers", "[{\"name\":\"x\"}]")], "unsupported storage transformer x");
    fails(&[("storage_transformers", "[1]")], "storage_transformers");
    fails(&[("storage_transformers", "{}")], "storage_transformers");
}

#[test]
fn v3_018_attributes() {
    let attributes = |json: &str| {
        let text = with(ARRAY, &[("attributes", json)]);
        Store::new(&[("zarr.json", &text)]).open("").map(|node| node.attributes)
    };
    assert!(attributes("null").is_ok_and(|attributes| attributes.is_empty()));
    assert!(attributes("[]").is_err());
    let odd = attributes("{\"a\":[NaN,1e400,18446744073709551616]}").expect("opens");
    assert_eq!(odd["a"], serde_json::json!(["NaN", "Infinity", 18_446_744_073_709_551_616.0]));
    fails(&[("fill_value", "NaN")], "not a value of uint16");
    fails(&[("foo", "{\"must_understand\":false,\"x\":NaN}")], "JSON");
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
    let members = store.ask(|known| ndzarr_metadata::members(&node, known)).expect("members");
    let members: Vec<_> = members.iter().map(|member| (member.name.as_str(), member.kind)).collect();
    assert_eq!(members, [("_x", MemberKind::Group), ("c", MemberKind::Array), ("d", MemberKind::Group)]);
    store.asked.borrow_mut().clear();
    assert_eq!(store.members("c"), [""; 0]);
    assert_eq!(store.asked.borrow().as_slice(), ["c/zarr.json"]);
    let corrupt = Store::new(&[("zarr.json", GROUP), ("a/zarr.json", "{")]);
    let node = corrupt.open("").expect("a group");
    let error = corrupt.ask(|known| ndzarr_metadata::members(&node, known)).expect_err("corrupt").to_string();
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
    for bad in [r#"{"kind":"other"}"#, r#"{"kind":"inline","must_understand":true,"metadata":{}}"#, "1"] {
        let text = with(GROUP, &[("consolidated_metadata", bad)]);
        let error = Store::new(&[("zarr.json", &text)]).open("").expect_err(bad).to_string();
        assert!(error.contains("consolidated_metadata"), "{error}");
    }
}

#[test]
fn v3_031_groups() {
    let node =
        Store::new(&[("zarr.json", &with(GROUP, &[("attributes", "{\"a\":1}")]))]).open("").expect("opens");
    assert_eq!(node.attributes["a"], 1);
    for (name, value) in [("shape", "[1]"), ("attributes", "1"), ("node_type", ""), ("foo", "null")] {
        let text = with(GROUP, &[(name, value)]);
        let error = Store::new(&[("g/zarr.json", &text)]).open("g").expect_err(name).to_string();
        assert!(error.contains(name) && error.starts_with("g/zarr.json: "), "{error}");
    }
}

#[test]
fn v3_t52_erasing() {
    let store = Store::new(&[("zarr.json", GROUP), ("foo/zarr.json", ARRAY), ("foobar/zarr.json", ARRAY)]);
    let erasure = erase(&store.open("foo").expect("opens"));
    assert_eq!(erasure.documents, ["foo/zarr.json"]);
    assert_eq!(erasure.prefixes, ["foo/"]);
    assert_eq!(erase(&store.open("").expect("opens")).prefixes, [""]);
}

#[test]
fn v3_009_what_is_no_document() {
    for bad in ["", " ", "[]", "null", "3", "{", "{}{}", "{\"zarr_format\":3,}"] {
        let error = Store::new(&[("a/zarr.json", bad)]).open("a").expect_err(bad).to_string();
        assert!(error.starts_with("a/zarr.json: "), "{error}");
    }
}

#[test]
fn attributes_change_in_place() {
    let text = with(ARRAY, &[("attributes", r#"{"b":1,"a":2,"c":3}"#)]);
    let node = Store::new(&[("zarr.json", &text)]).open("").expect("opens");
    let change = |change: AttributeChange| {
        let changed = change_attributes(&node, Some(text.as_bytes()), &change).expect("a new document");
        let mut text = Vec::new();
        JsonText::canonical(&changed, &mut text).expect("JSON");
        let text = String::from_utf8(text).expect("text");
        let (_, attributes) = text.split_once(r#""attributes":"#).expect("attributes");
        attributes.split_inclusive('}').next().expect("an object").to_owned()
    };
    let new = json!({"a": 5, "d": null}).as_object().cloned().expect("an object");
    assert_eq!(change(AttributeChange::Merge(new.clone())), r#"{"b":1,"a":5,"c":3,"d":null}"#);
    assert_eq!(change(AttributeChange::Replace(new)), r#"{"a":5,"d":null}"#);
    assert_eq!(change(AttributeChange::Remove(vec!["b".into(), "x".into()])), r#"{"a":2,"c":3}"#);
    assert!(change_attributes(&node, None, &AttributeChange::Remove(vec![])).is_err());
    let path = AttributeChange::SetN5Path { path: "a/b".into(), value: json!(1) };
    assert!(change_attributes(&node, Some(text.as_bytes()), &path).is_err());
}

/// Optional ones leave the array readable.
#[test]
fn v3_t55_storage_transformers_that_may_be_passed_over() {
    let spec = opens(&[("storage_transformers", r#"[{"name":"x","must_understand":false}]"#)]);
    assert!(spec.codecs[0].unwritable.as_deref().is_some_and(|why| why.contains("\"x\"")), "{spec:?}");
    let text = with(ARRAY, &[("storage_transformers", r#"[{"name":"x","must_understand":false}]"#)]);
    let node = Store::new(&[("zarr.json", &text)]).open("").expect("opens");
    assert!(node.warnings[0].contains("storage transformer \"x\""), "{:?}", node.warnings);
    assert_eq!(opens(&[("storage_transformers", "[]")]).codecs[0].unwritable, None);
    for bad in [
        r#"["x"]"#,
        r#"[{"name":"x"}]"#,
        r#"[{"name":"y","must_understand":false},{"name":"x","must_understand":true}]"#,
    ] {
        fails(&[("storage_transformers", bad)], "unsupported storage transformer x");
    }
}

/// The type and the position of elements must be understood.
#[test]
fn v3_054_types_and_grids_cannot_be_passed_over() {
    let unknown = r#"{"name":"x","must_understand":false}"#;
    fails(&[("data_type", unknown)], "unsupported data type x");
    fails(&[("chunk_grid", unknown)], "unsupported chunk grid x");
    fails(&[("chunk_key_encoding", unknown)], "unsupported chunk key encoding x");
    // It is ignored on known extensions.
    opens(&[("data_type", r#"{"name":"uint16","must_understand":false}"#)]);
}
