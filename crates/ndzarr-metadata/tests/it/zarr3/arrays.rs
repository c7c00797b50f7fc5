//! Zarr v3: the members of an array document.

use ndzarr_metadata::{AttributeChange, change_attributes};
use ndzarr_model::{CodecCheck, CodecConfig, DataType, Endian};
use serde_json::json;

use crate::it::store::{Store, with};
use crate::it::zarr3::{ARRAY, fails, opens, spec};

#[test]
fn v3_t01_minimal_array() {
    let spec = opens(&[]);
    assert_eq!(spec.shape, [4]);
    assert_eq!(spec.unit_shape, [2]);
    assert_eq!(spec.data_type, DataType::UInt { bits: 16 });
    assert_eq!(spec.fill_value.bytes(), 7u16.to_ne_bytes());
    assert_eq!(
        spec.codecs[..],
        [CodecConfig::Bytes {
            endian: Some(Endian::Little)
        }
        .into()]
    );
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
    for name in [
        "zarr_format",
        "node_type",
        "shape",
        "data_type",
        "chunk_grid",
        "chunk_key_encoding",
        "fill_value",
    ] {
        fails(&[(name, "")], name);
    }
    // A string is the entry point of the draft, which exists only at the root.
    let draft = with(ARRAY, &[("zarr_format", "\"3\"")]);
    let error = Store::new(&[("a/zarr.json", &draft)])
        .open("a")
        .expect_err("the number is a string")
        .to_string();
    assert!(
        error.starts_with("a/zarr.json: ") && error.contains("draft"),
        "{error}"
    );
    assert!(Store::new(&[("zarr.json", &draft)]).open("").is_err());
}

#[test]
fn v3_t03_unknown_members() {
    for bad in [
        "1",
        "null",
        "{}",
        "[]",
        r#"{"must_understand":"false"}"#,
        r#"{"must_understand":true}"#,
    ] {
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
    fails(
        &[("consolidated_metadata", "null")],
        "consolidated_metadata",
    );
    opens(&[(
        "consolidated_metadata",
        r#"{"kind":"inline","must_understand":false}"#,
    )]);
}

#[test]
fn v3_t13_t14_keys() {
    for (encoding, index, key) in [
        ("\"default\"", &[1, 23, 45][..], "c/1/23/45"),
        (
            r#"{"name":"default","configuration":{"separator":"."}}"#,
            &[1, 23, 45],
            "c.1.23.45",
        ),
        (r#"{"name":"default"}"#, &[], "c"),
        (
            r#"{"name":"default","configuration":{"separator":"."}}"#,
            &[],
            "c",
        ),
        ("\"v2\"", &[1, 23, 45], "1.23.45"),
        (
            r#"{"name":"v2","configuration":{"separator":"/"}}"#,
            &[1, 23, 45],
            "1/23/45",
        ),
        (r#"{"name":"v2","configuration":{}}"#, &[], "0"),
    ] {
        let shape = if index.is_empty() {
            "[]"
        } else {
            "[100,100,100]"
        };
        let chunks = if index.is_empty() { "[]" } else { "[1,1,1]" };
        let grid = format!(r#"{{"name":"regular","configuration":{{"chunk_shape":{chunks}}}}}"#);
        let text = with(
            ARRAY,
            &[
                ("shape", shape),
                ("chunk_grid", &grid),
                ("chunk_key_encoding", encoding),
            ],
        );
        for (path, prefix) in [("", ""), ("a/b", "a/b/")] {
            let store = Store::new(&[(&format!("{prefix}zarr.json"), &text)]);
            let node = store.open(path).expect(encoding);
            let spec = node.kind.array().expect("an array");
            assert_eq!(spec.keys.key(index), format!("{prefix}{key}"));
        }
    }
    fails(
        &[("chunk_key_encoding", "\"n5\"")],
        "unsupported chunk key encoding n5",
    );
    fails(
        &[(
            "chunk_key_encoding",
            r#"{"name":"default","configuration":{"separator":"-"}}"#,
        )],
        "separator",
    );
    fails(
        &[(
            "chunk_key_encoding",
            r#"{"name":"default","configuration":{"sep":"/"}}"#,
        )],
        "sep",
    );
}

#[test]
fn v3_050_extension_values() {
    let grid = |members: &str| {
        format!(r#"{{"name":"regular","configuration":{{"chunk_shape":[2]}}{members}}}"#)
    };
    opens(&[("chunk_grid", &grid(",\"must_understand\":true"))]);
    opens(&[("chunk_grid", &grid(",\"must_understand\":false"))]);
    fails(
        &[("chunk_grid", &grid(",\"must_understand\":1"))],
        "must_understand",
    );
    fails(&[("chunk_grid", &grid(",\"extra\":1"))], "extra");
    fails(
        &[("chunk_grid", r#"{"name":"regular","configuration":null}"#)],
        "configuration",
    );
    fails(
        &[("chunk_grid", r#"{"configuration":{"chunk_shape":[2]}}"#)],
        "name",
    );
    fails(&[("chunk_grid", "\"regular\"")], "chunk_shape");
    fails(&[("chunk_grid", "[1]")], "chunk_grid");
    fails(
        &[(
            "chunk_grid",
            r#"{"name":"rectilinear","configuration":{"kind":"inline"}}"#,
        )],
        "chunk_shapes",
    );
    fails(
        &[("chunk_grid", r#"{"name":"voronoi","configuration":{}}"#)],
        "chunk grid voronoi",
    );
    fails(
        &[(
            "chunk_grid",
            r#"{"name":"regular","configuration":{"chunk_shape":[2],"x":1}}"#,
        )],
        "\"x\"",
    );
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
        assert!(
            names(bad).expect_err(bad).contains("dimension_names"),
            "{bad}"
        );
    }
}

#[test]
fn v3_t55_storage_transformers() {
    opens(&[("storage_transformers", "[]")]);
    fails(
        &[("storage_transformers", "[{\"name\":\"x\"}]")],
        "unsupported storage transformer x",
    );
    fails(&[("storage_transformers", "[1]")], "storage_transformers");
    fails(&[("storage_transformers", "{}")], "storage_transformers");
}

/// Optional ones leave the array readable.
#[test]
fn v3_t55_storage_transformers_that_may_be_passed_over() {
    let spec = opens(&[(
        "storage_transformers",
        r#"[{"name":"x","must_understand":false}]"#,
    )]);
    assert!(
        spec.codecs[0]
            .unwritable
            .as_deref()
            .is_some_and(|why| why.contains("\"x\"")),
        "{spec:?}"
    );
    let text = with(
        ARRAY,
        &[(
            "storage_transformers",
            r#"[{"name":"x","must_understand":false}]"#,
        )],
    );
    let node = Store::new(&[("zarr.json", &text)]).open("").expect("opens");
    assert!(
        node.warnings[0].contains("storage transformer \"x\""),
        "{:?}",
        node.warnings
    );
    assert_eq!(
        opens(&[("storage_transformers", "[]")]).codecs[0].unwritable,
        None
    );
    for bad in [
        r#"["x"]"#,
        r#"[{"name":"x"}]"#,
        r#"[{"name":"y","must_understand":false},{"name":"x","must_understand":true}]"#,
    ] {
        fails(
            &[("storage_transformers", bad)],
            "unsupported storage transformer x",
        );
    }
}

/// The type and the position of elements must be understood.
#[test]
fn v3_054_types_and_grids_cannot_be_passed_over() {
    let unknown = r#"{"name":"x","must_understand":false}"#;
    fails(&[("data_type", unknown)], "unsupported data type x");
    fails(&[("chunk_grid", unknown)], "unsupported chunk grid x");
    fails(
        &[("chunk_key_encoding", unknown)],
        "unsupported chunk key encoding x",
    );
    // It is ignored on known extensions.
    opens(&[("data_type", r#"{"name":"uint16","must_understand":false}"#)]);
}
