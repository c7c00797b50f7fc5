//! What is left out of a build names the feature that brings it. Run with other sets of features, this tells of others:
//! `cargo test -p ndzarr-codec --no-default-features --lib`.

use ndzarr_model::*;

use super::*;

/// A configuration of each codec, its name and its feature, and whether that is on.
fn all() -> Vec<(CodecConfig, &'static str, &'static str, bool)> {
    let u16 = StoredType::native(DataType::UInt { bits: 16 });
    let f64 = StoredType::native(DataType::Float { bits: 64 });
    let types = FilterTypes { dtype: u16.clone(), astype: u16.clone() };
    let floats = FilterTypes { dtype: f64.clone(), astype: f64 };
    let number = FilterNumber::Int(1);
    let scaled = FixedScaleOffsetConfig { offset: number, scale: number, types: types.clone() };
    let location = ChecksumLocation::End;
    let labels =
        CategorizeConfig { labels: vec!["a".into()], code_points: 1, endian: Endian::Little, astype: u16 };
    let blosc = BloscConfig {
        cname: BloscCname::Lz4,
        clevel: 1,
        shuffle: BloscShuffle::None,
        typesize: None,
        blocksize: 0,
    };
    let lzma = LzmaConfig { format: LzmaFormat::Xz, check: -1, preset: None, filters: None };
    let cast = CastValueConfig {
        data_type: DataType::UInt { bits: 8 },
        rounding: Rounding::default(),
        out_of_range: None,
        encode_map: vec![],
        decode_map: vec![],
    };
    macro_rules! rows {
        ($(($config:expr, $name:literal, $feature:literal)),* $(,)?) => {
            vec![$(($config, $name, $feature, cfg!(feature = $feature))),*]
        };
    }
    rows![
        (CodecConfig::Gzip { level: 1 }, "gzip", "gzip"),
        (CodecConfig::N5Gzip { level: 1, use_zlib: false }, "gzip", "gzip"),
        (CodecConfig::Zlib { level: 1 }, "zlib", "zlib"),
        (CodecConfig::Zstd { level: 1, checksum: false }, "zstd", "zstd"),
        (CodecConfig::Blosc(blosc), "blosc", "blosc"),
        (CodecConfig::Lz4 { acceleration: 1 }, "lz4", "lz4"),
        (CodecConfig::N5Lz4 { block_size: 64 }, "lz4", "lz4"),
        (CodecConfig::Bz2 { level: 1 }, "bz2", "bz2"),
        (CodecConfig::Lzma(lzma), "lzma", "lzma"),
        (CodecConfig::Crc32c { location }, "crc32c", "crc32c"),
        (CodecConfig::Crc32 { location }, "crc32", "crc32"),
        (CodecConfig::Adler32 { location }, "adler32", "adler32"),
        (CodecConfig::Fletcher32, "fletcher32", "fletcher32"),
        (CodecConfig::JenkinsLookup3 { initval: 0 }, "jenkins_lookup3", "jenkins-lookup3"),
        (CodecConfig::Base64, "base64", "base64"),
        (CodecConfig::Shuffle { elementsize: None }, "shuffle", "shuffle"),
        (CodecConfig::Delta(types.clone()), "delta", "delta"),
        (CodecConfig::FixedScaleOffset(scaled), "fixedscaleoffset", "fixedscaleoffset"),
        (CodecConfig::Quantize { digits: 1, types: floats }, "quantize", "quantize"),
        (CodecConfig::AsType(types), "astype", "astype"),
        (CodecConfig::Categorize(labels), "categorize", "categorize"),
        (CodecConfig::NumcodecsPackbits, "packbits", "numcodecs-packbits"),
        (CodecConfig::Bitround { keepbits: 3 }, "bitround", "bitround"),
        (CodecConfig::Packbits(PackbitsConfig::default()), "packbits", "packbits"),
        (CodecConfig::CastValue(Box::new(cast)), "cast_value", "cast-value"),
        (CodecConfig::ScaleOffset(ScaleOffsetConfig::default()), "scale_offset", "scale-offset"),
        (CodecConfig::Pcodec(PcodecConfig::default()), "pcodec", "pcodec"),
        (CodecConfig::Zfpy(ZfpMode::Reversible), "zfpy", "zfp"),
        (CodecConfig::Reshape { shape: vec![ReshapeDim::Rest] }, "reshape", "reshape"),
    ]
}

#[test]
fn codecs_of_variable_size_name_their_feature() {
    let astype = StoredType::native(DataType::UInt { bits: 8 });
    let labels = LabelsConfig { labels: vec!["a".into()], astype };
    let lists = DataType::VlenArray(DataType::UInt { bits: 8 }.into());
    let all = [
        (VlenConfig::Utf8, DataType::String, cfg!(feature = "vlen-utf8")),
        (VlenConfig::Bytes, DataType::Bytes, cfg!(feature = "vlen-bytes")),
        (VlenConfig::Array { endian: None }, lists, cfg!(feature = "vlen-array")),
        (VlenConfig::Json2, DataType::Json, cfg!(feature = "json2")),
        (VlenConfig::Msgpack2, DataType::Json, cfg!(feature = "msgpack2")),
        (VlenConfig::Categorize(labels), DataType::String, cfg!(feature = "categorize")),
    ];
    for (config, data_type, is_on) in all {
        let expected = config.name();
        let config: CodecSpec = CodecConfig::Vlen(config).into();
        let (fill, registry) = (FillValue::defined(""), crate::CodecRegistry::new());
        match crate::CodecChain::bind(&[config], &data_type, &fill, 1, &registry) {
            Ok(_) => assert!(is_on, "{expected} is bound without its feature"),
            Err(CodecError::Disabled { name, feature }) => {
                assert_eq!((name, feature, is_on), (expected, expected, false));
            }
            Err(other) => panic!("{expected}: {other}"),
        }
    }
}

#[test]
fn a_codec_that_is_left_out_names_its_feature() {
    for (config, name, feature, is_on) in all() {
        let data_type = DataType::UInt { bits: 16 };
        let stored = StoredType::native(data_type.clone());
        let error = match bytes_to_bytes(&config, Some(&stored)) {
            Ok(_) => None,
            Err(CodecError::Config { .. }) => array_to_array(&config, &data_type, 1)
                .map(|bound| bound.map(|_| ()))
                .or_else(|| array_to_bytes(&config, &data_type).map(|bound| bound.map(|_| ())))
                .and_then(Result::err),
            Err(error) => Some(error),
        };
        match error {
            None => assert!(is_on, "{config:?} is bound without its feature"),
            Some(CodecError::Disabled { name: named, feature: by }) => {
                assert_eq!((named, by, is_on), (name, feature, false), "{config:?}");
            }
            Some(other) => panic!("{config:?}: {other}"),
        }
    }
}
