use ndzarr_metadata::{
    AttributeChange, MemberKind, NodeKind, OpenOptions, attribute_f64, change_attributes, erase,
};
use ndzarr_model::{ArraySpec, CodecCheck, CodecConfig, DataType, Endian, KeyEncoding};
use serde_json::json;

use crate::it::store::{Store, array, with};

pub(crate) const ARRAY: &str = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<u2","compressor":null,
    "filters":null,"fill_value":7,"order":"C"}"#;

fn spec(members: &[(&str, &str)]) -> Result<ArraySpec, String> {
    array(".zarray", &with(ARRAY, members)).map_err(|e| e.to_string())
}

fn opens(members: &[(&str, &str)]) -> ArraySpec {
    spec(members).unwrap_or_else(|e| panic!("{members:?}: {e}"))
}

fn fails(members: &[(&str, &str)], in_message: &str) {
    let error = spec(members).expect_err(&format!("{members:?} opens"));
    assert!(error.starts_with(".zarray: "), "{error}");
    assert!(error.contains(in_message), "{error:?} does not name {in_message:?}");
}

#[test]
fn v2_020_a_plain_array() {
    let spec = opens(&[]);
    assert_eq!(spec.shape, [4]);
    assert_eq!(spec.unit_shape, [2]);
    assert_eq!(spec.data_type, DataType::UInt { bits: 16 });
    assert_eq!(spec.fill_value.bytes(), 7u16.to_ne_bytes());
    assert!(spec.fill_value.is_defined());
    assert_eq!(spec.codecs[..], [CodecConfig::Bytes { endian: Some(Endian::Little) }.into()]);
    assert_eq!(spec.codec_check, CodecCheck::AtAccess);
    assert_eq!(spec.keys.key(&[1]), "1");
    assert_eq!(spec.dimension_names, None);
}

#[test]
fn v2_t01_scalar() {
    let spec = opens(&[("shape", "[]"), ("chunks", "[]"), ("dtype", "\"<i4\"")]);
    assert_eq!(spec.keys.key(&[]), "0");
}

#[test]
fn v2_t02_root_keys() {
    let store = Store::new(&[(".zarray", ARRAY), ("a/b/c/.zarray", ARRAY)]);
    assert_eq!(store.open("/").expect("root").documents[0].0, ".zarray");
    let node = store.open("a//b\\c/").expect("normalised");
    assert_eq!(node.documents[0].0, "a/b/c/.zarray");
    assert_eq!(node.kind.array().map(|spec| spec.keys.key(&[1])).as_deref(), Some("a/b/c/1"));
    assert!(store.open("a/../b").is_err());
}

#[test]
fn v2_t03_order_f_is_a_reversal() {
    for (shape, order, expected) in [
        ("[2,3]", "\"F\"", Some(vec![1, 0])),
        ("[2,3]", "\"C\"", None),
        ("[4]", "\"F\"", None),
        ("[]", "\"F\"", None),
    ] {
        let spec = opens(&[("shape", shape), ("chunks", shape), ("order", order), ("dtype", "\">u2\"")]);
        let mut codecs: Vec<_> =
            expected.into_iter().map(|order| CodecConfig::Transpose { order }.into()).collect();
        codecs.push(CodecConfig::Bytes { endian: Some(Endian::Big) }.into());
        assert_eq!(spec.codecs[..], codecs, "{shape} {order}");
    }
    fails(&[("order", "\"A\"")], "order");
}

#[test]
fn v2_t06_separator() {
    let keys = |members: &[(&str, &str)]| {
        opens(&[&[("shape", "[3,3]"), ("chunks", "[1,1]")], members].concat()).keys.key(&[0, 1])
    };
    assert_eq!(keys(&[("dimension_separator", "\"/\"")]), "0/1");
    assert_eq!(keys(&[("dimension_separator", "\".\"")]), "0.1");
    assert_eq!(keys(&[]), "0.1");
    for bad in ["\"-\"", "\"\"", "1"] {
        fails(&[("dimension_separator", bad)], "dimension_separator");
    }
    // The caller knows better than the document.
    let options = OpenOptions { separator: Some('/'), ..OpenOptions::default() };
    for text in [ARRAY.to_owned(), with(ARRAY, &[("dimension_separator", "\".\"")])] {
        let node = Store::new(&[(".zarray", &text)]).open_with("", &options).expect("opens");
        let encoding = node.kind.array().map(|spec| spec.keys.encoding);
        assert_eq!(encoding, Some(KeyEncoding::V2 { separator: '/' }));
    }
}

#[test]
fn v2_t07_missing_and_empty_members() {
    assert_eq!(opens(&[("filters", "[]")]).codecs.len(), 1);
    assert_eq!(opens(&[("filters", "")]).codecs.len(), 1);
    assert_eq!(opens(&[("compressor", "")]).codecs.len(), 1);
    for name in ["order", "shape", "chunks", "dtype", "zarr_format"] {
        fails(&[(name, "")], name);
    }
    fails(&[("filters", "{}")], "filters");
    fails(&[("compressor", "[]")], "compressor");
    fails(&[("compressor", "{}")], "id");
    fails(&[("filters", "[{\"id\":1}]")], "filters[0]");
}

#[test]
fn v2_t08_unknown_members() {
    opens(&[("node_type", "\"array\""), ("attributes", "{}"), ("foo", "1")]);
}

#[test]
fn v2_t09_format() {
    for bad in ["\"2\"", "2.0", "3", "1", "null"] {
        fails(&[("zarr_format", bad)], "zarr_format");
    }
}

#[test]
fn v2_t10_chunks() {
    fails(&[("chunks", "[2,2]")], "[2, 2]");
    fails(&[("chunks", "[0]")], "[0]");
    let spec = opens(&[("shape", "[0]"), ("chunks", "[0]")]);
    assert_eq!((spec.shape, spec.unit_shape), (vec![0], vec![0]));
    for bad in ["[-1]", "[2.0]", "[18446744073709551616]", "2", "[\"2\"]", "null", "[true]"] {
        fails(&[("chunks", bad)], "chunks");
        fails(&[("shape", bad)], "shape");
    }
}

#[test]
fn v2_086_sizes_that_overflow() {
    fails(&[("shape", "[18446744073709551615]"), ("chunks", "[9223372036854775807]")], "too large");
    fails(&[("shape", "[1,1]"), ("chunks", "[18446744073709551615,2]")], "too large");
    fails(&[("shape", "[0,1]"), ("chunks", "[0,18446744073709551615]")], "too large");
    fails(&[("dtype", "\"|V9223372036854775807\""), ("fill_value", "null")], "dtype");
    // V2-T59: the array itself may be of any size.
    let spec = opens(&[("shape", "[18446744073709551615,18446744073709551615]"), ("chunks", "[1,1]")]);
    assert_eq!(spec.shape, [u64::MAX, u64::MAX]);
}

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
        ("<M8[\u{3bc}s]", "numpy.datetime64[us]", Some(Endian::Little)),
    ] {
        let spec = opens(&[("dtype", &format!("\"{dtype}\"")), ("fill_value", "null")]);
        assert_eq!(spec.data_type.to_string(), name, "{dtype}");
        assert_eq!(spec.codecs[..], [CodecConfig::Bytes { endian }.into()], "{dtype}");
    }
    // Long doubles are named.
    for dtype in ["\"<f16\"", "\"<f12\"", "\"<c32\"", "\"<c24\""] {
        fails(&[("dtype", dtype)], &format!("unsupported data type {dtype}"));
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
        "f8", "u1", "|i2", "|f4", "|c8", "=i2", "<i3", "<u16", "<f1", "<b2", "<", "", "|V0", "|V", "|V-1",
        "<i+2", "<x4",
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
    for (fill, expected) in
        [("true", Some(1)), ("false", Some(0)), ("1", Some(1)), ("0", Some(0)), ("2", None)]
    {
        check("|b1", fill, expected.map(|value| vec![value]));
    }
    // V2-T46
    check("<u8", "18446744073709551615", Some(u64::MAX.to_ne_bytes().to_vec()));
    check("<i8", "-9223372036854775808", Some(i64::MIN.to_ne_bytes().to_vec()));
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
        check("<f4", fill, expected.map(|bits: u32| bits.to_ne_bytes().to_vec()));
    }
    check("<f2", "0.0999755859375", Some(0x2e66u16.to_ne_bytes().to_vec()));
    check("bfloat16", "\"NaN\"", Some(0x7fc0u16.to_ne_bytes().to_vec()));
    check("<c8", "[1.0, \"NaN\"]", Some([bits(1.0), 0x7fc0_0000u32.to_ne_bytes().to_vec()].concat()));
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
        assert!(!spec.fill_value.is_defined(), "null is no fill value: {dtype}");
        assert!(spec.fill_value.is_zero(), "{dtype}");
        assert_eq!(Some(spec.fill_value.bytes().len()), spec.data_type.elem_size());
    }
}

#[test]
fn v2_t39_attributes_with_nan() {
    let store = Store::new(&[
        (".zarray", ARRAY),
        (".zattrs", "{\"a\": NaN, \"b\": 1e400, \"c\": 18446744073709551616}"),
    ]);
    let node = store.open("").expect("numbers that JSON does not have are let in");
    assert_eq!(node.attributes["a"], "NaN");
    assert!(attribute_f64(&node.attributes["a"]).is_some_and(f64::is_nan));
    assert_eq!(node.attributes["b"], "Infinity");
    assert_eq!(attribute_f64(&node.attributes["b"]), Some(f64::INFINITY));
    assert_eq!(node.attributes["c"], 18_446_744_073_709_551_616.0);
    let change = AttributeChange::Merge(json!({"d": 1}).as_object().cloned().expect("an object"));
    let current = store.text(".zattrs").as_bytes();
    let changed = change_attributes(&node, Some(current), &change).expect("another attribute");
    let compact: String = String::from_utf8_lossy(&changed).split_whitespace().collect();
    assert_eq!(compact, r#"{"a":NaN,"b":1e400,"c":18446744073709551616,"d":1}"#);
    // As a user puts all of them back.
    let mut all = node.attributes.clone();
    all.insert("d".to_owned(), 1.into());
    let put = change_attributes(&node, Some(current), &AttributeChange::Replace(all)).expect("as it was");
    assert_eq!(put, changed);
    let remove = AttributeChange::Remove(vec!["a".to_owned()]);
    let changed = change_attributes(&node, Some(current), &remove).expect("nothing else is in the way");
    assert_eq!(&changed[..], "{\n  \"b\": 1e400,\n  \"c\": 18446744073709551616\n}".as_bytes());
}

#[test]
fn v2_033_attributes() {
    let store = Store::new(&[(".zgroup", "{\"zarr_format\":2}")]);
    let node = store.open("").expect("opens");
    assert!(node.attributes.is_empty());
    assert_eq!(ndzarr_metadata::attributes_key(&node), ".zattrs");
    let new = json!({"b": {"x": null}, "a": "é"}).as_object().cloned().expect("an object");
    let changed = change_attributes(&node, None, &AttributeChange::Replace(new)).expect("no document yet");
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&changed).ok(),
        Some(json!({"b": {"x": null}, "a": "é"}))
    );
    let path = AttributeChange::RemoveN5Path("a".to_owned());
    assert!(change_attributes(&node, None, &path).is_err());
    for bad in ["[]", "{", "", "null"] {
        let error = Store::new(&[("g/.zgroup", "{\"zarr_format\":2}"), ("g/.zattrs", bad)]).open("g");
        assert!(error.expect_err(bad).to_string().contains("g/.zattrs"), "{bad}");
    }
}

#[test]
fn v2_t40_a_node_without_ancestors() {
    let store = Store::new(&[("foo/.zarray", ARRAY)]);
    assert!(store.open("foo").is_ok());
    let error = store.open("").expect_err("no implicit groups").to_string();
    for tried in ["zarr.json", ".zarray", ".zgroup", "attributes.json"] {
        assert!(error.contains(tried), "{error}");
    }
}

#[test]
fn v2_t41_members() {
    let group = "{\"zarr_format\":2}";
    let store = Store::new(&[
        (".zgroup", group),
        (".zattrs", "{}"),
        ("a/.zarray", ARRAY),
        ("a/0", ""),
        ("b/.zgroup", group),
        ("b/x/.zarray", ARRAY),
        ("c/d/.zarray", ARRAY),
        ("e/zarr.json", "{}"),
        (".DS_Store", ""),
    ]);
    let node = store.open("").expect("a group");
    let members = store.ask(|known| ndzarr_metadata::members(&node, known)).expect("members");
    let members: Vec<_> = members.iter().map(|member| (member.name.as_str(), member.kind)).collect();
    assert_eq!(members, [("a", MemberKind::Array), ("b", MemberKind::Group)]);
    assert_eq!(store.members("a"), [""; 0]);
}

#[test]
fn v2_t43_t59_group_documents() {
    for good in ["{\"zarr_format\":2}", "{\"zarr_format\":2,\"consolidated_metadata\":{\"x\":1}}"] {
        let node = Store::new(&[(".zgroup", good)]).open("").expect(good);
        assert_eq!(node.kind, NodeKind::Group);
    }
    for bad in ["{\"zarr_format\":3}", "{\"zarr_format\":2.0}", "{}", "[]", "x", "", "{\"zarr_format\":2} x"]
    {
        let error = Store::new(&[("g/.zgroup", bad)]).open("g").expect_err(bad).to_string();
        assert!(error.starts_with("g/.zgroup: "), "{error}");
    }
}

#[test]
fn v2_137_an_array_before_a_group() {
    let store = Store::new(&[(".zarray", ARRAY), (".zgroup", "{\"zarr_format\":2}")]);
    assert!(store.open("").expect("opens").kind.array().is_some());
}

#[test]
fn v2_144_erasing() {
    let store = Store::new(&[(".zgroup", "{\"zarr_format\":2}"), ("a/.zarray", ARRAY)]);
    let erasure = erase(&store.open("a").expect("opens"));
    assert_eq!(erasure.documents, ["a/.zarray", "a/.zgroup", "a/.zattrs"]);
    assert_eq!(erasure.prefixes, ["a/"]);
    assert_eq!(erase(&store.open("").expect("opens")).prefixes, [""]);
}

#[test]
fn v2_146_dimension_names() {
    let names = |attributes: &str| {
        let store = Store::new(&[(".zarray", ARRAY), (".zattrs", attributes)]);
        let node = store.open("").expect("opens");
        assert_eq!(node.attributes.len(), 1, "the attribute stays in sight");
        node.kind.array().and_then(|spec| spec.dimension_names.clone())
    };
    assert_eq!(names("{\"_ARRAY_DIMENSIONS\":[\"x\"]}"), Some(vec![Some("x".to_owned())]));
    for other in ["[\"x\",\"y\"]", "[1]", "\"x\"", "null", "[null]"] {
        assert_eq!(names(&format!("{{\"_ARRAY_DIMENSIONS\":{other}}}")), None, "{other}");
    }
}
