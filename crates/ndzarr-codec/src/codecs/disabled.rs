//! Tests that codecs missing from a build name the feature to enable. Other sets of features cover
//! other codecs: `cargo test -p ndzarr-codec --no-default-features --lib`.

use ndzarr_model::*;

use super::*;

/// A configuration of each codec that has a feature, its name, its feature, and true if that is
/// enabled.
fn all() -> Vec<(CodecConfig, &'static str, &'static str, bool)> {
    let blosc = BloscConfig {
        cname: BloscCname::Lz4,
        clevel: 1,
        shuffle: BloscShuffle::None,
        typesize: None,
        blocksize: 0,
    };
    let lzma = LzmaConfig {
        format: LzmaFormat::Xz,
        check: -1,
        preset: None,
        filters: None,
    };
    macro_rules! rows {
        ($(($config:expr, $name:literal, $feature:literal)),* $(,)?) => {
            vec![$(($config, $name, $feature, cfg!(feature = $feature))),*]
        };
    }
    rows![
        (CodecConfig::Gzip { level: 1 }, "gzip", "deflate"),
        (
            CodecConfig::N5Gzip {
                level: 1,
                use_zlib: false
            },
            "gzip",
            "deflate"
        ),
        (CodecConfig::Zlib { level: 1 }, "zlib", "deflate"),
        (
            CodecConfig::Zstd {
                level: 1,
                checksum: false
            },
            "zstd",
            "zstd"
        ),
        (CodecConfig::Blosc(blosc), "blosc", "blosc"),
        (CodecConfig::Lz4 { acceleration: 1 }, "lz4", "lz4"),
        (CodecConfig::N5Lz4 { block_size: 64 }, "lz4", "lz4"),
        (CodecConfig::Bz2 { level: 1 }, "bz2", "bz2"),
        (CodecConfig::Lzma(lzma), "lzma", "lzma"),
        (
            CodecConfig::Pcodec(PcodecConfig::default()),
            "pcodec",
            "pcodec"
        ),
        (CodecConfig::Zfpy(ZfpMode::Reversible), "zfpy", "zfp"),
        (CodecConfig::Zfp(ZfpMode::Reversible), "zfp", "zfp"),
    ]
}

#[test]
fn a_codec_that_is_left_out_names_its_feature() {
    for (config, name, feature, is_on) in all() {
        let data_type = DataType::Float { bits: 32 };
        let stored = StoredType::native(data_type.clone());
        let inputs = [
            Input::Elements {
                data_type: &data_type,
                ndim: 1,
            },
            Input::Bytes(Some(&stored)),
        ];
        let errors: Vec<_> = inputs
            .into_iter()
            .filter_map(|input| bind(&config, input).err())
            .collect();
        if is_on {
            // Some can be used in only one of the two places.
            assert!(errors.len() < 2, "{config:?}: {errors:?}");
            continue;
        }
        assert_eq!(errors.len(), 2, "{config:?} is bound without its feature");
        for error in errors {
            let CodecError::Disabled {
                name: named,
                feature: by,
            } = error
            else {
                panic!("{config:?}: {error}");
            };
            assert_eq!((named, by), (name, feature), "{config:?}");
        }
    }
}
