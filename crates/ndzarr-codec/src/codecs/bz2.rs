//! bz2: bzip2 streams, one after the other.

use bzip2::{Action, Compress, Compression, Decompress, Status};

use crate::memory::sink::{self, Sink};
use crate::{BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "bz2";
/// The start of each stream.
const MAGIC: &[u8] = b"BZh";
/// What a decoder takes for the largest blocks.
const DECODER_BYTES: usize = 3_700_000;
/// The most input to pass to the compressor at once, in bytes: it counts in 32 bits. Small in
/// tests, so that they cover it.
const STEP: usize = if cfg!(test) { 50_000 } else { 1 << 30 };

#[derive(Debug)]
pub(crate) struct Bz2 {
    pub(crate) level: u32,
}

impl BytesToBytes for Bz2 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        let mut sink = Sink::new(NAME, dst);
        let mut rest = decode_stream(src, &mut sink)?;
        while !rest.is_empty() {
            if !rest.starts_with(&MAGIC[..rest.len().min(MAGIC.len())]) {
                sink.finish()?;
                let what = format!("{} bytes after the end of the stream", rest.len());
                return Err(CodecError::Excess { codec: NAME, what });
            }
            rest = decode_stream(rest, &mut sink)?;
        }
        sink.finish()
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        if !(1..=9).contains(&self.level) {
            return Err(CodecError::encode(
                NAME,
                format!("level {} is not within 1 to 9", self.level),
            ));
        }
        let mut state = Compress::new(Compression::new(self.level), 0);
        dst.clear();
        sink::reserve(dst, src.len() / 4 + 1024)?;
        loop {
            let rest = &src[state.total_in() as usize..];
            let (step, action) = match rest.get(..STEP) {
                Some(step) if step.len() < rest.len() => (step, Action::Run),
                _ => (rest, Action::Finish),
            };
            let status = state
                .compress_vec(step, dst, action)
                .map_err(|error| CodecError::encode(NAME, error))?;
            if status == Status::StreamEnd {
                return Ok(());
            }
            if dst.capacity() == dst.len() {
                sink::reserve(dst, (dst.len() / 2).max(4096))?;
            }
        }
    }
}

/// Decodes the stream at the start of `src`; returns the rest.
fn decode_stream<'s>(src: &'s [u8], sink: &mut Sink<'_>) -> Result<&'s [u8], CodecError> {
    let mut state = Decompress::new(false);
    loop {
        let total_in = state.total_in();
        let total_out = state.total_out();
        let status = state
            .decompress(&src[total_in as usize..], sink.free_space()?)
            .map_err(|error| CodecError::corrupt(NAME, error))?;
        sink.advance((state.total_out() - total_out) as usize)?;
        match status {
            Status::StreamEnd => return Ok(&src[state.total_in() as usize..]),
            Status::MemNeeded => {
                return Err(CodecError::OutOfMemory {
                    byte_len: DECODER_BYTES,
                });
            }
            _ if state.total_in() == total_in && state.total_out() == total_out => {
                return Err(sink::truncated(NAME));
            }
            _ => {}
        }
    }
}
