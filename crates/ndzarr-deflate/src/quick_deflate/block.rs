//! Writes the blocks of RFC 1951, with dynamic codes or stored.

use super::bits::BitWriter;
use super::code::Code;
use super::finder::{Token, Tokens, zeros};
use crate::symbols::{
    self, END, FIRST_LENGTH, LENGTH_BASE, LENGTH_EXTRA, LENGTH_SYMBOL, LENS_ORDER, MANY_ZEROS,
    MIN_MATCH, N_DISTANCES, N_LENS, N_LITERALS, REPEAT, ZEROS,
};

/// The most bytes in a stored block.
const MAX_STORED: usize = 65_535;

/// The kinds of blocks.
const STORED: u64 = 0;
const WITH_CODES: u64 = 2;

/// The most bytes that the stream of `n` bytes takes, including the spare bytes for [`BitWriter`].
pub(super) fn max_encoded_len(n: usize) -> usize {
    // A block has at least 32 KiB and, if stored, five extra bytes for each part of at most 65,535.
    n + (n / (32 << 10) + 2) * 2 * 6 + 16
}

/// Writes an empty block, which ends at a whole byte.
pub(super) fn align(bits: &mut BitWriter<'_>) {
    write_stored(&[], false, bits);
}

/// The lookup tables for a block's codes.
pub(super) struct Block {
    /// For the lower 10 bits of a token: the bits to write, with the extra ones of a length, and
    /// from bit 24 on their number.
    literals: Box<[u32; 1 << 10]>,
    /// For each symbol of a distance: the bits to write; from bit 16 on their number; from bit 24
    /// on their number including the extra ones.
    distances: [u32; 32],
}

/// The part of a block before its symbols: its codes, encoded with another code.
struct Header {
    n_literals: usize,
    n_distances: usize,
    n_lens: usize,
    code: Code<N_LENS>,
    /// Lengths and repetitions, with the value of their extra bits.
    lens: Vec<(u8, u8)>,
}

impl Block {
    pub(super) fn new() -> Self {
        Self {
            literals: zeros(),
            distances: [0; 32],
        }
    }

    /// Writes a block; `src` is the bytes that its tokens represent.
    pub(super) fn write(
        &mut self,
        tokens: &Tokens,
        src: &[u8],
        is_last: bool,
        bits: &mut BitWriter<'_>,
    ) {
        let counts = tokens.literals_and_lengths();
        let literals = Code::new(&counts, 15);
        let distances = Code::new(&tokens.distances, 15);
        let header = Header::new(&literals, &distances);
        let n_bits = header.n_bits()
            + n_bits(&counts, &literals, length_extra)
            + n_bits(&tokens.distances, &distances, symbols::distance_extra);
        if n_bits / 8 >= (src.len() + 5 * src.len().div_ceil(MAX_STORED)) as u64 {
            write_stored(src, is_last, bits);
            return;
        }
        bits.add(u64::from(is_last) | WITH_CODES << 1, 3);
        header.write(bits);
        self.fill_tables(&literals, &distances);
        self.write_symbols(tokens.list(), bits);
        bits.add(u64::from(literals.bits[END]), u32::from(literals.lens[END]));
        bits.flush();
    }

    fn fill_tables(&mut self, literals: &Code<N_LITERALS>, distances: &Code<N_DISTANCES>) {
        let entry = |symbol: usize| {
            (
                u32::from(literals.bits[symbol]),
                u32::from(literals.lens[symbol]),
            )
        };
        for (byte, table_entry) in self.literals[..END].iter_mut().enumerate() {
            let (bits, len) = entry(byte);
            *table_entry = bits | len << 24;
        }
        for (length, &i) in LENGTH_SYMBOL.iter().enumerate().skip(MIN_MATCH) {
            let i = usize::from(i);
            let (bits, len) = entry(FIRST_LENGTH + i);
            let extra = length as u32 - u32::from(LENGTH_BASE[i]);
            let n = len + u32::from(LENGTH_EXTRA[i]);
            self.literals[Tokens::MATCH as usize + length] = bits | extra << len | n << 24;
        }
        for (symbol, table_entry) in self.distances[..N_DISTANCES].iter_mut().enumerate() {
            let bits = u32::from(distances.bits[symbol]);
            let len = u32::from(distances.lens[symbol]);
            *table_entry = bits | len << 16 | (len + symbols::distance_extra(symbol)) << 24;
        }
    }

    fn write_symbols(&self, tokens: &[Token], bits: &mut BitWriter<'_>) {
        // At most 48 bits: 15 and 5 for a length, 15 and 13 for a distance.
        let encode = |token: Token| {
            let literal = self.literals[(token % (1 << 10)) as usize];
            let distance = self.distances[(token >> 10) as usize % 32];
            let extra = u64::from(token >> 15) << ((distance >> 16) % 32);
            let n = literal >> 24;
            let value =
                u64::from(literal & 0xff_ffff) | (u64::from(distance & 0xffff) | extra) << n;
            (value, n + (distance >> 24))
        };
        let (pairs, rest) = tokens.as_chunks::<2>();
        for &[first, second] in pairs {
            let (first, n_first) = encode(first);
            let (second, n_second) = encode(second);
            if n_first + n_second <= 56 {
                bits.add(first | second << n_first, n_first + n_second);
            } else {
                bits.add(first, n_first);
                bits.flush();
                bits.add(second, n_second);
            }
            bits.flush();
        }
        for &token in rest {
            let (value, n) = encode(token);
            bits.add(value, n);
            bits.flush();
        }
    }
}

impl Header {
    fn new(literals: &Code<N_LITERALS>, distances: &Code<N_DISTANCES>) -> Self {
        let used = |lens: &[u8], least: usize| {
            lens.iter()
                .rposition(|&len| len > 0)
                .map_or(least, |last| (last + 1).max(least))
        };
        let n_literals = used(&literals.lens, FIRST_LENGTH);
        let n_distances = used(&distances.lens, 1);
        let all = [&literals.lens[..n_literals], &distances.lens[..n_distances]].concat();
        let lens = run_lengths(&all);
        let mut counts = [0; N_LENS];
        for &(symbol, _) in &lens {
            counts[usize::from(symbol)] += 1;
        }
        let code = Code::new(&counts, 7);
        let in_order = LENS_ORDER.map(|symbol| code.lens[symbol]);
        Self {
            n_literals,
            n_distances,
            n_lens: used(&in_order, 4),
            code,
            lens,
        }
    }

    /// The number of bits of the header, and of the block's kind before it.
    fn n_bits(&self) -> u64 {
        let lens = self.lens.iter().map(|&(symbol, _)| {
            u64::from(self.code.lens[usize::from(symbol)]) + u64::from(repeat_extra(symbol))
        });
        3 + 14 + 3 * self.n_lens as u64 + lens.sum::<u64>()
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.add((self.n_literals - FIRST_LENGTH) as u64, 5);
        bits.add((self.n_distances - 1) as u64, 5);
        bits.add((self.n_lens - 4) as u64, 4);
        bits.flush();
        for &symbol in &LENS_ORDER[..self.n_lens] {
            bits.add(u64::from(self.code.lens[symbol]), 3);
            bits.flush();
        }
        for &(symbol, extra) in &self.lens {
            let i = usize::from(symbol);
            bits.add(u64::from(self.code.bits[i]), u32::from(self.code.lens[i]));
            bits.add(u64::from(extra), repeat_extra(symbol));
            bits.flush();
        }
    }
}

/// The total number of bits of symbols with these counts.
fn n_bits<const N: usize>(counts: &[u32; N], code: &Code<N>, extra: fn(usize) -> u32) -> u64 {
    let symbols = counts.iter().zip(&code.lens).enumerate();
    symbols
        .map(|(i, (&count, &len))| u64::from(count) * u64::from(u32::from(len) + extra(i)))
        .sum()
}

fn length_extra(symbol: usize) -> u32 {
    symbol
        .checked_sub(FIRST_LENGTH)
        .map_or(0, |i| u32::from(LENGTH_EXTRA[i]))
}

fn repeat_extra(symbol: u8) -> u32 {
    match symbol {
        REPEAT => 2,
        ZEROS => 3,
        MANY_ZEROS => 7,
        _ => 0,
    }
}

/// The lengths of codes with their repetitions (RFC 1951, 3.2.7).
fn run_lengths(lens: &[u8]) -> Vec<(u8, u8)> {
    let mut runs = Vec::with_capacity(lens.len());
    for run in lens.chunk_by(|a, b| a == b) {
        let len = run[0];
        let mut n = run.len();
        if len > 0 {
            runs.push((len, 0));
            n -= 1;
        }
        while n >= 3 {
            let (symbol, least, most) = match (len, n) {
                (0, 11..) => (MANY_ZEROS, 11, 138),
                (0, _) => (ZEROS, 3, 10),
                _ => (REPEAT, 3, 6),
            };
            let step = n.min(most);
            runs.push((symbol, (step - least) as u8));
            n -= step;
        }
        runs.extend(std::iter::repeat_n((len, 0), n));
    }
    runs
}

/// Writes bytes uncompressed.
fn write_stored(src: &[u8], is_last: bool, bits: &mut BitWriter<'_>) {
    let mut rest = src;
    loop {
        let (part, after) = rest.split_at(rest.len().min(MAX_STORED));
        bits.add(u64::from(is_last && after.is_empty()) | STORED << 1, 3);
        bits.align();
        let len = part.len() as u16;
        bits.bytes(&len.to_le_bytes());
        bits.bytes(&(!len).to_le_bytes());
        bits.bytes(part);
        rest = after;
        if rest.is_empty() {
            return;
        }
    }
}
