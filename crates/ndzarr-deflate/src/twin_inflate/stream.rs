//! The state of one of the two streams, and its headers and symbols outside the fast loop.

use super::bits::BitReader;
use super::header::Lengths;
use super::lane::Lane;
use super::table::{Match, Table};
use crate::symbols::{DISTANCE_BASE, END, FIRST_LENGTH, LENGTH_BASE, LENGTH_EXTRA, distance_extra};

/// One of the streams, and the progress in it.
pub(super) struct Stream<'s> {
    pub(super) bits: BitReader<'s>,
    pub(super) out: &'s mut [u8],
    /// The number of bytes in `out` so far.
    pub(super) n_out: usize,
    pub(super) state: State,
    /// The block is the last.
    last: bool,
    n_read: usize,
    /// The number of symbols that were not in the table.
    pub(super) n_outside_table: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A block begins, or the stream ends.
    BetweenBlocks,
    InBlock,
    Done,
}

/// A symbol that was decoded without the table.
pub(super) enum Symbol {
    Literal(u8),
    Match(Match),
    End,
}

impl<'s> Stream<'s> {
    pub(super) fn new(bits: BitReader<'s>, out: &'s mut [u8]) -> Self {
        Self {
            bits,
            out,
            n_out: 0,
            state: State::BetweenBlocks,
            last: false,
            n_read: 0,
            n_outside_table: 0,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    pub(super) fn is_full(&self) -> bool {
        self.n_out == self.out.len()
    }

    /// The number of bytes read from the stream.
    pub(super) fn n_read(&self) -> usize {
        self.n_read
    }

    /// Reads on until there are symbols to decode, or the stream ends.
    pub(super) fn begin_block(&mut self, lane: &mut Lane) -> Option<()> {
        while self.state == State::BetweenBlocks {
            if self.last {
                self.state = State::Done;
                self.n_read = self.bits.n_read();
                // From here on this lane only waits for the other.
                self.bits = BitReader::idle();
                lane.table.clear();
                return Some(());
            }
            self.last = self.bits.take(1)? == 1;
            match self.bits.take(2)? {
                0 => self.copy_stored()?,
                1 => {
                    lane.set_codes(&Lengths::fixed())?;
                    self.state = State::InBlock;
                }
                2 => {
                    lane.set_codes(&Lengths::read(&mut self.bits)?)?;
                    self.state = State::InBlock;
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Copies a stored block.
    fn copy_stored(&mut self) -> Option<()> {
        let &[a, b, c, d] = self.bits.bytes(4)?.first_chunk()?;
        if [!a, !b] != [c, d] {
            return None;
        }
        let bytes = self.bits.bytes(usize::from(u16::from_le_bytes([a, b])))?;
        let end = self.n_out + bytes.len();
        self.out.get_mut(self.n_out..end)?.copy_from_slice(bytes);
        self.n_out = end;
        Some(())
    }

    /// Decodes the next symbol, which may be outside the table.
    pub(super) fn symbol(&mut self, lane: &Lane) -> Option<Symbol> {
        self.bits.refill();
        let (symbol, len) = match Table::length(lane.table.entry(self.bits.word)) {
            Some((length, len)) => (FIRST_LENGTH + length, len),
            None => lane.literal_code.decode(self.bits.word)?,
        };
        self.bits.skip(len)?;
        let Some(length) = symbol.checked_sub(FIRST_LENGTH) else {
            if symbol == END {
                self.state = State::BetweenBlocks;
                return Some(Symbol::End);
            }
            return Some(Symbol::Literal(symbol as u8));
        };
        let len = usize::from(*LENGTH_BASE.get(length)?)
            + self.bits.take(u32::from(LENGTH_EXTRA[length]))? as usize;
        self.bits.refill();
        let (symbol, n) = lane.distance_code.decode(self.bits.word)?;
        self.bits.skip(n)?;
        let base = usize::from(*DISTANCE_BASE.get(symbol)?);
        let distance = base + self.bits.take(distance_extra(symbol))? as usize;
        Some(Symbol::Match(Match { len, distance }))
    }
}
