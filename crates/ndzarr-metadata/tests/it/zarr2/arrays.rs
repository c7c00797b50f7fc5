//! Zarr v2: the members of an array document.

use ndzarr_metadata::OpenOptions;
use ndzarr_model::{CodecCheck, CodecConfig, DataType, Endian, KeyEncoding};

use crate::it::store::{Store, with};
use crate::it::zarr2::{ARRAY, fails, opens};

#[test]
fn v2_020_a_plain_array() {
    let spec = opens(&[]);
    assert_eq!(spec.shape, [4]);
    assert_eq!(spec.unit_shape, [2]);
    assert_eq!(spec.data_type, DataType::UInt { bits: 16 });
    assert_eq!(spec.fill_value.bytes(), 7u16.to_ne_bytes());
    assert!(spec.fill_value.is_defined());
    assert_eq!(
        spec.codecs[..],
        [CodecConfig::Bytes {
            endian: Some(Endian::Little)
        }
        .into()]
    );
    assert_eq!(spec.codec_check, CodecCheck::AtAccess);
    assert_eq!(spec.keys.key(&[1]), "1");
    assert_eq!(spec.dimension_names, None);
}

#[test]
fn v2_t01_scalar() {
    let spec = opens(&[("shape", "[]"), ("chunks", "[]"), ("dtype", "\"<i4\"")]);
    assert_eq!(spec.keys.key(&[]), "0");
}

#[test]
fn v2_t02_root_keys() {
    let store = Store::new(&[(".zarray", ARRAY), ("a/b/c/.zarray", ARRAY)]);
    assert_eq!(store.open("/").expect("root").documents[0].0, ".zarray");
    let node = store.open("a//b\\c/").expect("normalised");
    assert_eq!(node.documents[0].0, "a/b/c/.zarray");
    assert_eq!(
        node.kind.array().map(|spec| spec.keys.key(&[1])).as_deref(),
        Some("a/b/c/1")
    );
    assert!(store.open("a/../b").is_err());
}

#[test]
fn v2_t03_order_f_is_a_reversal() {
    for (shape, order, expected) in [
        ("[2,3]", "\"F\"", Some(vec![1, 0])),
        ("[2,3]", "\"C\"", None),
        ("[4]", "\"F\"", None),
        ("[]", "\"F\"", None),
    ] {
        let spec = opens(&[
            ("shape", shape),
            ("chunks", shape),
            ("order", order),
            ("dtype", "\">u2\""),
        ]);
        let mut codecs: Vec<_> = expected
            .into_iter()
            .map(|order| CodecConfig::Transpose { order }.into())
            .collect();
        codecs.push(
            CodecConfig::Bytes {
                endian: Some(Endian::Big),
            }
            .into(),
        );
        assert_eq!(spec.codecs[..], codecs, "{shape} {order}");
    }
    fails(&[("order", "\"A\"")], "order");
}

#[test]
fn v2_t06_separator() {
    let keys = |members: &[(&str, &str)]| {
        opens(&[&[("shape", "[3,3]"), ("chunks", "[1,1]")], members].concat())
            .keys
            .key(&[0, 1])
    };
    assert_eq!(keys(&[("dimension_separator", "\"/\"")]), "0/1");
    assert_eq!(keys(&[("dimension_separator", "\".\"")]), "0.1");
    assert_eq!(keys(&[]), "0.1");
    for bad in ["\"-\"", "\"\"", "1"] {
        fails(&[("dimension_separator", bad)], "dimension_separator");
    }
    // The caller knows better than the document.
    let options = OpenOptions {
        separator: Some('/'),
        ..OpenOptions::default()
    };
    for text in [
        ARRAY.to_owned(),
        with(ARRAY, &[("dimension_separator", "\".\"")]),
    ] {
        let node = Store::new(&[(".zarray", &text)])
            .open_with("", &options)
            .expect("opens");
        let encoding = node.kind.array().map(|spec| spec.keys.encoding);
        assert_eq!(encoding, Some(KeyEncoding::V2 { separator: '/' }));
    }
}

#[test]
fn v2_t07_missing_and_empty_members() {
    assert_eq!(opens(&[("filters", "[]")]).codecs.len(), 1);
    assert_eq!(opens(&[("filters", "")]).codecs.len(), 1);
    assert_eq!(opens(&[("compressor", "")]).codecs.len(), 1);
    for name in ["order", "shape", "chunks", "dtype", "zarr_format"] {
        fails(&[(name, "")], name);
    }
    fails(&[("filters", "{}")], "filters");
    fails(&[("compressor", "[]")], "compressor");
    fails(&[("compressor", "{}")], "id");
    fails(&[("filters", "[{\"id\":1}]")], "filters[0]");
}

#[test]
fn v2_t08_unknown_members() {
    opens(&[
        ("node_type", "\"array\""),
        ("attributes", "{}"),
        ("foo", "1"),
    ]);
}

#[test]
fn v2_t09_format() {
    for bad in ["\"2\"", "2.0", "3", "1", "null"] {
        fails(&[("zarr_format", bad)], "zarr_format");
    }
}

#[test]
fn v2_t10_chunks() {
    fails(&[("chunks", "[2,2]")], "[2, 2]");
    fails(&[("chunks", "[0]")], "[0]");
    let spec = opens(&[("shape", "[0]"), ("chunks", "[0]")]);
    assert_eq!((spec.shape, spec.unit_shape), (vec![0], vec![0]));
    for bad in [
        "[-1]",
        "[2.0]",
        "[18446744073709551616]",
        "2",
        "[\"2\"]",
        "null",
        "[true]",
    ] {
        fails(&[("chunks", bad)], "chunks");
        fails(&[("shape", bad)], "shape");
    }
}

#[test]
fn v2_086_sizes_that_overflow() {
    fails(
        &[
            ("shape", "[18446744073709551615]"),
            ("chunks", "[9223372036854775807]"),
        ],
        "too large",
    );
    fails(
        &[("shape", "[1,1]"), ("chunks", "[18446744073709551615,2]")],
        "too large",
    );
    fails(
        &[("shape", "[0,1]"), ("chunks", "[0,18446744073709551615]")],
        "too large",
    );
    fails(
        &[
            ("dtype", "\"|V9223372036854775807\""),
            ("fill_value", "null"),
        ],
        "dtype",
    );
    // V2-T59: the array itself may be of any size.
    let spec = opens(&[
        ("shape", "[18446744073709551615,18446744073709551615]"),
        ("chunks", "[1,1]"),
    ]);
    assert_eq!(spec.shape, [u64::MAX, u64::MAX]);
}
