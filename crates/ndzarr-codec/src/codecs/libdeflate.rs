//! Deflate in one pass, for chunks whose size is known: about twice as fast as the streams of [`super::deflate`].
//!
//! What does not come out just right here (concatenated members, padding, another size, anything corrupt) is left to the
//! stream, which says what is wrong. At level 1, data that repeat little are encoded by [`super::quick_deflate`].

use libdeflater::{CompressionLvl, Compressor, Decompressor};

use super::deflate::Wrapper;
use super::quick_deflate::{self, QuickDeflate};
use crate::{CodecError, Workspace, sink};

struct Inflater(Decompressor);

struct Deflater {
    level: i32,
    state: Compressor,
}

/// Decodes a stream that fills `out`; returns whether it did. Bytes behind the stream are ignored.
pub(crate) fn inflate(src: &[u8], wrapper: Wrapper, out: &mut [u8], workspace: &mut Workspace) -> bool {
    let Inflater(state) = workspace.context(|| Inflater(Decompressor::new()));
    let decoded = match wrapper {
        Wrapper::Raw => state.deflate_decompress(src, out),
        Wrapper::Zlib => state.zlib_decompress(src, out),
    };
    decoded == Ok(out.len())
}

/// Encodes one stream and appends it.
pub(crate) fn deflate(
    codec: &'static str,
    src: &[u8],
    level: i32,
    wrapper: Wrapper,
    dst: &mut Vec<u8>,
    workspace: &mut Workspace,
) -> Result<(), CodecError> {
    if level != 1 || src.len() < quick_deflate::MIN_LEN {
        return one_pass(codec, src, level, wrapper, dst, workspace);
    }
    let start = dst.len();
    if wrapper == Wrapper::Zlib {
        dst.extend_from_slice(&ZLIB_LEVEL_1);
    }
    let n = workspace.context(QuickDeflate::new).encode(src, dst)?;
    if n == 0 {
        dst.truncate(start);
        return one_pass(codec, src, level, wrapper, dst, workspace);
    }
    if n < src.len() {
        one_pass(codec, &src[n..], level, Wrapper::Raw, dst, workspace)?;
    }
    if wrapper == Wrapper::Zlib {
        dst.extend_from_slice(&libdeflater::adler32(src).to_be_bytes());
    }
    Ok(())
}

/// The header of RFC 1950: deflate with a window of 32 KiB, by the fastest algorithm.
const ZLIB_LEVEL_1: [u8; 2] = [0x78, 0x01];

fn one_pass(
    codec: &'static str,
    src: &[u8],
    level: i32,
    wrapper: Wrapper,
    dst: &mut Vec<u8>,
    workspace: &mut Workspace,
) -> Result<(), CodecError> {
    let failed = |what: &str| CodecError::encode(codec, what);
    let make = || {
        // The default level of zlib is 6 as well. Those from 10 to 12 are no level of zlib.
        let wanted = if level == -1 { 6 } else { level };
        let found = (0..=9).contains(&wanted).then(|| CompressionLvl::new(wanted).ok()).flatten();
        found.map(|found| Deflater { level, state: Compressor::new(found) })
    };
    let no_level = || CodecError::encode(codec, format!("level {level} is not within -1 to 9"));
    let context: &mut Option<Deflater> = workspace.context(make);
    if context.as_ref().is_none_or(|deflater| deflater.level != level) {
        *context = make();
    }
    let state = &mut context.as_mut().ok_or_else(no_level)?.state;
    let bound = match wrapper {
        Wrapper::Raw => state.deflate_compress_bound(src.len()),
        Wrapper::Zlib => state.zlib_compress_bound(src.len()),
    };
    let start = dst.len();
    sink::reserve(dst, bound)?;
    dst.resize(start + bound, 0);
    let encoded = match wrapper {
        Wrapper::Raw => state.deflate_compress(src, &mut dst[start..]),
        Wrapper::Zlib => state.zlib_compress(src, &mut dst[start..]),
    };
    let n = encoded.map_err(|_| failed("the compressor found no room"))?;
    dst.truncate(start + n);
    Ok(())
}

/// As RFC 1952 has it.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    libdeflater::crc32(bytes)
}
