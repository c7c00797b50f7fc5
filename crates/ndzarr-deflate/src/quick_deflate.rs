//! Encodes noisy numbers 1.5 times as fast as libdeflate at its level 1, and as small.
//!
//! Images and measurements repeat rarely and briefly: most of the output is literals, and the time
//! is lost to mispredicting where the few short matches are. Here all positions of a strip are
//! looked up without a branch, then the matches are taken where a mask has them ([`finder`]);
//! symbols are written two at a time ([`block`]). libdeflate is faster and smaller for data with
//! many repetitions, so a stream ends here as soon as it meets such data.

mod bits;
mod block;
mod code;
mod finder;

use bits::BitWriter;
use block::Block;
use finder::Finder;

use crate::error::{DeflateError, reserve};

/// For less than this the tables are not worthwhile, in bytes.
pub(crate) const MIN_LEN: usize = 16 << 10;

/// The state that is reused for each chunk.
pub(crate) struct QuickDeflate {
    finder: Finder,
    block: Block,
}

impl QuickDeflate {
    pub(crate) fn new() -> Self {
        Self { finder: Finder::new(), block: Block::new() }
    }

    /// Appends the stream for the start of `src`, and returns the number of bytes that it encodes:
    /// all of them, or only those before repetitive data. In the latter case the stream is not
    /// finished; it ends at a whole byte, and another one can follow. The output depends only on
    /// `src`.
    ///
    /// # Panics
    /// If `src` is shorter than [`MIN_LEN`].
    pub(crate) fn encode(&mut self, src: &[u8], dst: &mut Vec<u8>) -> Result<usize, DeflateError> {
        assert!(src.len() >= MIN_LEN, "there is enough to look at");
        let room = block::room(src.len());
        reserve(dst, room)?;
        let start = dst.len();
        dst.resize(start + room, 0);
        let mut bits = BitWriter::new(&mut dst[start..]);
        let mut search = self.finder.search(src);
        let mut at = 0;
        while at < src.len() {
            let end = search.next_block();
            let tokens = search.tokens();
            if tokens.repeat(end - at) {
                break;
            }
            self.block.write(tokens, &src[at..end], end == src.len(), &mut bits);
            at = end;
        }
        if 0 < at && at < src.len() {
            block::align(&mut bits);
        }
        let n = bits.finish();
        dst.truncate(start + n);
        Ok(at)
    }
}

#[cfg(test)]
mod tests;
