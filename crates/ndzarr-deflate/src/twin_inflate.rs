//! Two streams of deflate decoded at once, which takes seven tenths of the time of one after the other.
//!
//! What a decoder of deflate does most is to wait: where the next symbol begins is known when the one before was looked up. Here
//! two streams wait at the same time. And where literals and short matches take turns that nobody can foretell, half of the
//! time is lost to wrong guesses. Here nothing is guessed: a step looks up a literal or a whole match, stores the one as if it was a
//! literal and notes it as if it was a match, and moves on to the next literal or the next note without a branch ([`steps`]). What
//! was noted is copied afterwards ([`copies`]).
//!
//! This is for noisy numbers, of which deflate makes literals and short matches. It gives up where most is long matches, and at
//! anything that is not right: another decoder, which says what is wrong, is to be asked then.

mod bits;
mod code;
mod copies;
mod header;
mod lane;
mod steps;
mod stream;
mod table;

use bits::BitReader;
use lane::Lane;
use stream::Stream;

/// Less than this is not worth the tables, in decoded bytes.
pub(crate) const MIN_LEN: usize = 32 << 10;

/// How many symbols may not be in the tables before a stream is given up, and one more for so many bytes.
const N_BEYOND: usize = 300;
const BYTES_FOR_BEYOND: usize = 200;
/// How many pairs are not tried after one that was given up so late: what comes next is mostly of the same kind.
const NOT_TRIED: u32 = 8;

/// What is kept from chunk to chunk.
pub(crate) struct TwinInflate {
    lanes: Box<[Lane; 2]>,
    not_to_try: u32,
}

impl TwinInflate {
    pub(crate) fn new() -> Self {
        Self { lanes: Box::new([Lane::new(), Lane::new()]), not_to_try: 0 }
    }

    /// Decodes the streams that `src` begin with, each of which must fill its `out`; returns how many bytes of `src` they
    /// have. `None`: not here, and what is in `out` means nothing.
    pub(crate) fn decode(&mut self, src: [&[u8]; 2], out: [&mut [u8]; 2]) -> Option<[usize; 2]> {
        // More than three bytes for each that is there: long matches.
        if (0..2).any(|i| src[i].len() < out[i].len() / 3) {
            return None;
        }
        if self.not_to_try > 0 {
            self.not_to_try -= 1;
            return None;
        }
        let [a, b] = out;
        let mut streams = [Stream::new(BitReader::new(src[0]), a), Stream::new(BitReader::new(src[1]), b)];
        loop {
            for (lane, stream) in self.lanes.iter_mut().zip(&mut streams) {
                stream.begin_block(lane)?;
            }
            if streams.iter().all(Stream::is_done) {
                return streams.iter().all(Stream::is_full).then(|| streams.map(|stream| stream.n_read()));
            }
            let n_steps = steps::batch(&mut self.lanes, &mut streams)?;
            for ((lane, stream), n_steps) in self.lanes.iter().zip(&mut streams).zip(n_steps) {
                if stream.is_done() {
                    continue;
                }
                stream.copy(lane, n_steps)?;
                stream.finish_block(lane)?;
                if stream.n_beyond > N_BEYOND + stream.n_out / BYTES_FOR_BEYOND {
                    self.not_to_try = NOT_TRIED;
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
