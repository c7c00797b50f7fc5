//! zstd: frames of RFC 8878.

use std::num::NonZeroUsize;
use std::ops::Range;

use ::zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use ::zstd::zstd_safe::{
    self, CCtx, CParameter, DCtx, DParameter, ErrorCode, InBuffer, OutBuffer, ResetDirective,
};

use super::zstd_frame::{self, Frames};
use crate::memory::sink;
use crate::traits::link::{Capable, DecodeParts};
use crate::{BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "zstd";
const MIN_LEVEL: i32 = -131_072;
const MAX_LEVEL: i32 = 22;
/// A compressor that takes more memory than this many bytes, as at the highest levels, is replaced.
const MAX_KEPT_BYTES: usize = 128 << 20;
/// The step of decoding part of a frame, in encoded bytes.
const STEP_BYTES: usize = 32 << 10;
/// The fewest bytes that are worth leaving out.
const MIN_LEFT_OUT_BYTES: usize = 256 << 10;
/// The largest window that the library accepts, as the logarithm of its bytes.
const MAX_WINDOW_LOG: u32 = if cfg!(target_pointer_width = "64") { 31 } else { 30 };
/// The most memory that is allocated for output before any of it is seen, in bytes.
const TRUSTED_BYTES: usize = 1 << 20;
/// About what a context takes, of which the library does not say how much it could not get.
const CONTEXT_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(crate) struct Zstd {
    /// Clamped to the existing levels on use.
    pub(crate) level: i32,
    pub(crate) checksum: bool,
}

struct Compressor(CCtx<'static>);
struct Decompressor(DCtx<'static>);

impl BytesToBytes for Zstd {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Decodes straight into the output in one pass, so no window is allocated, however large a
    /// window a frame needs.
    fn decode(&self, src: &[u8], dst: Dst<'_>, workspace: &mut Workspace) -> Result<usize, CodecError> {
        let frames = zstd_frame::frames(src)?;
        let context = decompressor(workspace)?;
        match dst {
            Dst::Exact(out) => {
                if let Some(len) = frames.content_len
                    && len != out.len() as u64
                {
                    return Err(CodecError::corrupt(
                        NAME,
                        format!("states {len} decoded bytes, but {} are expected", out.len()),
                    ));
                }
                let n = context.decompress(out, src).map_err(|code| {
                    if is_too_small(code) { sink::too_long(NAME, out.len()) } else { corrupt(code) }
                })?;
                if n != out.len() {
                    return Err(sink::too_short(NAME, n, out.len()));
                }
                Ok(n)
            }
            Dst::Grow { buf, max } => grow(context, src, frames, buf, max),
        }
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, workspace: &mut Workspace) -> Result<(), CodecError> {
        let context = compressor(workspace)?;
        let result = self.compress(src, dst, context);
        if context.sizeof() > MAX_KEPT_BYTES
            && let Some(fresh) = CCtx::try_create()
        {
            *context = fresh;
        }
        result
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        zstd_frame::frames(src).map(|frames| frames.content_len)
    }
}

impl Capable for Zstd {
    fn partial_decoder(&self) -> Option<&dyn DecodeParts> {
        Some(self)
    }
}

impl DecodeParts for Zstd {
    fn block_len(&self, _: &[u8]) -> Result<Option<NonZeroUsize>, CodecError> {
        Ok(None)
    }

    fn decode_parts(
        &self,
        src: &[u8],
        parts: &[Range<usize>],
        out: &mut [u8],
        workspace: &mut Workspace,
    ) -> Result<bool, CodecError> {
        let end = parts.last().map_or(0, |part| part.end);
        self.decode_start(src, end, out, workspace)
    }
}

impl Zstd {
    /// Decodes at least the first `n` bytes, if leaving out those after them is worthwhile.
    fn decode_start(
        &self,
        src: &[u8],
        n: usize,
        out: &mut [u8],
        workspace: &mut Workspace,
    ) -> Result<bool, CodecError> {
        let frames = zstd_frame::frames(src)?;
        if frames.has_checksum || frames.n > 1 || out.len() - n < MIN_LEFT_OUT_BYTES {
            return Ok(false);
        }
        let context = decompressor(workspace)?;
        context.reset(ResetDirective::SessionOnly).map_err(corrupt)?;
        // Blocks are written to their places at once, and no window is allocated, so its size costs
        // no memory.
        context.set_parameter(DParameter::StableOutBuffer(true)).map_err(corrupt)?;
        context.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG)).map_err(corrupt)?;
        let mut to = OutBuffer::around(out);
        for step in src.chunks(STEP_BYTES) {
            let mut from = InBuffer::around(step);
            while from.pos() < step.len() && to.pos() < n {
                let before = (from.pos(), to.pos());
                match context.decompress_stream(&mut to, &mut from) {
                    Ok(_) => {}
                    // A window may be as large as the content. The library accepts one of more than
                    // 2 GiB only in one pass.
                    Err(code) if is_error(code, ZSTD_ErrorCode::ZSTD_error_frameParameter_windowTooLarge) => {
                        return Ok(false);
                    }
                    Err(code) => return Err(corrupt(code)),
                }
                if before == (from.pos(), to.pos()) {
                    return Err(sink::truncated(NAME));
                }
            }
            if to.pos() >= n {
                return Ok(true);
            }
        }
        Err(sink::truncated(NAME))
    }

    /// Replaces the content of `dst` with the frame of `src`.
    fn compress(&self, src: &[u8], dst: &mut Vec<u8>, context: &mut CCtx<'static>) -> Result<(), CodecError> {
        let failed = |code| CodecError::encode(NAME, zstd_safe::get_error_name(code));
        for parameter in [
            CParameter::CompressionLevel(self.level.clamp(MIN_LEVEL, MAX_LEVEL)),
            CParameter::ChecksumFlag(self.checksum),
        ] {
            context.set_parameter(parameter).map_err(failed)?;
        }
        dst.clear();
        sink::reserve(dst, zstd_safe::compress_bound(src.len()))?;
        context.compress2(dst, src).map_err(failed)?;
        Ok(())
    }
}

fn compressor(workspace: &mut Workspace) -> Result<&mut CCtx<'static>, CodecError> {
    let context = workspace.context(|| None);
    if context.is_none() {
        *context = CCtx::try_create().map(Compressor);
    }
    match context {
        Some(Compressor(context)) => Ok(context),
        None => Err(CodecError::OutOfMemory { byte_len: CONTEXT_BYTES }),
    }
}

fn decompressor(workspace: &mut Workspace) -> Result<&mut DCtx<'static>, CodecError> {
    let context = workspace.context(|| None);
    if context.is_none() {
        *context = DCtx::try_create().map(Decompressor);
    }
    match context {
        Some(Decompressor(context)) => Ok(context),
        None => Err(CodecError::OutOfMemory { byte_len: CONTEXT_BYTES }),
    }
}

/// Decodes into a buffer, and repeats the pass with a larger one as long as the content needs it:
/// memory stays within a small multiple of the actual content.
fn grow(
    context: &mut DCtx<'static>,
    src: &[u8],
    frames: Frames,
    buf: &mut Vec<u8>,
    max: usize,
) -> Result<usize, CodecError> {
    if frames.content_len.is_some_and(|len| len > max as u64) {
        return Err(sink::too_long(NAME, max));
    }
    let bound = usize::try_from(frames.content_len.unwrap_or(frames.bound)).unwrap_or(usize::MAX).min(max);
    let mut capacity = bound.min(TRUSTED_BYTES.max(src.len().saturating_mul(16)));
    loop {
        buf.clear();
        buf.try_reserve_exact(capacity).map_err(|_| CodecError::OutOfMemory { byte_len: capacity })?;
        match context.decompress(buf, src) {
            // The buffer may be larger than requested.
            Ok(n) if n > max => return Err(sink::too_long(NAME, max)),
            Ok(n) => return Ok(n),
            Err(code) if is_too_small(code) && capacity < bound => {
                capacity = bound.min(buf.capacity().max(capacity).saturating_mul(4));
            }
            Err(code) if is_too_small(code) => return Err(sink::too_long(NAME, max)),
            Err(code) => return Err(corrupt(code)),
        }
    }
}

fn is_too_small(code: ErrorCode) -> bool {
    is_error(code, ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall)
}

fn is_error(code: ErrorCode, error: ZSTD_ErrorCode) -> bool {
    code == (error as usize).wrapping_neg()
}

fn corrupt(code: ErrorCode) -> CodecError {
    // A valid frame, with a window beyond the address space of this machine.
    if MAX_WINDOW_LOG < 31 && is_error(code, ZSTD_ErrorCode::ZSTD_error_frameParameter_windowTooLarge) {
        return CodecError::OutOfMemory { byte_len: usize::MAX };
    }
    if is_error(code, ZSTD_ErrorCode::ZSTD_error_memory_allocation) {
        return CodecError::OutOfMemory { byte_len: CONTEXT_BYTES };
    }
    CodecError::corrupt(NAME, zstd_safe::get_error_name(code))
}

#[cfg(test)]
mod tests {
    use super::super::tests::image;
    use super::*;

    /// The largest block.
    const BLOCK_BYTES: usize = 128 << 10;
    /// A thread that once had no memory for its contexts asks for them again.
    #[test]
    fn a_context_that_could_not_be_made_is_made_later() {
        let mut workspace = Workspace::default();
        assert!(workspace.context(|| None::<Compressor>).is_none());
        assert!(workspace.context(|| None::<Decompressor>).is_none());
        let mut encoded = Vec::new();
        let mut decoded = [0; 5];
        LEVEL_1.encode(b"hello", &mut encoded, &mut workspace).expect("a frame");
        LEVEL_1.decode(&encoded, Dst::Exact(&mut decoded), &mut workspace).expect("its content");
        assert_eq!(&decoded, b"hello");
    }

    #[test]
    fn a_lack_of_memory_is_no_corruption() {
        let code = (ZSTD_ErrorCode::ZSTD_error_memory_allocation as usize).wrapping_neg();
        assert!(!corrupt(code).is_corrupt());
    }

    const LEVEL_1: Zstd = Zstd { level: 1, checksum: false };

    fn encoded(codec: &Zstd, src: &[u8], workspace: &mut Workspace) -> Vec<u8> {
        let mut frame = Vec::new();
        codec.encode(src, &mut frame, workspace).expect("it encodes");
        let mut out = vec![0; src.len()];
        codec.decode(&frame, Dst::Exact(&mut out), workspace).expect("it decodes");
        assert!(out == src);
        frame
    }

    /// The library's own result.
    fn library(src: &[u8], level: i32) -> Vec<u8> {
        ::zstd::bulk::compress(src, level).expect("it compresses")
    }

    /// The requested level is the level that is used, whatever the data.
    #[test]
    fn every_level_is_the_librarys() {
        let mut workspace = Workspace::new();
        let noise = image(1 << 19, 100.0);
        for (what, src) in [
            ("image", image(1 << 20, 8.0)),
            ("noise", noise.clone()),
            ("lines", noise[..1 << 12].repeat(1 << 8)),
            ("labels", (0..1_u32 << 18).flat_map(|i| (i / 50).to_le_bytes()).collect()),
            ("small", noise[..100_000].to_vec()),
        ] {
            for level in [1, 3, -1, 2] {
                let codec = Zstd { level, checksum: false };
                let frame = encoded(&codec, &src, &mut workspace);
                assert!(frame == library(&src, level), "{what}, level {level}");
            }
        }
    }

    #[test]
    fn a_frame_is_decoded_as_far_as_is_wanted() {
        let mut workspace = Workspace::new();
        let src = [image(1 << 20, 8.0), vec![7; 1 << 20], b"and more ".repeat(50_000)].concat();
        for level in [1, 3] {
            let frame = library(&src, level);
            for n in [0, 1, 300_000, 1 << 20, 1 << 21, (1 << 21) + 1, src.len() - MIN_LEFT_OUT_BYTES] {
                let mut out = vec![0xa5; src.len()];
                let done = LEVEL_1.decode_start(&frame, n, &mut out, &mut workspace);
                assert!(done.expect("it decodes"), "{n}");
                assert!(out[..n] == src[..n], "{n}");
                if n < 1 << 20 {
                    assert!(
                        out[n + (3 * STEP_BYTES).max(BLOCK_BYTES) * 2..].iter().all(|&byte| byte == 0xa5)
                    );
                }
                // The same context decodes another frame, and another context decodes all of it.
                LEVEL_1.decode(&frame, Dst::Exact(&mut out), &mut workspace).expect("it decodes");
                assert!(out == src);
            }
        }
    }

    /// A frame made by hand (RFC 8878): the size of the content, a window of `2^window_log` bytes,
    /// raw blocks of 128 KiB.
    fn raw_frame(window_log: u8, content: &[u8]) -> Vec<u8> {
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 2 << 6, (window_log - 10) << 3];
        frame.extend((content.len() as u32).to_le_bytes());
        let n_blocks = content.len().div_ceil(BLOCK_BYTES);
        for (i, block) in content.chunks(BLOCK_BYTES).enumerate() {
            let header = (block.len() as u32) << 3 | u32::from(i + 1 == n_blocks);
            frame.extend(&header.to_le_bytes()[..3]);
            frame.extend(block);
        }
        frame
    }

    #[test]
    fn the_start_of_a_frame_is_decoded_whatever_its_window() {
        let src = image(1 << 19, 8.0);
        let mut out = vec![0; src.len()];
        for window_log in [17, 20, 27, 28, 30, 31] {
            if u32::from(window_log) > MAX_WINDOW_LOG {
                let done =
                    LEVEL_1.decode(&raw_frame(window_log, &src), Dst::Exact(&mut out), &mut Workspace::new());
                assert!(matches!(done, Err(CodecError::OutOfMemory { .. })), "window log {window_log}");
                continue;
            }
            let frame = raw_frame(window_log, &src);
            let mut workspace = Workspace::new();
            LEVEL_1.decode(&frame, Dst::Exact(&mut out), &mut workspace).expect("it decodes");
            assert!(out == src, "window log {window_log}");
            out.fill(0xa5);
            let done = LEVEL_1.decode_start(&frame, 300_000, &mut out, &mut workspace);
            assert!(done.expect("it decodes"), "window log {window_log}");
            assert!(out[..300_000] == src[..300_000], "window log {window_log}");
            // No memory is allocated for the window.
            let taken = decompressor(&mut workspace).expect("there is one").sizeof();
            assert!(taken < 1 << 20, "window log {window_log}: {taken} bytes");
        }
        // A larger one is an error either way.
        let frame = raw_frame(32, &src);
        LEVEL_1.decode(&frame, Dst::Exact(&mut out), &mut Workspace::new()).expect_err("too large a window");
        let done = LEVEL_1.decode_start(&frame, 300_000, &mut out, &mut Workspace::new());
        assert!(!done.expect("left to the whole"));
    }

    #[test]
    fn what_is_not_a_frame_is_named_by_its_first_bytes() {
        let mut out = [0; 4];
        let error = LEVEL_1.decode(b"garbage", Dst::Exact(&mut out), &mut Workspace::new());
        // "garb" as the format reads its magic number, little endian.
        assert_eq!(
            error.expect_err("not a frame").to_string(),
            "zstd: not a zstd frame (magic number 0x62726167)"
        );
    }

    #[test]
    fn a_frame_is_decoded_whole_where_that_is_needed() {
        let mut workspace = Workspace::new();
        let src = image(1 << 20, 8.0);
        let mut out = vec![0; src.len()];
        let mut start = |frame: &[u8], n: usize, out: &mut [u8]| {
            LEVEL_1.decode_start(frame, n, out, &mut workspace).map_err(|error| error.to_string())
        };
        let frame = library(&src, 1);
        assert_eq!(start(&frame, src.len() - MIN_LEFT_OUT_BYTES + 1, &mut out), Ok(false));
        let halves = [library(&src[..1 << 20], 1), library(&src[1 << 20..], 1)].concat();
        assert_eq!(start(&halves, 100, &mut out), Ok(false));
        let with_checksum = encoded(&Zstd { level: 1, checksum: true }, &src, &mut Workspace::new());
        assert_eq!(start(&with_checksum, 100, &mut out), Ok(false));
        assert!(start(&frame[..frame.len() - 1], 100, &mut out).is_err());
        // Damage before the end of the wanted part.
        let mut broken = frame.clone();
        broken[12..200].fill(0xff);
        assert!(start(&broken, 100_000, &mut out).is_err());
        // The context is still usable.
        LEVEL_1.decode(&frame, Dst::Exact(&mut out), &mut workspace).expect("it decodes");
        assert!(out == src);
    }
}
