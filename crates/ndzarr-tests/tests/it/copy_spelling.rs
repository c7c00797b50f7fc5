//! A copy that is encoded again keeps what other programs see of the layout: the index of shards,
//! byte orders, the text of a type.

use std::fs;
use std::path::Path;

use ndzarr::codec::{CodecConfig, IndexLocation};
use ndzarr::{AnyArray, Array, CopyOptions, DataType, Format, codec, copy};
use serde_json::{Value, json};

use crate::folder_files::{json_of, put};

/// Of peers/cp-moves-the-shard-index: one shard with the index in front, without a checksum.
fn shard(root: &Path, index_codecs: &Value) {
    let document = json!({"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "sharding_indexed",
        "configuration": {"chunk_shape": [2], "codecs": [{"name": "bytes"}], "index_codecs": index_codecs,
        "index_location": "start"}}]});
    put(root, "a/zarr.json", document.to_string());
    put(
        root,
        "a/c/0",
        b"\x10\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x01\x02",
    );
}

fn sharding(root: &Path, name: &str) -> Value {
    json_of(root, &format!("{name}/zarr.json"))["codecs"][0]["configuration"].clone()
}

#[test]
fn the_index_of_shards_stays_where_it_is() {
    let root = tempfile::tempdir().expect("a folder");
    let codecs = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    shard(root.path(), &codecs);
    let copied = |name: &str, options: CopyOptions| {
        let report = copy((root.path(), "a"), (root.path(), name), &options).expect("copied");
        let elements = Array::<u8>::open((root.path(), name))
            .expect("opens")
            .read(..)
            .expect("elements");
        assert_eq!(elements, ndarray::array![1, 2].into_dyn());
        (sharding(root.path(), name), report.nodes[0].notes.clone())
    };
    for (name, options) in [
        ("same", CopyOptions::new()),
        ("again", CopyOptions::new().codecs([codec::gzip(5)])),
        ("finer", CopyOptions::new().chunks([1])),
        (
            "typed",
            CopyOptions::new()
                .data_type(DataType::UInt { bits: 8 })
                .offset(0.0)
                .scale(1.0),
        ),
    ] {
        let (sharding, notes) = copied(name, options);
        assert_eq!(
            (&sharding["index_location"], &sharding["index_codecs"]),
            (&json!("start"), &codecs),
            "{name}"
        );
        assert_eq!(notes, [""; 0], "{name}");
    }
    // Where the index is put is part of the value.
    let again = fs::read(root.path().join("finer/c/0")).expect("a shard");
    assert_eq!(again[..8], 32_u64.to_le_bytes());
    let (sharding, _) = copied(
        "moved",
        CopyOptions::new().index_location(IndexLocation::End),
    );
    assert_eq!(
        (&sharding["index_location"], &sharding["index_codecs"]),
        (&json!("end"), &codecs)
    );
    assert_eq!(
        fs::read(root.path().join("moved/c/0")).expect("a shard")[..2],
        [1, 2]
    );
    let (_, notes) = copied("plain", CopyOptions::new().no_shards());
    assert_eq!(notes, [""; 0]);
    let nowhere = CopyOptions::new()
        .no_shards()
        .index_location(IndexLocation::End);
    let error = copy((root.path(), "a"), (root.path(), "none"), &nowhere)
        .expect_err("no index")
        .to_string();
    assert!(error.contains("index"), "{error}");
}

#[test]
fn numbers_stay_in_big_endian() {
    let root = tempfile::tempdir().expect("a folder");
    let elements: Vec<u8> = [1_u16, 2, 3, 4]
        .iter()
        .flat_map(|n| n.to_be_bytes())
        .collect();
    put(
        root.path(),
        "two/.zarray",
        r#"{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": ">u2", "compressor": null,
        "filters": null, "order": "C", "fill_value": 0}"#,
    );
    put(root.path(), "two/0", &elements);
    put(
        root.path(),
        "three/zarr.json",
        r#"{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]}"#,
    );
    put(root.path(), "three/c/0", &elements);
    for from in ["two", "three"] {
        for (name, options) in [
            ("finer", CopyOptions::new().chunks([2])),
            ("coded", CopyOptions::new().codecs([codec::gzip(1)])),
            (
                "shards",
                CopyOptions::new()
                    .format(Format::Zarr3)
                    .chunks([2])
                    .shards([4]),
            ),
            (
                "other",
                CopyOptions::new().format(Format::Zarr3).chunks([2]),
            ),
        ] {
            let name = format!("{from}-{name}");
            copy((root.path(), from), (root.path(), &*name), &options).expect("copied");
            let array = AnyArray::open((root.path(), &*name)).expect("opens");
            let spec = array.spec();
            let inner = spec.inner_chunks().pop();
            let codecs = inner
                .as_ref()
                .map_or(&spec.codecs[..], |(_, codecs)| codecs);
            let big = CodecConfig::Bytes {
                endian: Some(ndzarr::Endian::Big),
            };
            assert!(
                codecs.iter().any(|codec| codec.config == big),
                "{name}: {codecs:?}"
            );
            let again = Array::<u16>::open((root.path(), &*name)).expect("opens");
            assert_eq!(
                again.read(..).expect("elements"),
                ndarray::array![1, 2, 3, 4].into_dyn(),
                "{name}"
            );
        }
    }
}

/// peers/nczarr-char-becomes-string: `>S1` is a character, `|S1` a string of one byte.
#[test]
fn the_text_of_a_type_stays() {
    for (dtype, elements) in [
        (json!(">S1"), &b"abc"[..]),
        (json!("|S1"), b"abc"),
        (json!("<u1"), b"abc"),
        (json!([["c", ">S1"]]), b"abc"),
        (json!(">u2"), b"\0\x01\0\x02\0\x03"),
    ] {
        let root = tempfile::tempdir().expect("a folder");
        let document = json!({"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": dtype, "compressor": null,
            "fill_value": null, "order": "C", "filters": null});
        put(root.path(), "a/.zarray", document.to_string());
        put(root.path(), "a/0", elements);
        for (name, options) in [
            ("b", CopyOptions::new()),
            ("c", CopyOptions::new().codecs([codec::gzip(1)])),
        ] {
            copy((root.path(), "a"), (root.path(), name), &options).expect("copied");
            assert_eq!(
                json_of(root.path(), &format!("{name}/.zarray"))["dtype"],
                dtype,
                "{name}"
            );
        }
    }
}
