//! Zarr v3: codecs.

use ndzarr_metadata::codecs_json;
use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, ChecksumLocation, CodecConfig, CodecSpec, DataType,
    Endian, N5BlockConfig,
};
use serde_json::json;

use crate::it::zarr3::{fails, opens, spec};

pub(crate) const LITTLE: CodecConfig = CodecConfig::Bytes {
    endian: Some(Endian::Little),
};

pub(crate) const CRC32C: CodecConfig = CodecConfig::Crc32c {
    location: ChecksumLocation::End,
};

pub(crate) fn grid(chunks: &str) -> String {
    format!(r#"{{"name":"regular","configuration":{{"chunk_shape":{chunks}}}}}"#)
}

/// The codecs after `bytes`.
fn check(json: &str, expected: Option<CodecConfig>) {
    let codecs = format!(r#"["{{bytes}}",{json}]"#).replace(
        "\"{bytes}\"",
        r#"{"name":"bytes","configuration":{"endian":"little"}}"#,
    );
    match (spec(&[("codecs", &codecs)]), expected) {
        (Ok(spec), Some(expected)) => {
            assert_eq!(spec.codecs[..], [LITTLE.into(), expected.into()], "{json}")
        }
        (Err(error), None) => assert!(error.contains("codecs[1]"), "{error}"),
        (result, expected) => panic!("{json}: {result:?}, expected {expected:?}"),
    }
}

fn codecs_of(members: &[(&str, &str)]) -> Vec<CodecConfig> {
    opens(members)
        .codecs
        .iter()
        .map(|codec| codec.config.clone())
        .collect()
}

#[test]
fn v3_t04_string_forms() {
    let members = [
        ("codecs", "[\"bytes\"]"),
        ("chunk_key_encoding", "\"default\""),
        ("data_type", "{\"name\":\"uint8\"}"),
    ];
    assert_eq!(codecs_of(&members), [CodecConfig::Bytes { endian: None }]);
    check("\"crc32c\"", Some(CRC32C));
}

#[test]
fn v3_t05_order_of_codecs() {
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let gzip = r#"{"name":"gzip","configuration":{"level":1}}"#;
    let transpose = r#"{"name":"transpose","configuration":{"order":[0]}}"#;
    for bad in [
        format!("[{gzip},{bytes}]"),
        format!("[{bytes},{bytes}]"),
        format!("[{bytes},{transpose}]"),
        format!("[{gzip},{transpose}]"),
        "{}".to_owned(),
        "null".to_owned(),
        "[1]".to_owned(),
    ] {
        fails(&[("codecs", &bad)], "codecs");
    }
    assert_eq!(
        codecs_of(&[("codecs", &format!("[{transpose},{bytes},{gzip},{gzip}]"))]).len(),
        4
    );
}

#[test]
fn v3_t06_t67_byte_order() {
    let big = r#"[{"name":"bytes","configuration":{"endian":"big"}}]"#;
    assert_eq!(
        codecs_of(&[("codecs", big), ("data_type", "\"uint8\"")]),
        [CodecConfig::Bytes { endian: None }]
    );
    assert_eq!(
        codecs_of(&[("codecs", big)]),
        [CodecConfig::Bytes {
            endian: Some(Endian::Big)
        }]
    );
    let alias = r#"[{"name":"endian","configuration":{"endian":"big"}}]"#;
    assert_eq!(
        codecs_of(&[("codecs", alias)]),
        [CodecConfig::Bytes {
            endian: Some(Endian::Big)
        }]
    );
    let none = r#"[{"name":"bytes"}]"#;
    fails(&[("codecs", none)], "endian");
    fails(
        &[
            ("codecs", none),
            ("data_type", "\"complex64\""),
            ("fill_value", "[0,0]"),
        ],
        "endian",
    );
    fails(&[("codecs", none), ("data_type", "\"bfloat16\"")], "endian");
    opens(&[
        ("codecs", none),
        ("data_type", "\"r40\""),
        ("fill_value", "[0,0,0,0,0]"),
    ]);
    opens(&[
        ("codecs", none),
        ("data_type", "\"bool\""),
        ("fill_value", "true"),
    ]);
    fails(
        &[(
            "codecs",
            r#"[{"name":"bytes","configuration":{"endian":"middle"}}]"#,
        )],
        "endian",
    );
    fails(
        &[(
            "codecs",
            r#"[{"name":"bytes","configuration":{"endian":"big","x":1}}]"#,
        )],
        "\"x\"",
    );
}

#[test]
fn v3_t18_transpose() {
    let shape = [("shape", "[2,3,4]"), ("data_type", "\"uint8\"")];
    let grid = grid("[2,3,4]");
    let with_order = |order: &str| {
        let codecs =
            format!(r#"[{{"name":"transpose","configuration":{{"order":{order}}}}},"bytes"]"#);
        spec(&[
            shape[0],
            shape[1],
            ("chunk_grid", &grid),
            ("codecs", &codecs),
        ])
        .map(|spec| spec.codecs[0].config.clone())
    };
    for (json, order) in [
        ("[2,0,1]", [2, 0, 1]),
        ("\"F\"", [2, 1, 0]),
        ("\"C\"", [0, 1, 2]),
    ] {
        assert_eq!(
            with_order(json),
            Ok(CodecConfig::Transpose {
                order: order.to_vec()
            })
        );
    }
    for bad in [
        "[1,0]",
        "[0,0,1]",
        "[1,2,3]",
        "[0,1,2,3]",
        "\"A\"",
        "[0,1,-2]",
        "null",
        "[0.0,1,2]",
    ] {
        assert!(with_order(bad).expect_err(bad).contains("order"), "{bad}");
    }
    let scalar = self::grid("[]");
    let codecs = r#"[{"name":"transpose","configuration":{"order":[]}},"bytes"]"#;
    opens(&[
        ("shape", "[]"),
        shape[1],
        ("chunk_grid", &scalar),
        ("codecs", codecs),
    ]);
}

#[test]
fn v3_t40_blosc() {
    let blosc = |members: &str| {
        format!(
            r#"{{"name":"blosc","configuration":{{"cname":"lz4","clevel":5,"blocksize":0{members}}}}}"#
        )
    };
    let config = |shuffle, typesize| {
        CodecConfig::Blosc(BloscConfig {
            cname: BloscCname::Lz4,
            clevel: 5,
            shuffle,
            typesize,
            blocksize: 0,
        })
    };
    check(
        &blosc(r#","shuffle":"shuffle","typesize":2"#),
        Some(config(BloscShuffle::Byte, Some(2))),
    );
    check(
        &blosc(r#","shuffle":"bitshuffle","typesize":2"#),
        Some(config(BloscShuffle::Bit, Some(2))),
    );
    check(
        &blosc(r#","shuffle":"noshuffle""#),
        Some(config(BloscShuffle::None, None)),
    );
    for bad in [
        r#","shuffle":3,"typesize":2"#,
        r#","shuffle":"shuffle""#,
        r#","shuffle":"shuffle","typesize":-1"#,
        r#","typesize":2"#,
        r#","shuffle":"shuffle","typesize":2,"x":1"#,
        r#","shuffle":"shuffle","typesize":2,"clevel":10"#,
        r#","shuffle":"shuffle","typesize":2,"cname":"lz5""#,
        r#","shuffle":"shuffle","typesize":2,"blocksize":-1"#,
    ] {
        check(&blosc(bad), None);
    }
    check(
        r#"{"name":"blosc","configuration":{"clevel":5,"blocksize":0,"shuffle":"noshuffle"}}"#,
        None,
    );
    check(
        r#"{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"noshuffle"}}"#,
        None,
    );
}

#[test]
fn v3_t41_zstd() {
    let zstd = |members: &str| format!(r#"{{"name":"zstd","configuration":{{{members}}}}}"#);
    check(
        &zstd("\"level\":3"),
        Some(CodecConfig::Zstd {
            level: 3,
            checksum: false,
        }),
    );
    check(
        &zstd("\"level\":-131072,\"checksum\":true"),
        Some(CodecConfig::Zstd {
            level: -131_072,
            checksum: true,
        }),
    );
    for bad in [
        "\"level\":23",
        "\"level\":3,\"checksum\":\"true\"",
        "\"level\":\"3\"",
        "\"level\":3.0",
        "\"level\":3,\"x\":1",
    ] {
        check(&zstd(bad), None);
    }
}

#[test]
fn v3_t42_gzip_and_crc32c() {
    let gzip = |members: &str| format!(r#"{{"name":"gzip","configuration":{{{members}}}}}"#);
    check(&gzip("\"level\":0"), Some(CodecConfig::Gzip { level: 0 }));
    for bad in ["\"level\":10", "\"level\":-1", "\"level\":null"] {
        check(&gzip(bad), None);
    }
    check(r#"{"name":"crc32c"}"#, Some(CRC32C));
    check(r#"{"name":"crc32c","configuration":{}}"#, Some(CRC32C));
    check(
        r#"{"name":"crc32c","configuration":{"location":"end"}}"#,
        None,
    );
}

#[test]
fn v3_151_numcodecs() {
    check(
        r#"{"name":"numcodecs.zlib","configuration":{"level":3}}"#,
        Some(CodecConfig::Zlib { level: 3 }),
    );
    check(
        r#"{"name":"numcodecs.zlib","configuration":{"id":"zlib"}}"#,
        Some(CodecConfig::Zlib { level: 1 }),
    );
    check(
        r#"{"name":"numcodecs.bz2"}"#,
        Some(CodecConfig::Bz2 { level: 1 }),
    );
    check(
        "\"numcodecs.lz4\"",
        Some(CodecConfig::Lz4 { acceleration: 1 }),
    );
    let start = CodecConfig::Crc32c {
        location: ChecksumLocation::Start,
    };
    check(
        r#"{"name":"numcodecs.crc32c","configuration":{"location":"start"}}"#,
        Some(start),
    );
    for bad in [
        r#"{"name":"numcodecs.zlib","configuration":{"id":"gzip"}}"#,
        r#"{"name":"numcodecs.zlib","configuration":{"level":10}}"#,
        r#"{"name":"numcodecs.zlib","configuration":{"foo":1}}"#,
        r#"{"name":"numcodecs.lzma","configuration":{"format":3}}"#,
    ] {
        check(bad, None);
    }
}

#[test]
fn v3_t59_unknown_codecs() {
    for json in [
        r#"{"name":"foo","configuration":{"x":1}}"#,
        r#"{"name":"foo","configuration":{"x":1},"must_understand":false}"#,
    ] {
        check(
            json,
            Some(CodecConfig::Unknown {
                name: "foo".into(),
                configuration: json!({"x": 1}),
            }),
        );
    }
    // Nothing after an unknown codec can be checked: it may change the type, or make bytes.
    for codecs in [
        r#"["foo"]"#,
        r#"["foo",{"name":"gzip","configuration":{"level":1}}]"#,
        r#"["foo","bytes"]"#,
    ] {
        assert!(matches!(
            codecs_of(&[("codecs", codecs)])[0],
            CodecConfig::Unknown { .. }
        ));
    }
    fails(&[("codecs", r#"["bytes",{"name":"foo","x":1}]"#)], "codecs");
}

#[test]
fn neutral_codecs_as_v3_shows_them() {
    let blosc = |shuffle, typesize| {
        CodecConfig::Blosc(BloscConfig {
            cname: BloscCname::Zstd,
            clevel: 1,
            shuffle,
            typesize,
            blocksize: 0,
        })
        .into()
    };
    let block = N5BlockConfig {
        compression: Some(
            CodecConfig::N5Gzip {
                level: -1,
                use_zlib: false,
            }
            .into(),
        ),
        edge_blocks: Default::default(),
    };
    let blosc_json = |shuffle: &str, typesize: u32| {
        json!({"name": "blosc", "configuration":
            {"cname": "zstd", "clevel": 1, "shuffle": shuffle, "typesize": typesize, "blocksize": 0}})
    };
    let codecs: Vec<CodecSpec> = vec![
        CodecConfig::Transpose { order: vec![1, 0] }.into(),
        LITTLE.into(),
        blosc(BloscShuffle::Auto, None),
        blosc(BloscShuffle::Auto, None),
        blosc(BloscShuffle::Byte, Some(8)),
        CodecConfig::Gzip { level: -1 }.into(),
        CodecConfig::Zstd {
            level: 3,
            checksum: false,
        }
        .into(),
        CodecConfig::Zlib { level: 1 }.into(),
        CRC32C.into(),
        CodecConfig::Crc32c {
            location: ChecksumLocation::Start,
        }
        .into(),
        CodecConfig::N5Block(Box::new(block)).into(),
        CodecConfig::Unknown {
            name: "foo".into(),
            configuration: json!({}),
        }
        .into(),
    ];
    let expected = json!([
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "bytes", "configuration": {"endian": "little"}},
        blosc_json("shuffle", 4),
        // The input of the second one is bytes.
        blosc_json("bitshuffle", 1),
        blosc_json("shuffle", 8),
        {"name": "gzip", "configuration": {"level": 6}},
        {"name": "zstd", "configuration": {"level": 3, "checksum": false}},
        {"name": "numcodecs.zlib", "configuration": {"level": 1}},
        {"name": "crc32c"},
        {"name": "numcodecs.crc32c", "configuration": {"location": "start"}},
        {"name": "n5_block", "configuration": {
            "codecs": [{"name": "n5_gzip", "configuration": {"level": -1, "use_zlib": false}}],
            "edge_blocks": "truncated"}},
        {"name": "foo"},
    ]);
    assert_eq!(codecs_json(&codecs, &DataType::UInt { bits: 32 }), expected);
}
