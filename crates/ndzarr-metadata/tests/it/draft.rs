//! The draft: entry point, keys, hierarchy, documents.

use ndzarr_metadata::{Format, MetadataError, NodePath, OpenOptions, UnknownType};
use ndzarr_model::{
    ArraySpec, CodecConfig, DataType, Endian, FillValue, IndexLocation, KeyEncoding, PayloadBounds,
};

use crate::it::store::{Store, with};

pub(crate) const ENTRY_A: &str = r#"{"zarr_format":"https://purl.org/zarr/spec/core/3.0",
    "metadata_encoding":{"type":"json","metadata_key_suffix":".json"},"extensions":[]}"#;
pub(crate) const ENTRY_B: &str = r#"{"extensions":[],"metadata_encoding":"https://purl.org/zarr/spec/protocol/core/3.0",
    "metadata_key_suffix":".json","zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0"}"#;

/// D3-T01.
pub(crate) const ARRAY_A: &str = r#"{"shape":[4],"data_type":"uint16","chunk_grid":{"type":"regular","chunk_shape":[2],"separator":"/"},"chunk_memory_layout":"C","codecs":[{"type":"https://purl.org/zarr/spec/codecs/endian/1.0","configuration":{"endian":"big"}}],"fill_value":7,"extensions":[],"attributes":{}}"#;

/// D3-T03.
pub(crate) const ARRAY_B: &str = r#"{"attributes":{"filters":[{"astype":">u2","dtype":">u2","id":"delta"}]},"chunk_grid":{"chunk_shape":[2],"separator":".","type":"regular"},"chunk_memory_layout":"F","data_type":">u2","extensions":[],"fill_value":5,"shape":[4]}"#;

pub(crate) fn store_a(more: &[(&str, &str)]) -> Store {
    let documents: Vec<(&str, &str)> =
        [("zarr.json", ENTRY_A)].into_iter().chain(more.iter().copied()).collect();
    Store::new(&documents)
}

pub(crate) fn store_b(more: &[(&str, &str)]) -> Store {
    let documents: Vec<(&str, &str)> =
        [("zarr.json", ENTRY_B)].into_iter().chain(more.iter().copied()).collect();
    Store::new(&documents)
}

/// The array `a` with this document in dialect A.
pub(crate) fn array_a(document: &str) -> Result<ArraySpec, MetadataError> {
    let node = store_a(&[("meta/a.array.json", document)]).open("a")?;
    Ok(node.kind.array().expect("an array").clone())
}

pub(crate) fn array_b(document: &str) -> Result<ArraySpec, MetadataError> {
    let node = store_b(&[("meta/root/a.array.json", document)]).open("a")?;
    Ok(node.kind.array().expect("an array").clone())
}

pub(crate) fn configs(spec: &ArraySpec) -> Vec<CodecConfig> {
    spec.codecs.iter().map(|codec| codec.config.clone()).collect()
}

/// The message of an error, which has to name the document and all of `parts`.
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, MetadataError>, parts: &[&str]) {
    let text = result.expect_err("has to be refused").to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}

#[test]
fn d3_t01_dialect_a_with_an_endian_codec() {
    let store = store_a(&[("meta/foo/baz.array.json", ARRAY_A)]);
    let node = store.open("foo/baz").expect("opens");
    assert_eq!(node.format, Format::DraftA);
    let spec = node.kind.array().expect("an array");
    assert_eq!((&spec.shape[..], &spec.unit_shape[..]), (&[4][..], &[2][..]));
    assert_eq!(spec.data_type, DataType::UInt { bits: 16 });
    assert_eq!(spec.fill_value, FillValue::defined(7u16.to_ne_bytes()));
    assert_eq!(configs(spec), [CodecConfig::Bytes { endian: Some(Endian::Big) }]);
    assert_eq!(spec.keys.key(&[0]), "data/foo/baz/c0");
    let little = array_a(&with(ARRAY_A, &[("codecs", "")])).expect("opens");
    assert_eq!(configs(&little), [CodecConfig::Bytes { endian: Some(Endian::Little) }]);
}

#[test]
fn d3_t02_gzip_behind_endian() {
    let gzip = |uri: &str, level: &str| {
        let endian =
            r#"{"type":"https://purl.org/zarr/spec/codecs/endian/1.0","configuration":{"endian":"big"}}"#;
        (endian, format!(r#"{{"type":"{uri}","configuration":{{{level}}}}}"#))
    };
    let open = |list: String| array_a(&with(ARRAY_A, &[("codecs", &list)]));
    for uri in [
        "https://purl.org/zarr/spec/codecs/gzip/1.0",
        "https://purl.org/zarr/spec/codec/gzip",
        "http://purl.org/zarr/spec/codec/gzip/1.7",
    ] {
        let (endian, gzip) = gzip(uri, r#""level":1"#);
        let spec = open(format!("[{endian},{gzip}]")).expect(uri);
        let expected = [CodecConfig::Bytes { endian: Some(Endian::Big) }, CodecConfig::Gzip { level: 1 }];
        assert_eq!(configs(&spec), expected);
        refused(open(format!("[{gzip},{endian}]")), &["meta/a.array.json", "codecs[1]", "endian"]);
        let alone = open(format!("[{gzip}]")).expect("little endian without saying");
        assert_eq!(alone.codecs[0].config, CodecConfig::Bytes { endian: Some(Endian::Little) });
    }
    let uri = "https://purl.org/zarr/spec/codecs/gzip/1.0";
    for level in ["", r#""level":10"#, r#""level":-1"#, r#""level":"1""#, r#""level":1,"x":2"#] {
        let (_, gzip) = gzip(uri, level);
        refused(open(format!("[{gzip}]")), &["meta/a.array.json", "codecs[0]"]);
    }
    let (_, later) = gzip("https://purl.org/zarr/spec/codecs/gzip/2.0", r#""level":1"#);
    refused(open(format!("[{later}]")), &["codec", "gzip/2.0"]);
    let (_, unknown) = gzip("https://purl.org/zarr/spec/codecs/brotli/1.0", "");
    refused(open(format!("[{unknown}]")), &["https://purl.org/zarr/spec/codecs/brotli/1.0"]);
}

#[test]
fn d3_t03_dialect_b_with_a_filter() {
    let store = store_b(&[("meta/root/b.array.json", ARRAY_B)]);
    let node = store.open("b").expect("opens");
    assert_eq!(node.format, Format::DraftB);
    assert!(node.attributes.is_empty(), "filters are no attribute of the user's");
    let spec = node.kind.array().expect("an array");
    assert_eq!(spec.codecs[0].config, CodecConfig::Bytes { endian: Some(Endian::Big) });
    let Some(codec) = spec.codecs.get(1).filter(|_| spec.codecs.len() == 2) else { panic!("{spec:?}") };
    assert!(format!("{codec:?}").to_lowercase().contains("delta"), "{codec:?}");
    assert_eq!(spec.keys.key(&[1]), "data/root/b/c1");
    assert_eq!(spec.fill_value, FillValue::defined(5u16.to_ne_bytes()));
}

#[test]
fn d3_t04_what_is_a_draft() {
    let group = Store::new(&[("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#)]);
    assert_eq!(group.open("").expect("the final v3").format, Format::Zarr3);
    assert!(matches!(group.open("meta"), Err(MetadataError::NotFound { .. })));
    for format in [
        "3",
        "https://purl.org/zarr/spec/core/4.0",
        "https://purl.org/zarr/spec/core/3",
        "",
        "https://purl.org/zarr/spec/core/3.x",
        "https://purl.org/zarr/other/3.0",
        "ftp://purl.org/zarr/spec/core/3.0",
    ] {
        let text = with(ENTRY_A, &[("zarr_format", &format!("{format:?}"))]);
        let store = Store::new(&[("zarr.json", &text), ("meta/a.array.json", ARRAY_A)]);
        refused(store.open(""), &["zarr.json", "zarr_format", format]);
        refused(store.open("a"), &["zarr.json", "zarr_format", format]);
    }
    let with_extra = |version: &str| {
        let uri = format!("\"https://purl.org/zarr/spec/core/{version}\"");
        let text = with(ENTRY_A, &[("zarr_format", &uri), ("extra", "1")]);
        Store::new(&[("zarr.json", &text)]).open("").map(|node| node.format)
    };
    assert_eq!(with_extra("3.1").expect("a later minor version"), Format::DraftA);
    refused(with_extra("3.0"), &["zarr.json", "extra"]);
    let http = with(ENTRY_A, &[("zarr_format", r#""http://purl.org/zarr/spec/core/3.0""#)]);
    assert_eq!(Store::new(&[("zarr.json", &http)]).open("").expect("opens").format, Format::DraftA);
}

#[test]
fn d3_005_entry_points_are_of_one_dialect() {
    for (entry, members) in [
        (ENTRY_A, [("metadata_key_suffix", "\".json\"")]),
        (ENTRY_A, [("metadata_encoding", "\"https://purl.org/zarr/spec/protocol/core/3.0\"")]),
        (ENTRY_A, [("metadata_encoding", "")]),
        (ENTRY_A, [("extensions", "")]),
        (ENTRY_B, [("metadata_key_suffix", "")]),
        (ENTRY_B, [("metadata_encoding", r#"{"type":"json","metadata_key_suffix":".json"}"#)]),
        (ENTRY_B, [("extensions", "")]),
        (ENTRY_B, [("extra", "1")]),
        (ENTRY_B, [("metadata_key_suffix", "\"/x\"")]),
        (ENTRY_B, [("metadata_key_suffix", "\"\"")]),
    ] {
        let text = with(entry, &members);
        refused(Store::new(&[("zarr.json", &text)]).open(""), &["zarr.json", members[0].0]);
    }
}

#[test]
fn d3_t09_t10_t11_chunk_keys() {
    let scalar = |document: &str| {
        with(
            document,
            &[("shape", "[]"), ("chunk_grid", r#"{"type":"regular","chunk_shape":[],"separator":"/"}"#)],
        )
    };
    let a = array_a(&scalar(ARRAY_A)).expect("0-d");
    assert_eq!((a.keys.key(&[]), a.keys.fallback_key(&[])), ("data/a/c".to_owned(), None));
    let b = array_b(&scalar(ARRAY_B)).expect("0-d");
    assert_eq!(b.keys.key(&[]), "data/root/a/c0");
    assert_eq!(b.keys.fallback_key(&[]).as_deref(), Some("data/root/a/c"), "as ZTA writes it");
    let plane =
        [("shape", "[4,4]"), ("chunk_grid", r#"{"type":"regular","chunk_shape":[2,2],"separator":"."}"#)];
    assert_eq!(array_a(&with(ARRAY_A, &plane)).expect("2-d").keys.key(&[0, 1]), "data/a/c0.1");
    let default = [("shape", "[4,4]"), ("chunk_grid", r#"{"type":"regular","chunk_shape":[2,2]}"#)];
    assert_eq!(array_a(&with(ARRAY_A, &default)).expect("lenient").keys.key(&[0, 0]), "data/a/c0/0");
    let leftover = [
        ("chunk_grid", r#"{"type":"regular","chunk_shape":[2],"separator":"/"}"#),
        ("dimension_separator", "\".\""),
    ];
    let spec = array_b(&with(ARRAY_B, &leftover)).expect("opens");
    assert_eq!(spec.keys.encoding, KeyEncoding::Draft { separator: '/', scalar_index: true });
    let bad = [("chunk_grid", r#"{"type":"regular","chunk_shape":[2],"separator":"-"}"#)];
    refused(array_a(&with(ARRAY_A, &bad)), &["separator"]);
}

#[test]
fn d3_t15_t16_dialect_a_has_no_unknown_members() {
    refused(
        array_a(&with(ARRAY_A, &[("dimension_names", "[\"x\"]")])),
        &["meta/a.array.json", "dimension_names"],
    );
    refused(array_a(&with(ARRAY_A, &[("compressor", "null")])), &["compressor"]);
    refused(array_a(&with(ARRAY_A, &[("codecs", r#"[{"name":"gzip"}]"#)])), &["codecs[0]", "name"]);
    refused(array_a(&with(ARRAY_A, &[("codecs", r#"["gzip"]"#)])), &["codecs[0]"]);
    refused(array_a(&with(ARRAY_A, &[("codecs", "{}")])), &["codecs"]);
    let grid = r#"{"type":"regular","chunk_shape":[2],"separator":"/","x":1}"#;
    refused(array_a(&with(ARRAY_A, &[("chunk_grid", grid)])), &["chunk_grid", "x"]);
    let raw =
        array_a(&with(ARRAY_A, &[("codecs", ""), ("extensions", ""), ("attributes", "")])).expect("lenient");
    assert_eq!(configs(&raw), [CodecConfig::Bytes { endian: Some(Endian::Little) }]);
    for name in ["shape", "data_type", "chunk_grid", "chunk_memory_layout", "fill_value"] {
        refused(array_a(&with(ARRAY_A, &[(name, "")])), &["meta/a.array.json", name]);
    }
    assert!(array_b(&with(ARRAY_B, &[("dimension_names", "[\"x\"]")])).is_ok());
}

#[test]
fn d3_054_dialect_b_needs_these_members() {
    for name in ["shape", "data_type", "chunk_grid", "chunk_memory_layout", "fill_value"] {
        refused(array_b(&with(ARRAY_B, &[(name, "")])), &["meta/root/a.array.json", name]);
    }
    assert!(array_b(&with(ARRAY_B, &[("attributes", ""), ("extensions", "")])).is_ok());
    refused(array_b(&with(ARRAY_B, &[("chunk_memory_layout", "\"A\"")])), &["chunk_memory_layout"]);
    let zero = r#"{"type":"regular","chunk_shape":[0],"separator":"/"}"#;
    refused(array_b(&with(ARRAY_B, &[("chunk_grid", zero)])), &["chunk shape"]);
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
        ("chunk_grid", r#"{"type":"regular","chunk_shape":[2,2],"separator":"/"}"#),
        ("chunk_grid", r#"{"type":"regular","chunk_shape":[0],"separator":"/"}"#),
        ("chunk_grid", r#"{"type":"irregular","chunk_shape":[2],"separator":"/"}"#),
        ("chunk_grid", r#"{"extension":"http://x/y","type":"regular","chunk_shape":[2],"separator":"/"}"#),
        ("chunk_grid", r#"{"type":"regular","chunk_shape":[9223372036854775807],"separator":"/"}"#),
        ("chunk_memory_layout", r#"{"extension":"http://x/y","type":"hilbert"}"#),
        ("chunk_memory_layout", "\"c\""),
    ] {
        refused(array_a(&with(ARRAY_A, &[(name, value)])), &["meta/a.array.json"]);
    }
}

#[test]
fn d3_t18_order_f_reverses_the_dimensions() {
    let plane = [
        ("shape", "[2,3]"),
        ("chunk_memory_layout", "\"F\""),
        ("chunk_grid", r#"{"type":"regular","chunk_shape":[2,3],"separator":"/"}"#),
    ];
    let a = array_a(&with(ARRAY_A, &plane)).expect("opens");
    assert_eq!(configs(&a)[0], CodecConfig::Transpose { order: vec![1, 0] });
    assert_eq!(configs(&a)[1], CodecConfig::Bytes { endian: Some(Endian::Big) });
    let b = array_b(&with(ARRAY_B, &plane)).expect("opens");
    assert_eq!(configs(&b)[0], CodecConfig::Transpose { order: vec![1, 0] });
}

#[test]
fn d3_t19_sharding() {
    let sharded = |uri: &str, counts: &str| {
        let list = format!(
            r#"[{{"extension":"{uri}","type":"indexed","configuration":{{"chunks_per_shard":{counts}}}}}]"#
        );
        [("shape".to_owned(), "[6]".to_owned()), ("storage_transformers".to_owned(), list)]
    };
    let document = |base: &str, members: &[(String, String)]| {
        let members: Vec<(&str, &str)> = members.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        with(base, &members)
    };
    for uri in [
        "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0",
        "https://purl.org/zarr/spec/extensions/storage_transformers/sharding/1.0",
        "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
    ] {
        for (base, open) in [(ARRAY_A, array_a as fn(&str) -> _), (ARRAY_B, array_b)] {
            let spec = open(&document(base, &sharded(uri, "[2]"))).expect(uri);
            assert_eq!(spec.unit_shape, [4]);
            let [CodecConfig::Sharding(sharding)] = &configs(&spec)[..] else { panic!("{spec:?}") };
            assert_eq!(sharding.chunk_shape, [2]);
            assert_eq!(sharding.codecs[0].config, CodecConfig::Bytes { endian: Some(Endian::Big) });
            let index = vec![CodecConfig::Bytes { endian: Some(Endian::Little) }.into()];
            assert_eq!(sharding.index_codecs, index, "D3-T20: no checksum");
            assert_eq!(sharding.index_location, IndexLocation::End);
            assert_eq!(sharding.payload, PayloadBounds::BeforeIndex, "D3-107, D3-T43");
        }
    }
    let uri = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0";
    for counts in ["[]", "[2,2]", "[0]", "2", "[-1]", "[9223372036854775807]", "[1152921504606846976]"] {
        refused(array_a(&document(ARRAY_A, &sharded(uri, counts))), &["meta/a.array.json"]);
    }
    let scalar = r#"{"type":"regular","chunk_shape":[],"separator":"/"}"#.to_owned();
    let mut members = sharded(uri, "[1]").to_vec();
    members[0].1 = "[]".to_owned();
    members.push(("chunk_grid".to_owned(), scalar));
    assert!(array_b(&document(ARRAY_B, &members)).expect("as zarr-python 2").unit_shape.is_empty());
    refused(array_a(&document(ARRAY_A, &members)), &["chunks_per_shard"]);
    // A shorter list, for zarr-python 2's subarrays; the transpose is inside the shard.
    let plane = r#"{"type":"regular","chunk_shape":[2,3],"separator":"/"}"#.to_owned();
    let mut members = sharded(uri, "[32]").to_vec();
    members[0].1 = "[200,60]".to_owned();
    members.push(("chunk_grid".to_owned(), plane));
    let spec = array_b(&document(ARRAY_B, &members)).expect("padded with 1");
    assert_eq!(spec.unit_shape, [64, 3]);
    let [CodecConfig::Sharding(sharding)] = &configs(&spec)[..] else { panic!("{spec:?}") };
    assert_eq!(sharding.codecs[0].config, CodecConfig::Transpose { order: vec![1, 0] });
}

#[test]
fn d3_t39_unknown_storage_transformers() {
    for base in [ARRAY_A, ARRAY_B] {
        let open = if base == ARRAY_A { array_a } else { array_b };
        assert!(open(&with(base, &[("storage_transformers", "[]")])).is_ok());
        for list in [
            r#"[{"extension":"http://x/y","type":"indexed","configuration":{"chunks_per_shard":[2]}}]"#,
            r#"[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"other","configuration":{"chunks_per_shard":[2]}}]"#,
            r#"[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","configuration":{"chunks_per_shard":[2]}}]"#,
            r#"[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed"}]"#,
            r#"["sharding"]"#,
            "{}",
        ] {
            refused(open(&with(base, &[("storage_transformers", list)])), &["a.array.json"]);
        }
    }
}

#[test]
fn d3_t32_extensions_that_must_be_understood() {
    let list = |rest: &str| format!(r#"[{{"extension":"http://x/y"{rest}}}]"#);
    let entry = |base: &str, value: &str| {
        let text = with(base, &[("extensions", value)]);
        Store::new(&[("zarr.json", &text)]).open("")
    };
    for base in [ENTRY_A, ENTRY_B] {
        refused(entry(base, &list(r#","must_understand":true"#)), &["zarr.json", "http://x/y"]);
        assert!(entry(base, &list(r#","must_understand":false,"configuration":1"#)).is_ok());
        refused(entry(base, &list("")), &["must_understand"]);
        refused(entry(base, &list(r#","must_understand":"false""#)), &["must_understand"]);
        refused(entry(base, "{}"), &["extensions"]);
        refused(entry(base, r#"[{"must_understand":false}]"#), &["extensions[0]"]);
    }
    for (base, open) in [(ARRAY_A, array_a as fn(&str) -> _), (ARRAY_B, array_b)] {
        let array = |value: &str| open(&with(base, &[("extensions", value)]));
        refused(array(&list(r#","must_understand":true"#)), &["a.array.json", "http://x/y"]);
        assert!(array(&list(r#","must_understand":false"#)).is_ok());
        refused(array(&list("")), &["must_understand"]);
    }
}

#[test]
fn d3_t33_t41_foreign_metadata_encodings() {
    for encoding in [
        r#"{"extension":"http://x","type":"cbor","metadata_key_suffix":".cbor"}"#,
        r#"{"extension":"http://x","type":"json","metadata_key_suffix":".json"}"#,
        r#"{"type":"cbor","metadata_key_suffix":".cbor"}"#,
    ] {
        let text = with(ENTRY_A, &[("metadata_encoding", encoding)]);
        refused(Store::new(&[("zarr.json", &text)]).open(""), &["unsupported metadata encoding"]);
    }
    for uri in [
        "https://example.com/cbor",
        "https://purl.org/zarr/spec/protocol/core/4.0",
        "https://purl.org/zarr/spec/core/3.0",
    ] {
        let text = with(ENTRY_B, &[("metadata_encoding", &format!("{uri:?}"))]);
        refused(Store::new(&[("zarr.json", &text)]).open(""), &["unsupported metadata encoding", uri]);
    }
}

#[test]
fn draft_documents_that_are_damaged_never_panic() {
    let sharding = r#"[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed","configuration":{"chunks_per_shard":[2]}}]"#;
    let rich_a = with(
        ARRAY_A,
        &[
            ("storage_transformers", sharding),
            ("data_type", "\"complex64\""),
            ("fill_value", "[\"0x7fc00001\",\"+Infinity\"]"),
        ],
    );
    let rich_b = with(
        ARRAY_B,
        &[
            ("storage_transformers", sharding),
            (
                "compressor",
                r#"{"codec":"https://purl.org/zarr/spec/codec/blosc/1.0","configuration":{"blocksize":0,"clevel":5,"cname":"lz4","shuffle":1}}"#,
            ),
        ],
    );
    assert!(array_a(&rich_a).is_ok() && array_b(&rich_b).is_ok());
    let check = |entry: &str, key: &str, text: &str| {
        let damaged = |bytes: Vec<u8>| {
            let mut known = ndzarr_metadata::Known::new();
            for name in ["a/zarr.json", "a/.zarray", "a/.zgroup", "a/attributes.json", "attributes.json"] {
                known.add_document(name, None);
            }
            for name in ["meta/array.json", "meta/a.array.json", "meta/a.group.json"] {
                known.add_document(name, None);
            }
            for name in ["meta/root.array.json", "meta/root/a.array.json", "meta/root/a.group.json"] {
                known.add_document(name, None);
            }
            known.add_document("zarr.json", Some(entry.as_bytes().to_vec().into()));
            known.add_document(key, Some(bytes.into()));
            let path = NodePath::new("a").expect("a path");
            let _ = ndzarr_metadata::open(&path, &known, &OpenOptions::default());
        };
        for end in 0..text.len() {
            damaged(text.as_bytes()[..end].to_vec());
            for bit in 0..8 {
                let mut bytes = text.as_bytes().to_vec();
                bytes[end] ^= 1 << bit;
                damaged(bytes);
            }
        }
    };
    check(ENTRY_A, "meta/a.array.json", &rich_a);
    check(ENTRY_B, "meta/root/a.array.json", &rich_b);
    check(ENTRY_A, "zarr.json", ENTRY_A);
    check(ENTRY_B, "zarr.json", ENTRY_B);
    check(ENTRY_A, "meta/a.group.json", r#"{"attributes":{"a":[NaN,1]}}"#);
}

#[test]
fn d3_064_fallbacks_on_request() {
    let document = |fallback: &str| {
        let data_type = format!(r#"{{"extension":"http://x/y","type":"z"{fallback}}}"#);
        with(ARRAY_A, &[("data_type", &data_type)])
    };
    let use_it = OpenOptions { unknown_type: UnknownType::Fallback, ..OpenOptions::default() };
    let open = |fallback: &str, options: &OpenOptions| {
        store_a(&[("meta/a.array.json", &document(fallback))]).open_with("a", options)
    };
    for fallback in [r#","fallback":"<u2""#, r#","fallback":["float9","uint16","uint8"]"#] {
        let node = open(fallback, &use_it).expect("opens");
        let spec = node.kind.array().expect("an array");
        assert_eq!(spec.data_type, DataType::UInt { bits: 16 });
        assert_eq!(spec.codecs[0].config, CodecConfig::Bytes { endian: Some(Endian::Big) });
        assert!(spec.codecs[0].unwritable.is_some(), "to be read alone");
        assert!(
            node.warnings[0].contains("http://x/y") && node.warnings[0].contains("uint16"),
            "{:?}",
            node.warnings
        );
        refused(open(fallback, &OpenOptions::default()), &["unsupported data type", "http://x/y"]);
    }
    for fallback in
        ["", r#","fallback":null"#, r#","fallback":"float9""#, r#","fallback":[]"#, r#","fallback":{}"#]
    {
        refused(open(fallback, &use_it), &["unsupported data type", "http://x/y"]);
    }
}
