//! Spellings of other programs that depart from a specification in a way that only one meaning
//! fits: read, with a warning. The documents are as those programs wrote them.

use ndzarr_metadata::{ConsolidatedUse, Node, NodePath, OpenOptions, consolidated};
use ndzarr_model::{
    ArraySpec, BloscCname, BloscConfig, BloscShuffle, CodecConfig, DataType, Endian, KeyEncoding,
    VlenConfig,
};

use crate::it::store::{Store, with};
use crate::it::{zarr2, zarr3};

const LITTLE: CodecConfig = CodecConfig::Bytes {
    endian: Some(Endian::Little),
};

fn node(key: &str, text: &str) -> Node {
    Store::new(&[(key, text)])
        .open("")
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The array, and its only warning.
fn odd(key: &str, base: &str, members: &[(&str, &str)]) -> (ArraySpec, String) {
    let node = node(key, &with(base, members));
    let [warning] = &node.warnings[..] else {
        panic!("{members:?}: {:?}", node.warnings)
    };
    assert!(warning.starts_with(&format!("{key}: ")), "{warning}");
    (
        node.kind.array().expect("an array").clone(),
        warning.clone(),
    )
}

fn odd_v3(members: &[(&str, &str)]) -> (ArraySpec, String) {
    odd("zarr.json", zarr3::ARRAY, members)
}

fn odd_v2(members: &[(&str, &str)]) -> (ArraySpec, String) {
    odd(".zarray", zarr2::ARRAY, members)
}

fn configs(spec: &ArraySpec) -> Vec<CodecConfig> {
    spec.codecs
        .iter()
        .map(|codec| codec.config.clone())
        .collect()
}

#[test]
fn codecs_without_one_that_makes_bytes_are_little_endian() {
    let gzip = r#"{"name":"gzip","configuration":{"level":6}}"#;
    let transpose = r#"{"name":"transpose","configuration":{"order":[0]}}"#;
    // GDAL 3.8 to 3.10 without compression and with it, zarrita.js 0.7.
    for (stated, expected) in [
        (String::new(), vec![LITTLE]),
        (
            format!("[{gzip}]"),
            vec![LITTLE, CodecConfig::Gzip { level: 6 }],
        ),
        ("[]".to_owned(), vec![LITTLE]),
        (
            format!("[{transpose}]"),
            vec![CodecConfig::Transpose { order: vec![0] }, LITTLE],
        ),
        (
            format!("[{transpose},{gzip}]"),
            vec![
                CodecConfig::Transpose { order: vec![0] },
                LITTLE,
                CodecConfig::Gzip { level: 6 },
            ],
        ),
    ] {
        let (spec, warning) = odd_v3(&[("codecs", &stated)]);
        assert_eq!(configs(&spec), expected, "{stated}");
        assert!(warning.contains("no codec that makes bytes"), "{warning}");
    }
}

#[test]
fn what_may_make_bytes_is_left_to_the_registry() {
    let node = node(
        "zarr.json",
        &with(zarr3::ARRAY, &[("codecs", r#"[{"name":"of.a.user"}]"#)]),
    );
    let codecs = configs(node.kind.array().expect("an array"));
    assert!(
        matches!(&codecs[..], [CodecConfig::Unknown { name, .. }] if name == "of.a.user"),
        "{codecs:?}"
    );
    assert_eq!(node.warnings, [""; 0]);
    // Texts have several encodings.
    for codecs in ["", "[]"] {
        zarr3::fails(
            &[
                ("data_type", "\"string\""),
                ("fill_value", "\"\""),
                ("codecs", codecs),
            ],
            "codecs",
        );
    }
}

#[test]
fn codecs_of_shards_are_put_right_too() {
    // n5-zarr 2.0: the names of inner codecs.
    let codecs = r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[1],
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}},
                  {"type":"gzip","configuration":{"level":5}}],
        "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]"#;
    let (spec, warning) = odd_v3(&[("codecs", codecs)]);
    let [CodecConfig::Sharding(shards)] = &configs(&spec)[..] else {
        panic!("{spec:?}")
    };
    let inner: Vec<CodecConfig> = shards
        .codecs
        .iter()
        .map(|codec| codec.config.clone())
        .collect();
    assert_eq!(inner, [LITTLE, CodecConfig::Gzip { level: 5 }]);
    assert!(
        warning.contains("codecs[0].configuration.codecs[1] has its name under \"type\""),
        "{warning}"
    );
}

#[test]
fn codecs_of_shards_may_be_compressions_of_n5() {
    // n5-zarr 2.0 of April 2026: the inner codecs are the documents of N5.
    for (compression, expected) in [
        (
            r#"{"type":"gzip","useZlib":false,"level":1}"#,
            CodecConfig::Gzip { level: 1 },
        ),
        (
            r#"{"type":"gzip","useZlib":true,"level":1}"#,
            CodecConfig::Zlib { level: 1 },
        ),
        (
            r#"{"type":"gzip","useZlib":false,"level":-1}"#,
            CodecConfig::Gzip { level: 6 },
        ),
    ] {
        let codecs = format!(
            r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[1],
            "index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}},{{"name":"crc32c"}}],
            "codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}},{compression}]}}}}]"#
        );
        let node = node("zarr.json", &with(zarr3::ARRAY, &[("codecs", &codecs)]));
        let [CodecConfig::Sharding(shards)] = &configs(node.kind.array().expect("an array"))[..]
        else {
            panic!("{codecs}")
        };
        assert_eq!(shards.codecs[1].config, expected, "{compression}");
        assert!(
            node.warnings[0].contains("under \"type\""),
            "{:?}",
            node.warnings
        );
        assert!(
            node.warnings
                .iter()
                .any(|warning| warning.contains("useZlib")),
            "{:?}",
            node.warnings
        );
    }
    // A member that gzip does not have is an error.
    let codecs = r#"[{"name":"bytes","configuration":{"endian":"little"}},{"type":"gzip","level":1,"window":3}]"#;
    zarr3::fails(&[("codecs", codecs)], "window");
}

/// The codec after `bytes`.
fn second(codec: &str) -> (CodecConfig, String) {
    let codecs = format!(r#"[{{"name":"bytes","configuration":{{"endian":"little"}}}},{codec}]"#);
    let (spec, warning) = odd_v3(&[("codecs", &codecs)]);
    (configs(&spec)[1].clone(), warning)
}

#[test]
fn gzip_and_zstd_need_no_level() {
    for codec in [
        r#""gzip""#,
        r#"{"name":"gzip"}"#,
        r#"{"name":"gzip","configuration":{}}"#,
    ] {
        let (config, warning) = second(codec);
        assert_eq!(config, CodecConfig::Gzip { level: 5 }, "{codec}");
        assert!(warning.contains("no level"), "{warning}");
    }
    let (config, _) = second(r#"{"name":"zstd","configuration":{}}"#);
    assert_eq!(
        config,
        CodecConfig::Zstd {
            level: 0,
            checksum: false
        }
    );
}

#[test]
fn members_of_n5_zarr_are_known() {
    let (config, _) = second(r#"{"name":"gzip","configuration":{"useZlib":false,"level":5}}"#);
    assert_eq!(config, CodecConfig::Gzip { level: 5 });
    let (config, _) = second(r#"{"name":"gzip","configuration":{"useZlib":true,"level":5}}"#);
    assert_eq!(config, CodecConfig::Zlib { level: 5 });
    let blosc = |members: &str| {
        second(&format!(
            r#"{{"name":"blosc","configuration":{{"cname":"blosclz","clevel":6,"blocksize":0,{members}}}}}"#
        ))
    };
    let expected = |shuffle, typesize| {
        let cname = BloscCname::BloscLz;
        CodecConfig::Blosc(BloscConfig {
            cname,
            clevel: 6,
            shuffle,
            typesize: Some(typesize),
            blocksize: 0,
        })
    };
    let (config, _) = blosc(r#""typesize":1,"nthreads":1,"shuffle":"noshuffle""#);
    assert_eq!(config, expected(BloscShuffle::None, 1));
    // The elements have two bytes.
    let (config, _) = blosc(r#""typesize":0,"shuffle":"shuffle""#);
    assert_eq!(config, expected(BloscShuffle::Byte, 2));
    // zarrita.js: numbers.
    for (number, shuffle) in [
        (0, BloscShuffle::None),
        (1, BloscShuffle::Byte),
        (2, BloscShuffle::Bit),
    ] {
        let (config, _) = blosc(&format!(r#""typesize":2,"shuffle":{number}"#));
        assert_eq!(config, expected(shuffle, 2), "{number}");
    }
}

/// zarrita.js, which has numcodecs' codec under both names.
#[test]
fn lz4_is_that_of_numcodecs() {
    for (stated, acceleration) in [
        (r#"{"name":"lz4","configuration":{"acceleration":3}}"#, 3),
        (r#"{"name":"lz4","configuration":{}}"#, 1),
        (r#"{"name":"lz4"}"#, 1),
        (r#""lz4""#, 1),
    ] {
        let codecs =
            format!(r#"[{{"name":"bytes","configuration":{{"endian":"little"}}}},{stated}]"#);
        let (spec, warning) = odd_v3(&[("codecs", &codecs)]);
        assert_eq!(
            configs(&spec),
            [LITTLE, CodecConfig::Lz4 { acceleration }],
            "{stated}"
        );
        assert!(warning.contains("\"numcodecs.lz4\""), "{warning}");
    }
    // Members that lz4 has elsewhere mean other framings.
    for members in [r#"{"blockSize":65536}"#, r#"{"level":1}"#] {
        let codec = format!(r#"{{"name":"lz4","configuration":{members}}}"#);
        zarr3::fails(
            &[(
                "codecs",
                &format!(r#"[{{"name":"bytes","configuration":{{"endian":"little"}}}},{codec}]"#),
            )],
            "lz4",
        );
    }
}

#[test]
fn a_fill_value_of_null_is_none() {
    for data_type in ["int16", "float32", "bool", "complex64", "string"] {
        let codecs = if data_type == "string" {
            r#"["vlen-utf8"]"#
        } else {
            "[\"bytes\"]"
        };
        let codecs = codecs.replace(
            "\"bytes\"",
            r#"{"name":"bytes","configuration":{"endian":"little"}}"#,
        );
        let stated = format!("\"{data_type}\"");
        let (spec, warning) = odd_v3(&[
            ("data_type", &stated),
            ("fill_value", "null"),
            ("codecs", &codecs),
        ]);
        assert!(
            !spec.fill_value.is_defined() && spec.fill_value.is_zero(),
            "{data_type}: {spec:?}"
        );
        assert!(warning.contains("fill_value is null"), "{warning}");
    }
}

#[test]
fn odd_members_of_v2_have_one_meaning() {
    // zarr-python 2 with dimension_separator=None.
    let (spec, warning) = odd_v2(&[("dimension_separator", "null")]);
    assert_eq!(spec.keys.encoding, KeyEncoding::V2 { separator: '.' });
    assert!(warning.contains("dimension_separator"), "{warning}");
    // n5-zarr.
    let (spec, warning) = odd_v2(&[("compressor", r#"{"type":"raw"}"#)]);
    assert_eq!(configs(&spec), [LITTLE]);
    assert!(warning.contains("raw"), "{warning}");
    // netCDF-C 4.8.0.
    let (spec, _) = odd_v2(&[("fill_value", "")]);
    assert!(!spec.fill_value.is_defined());
    for (dtype, stated, expected) in [
        ("\"<i2\"", "[-7]", (-7i16).to_ne_bytes().to_vec()),
        ("\"<f4\"", "[1.5]", 1.5f32.to_ne_bytes().to_vec()),
        // zarr-python 3.0.8, in .zmetadata.
        ("\"|S4\"", "[65]", b"A\0\0\0".to_vec()),
        ("\"|S4\"", "[65, 66]", b"AB\0\0".to_vec()),
    ] {
        let (spec, warning) = odd_v2(&[("dtype", dtype), ("fill_value", stated)]);
        assert_eq!(spec.fill_value.bytes(), expected, "{dtype} {stated}");
        assert!(warning.contains("fill_value is a list"), "{warning}");
    }
}

#[test]
fn text_of_fixed_length_may_be_stored_by_object_codecs() {
    // zarr-python 3.0.0 to 3.0.8.
    let utf8 = r#"[{"id":"vlen-utf8"}]"#;
    let bytes = r#"[{"id":"vlen-bytes"}]"#;
    for (dtype, filters, fill, data_type, codec) in [
        ("\"<U6\"", utf8, "null", DataType::String, VlenConfig::Utf8),
        ("\"|S4\"", bytes, "\"\"", DataType::Bytes, VlenConfig::Bytes),
        (
            "\"|S0\"",
            bytes,
            "\"WA==\"",
            DataType::Bytes,
            VlenConfig::Bytes,
        ),
    ] {
        let (spec, warning) =
            odd_v2(&[("dtype", dtype), ("filters", filters), ("fill_value", fill)]);
        assert_eq!(spec.data_type, data_type, "{dtype}");
        assert_eq!(configs(&spec), [CodecConfig::Vlen(codec)], "{dtype}");
        assert!(warning.contains("object codec"), "{warning}");
    }
}

#[test]
fn usual_documents_have_no_warnings() {
    assert_eq!(node("zarr.json", zarr3::ARRAY).warnings, [""; 0]);
    assert_eq!(node(".zarray", zarr2::ARRAY).warnings, [""; 0]);
}

#[test]
fn an_error_of_a_copy_names_the_document_that_has_it() {
    let broken = zarr2::ARRAY.replace("\"<u2\"", "\"<q9\"");
    let all = format!(
        r#"{{"zarr_consolidated_format":1,"metadata":{{".zgroup":{{"zarr_format":2}},"x/.zarray":{broken}}}}}"#
    );
    let group = r#"{"zarr_format":2}"#;
    let store = Store::new(&[
        (".zgroup", group),
        ("x/.zarray", zarr2::ARRAY),
        (".zmetadata", &all),
    ]);
    let root = store.open("").expect("a group");
    let copies = store.ask(|known| consolidated(&root, known, ConsolidatedUse::Use));
    let copies = copies.expect("they can be read").expect("there are copies");
    let path = NodePath::new("x").expect("a path");
    let error = copies
        .open(&path, &OpenOptions::default())
        .expect_err("the copy is broken")
        .to_string();
    assert!(
        error.starts_with(".zmetadata: its copy of x/.zarray: dtype"),
        "{error}"
    );
    assert!(store.open("x").is_ok(), "its own document is right");
}
