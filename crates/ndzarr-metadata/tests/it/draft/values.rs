//! The draft: data types, fill values, codecs.

use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, CodecConfig, DataType, Endian, FillValue,
};

use crate::it::draft::{ARRAY_A, ARRAY_B, array_a, array_b, configs, refused};
use crate::it::store::with;

fn typed_a(
    data_type: &str,
    fill: &str,
) -> Result<ndzarr_model::ArraySpec, ndzarr_metadata::MetadataError> {
    array_a(&with(
        ARRAY_A,
        &[
            ("data_type", data_type),
            ("fill_value", fill),
            ("codecs", ""),
        ],
    ))
}

fn typed_b(
    data_type: &str,
    fill: &str,
) -> Result<ndzarr_model::ArraySpec, ndzarr_metadata::MetadataError> {
    array_b(&with(
        ARRAY_B,
        &[
            ("data_type", data_type),
            ("fill_value", fill),
            ("attributes", ""),
        ],
    ))
}

#[test]
fn d3_060_t12_data_types_of_dialect_a() {
    for name in [
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
        "float32", "float64",
    ] {
        let spec = typed_a(&format!("{name:?}"), "0").expect(name);
        assert_eq!(spec.data_type.to_string(), name);
    }
    assert_eq!(
        typed_a("\"bool\"", "true").expect("opens").fill_value,
        FillValue::defined([1])
    );
    assert_eq!(
        typed_a("\"complex128\"", "[0,1]").expect("opens").data_type,
        DataType::Complex { bits: 128 }
    );
    assert_eq!(
        typed_a("\"r24\"", "\"0x010203\"")
            .expect("opens")
            .fill_value,
        FillValue::defined([1, 2, 3])
    );
    for (name, expected, endian) in [
        ("<f8", DataType::Float { bits: 64 }, Some(Endian::Little)),
        (">f8", DataType::Float { bits: 64 }, Some(Endian::Big)),
        ("f4", DataType::Float { bits: 32 }, Some(Endian::Little)),
        ("|u1", DataType::UInt { bits: 8 }, None),
        ("<i4", DataType::Int { bits: 32 }, Some(Endian::Little)),
        ("|b1", DataType::Bool, None),
    ] {
        let fill = if expected == DataType::Bool {
            "false"
        } else {
            "0"
        };
        let spec = typed_a(&format!("{name:?}"), fill).expect(name);
        assert_eq!(
            (spec.data_type.clone(), configs(&spec)),
            (expected, vec![CodecConfig::Bytes { endian }]),
            "{name}"
        );
    }
    for name in [
        "float8", "bfloat16", "r12", "|S3", "<U2", "|V3", "<M8[s]", "|i2", "<i3", "|O", "",
        "string",
    ] {
        refused(
            typed_a(&format!("{name:?}"), "0"),
            &["meta/a.array.json", "data type", name],
        );
    }
}

/// With both a `>` string and an endian codec, the codec decides.
#[test]
fn d3_069_the_endian_codec_decides() {
    let codecs = r#"[{"type":"https://purl.org/zarr/spec/codecs/endian/1.0","configuration":{"endian":"little"}}]"#;
    let spec = array_a(&with(
        ARRAY_A,
        &[("data_type", "\">u2\""), ("codecs", codecs)],
    ))
    .expect("opens");
    assert_eq!(
        configs(&spec),
        [CodecConfig::Bytes {
            endian: Some(Endian::Little)
        }]
    );
    for bad in ["{}", r#"{"endian":"middle"}"#, r#"{"endian":"big","x":1}"#] {
        let codecs = format!(
            r#"[{{"type":"https://purl.org/zarr/spec/codecs/endian/1.0","configuration":{bad}}}]"#
        );
        refused(
            array_a(&with(ARRAY_A, &[("codecs", &codecs)])),
            &["codecs[0]"],
        );
    }
}

#[test]
fn d3_064_extension_types_are_named() {
    let datetime = r#"{"extension":"https://purl.org/zarr/spec/extensions/data-types/datetime/1.0","type":"<M8[ns]","fallback":"<i8"}"#;
    let spec = typed_a(datetime, "null").expect("a type of the draft's own example");
    assert_eq!(spec.data_type.to_string(), "numpy.datetime64[ns]");
    assert_eq!(spec.fill_value.bytes(), i64::MIN.to_ne_bytes(), "D3-T13");
    refused(
        typed_a(r#"{"extension":"http://x/y","type":"z"}"#, "0"),
        &["http://x/y"],
    );
    refused(typed_a(r#"{"type":"z"}"#, "0"), &["data_type"]);
    refused(typed_a("3", "0"), &["data_type"]);
    let complex = r#"{"extension":"https://purl.org/zarr/spec/extensions/data-types/complex/1.0","type":"<c8"}"#;
    assert_eq!(
        typed_a(complex, "[0,0]").expect("known").data_type,
        DataType::Complex { bits: 64 }
    );
}

#[test]
fn d3_t13_null_fill_values() {
    refused(
        typed_a("\"uint16\"", "null"),
        &["meta/a.array.json", "fill_value"],
    );
    for (name, size) in [("<u2", 2), ("bool", 1), ("<f8", 8), ("i1", 1)] {
        let spec = typed_b(&format!("{name:?}"), "null").expect(name);
        assert!(!spec.fill_value.is_defined() && spec.fill_value.is_zero());
        assert_eq!(spec.fill_value.bytes().len(), size);
    }
}

#[test]
fn d3_t14_fill_values_of_dialect_a() {
    for (data_type, fill, expected) in [
        (
            "float32",
            "\"0x7fc00001\"",
            0x7fc0_0001u32.to_ne_bytes().to_vec(),
        ),
        ("float32", "\"NaN\"", 0x7fc0_0000u32.to_ne_bytes().to_vec()),
        (
            "float16",
            "\"0b0011110000000000\"",
            0x3c00u16.to_ne_bytes().to_vec(),
        ),
        ("float16", "\"0x3c00\"", 0x3c00u16.to_ne_bytes().to_vec()),
        (
            "float64",
            "\"+Infinity\"",
            f64::INFINITY.to_ne_bytes().to_vec(),
        ),
        (
            "float64",
            "\"Infinity\"",
            f64::INFINITY.to_ne_bytes().to_vec(),
        ),
        (
            "float64",
            "\"-Infinity\"",
            f64::NEG_INFINITY.to_ne_bytes().to_vec(),
        ),
        ("float64", "1", 1f64.to_ne_bytes().to_vec()),
        (
            "uint64",
            "18446744073709551615",
            u64::MAX.to_ne_bytes().to_vec(),
        ),
        ("int16", "\"0xfffe\"", (-2i16).to_ne_bytes().to_vec()),
        ("uint8", "\"0b10000001\"", vec![0x81]),
        ("r16", "[1,2]", vec![1, 2]),
        ("r16", "\"0x0102\"", vec![1, 2]),
    ] {
        let spec = typed_a(&format!("{data_type:?}"), fill).expect(fill);
        assert_eq!(
            spec.fill_value,
            FillValue::defined(expected),
            "{data_type} {fill}"
        );
    }
    let parts = |re: f32, im: f32| [re.to_ne_bytes(), im.to_ne_bytes()].concat();
    for fill in [
        "[1,\"+Infinity\"]",
        "\"0x3f8000007f800000\"",
        "[1.0,\"0x7f800000\"]",
    ] {
        let spec = typed_a("\"complex64\"", fill).expect(fill);
        assert_eq!(
            spec.fill_value,
            FillValue::defined(parts(1.0, f32::INFINITY)),
            "{fill}"
        );
    }
    for (data_type, fill) in [
        ("float32", "\"0x7fc0001\""),
        ("float16", "\"0b111\""),
        ("float32", "\"0b2\""),
        ("float32", "\"nan\""),
        ("float32", "true"),
        ("uint16", "65536"),
        ("uint16", "-1"),
        ("uint16", "1.0"),
        ("uint16", "1e2"),
        ("uint16", "\"7\""),
        ("uint16", "\"0x7\""),
        ("int16", "true"),
        ("bool", "0"),
        ("bool", "null"),
        ("complex64", "1"),
        ("complex64", "[1]"),
        ("complex64", "\"0x3f800000\""),
        ("r16", "\"0x01\""),
        ("r16", "\"AQI=\""),
        ("r16", "[1]"),
        ("r16", "0"),
    ] {
        refused(
            typed_a(&format!("{data_type:?}"), fill),
            &["meta/a.array.json", "fill_value"],
        );
    }
}

#[test]
fn d3_t17_blosc_of_dialect_a() {
    let blosc = |data_type: &str, configuration: &str| {
        let codecs = format!(
            r#"[{{"type":"https://purl.org/zarr/spec/codecs/blosc/1.0","configuration":{configuration}}}]"#
        );
        array_a(&with(
            ARRAY_A,
            &[("data_type", data_type), ("codecs", &codecs)],
        ))
    };
    let config = |shuffle, typesize| {
        CodecConfig::Blosc(BloscConfig {
            cname: BloscCname::Lz4,
            clevel: 5,
            shuffle,
            typesize: Some(typesize),
            blocksize: 0,
        })
    };
    let spec = blosc(
        "\"uint32\"",
        r#"{"cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#,
    )
    .expect("opens");
    assert_eq!(configs(&spec)[1], config(BloscShuffle::Byte, 4));
    let spec = blosc(
        "\"uint8\"",
        r#"{"cname":"lz4","clevel":5,"shuffle":-1,"blocksize":0}"#,
    )
    .expect("opens");
    assert_eq!(configs(&spec)[1], config(BloscShuffle::Auto, 1));
    for bad in [
        r#"{"cname":"lz4","clevel":5,"shuffle":"shuffle","blocksize":0}"#,
        r#"{"cname":"lz4","clevel":5,"shuffle":3,"blocksize":0}"#,
        r#"{"cname":"lz4","clevel":10,"shuffle":1,"blocksize":0}"#,
        r#"{"cname":"lz5","clevel":5,"shuffle":1,"blocksize":0}"#,
        r#"{"clevel":5,"shuffle":1,"blocksize":0}"#,
        r#"{"cname":"lz4","shuffle":1,"blocksize":0}"#,
        r#"{"cname":"lz4","clevel":5,"blocksize":0}"#,
        r#"{"cname":"lz4","clevel":5,"shuffle":1}"#,
        r#"{"cname":"lz4","clevel":5,"shuffle":1,"blocksize":0,"typesize":4}"#,
    ] {
        refused(
            blosc("\"uint32\"", bad),
            &["meta/a.array.json", "codecs[0]"],
        );
    }
}

#[test]
fn d3_066_t37_data_types_of_dialect_b() {
    for (name, expected, endian) in [
        ("bool", DataType::Bool, None),
        ("i1", DataType::Int { bits: 8 }, None),
        ("u1", DataType::UInt { bits: 8 }, None),
        ("<i2", DataType::Int { bits: 16 }, Some(Endian::Little)),
        (">u8", DataType::UInt { bits: 64 }, Some(Endian::Big)),
        ("<f2", DataType::Float { bits: 16 }, Some(Endian::Little)),
        ("|u1", DataType::UInt { bits: 8 }, None),
        ("|b1", DataType::Bool, None),
        ("int16", DataType::Int { bits: 16 }, Some(Endian::Little)),
        (
            "float64",
            DataType::Float { bits: 64 },
            Some(Endian::Little),
        ),
    ] {
        let spec = typed_b(&format!("{name:?}"), "null").expect(name);
        assert_eq!(
            (spec.data_type.clone(), configs(&spec)[0].clone()),
            (expected, CodecConfig::Bytes { endian }),
            "{name}"
        );
    }
    for uri in [
        "https://zarr-specs.readthedocs.io/en/core-protocol-v3.0-dev/protocol/extensions/complex-dtypes/v1.0.html",
        "any text",
    ] {
        let complex = format!(r#"{{"extension":{uri:?},"fallback":null,"type":"<c8"}}"#);
        let spec = typed_b(&complex, r#"[1.0,"Infinity"]"#).expect(uri);
        assert_eq!(spec.data_type, DataType::Complex { bits: 64 });
        let expected = [1f32.to_ne_bytes(), f32::INFINITY.to_ne_bytes()].concat();
        assert_eq!(spec.fill_value, FillValue::defined(expected));
    }
    let raw = r#"{"extension":"TODO: structured array protocol URL","fallback":null,"type":[["","|V3"]]}"#;
    let spec = typed_b(raw, "\"AQID\"").expect("D3-068");
    assert_eq!(
        (spec.data_type, spec.fill_value),
        (DataType::Raw { bytes: 3 }, FillValue::defined([1, 2, 3]))
    );
    for name in ["float8", "<q2", "", "|i2"] {
        refused(
            typed_b(&format!("{name:?}"), "null"),
            &["meta/root/a.array.json", name],
        );
    }
    refused(typed_b(r#"{"type":"<c8"}"#, "null"), &["data_type"]);
    refused(typed_b(r#"{"extension":"x"}"#, "null"), &["data_type"]);
}

#[test]
fn d3_075_fill_values_of_dialect_b() {
    let spec = typed_b("\"<f2\"", "0.0999755859375").expect("opens");
    assert_eq!(spec.fill_value, FillValue::defined(0x2e66u16.to_ne_bytes()));
    assert_eq!(
        typed_b("\"<f4\"", "\"Infinity\"")
            .expect("opens")
            .fill_value,
        FillValue::defined(f32::INFINITY.to_ne_bytes())
    );
    refused(typed_b("\"<f4\"", "\"0x7fc00000\""), &["fill_value"]);
}

#[test]
fn d3_t42_d3_089_compressors_of_dialect_b() {
    let compressor = |id: &str, configuration: &str| {
        let value = format!(
            r#"{{"codec":"https:\/\/purl.org\/zarr\/spec\/codec\/{id}\/1.0","configuration":{configuration}}}"#
        );
        // GDAL's escapes must not be lost.
        let document = with(ARRAY_B, &[("attributes", "{}")]);
        array_b(&document.replacen('{', &format!("{{\"compressor\":{value},"), 1))
            .map(|spec| configs(&spec))
    };
    let blosc = BloscConfig {
        cname: BloscCname::Lz4,
        clevel: 5,
        shuffle: BloscShuffle::Byte,
        typesize: None,
        blocksize: 0,
    };
    for (id, configuration, expected) in [
        ("gzip", r#"{"level":1}"#, CodecConfig::Gzip { level: 1 }),
        ("zlib", r#"{"level":1}"#, CodecConfig::Zlib { level: 1 }),
        ("bz2", r#"{"level":9}"#, CodecConfig::Bz2 { level: 9 }),
        (
            "lz4",
            r#"{"acceleration":1}"#,
            CodecConfig::Lz4 { acceleration: 1 },
        ),
        (
            "zstd",
            r#"{"level":3}"#,
            CodecConfig::Zstd {
                level: 3,
                checksum: false,
            },
        ),
        (
            "zstd",
            r#"{"checksum":true,"level":3}"#,
            CodecConfig::Zstd {
                level: 3,
                checksum: true,
            },
        ),
        (
            "blosc",
            r#"{"blocksize":0,"clevel":5,"cname":"lz4","shuffle":1}"#,
            CodecConfig::Blosc(blosc),
        ),
    ] {
        assert_eq!(compressor(id, configuration).expect(id)[1], expected);
    }
    assert!(matches!(
        compressor(
            "lzma",
            r#"{"check":-1,"filters":null,"format":1,"preset":null}"#
        )
        .expect("opens")[1],
        CodecConfig::Lzma(_)
    ));
    refused(
        compressor("brotli", "{}"),
        &[
            "meta/root/a.array.json",
            "https://purl.org/zarr/spec/codec/brotli/1.0",
        ],
    );
    refused(compressor("crc32c", "{}"), &["crc32c"]);
    for bad in [
        r#""gzip""#,
        r#"{"id":"gzip"}"#,
        r#"{"codec":"gzip"}"#,
        r#"{"codec":"https://purl.org/zarr/spec/codec/gzip/1.0","configuration":1}"#,
    ] {
        refused(
            array_b(&with(ARRAY_B, &[("compressor", bad)])),
            &["meta/root/a.array.json"],
        );
    }
    let any = r#"{"codec":"https://purl.org/zarr/spec/codec/gzip/7","configuration":{"level":1}}"#;
    assert!(
        array_b(&with(ARRAY_B, &[("compressor", any)])).is_ok(),
        "any version"
    );
}

#[test]
fn d3_t34_only_lists_of_codecs_are_filters() {
    for plain in [r#""none""#, "[]", "[1]", r#"[{"name":"delta"}]"#, "null"] {
        let document = with(
            ARRAY_B,
            &[("attributes", &format!(r#"{{"filters":{plain}}}"#))],
        );
        assert_eq!(array_b(&document).expect(plain).codecs.len(), 1, "{plain}");
    }
}
