//! Deflate in one pass, for chunks whose size is known: about twice as fast as the streams of [`super::deflate`].
//!
//! What does not come out just right here (concatenated members, padding, another size, anything corrupt) is left to the
//! stream, which says what is wrong. At level 1, data that repeat little are encoded by [`super::quick_deflate`]; two streams of
//! them are decoded at once by [`super::twin_inflate`].

use libdeflater::{CompressionLvl, Compressor, Decompressor};

use super::deflate::Wrapper;
use super::quick_deflate::{self, QuickDeflate};
use super::twin_inflate::{self, TwinInflate};
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

/// Decodes two streams that fill `out`; returns whether it did, which is not so where one after the other is as fast. Bytes behind
/// the streams are ignored.
pub(crate) fn inflate_two(
    src: [&[u8]; 2],
    wrapper: Wrapper,
    mut out: [&mut [u8]; 2],
    workspace: &mut Workspace,
) -> bool {
    if out.iter().any(|out| out.len() < twin_inflate::MIN_LEN) {
        return false;
    }
    let [Some(a), Some(b)] = src.map(|src| unwrapped(src, wrapper)) else { return false };
    let twins = workspace.context(TwinInflate::new);
    let Some(n_read) = twins.decode([a, b], out.each_mut().map(|out| &mut **out)) else { return false };
    let adler32 = |i: usize| libdeflater::adler32(out[i]).to_be_bytes();
    wrapper == Wrapper::Raw
        || a[n_read[0]..].starts_with(&adler32(0)) && b[n_read[1]..].starts_with(&adler32(1))
}

/// What is behind the header, if that is the usual one: a window of at most 32 KiB, and no dictionary.
fn unwrapped(src: &[u8], wrapper: Wrapper) -> Option<&[u8]> {
    match (wrapper, src) {
        (Wrapper::Raw, stream) => Some(stream),
        (Wrapper::Zlib, &[method, flags, ref stream @ ..]) => {
            let is_usual = method & 0x0f == 8
                && method >> 4 <= 7
                && u16::from_be_bytes([method, flags]) % 31 == 0
                && flags & 0x20 == 0;
            is_usual.then_some(stream)
        }
        (Wrapper::Zlib, _) => None,
    }
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
