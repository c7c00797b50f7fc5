//! The codecs of this build, one file and one feature each.

#[cfg(feature = "adler32")]
mod adler32;
#[cfg(feature = "astype")]
mod astype;
#[cfg(feature = "base64")]
mod base64;
#[cfg(feature = "bitround")]
mod bitround;
#[cfg(feature = "blosc")]
mod blosc;
#[cfg(feature = "bz2")]
mod bz2;
#[cfg(feature = "cast-value")]
mod cast_value;
#[cfg(feature = "categorize")]
pub(crate) mod categorize;
#[cfg_attr(not(feature = "default"), allow(dead_code))]
mod checksum;
#[cfg(feature = "crc32")]
mod crc32;
#[cfg(feature = "crc32c")]
mod crc32c;
#[cfg(any(feature = "gzip", feature = "zlib"))]
#[cfg_attr(not(feature = "gzip"), allow(dead_code))]
mod deflate;
#[cfg(feature = "delta")]
mod delta;
#[cfg(feature = "fixedscaleoffset")]
mod fixedscaleoffset;
#[cfg(feature = "fletcher32")]
mod fletcher32;
#[cfg(feature = "gzip")]
mod gzip;
#[cfg(feature = "jenkins-lookup3")]
mod jenkins_lookup3;
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
#[cfg(feature = "numcodecs-packbits")]
mod numcodecs_packbits;
#[cfg(feature = "packbits")]
mod packbits;
#[cfg(feature = "pcodec")]
mod pcodec;
#[cfg(feature = "pcodec")]
mod pcodec_claims;
#[cfg(feature = "quantize")]
mod quantize;
#[cfg(feature = "reshape")]
mod reshape;
#[cfg(feature = "scale-offset")]
mod scale_offset;
#[cfg(feature = "shuffle")]
mod shuffle;
#[cfg(feature = "zfp")]
mod zfp;
#[cfg(feature = "zlib")]
mod zlib;
#[cfg(feature = "zstd")]
mod zstd;
#[cfg(feature = "zstd")]
mod zstd_frame;

#[cfg(test)]
mod disabled;
#[cfg(all(test, feature = "default"))]
mod tests;

use std::sync::Arc;

use ndzarr_model::{CodecConfig, DataType, StoredType};

use crate::filter::{Filter, OnBytes, OnElements};
use crate::{ArrayToArray, ArrayToBytes, BytesToBytes, CodecError};

/// Binds a codec, or says which feature brings it.
macro_rules! codec {
    ($feature:literal, $name:literal, $make:expr) => {{
        #[cfg(feature = $feature)]
        let bound = Ok(Arc::new($make) as _);
        #[cfg(not(feature = $feature))]
        let bound = Err(CodecError::Disabled { name: $name, feature: $feature });
        bound
    }};
}

/// As [`codec`], for a checksum.
macro_rules! checksum {
    ($feature:literal, $name:literal, $checksum:expr, $location:expr) => {
        codec!($feature, $name, checksum::Checked { checksum: $checksum, location: $location })
    };
}

/// What reaches a codec behind the array→bytes codec: elements of this type as they are stored, or mere bytes.
pub(crate) type Reaching<'t> = Option<&'t StoredType>;

fn elem_size(reaching: Reaching<'_>) -> usize {
    reaching.map_or(1, StoredType::elem_size)
}

/// The bytes→bytes codec of a configuration, and as what elements its output goes on.
#[cfg_attr(not(all(feature = "default", feature = "zfp")), allow(unused_variables))]
pub(crate) fn bytes_to_bytes(
    config: &CodecConfig,
    reaching: Reaching<'_>,
) -> Result<(Arc<dyn BytesToBytes>, Option<StoredType>), CodecError> {
    if let Some(filter) = filter(config, reaching, Place::Bytes) {
        let filter = filter?;
        let encoded = filter.encoded_type().clone();
        return Ok((Arc::new(OnBytes(filter)), Some(encoded)));
    }
    let elem_size = elem_size(reaching);
    let codec: Result<Arc<dyn BytesToBytes>, CodecError> = match config {
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
        CodecConfig::Crc32c { location } => checksum!("crc32c", "crc32c", crc32c::Crc32c, *location),
        CodecConfig::Crc32 { location } => checksum!("crc32", "crc32", crc32::Crc32, *location),
        CodecConfig::Adler32 { location } => checksum!("adler32", "adler32", adler32::Adler32, *location),
        CodecConfig::Fletcher32 => {
            checksum!("fletcher32", "fletcher32", fletcher32::Fletcher32, ndzarr_model::ChecksumLocation::End)
        }
        CodecConfig::JenkinsLookup3 { initval } => checksum!(
            "jenkins-lookup3",
            "jenkins_lookup3",
            jenkins_lookup3::JenkinsLookup3 { initval: *initval },
            ndzarr_model::ChecksumLocation::End
        ),
        CodecConfig::Base64 => codec!("base64", "base64", base64::Base64),
        CodecConfig::Shuffle { elementsize } => codec!(
            "shuffle",
            "shuffle",
            shuffle::Shuffle { elementsize: elementsize.unwrap_or(elem_size).max(1) }
        ),
        CodecConfig::NumcodecsPackbits => {
            codec!("numcodecs-packbits", "packbits", numcodecs_packbits::NumcodecsPackbits)
        }
        CodecConfig::Pcodec(config) => {
            codec!("pcodec", "pcodec", pcodec::Pcodec::on_bytes(config, reaching))
        }
        CodecConfig::Zfpy(mode) => codec!("zfp", "zfpy", zfp::Zfp::on_bytes(mode, reaching)),
        CodecConfig::Unknown { name, .. } => Err(CodecError::Unknown { name: name.clone() }),
        other => Err(CodecError::config("chain", format!("{} is not in its place", other.name()))),
    };
    Ok((codec?, None))
}

/// The array→array codec of a configuration, bound to the type of the elements that reach it; `None` for a codec of
/// another kind.
#[cfg_attr(not(all(feature = "default", feature = "zfp")), allow(unused_variables))]
pub(crate) fn array_to_array(
    config: &CodecConfig,
    data_type: &DataType,
    ndim: usize,
) -> Option<Result<Arc<dyn ArrayToArray>, CodecError>> {
    let reaching = StoredType::native(data_type.clone());
    if let Some(filter) = filter(config, Some(&reaching), Place::Array) {
        return Some(filter.and_then(|filter| Ok(Arc::new(OnElements::new(filter, data_type)?) as _)));
    }
    // What is wrong with a configuration goes through the same door as what is not part of the build.
    let bind = || match config {
        CodecConfig::NumcodecsPackbits => {
            codec!("numcodecs-packbits", "packbits", numcodecs_packbits::OnArray::new(data_type)?)
        }
        CodecConfig::CastValue(config) => {
            codec!("cast-value", "cast_value", cast_value::CastValue::new(config, data_type)?)
        }
        CodecConfig::ScaleOffset(config) => {
            codec!("scale-offset", "scale_offset", scale_offset::ScaleOffset::new(config, data_type)?)
        }
        CodecConfig::Reshape { shape } => {
            codec!("reshape", "reshape", reshape::Reshape::new(shape, data_type, ndim)?)
        }
        other => Err(CodecError::Unknown { name: other.name().to_owned() }),
    };
    match bind() {
        Err(CodecError::Unknown { .. }) => None,
        bound => Some(bound),
    }
}

/// The array→bytes codec of a configuration other than the chain's own, bound to the type of the elements that reach it;
/// `None` for a codec of another kind.
#[cfg_attr(not(all(feature = "default", feature = "zfp")), allow(unused_variables))]
pub(crate) fn array_to_bytes(
    config: &CodecConfig,
    data_type: &DataType,
) -> Option<Result<Arc<dyn ArrayToBytes>, CodecError>> {
    let bind = || match config {
        CodecConfig::Packbits(config) => {
            codec!("packbits", "packbits", packbits::Packbits::new(config, data_type)?)
        }
        CodecConfig::Pcodec(config) => {
            codec!("pcodec", "pcodec", pcodec::Pcodec::on_array(config, data_type))
        }
        CodecConfig::Zfpy(mode) => codec!("zfp", "zfpy", zfp::Zfp::framed(mode, data_type)),
        CodecConfig::Zfp(mode) => codec!("zfp", "zfp", zfp::Zfp::bare(mode, data_type)?),
        other => Err(CodecError::Unknown { name: other.name().to_owned() }),
    };
    match bind() {
        Err(CodecError::Unknown { .. }) => None,
        bound => Some(bound),
    }
}

/// Where a filter stands: behind the array→bytes codec (Zarr v2) or before it (v3).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Bytes,
    Array,
}

/// The filter of a configuration; `None` for a codec of another kind.
#[cfg_attr(not(all(feature = "default", feature = "zfp")), allow(unused_variables))]
fn filter(
    config: &CodecConfig,
    reaching: Reaching<'_>,
    place: Place,
) -> Option<Result<Arc<dyn Filter>, CodecError>> {
    let bytes = StoredType::native(DataType::UInt { bits: 8 });
    let reaching = reaching.unwrap_or(&bytes);
    let bind = || match config {
        CodecConfig::Delta(types) => codec!("delta", "delta", delta::Delta::new(types)?),
        CodecConfig::FixedScaleOffset(config) => {
            codec!("fixedscaleoffset", "fixedscaleoffset", fixedscaleoffset::FixedScaleOffset::new(config)?)
        }
        CodecConfig::Quantize { digits, types } => {
            codec!("quantize", "quantize", quantize::Quantize::new(*digits, types)?)
        }
        CodecConfig::AsType(types) => codec!("astype", "astype", astype::AsType::new(types)?),
        CodecConfig::Categorize(config) => {
            codec!("categorize", "categorize", categorize::Categorize::new(config)?)
        }
        CodecConfig::Bitround { keepbits } => codec!("bitround", "bitround", {
            let rules = match place {
                Place::Bytes => bitround::Rules::Numcodecs,
                Place::Array => bitround::Rules::Registry,
            };
            bitround::Bitround::new(*keepbits, reaching, rules)?
        }),
        other => Err(CodecError::Unknown { name: other.name().to_owned() }),
    };
    match bind() {
        Err(CodecError::Unknown { .. }) => None,
        bound => Some(bound),
    }
}
