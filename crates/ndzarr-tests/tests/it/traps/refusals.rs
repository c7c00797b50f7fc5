//! Unsupported features and requests that cannot be expressed.

use ndzarr::{
    AnyArray, ArrayRequest, CodecRequest, DataType, Endian, ErrorKind, FillRequest, Format,
    MemoryStore,
};
use serde_json::{Value, json};

use super::store::*;

/// An error while opening names the unsupported feature, for types and codecs alike.
#[test]
fn unsupported_types_and_codecs_are_named() {
    let named = |document: Value, key: &str, name: &str| {
        let error = AnyArray::open(store(&[(key, document)], &[]))
            .and_then(|a| a.read_bytes(&[0..1]))
            .expect_err(name);
        assert!(error.to_string().contains(name), "{error} names {name}");
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
    };
    named(
        v3(json!([2]), json!([2]), "quaternion", json!(""), json!({})),
        "zarr.json",
        "quaternion",
    );
    named(
        v3(
            json!([2]),
            json!([2]),
            "uint8",
            json!(0),
            json!({"codecs": ["bytes", "brotli"]}),
        ),
        "zarr.json",
        "brotli",
    );
    named(
        v2(json!([2]), json!([2]), "<f16", json!(0), json!({})),
        ".zarray",
        "f16",
    );
    named(
        v2(
            json!([2]),
            json!([2]),
            "<u2",
            json!(0),
            json!({"filters": [{"id": "brotli"}]}),
        ),
        ".zarray",
        "brotli",
    );
    #[cfg(not(feature = "zfp"))]
    named(
        v2(
            json!([2]),
            json!([2]),
            "<f4",
            json!(0),
            json!({"compressor": {"id": "zfpy", "mode": 5}}),
        ),
        ".zarray",
        "enable the feature \"zfp\"",
    );
}

/// A request that a format cannot express is refused before anything is written.
#[test]
fn what_a_format_cannot_express_is_refused() {
    for (format, request) in [
        (Format::Zarr2, |r: &mut ArrayRequest| {
            r.shard_shape = Some(vec![4])
        }),
        (Format::N5, |r: &mut ArrayRequest| {
            r.fill_value = FillRequest::Json(json!(1))
        }),
        (Format::N5, |r: &mut ArrayRequest| {
            r.endian = Some(Endian::Little)
        }),
        (Format::Zarr3, |r: &mut ArrayRequest| {
            r.fill_value = FillRequest::Undefined
        }),
        (Format::Zarr3, |r: &mut ArrayRequest| {
            r.shard_shape = Some(vec![3])
        }),
        (Format::Zarr3, |r: &mut ArrayRequest| {
            r.codecs = CodecRequest::Json(json!([{"name": "bytes"}, {"name": "bytes"}]))
        }),
        (Format::DraftA, |r: &mut ArrayRequest| {
            r.dimension_names = Some(vec![Some("x".into())])
        }),
    ] as [(Format, fn(&mut ArrayRequest)); 7]
    {
        let store = MemoryStore::new();
        let mut wanted = ArrayRequest::new(vec![8], vec![2], DataType::UInt { bits: 16 });
        request(&mut wanted);
        let error = AnyArray::builder(&wanted.shape)
            .request(wanted.clone())
            .format(format)
            .create((&store, "a"))
            .expect_err("no such form");
        assert_eq!(
            (error.kind(), error.key()),
            (ErrorKind::InvalidArgument, None),
            "{error:?}"
        );
        assert!(store.keys().is_empty(), "{format}: {:?}", store.keys());
    }
}
