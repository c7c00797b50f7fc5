//! Zarr v2: compressors.

use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, ChecksumLocation, CodecConfig, CodecSpec, LzmaConfig,
    LzmaFilter, LzmaFormat, PcodecConfig, ZfpMode,
};
use serde_json::json;

use crate::it::store::{array, with};
use crate::it::zarr2::ARRAY;

/// The codec that a compressor becomes.
pub(crate) fn compressor(json: &str) -> Result<CodecSpec, String> {
    let spec =
        array(".zarray", &with(ARRAY, &[("compressor", json)])).map_err(|e| e.to_string())?;
    assert_eq!(spec.codecs.len(), 2);
    Ok(spec.codecs[1].clone())
}

pub(crate) fn check(json: &str, expected: CodecConfig) {
    assert_eq!(compressor(json), Ok(expected.into()), "{json}");
}

fn check_unwritable(json: &str, expected: CodecConfig, in_message: &str) {
    let spec = compressor(json).expect(json);
    assert_eq!(spec.config, expected, "{json}");
    let why = spec.unwritable.expect(json);
    assert!(
        why.contains(in_message) && why.contains("compressor"),
        "{why}"
    );
}

#[test]
fn v2_100_known_codecs_and_defaults() {
    check(r#"{"id":"gzip"}"#, CodecConfig::Gzip { level: 1 });
    check(
        r#"{"id":"gzip","level":-1}"#,
        CodecConfig::Gzip { level: -1 },
    );
    check(r#"{"id":"zlib","level":9}"#, CodecConfig::Zlib { level: 9 });
    check(r#"{"id":"bz2"}"#, CodecConfig::Bz2 { level: 1 });
    check(
        r#"{"id":"lz4","acceleration":-3}"#,
        CodecConfig::Lz4 { acceleration: 1 },
    );
    check(
        r#"{"id":"lz4","acceleration":8}"#,
        CodecConfig::Lz4 { acceleration: 8 },
    );
    // V2-T32
    check(
        r#"{"id":"zstd"}"#,
        CodecConfig::Zstd {
            level: 0,
            checksum: false,
        },
    );
    check(
        r#"{"id":"zstd","level":1}"#,
        CodecConfig::Zstd {
            level: 1,
            checksum: false,
        },
    );
    check(
        r#"{"id":"zstd","level":99,"checksum":true}"#,
        CodecConfig::Zstd {
            level: 22,
            checksum: true,
        },
    );
    check(
        r#"{"id":"zstd","level":-7}"#,
        CodecConfig::Zstd {
            level: -7,
            checksum: false,
        },
    );
    // V2-T37: crc32 is another codec, with another default.
    check(
        r#"{"id":"crc32c"}"#,
        CodecConfig::Crc32c {
            location: ChecksumLocation::End,
        },
    );
    check(
        r#"{"id":"crc32c","location":"start"}"#,
        CodecConfig::Crc32c {
            location: ChecksumLocation::Start,
        },
    );
    check(
        r#"{"id":"crc32"}"#,
        CodecConfig::Crc32 {
            location: ChecksumLocation::Start,
        },
    );
    check(
        r#"{"id":"adler32","location":"end"}"#,
        CodecConfig::Adler32 {
            location: ChecksumLocation::End,
        },
    );
    assert!(
        compressor(r#"{"id":"crc32c","location":"middle"}"#)
            .expect_err("neither start nor end")
            .contains("location")
    );
    check(
        r#"{"id":"brotli","level":8}"#,
        CodecConfig::Unknown {
            name: "brotli".into(),
            configuration: json!({"level": 8}),
        },
    );
    check(
        r#"{"id":"zlib","level":1,"foo":{}}"#,
        CodecConfig::Zlib { level: 1 },
    );
}

#[test]
fn v2_112_v2_113_streams_that_say_how_they_are_decoded() {
    check(
        r#"{"id":"pcodec"}"#,
        CodecConfig::Pcodec(PcodecConfig::default()),
    );
    check_unwritable(
        r#"{"id":"pcodec","mode_spec":"new"}"#,
        CodecConfig::Pcodec(PcodecConfig::default()),
        "mode_spec",
    );
    let rate = r#"{"id":"zfpy","mode":2,"tolerance":-1,"rate":40,"precision":-1,"compression_kwargs":{"rate":40}}"#;
    let spec = compressor(rate).expect("opens");
    assert_eq!(
        spec.config,
        CodecConfig::Zfpy(ZfpMode::FixedRate { rate: 40.0 })
    );
    // V2-T52
    assert_eq!(
        compressor(r#"{"id":"zfpy","mode":5}"#)
            .expect("opens")
            .config,
        CodecConfig::Zfpy(ZfpMode::Reversible)
    );
    check_unwritable(
        r#"{"id":"zfpy","mode":4}"#,
        CodecConfig::Zfpy(ZfpMode::Reversible),
        "mode 4",
    );
}

#[test]
fn v2_106_blosc() {
    let default = BloscConfig {
        cname: BloscCname::Lz4,
        clevel: 5,
        shuffle: BloscShuffle::Byte,
        typesize: None,
        blocksize: 0,
    };
    check(r#"{"id":"blosc"}"#, CodecConfig::Blosc(default));
    check(
        r#"{"id":"blosc","cname":"zstd","clevel":9,"shuffle":-1,"blocksize":256,"typesize":4}"#,
        CodecConfig::Blosc(BloscConfig {
            cname: BloscCname::Zstd,
            clevel: 9,
            shuffle: BloscShuffle::Auto,
            typesize: None,
            blocksize: 256,
        }),
    );
    // V2-T56 and GDAL's other spellings.
    for (text, shuffle) in [
        ("\"NONE\"", BloscShuffle::None),
        ("\"BYTE\"", BloscShuffle::Byte),
        ("\"BIT\"", BloscShuffle::Bit),
        ("0", BloscShuffle::None),
        ("2", BloscShuffle::Bit),
    ] {
        let json = format!("{{\"id\":\"blosc\",\"shuffle\":{text}}}");
        check(
            &json,
            CodecConfig::Blosc(BloscConfig { shuffle, ..default }),
        );
    }
    for (json, name) in [
        (r#"{"id":"blosc","shuffle":3}"#, "shuffle 3"),
        (r#"{"id":"blosc","shuffle":"bits"}"#, "shuffle \"bits\""),
        (r#"{"id":"blosc","clevel":10}"#, "clevel 10"),
        (r#"{"id":"blosc","cname":"lz5"}"#, "cname \"lz5\""),
        (r#"{"id":"blosc","blocksize":-1}"#, "blocksize -1"),
    ] {
        check_unwritable(json, CodecConfig::Blosc(default), name);
    }
}

#[test]
fn v2_098_t32_t56_parameters_that_only_steer_encoding() {
    // V2-T32, V2-T56: a number in quotes counts as a number.
    check(
        r#"{"id":"zstd","level":"1"}"#,
        CodecConfig::Zstd {
            level: 1,
            checksum: false,
        },
    );
    check(
        r#"{"id":"gzip","level":"9"}"#,
        CodecConfig::Gzip { level: 9 },
    );
    check_unwritable(
        r#"{"id":"gzip","level":10}"#,
        CodecConfig::Gzip { level: 1 },
        "level 10",
    );
    check_unwritable(
        r#"{"id":"zlib","level":"best"}"#,
        CodecConfig::Zlib { level: 1 },
        "level \"best\"",
    );
    check_unwritable(
        r#"{"id":"bz2","level":0}"#,
        CodecConfig::Bz2 { level: 1 },
        "level 0",
    );
    check_unwritable(
        r#"{"id":"lz4","acceleration":[]}"#,
        CodecConfig::Lz4 { acceleration: 1 },
        "acceleration []",
    );
    let zstd = CodecConfig::Zstd {
        level: 0,
        checksum: false,
    };
    check_unwritable(r#"{"id":"zstd","checksum":"yes"}"#, zstd, "checksum");
}

#[test]
fn v2_t33_lzma() {
    let default = LzmaConfig {
        format: LzmaFormat::Xz,
        check: -1,
        preset: None,
        filters: None,
    };
    check(r#"{"id":"lzma"}"#, CodecConfig::Lzma(default.clone()));
    check(
        r#"{"id":"lzma","format":1,"check":4,"preset":2147483657,"filters":null}"#,
        CodecConfig::Lzma(LzmaConfig {
            check: 4,
            preset: Some(0x8000_0009),
            ..default.clone()
        }),
    );
    check(
        r#"{"id":"lzma","delta":1,"preset":6}"#,
        CodecConfig::Lzma(LzmaConfig {
            preset: Some(6),
            ..default.clone()
        }),
    );
    check(
        r#"{"id":"lzma","format":3,"filters":[{"id":3,"dist":2},{"id":4611686018427387905,"preset":1}]}"#,
        CodecConfig::Lzma(LzmaConfig {
            format: LzmaFormat::Raw,
            filters: Some(vec![
                LzmaFilter {
                    id: 3,
                    options: vec![("dist".into(), 2)],
                },
                LzmaFilter {
                    id: 0x4000_0000_0000_0001,
                    options: vec![("preset".into(), 1)],
                },
            ]),
            ..default.clone()
        }),
    );
    for bad in [
        r#"{"id":"lzma","format":3}"#,
        r#"{"id":"lzma","format":3,"filters":null}"#,
        r#"{"id":"lzma","format":3,"filters":[{"dist":2}]}"#,
        r#"{"id":"lzma","format":4}"#,
        r#"{"id":"lzma","format":"xz"}"#,
    ] {
        assert!(compressor(bad).expect_err(bad).contains("lzma"), "{bad}");
    }
    check_unwritable(
        r#"{"id":"lzma","preset":10}"#,
        CodecConfig::Lzma(default.clone()),
        "preset 10",
    );
    check_unwritable(
        r#"{"id":"lzma","filters":[{}]}"#,
        CodecConfig::Lzma(default),
        "filters",
    );
}
