//! Tells if the chunks of an array have a checksum, so that changed bytes are noticed.

use ndzarr::codec::{CodecConfig, CodecSpec};
use ndzarr::metadata::ArraySpec;
use ndzarr_model::LzmaFormat;

/// True if every stored chunk, or every inner chunk of a shard, has a checksum. Without one,
/// changed bytes may decode without an error.
pub(crate) fn is_protected(spec: &ArraySpec) -> bool {
    // A checksum of a shard covers the shards in it.
    let inner = spec.inner_chunks();
    spec.codecs
        .iter()
        .chain(inner.iter().flat_map(|(_, codecs)| *codecs))
        .any(has_checksum)
}

fn has_checksum(codec: &CodecSpec) -> bool {
    match &codec.config {
        CodecConfig::Crc32c { .. }
        | CodecConfig::Crc32 { .. }
        | CodecConfig::Adler32 { .. }
        | CodecConfig::Fletcher32
        | CodecConfig::JenkinsLookup3 { .. }
        | CodecConfig::Gzip { .. }
        | CodecConfig::Zlib { .. }
        | CodecConfig::N5Gzip { .. }
        | CodecConfig::Bz2 { .. } => true,
        CodecConfig::Zstd { checksum, .. } => *checksum,
        CodecConfig::Lzma(config) => config.format == LzmaFormat::Xz && config.check != 0,
        CodecConfig::N5Block(block) => block.compression.as_ref().is_some_and(has_checksum),
        // Of the four framings that lz4 has in N5, one has checksums.
        _ => false,
    }
}
