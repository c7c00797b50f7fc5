//! zstd: frames of RFC 8878 (zarr-v2.md V2-105, zarr-v3.md V3-125).

use ::zstd::zstd_safe::zstd_sys::ZSTD_ErrorCode;
use ::zstd::zstd_safe::{self, CCtx, CParameter, DCtx, ErrorCode};

use super::zstd_frame::{self, Frames};
use crate::sink;
use crate::{BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "zstd";
const MIN_LEVEL: i32 = -131_072;
const MAX_LEVEL: i32 = 22;
/// A compressor that took more memory than this, as the highest levels do, is not kept, in bytes.
const KEPT_BYTES: usize = 128 << 20;
/// How much output is given memory before any of it is seen, in bytes.
const TRUSTED_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Zstd {
    /// Clamped to what there is when it is used.
    pub(crate) level: i32,
    pub(crate) checksum: bool,
}

struct Compressor(CCtx<'static>);
struct Decompressor(DCtx<'static>);

impl BytesToBytes for Zstd {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Decodes straight into the output in one pass, so no window is allocated, however large a frame wants it (V2-172).
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
                        format!("says that it holds {len} bytes where {} are expected", out.len()),
                    ));
                }
                let n = context.decompress(out, src).map_err(|code| match is_too_small(code) {
                    true => sink::too_long(NAME, out.len()),
                    false => corrupt(code),
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
        let failed = |code| CodecError::encode(NAME, zstd_safe::get_error_name(code));
        let context = compressor(workspace)?;
        let level = self.level.clamp(MIN_LEVEL, MAX_LEVEL);
        context.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
        context.set_parameter(CParameter::ChecksumFlag(self.checksum)).map_err(failed)?;
        dst.clear();
        sink::reserve(dst, zstd_safe::compress_bound(src.len()))?;
        let result = context.compress2(dst, src).map_err(failed);
        if context.sizeof() > KEPT_BYTES
            && let Some(fresh) = CCtx::try_create()
        {
            *context = fresh;
        }
        result.map(|_| ())
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        zstd_frame::frames(src).map(|frames| frames.content_len)
    }
}

fn compressor(workspace: &mut Workspace) -> Result<&mut CCtx<'static>, CodecError> {
    let context = workspace.context(|| CCtx::try_create().map(Compressor));
    match context {
        Some(Compressor(context)) => Ok(context),
        None => Err(CodecError::encode(NAME, "no memory for the compressor")),
    }
}

fn decompressor(workspace: &mut Workspace) -> Result<&mut DCtx<'static>, CodecError> {
    let context = workspace.context(|| DCtx::try_create().map(Decompressor));
    match context {
        Some(Decompressor(context)) => Ok(context),
        None => Err(CodecError::corrupt(NAME, "no memory for the decompressor")),
    }
}

/// Decodes into a buffer that is made larger, and the pass repeated, as long as the content proves to be: memory stays
/// within a small multiple of what is really there.
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
    let mut room = bound.min(TRUSTED_BYTES.max(src.len().saturating_mul(16)));
    loop {
        buf.clear();
        buf.try_reserve_exact(room).map_err(|_| CodecError::OutOfMemory { byte_len: room })?;
        match context.decompress(buf, src) {
            // The buffer may have had more room than it was asked for.
            Ok(n) if n > max => return Err(sink::too_long(NAME, max)),
            Ok(n) => return Ok(n),
            Err(code) if is_too_small(code) && room < bound => {
                room = bound.min(buf.capacity().max(room).saturating_mul(4));
            }
            Err(code) if is_too_small(code) => return Err(sink::too_long(NAME, max)),
            Err(code) => return Err(corrupt(code)),
        }
    }
}

fn is_too_small(code: ErrorCode) -> bool {
    code == (ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall as usize).wrapping_neg()
}

fn corrupt(code: ErrorCode) -> CodecError {
    CodecError::corrupt(NAME, zstd_safe::get_error_name(code))
}
