use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, CategorizeConfig, ChecksumLocation, CodecConfig, CodecSpec,
    DataType, Endian, FilterNumber, FilterTypes, FixedScaleOffsetConfig, LabelsConfig, LzmaConfig,
    LzmaFilter, LzmaFormat, PcodecConfig, StoredType, VlenConfig, ZfpMode,
};
use serde_json::json;

use crate::it::store::{array, with};
use crate::it::zarr2::ARRAY;

/// The codec that a compressor becomes.
fn compressor(json: &str) -> Result<CodecSpec, String> {
    let spec = array(".zarray", &with(ARRAY, &[("compressor", json)])).map_err(|e| e.to_string())?;
    assert_eq!(spec.codecs.len(), 2);
    Ok(spec.codecs[1].clone())
}

fn check(json: &str, expected: CodecConfig) {
    assert_eq!(compressor(json), Ok(expected.into()), "{json}");
}

fn check_unwritable(json: &str, expected: CodecConfig, in_message: &str) {
    let spec = compressor(json).expect(json);
    assert_eq!(spec.config, expected, "{json}");
    let why = spec.unwritable.expect(json);
    assert!(why.contains(in_message) && why.contains("compressor"), "{why}");
}

#[test]
fn v2_100_known_codecs_and_defaults() {
    check(r#"{"id":"gzip"}"#, CodecConfig::Gzip { level: 1 });
    check(r#"{"id":"gzip","level":-1}"#, CodecConfig::Gzip { level: -1 });
    check(r#"{"id":"zlib","level":9}"#, CodecConfig::Zlib { level: 9 });
    check(r#"{"id":"bz2"}"#, CodecConfig::Bz2 { level: 1 });
    check(r#"{"id":"lz4","acceleration":-3}"#, CodecConfig::Lz4 { acceleration: 1 });
    check(r#"{"id":"lz4","acceleration":8}"#, CodecConfig::Lz4 { acceleration: 8 });
    // V2-T32
    check(r#"{"id":"zstd"}"#, CodecConfig::Zstd { level: 0, checksum: false });
    check(r#"{"id":"zstd","level":1}"#, CodecConfig::Zstd { level: 1, checksum: false });
    check(r#"{"id":"zstd","level":99,"checksum":true}"#, CodecConfig::Zstd { level: 22, checksum: true });
    check(r#"{"id":"zstd","level":-7}"#, CodecConfig::Zstd { level: -7, checksum: false });
    // V2-T37: crc32 is another codec, with another default.
    check(r#"{"id":"crc32c"}"#, CodecConfig::Crc32c { location: ChecksumLocation::End });
    check(r#"{"id":"crc32c","location":"start"}"#, CodecConfig::Crc32c { location: ChecksumLocation::Start });
    check(r#"{"id":"crc32"}"#, CodecConfig::Crc32 { location: ChecksumLocation::Start });
    check(r#"{"id":"adler32","location":"end"}"#, CodecConfig::Adler32 { location: ChecksumLocation::End });
    assert!(
        compressor(r#"{"id":"crc32c","location":"middle"}"#)
            .expect_err("neither start nor end")
            .contains("location")
    );
    check(
        r#"{"id":"brotli","level":8}"#,
        CodecConfig::Unknown { name: "brotli".into(), configuration: json!({"level": 8}) },
    );
    check(r#"{"id":"zlib","level":1,"foo":{}}"#, CodecConfig::Zlib { level: 1 });
}

/// Stored types by NumPy's names.
fn stored(name: &str) -> StoredType {
    let endian = if name.starts_with('>') { Endian::Big } else { Endian::Little };
    let bits = name[2..].parse::<u8>().expect("a size") * 8;
    let data_type = match &name[1..2] {
        "i" => DataType::Int { bits },
        "u" => DataType::UInt { bits },
        _ => DataType::Float { bits },
    };
    StoredType { data_type, endian }
}

fn types(dtype: &str, astype: &str) -> FilterTypes {
    FilterTypes { dtype: stored(dtype), astype: stored(astype) }
}

#[test]
fn v2_114_filters_and_defaults() {
    use FilterNumber::{Float, Int};
    check(r#"{"id":"delta","dtype":">u2","astype":"i1"}"#, CodecConfig::Delta(types(">u2", "|i1")));
    check(r#"{"id":"delta","dtype":"float64","astype":null}"#, CodecConfig::Delta(types("<f8", "<f8")));
    check(
        r#"{"id":"astype","encode_dtype":"<f4","decode_dtype":"<f8"}"#,
        CodecConfig::AsType(types("<f8", "<f4")),
    );
    let scaled = |offset, scale| {
        let types = types("<f8", "|u1");
        CodecConfig::FixedScaleOffset(FixedScaleOffsetConfig { offset, scale, types })
    };
    check(
        r#"{"id":"fixedscaleoffset","offset":1000,"scale":0.5,"dtype":"<f8","astype":"|u1"}"#,
        scaled(Int(1000), Float(0.5)),
    );
    check(
        r#"{"id":"fixedscaleoffset","offset":1000.0,"scale":-1,"dtype":"<f8","astype":"|u1"}"#,
        scaled(Float(1000.0), Int(-1)),
    );
    check(
        r#"{"id":"quantize","digits":-1,"dtype":"<f4"}"#,
        CodecConfig::Quantize { digits: -1, types: types("<f4", "<f4") },
    );
    check(r#"{"id":"packbits"}"#, CodecConfig::NumcodecsPackbits);
    check(r#"{"id":"bitround","keepbits":0}"#, CodecConfig::Bitround { keepbits: 0 });
    check(r#"{"id":"base64"}"#, CodecConfig::Base64);
    check(r#"{"id":"fletcher32"}"#, CodecConfig::Fletcher32);
    check(r#"{"id":"jenkins_lookup3","prefix":null}"#, CodecConfig::JenkinsLookup3 { initval: 0 });
    check(r#"{"id":"jenkins_lookup3","initval":7}"#, CodecConfig::JenkinsLookup3 { initval: 7 });
    // V2-T36: 0 means the size of the elements that reach it.
    check(r#"{"id":"shuffle"}"#, CodecConfig::Shuffle { elementsize: Some(4) });
    check(r#"{"id":"shuffle","elementsize":0}"#, CodecConfig::Shuffle { elementsize: None });
    let labels = CategorizeConfig {
        labels: vec!["a".into()],
        code_points: 3,
        endian: Endian::Big,
        astype: stored("|u1"),
    };
    check(r#"{"id":"categorize","labels":["a"],"dtype":">U3"}"#, CodecConfig::Categorize(labels));
    for bad in [
        r#"{"id":"delta"}"#,
        r#"{"id":"delta","dtype":7}"#,
        r#"{"id":"delta","dtype":"<q8"}"#,
        r#"{"id":"astype","encode_dtype":"<f4"}"#,
        r#"{"id":"fixedscaleoffset","offset":"1","scale":1,"dtype":"<f8"}"#,
        r#"{"id":"fixedscaleoffset","offset":1,"dtype":"<f8"}"#,
        r#"{"id":"quantize","digits":1.5,"dtype":"<f8"}"#,
        r#"{"id":"bitround"}"#,
        r#"{"id":"shuffle","elementsize":-4}"#,
        r#"{"id":"shuffle","elementsize":"4"}"#,
        r#"{"id":"categorize","labels":[1],"dtype":"<U3"}"#,
        r#"{"id":"categorize","labels":["a"],"dtype":"<U0"}"#,
        r#"{"id":"jenkins_lookup3","initval":-1}"#,
        r#"{"id":"jenkins_lookup3","prefix":"x"}"#,
        r#"{"id":"adler32","location":"middle"}"#,
    ] {
        assert!(compressor(bad).expect_err(bad).contains("compressor"), "{bad}");
    }
}

/// Categorize gives objects their type, as the first filter or, if there is none, as the
/// compressor.
#[test]
fn v2_048_categorize_makes_texts_of_objects() {
    let object = |members: &[(&str, &str)]| {
        let members = [&[("dtype", "\"|O\""), ("fill_value", "\"\"")], members].concat();
        array(".zarray", &with(ARRAY, &members)).map_err(|error| error.to_string())
    };
    let expected = |labels: &[&str], astype: &str| -> CodecSpec {
        let labels = labels.iter().map(|&label| label.to_owned()).collect();
        CodecConfig::Vlen(VlenConfig::Categorize(LabelsConfig { labels, astype: stored(astype) })).into()
    };
    for dtype in ["|O", "O", "object", "<O", ">O", "=O", "|O8"] {
        let filter = format!(r#"{{"id":"categorize","labels":["a","é"],"dtype":"{dtype}","astype":">u2"}}"#);
        let spec = object(&[("filters", &format!("[{filter}]"))]).expect(dtype);
        assert_eq!(spec.data_type, DataType::String);
        assert_eq!(spec.codecs[..], [expected(&["a", "é"], ">u2")]);
        let spec = object(&[("compressor", &filter)]).expect(dtype);
        assert_eq!(spec.codecs[..], [expected(&["a", "é"], ">u2")]);
    }
    // Without a type codes are bytes; other filters follow.
    let filters = r#"[{"id":"categorize","labels":[],"dtype":"|O"},{"id":"delta","dtype":"|u1"}]"#;
    let spec = object(&[("filters", filters)]).expect("codes");
    assert_eq!(spec.codecs[..], [expected(&[], "|u1"), CodecConfig::Delta(types("|u1", "|u1")).into()]);
    for (bad, named) in [
        (r#"{"id":"categorize","dtype":"|O"}"#, "no labels"),
        (r#"{"id":"categorize","labels":["a",1],"dtype":"|O"}"#, "labels"),
        (r#"{"id":"categorize","labels":"a","dtype":"|O"}"#, "labels"),
        (r#"{"id":"categorize","labels":["a"]}"#, "no dtype"),
        (r#"{"id":"categorize","labels":["a"],"dtype":"<U1"}"#, "dtype"),
        (r#"{"id":"categorize","labels":["a"],"dtype":"|O","astype":"|O"}"#, "astype"),
        (r#"{"id":"categorize","labels":["a"],"dtype":"|O","astype":7}"#, "astype"),
    ] {
        let error = object(&[("filters", &format!("[{bad}]"))]).expect_err(bad);
        assert!(error.contains("categorize") && error.contains(named), "{bad}: {error}");
    }
    let many = serde_json::json!([{"id": "categorize", "labels": vec![""; (1 << 16) + 1], "dtype": "|O"}]);
    assert!(object(&[("filters", &many.to_string())]).expect_err("too many").contains("labels"));
    // Without objects it does not create any.
    let filter = r#"[{"id":"categorize","labels":["a"],"dtype":"|O"}]"#;
    assert!(array(".zarray", &with(ARRAY, &[("filters", filter)])).is_err());
}

#[test]
fn v2_112_v2_113_streams_that_say_how_they_are_decoded() {
    check(r#"{"id":"pcodec"}"#, CodecConfig::Pcodec(PcodecConfig::default()));
    check_unwritable(
        r#"{"id":"pcodec","mode_spec":"new"}"#,
        CodecConfig::Pcodec(PcodecConfig::default()),
        "mode_spec",
    );
    let rate =
        r#"{"id":"zfpy","mode":2,"tolerance":-1,"rate":40,"precision":-1,"compression_kwargs":{"rate":40}}"#;
    let spec = compressor(rate).expect("opens");
    assert_eq!(spec.config, CodecConfig::Zfpy(ZfpMode::FixedRate { rate: 40.0 }));
    // V2-T52
    assert_eq!(
        compressor(r#"{"id":"zfpy","mode":5}"#).expect("opens").config,
        CodecConfig::Zfpy(ZfpMode::Reversible)
    );
    check_unwritable(r#"{"id":"zfpy","mode":4}"#, CodecConfig::Zfpy(ZfpMode::Reversible), "mode 4");
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
        check(&json, CodecConfig::Blosc(BloscConfig { shuffle, ..default }));
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
    check(r#"{"id":"zstd","level":"1"}"#, CodecConfig::Zstd { level: 1, checksum: false });
    check(r#"{"id":"gzip","level":"9"}"#, CodecConfig::Gzip { level: 9 });
    check_unwritable(r#"{"id":"gzip","level":10}"#, CodecConfig::Gzip { level: 1 }, "level 10");
    check_unwritable(r#"{"id":"zlib","level":"best"}"#, CodecConfig::Zlib { level: 1 }, "level \"best\"");
    check_unwritable(r#"{"id":"bz2","level":0}"#, CodecConfig::Bz2 { level: 1 }, "level 0");
    check_unwritable(
        r#"{"id":"lz4","acceleration":[]}"#,
        CodecConfig::Lz4 { acceleration: 1 },
        "acceleration []",
    );
    let zstd = CodecConfig::Zstd { level: 0, checksum: false };
    check_unwritable(r#"{"id":"zstd","checksum":"yes"}"#, zstd, "checksum");
}

#[test]
fn v2_t33_lzma() {
    let default = LzmaConfig { format: LzmaFormat::Xz, check: -1, preset: None, filters: None };
    check(r#"{"id":"lzma"}"#, CodecConfig::Lzma(default.clone()));
    check(
        r#"{"id":"lzma","format":1,"check":4,"preset":2147483657,"filters":null}"#,
        CodecConfig::Lzma(LzmaConfig { check: 4, preset: Some(0x8000_0009), ..default.clone() }),
    );
    check(
        r#"{"id":"lzma","delta":1,"preset":6}"#,
        CodecConfig::Lzma(LzmaConfig { preset: Some(6), ..default.clone() }),
    );
    check(
        r#"{"id":"lzma","format":3,"filters":[{"id":3,"dist":2},{"id":4611686018427387905,"preset":1}]}"#,
        CodecConfig::Lzma(LzmaConfig {
            format: LzmaFormat::Raw,
            filters: Some(vec![
                LzmaFilter { id: 3, options: vec![("dist".into(), 2)] },
                LzmaFilter { id: 0x4000_0000_0000_0001, options: vec![("preset".into(), 1)] },
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
    check_unwritable(r#"{"id":"lzma","preset":10}"#, CodecConfig::Lzma(default.clone()), "preset 10");
    check_unwritable(r#"{"id":"lzma","filters":[{}]}"#, CodecConfig::Lzma(default), "filters");
}

#[test]
fn v2_093_filters_come_before_the_compressor() {
    let text = with(
        ARRAY,
        &[
            ("filters", r#"[{"id":"zlib","level":3},{"id":"delta","dtype":"<u2"},{"id":"crc32c"}]"#),
            ("compressor", r#"{"id":"gzip","level":2}"#),
        ],
    );
    let spec = array(".zarray", &text).expect("opens");
    let configs: Vec<CodecConfig> = spec.codecs[1..].iter().map(|codec| codec.config.clone()).collect();
    assert_eq!(
        configs,
        [
            CodecConfig::Zlib { level: 3 },
            CodecConfig::Delta(types("<u2", "<u2")),
            CodecConfig::Crc32c { location: ChecksumLocation::End },
            CodecConfig::Gzip { level: 2 },
        ]
    );
}
