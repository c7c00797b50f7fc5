//! What xarray shows as missing stays so in a copy to another format.
//!
//! xarray takes the fill value of Zarr v2 for `_FillValue`, and without one the attribute; of Zarr
//! v3 only the attribute, as `xarray.backends.zarr.FillValueCoder` writes it. The engine "ndzarr"
//! does the same.

use std::path::Path;

use ndzarr::{AnyArray, CopyLevel, CopyOptions, Format, copy};
use serde_json::{Value, json};

use crate::folder_files::{json_of, put};

/// `FillValueCoder.encode(-9999.0, float32)`, and of NaN.
const MINUS_9999: &str = "AAAAAICHw8A=";
const NAN: &str = "AAAAAAAA+H8=";

/// An array of two chunks with these bytes each, the second of which is stored only if it is given.
struct Source<'s> {
    shape: &'s [u64],
    dtype: &'s str,
    fill: Value,
    attributes: Value,
    chunks: &'s [&'s [u8]],
}

impl Source<'_> {
    fn zarr2(&self, root: &Path) {
        let shape = self.shape;
        let chunks: Vec<u64> = shape.iter().map(|_| 2).collect();
        let document = json!({"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": self.dtype,
            "compressor": null, "filters": null, "order": "C", "fill_value": self.fill});
        put(root, ".zarray", document.to_string());
        put(root, ".zattrs", self.attributes.to_string());
        for (i, chunk) in self.chunks.iter().enumerate() {
            put(root, &i.to_string(), chunk);
        }
    }

    fn zarr3(&self, root: &Path, names: Value) {
        let shape = self.shape;
        let chunks: Vec<u64> = shape.iter().map(|_| 2).collect();
        let mut document = json!({"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": self.dtype,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": self.fill,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": self.attributes});
        if !names.is_null() {
            document["dimension_names"] = names;
        }
        put(root, "zarr.json", document.to_string());
        for (i, chunk) in self.chunks.iter().enumerate() {
            let key = if shape.is_empty() {
                "c".to_owned()
            } else {
                format!("c/{i}")
            };
            put(root, &key, chunk);
        }
    }
}

fn floats(values: [f32; 2]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

fn bytes_of(root: &Path) -> Vec<u8> {
    let array = AnyArray::open(root).expect("opens");
    let whole: Vec<_> = array.shape().iter().map(|&n| 0..n).collect();
    array.read_bytes(whole).expect("elements")
}

#[test]
fn v2_to_v3_writes_the_attribute() {
    let named = |more: Value| {
        let mut attributes = json!({"_ARRAY_DIMENSIONS": ["x"], "units": "m"});
        attributes
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().cloned().unwrap_or_default());
        attributes
    };
    for (dtype, fill, attributes, expected) in [
        ("<f4", json!(-9999.0), named(json!({})), json!(MINUS_9999)),
        ("<f4", json!("NaN"), named(json!({})), json!(NAN)),
        // The fill value comes first.
        (
            "<f4",
            json!(-9999.0),
            named(json!({"_FillValue": 1.0})),
            json!(MINUS_9999),
        ),
        (
            "<f4",
            json!(null),
            named(json!({"_FillValue": -9999.0})),
            json!(MINUS_9999),
        ),
        ("<f4", json!(null), named(json!({})), json!(null)),
        ("|i1", json!(0), named(json!({})), json!(0)),
        (
            "|i1",
            json!(null),
            named(json!({"_FillValue": -1})),
            json!(-1),
        ),
        ("|b1", json!(false), named(json!({})), json!(false)),
        // xarray does not open it.
        ("<f4", json!(-9999.0), json!({"units": "m"}), json!(null)),
    ] {
        let source = Source {
            shape: &[4],
            dtype,
            fill: fill.clone(),
            attributes: attributes.clone(),
            chunks: &[],
        };
        let what = format!("{dtype} {fill} {attributes}");
        for in_place in [true, false] {
            let root = tempfile::tempdir().expect("a folder");
            source.zarr2(&root.path().join("a"));
            let target = root.path().join(if in_place { "a" } else { "b" });
            let report = copy(
                root.path().join("a"),
                &*target,
                &CopyOptions::new().format(Format::Zarr3),
            );
            assert_eq!(report.expect(&what).nodes[0].losses, [""; 0], "{what}");
            let made = json_of(&target, "zarr.json");
            assert_eq!(
                made["attributes"]
                    .get("_FillValue")
                    .cloned()
                    .unwrap_or_default(),
                expected,
                "{what}"
            );
            assert_eq!(made["attributes"]["units"], "m");
            let is_named = attributes.get("_ARRAY_DIMENSIONS").is_some();
            assert_eq!(made.get("dimension_names").is_some(), is_named, "{what}");
            assert_eq!(made["attributes"].get("_ARRAY_DIMENSIONS"), None, "{what}");
            if !fill.is_null() {
                assert_eq!(made["fill_value"], fill, "{what}");
            }
        }
    }
}

/// xarray 2026.9 has no attribute for these types: its `FillValueCoder.decode` refuses them.
#[test]
fn what_an_attribute_cannot_say_is_a_loss() {
    let root = tempfile::tempdir().expect("a folder");
    put(root.path(), "a/.zgroup", r#"{"zarr_format": 2}"#);
    let attributes = json!({"_ARRAY_DIMENSIONS": ["x"]});
    let source = Source {
        shape: &[4],
        dtype: "|S2",
        fill: json!("IA=="),
        attributes,
        chunks: &[],
    };
    source.zarr2(&root.path().join("a/names"));
    let options = CopyOptions::new().format(Format::Zarr3);
    let error = copy(root.path().join("a"), root.path().join("b"), &options)
        .expect_err("a loss")
        .to_string();
    assert!(
        error.contains("/names") && error.contains("missing") && error.contains("_FillValue"),
        "{error}"
    );
    assert!(!root.path().join("b").exists());
    let report = copy(
        root.path().join("a"),
        root.path().join("b"),
        &options.record_losses(),
    )
    .expect("copied");
    assert!(report.nodes[1].losses[0].contains("missing"), "{report:?}");
}

#[test]
fn v3_to_v2_puts_the_attribute_into_the_fill_value() {
    let two = [floats([1.0, -9999.0]), floats([0.0, 3.0])];
    let [first, second] = [&two[0][..], &two[1][..]];
    let attribute = |value: Value| json!({"_FillValue": value, "units": "m"});
    let plain = || json!({"units": "m"});
    for (dtype, fill, attributes, expected, chunks) in [
        // As xarray writes floats, before and since version 2025.8.
        (
            "float32",
            json!(0.0),
            attribute(json!(MINUS_9999)),
            json!(-9999.0),
            &[first, second][..],
        ),
        (
            "float32",
            json!("NaN"),
            attribute(json!(MINUS_9999)),
            json!(-9999.0),
            &[first, second][..],
        ),
        (
            "float32",
            json!("NaN"),
            attribute(json!(NAN)),
            json!("NaN"),
            &[first][..],
        ),
        ("float32", json!("NaN"), plain(), json!("NaN"), &[first][..]),
        // Of another writer.
        (
            "float32",
            json!(0.0),
            attribute(json!(-9999)),
            json!(-9999.0),
            &[first, second][..],
        ),
        // Chunks that are not stored.
        (
            "float32",
            json!(0.0),
            attribute(json!(MINUS_9999)),
            json!(-9999.0),
            &[first][..],
        ),
        (
            "float32",
            json!("NaN"),
            attribute(json!(MINUS_9999)),
            json!(-9999.0),
            &[first][..],
        ),
        ("float32", json!(7.0), plain(), json!(null), &[first][..]),
        ("float32", json!(0.0), plain(), json!(null), &[first][..]),
        (
            "int8",
            json!(0),
            plain(),
            json!(null),
            &[&b"\x01\x00"[..], &b"\x00\x02"[..]][..],
        ),
        (
            "int8",
            json!(0),
            attribute(json!(-1)),
            json!(-1),
            &[&b"\x01\xff"[..]][..],
        ),
        (
            "bool",
            json!(false),
            plain(),
            json!(null),
            &[&b"\x01\x00"[..]][..],
        ),
        (
            "bool",
            json!(false),
            attribute(json!(false)),
            json!(false),
            &[&b"\x01\x00"[..]][..],
        ),
    ] {
        let what = format!("{dtype} {fill} {attributes}, {} chunks", chunks.len());
        let root = tempfile::tempdir().expect("a folder");
        let source = Source {
            shape: &[4],
            dtype,
            fill: fill.clone(),
            attributes,
            chunks,
        };
        source.zarr3(&root.path().join("a"), json!(["x"]));
        let options = CopyOptions::new().format(Format::Zarr2);
        let report = copy(root.path().join("a"), root.path().join("b"), &options).expect(&what);
        let node = &report.nodes[0];
        assert_eq!(node.losses, [""; 0], "{what}");
        let array = json_of(root.path(), "b/.zarray");
        let attributes = json_of(root.path(), "b/.zattrs");
        assert_eq!(array["fill_value"], expected, "{what}");
        assert_eq!(
            attributes,
            json!({"units": "m", "_ARRAY_DIMENSIONS": ["x"]}),
            "{what}"
        );
        assert_eq!(
            bytes_of(&root.path().join("b")),
            bytes_of(&root.path().join("a")),
            "{what}"
        );
        if chunks.len() == 2 {
            assert_eq!(node.level, CopyLevel::Rekeyed, "{what}");
        }
        // And back.
        copy(
            root.path().join("b"),
            root.path().join("c"),
            &CopyOptions::new().format(Format::Zarr3),
        )
        .expect(&what);
        assert_eq!(
            bytes_of(&root.path().join("c")),
            bytes_of(&root.path().join("a")),
            "{what}"
        );
    }
}

/// To xarray, bytes of 255 are those of -1 with `_Unsigned`, and without a fill value v2 has the
/// attribute.
#[test]
fn a_number_beyond_the_type_stays_an_attribute() {
    let root = tempfile::tempdir().expect("a folder");
    let attributes = json!({"_FillValue": 255, "_Unsigned": "true"});
    let source = Source {
        shape: &[4],
        dtype: "int8",
        fill: json!(0),
        attributes: attributes.clone(),
        chunks: &[b"\x01\xff"],
    };
    source.zarr3(&root.path().join("a"), json!(["x"]));
    copy(
        root.path().join("a"),
        root.path().join("b"),
        &CopyOptions::new().format(Format::Zarr2),
    )
    .expect("copied");
    assert_eq!(json_of(root.path(), "b/.zarray")["fill_value"], json!(null));
    assert_eq!(json_of(root.path(), "b/.zattrs")["_FillValue"], 255);
}

/// xarray does not open Zarr v3 with a plain number for a float.
#[test]
fn a_number_of_n5_is_written_as_xarray_does() {
    let root = tempfile::tempdir().expect("a folder");
    put(
        root.path(),
        "a/attributes.json",
        r#"{"n5": "2.5.1", "dimensions": [4], "blockSize": [4], "dataType": "float32",
        "compression": {"type": "raw"}, "_ARRAY_DIMENSIONS": ["x"], "_FillValue": -9999.0}"#,
    );
    copy(
        root.path().join("a"),
        root.path().join("b"),
        &CopyOptions::new().format(Format::Zarr3),
    )
    .expect("copied");
    assert_eq!(
        json_of(root.path(), "b/zarr.json")["attributes"],
        json!({"_FillValue": MINUS_9999})
    );
}

/// xarray opens an array without axes only if v2 says that it has no names of axes.
#[test]
fn an_array_without_axes_has_no_names() {
    for names in [json!(null), json!([])] {
        let root = tempfile::tempdir().expect("a folder");
        let attributes = json!({"units": "m"});
        let source = Source {
            shape: &[],
            dtype: "float64",
            fill: json!(0.0),
            attributes,
            chunks: &[&[0; 8]],
        };
        source.zarr3(&root.path().join("a"), names);
        copy(
            root.path().join("a"),
            root.path().join("b"),
            &CopyOptions::new().format(Format::Zarr2),
        )
        .expect("copied");
        assert_eq!(
            json_of(root.path(), "b/.zattrs"),
            json!({"units": "m", "_ARRAY_DIMENSIONS": []})
        );
        assert_eq!(json_of(root.path(), "b/.zarray")["fill_value"], json!(null));
        copy(
            root.path().join("b"),
            root.path().join("c"),
            &CopyOptions::new(),
        )
        .expect("copied");
        assert_eq!(
            json_of(root.path(), "c/.zattrs"),
            json!({"units": "m", "_ARRAY_DIMENSIONS": []})
        );
        copy(
            root.path().join("c"),
            root.path().join("d"),
            &CopyOptions::new().format(Format::Zarr3),
        )
        .expect("copied");
        let made = json_of(root.path(), "d/zarr.json");
        assert_eq!(
            (&made["attributes"], &made["dimension_names"]),
            (&json!({"units": "m"}), &json!([]))
        );
    }
}

/// A number that stands for missing ones becomes the number of the new type.
#[test]
fn converted_numbers_keep_the_attribute() {
    let root = tempfile::tempdir().expect("a folder");
    let chunk = [1_i16, -1]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect::<Vec<u8>>();
    let attributes = json!({"_FillValue": -1});
    let source = Source {
        shape: &[4],
        dtype: "int16",
        fill: json!(0),
        attributes,
        chunks: &[&chunk],
    };
    source.zarr3(&root.path().join("a"), json!(["x"]));
    let float = CopyOptions::new().data_type(ndzarr::DataType::Float { bits: 64 });
    copy(root.path().join("a"), root.path().join("b"), &float).expect("copied");
    // FillValueCoder.encode(-1.0, float64)
    assert_eq!(
        json_of(root.path(), "b/zarr.json")["attributes"]["_FillValue"],
        "AAAAAAAA8L8="
    );
    copy(
        root.path().join("a"),
        root.path().join("c"),
        &float.format(Format::Zarr2),
    )
    .expect("copied");
    assert_eq!(json_of(root.path(), "c/.zarray")["fill_value"], -1.0);
    assert_eq!(
        bytes_of(&root.path().join("c")),
        bytes_of(&root.path().join("b"))
    );
}
