//! zstd without a C compiler: decoding by ruzstd.

use std::io::Read;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::zstd_frame;
use crate::memory::sink::{self, Sink};
use crate::traits::link::Capable;
use crate::{BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "zstd";
/// The largest window of a frame with less content, in bytes: that of the highest level. Only
/// content takes memory.
const MAX_WINDOW: u64 = 128 << 20;
/// The step of decoding, in bytes.
const STEP: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Zstd {
    #[allow(dead_code, reason = "it does not encode")]
    pub(crate) level: i32,
    #[allow(dead_code, reason = "it does not encode")]
    pub(crate) checksum: bool,
}

impl Capable for Zstd {}

impl BytesToBytes for Zstd {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        let frames = zstd_frame::frames(src)?;
        let mut sink = Sink::new(NAME, dst);
        if frames
            .content_len
            .is_some_and(|len| len > sink.remaining() as u64)
        {
            return Err(sink::too_long(NAME, sink.remaining()));
        }
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW.max(sink.remaining() as u64));
        let mut rest = src;
        while !rest.is_empty() {
            if let Some(after) = zstd_frame::after_skippable(rest) {
                rest = after;
                continue;
            }
            decoder.reset(&mut rest).map_err(corrupt)?;
            loop {
                let step = BlockDecodingStrategy::UptoBytes(STEP);
                let is_last = decoder.decode_blocks(&mut rest, step).map_err(corrupt)?;
                while decoder.can_collect() > 0 {
                    let n = decoder.read(sink.free_space()?).map_err(corrupt)?;
                    sink.advance(n)?;
                }
                if is_last {
                    break;
                }
            }
            let stated = decoder.get_checksum_from_data();
            if stated.is_some() && stated != decoder.get_calculated_checksum() {
                return Err(corrupt("the checksum does not match the content"));
            }
        }
        sink.finish()
    }

    fn encode(&self, _: &[u8], _: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        Err(CodecError::encode(
            NAME,
            "this build, without C, only decodes it",
        ))
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        zstd_frame::frames(src).map(|frames| frames.content_len)
    }
}

fn corrupt(error: impl ToString) -> CodecError {
    CodecError::corrupt(NAME, error)
}
