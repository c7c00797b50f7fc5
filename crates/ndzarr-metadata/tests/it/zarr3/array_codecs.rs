//! Array codecs in v3 documents.

use ndzarr_metadata::codecs_json;
use ndzarr_model::{CodecConfig, DataType};
use serde_json::Value;

use crate::it::zarr3::spec;

const LITTLE: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;

/// The codecs of a document when written again, for chunks of shape [4, 6].
fn written(data_type: &str, fill: &str, codecs: &str) -> Result<Value, String> {
    let grid = r#"{"name":"regular","configuration":{"chunk_shape":[4,6]}}"#;
    let data_type_json = format!("\"{data_type}\"");
    let members = [
        ("shape", "[8,6]"),
        ("chunk_grid", grid),
        ("data_type", &data_type_json),
        ("fill_value", fill),
        ("codecs", codecs),
    ];
    let data_type = DataType::from_name(data_type).expect("a data type");
    spec(&members).map(|spec| codecs_json(&spec.codecs, &data_type))
}

/// Codecs are written as they were read, or as `expected`.
fn check(data_type: &str, codecs: &str, expected: Option<&str>) {
    let written = written(data_type, "0", codecs).expect(codecs);
    let expected: Value = serde_json::from_str(expected.unwrap_or(codecs)).expect("JSON");
    assert_eq!(written, expected);
}

fn refuse(data_type: &str, codecs: &str, names: &str) {
    let error = written(data_type, "0", codecs).expect_err(codecs);
    assert!(error.contains(names), "{codecs}: {error}");
}

fn with_bytes(codec: &str) -> String {
    format!("[{codec},{LITTLE}]")
}

#[test]
fn v3_151_numcodecs() {
    for codec in [
        r#"{"name":"numcodecs.delta","configuration":{"dtype":"<i4","astype":"<i2"}}"#,
        r#"{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":10,"scale":2.5,"dtype":"<i4","astype":"<u2"}}"#,
        r#"{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f8","decode_dtype":"<i4"}}"#,
    ] {
        check("int32", &with_bytes(codec), None);
    }
    let quantize = r#"{"name":"numcodecs.quantize","configuration":{"digits":2,"dtype":"<f4","astype":"<f4"}}"#;
    check("float32", &with_bytes(quantize), None);
    for codec in [
        r#"{"name":"numcodecs.crc32","configuration":{}}"#,
        r#"{"name":"numcodecs.adler32","configuration":{"location":"end"}}"#,
        r#"{"name":"numcodecs.fletcher32","configuration":{}}"#,
        r#"{"name":"numcodecs.jenkins_lookup3","configuration":{"initval":3,"prefix":null}}"#,
        r#"{"name":"numcodecs.shuffle","configuration":{"elementsize":2}}"#,
    ] {
        check("int32", &format!("[{LITTLE},{codec}]"), None);
    }
    // An id that equals the name is allowed; other members are not (V3-T63).
    let with_id = r#"{"name":"numcodecs.crc32","configuration":{"id":"crc32"}}"#;
    check(
        "int32",
        &format!("[{LITTLE},{with_id}]"),
        Some(&format!(
            r#"[{LITTLE},{{"name":"numcodecs.crc32","configuration":{{}}}}]"#
        )),
    );
    refuse(
        "int32",
        &with_bytes(r#"{"name":"numcodecs.delta","configuration":{"dtype":"<i4","x":1}}"#),
        "\"x\"",
    );
    refuse(
        "int32",
        &with_bytes(r#"{"name":"numcodecs.delta","configuration":{"id":"astype","dtype":"<i4"}}"#),
        "id",
    );
    // In their places.
    let delta = r#"{"name":"numcodecs.delta","configuration":{"dtype":"<i4"}}"#;
    refuse("int32", &format!("[{LITTLE},{delta}]"), "in this order");
    refuse(
        "int32",
        &with_bytes(r#"{"name":"numcodecs.crc32"}"#),
        "in this order",
    );
    // Codecs that only v2 has.
    refuse_unknown(r#"{"name":"numcodecs.base64"}"#);
    refuse_unknown(
        r#"{"name":"numcodecs.categorize","configuration":{"labels":[],"dtype":"<U1"}}"#,
    );
}

/// Each codec of numcodecs that v3 has, in its place, with only its name if numcodecs needs no
/// more.
#[test]
fn v3_151_every_name_of_numcodecs() {
    let behind = [
        "blosc",
        "lz4",
        "zstd",
        "zlib",
        "gzip",
        "bz2",
        "lzma",
        "shuffle",
        "crc32",
        "crc32c",
        "adler32",
        "fletcher32",
        "jenkins_lookup3",
    ];
    for id in behind {
        let spec = spec(&[("codecs", &format!(r#"[{LITTLE},"numcodecs.{id}"]"#))]).expect(id);
        assert_eq!((spec.codecs.len(), spec.codecs[1].config.name()), (2, id));
    }
    for (data_type, id, configuration) in [
        ("uint16", "delta", r#"{"dtype":"<u2"}"#),
        ("uint16", "fixedscaleoffset", r#"{"offset":1,"scale":1}"#),
        ("float32", "quantize", r#"{"digits":1}"#),
        ("float32", "bitround", r#"{"keepbits":3}"#),
        ("uint16", "astype", r#"{"encode_dtype":"<u4"}"#),
        ("bool", "packbits", "{}"),
    ] {
        let codecs =
            format!(r#"[{{"name":"numcodecs.{id}","configuration":{configuration}}},{LITTLE}]"#);
        let fill = if data_type == "bool" { "false" } else { "0" };
        let members = [
            ("data_type", &*format!("\"{data_type}\"")),
            ("fill_value", fill),
            ("codecs", &codecs),
        ];
        let spec = spec(&members).expect(id);
        assert_eq!((spec.codecs.len(), spec.codecs[0].config.name()), (2, id));
    }
    for (id, configuration) in [("pcodec", "{}"), ("zfpy", r#"{"mode":4,"tolerance":0.1}"#)] {
        let codecs = format!(r#"[{{"name":"numcodecs.{id}","configuration":{configuration}}}]"#);
        let spec = spec(&[
            ("data_type", "\"float32\""),
            ("fill_value", "0"),
            ("codecs", &codecs),
        ])
        .expect(id);
        assert_eq!((spec.codecs.len(), spec.codecs[0].config.name()), (1, id));
    }
}

/// It opens here, and binding names it.
fn refuse_unknown(codec: &str) {
    let codecs = format!("[{LITTLE},{codec}]");
    let spec = spec(&[("codecs", &codecs)]).expect("it opens");
    assert!(
        matches!(spec.codecs[1].config, CodecConfig::Unknown { .. }),
        "{codec}"
    );
}

#[test]
fn v3_t63_what_is_not_said_comes_from_the_array() {
    let shuffle = r#"{"name":"numcodecs.shuffle","configuration":{}}"#;
    let sized =
        |n: u32| format!(r#"{{"name":"numcodecs.shuffle","configuration":{{"elementsize":{n}}}}}"#);
    check(
        "float64",
        &format!("[{LITTLE},{shuffle}]"),
        Some(&format!("[{LITTLE},{}]", sized(8))),
    );
    // After a cast, and after other codecs of bytes.
    let cast = r#"{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f4"}}"#;
    let whole = r#"{"name":"numcodecs.astype","configuration":{"encode_dtype":"<f4","decode_dtype":"<f8"}}"#;
    let gzip = r#"{"name":"gzip","configuration":{"level":1}}"#;
    check(
        "float64",
        &format!("[{cast},{LITTLE},{gzip},{shuffle}]"),
        Some(&format!("[{whole},{LITTLE},{gzip},{}]", sized(4))),
    );
    let scaled = r#"{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":0,"scale":1,"astype":"|u1"}}"#;
    let whole = r#"{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":0,"scale":1,"dtype":"<f8","astype":"|u1"}}"#;
    check(
        "float64",
        &format!(r#"[{scaled},"bytes"]"#),
        Some(&format!(r#"[{whole},{{"name":"bytes"}}]"#)),
    );
    let quantize = r#"{"name":"numcodecs.quantize","configuration":{"digits":1}}"#;
    let whole = r#"{"name":"numcodecs.quantize","configuration":{"digits":1,"dtype":"<f8","astype":"<f8"}}"#;
    check("float64", &with_bytes(quantize), Some(&with_bytes(whole)));
}

#[test]
fn v3_060_bitround_has_two_names() {
    let one = |name: &str, keepbits: u32| {
        with_bytes(&format!(
            r#"{{"name":"{name}","configuration":{{"keepbits":{keepbits}}}}}"#
        ))
    };
    // Codecs that numcodecs supports have the name that zarr-python 3 knows
    // (docs/internals/decisions/0009): its table of floats and their bits.
    for (data_type, keepbits) in [("float16", 10), ("float32", 23), ("float64", 52)] {
        check(
            data_type,
            &one("bitround", keepbits),
            Some(&one("numcodecs.bitround", keepbits)),
        );
        check(data_type, &one("numcodecs.bitround", 0), None);
        check(data_type, &one("bitround", keepbits + 1), None);
    }
    check("bfloat16", &one("bitround", 3), None);
    check(
        "int32",
        &one("numcodecs.bitround", 3),
        Some(&one("bitround", 3)),
    );
    refuse("float32", &with_bytes(r#"{"name":"bitround"}"#), "keepbits");
    refuse(
        "float32",
        &with_bytes(r#"{"name":"bitround","configuration":{"keepbits":-1}}"#),
        "keepbits",
    );
}

#[test]
fn v3_137_packbits() {
    let one =
        |configuration: &str| format!(r#"[{{"name":"packbits","configuration":{configuration}}}]"#);
    check("uint16", r#"["packbits"]"#, Some(&one("{}")));
    check(
        "uint16",
        &one(r#"{"padding_encoding":"last_byte","first_bit":4,"last_bit":11}"#),
        None,
    );
    check(
        "uint16",
        &one(r#"{"padding_encoding":"none","first_bit":null}"#),
        Some(&one("{}")),
    );
    refuse(
        "uint16",
        &one(r#"{"padding_encoding":"first"}"#),
        "padding_encoding",
    );
    refuse("uint16", &one(r#"{"start_bit":1}"#), "start_bit");
    refuse(
        "uint16",
        &format!(r#"["packbits",{LITTLE}]"#),
        "in this order",
    );
}

#[test]
fn v3_141_cast_value() {
    let one = |configuration: &str| {
        format!(r#"[{{"name":"cast_value","configuration":{configuration}}},"bytes"]"#)
    };
    let full = r#"{"data_type":"uint8","rounding":"towards-zero","out_of_range":"clamp",
        "scalar_map":{"encode":[["NaN",0],["Infinity",255]],"decode":[[0,"NaN"]]}}"#;
    check(
        "float32",
        &one(full),
        Some(&one(full).replace("\"bytes\"]", r#"{"name":"bytes"}]"#)),
    );
    // As in the example on its page.
    let plus = one(r#"{"data_type":"uint8","scalar_map":{"encode":[["+Infinity",1]]}}"#);
    assert!(written("float32", "0", &plus).is_ok());
    for (bad, names) in [
        ("{}", "data_type"),
        (r#"{"data_type":"uint8","foo":1}"#, "foo"),
        (r#"{"data_type":"uint8","rounding":"up"}"#, "rounding"),
        (
            r#"{"data_type":"uint8","out_of_range":"saturate"}"#,
            "out_of_range",
        ),
        (
            r#"{"data_type":"uint8","scalar_map":{"encode":[["NaN",256]]}}"#,
            "scalar_map",
        ),
        (
            r#"{"data_type":"uint8","scalar_map":{"encode":[[0]]}}"#,
            "scalar_map",
        ),
        (
            r#"{"data_type":"uint8","scalar_map":{"both":[]}}"#,
            "scalar_map",
        ),
    ] {
        refuse("float32", &one(bad), names);
    }
    // V3-T67: the input of `bytes` is the output of the cast.
    refuse("uint8", &one(r#"{"data_type":"int16"}"#), "has no endian");
    // After a codec that only the caller knows there are no values to read.
    let behind = r#"[{"name":"https://example.com/x"},{"name":"cast_value","configuration":
        {"data_type":"uint8","scalar_map":{"encode":[[1,2]]}}},"bytes"]"#;
    refuse("uint8", behind, "not known");
}

#[test]
fn v3_147_scale_offset() {
    let one = |configuration: &str| {
        with_bytes(&format!(
            r#"{{"name":"scale_offset","configuration":{configuration}}}"#
        ))
    };
    check("float32", &one(r#"{"offset":-1.5,"scale":0.1}"#), None);
    check("int16", &one(r#"{"offset":7}"#), None);
    check("int16", &with_bytes("\"scale_offset\""), Some(&one("{}")));
    refuse("int16", &one(r#"{"scale":0.1}"#), "scale 0.1");
    refuse("int16", &one(r#"{"offset":40000}"#), "offset 40000");
    refuse("int16", &one(r#"{"factor":1}"#), "factor");
}

#[test]
fn v3_148_reshape() {
    let one = |shape: &str| {
        with_bytes(&format!(
            r#"{{"name":"reshape","configuration":{{"shape":{shape}}}}}"#
        ))
    };
    for shape in ["[24]", "[[0,1]]", "[[0],2,3]", "[-1,3]", "[[0],[1],1]"] {
        check("int16", &one(shape), None);
    }
    // V3-T58
    for shape in [
        "[[1],[0]]",
        "[-1,-1]",
        "[5]",
        "[0,24]",
        "[[2]]",
        "[[]]",
        "7",
        "[1.5]",
        "[2,[1],2]",
    ] {
        refuse("int16", &one(shape), "reshape");
    }
    // The shape is passed on to transposes and shards.
    let transpose = r#"{"name":"transpose","configuration":{"order":[1,0,2]}}"#;
    let reshape = r#"{"name":"reshape","configuration":{"shape":[[0],2,3]}}"#;
    let shards = |chunk: &str| {
        format!(
            r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{chunk},"codecs":[{LITTLE}],
                "index_codecs":[{LITTLE}]}}}}"#
        )
    };
    assert!(
        written(
            "int16",
            "0",
            &format!("[{reshape},{transpose},{}]", shards("[1,4,3]"))
        )
        .is_ok()
    );
    refuse(
        "int16",
        &format!("[{reshape},{transpose},{}]", shards("[4,1,3]")),
        "divide",
    );
    refuse(
        "int16",
        &format!("[{reshape},{}]", shards("[4,6]")),
        "divide",
    );
}

#[test]
fn v3_149_zfp() {
    let one =
        |configuration: &str| format!(r#"[{{"name":"zfp","configuration":{configuration}}}]"#);
    for configuration in [
        r#"{"mode":"reversible"}"#,
        r#"{"mode":"expert","minbits":1,"maxbits":13,"maxprec":19,"minexp":-2}"#,
        r#"{"mode":"fixed_accuracy","tolerance":0.05}"#,
        r#"{"mode":"fixed_rate","rate":10.5}"#,
        r#"{"mode":"fixed_precision","precision":19}"#,
    ] {
        check("float32", &one(configuration), None);
    }
    for bad in [
        "{}",
        r#"{"mode":"lossy"}"#,
        r#"{"mode":"fixed_rate"}"#,
        r#"{"mode":"fixed_rate","rate":-1}"#,
        r#"{"mode":"reversible","rate":1}"#,
    ] {
        refuse("float32", &one(bad), "zfp");
    }
}

#[test]
fn v3_150_n5_default() {
    let one = |codecs: &str| {
        format!(r#"[{{"name":"n5_default","configuration":{{"codecs":[{codecs}]}}}}]"#)
    };
    let reversal = r#"{"name":"transpose","configuration":{"order":[1,0]}}"#;
    let big = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
    let zstd = r#"{"name":"zstd","configuration":{"level":1,"checksum":false}}"#;
    check("uint16", &one(&format!("{reversal},{big}")), None);
    check("uint16", &one(&format!("{reversal},{big},{zstd}")), None);
    check(
        "uint8",
        &one(&format!(r#"{reversal},{{"name":"bytes"}},{zstd}"#)),
        None,
    );
    // The same reversal by its old name.
    let by_name = r#"{"name":"transpose","configuration":{"order":"F"}}"#;
    check(
        "uint16",
        &one(&format!("{by_name},{big}")),
        Some(&one(&format!("{reversal},{big}"))),
    );
    for bad in [
        format!("{reversal},{LITTLE}"),
        big.to_owned(),
        format!("{reversal},{big},{zstd},{zstd}"),
        format!(r#"{{"name":"transpose","configuration":{{"order":[0,1]}}}},{big}"#),
        format!(r#"{reversal},{{"name":"packbits"}}"#),
    ] {
        refuse("uint16", &one(&bad), "n5_default");
    }
    let error = written("complex64", "[0,0]", &one(&format!("{reversal},{big}")))
        .expect_err("no type of N5");
    assert!(error.contains("n5_default"), "{error}");
}
