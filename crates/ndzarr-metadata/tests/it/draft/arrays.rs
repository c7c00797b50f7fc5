//! The draft: arrays of both dialects, their codecs, chunk keys, members and grids.

use ndzarr_metadata::{Format, OpenOptions, UnknownType};
use ndzarr_model::{CodecConfig, DataType, Endian, FillValue, KeyEncoding};

use crate::it::draft::{ARRAY_A, ARRAY_B, array_a, array_b, configs, refused, store_a, store_b};
use crate::it::store::with;

#[test]
fn d3_t01_dialect_a_with_an_endian_codec() {
    let store = store_a(&[("meta/foo/baz.array.json", ARRAY_A)]);
    let node = store.open("foo/baz").expect("opens");
    assert_eq!(node.format, Format::DraftA);
    let spec = node.kind.array().expect("an array");
    assert_eq!(
        (&spec.shape[..], &spec.unit_shape[..]),
        (&[4][..], &[2][..])
    );
    assert_eq!(spec.data_type, DataType::UInt { bits: 16 });
    assert_eq!(spec.fill_value, FillValue::defined(7u16.to_ne_bytes()));
    assert_eq!(
        configs(spec),
        [CodecConfig::Bytes {
            endian: Some(Endian::Big)
        }]
    );
    assert_eq!(spec.keys.key(&[0]), "data/foo/baz/c0");
    let little = array_a(&with(ARRAY_A, &[("codecs", "")])).expect("opens");
    assert_eq!(
        configs(&little),
        [CodecConfig::Bytes {
            endian: Some(Endian::Little)
        }]
    );
}

#[test]
fn d3_t02_gzip_behind_endian() {
    let gzip = |uri: &str, level: &str| {
        let endian = r#"{"type":"https://purl.org/zarr/spec/codecs/endian/1.0","configuration":{"endian":"big"}}"#;
        (
            endian,
            format!(r#"{{"type":"{uri}","configuration":{{{level}}}}}"#),
        )
    };
    let open = |list: String| array_a(&with(ARRAY_A, &[("codecs", &list)]));
    for uri in [
        "https://purl.org/zarr/spec/codecs/gzip/1.0",
        "https://purl.org/zarr/spec/codec/gzip",
        "http://purl.org/zarr/spec/codec/gzip/1.7",
    ] {
        let (endian, gzip) = gzip(uri, r#""level":1"#);
        let spec = open(format!("[{endian},{gzip}]")).expect(uri);
        let expected = [
            CodecConfig::Bytes {
                endian: Some(Endian::Big),
            },
            CodecConfig::Gzip { level: 1 },
        ];
        assert_eq!(configs(&spec), expected);
        refused(
            open(format!("[{gzip},{endian}]")),
            &["meta/a.array.json", "codecs[1]", "endian"],
        );
        let alone = open(format!("[{gzip}]")).expect("little endian without saying");
        assert_eq!(
            alone.codecs[0].config,
            CodecConfig::Bytes {
                endian: Some(Endian::Little)
            }
        );
    }
    let uri = "https://purl.org/zarr/spec/codecs/gzip/1.0";
    for level in [
        "",
        r#""level":10"#,
        r#""level":-1"#,
        r#""level":"1""#,
        r#""level":1,"x":2"#,
    ] {
        let (_, gzip) = gzip(uri, level);
        refused(
            open(format!("[{gzip}]")),
            &["meta/a.array.json", "codecs[0]"],
        );
    }
    let (_, later) = gzip("https://purl.org/zarr/spec/codecs/gzip/2.0", r#""level":1"#);
    refused(open(format!("[{later}]")), &["codec", "gzip/2.0"]);
    let (_, unknown) = gzip("https://purl.org/zarr/spec/codecs/brotli/1.0", "");
    refused(
        open(format!("[{unknown}]")),
        &["https://purl.org/zarr/spec/codecs/brotli/1.0"],
    );
}

#[test]
fn d3_t03_dialect_b_with_a_filter() {
    let store = store_b(&[("meta/root/b.array.json", ARRAY_B)]);
    let node = store.open("b").expect("opens");
    assert_eq!(node.format, Format::DraftB);
    assert!(
        node.attributes.is_empty(),
        "filters are no attribute of the user's"
    );
    let spec = node.kind.array().expect("an array");
    assert_eq!(
        spec.codecs[0].config,
        CodecConfig::Bytes {
            endian: Some(Endian::Big)
        }
    );
    let Some(codec) = spec.codecs.get(1).filter(|_| spec.codecs.len() == 2) else {
        panic!("{spec:?}")
    };
    assert!(
        format!("{codec:?}").to_lowercase().contains("delta"),
        "{codec:?}"
    );
    assert_eq!(spec.keys.key(&[1]), "data/root/b/c1");
    assert_eq!(spec.fill_value, FillValue::defined(5u16.to_ne_bytes()));
}

#[test]
fn d3_t09_t10_t11_chunk_keys() {
    let scalar = |document: &str| {
        with(
            document,
            &[
                ("shape", "[]"),
                (
                    "chunk_grid",
                    r#"{"type":"regular","chunk_shape":[],"separator":"/"}"#,
                ),
            ],
        )
    };
    let a = array_a(&scalar(ARRAY_A)).expect("0-d");
    assert_eq!(
        (a.keys.key(&[]), a.keys.fallback_key(&[])),
        ("data/a/c".to_owned(), None)
    );
    let b = array_b(&scalar(ARRAY_B)).expect("0-d");
    assert_eq!(b.keys.key(&[]), "data/root/a/c0");
    assert_eq!(
        b.keys.fallback_key(&[]).as_deref(),
        Some("data/root/a/c"),
        "as ZTA writes it"
    );
    let plane = [
        ("shape", "[4,4]"),
        (
            "chunk_grid",
            r#"{"type":"regular","chunk_shape":[2,2],"separator":"."}"#,
        ),
    ];
    assert_eq!(
        array_a(&with(ARRAY_A, &plane))
            .expect("2-d")
            .keys
            .key(&[0, 1]),
        "data/a/c0.1"
    );
    let default = [
        ("shape", "[4,4]"),
        ("chunk_grid", r#"{"type":"regular","chunk_shape":[2,2]}"#),
    ];
    assert_eq!(
        array_a(&with(ARRAY_A, &default))
            .expect("lenient")
            .keys
            .key(&[0, 0]),
        "data/a/c0/0"
    );
    let leftover = [
        (
            "chunk_grid",
            r#"{"type":"regular","chunk_shape":[2],"separator":"/"}"#,
        ),
        ("dimension_separator", "\".\""),
    ];
    let spec = array_b(&with(ARRAY_B, &leftover)).expect("opens");
    assert_eq!(
        spec.keys.encoding,
        KeyEncoding::Draft {
            separator: '/',
            scalar_index: true
        }
    );
    let bad = [(
        "chunk_grid",
        r#"{"type":"regular","chunk_shape":[2],"separator":"-"}"#,
    )];
    refused(array_a(&with(ARRAY_A, &bad)), &["separator"]);
}

#[test]
fn d3_t15_t16_dialect_a_has_no_unknown_members() {
    refused(
        array_a(&with(ARRAY_A, &[("dimension_names", "[\"x\"]")])),
        &["meta/a.array.json", "dimension_names"],
    );
    refused(
        array_a(&with(ARRAY_A, &[("compressor", "null")])),
        &["compressor"],
    );
    refused(
        array_a(&with(ARRAY_A, &[("codecs", r#"[{"name":"gzip"}]"#)])),
        &["codecs[0]", "name"],
    );
    refused(
        array_a(&with(ARRAY_A, &[("codecs", r#"["gzip"]"#)])),
        &["codecs[0]"],
    );
    refused(array_a(&with(ARRAY_A, &[("codecs", "{}")])), &["codecs"]);
    let grid = r#"{"type":"regular","chunk_shape":[2],"separator":"/","x":1}"#;
    refused(
        array_a(&with(ARRAY_A, &[("chunk_grid", grid)])),
        &["chunk_grid", "x"],
    );
    let raw = array_a(&with(
        ARRAY_A,
        &[("codecs", ""), ("extensions", ""), ("attributes", "")],
    ))
    .expect("lenient");
    assert_eq!(
        configs(&raw),
        [CodecConfig::Bytes {
            endian: Some(Endian::Little)
        }]
    );
    for name in [
        "shape",
        "data_type",
        "chunk_grid",
        "chunk_memory_layout",
        "fill_value",
    ] {
        refused(
            array_a(&with(ARRAY_A, &[(name, "")])),
            &["meta/a.array.json", name],
        );
    }
    assert!(array_b(&with(ARRAY_B, &[("dimension_names", "[\"x\"]")])).is_ok());
}

#[test]
fn d3_054_dialect_b_needs_these_members() {
    for name in [
        "shape",
        "data_type",
        "chunk_grid",
        "chunk_memory_layout",
        "fill_value",
    ] {
        refused(
            array_b(&with(ARRAY_B, &[(name, "")])),
            &["meta/root/a.array.json", name],
        );
    }
    assert!(array_b(&with(ARRAY_B, &[("attributes", ""), ("extensions", "")])).is_ok());
    refused(
        array_b(&with(ARRAY_B, &[("chunk_memory_layout", "\"A\"")])),
        &["chunk_memory_layout"],
    );
    let zero = r#"{"type":"regular","chunk_shape":[0],"separator":"/"}"#;
    refused(
        array_b(&with(ARRAY_B, &[("chunk_grid", zero)])),
        &["chunk shape"],
    );
    assert!(array_b(&with(ARRAY_B, &[("chunk_grid", zero), ("shape", "[0]")])).is_ok());
    let both = [
        (
            "compressor",
            r#"{"codec":"https://purl.org/zarr/spec/codec/gzip/1.0","configuration":{"level":1}}"#,
        ),
        ("codecs", "[]"),
    ];
    refused(array_b(&with(ARRAY_B, &both)), &["compressor", "codecs"]);
    assert!(array_b(&with(ARRAY_B, &[("compressor", "null")])).is_ok());
}

#[test]
fn d3_043_044_grids_and_layouts() {
    for (name, value) in [
        ("shape", "[-1]"),
        ("shape", "[4.0]"),
        ("shape", "4"),
        (
            "chunk_grid",
            r#"{"type":"regular","chunk_shape":[2,2],"separator":"/"}"#,
        ),
        (
            "chunk_grid",
            r#"{"type":"regular","chunk_shape":[0],"separator":"/"}"#,
        ),
        (
            "chunk_grid",
            r#"{"type":"irregular","chunk_shape":[2],"separator":"/"}"#,
        ),
        (
            "chunk_grid",
            r#"{"extension":"http://x/y","type":"regular","chunk_shape":[2],"separator":"/"}"#,
        ),
        (
            "chunk_grid",
            r#"{"type":"regular","chunk_shape":[9223372036854775807],"separator":"/"}"#,
        ),
        (
            "chunk_memory_layout",
            r#"{"extension":"http://x/y","type":"hilbert"}"#,
        ),
        ("chunk_memory_layout", "\"c\""),
    ] {
        refused(
            array_a(&with(ARRAY_A, &[(name, value)])),
            &["meta/a.array.json"],
        );
    }
}

#[test]
fn d3_t18_order_f_reverses_the_dimensions() {
    let plane = [
        ("shape", "[2,3]"),
        ("chunk_memory_layout", "\"F\""),
        (
            "chunk_grid",
            r#"{"type":"regular","chunk_shape":[2,3],"separator":"/"}"#,
        ),
    ];
    let a = array_a(&with(ARRAY_A, &plane)).expect("opens");
    assert_eq!(configs(&a)[0], CodecConfig::Transpose { order: vec![1, 0] });
    assert_eq!(
        configs(&a)[1],
        CodecConfig::Bytes {
            endian: Some(Endian::Big)
        }
    );
    let b = array_b(&with(ARRAY_B, &plane)).expect("opens");
    assert_eq!(configs(&b)[0], CodecConfig::Transpose { order: vec![1, 0] });
}

#[test]
fn d3_064_fallbacks_on_request() {
    let document = |fallback: &str| {
        let data_type = format!(r#"{{"extension":"http://x/y","type":"z"{fallback}}}"#);
        with(ARRAY_A, &[("data_type", &data_type)])
    };
    let use_it = OpenOptions {
        unknown_type: UnknownType::Fallback,
        ..OpenOptions::default()
    };
    let open = |fallback: &str, options: &OpenOptions| {
        store_a(&[("meta/a.array.json", &document(fallback))]).open_with("a", options)
    };
    for fallback in [
        r#","fallback":"<u2""#,
        r#","fallback":["float9","uint16","uint8"]"#,
    ] {
        let node = open(fallback, &use_it).expect("opens");
        let spec = node.kind.array().expect("an array");
        assert_eq!(spec.data_type, DataType::UInt { bits: 16 });
        assert_eq!(
            spec.codecs[0].config,
            CodecConfig::Bytes {
                endian: Some(Endian::Big)
            }
        );
        assert!(spec.codecs[0].unwritable.is_some(), "to be read alone");
        assert!(
            node.warnings[0].contains("http://x/y") && node.warnings[0].contains("uint16"),
            "{:?}",
            node.warnings
        );
        refused(
            open(fallback, &OpenOptions::default()),
            &["unsupported data type", "http://x/y"],
        );
    }
    for fallback in [
        "",
        r#","fallback":null"#,
        r#","fallback":"float9""#,
        r#","fallback":[]"#,
        r#","fallback":{}"#,
    ] {
        refused(
            open(fallback, &use_it),
            &["unsupported data type", "http://x/y"],
        );
    }
}
