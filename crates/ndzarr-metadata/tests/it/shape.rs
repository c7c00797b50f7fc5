//! A change of shape changes nothing else in a document.

use ndzarr_metadata::{
    MetadataError, N5Axes, OpenOptions, change_shape, document_shape, shape_key,
};

use crate::it::draft::{store_a, store_b};
use crate::it::store::Store;

/// Checks the whole text of a document after a change. `old` and `new` stand between the same
/// texts.
fn check(
    store: &Store,
    options: &OpenOptions,
    key: &str,
    old: &str,
    new: &str,
    was: &[u64],
    shape: &[u64],
) {
    let node = store.open_with("a", options).expect("it can be opened");
    assert_eq!(shape_key(&node), key);
    let text = store.text(key);
    assert_eq!(text.matches(old).count(), 1, "{old} in {text}");
    let change = change_shape(&node, Some(text.as_bytes()), shape).expect("it can be changed");
    assert_eq!(change.was, was);
    let tight = |text: &str| {
        let mut in_string = false;
        text.chars()
            .filter(|c| {
                in_string ^= *c == '"';
                in_string || !c.is_whitespace()
            })
            .collect::<String>()
    };
    let after = String::from_utf8(change.document.to_vec()).expect("UTF-8");
    assert_eq!(tight(&after), tight(&text.replace(old, new)));
    assert_eq!(
        document_shape(&node, Some(&change.document)).expect("it can be read"),
        shape
    );

    let refused = |current: Option<&[u8]>, shape: &[u64]| change_shape(&node, current, shape);
    assert!(matches!(
        refused(None, shape),
        Err(MetadataError::Gone { .. })
    ));
    assert!(refused(Some(b"{}"), shape).is_err());
    for wrong in [&shape[1..], &[shape, &[1]].concat()] {
        let error = refused(Some(text.as_bytes()), wrong).expect_err("another rank");
        assert!(
            matches!(error, MetadataError::Inexpressible { .. }),
            "{error}"
        );
    }
}

#[test]
fn v2_143_zarr2() {
    let document = r#"{"foreign": 1.50e+03, "shape": [10, 7], "chunks": [3, 2], "dtype": "<u2", "order": "F",
        "compressor": null, "filters": null, "fill_value": 65535, "zarr_format": 2,
        "dimension_separator": "/", "more": {"b": [1.0, 2], "a": null}}"#;
    let store = Store::new(&[("a/.zarray", document), ("a/.zattrs", r#"{"x": NaN}"#)]);
    check(
        &store,
        &OpenOptions::default(),
        "a/.zarray",
        "[10, 7]",
        "[4,18446744073709551615]",
        &[10, 7],
        &[4, u64::MAX],
    );
}

#[test]
fn v3_202_zarr3() {
    let document = r#"{"shape": [10, 7], "zarr_format": 3, "node_type": "array", "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [3, 2]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 7, "dimension_names": ["y", null],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {"shape": "of a pear", "scale": 1.50},
        "ours": {"must_understand": false, "n": 1e2}}"#;
    let store = Store::new(&[("a/zarr.json", document)]);
    check(
        &store,
        &OpenOptions::default(),
        "a/zarr.json",
        "[10, 7]",
        "[0,1152921504606846976]",
        &[10, 7],
        &[0, 1 << 60],
    );

    // An array that another process put in its place is not touched.
    let node = store.open("a").expect("an array");
    for (old, new) in [
        ("[3, 2]", "[3, 4]"),
        ("uint16", "int16"),
        ("\"array\"", "\"group\""),
    ] {
        let error = change_shape(&node, Some(document.replace(old, new).as_bytes()), &[1, 1]);
        assert!(matches!(error, Err(MetadataError::Invalid { .. })), "{new}");
    }
    // Attributes that Python has written as NaN stay so.
    let text = document.replace("1.50", "[NaN, -Infinity]");
    let change =
        change_shape(&node, Some(text.as_bytes()), &[1, 1]).expect("only the shape changes");
    let changed: String = String::from_utf8_lossy(&change.document)
        .split_whitespace()
        .collect();
    assert!(
        changed.contains(r#""scale":[NaN,-Infinity]"#) && changed.contains(r#""shape":[1,1]"#),
        "{changed}"
    );
}

#[test]
fn a_grid_of_empty_chunks_does_not_grow() {
    let document = r#"{"shape": [0, 7], "chunks": [0, 2], "dtype": "|u1", "order": "C", "compressor": null,
        "filters": null, "fill_value": 0, "zarr_format": 2}"#;
    let store = Store::new(&[("a/.zarray", document)]);
    let node = store.open("a").expect("an array");
    assert!(change_shape(&node, Some(document.as_bytes()), &[0, 9]).is_ok());
    let error =
        change_shape(&node, Some(document.as_bytes()), &[1, 7]).expect_err("no chunk length");
    assert!(
        matches!(error, MetadataError::Inexpressible { .. }),
        "{error}"
    );
}

#[test]
fn d3_both_dialects() {
    let a = r#"{"shape": [10, 7], "data_type": "uint16", "chunk_grid": {"type": "regular", "chunk_shape": [3, 2],
        "separator": "/"}, "chunk_memory_layout": "C", "fill_value": 7, "extensions": [],
        "codecs": [{"type": "https://purl.org/zarr/spec/codecs/endian/1.0", "configuration": {"endian": "big"}}],
        "attributes": {"shape": 1.50}}"#;
    let b = r#"{"shape": [10, 7], "data_type": "<u2", "chunk_grid": {"type": "regular", "chunk_shape": [3, 2],
        "separator": "/"}, "chunk_memory_layout": "F", "fill_value": 7, "extensions": [], "foreign": [1.0],
        "attributes": {"shape": 1.50, "filters": [{"id": "gzip", "level": 1}]}}"#;
    let store = store_a(&[("meta/a.array.json", a)]);
    check(
        &store,
        &OpenOptions::default(),
        "meta/a.array.json",
        "[10, 7]",
        "[11,6]",
        &[10, 7],
        &[11, 6],
    );
    let store = store_b(&[("meta/root/a.array.json", b)]);
    let key = "meta/root/a.array.json";
    check(
        &store,
        &OpenOptions::default(),
        key,
        "[10, 7]",
        "[11,6]",
        &[10, 7],
        &[11, 6],
    );
}

#[test]
fn n5_in_both_orders() {
    let document = r#"{"n5": "2.0.0", "dimensions": [10, 7], "blockSize": [3, 2], "dataType": "uint16",
        "compression": {"type": "raw"}, "resolution": [4.0, 1.50], "axes": ["x", "y"], "other": {"dimensions": [1]}}"#;
    let store = Store::new(&[("a/attributes.json", document)]);
    check(
        &store,
        &OpenOptions::default(),
        "a/attributes.json",
        "[10, 7]",
        "[11,6]",
        &[10, 7],
        &[11, 6],
    );
    let reversed = OpenOptions {
        n5_axes: N5Axes::Reversed,
        ..OpenOptions::default()
    };
    check(
        &store,
        &reversed,
        "a/attributes.json",
        "[10, 7]",
        "[11,6]",
        &[7, 10],
        &[6, 11],
    );

    let node = store.open("a").expect("a dataset");
    let error = change_shape(&node, Some(document.as_bytes()), &[1 << 63, 1])
        .expect_err("Java has no such length");
    assert!(
        matches!(error, MetadataError::Inexpressible { .. }),
        "{error}"
    );
}
