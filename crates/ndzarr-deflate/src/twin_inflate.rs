//! Decodes two streams of deflate at once, in seven tenths of the time of one after the other.
//!
//! A deflate decoder mostly waits: the start of the next symbol is known only after the lookup of
//! the previous one. Here two streams wait at the same time. If literals and short matches
//! alternate unpredictably, half of the time is lost to branch mispredictions. Here nothing is
//! predicted: a step looks up a literal or a whole match, stores it as if it were a literal and
//! notes it as if it were a match, and moves on to the next literal or the next note without a
//! branch ([`steps`]). The notes are copied afterwards ([`copies`]).
//!
//! This is for noisy numbers, which deflate encodes as literals and short matches. It gives up on
//! streams of mostly long matches, and on anything invalid: then use another decoder, which reports
//! the error.

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

/// The shortest output, in bytes, for which the tables are worthwhile.
pub(crate) const MIN_LEN: usize = 32 << 10;

/// The number of symbols outside the table after which a stream is given up.
const MAX_OUTSIDE_TABLE: usize = 300;
/// The number of decoded bytes that allow one more such symbol.
const BYTES_PER_OUTSIDE_TABLE: usize = 200;
/// The number of pairs of streams to skip after one that was given up for that reason: the next
/// ones are usually of the same kind.
const PAIRS_TO_SKIP: u32 = 8;

/// The state that is reused for each chunk.
pub(crate) struct TwinInflate {
    lanes: Box<[Lane; 2]>,
    pairs_to_skip: u32,
}

impl TwinInflate {
    pub(crate) fn new() -> Self {
        Self {
            lanes: Box::new([Lane::new(), Lane::new()]),
            pairs_to_skip: 0,
        }
    }

    /// Decodes the streams at the start of `src`, each of which must fill its `out`; returns their
    /// lengths in bytes. `None` if another decoder has to decode them; `out` is then unspecified.
    pub(crate) fn decode(&mut self, src: [&[u8]; 2], out: [&mut [u8]; 2]) -> Option<[usize; 2]> {
        // More than three decoded bytes for each encoded one: long matches.
        if (0..2).any(|i| src[i].len() < out[i].len() / 3) {
            return None;
        }
        if self.pairs_to_skip > 0 {
            self.pairs_to_skip -= 1;
            return None;
        }
        let [a, b] = out;
        let mut streams = [
            Stream::new(BitReader::new(src[0]), a),
            Stream::new(BitReader::new(src[1]), b),
        ];
        loop {
            for (lane, stream) in self.lanes.iter_mut().zip(&mut streams) {
                stream.begin_block(lane)?;
            }
            if streams.iter().all(Stream::is_done) {
                return streams
                    .iter()
                    .all(Stream::is_full)
                    .then(|| streams.map(|stream| stream.n_read()));
            }
            let n_steps = steps::batch(&mut self.lanes, &mut streams)?;
            for ((lane, stream), n_steps) in self.lanes.iter().zip(&mut streams).zip(n_steps) {
                if stream.is_done() {
                    continue;
                }
                stream.copy_results(lane, n_steps)?;
                stream.finish_block(lane)?;
                if stream.n_outside_table
                    > MAX_OUTSIDE_TABLE + stream.n_out / BYTES_PER_OUTSIDE_TABLE
                {
                    self.pairs_to_skip = PAIRS_TO_SKIP;
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
