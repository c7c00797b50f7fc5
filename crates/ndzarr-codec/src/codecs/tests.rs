//! Tests codecs one by one: vectors of the checklists, and broken input.

mod arrays;
mod cast_value;
mod checksums;
mod filters;
mod hostile;
mod in_rust;
mod lz4;
mod lzma;
mod one_pass;
mod pcodec;
mod vectors;
#[cfg(feature = "zfp")]
mod zfp;

use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, ChecksumLocation, CodecConfig, DataType, Endian,
    LzmaConfig, LzmaFilter, LzmaFormat, StoredType,
};

use crate::traits::link::Link;
use crate::{CodecError, Dst, Workspace};

/// An image of `n` pixels of 16 bits: a wave, with approximately normal noise of deviation `noise`.
pub(super) fn image(n: usize, noise: f64) -> Vec<u8> {
    // Lehmer's generator.
    let mut state = 7u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 48) as f64 / 65_536.0
    };
    let mut value = |i: usize| {
        let normal = (0..12).map(|_| random()).sum::<f64>() - 6.0;
        let x = (i % 128) as f64;
        let y = (i / 128 % 128) as f64;
        (1000.0 + 400.0 * (x / 40.0).sin() + 300.0 * (y / 25.0).cos() + noise * normal) as u16
    };
    (0..n).flat_map(|i| value(i).to_le_bytes()).collect()
}

/// The codec for elements of 4 bytes.
fn codec(config: &CodecConfig) -> Link {
    let floats = StoredType {
        data_type: DataType::Float { bits: 32 },
        endian: Endian::Little,
    };
    bytes_codec(config, Some(&floats)).expect("the codec is part of this build")
}

/// The bytes→bytes codec of a configuration.
fn bytes_codec(config: &CodecConfig, input: Option<&StoredType>) -> Result<Link, CodecError> {
    match super::bind(config, super::Input::Bytes(input))? {
        super::Bound::BytesToBytes(codec, _) => Ok(codec),
        other => panic!("{other:?} takes no bytes"),
    }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .split_whitespace()
        .flat_map(str::chars)
        .map(|c| c.to_digit(16).expect("a hex digit") as u8)
        .collect();
    assert_eq!(digits.len() % 2, 0);
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// Decodes into a slice of `len` bytes, surrounded by bytes that must not change.
fn exact(config: &CodecConfig, src: &[u8], len: usize) -> Result<Vec<u8>, CodecError> {
    const GUARD: usize = 32;
    let mut memory = vec![0xa5; len + 2 * GUARD];
    let result = codec(config).decode(
        src,
        Dst::Exact(&mut memory[GUARD..GUARD + len]),
        &mut Workspace::new(),
    );
    assert!(
        memory[..GUARD]
            .iter()
            .chain(&memory[GUARD + len..])
            .all(|&byte| byte == 0xa5)
    );
    let n = result?;
    assert_eq!(n, len);
    Ok(memory[GUARD..GUARD + len].to_vec())
}

/// Decodes into a vector that must not grow far beyond `max`.
fn grown(config: &CodecConfig, src: &[u8], max: usize) -> Result<Vec<u8>, CodecError> {
    let mut buf = vec![0xa5; 3];
    let result = codec(config).decode(src, Dst::Grow { buf: &mut buf, max }, &mut Workspace::new());
    assert!(
        buf.capacity() <= 2 * max + 4096,
        "{} bytes of memory where {max} are the limit",
        buf.capacity()
    );
    let n = result?;
    assert_eq!(n, buf.len());
    assert!(n <= max);
    Ok(buf)
}

fn encoded(config: &CodecConfig, src: &[u8]) -> Vec<u8> {
    let mut out = vec![0xa5; 3];
    codec(config)
        .encode(src, &mut out, &mut Workspace::new())
        .expect("it encodes");
    out
}

fn blosc(cname: BloscCname, shuffle: BloscShuffle) -> CodecConfig {
    CodecConfig::Blosc(BloscConfig {
        cname,
        clevel: 5,
        shuffle,
        typesize: None,
        blocksize: 0,
    })
}

fn lzma(format: LzmaFormat, filters: &[(u64, &[(&str, u64)])]) -> CodecConfig {
    let filters = filters.iter().map(|(id, options)| LzmaFilter {
        id: *id,
        options: options
            .iter()
            .map(|&(name, value)| (name.to_owned(), value))
            .collect(),
    });
    let filters: Vec<LzmaFilter> = filters.collect();
    let filters = (!filters.is_empty()).then_some(filters);
    CodecConfig::Lzma(LzmaConfig {
        format,
        check: -1,
        preset: Some(1),
        filters,
    })
}

const LZMA1: u64 = 0x4000_0000_0000_0001;
const LZMA2: u64 = 0x21;

const GZIP: CodecConfig = CodecConfig::Gzip { level: 6 };
const ZLIB: CodecConfig = CodecConfig::Zlib { level: 1 };
const ZSTD: CodecConfig = CodecConfig::Zstd {
    level: 1,
    checksum: false,
};
const ZSTD_CHECKED: CodecConfig = CodecConfig::Zstd {
    level: 1,
    checksum: true,
};
const LZ4: CodecConfig = CodecConfig::Lz4 { acceleration: 1 };
const N5_LZ4: CodecConfig = CodecConfig::N5Lz4 { block_size: 65_536 };
const BZ2: CodecConfig = CodecConfig::Bz2 { level: 1 };
const CRC32C: CodecConfig = CodecConfig::Crc32c {
    location: ChecksumLocation::End,
};

/// One configuration of every codec, and true if its format has a checksum of the content.
fn all() -> Vec<(CodecConfig, bool)> {
    vec![
        (GZIP, true),
        (ZLIB, true),
        (
            CodecConfig::N5Gzip {
                level: -1,
                use_zlib: false,
            },
            true,
        ),
        (
            CodecConfig::N5Gzip {
                level: -1,
                use_zlib: true,
            },
            true,
        ),
        (ZSTD, false),
        (ZSTD_CHECKED, true),
        (blosc(BloscCname::BloscLz, BloscShuffle::Byte), false),
        (blosc(BloscCname::Lz4, BloscShuffle::Bit), false),
        (blosc(BloscCname::Lz4hc, BloscShuffle::None), false),
        (blosc(BloscCname::Snappy, BloscShuffle::Byte), false),
        (blosc(BloscCname::Zlib, BloscShuffle::Auto), false),
        (blosc(BloscCname::Zstd, BloscShuffle::Byte), false),
        (LZ4, false),
        (N5_LZ4, true),
        (CodecConfig::N5Lz4 { block_size: 64 }, true),
        (BZ2, true),
        (lzma(LzmaFormat::Xz, &[]), true),
        (lzma(LzmaFormat::Alone, &[]), false),
        (
            lzma(
                LzmaFormat::Raw,
                &[(3, &[("dist", 4)]), (LZMA2, &[("preset", 1)])],
            ),
            false,
        ),
        (
            lzma(
                LzmaFormat::Raw,
                &[(LZMA1, &[("dict_size", 65_536), ("lc", 0)])],
            ),
            false,
        ),
        (CRC32C, true),
        (
            CodecConfig::Crc32c {
                location: ChecksumLocation::Start,
            },
            true,
        ),
        (
            CodecConfig::Crc32 {
                location: ChecksumLocation::Start,
            },
            true,
        ),
        (
            CodecConfig::Crc32 {
                location: ChecksumLocation::End,
            },
            true,
        ),
        (
            CodecConfig::Adler32 {
                location: ChecksumLocation::Start,
            },
            true,
        ),
        (
            CodecConfig::Adler32 {
                location: ChecksumLocation::End,
            },
            true,
        ),
        (CodecConfig::Fletcher32, false),
        (CodecConfig::JenkinsLookup3 { initval: 3 }, true),
    ]
}
