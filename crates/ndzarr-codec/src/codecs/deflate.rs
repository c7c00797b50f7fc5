//! What gzip and zlib share: the deflate streams inside them, with states that are kept from chunk to chunk.

#[cfg(any(test, not(feature = "libdeflate")))]
use flate2::{Compress, Compression, FlushCompress};
use flate2::{Decompress, FlushDecompress, Status};

use crate::sink::{self, Sink};
use crate::{CodecError, Dst, Workspace};

/// What is around a deflate stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapper {
    /// Nothing.
    Raw,
    /// Header and Adler-32 of RFC 1950.
    Zlib,
}

#[cfg(any(test, not(feature = "libdeflate")))]
/// How much input a compressor is handed at once, in bytes: it counts in 32 bits. Little in tests, so that they see it.
const STEP: usize = if cfg!(test) { 50_000 } else { 1 << 30 };

struct Inflater(Decompress);

#[cfg(any(test, not(feature = "libdeflate")))]
struct Deflater {
    level: i32,
    wrapper: Wrapper,
    state: Compress,
}

/// Decodes the one stream that `src` begins with; returns how many bytes of `src` it has.
pub(crate) fn inflate(
    codec: &'static str,
    src: &[u8],
    wrapper: Wrapper,
    sink: &mut Sink<'_>,
    workspace: &mut Workspace,
) -> Result<usize, CodecError> {
    let Inflater(state) = workspace.context(|| Inflater(Decompress::new(false)));
    state.reset(wrapper == Wrapper::Zlib);
    let mut at = 0;
    loop {
        let (total_in, total_out) = (state.total_in(), state.total_out());
        let status = state
            .decompress(&src[at..], sink.room()?, FlushDecompress::Finish)
            .map_err(|error| CodecError::corrupt(codec, error))?;
        let n_in = (state.total_in() - total_in) as usize;
        let n_out = (state.total_out() - total_out) as usize;
        at += n_in;
        sink.advance(n_out)?;
        if status == Status::StreamEnd {
            return Ok(at);
        }
        if n_in == 0 && n_out == 0 {
            return Err(sink::truncated(codec));
        }
    }
}

/// Decodes a stream of RFC 1950. Bytes behind it are ignored, as numcodecs does (V2-T30).
pub(crate) fn decode_zlib(
    codec: &'static str,
    src: &[u8],
    dst: Dst<'_>,
    workspace: &mut Workspace,
) -> Result<usize, CodecError> {
    #[cfg(feature = "libdeflate")]
    let mut dst = dst;
    #[cfg(feature = "libdeflate")]
    if let Dst::Exact(out) = &mut dst
        && super::libdeflate::inflate(src, Wrapper::Zlib, out, workspace)
    {
        return Ok(out.len());
    }
    let mut sink = Sink::new(codec, dst);
    inflate(codec, src, Wrapper::Zlib, &mut sink, workspace)?;
    sink.finish()
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
    #[cfg(feature = "libdeflate")]
    return super::libdeflate::deflate(codec, src, level, wrapper, dst, workspace);
    #[cfg(not(feature = "libdeflate"))]
    stream(codec, src, level, wrapper, dst, workspace)
}

/// As [`deflate`], step by step.
#[cfg(any(test, not(feature = "libdeflate")))]
pub(crate) fn stream(
    codec: &'static str,
    src: &[u8],
    level: i32,
    wrapper: Wrapper,
    dst: &mut Vec<u8>,
    workspace: &mut Workspace,
) -> Result<(), CodecError> {
    let compression = match level {
        -1 => Compression::default(),
        0..=9 => Compression::new(level as u32),
        _ => return Err(CodecError::encode(codec, format!("level {level} is not within -1 to 9"))),
    };
    let make = || Deflater { level, wrapper, state: Compress::new(compression, wrapper == Wrapper::Zlib) };
    let deflater = workspace.context(make);
    if deflater.level != level || deflater.wrapper != wrapper {
        *deflater = make();
    }
    let state = &mut deflater.state;
    state.reset();
    sink::reserve(dst, src.len() / 2 + 256)?;
    loop {
        let (total_in, total_out) = (state.total_in(), state.total_out());
        let rest = &src[total_in as usize..];
        let (step, flush) = match rest.get(..STEP) {
            Some(step) if step.len() < rest.len() => (step, FlushCompress::None),
            _ => (rest, FlushCompress::Finish),
        };
        let status =
            state.compress_vec(step, dst, flush).map_err(|error| CodecError::encode(codec, error))?;
        if status == Status::StreamEnd {
            return Ok(());
        }
        let still = state.total_in() == total_in && state.total_out() == total_out;
        if still && dst.capacity() > dst.len() {
            return Err(CodecError::encode(codec, "the compressor makes no progress"));
        }
        if dst.capacity() == dst.len() {
            sink::reserve(dst, (dst.len() / 2).max(4096))?;
        }
    }
}
