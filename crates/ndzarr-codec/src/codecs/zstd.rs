//! zstd: frames of RFC 8878.

#[cfg(test)]
mod tests;

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
const MAX_WINDOW_LOG: u32 = if cfg!(target_pointer_width = "64") {
    31
} else {
    30
};
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
    fn decode(
        &self,
        src: &[u8],
        dst: Dst<'_>,
        workspace: &mut Workspace,
    ) -> Result<usize, CodecError> {
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
                    if is_too_small(code) {
                        sink::too_long(NAME, out.len())
                    } else {
                        corrupt(code)
                    }
                })?;
                if n != out.len() {
                    return Err(sink::too_short(NAME, n, out.len()));
                }
                Ok(n)
            }
            Dst::Grow { buf, max } => grow(context, src, frames, buf, max),
        }
    }

    fn encode(
        &self,
        src: &[u8],
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
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
        context
            .reset(ResetDirective::SessionOnly)
            .map_err(corrupt)?;
        // Blocks are written to their places at once, and no window is allocated, so its size costs
        // no memory.
        context
            .set_parameter(DParameter::StableOutBuffer(true))
            .map_err(corrupt)?;
        context
            .set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG))
            .map_err(corrupt)?;
        let mut to = OutBuffer::around(out);
        for step in src.chunks(STEP_BYTES) {
            let mut from = InBuffer::around(step);
            while from.pos() < step.len() && to.pos() < n {
                let before = (from.pos(), to.pos());
                match context.decompress_stream(&mut to, &mut from) {
                    Ok(_) => {}
                    // A window may be as large as the content. The library accepts one of more than
                    // 2 GiB only in one pass.
                    Err(code)
                        if is_error(
                            code,
                            ZSTD_ErrorCode::ZSTD_error_frameParameter_windowTooLarge,
                        ) =>
                    {
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
    fn compress(
        &self,
        src: &[u8],
        dst: &mut Vec<u8>,
        context: &mut CCtx<'static>,
    ) -> Result<(), CodecError> {
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
        None => Err(CodecError::OutOfMemory {
            byte_len: CONTEXT_BYTES,
        }),
    }
}

fn decompressor(workspace: &mut Workspace) -> Result<&mut DCtx<'static>, CodecError> {
    let context = workspace.context(|| None);
    if context.is_none() {
        *context = DCtx::try_create().map(Decompressor);
    }
    match context {
        Some(Decompressor(context)) => Ok(context),
        None => Err(CodecError::OutOfMemory {
            byte_len: CONTEXT_BYTES,
        }),
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
    let bound = usize::try_from(frames.content_len.unwrap_or(frames.bound))
        .unwrap_or(usize::MAX)
        .min(max);
    let mut capacity = bound.min(TRUSTED_BYTES.max(src.len().saturating_mul(16)));
    loop {
        buf.clear();
        buf.try_reserve_exact(capacity)
            .map_err(|_| CodecError::OutOfMemory { byte_len: capacity })?;
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
    if MAX_WINDOW_LOG < 31
        && is_error(
            code,
            ZSTD_ErrorCode::ZSTD_error_frameParameter_windowTooLarge,
        )
    {
        return CodecError::OutOfMemory {
            byte_len: usize::MAX,
        };
    }
    if is_error(code, ZSTD_ErrorCode::ZSTD_error_memory_allocation) {
        return CodecError::OutOfMemory {
            byte_len: CONTEXT_BYTES,
        };
    }
    CodecError::corrupt(NAME, zstd_safe::get_error_name(code))
}
