//! Builds the prefix codes of a block from the counts of its symbols.

use crate::huffman;

/// A prefix code of `N` symbols (RFC 1951, 3.2.2).
pub(super) struct Code<const N: usize> {
    /// The number of bits of each symbol; 0 for one that does not occur.
    pub(super) lens: [u8; N],
    /// The bits of each symbol, in the order in which they are written.
    pub(super) bits: [u16; N],
}

impl<const N: usize> Code<N> {
    /// The shortest code for symbols with these counts, none of them longer than `limit` bits.
    pub(super) fn new(counts: &[u32; N], limit: usize) -> Self {
        let lens = huffman::lengths(counts, limit);
        Self {
            bits: canonical(&lens),
            lens,
        }
    }
}

/// The bits implied by the lengths.
fn canonical<const N: usize>(lens: &[u8; N]) -> [u16; N] {
    let mut n_of_len = [0_u16; 16];
    for &len in lens {
        n_of_len[usize::from(len)] += 1;
    }
    n_of_len[0] = 0;
    let mut next = [0_u16; 16];
    for len in 1..16 {
        next[len] = (next[len - 1] + n_of_len[len - 1]) << 1;
    }
    let mut bits = [0; N];
    for (bits, &len) in bits.iter_mut().zip(lens).filter(|(_, len)| **len > 0) {
        let next = &mut next[usize::from(len)];
        *bits = next.reverse_bits() >> (16 - len);
        *next += 1;
    }
    bits
}
