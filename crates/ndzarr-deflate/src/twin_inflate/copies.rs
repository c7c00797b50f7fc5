//! Assembles the output from the notes.

use std::ops::Range;

use super::lane::{EXPLICIT_MATCH, LITERALS_PADDING, Lane, MAX_STEPS};
use super::stream::{State, Stream, Symbol};
use super::table::Match;

/// The number of literals copied at once, if the output has space for them: copying fewer would
/// need a branch on their number.
const RUN_LEN: usize = LITERALS_PADDING;
/// The number of bytes of a match copied at once, likewise.
const MATCH_LEN: usize = 16;

impl Stream<'_> {
    /// Appends the results of this many steps; `None` if another decoder has to take over.
    pub(super) fn copy_results(&mut self, lane: &Lane, n_steps: usize) -> Option<()> {
        // As a local variable: in `self` it would be stored and loaded for each match.
        let mut out = Output {
            bytes: self.out,
            n: self.n_out,
        };
        let mut literal = 0;
        for (&bits, &step) in lane.bits[..lane.n_notes]
            .iter()
            .zip(&lane.steps[..lane.n_notes])
        {
            let end = usize::from(step & !EXPLICIT_MATCH);
            let found = lane.match_of_note(bits, step);
            if !out.copy_short(lane, literal..end, &found) {
                out.literals(lane, literal..end)?;
                out.repeat(&found)?;
            }
            literal = end + 1;
        }
        out.literals(lane, literal..n_steps)?;
        self.n_out = out.n;
        Some(())
    }

    /// Decodes the end of the source, where no whole word can be read.
    pub(super) fn finish_block(&mut self, lane: &Lane) -> Option<()> {
        while self.state == State::InBlock && self.bits.next_word().is_none() {
            let found = self.symbol(lane)?;
            let mut out = Output {
                bytes: self.out,
                n: self.n_out,
            };
            match found {
                Symbol::Literal(byte) => out.literal(byte)?,
                Symbol::Match(found) => out.repeat(&found)?,
                Symbol::End => {}
            }
            self.n_out = out.n;
        }
        Some(())
    }
}

/// The decoded bytes, and their number so far.
struct Output<'o> {
    bytes: &'o mut [u8],
    n: usize,
}

impl Output<'_> {
    fn literal(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(self.n)? = byte;
        self.n += 1;
        Some(())
    }

    /// Appends a few literals and a short match that is not too near, in one go: later output
    /// overwrites the excess bytes. Returns true if it did.
    #[inline(always)]
    fn copy_short(&mut self, lane: &Lane, steps: Range<usize>, found: &Match) -> bool {
        let &Match { len, distance } = found;
        let run = steps.end.wrapping_sub(steps.start);
        if run > RUN_LEN || len > MATCH_LEN || distance < MATCH_LEN || steps.start > MAX_STEPS {
            return false;
        }
        let Some(target) = self
            .bytes
            .get_mut(self.n..)
            .and_then(<[u8]>::first_chunk_mut::<{ RUN_LEN + MATCH_LEN }>)
        else {
            return false;
        };
        target[..RUN_LEN].copy_from_slice(&lane.literals[steps.start..steps.start + RUN_LEN]);
        let end = self.n + run;
        let from = end.wrapping_sub(distance);
        let Some(&bytes) = self
            .bytes
            .get(from..)
            .and_then(<[u8]>::first_chunk::<MATCH_LEN>)
        else {
            return false;
        };
        let Some(target) = self
            .bytes
            .get_mut(self.n..)
            .and_then(<[u8]>::first_chunk_mut::<{ RUN_LEN + MATCH_LEN }>)
        else {
            return false;
        };
        target[run..run + MATCH_LEN].copy_from_slice(&bytes);
        self.n = end + len;
        true
    }

    fn literals(&mut self, lane: &Lane, steps: Range<usize>) -> Option<()> {
        let end = self.n + steps.len();
        self.bytes
            .get_mut(self.n..end)?
            .copy_from_slice(&lane.literals[steps]);
        self.n = end;
        Some(())
    }

    fn repeat(&mut self, found: &Match) -> Option<()> {
        let from = self.n.checked_sub(found.distance)?;
        repeat_any(self.bytes, from, self.n, found.len)?;
        self.n += found.len;
        Some(())
    }
}

/// Copies any match, also one that overlaps its own output.
#[inline(never)]
fn repeat_any(bytes: &mut [u8], from: usize, n: usize, len: usize) -> Option<()> {
    let bytes = bytes.get_mut(from..n + len)?;
    let distance = n - from;
    if distance >= len {
        bytes.copy_within(..len, distance);
    } else {
        for i in distance..bytes.len() {
            bytes[i] = bytes[i - distance];
        }
    }
    Some(())
}
