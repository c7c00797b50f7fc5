//! The tables and notes of one of the two streams that are decoded together.

use super::code::Code;
use super::header::Lengths;
use super::table::{Match, Table};

/// The number of steps, plus at most two, after which the notes are copied.
pub(super) const STEPS: usize = 2046;
/// The most steps of a batch, and the most notes.
pub(super) const MAX_STEPS: usize = STEPS + 2;

/// The number of bytes after the literals that can be read along with them.
pub(super) const LITERALS_PADDING: usize = 32;

/// Memory for one of the streams.
pub(super) struct Lane {
    pub(super) table: Table,
    /// The result of each step, if it was a literal.
    pub(super) literals: [u8; MAX_STEPS + LITERALS_PADDING],
    /// The step of each match. One entry more than needed, which is overwritten.
    pub(super) steps: [u16; MAX_STEPS + 1],
    /// The bits of each match, which describe what to copy; likewise one entry more than needed.
    pub(super) bits: [u32; MAX_STEPS + 1],
    pub(super) n_notes: usize,
    /// The codes of the block.
    pub(super) literal_code: Code,
    pub(super) distance_code: Code,
}

/// The flag in a step of a match that was not in the table: its bits are the distance and, from bit
/// 16 on, the length.
pub(super) const EXPLICIT_MATCH: u16 = 1 << 15;

impl Lane {
    pub(super) fn new() -> Self {
        Self {
            table: Table::empty(),
            literals: [0; MAX_STEPS + LITERALS_PADDING],
            steps: [0; MAX_STEPS + 1],
            bits: [0; MAX_STEPS + 1],
            n_notes: 0,
            literal_code: Code::NONE,
            distance_code: Code::NONE,
        }
    }

    /// Begins a block. `None` if its codes leave bits without a meaning, or are invalid.
    pub(super) fn set_codes(&mut self, lengths: &Lengths) -> Option<()> {
        self.literal_code = Code::new(lengths.literals())?;
        self.distance_code = Code::new(lengths.distances())?;
        self.table.set(&self.literal_code, &self.distance_code);
        Some(())
    }

    /// Notes a match that was decoded without the table.
    pub(super) fn note(&mut self, step: usize, found: Match) {
        self.steps[self.n_notes] = step as u16 | EXPLICIT_MATCH;
        self.bits[self.n_notes] = (found.len as u32) << 16 | found.distance as u32;
        self.n_notes += 1;
    }

    /// The match of a note.
    #[inline(always)]
    pub(super) fn match_of_note(&self, bits: u32, step: u16) -> Match {
        match step & EXPLICIT_MATCH {
            0 => self.table.match_at(bits),
            _ => Match {
                len: (bits >> 16) as usize,
                distance: (bits & 0xffff) as usize,
            },
        }
    }
}
