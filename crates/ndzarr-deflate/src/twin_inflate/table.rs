//! The meaning of the next bits of a stream.

use super::code::Code;
use crate::symbols::{
    DISTANCE_BASE, END, FIRST_LENGTH, LENGTH_BASE, LENGTH_EXTRA, N_DISTANCES, distance_extra,
};

/// The number of bits looked up at once. Two steps take at most twice that and twice 13 extra bits,
/// and leave enough of a word of 64 bits for a lookup.
pub(super) const WIDTH: u32 = 12;
pub(super) const N_ENTRIES: usize = 1 << WIDTH;

/// The table's entry for some bits:
///
/// ```text
/// bits   0 to 5    their number, extra ones included; 0 if they are not in the table
/// literal          8 to 15 the byte
/// match            6 to 14 the length; 15 to 19 the symbol of the distance;
///                  20 to 23 the number of bits of both symbols
/// not in the table 15 to 19 the symbol of a length, from FIRST_LENGTH;
///                  20 to 23 its number of bits, or else 0
/// bit   30         not in the table
/// bit   31         no literal
/// ```
pub(super) type Entry = u32;

/// The flag of an entry that is not a literal.
const NOT_LITERAL: Entry = 1 << 31;
/// The flag of an entry for bits that are not in the table, which are noted like a match at first.
pub(super) const OUTSIDE_TABLE: Entry = 1 << 30;

/// The source of a match's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) len: usize,
    /// Its distance; 0 if nothing is copied.
    pub(super) distance: usize,
}

/// The entry of every sequence of bits.
pub(super) struct Table([Entry; N_ENTRIES]);

impl Table {
    /// An empty table.
    pub(super) fn empty() -> Self {
        Self([NOT_LITERAL | OUTSIDE_TABLE; N_ENTRIES])
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(NOT_LITERAL | OUTSIDE_TABLE);
    }

    /// The entry at the start of these bits.
    #[inline(always)]
    pub(super) fn entry(&self, bits: u64) -> Entry {
        self.0[bits as usize % N_ENTRIES]
    }

    /// The match at the start of these bits.
    #[inline(always)]
    pub(super) fn match_at(&self, bits: u32) -> Match {
        let entry = self.entry(u64::from(bits));
        let [base, extra] = DISTANCES[(entry >> 15) as usize % DISTANCES.len()];
        let distance = u32::from(base) + ((bits >> (entry >> 20 & 15)) & u32::from(extra));
        Match {
            len: (entry >> 6 & 0x1ff) as usize,
            distance: distance as usize,
        }
    }

    /// The symbol of a length, from [`FIRST_LENGTH`] on, and its number of bits, if the table has
    /// that part of a match.
    pub(super) fn length(entry: Entry) -> Option<(usize, u32)> {
        let len = entry >> 20 & 15;
        (entry & OUTSIDE_TABLE != 0 && len > 0).then_some(((entry >> 15) as usize % 32, len))
    }

    /// Fills the table for the codes of a block. It grows by one bit at a time: the meaning of
    /// fewer bits holds whatever the next one is, unless all of them together are a code, or two.
    pub(super) fn set(&mut self, literals: &Code, distances: &Code) {
        let mut literals = literals.iter().peekable();
        // Lengths without extra bits, which together with a distance are a match.
        let mut lengths = [(0, 0, 0); 16];
        let mut n_lengths = 0;
        let mut found_distances = [(0, 0, 0); N_DISTANCES];
        let mut n_distances = 0;
        for found in distances.iter().filter(|found| found.0 < N_DISTANCES) {
            found_distances[n_distances] = found;
            n_distances += 1;
        }
        self.0[0] = NOT_LITERAL | OUTSIDE_TABLE;
        for width in 1..=WIDTH {
            let half = 1 << (width - 1);
            self.0.copy_within(..half, half);
            for &(length, code, len) in &lengths[..n_lengths] {
                let of_len = |found: &&(usize, u32, u32)| found.2 + len == width;
                for &(distance, distance_code, _) in
                    found_distances[..n_distances].iter().filter(of_len)
                {
                    let n = width + distance_extra(distance);
                    let what =
                        u32::from(LENGTH_BASE[length]) << 6 | (distance as u32) << 15 | width << 20;
                    self.0[(code | distance_code << len) as usize] = NOT_LITERAL | n | what;
                }
            }
            while let Some((symbol, code, len)) = literals.next_if(|found| found.2 == width) {
                self.0[code as usize] = match symbol.checked_sub(FIRST_LENGTH) {
                    None if symbol == END => NOT_LITERAL | OUTSIDE_TABLE,
                    None => len | (symbol as u32) << 8,
                    Some(length) => NOT_LITERAL | OUTSIDE_TABLE | (length as u32) << 15 | len << 20,
                };
                if let Some(length) = symbol.checked_sub(FIRST_LENGTH)
                    && LENGTH_EXTRA.get(length) == Some(&0)
                {
                    lengths[n_lengths] = (length, code, len);
                    n_lengths += 1;
                }
            }
        }
    }
}

/// The shortest distance of each symbol, and its possible extra bits. The last two are not symbols,
/// and are in no entry.
const DISTANCES: [[u16; 2]; 32] = {
    let mut distances = [[0; 2]; 32];
    let mut symbol = 0;
    while symbol < N_DISTANCES {
        distances[symbol] = [DISTANCE_BASE[symbol], (1 << distance_extra(symbol)) - 1];
        symbol += 1;
    }
    distances
};
