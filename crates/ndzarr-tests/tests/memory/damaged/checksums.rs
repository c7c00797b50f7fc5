//! Which bytes of a chunk a checksum covers.

use std::ops::Range;

use ndzarr::codec::{CodecConfig, CodecSpec};
use ndzarr_model::{IndexLocation, LzmaFormat, ShardingConfig};

/// How a checksum covers a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cover {
    /// Not at all.
    None,
    /// The decoded values are covered: a flipped bit is an error, unless the values stay the same,
    /// as with padding or informative bits of a stream.
    Values,
    /// The byte itself is covered: a flipped bit is an error.
    Byte,
}

/// A chunk inside the array.
pub(crate) struct Stored<'s> {
    pub(crate) chain: &'s [CodecSpec],
    /// Elements of the chunk.
    pub(crate) n_elements: u64,
    /// All of them are inside the array, so that all inner chunks are read.
    pub(crate) is_inside: bool,
    pub(crate) ndim: usize,
}

impl Stored<'_> {
    pub(crate) fn cover(&self, file: &[u8], byte: usize) -> Cover {
        let Some((last, before)) = self.chain.split_last() else {
            return Cover::None;
        };
        let before = Stored {
            chain: before,
            ..*self
        };
        let covered = match &last.config {
            CodecConfig::N5Block(block) => {
                let varlength = if file.starts_with(&[0, 1]) { 4 } else { 0 };
                let header = 4 + 4 * self.ndim + varlength;
                match (&block.compression, byte.checked_sub(header)) {
                    (Some(codec), Some(byte)) => stream(&codec.config, &file[header..], byte),
                    _ => Cover::None,
                }
            }
            CodecConfig::Sharding(sharding) => self.in_shard(sharding, file, byte),
            config => stream(config, file, byte),
        };
        // Errors that this codec does not detect reach those before it.
        if before
            .chain
            .iter()
            .any(|codec| covers_values(&codec.config))
        {
            covered.max(Cover::Values)
        } else {
            covered
        }
    }

    fn in_shard(&self, sharding: &ShardingConfig, file: &[u8], byte: usize) -> Cover {
        let inner_elements: u64 = sharding.chunk_shape.iter().product();
        let n_inner = (self.n_elements / inner_elements) as usize;
        let checksums = sharding
            .index_codecs
            .iter()
            .filter(|codec| matches!(codec.config, CodecConfig::Crc32c { .. }))
            .count();
        let index_len = 16 * n_inner + 4 * checksums;
        let index: Range<usize> = match sharding.index_location {
            IndexLocation::Start => 0..index_len,
            IndexLocation::End => file.len() - index_len..file.len(),
        };
        if index.contains(&byte) {
            return if checksums > 0 {
                Cover::Byte
            } else {
                Cover::None
            };
        }
        // An index without a checksum is not parsed, nor are inner chunks that may lie outside the
        // array.
        if checksums == 0 || !self.is_inside {
            return Cover::None;
        }
        let entries = file[index].chunks_exact(16).take(n_inner);
        let word = |bytes: &[u8]| {
            let bytes = bytes.try_into().expect("eight bytes");
            let big = sharding.index_codecs.iter().any(|codec| {
                matches!(
                    &codec.config,
                    CodecConfig::Bytes {
                        endian: Some(ndzarr::Endian::Big)
                    }
                )
            });
            if big {
                u64::from_be_bytes(bytes)
            } else {
                u64::from_le_bytes(bytes)
            }
        };
        for entry in entries {
            let (offset, len) = (word(&entry[..8]), word(&entry[8..]));
            if offset == u64::MAX && len == u64::MAX {
                continue;
            }
            let (offset, len) = (offset as usize, len as usize);
            if (offset..offset + len).contains(&byte) {
                let inner = Stored {
                    chain: &sharding.codecs,
                    n_elements: inner_elements,
                    ..*self
                };
                return inner.cover(&file[offset..offset + len], byte - offset);
            }
        }
        Cover::None
    }
}

/// How a bytes→bytes codec covers a byte of its stream.
fn stream(config: &CodecConfig, file: &[u8], byte: usize) -> Cover {
    let in_trailer = |len: usize| byte + len >= file.len();
    match config {
        CodecConfig::Crc32c { .. } => Cover::Byte,
        // Checksum and length after the last member.
        CodecConfig::Gzip { .. } | CodecConfig::N5Gzip { .. }
            if file.starts_with(&[0x1f, 0x8b]) =>
        {
            if in_trailer(8) {
                Cover::Byte
            } else {
                Cover::Values
            }
        }
        // The two bytes of the header are a multiple of 31.
        CodecConfig::Zlib { .. } | CodecConfig::N5Gzip { .. } => {
            if byte < 2 || in_trailer(4) {
                Cover::Byte
            } else {
                Cover::Values
            }
        }
        CodecConfig::Bz2 { .. } => Cover::Values,
        // The stream flags, which state the kind of check, and the end of the stream have their own
        // checksums.
        CodecConfig::Lzma(lzma)
            if lzma.format == LzmaFormat::Xz || file.starts_with(&[0xfd, b'7']) =>
        {
            let is_checked = file.get(7).is_some_and(|check| check & 15 != 0);
            if byte < 12 || in_trailer(12) {
                Cover::Byte
            } else if is_checked {
                Cover::Values
            } else {
                Cover::None
            }
        }
        CodecConfig::Zstd { .. } if file.get(4).is_some_and(|descriptor| descriptor & 4 != 0) => {
            Cover::Values
        }
        // The framing of lz4-java, and LZ4 frames with a checksum of their content.
        CodecConfig::N5Lz4 { .. } if file.starts_with(b"LZ4Block") => Cover::Values,
        CodecConfig::N5Lz4 { .. }
            if file.starts_with(&[4, 0x22, 0x4d, 0x18]) && file[4] & 4 != 0 =>
        {
            Cover::Values
        }
        _ => Cover::None,
    }
}

/// True if a codec checks all its input, whatever the stream looks like.
fn covers_values(config: &CodecConfig) -> bool {
    matches!(
        config,
        CodecConfig::Crc32c { .. }
            | CodecConfig::Gzip { .. }
            | CodecConfig::Zlib { .. }
            | CodecConfig::Bz2 { .. }
    )
}
