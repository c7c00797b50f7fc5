//! lz4 without a C compiler: decoding by lz4_flex.

use std::io::{self, Read};

use lz4_flex::block::decompress_into;
use lz4_flex::frame::FrameDecoder;

use crate::memory::sink::{self, Sink};
use crate::{CodecError, Dst};

/// Decodes one raw block of no more bytes than `out` has; returns their number.
pub(crate) fn decode_into(block: &[u8], out: &mut [u8]) -> Option<usize> {
    decompress_into(block, out).ok()
}

/// Refuses to encode.
#[cfg(target_family = "wasm")]
pub(crate) fn encode_block(
    codec: &'static str,
    _: &[u8],
    _: i32,
    _: &mut Vec<u8>,
    _: usize,
) -> Result<(), CodecError> {
    Err(CodecError::encode(
        codec,
        "this build, without C, only decodes it",
    ))
}

/// The LZ4 frame format, as rust-n5 writes it.
pub(crate) fn decode_frame(
    codec: &'static str,
    src: &[u8],
    dst: Dst<'_>,
) -> Result<usize, CodecError> {
    let mut sink = Sink::new(codec, dst);
    let mut decoder = FrameDecoder::new(Source {
        rest: src,
        ran_out: false,
    });
    loop {
        let n = decoder
            .read(sink.free_space()?)
            .map_err(|error| CodecError::corrupt(codec, error))?;
        if n == 0 {
            break;
        }
        sink.advance(n)?;
    }
    let Source { rest, ran_out } = decoder.into_inner();
    if ran_out {
        return Err(sink::truncated(codec));
    }
    if !rest.is_empty() {
        return Err(CodecError::corrupt(
            codec,
            format!("{} bytes behind the frame", rest.len()),
        ));
    }
    sink.finish()
}

/// A frame to read. If it ends between two blocks, the decoder takes that for the end of the frame.
struct Source<'s> {
    rest: &'s [u8],
    /// True if the decoder tried to read past the end.
    ran_out: bool,
}

impl Read for Source<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.rest.read(to)?;
        self.ran_out |= n < to.len();
        Ok(n)
    }
}
