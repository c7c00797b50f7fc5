//! Reads the code lengths in the header of a block (RFC 1951, 3.2.6 and 3.2.7).

use super::bits::BitReader;
use super::code::Code;
use crate::symbols::{LENS_ORDER, MANY_ZEROS, N_LENS, REPEAT, ZEROS};

/// The lengths of both codes.
pub(super) struct Lengths {
    lens: [u8; 320],
    n_literals: usize,
    n_distances: usize,
}

impl Lengths {
    /// The lengths in every fixed block.
    pub(super) fn fixed() -> Self {
        let mut lens = [8; 320];
        lens[144..256].fill(9);
        lens[256..280].fill(7);
        lens[288..].fill(5);
        Self {
            lens,
            n_literals: 288,
            n_distances: 32,
        }
    }

    /// Reads the lengths of a block with dynamic codes; `None` if they are invalid.
    pub(super) fn read(bits: &mut BitReader<'_>) -> Option<Self> {
        let n_literals = bits.take(5)? as usize + 257;
        let n_distances = bits.take(5)? as usize + 1;
        let n_lens = bits.take(4)? as usize + 4;
        let mut lens_of_code = [0; N_LENS];
        for &symbol in &LENS_ORDER[..n_lens] {
            lens_of_code[symbol] = bits.take(3)? as u8;
        }
        let code = Code::new(&lens_of_code)?;
        let mut table = [(0u8, 0u8); 1 << 7];
        for (symbol, code, len) in code.iter() {
            for entry in table.iter_mut().skip(code as usize).step_by(1 << len) {
                *entry = (symbol as u8, len as u8);
            }
        }
        let mut lens = [0; 320];
        let n = n_literals + n_distances;
        let mut n_lens_read = 0;
        while n_lens_read < n {
            bits.refill();
            let (symbol, len) = table[bits.word as usize % table.len()];
            bits.skip(u32::from(len))?;
            let (value, times) = match symbol {
                REPEAT => (*lens.get(n_lens_read.checked_sub(1)?)?, 3 + bits.take(2)?),
                ZEROS => (0, 3 + bits.take(3)?),
                MANY_ZEROS => (0, 11 + bits.take(7)?),
                len => (len, 1),
            };
            let end = n_lens_read + times as usize;
            lens[..n].get_mut(n_lens_read..end)?.fill(value);
            n_lens_read = end;
        }
        Some(Self {
            lens,
            n_literals,
            n_distances,
        })
    }

    pub(super) fn literals(&self) -> &[u8] {
        &self.lens[..self.n_literals]
    }

    pub(super) fn distances(&self) -> &[u8] {
        &self.lens[self.n_literals..self.n_literals + self.n_distances]
    }
}
