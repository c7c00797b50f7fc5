//! The codecs of this build: makes the codec that a configuration describes.

mod adler32;
mod astype;
mod base64;
mod bitround;
#[cfg(feature = "blosc")]
mod blosc;
#[cfg(feature = "bz2")]
mod bz2;
mod cast_value;
pub(crate) mod categorize;
mod checksum;
mod crc32;
mod crc32c;
#[cfg(feature = "deflate")]
mod deflate;
mod delta;
mod fixedscaleoffset;
mod fletcher32;
#[cfg(feature = "deflate")]
mod gzip;
mod jenkins_lookup3;
#[cfg(feature = "lz4")]
mod lz4;
#[cfg(all(feature = "lz4", any(test, target_family = "wasm")))]
mod lz4_in_rust;
#[cfg(feature = "lzma")]
mod lzma;
#[cfg(feature = "lzma")]
mod lzma_filters;
#[cfg(feature = "deflate")]
mod n5_gzip;
#[cfg(feature = "lz4")]
mod n5_lz4;
mod numcodecs_packbits;
mod packbits;
#[cfg(feature = "pcodec")]
mod pcodec;
#[cfg(feature = "pcodec")]
mod pcodec_claims;
mod quantize;
mod reshape;
mod scale_offset;
mod shuffle;
#[cfg(feature = "zfp")]
mod zfp;
#[cfg(feature = "deflate")]
mod zlib;
#[cfg(all(feature = "zstd", not(target_family = "wasm")))]
mod zstd;
#[cfg(feature = "zstd")]
mod zstd_frame;
#[cfg(all(feature = "zstd", any(test, target_family = "wasm")))]
mod zstd_in_rust;

#[cfg(test)]
mod disabled;
#[cfg(all(test, feature = "default"))]
mod tests;

use std::sync::Arc;

#[cfg(all(feature = "zstd", target_family = "wasm"))]
use zstd_in_rust as zstd;

use ndzarr_model::{ChecksumLocation, CodecConfig, DataType, StoredType};

use crate::filter::{Filter, OnBytes, OnElements};
use crate::traits::link::{Capable, Link};
use crate::{ArrayToArray, ArrayToBytes, BytesToBytes, CodecError};

/// The input of a codec.
#[derive(Clone, Copy)]
pub(crate) enum Input<'t> {
    /// Elements of this type, along `ndim` axes.
    Elements {
        data_type: &'t DataType,
        ndim: usize,
    },
    /// Elements of this type in stored form, or just bytes.
    Bytes(Option<&'t StoredType>),
}

/// A codec made for its input.
#[derive(Debug)]
pub(crate) enum Bound {
    ArrayToArray(Arc<dyn ArrayToArray>),
    ArrayToBytes(Arc<dyn ArrayToBytes>),
    /// With the type of its output, if that is elements.
    BytesToBytes(Link, Option<StoredType>),
}

/// Makes the codec of a configuration for its input.
pub(crate) fn bind(config: &CodecConfig, input: Input<'_>) -> Result<Bound, CodecError> {
    use CodecConfig as C;
    use Input::{Bytes, Elements};

    if let Some((name, feature, false)) = feature_of(config) {
        return Err(CodecError::Disabled { name, feature });
    }
    let stored = match input {
        Elements { data_type, .. } => Some(StoredType::native(data_type.clone())),
        Bytes(stored) => stored.cloned(),
    };
    Ok(match (config, input) {
        #[cfg(feature = "deflate")]
        (C::Gzip { level }, _) => capable(gzip::Gzip { level: *level }),
        #[cfg(feature = "deflate")]
        (C::Zlib { level }, _) => capable(zlib::Zlib { level: *level }),
        #[cfg(feature = "deflate")]
        (C::N5Gzip { level, use_zlib }, _) => capable(n5_gzip::N5Gzip {
            level: *level,
            use_zlib: *use_zlib,
        }),
        #[cfg(feature = "zstd")]
        (C::Zstd { level, checksum }, _) => capable(zstd::Zstd {
            level: *level,
            checksum: *checksum,
        }),
        #[cfg(feature = "blosc")]
        (C::Blosc(config), _) => {
            let elem_size = stored.as_ref().map_or(1, StoredType::elem_size);
            capable(blosc::Blosc::new(config, elem_size))
        }
        #[cfg(feature = "lz4")]
        (C::Lz4 { acceleration }, _) => bytes(lz4::Lz4 {
            acceleration: *acceleration,
        }),
        #[cfg(feature = "lz4")]
        (C::N5Lz4 { block_size }, _) => bytes(n5_lz4::N5Lz4 {
            block_size: *block_size,
        }),
        #[cfg(feature = "bz2")]
        (C::Bz2 { level }, _) => bytes(bz2::Bz2 { level: *level }),
        #[cfg(feature = "lzma")]
        (C::Lzma(config), _) => bytes(lzma::Lzma::new(config)?),
        (C::Base64, _) => bytes(base64::Base64),
        (C::Shuffle { elementsize }, _) => {
            let input_size = stored.as_ref().map(StoredType::elem_size);
            let elementsize = elementsize.or(input_size).ok_or_else(|| {
                let what = "elementsize 0 stands for that of the input, which is not elements";
                CodecError::config("shuffle", what)
            })?;
            bytes(shuffle::Shuffle {
                elementsize: elementsize.max(1),
            })
        }

        (C::Crc32c { location }, _) => checksum(crc32c::Crc32c, *location),
        (C::Crc32 { location }, _) => checksum(crc32::Crc32, *location),
        (C::Adler32 { location }, _) => checksum(adler32::Adler32, *location),
        (C::Fletcher32, _) => checksum(fletcher32::Fletcher32, ChecksumLocation::End),
        (C::JenkinsLookup3 { initval }, _) => {
            let codec = jenkins_lookup3::JenkinsLookup3 { initval: *initval };
            checksum(codec, ChecksumLocation::End)
        }

        (C::Delta(types), _) => filter(delta::Delta::new(types)?, input)?,
        (C::FixedScaleOffset(config), _) => {
            filter(fixedscaleoffset::FixedScaleOffset::new(config)?, input)?
        }
        (C::Quantize { digits, types }, _) => {
            filter(quantize::Quantize::new(*digits, types)?, input)?
        }
        (C::AsType(types), _) => filter(astype::AsType::new(types)?, input)?,
        (C::Categorize(config), _) => filter(categorize::Categorize::new(config)?, input)?,
        (C::Bitround { keepbits }, _) => {
            let rules = match input {
                Elements { .. } => bitround::Rules::Registry,
                Bytes(_) => bitround::Rules::Numcodecs,
            };
            let stored = stored.unwrap_or_else(|| StoredType::native(DataType::UInt { bits: 8 }));
            filter(bitround::Bitround::new(*keepbits, &stored, rules)?, input)?
        }

        (C::NumcodecsPackbits, Bytes(_)) => bytes(numcodecs_packbits::NumcodecsPackbits),
        (C::NumcodecsPackbits, Elements { data_type, .. }) => {
            array_to_array(numcodecs_packbits::OnArray::new(data_type)?)
        }
        (C::CastValue(config), Elements { data_type, .. }) => {
            array_to_array(cast_value::CastValue::new(config, data_type)?)
        }
        (C::ScaleOffset(config), Elements { data_type, .. }) => {
            array_to_array(scale_offset::ScaleOffset::new(config, data_type)?)
        }
        (C::Reshape { shape }, Elements { data_type, ndim }) => {
            array_to_array(reshape::Reshape::new(shape, data_type, ndim)?)
        }

        (C::Packbits(config), Elements { data_type, .. }) => {
            array_to_bytes(packbits::Packbits::new(config, data_type)?)
        }
        #[cfg(feature = "pcodec")]
        (C::Pcodec(config), Elements { data_type, .. }) => {
            array_to_bytes(pcodec::Pcodec::on_array(config, data_type))
        }
        #[cfg(feature = "pcodec")]
        (C::Pcodec(config), Bytes(stored)) => bytes(pcodec::Pcodec::on_bytes(config, stored)),
        #[cfg(feature = "zfp")]
        (C::Zfpy(mode), Elements { data_type, .. }) => {
            array_to_bytes(zfp::Zfp::framed(mode, data_type))
        }
        #[cfg(feature = "zfp")]
        (C::Zfpy(mode), Bytes(stored)) => bytes(zfp::Zfp::on_bytes(mode, stored)),
        #[cfg(feature = "zfp")]
        (C::Zfp(mode), Elements { data_type, .. }) => {
            array_to_bytes(zfp::Zfp::bare(mode, data_type)?)
        }

        (C::Unknown { name, .. }, _) => return Err(CodecError::Unknown { name: name.clone() }),
        (other, _) => {
            let what = format!("{} is not in its place", other.name());
            return Err(CodecError::config("chain", what));
        }
    })
}

/// For a codec that depends on a feature: its name, the feature, and true if that is enabled.
fn feature_of(config: &CodecConfig) -> Option<(&'static str, &'static str, bool)> {
    macro_rules! feature {
        ($name:literal, $feature:literal) => {
            Some(($name, $feature, cfg!(feature = $feature)))
        };
    }
    match config {
        CodecConfig::Gzip { .. } | CodecConfig::N5Gzip { .. } => feature!("gzip", "deflate"),
        CodecConfig::Zlib { .. } => feature!("zlib", "deflate"),
        CodecConfig::Zstd { .. } => feature!("zstd", "zstd"),
        CodecConfig::Blosc(_) => feature!("blosc", "blosc"),
        CodecConfig::Lz4 { .. } | CodecConfig::N5Lz4 { .. } => feature!("lz4", "lz4"),
        CodecConfig::Bz2 { .. } => feature!("bz2", "bz2"),
        CodecConfig::Lzma(_) => feature!("lzma", "lzma"),
        CodecConfig::Pcodec(_) => feature!("pcodec", "pcodec"),
        CodecConfig::Zfpy(_) => feature!("zfpy", "zfp"),
        CodecConfig::Zfp(_) => feature!("zfp", "zfp"),
        _ => None,
    }
}

fn array_to_array(codec: impl ArrayToArray + 'static) -> Bound {
    Bound::ArrayToArray(Arc::new(codec))
}

fn array_to_bytes(codec: impl ArrayToBytes + 'static) -> Bound {
    Bound::ArrayToBytes(Arc::new(codec))
}

fn bytes(codec: impl BytesToBytes + 'static) -> Bound {
    Bound::BytesToBytes(Link::new(Arc::new(codec)), None)
}

fn capable(codec: impl Capable + 'static) -> Bound {
    Bound::BytesToBytes(Link::capable(codec), None)
}

fn checksum(checksum: impl checksum::Checksum + 'static, location: ChecksumLocation) -> Bound {
    capable(checksum::Checked { checksum, location })
}

/// A filter of numcodecs, for elements or bytes.
fn filter(filter: impl Filter + 'static, input: Input<'_>) -> Result<Bound, CodecError> {
    Ok(match input {
        Input::Elements { data_type, .. } => array_to_array(OnElements::new(filter, data_type)?),
        Input::Bytes(_) => {
            let output = filter.types().astype.clone();
            Bound::BytesToBytes(Link::new(Arc::new(OnBytes(filter))), Some(output))
        }
    })
}
