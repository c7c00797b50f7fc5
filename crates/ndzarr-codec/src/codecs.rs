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

#[cfg(test)]
mod smoke {
    use super::*;
    use crate::{Dst, Workspace};
    use ndzarr_model::*;

    #[test]
    fn round() {
        let blosc = |cname| {
            CodecConfig::Blosc(BloscConfig {
                cname,
                clevel: 5,
                shuffle: BloscShuffle::Auto,
                typesize: None,
                blocksize: 0,
            })
        };
        let raw = LzmaFilter { id: 0x21, options: vec![("preset".into(), 1)] };
        let lzma =
            |format, filters| CodecConfig::Lzma(LzmaConfig { format, check: -1, preset: None, filters });
        let configs = vec![
            CodecConfig::Gzip { level: 1 },
            CodecConfig::Zlib { level: 1 },
            CodecConfig::N5Gzip { level: -1, use_zlib: true },
            CodecConfig::N5Gzip { level: -1, use_zlib: false },
            CodecConfig::Zstd { level: 3, checksum: true },
            CodecConfig::Zstd { level: 99, checksum: false },
            blosc(BloscCname::Lz4),
            blosc(BloscCname::BloscLz),
            blosc(BloscCname::Zstd),
            blosc(BloscCname::Zlib),
            blosc(BloscCname::Lz4hc),
            CodecConfig::Lz4 { acceleration: 1 },
            CodecConfig::N5Lz4 { block_size: 65536 },
            CodecConfig::Bz2 { level: 1 },
            lzma(LzmaFormat::Xz, None),
            lzma(LzmaFormat::Alone, None),
            lzma(LzmaFormat::Raw, Some(vec![raw])),
            CodecConfig::Crc32c { location: ChecksumLocation::End },
            CodecConfig::Crc32c { location: ChecksumLocation::Start },
        ];
        let data: Vec<u8> = (0..200_000u32)
            .flat_map(|i| ((i / 3) % 1000 * 7 + (i.wrapping_mul(i) >> 9) % 3).to_le_bytes())
            .collect();
        for c in configs {
            let codec = bytes_to_bytes(&c, 4).expect("x");
            let mut ws = Workspace::new();
            for data in [&data[..], &data[..5], &data[..1000]] {
                let mut enc = Vec::new();
                codec.encode(data, &mut enc, &mut ws).expect("enc");
                let mut out = vec![0; data.len()];
                codec.decode(&enc, Dst::Exact(&mut out), &mut ws).unwrap_or_else(|e| panic!("{c:?}: {e}"));
                assert!(out == data, "{c:?}");
                let mut out = vec![];
                codec
                    .decode(&enc, Dst::Grow { buf: &mut out, max: data.len() }, &mut ws)
                    .unwrap_or_else(|e| panic!("{c:?}: {e}"));
                assert!(out == data, "{c:?}");
                let mut out = vec![0; data.len() - 1];
                assert!(codec.decode(&enc, Dst::Exact(&mut out), &mut ws).is_err());
                let mut out = vec![0; data.len() + 1];
                assert!(codec.decode(&enc, Dst::Exact(&mut out), &mut ws).is_err());
                assert!(
                    codec.decode(&enc, Dst::Grow { buf: &mut out, max: data.len() - 1 }, &mut ws).is_err()
                );
            }
        }
    }
}
