//! Data types and fill values of Zarr v2.

use ndzarr_model::{CodecConfig, Endian};

use crate::it::zarr2::{fails, opens};

#[test]
fn v2_040_t22_t48_data_types() {
    for (dtype, name, endian) in [
        ("|b1", "bool", None),
        ("<b1", "bool", None),
        ("|i1", "int8", None),
        ("<u1", "uint8", None),
        (">u1", "uint8", None),
        ("<i2", "int16", Some(Endian::Little)),
        (">i4", "int32", Some(Endian::Big)),
        (">u8", "uint64", Some(Endian::Big)),
        ("<f2", "float16", Some(Endian::Little)),
        ("<f4", "float32", Some(Endian::Little)),
        (">f8", "float64", Some(Endian::Big)),
        ("<c8", "complex64", Some(Endian::Little)),
        (">c16", "complex128", Some(Endian::Big)),
        ("|V3", "r24", None),
        (">V3", "r24", None),
        ("bfloat16", "bfloat16", Some(Endian::Little)),
        ("int4", "int4", None),
        ("float8_e5m2", "float8_e5m2", None),
        ("|S3", "null_terminated_bytes[3]", None),
        (">S1", "null_terminated_bytes[1]", None),
        ("<U2", "fixed_length_utf32[2]", Some(Endian::Little)),
        ("<M8[ns]", "numpy.datetime64[ns]", Some(Endian::Little)),
        (">m8[25s]", "numpy.timedelta64[25s]", Some(Endian::Big)),
        (
            "<M8[\u{3bc}s]",
            "numpy.datetime64[us]",
            Some(Endian::Little),
        ),
    ] {
        let spec = opens(&[("dtype", &format!("\"{dtype}\"")), ("fill_value", "null")]);
        assert_eq!(spec.data_type.to_string(), name, "{dtype}");
        assert_eq!(
            spec.codecs[..],
            [CodecConfig::Bytes { endian }.into()],
            "{dtype}"
        );
    }
    // Long doubles are named.
    for dtype in ["\"<f16\"", "\"<f12\"", "\"<c32\"", "\"<c24\""] {
        fails(
            &[("dtype", dtype)],
            &format!("unsupported data type {dtype}"),
        );
    }
    // V2-T22.
    fails(&[("dtype", "\"|O\"")], "object dtype without object codec");
    // V2-T48: the micro sign is not one of NumPy's.
    for dtype in [
        "\"<M8\"",
        "\"<M8[0s]\"",
        "\"<M8[\u{b5}s]\"",
        "\"<m8[2147483648s]\"",
        "\"|S0\"",
        "\"|U2\"",
        "[]",
        "[[\"a\"]]",
        "[[\"a\",\"<i2\"],[\"a\",\"<i2\"]]",
        "[[\"a\",\"<i2\",[0]]]",
        "[[\"a\",\"<i2\",[4611686018427387904,4]]]",
        "[[\"a\",\"|O\"]]",
    ] {
        fails(&[("dtype", dtype)], "dtype");
    }
    for dtype in [
        "f8", "u1", "|i2", "|f4", "|c8", "=i2", "<i3", "<u16", "<f1", "<b2", "<", "", "|V0", "|V",
        "|V-1", "<i+2", "<x4",
    ] {
        fails(&[("dtype", &format!("\"{dtype}\""))], "dtype");
    }
    fails(&[("dtype", "1")], "dtype");
}

#[test]
fn v2_060_t11_t21_t46_fill_values() {
    let bits = |f: f32| f.to_bits().to_ne_bytes().to_vec();
    let check = |dtype: &str, fill: &str, expected: Option<Vec<u8>>| {
        let dtype = format!("\"{dtype}\"");
        let members = [("dtype", dtype.as_str()), ("fill_value", fill)];
        match expected {
            Some(bytes) => assert_eq!(opens(&members).fill_value.bytes(), bytes, "{dtype} {fill}"),
            None => fails(&members, "fill_value"),
        }
    };
    for (fill, expected) in [
        ("true", Some(1)),
        ("false", Some(0)),
        ("1", Some(1)),
        ("0", Some(0)),
        ("2", None),
    ] {
        check("|b1", fill, expected.map(|value| vec![value]));
    }
    // V2-T46
    check(
        "<u8",
        "18446744073709551615",
        Some(u64::MAX.to_ne_bytes().to_vec()),
    );
    check(
        "<i8",
        "-9223372036854775808",
        Some(i64::MIN.to_ne_bytes().to_vec()),
    );
    check(">i2", "-2", Some((-2i16).to_ne_bytes().to_vec()));
    check("<i4", "7.0", Some(7i32.to_ne_bytes().to_vec()));
    check("<i4", "\"7\"", Some(7i32.to_ne_bytes().to_vec()));
    for (dtype, fill) in [
        ("<u8", "18446744073709551616"),
        ("<u2", "-1"),
        ("|u1", "256"),
        ("|i1", "-129"),
        ("<i4", "7.5"),
        ("<i4", "\"x\""),
        ("<i4", "\"\""),
        ("<i4", "NaN"),
        ("<i4", "true"),
        ("<i4", "[1,2]"),
        ("<i4", "[[1]]"),
        ("<i4", "\"+7\""),
    ] {
        check(dtype, fill, None);
    }
    // V2-T11
    for (fill, expected) in [
        ("\"NaN\"", Some(0x7fc0_0000)),
        ("\"Infinity\"", Some(0x7f80_0000)),
        ("\"-Infinity\"", Some(0xff80_0000)),
        ("NaN", Some(0x7fc0_0000)),
        ("-Infinity", Some(0xff80_0000)),
        ("1.5", Some(0x3fc0_0000)),
        ("\"1.5\"", Some(0x3fc0_0000)),
        ("-0.0", Some(0x8000_0000)),
        ("0.1", Some(0x3dcc_cccd)),
        ("0.10000000149011612", Some(0x3dcc_cccd)),
        ("\"0x7fc00000\"", None),
        ("\"nan\"", None),
        ("\"inf\"", None),
        ("\"\"", None),
        ("true", None),
        ("[]", None),
    ] {
        check(
            "<f4",
            fill,
            expected.map(|bits: u32| bits.to_ne_bytes().to_vec()),
        );
    }
    check(
        "<f2",
        "0.0999755859375",
        Some(0x2e66u16.to_ne_bytes().to_vec()),
    );
    check(
        "bfloat16",
        "\"NaN\"",
        Some(0x7fc0u16.to_ne_bytes().to_vec()),
    );
    check(
        "<c8",
        "[1.0, \"NaN\"]",
        Some([bits(1.0), 0x7fc0_0000u32.to_ne_bytes().to_vec()].concat()),
    );
    check("<c8", "2", Some([bits(2.0), bits(0.0)].concat()));
    check("<c8", "[1.0]", None);
    // V2-T21
    check("|V3", "\"YWJj\"", Some(b"abc".to_vec()));
    check("|V3", "0", Some(vec![0; 3]));
    for fill in ["\"YWI=\"", "\"YWJjZA==\"", "\"YWJ\"", "1", "[1,2,3]"] {
        check("|V3", fill, None);
    }
}

#[test]
fn v2_t12_undefined_fill_value() {
    for dtype in ["\"<f8\"", "\"|b1\"", "\"<i2\"", "\"|V5\"", "\"<c16\""] {
        let spec = opens(&[("dtype", dtype), ("fill_value", "null")]);
        assert!(
            !spec.fill_value.is_defined(),
            "null is no fill value: {dtype}"
        );
        assert!(spec.fill_value.is_zero(), "{dtype}");
        assert_eq!(
            Some(spec.fill_value.bytes().len()),
            spec.data_type.elem_size()
        );
    }
}
