//! Looks up the symbols of both streams in lockstep.

use super::bits::BitReader;
use super::lane::{Lane, MAX_STEPS, STEPS};
use super::stream::{State, Stream, Symbol};
use super::table::{Entry, Match, OUTSIDE_TABLE};

/// Takes as many steps in both streams as fit the notes, or until one of them ends a block or
/// reaches the end of its input; returns the number of steps in each. `None` if another decoder has
/// to take over.
// A separate function keeps the hot loop in registers, wherever it is called from.
#[inline(never)]
pub(super) fn batch(lanes: &mut [Lane; 2], streams: &mut [Stream<'_>; 2]) -> Option<[usize; 2]> {
    let mut n_steps = [0; 2];
    let mut step = 0;
    let mut over = false;
    lanes.iter_mut().for_each(|lane| lane.n_notes = 0);
    while !over {
        step = run_steps(lanes, streams, step);
        over = step >= STEPS;
        for ((lane, stream), n_steps) in lanes.iter_mut().zip(&mut *streams).zip(&mut n_steps) {
            if stream.is_done() {
                continue;
            }
            *n_steps = decode_outside_table(lane, stream, step)?;
            over |= stream.state == State::BetweenBlocks || stream.bits.next_word().is_none();
        }
    }
    Some(n_steps)
}

/// The position in a stream, in the registers of the processor.
struct Cursor<'s> {
    bits: BitReader<'s>,
    n_notes: usize,
}

impl<'s> Cursor<'s> {
    #[inline(always)]
    fn new(lane: &Lane, stream: &mut Stream<'s>) -> Self {
        stream.bits.refill();
        Self {
            bits: stream.bits,
            n_notes: lane.n_notes,
        }
    }

    /// Stores the position back.
    #[inline(always)]
    fn store_back(self, lane: &mut Lane, stream: &mut Stream<'s>) {
        lane.n_notes = self.n_notes;
        stream.bits = self.bits;
        stream.bits.n &= 63;
    }

    /// Takes two steps. The bits left from the last time, 64 minus those of two steps, and one more
    /// word are enough for them.
    #[inline(always)]
    fn two_steps(&mut self, lane: &mut Lane, step: usize, next: u64) -> Entry {
        // It never exceeds this, but the compiler does not know.
        self.n_notes %= MAX_STEPS;
        let entry = lane.table.entry(self.bits.word);
        // Not before the lookup, which would wait for it.
        self.bits.add_word(next);
        self.record(lane, step, entry);
        let entry = lane.table.entry(self.bits.word);
        self.record(lane, step + 1, entry);
        entry
    }

    /// Records the entry as a literal and as a match, and advances for one of them: the other
    /// record is overwritten by the next, or ignored.
    #[inline(always)]
    fn record(&mut self, lane: &mut Lane, step: usize, entry: Entry) {
        let BitReader { word, n, .. } = &mut self.bits;
        lane.literals[step] = (entry >> 8) as u8;
        lane.bits[self.n_notes] = *word as u32;
        lane.steps[self.n_notes] = step as u16;
        self.n_notes += (entry >> 31) as usize;
        *word >>= entry & 63;
        *n = n.wrapping_sub(entry);
    }
}

/// Takes steps from `step` on, until one table does not have the next symbol; returns the step that
/// was not taken.
fn run_steps(lanes: &mut [Lane; 2], streams: &mut [Stream<'_>; 2], mut step: usize) -> usize {
    let [lane_a, lane_b] = lanes;
    let [stream_a, stream_b] = streams;
    // A finished stream never stops the other.
    let stop_a = if stream_a.is_done() { 0 } else { OUTSIDE_TABLE };
    let stop_b = if stream_b.is_done() { 0 } else { OUTSIDE_TABLE };
    let mut a = Cursor::new(lane_a, stream_a);
    let mut b = Cursor::new(lane_b, stream_b);
    while step < STEPS
        && let (Some(next_a), Some(next_b)) = (a.bits.next_word(), b.bits.next_word())
    {
        let entry_a = a.two_steps(lane_a, step, next_a);
        let entry_b = b.two_steps(lane_b, step, next_b);
        step += 2;
        if entry_a & stop_a | entry_b & stop_b != 0 {
            break;
        }
    }
    a.store_back(lane_a, stream_a);
    b.store_back(lane_b, stream_b);
    step
}

/// If the last steps found a symbol outside the table, decodes it; returns the step at which the
/// block or the batch ends.
fn decode_outside_table(lane: &mut Lane, stream: &mut Stream<'_>, step: usize) -> Option<usize> {
    let mut first = step;
    while let Some(last) = lane.n_notes.checked_sub(1)
        && usize::from(lane.steps[last]) + 1 == first
        && lane.table.entry(u64::from(lane.bits[last])) & OUTSIDE_TABLE != 0
    {
        lane.n_notes = last;
        first -= 1;
    }
    if first == step {
        return Some(step);
    }
    stream.n_outside_table += 1;
    match stream.symbol(lane)? {
        Symbol::Literal(byte) => lane.literals[first] = byte,
        Symbol::Match(found) => lane.note(first, found),
        Symbol::End => return Some(first),
    }
    // The steps after it found nothing.
    (first + 1..step).for_each(|step| {
        lane.note(
            step,
            Match {
                len: 0,
                distance: 0,
            },
        )
    });
    Some(step)
}
