//! The alphabets of RFC 1951, 3.2.5.

/// Literals, the end of a block, and lengths.
pub(crate) const N_LITERALS: usize = 286;
/// Distances.
pub(crate) const N_DISTANCES: usize = 30;
/// The symbol that ends a block.
pub(crate) const END: usize = 256;
/// The symbol of the shortest length.
pub(crate) const FIRST_LENGTH: usize = 257;
pub(crate) const MIN_MATCH: usize = 3;
pub(crate) const MAX_MATCH: usize = 258;
/// The greatest distance of a match, in bytes.
pub(crate) const MAX_DISTANCE: u32 = 32_768;

const N_LENGTHS: usize = N_LITERALS - FIRST_LENGTH;

/// The number of extra bits of each length symbol, from the first.
pub(crate) const LENGTH_EXTRA: [u8; N_LENGTHS] = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
];

/// The shortest length of each symbol.
pub(crate) const LENGTH_BASE: [u16; N_LENGTHS] = {
    let mut bases = [0; N_LENGTHS];
    let mut base = MIN_MATCH as u16;
    let mut i = 0;
    while i < N_LENGTHS {
        bases[i] = base;
        base += 1 << LENGTH_EXTRA[i];
        i += 1;
    }
    // The longest has a symbol of its own, though the one before could express it.
    bases[N_LENGTHS - 1] = MAX_MATCH as u16;
    bases
};

/// The symbol of each length, from [`FIRST_LENGTH`] on.
pub(crate) const LENGTH_SYMBOL: [u8; MAX_MATCH + 1] = {
    let mut symbols = [0; MAX_MATCH + 1];
    let mut i = 0;
    while i < N_LENGTHS {
        let mut length = LENGTH_BASE[i] as usize;
        while length <= MAX_MATCH {
            symbols[length] = i as u8;
            length += 1;
        }
        i += 1;
    }
    symbols
};

/// The shortest distance of each symbol.
pub(crate) const DISTANCE_BASE: [u16; N_DISTANCES] = {
    let mut bases = [0; N_DISTANCES];
    let mut base = 1;
    let mut i = 0;
    while i < N_DISTANCES {
        bases[i] = base;
        base += 1 << distance_extra(i);
        i += 1;
    }
    bases
};

/// The number of extra bits of a distance symbol.
pub(crate) const fn distance_extra(symbol: usize) -> u32 {
    (symbol as u32 / 2).saturating_sub(1)
}

/// The symbol of a distance, and its extra bits.
#[inline(always)]
pub(crate) fn distance_symbol(distance: u32) -> (u32, u32) {
    let from_0 = distance - 1;
    if from_0 < 4 {
        return (from_0, 0);
    }
    let extra = from_0.ilog2() - 1;
    (2 * extra + (from_0 >> extra), from_0 & ((1 << extra) - 1))
}

/// Symbols for code lengths: 0 to 15, and three repetitions.
pub(crate) const N_LENS: usize = 19;
/// Repeats the previous length 3 to 6 times.
pub(crate) const REPEAT: u8 = 16;
/// 3 to 10 zeros.
pub(crate) const ZEROS: u8 = 17;
/// 11 to 138 zeros.
pub(crate) const MANY_ZEROS: u8 = 18;
/// The order in which the lengths of the codes of these symbols are written.
pub(crate) const LENS_ORDER: [usize; N_LENS] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];
