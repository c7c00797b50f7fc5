//! Data types and fill values of v3.

use ndzarr_metadata::{fill_value_json, parse_fill_value_json, parse_json};
use ndzarr_model::{CodecConfig, DataType, Endian};

use crate::it::zarr3::{fails, opens};

/// Opens an array of this type and fill value; the `bytes` codec says little endian throughout.
fn check(data_type: &str, fill: &str, expected: Option<&[u8]>) {
    let members = [("data_type", data_type), ("fill_value", fill)];
    match expected {
        Some(bytes) => {
            let spec = opens(&members);
            assert_eq!(spec.fill_value.bytes(), bytes, "{data_type} {fill}");
            assert!(spec.fill_value.is_defined());
        }
        None => fails(&members, "fill_value"),
    }
}

/// The text that a fill value becomes when written again.
fn rewritten(data_type: &str, fill: &str) -> String {
    let data_type = DataType::from_name(data_type).expect("a known type");
    let value = parse_json(fill.as_bytes()).expect("JSON");
    fill_value_json(
        &data_type,
        &parse_fill_value_json(&data_type, &value).expect("a fill value"),
    )
    .to_string()
}

#[test]
fn v3_t04_t44_t46_t47_t67_data_types() {
    for (json, name) in [
        ("\"bool\"", "bool"),
        ("{\"name\":\"uint16\"}", "uint16"),
        ("{\"name\":\"uint16\",\"configuration\":{}}", "uint16"),
        ("\"r40\"", "r40"),
        ("\"bfloat16\"", "bfloat16"),
        ("\"complex_float32\"", "complex64"),
        ("\"complex_float64\"", "complex128"),
        (
            "{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":2}}",
            "r16",
        ),
    ] {
        let fill = match name {
            "bool" => "false",
            "r40" => "[0,0,0,0,0]",
            "r16" => "\"AQI=\"",
            "complex64" | "complex128" => "[0,0]",
            _ => "0",
        };
        assert_eq!(
            opens(&[("data_type", json), ("fill_value", fill)])
                .data_type
                .to_string(),
            name
        );
    }
    for name in ["json", "object", "int3", "float8", "vlen-array", "foo"] {
        fails(
            &[("data_type", &format!("\"{name}\""))],
            &format!("unsupported data type {name}"),
        );
    }
    for bad in [
        // V3-T46, V3-T47, V3-T44
        "\"numpy.datetime64\"",
        "{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\"}}",
        "{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\",\"scale_factor\":0}}",
        "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":10}}",
        "{\"name\":\"struct\",\"configuration\":{\"fields\":[]}}",
        "{\"name\":\"struct\",\"configuration\":{\"fields\":[{\"name\":\"\",\"data_type\":\"int8\"}]}}",
        "{\"name\":\"struct\",\"configuration\":{\"fields\":[{\"name\":\"a\",\"data_type\":\"string\"}]}}",
        "\"r12\"",
        "\"r0\"",
        "{\"name\":\"uint16\",\"configuration\":{\"x\":1}}",
        "1",
        "null",
        "{}",
        "{\"name\":1}",
        "{\"name\":\"raw_bytes\"}",
        "{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":0}}",
        "{\"name\":\"uint16\",\"configuration\":null}",
        "\"r9223372036854775800\"",
    ] {
        fails(&[("data_type", bad)], "data_type");
    }
}

/// Other names by older writers, read but not written.
#[test]
fn v3_061_read_aliases() {
    let name = |json: &str, fill: &str| {
        let codecs = r#"[{"name":"vlen-bytes"}]"#;
        opens(&[
            ("data_type", json),
            ("fill_value", fill),
            ("codecs", codecs),
        ])
        .data_type
        .to_string()
    };
    for alias in ["bytes", "variable_length_bytes", "binary"] {
        assert_eq!(name(&format!("\"{alias}\""), "\"AQI=\""), "bytes");
        assert_eq!(
            name(
                &format!("{{\"name\":\"{alias}\",\"configuration\":{{}}}}"),
                "[1,2]"
            ),
            "bytes"
        );
    }
    let fields = "\"configuration\":{\"fields\":[[\"a\",\"int16\"],[\"b\",\"uint8\"]]}";
    let structured = opens(&[
        (
            "data_type",
            &format!("{{\"name\":\"structured\",{fields}}}"),
        ),
        ("fill_value", "\"AQID\""),
    ]);
    // The fill value is in the byte order of the codec, which is little endian here.
    let first = 0x0201i16.to_ne_bytes();
    assert_eq!(structured.fill_value.bytes(), [first[0], first[1], 3]);
    fails(
        &[("data_type", &format!("{{\"name\":\"struct\",{fields}}}"))],
        "data_type",
    );
    let endian = r#"[{"name":"endian","configuration":{"endian":"big"}}]"#;
    assert_eq!(
        opens(&[("codecs", endian)]).codecs[..],
        [CodecConfig::Bytes {
            endian: Some(Endian::Big)
        }
        .into()]
    );
    for unit in ["us", "\u{3bc}s"] {
        let json = format!(
            "{{\"name\":\"numpy.datetime64\",\"configuration\":{{\"unit\":\"{unit}\",\"scale_factor\":25}}}}"
        );
        let date = opens(&[("data_type", &json), ("fill_value", "\"NaT\"")]);
        assert_eq!(date.data_type.to_string(), "numpy.datetime64[25us]");
        assert_eq!(date.fill_value.bytes(), i64::MIN.to_ne_bytes());
    }
}

/// A plain name is short for an object with nothing else.
#[test]
fn v3_052_short_names_at_every_extension_point() {
    let long = opens(&[]);
    let little = r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]"#;
    let codecs = r#"[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"]"#;
    assert_eq!(opens(&[("codecs", codecs)]), opens(&[("codecs", little)]));
    assert_eq!(opens(&[("data_type", r#"{"name":"uint16"}"#)]), long);
    assert_eq!(opens(&[("chunk_key_encoding", "\"default\"")]), long);
    let v2 = r#"{"name":"v2","configuration":{"separator":"."}}"#;
    assert_eq!(
        opens(&[("chunk_key_encoding", "\"v2\"")]),
        opens(&[("chunk_key_encoding", v2)])
    );
    // A grid needs a configuration, and no storage transformer is known: the error names both.
    fails(&[("chunk_grid", "\"regular\"")], "chunk_shape");
    fails(&[("storage_transformers", "[\"cache\"]")], "cache");
}

#[test]
fn v3_t07_t08_t10_floats() {
    let f32 = |bits: u32| bits.to_ne_bytes();
    for (fill, bits) in [
        ("\"0x7fc00001\"", 0x7fc0_0001),
        ("\"0xFFC00001\"", 0xffc0_0001),
        ("\"NaN\"", 0x7fc0_0000),
        ("\"Infinity\"", 0x7f80_0000),
        ("\"-Infinity\"", 0xff80_0000),
        ("\"+Infinity\"", 0x7f80_0000),
        ("1e39", 0x7f80_0000),
        ("-0.0", 0x8000_0000),
        ("1", 0x3f80_0000),
        ("0.1", 0x3dcc_cccd),
        // Midway between 1 and the next float, and a little above: rounding by way of f64 would
        // lose the difference.
        ("1.000000059604644775390625", 0x3f80_0000),
        ("1.0000000596046447753906250000001", 0x3f80_0001),
    ] {
        check("\"float32\"", fill, Some(&f32(bits)));
    }
    for bad in [
        "\"0x7fc0\"",
        "\"0x0\"",
        "\"0x7ff8000000000000\"",
        "\"7fc00000\"",
        "\"0X7fc00000\"",
        "\"0x7fc0000g\"",
        "\"0x+fc00000\"",
        "\"nan\"",
        "\"inf\"",
        "\"1.5\"",
        "true",
        "[1]",
        "\"\"",
    ] {
        check("\"float32\"", bad, None);
    }
    // V3-T08
    check("\"float16\"", "\"0x7e00\"", Some(&0x7e00u16.to_ne_bytes()));
    check("\"float16\"", "65520", Some(&0x7c00u16.to_ne_bytes()));
    check("\"bfloat16\"", "\"0x7fc1\"", Some(&0x7fc1u16.to_ne_bytes()));
    check(
        "\"float64\"",
        "\"NaN\"",
        Some(&0x7ff8_0000_0000_0000u64.to_ne_bytes()),
    );
    check(
        "\"complex64\"",
        "[\"NaN\",\"0x3f800000\"]",
        Some(&[f32(0x7fc0_0000), f32(0x3f80_0000)].concat()),
    );
    for bad in ["1", "[1]", "[1,2,3]", "[true,1]"] {
        check("\"complex64\"", bad, None);
    }
    for (data_type, fill, expected) in [
        ("float32", "\"0x7fc00001\"", "\"0x7fc00001\""),
        ("float32", "\"0x7fc00000\"", "\"NaN\""),
        ("float16", "\"0xfe00\"", "\"0xfe00\""),
        ("float32", "1e39", "\"Infinity\""),
        ("float64", "-1e999", "\"-Infinity\""),
        ("float32", "0.1", "0.1"),
        ("float32", "-0.0", "-0.0"),
        ("float16", "0.1", "0.1"),
        ("float64", "0.1", "0.1"),
        ("bfloat16", "\"NaN\"", "\"NaN\""),
        ("complex64", "[0.5,\"0x7fc00001\"]", "[0.5,\"0x7fc00001\"]"),
    ] {
        assert_eq!(rewritten(data_type, fill), expected, "{data_type} {fill}");
    }
}

#[test]
fn v3_t09_integers_and_bool() {
    check(
        "\"uint64\"",
        "18446744073709551615",
        Some(&u64::MAX.to_ne_bytes()),
    );
    check(
        "\"int64\"",
        "-9223372036854775808",
        Some(&i64::MIN.to_ne_bytes()),
    );
    check("\"int8\"", "-128", Some(&[0x80]));
    check("\"uint16\"", "7.0", Some(&7u16.to_ne_bytes()));
    for bad in ["-1", "65536", "7.5", "\"7\"", "true", "[7]"] {
        check("\"uint16\"", bad, None);
    }
    check("\"uint64\"", "18446744073709551616", None);
    check("\"bool\"", "true", Some(&[1]));
    // Some write numbers.
    check("\"bool\"", "0", Some(&[0]));
    check("\"bool\"", "1", Some(&[1]));
    for bad in ["2", "-1", "0.5", "\"1\"", "\"true\""] {
        check("\"bool\"", bad, None);
    }
    assert_eq!(
        rewritten("uint64", "18446744073709551615"),
        "18446744073709551615"
    );
    assert_eq!(rewritten("int16", "-2"), "-2");
    assert_eq!(rewritten("bool", "true"), "true");
}

#[test]
fn v3_t12_raw() {
    check("\"r16\"", "[1,2]", Some(&[1, 2]));
    for bad in [
        "[1]",
        "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]",
        "[1,256]",
        "[1,-1]",
        "[1,2.5]",
        "0",
    ] {
        check("\"r16\"", bad, None);
    }
    assert_eq!(rewritten("r16", "[1,2]"), "[1,2]");
}
