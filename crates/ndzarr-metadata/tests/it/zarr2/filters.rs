//! Zarr v2: filters.

use ndzarr_model::{
    CategorizeConfig, ChecksumLocation, CodecConfig, CodecSpec, DataType, Endian, FilterNumber,
    FilterTypes, FixedScaleOffsetConfig, LabelsConfig, StoredType, VlenConfig,
};

use crate::it::store::{array, with};
use crate::it::zarr2::ARRAY;
use crate::it::zarr2::codecs::{check, compressor};

/// Stored types by NumPy's names.
fn stored(name: &str) -> StoredType {
    let endian = if name.starts_with('>') {
        Endian::Big
    } else {
        Endian::Little
    };
    let bits = name[2..].parse::<u8>().expect("a size") * 8;
    let data_type = match &name[1..2] {
        "i" => DataType::Int { bits },
        "u" => DataType::UInt { bits },
        _ => DataType::Float { bits },
    };
    StoredType { data_type, endian }
}

fn types(dtype: &str, astype: &str) -> FilterTypes {
    FilterTypes {
        dtype: stored(dtype),
        astype: stored(astype),
    }
}

#[test]
fn v2_114_filters_and_defaults() {
    use FilterNumber::{Float, Int};
    check(
        r#"{"id":"delta","dtype":">u2","astype":"i1"}"#,
        CodecConfig::Delta(types(">u2", "|i1")),
    );
    check(
        r#"{"id":"delta","dtype":"float64","astype":null}"#,
        CodecConfig::Delta(types("<f8", "<f8")),
    );
    check(
        r#"{"id":"astype","encode_dtype":"<f4","decode_dtype":"<f8"}"#,
        CodecConfig::AsType(types("<f8", "<f4")),
    );
    let scaled = |offset, scale| {
        let types = types("<f8", "|u1");
        CodecConfig::FixedScaleOffset(FixedScaleOffsetConfig {
            offset,
            scale,
            types,
        })
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
        CodecConfig::Quantize {
            digits: -1,
            types: types("<f4", "<f4"),
        },
    );
    check(r#"{"id":"packbits"}"#, CodecConfig::NumcodecsPackbits);
    check(
        r#"{"id":"bitround","keepbits":0}"#,
        CodecConfig::Bitround { keepbits: 0 },
    );
    check(r#"{"id":"base64"}"#, CodecConfig::Base64);
    check(r#"{"id":"fletcher32"}"#, CodecConfig::Fletcher32);
    check(
        r#"{"id":"jenkins_lookup3","prefix":null}"#,
        CodecConfig::JenkinsLookup3 { initval: 0 },
    );
    check(
        r#"{"id":"jenkins_lookup3","initval":7}"#,
        CodecConfig::JenkinsLookup3 { initval: 7 },
    );
    // V2-T36: 0 means the size of the elements that reach it.
    check(
        r#"{"id":"shuffle"}"#,
        CodecConfig::Shuffle {
            elementsize: Some(4),
        },
    );
    check(
        r#"{"id":"shuffle","elementsize":0}"#,
        CodecConfig::Shuffle { elementsize: None },
    );
    let labels = CategorizeConfig {
        labels: vec!["a".into()],
        code_points: 3,
        endian: Endian::Big,
        astype: stored("|u1"),
    };
    check(
        r#"{"id":"categorize","labels":["a"],"dtype":">U3"}"#,
        CodecConfig::Categorize(labels),
    );
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
        assert!(
            compressor(bad).expect_err(bad).contains("compressor"),
            "{bad}"
        );
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
        CodecConfig::Vlen(VlenConfig::Categorize(LabelsConfig {
            labels,
            astype: stored(astype),
        }))
        .into()
    };
    for dtype in ["|O", "O", "object", "<O", ">O", "=O", "|O8"] {
        let filter =
            format!(r#"{{"id":"categorize","labels":["a","é"],"dtype":"{dtype}","astype":">u2"}}"#);
        let spec = object(&[("filters", &format!("[{filter}]"))]).expect(dtype);
        assert_eq!(spec.data_type, DataType::String);
        assert_eq!(spec.codecs[..], [expected(&["a", "é"], ">u2")]);
        let spec = object(&[("compressor", &filter)]).expect(dtype);
        assert_eq!(spec.codecs[..], [expected(&["a", "é"], ">u2")]);
    }
    // Without a type codes are bytes; other filters follow.
    let filters = r#"[{"id":"categorize","labels":[],"dtype":"|O"},{"id":"delta","dtype":"|u1"}]"#;
    let spec = object(&[("filters", filters)]).expect("codes");
    assert_eq!(
        spec.codecs[..],
        [
            expected(&[], "|u1"),
            CodecConfig::Delta(types("|u1", "|u1")).into()
        ]
    );
    for (bad, named) in [
        (r#"{"id":"categorize","dtype":"|O"}"#, "no labels"),
        (
            r#"{"id":"categorize","labels":["a",1],"dtype":"|O"}"#,
            "labels",
        ),
        (r#"{"id":"categorize","labels":"a","dtype":"|O"}"#, "labels"),
        (r#"{"id":"categorize","labels":["a"]}"#, "no dtype"),
        (
            r#"{"id":"categorize","labels":["a"],"dtype":"<U1"}"#,
            "dtype",
        ),
        (
            r#"{"id":"categorize","labels":["a"],"dtype":"|O","astype":"|O"}"#,
            "astype",
        ),
        (
            r#"{"id":"categorize","labels":["a"],"dtype":"|O","astype":7}"#,
            "astype",
        ),
    ] {
        let error = object(&[("filters", &format!("[{bad}]"))]).expect_err(bad);
        assert!(
            error.contains("categorize") && error.contains(named),
            "{bad}: {error}"
        );
    }
    let many =
        serde_json::json!([{"id": "categorize", "labels": vec![""; (1 << 16) + 1], "dtype": "|O"}]);
    assert!(
        object(&[("filters", &many.to_string())])
            .expect_err("too many")
            .contains("labels")
    );
    // Without objects it does not create any.
    let filter = r#"[{"id":"categorize","labels":["a"],"dtype":"|O"}]"#;
    assert!(array(".zarray", &with(ARRAY, &[("filters", filter)])).is_err());
}

#[test]
fn v2_093_filters_come_before_the_compressor() {
    let text = with(
        ARRAY,
        &[
            (
                "filters",
                r#"[{"id":"zlib","level":3},{"id":"delta","dtype":"<u2"},{"id":"crc32c"}]"#,
            ),
            ("compressor", r#"{"id":"gzip","level":2}"#),
        ],
    );
    let spec = array(".zarray", &text).expect("opens");
    let configs: Vec<CodecConfig> = spec.codecs[1..]
        .iter()
        .map(|codec| codec.config.clone())
        .collect();
    assert_eq!(
        configs,
        [
            CodecConfig::Zlib { level: 3 },
            CodecConfig::Delta(types("<u2", "<u2")),
            CodecConfig::Crc32c {
                location: ChecksumLocation::End
            },
            CodecConfig::Gzip { level: 2 },
        ]
    );
}
