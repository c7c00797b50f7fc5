//! The codecs of this build, one file and one feature each.

#[cfg(feature = "blosc")]
mod blosc;
#[cfg(feature = "bz2")]
mod bz2;
#[cfg(feature = "crc32c")]
mod crc32c;
#[cfg(any(feature = "gzip", feature = "zlib"))]
#[cfg_attr(not(feature = "gzip"), allow(dead_code))]
mod deflate;
#[cfg(feature = "gzip")]
mod gzip;
#[cfg(all(feature = "libdeflate", any(feature = "gzip", feature = "zlib")))]
#[cfg_attr(not(feature = "gzip"), allow(dead_code))]
mod libdeflate;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(feature = "lzma")]
mod lzma;
#[cfg(feature = "lzma")]
mod lzma_filters;
#[cfg(feature = "gzip")]
mod n5_gzip;
#[cfg(feature = "lz4")]
mod n5_lz4;
#[cfg(feature = "zlib")]
mod zlib;
#[cfg(feature = "zstd")]
mod zstd;
#[cfg(feature = "zstd")]
mod zstd_frame;

#[cfg(all(test, feature = "default"))]
mod tests;

use std::sync::Arc;

use ndzarr_model::CodecConfig;

use crate::{BytesToBytes, CodecError};

/// Binds a codec, or says which feature brings it.
macro_rules! codec {
    ($feature:literal, $name:literal, $make:expr) => {{
        #[cfg(feature = $feature)]
        let bound: Result<Arc<dyn BytesToBytes>, CodecError> = Ok(Arc::new($make));
        #[cfg(not(feature = $feature))]
        let bound = Err(CodecError::Disabled { name: $name, feature: $feature });
        bound
    }};
}

/// The bytes→bytes codec of a configuration. `elem_size` is the size in bytes of the elements that reach it.
#[cfg_attr(not(feature = "default"), allow(unused_variables))]
pub(crate) fn bytes_to_bytes(
    config: &CodecConfig,
    elem_size: usize,
) -> Result<Arc<dyn BytesToBytes>, CodecError> {
    match config {
        CodecConfig::Gzip { level } => codec!("gzip", "gzip", gzip::Gzip { level: *level }),
        CodecConfig::Zlib { level } => codec!("zlib", "zlib", zlib::Zlib { level: *level }),
        CodecConfig::N5Gzip { level, use_zlib } => {
            codec!("gzip", "gzip", n5_gzip::N5Gzip { level: *level, use_zlib: *use_zlib })
        }
        CodecConfig::Zstd { level, checksum } => {
            codec!("zstd", "zstd", zstd::Zstd { level: *level, checksum: *checksum })
        }
        CodecConfig::Blosc(config) => codec!("blosc", "blosc", blosc::Blosc::new(config, elem_size)),
        CodecConfig::Lz4 { acceleration } => {
            codec!("lz4", "lz4", lz4::Lz4 { acceleration: *acceleration })
        }
        CodecConfig::N5Lz4 { block_size } => {
            codec!("lz4", "lz4", n5_lz4::N5Lz4 { block_size: *block_size })
        }
        CodecConfig::Bz2 { level } => codec!("bz2", "bz2", bz2::Bz2 { level: *level }),
        CodecConfig::Lzma(config) => codec!("lzma", "lzma", lzma::Lzma::new(config)?),
        CodecConfig::Crc32c { location } => {
            codec!("crc32c", "crc32c", crc32c::Crc32c { location: *location })
        }
        other => Err(CodecError::Unknown { name: format!("{other:?}") }),
    }
}

#[cfg(all(test, not(feature = "zstd")))]
#[test]
fn a_codec_that_is_left_out_names_its_feature() {
    let error =
        bytes_to_bytes(&CodecConfig::Zstd { level: 1, checksum: false }, 1).expect_err("it is left out");
    assert!(matches!(error, CodecError::Disabled { name: "zstd", feature: "zstd" }));
}
