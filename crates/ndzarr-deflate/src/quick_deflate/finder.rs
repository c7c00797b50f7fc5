//! Finds the matches.

use crate::symbols::{
    self as symbols, FIRST_LENGTH, LENGTH_SYMBOL, MAX_DISTANCE, MAX_MATCH, N_DISTANCES, N_LITERALS,
};

/// A literal or a match: in bits 0 to 9 the byte, or [`Tokens::MATCH`] and the length; in bits 10
/// to 14 the symbol of the distance, 31 for none; above them its extra bits.
pub(super) type Token = u32;

/// The content of a block.
pub(super) struct Tokens {
    tokens: Box<[Token; MAX_TOKENS + SLACK]>,
    n: usize,
    n_matches: usize,
    /// The count of each distance symbol.
    pub(super) distances: [u32; N_DISTANCES],
}

/// A block ends when it has this many tokens or bytes.
const MAX_TOKENS: usize = 32 << 10;
const MAX_BYTES: usize = 256 << 10;
/// The number of tokens after which repetition is checked for the first time.
const FIRST_CHECK: usize = 2 << 10;
/// The number of tokens by which a block may be longer: those of a strip, and of the end of the
/// data.
const SLACK: usize = 2 * STRIP + TAIL;

/// The number of positions looked up at once.
const STRIP: usize = 64;
/// The number of bytes at the end of the data that are always literals, because lookups read past
/// the end of a strip.
const TAIL: usize = 2 * STRIP + 8;
/// The range of positions that can be looked up: more than a distance may be, but the most that 16
/// bits can represent.
const WINDOW: usize = 1 << 16;
/// The shortest match that is found, in bytes.
const MIN_FOUND_LEN: u32 = 4;

const HASH_BITS: u32 = 17;
type Heads = [u16; 1 << HASH_BITS];

/// The state that is reused for each chunk.
pub(super) struct Finder {
    /// For each hash of four bytes the lowest 16 bits of their last position. Comparing the data
    /// shows if they really are at that position.
    heads: Box<Heads>,
    /// A window of zeros, then the start of the data: lookups reach back by a window.
    padded_start: Vec<u8>,
    tokens: Tokens,
}

/// The search for matches in the data.
pub(super) struct Search<'a> {
    finder: &'a mut Finder,
    src: &'a [u8],
    /// The end of the last token.
    position: usize,
}

/// The candidate for a match at a position: the number of equal bits, up to 64, and above the
/// lowest 8 bits the distance minus one.
type Candidate = u32;

impl Finder {
    pub(super) fn new() -> Self {
        let tokens = Tokens {
            tokens: zeros(),
            n: 0,
            n_matches: 0,
            distances: [0; N_DISTANCES],
        };
        Self {
            heads: zeros(),
            padded_start: Vec::new(),
            tokens,
        }
    }

    pub(super) fn search<'a>(&'a mut self, src: &'a [u8]) -> Search<'a> {
        self.heads.fill(0);
        self.padded_start.resize(WINDOW, 0);
        self.padded_start
            .extend_from_slice(&src[..src.len().min(WINDOW + STRIP + 8)]);
        Search {
            finder: self,
            src,
            position: 0,
        }
    }
}

impl Search<'_> {
    /// The content of the last block.
    pub(super) fn tokens(&self) -> &Tokens {
        &self.finder.tokens
    }

    /// Finds the tokens of the next block; returns its end.
    pub(super) fn next_block(&mut self) -> usize {
        let Finder {
            heads,
            padded_start,
            tokens,
        } = &mut *self.finder;
        tokens.clear();
        let src = self.src;
        let start = self.position;
        let strips_end = src.len() - TAIL;
        let mut strip = start;
        let mut found = [0; STRIP];
        // The first block is checked early, so that little work is wasted.
        let mut next_check = if start == 0 { FIRST_CHECK } else { MAX_TOKENS };
        while strip < strips_end && tokens.n < MAX_TOKENS && strip < start + MAX_BYTES {
            if tokens.n >= next_check {
                if tokens.is_repetitive(self.position - start) {
                    break;
                }
                next_check *= 2;
            }
            if self.position >= strip + STRIP {
                // Within a match: one position is enough to find it again.
                heads[hash(u32::from_le_bytes(bytes_at(src, strip)))] = strip as u16;
                strip += STRIP;
                continue;
            }
            let mask = if strip < WINDOW {
                let mask = look_up(heads, array_at(padded_start, strip), strip, &mut found);
                mask & starting_within_data(&found, strip)
            } else {
                look_up(heads, array_at(src, strip - WINDOW), strip, &mut found)
            };
            self.position = take_matches(mask, &found, src, strip, self.position, tokens);
            strip += STRIP;
        }
        if strip >= strips_end {
            for &byte in &src[self.position..] {
                tokens.literal(byte);
            }
            self.position = src.len();
        }
        self.position
    }
}

/// Looks up, for each position of the strip at `pos`, the last position of its four bytes, and
/// stores that candidate. Returns a mask of the positions with a match. Without a branch, the
/// processor works on many positions at once.
#[inline(always)]
fn look_up(
    heads: &mut Heads,
    window: &[u8; WINDOW + STRIP + 8],
    pos: usize,
    found: &mut [Candidate; STRIP],
) -> u64 {
    let mut mask = 0;
    for (k, found) in found.iter_mut().enumerate() {
        let position = pos.wrapping_add(k) as u16;
        let bytes = u64::from_le_bytes(bytes_at(window, WINDOW + k));
        let head = &mut heads[hash(bytes as u32)];
        let distance = position.wrapping_sub(*head);
        *head = position;
        let earlier = u64::from_le_bytes(bytes_at(window, WINDOW + k - usize::from(distance)));
        let equal_bits = (bytes ^ earlier).trailing_zeros();
        // The position itself is found if none of the last 65,536 bytes had its hash; it counts as
        // too far away.
        let less_one = u32::from(distance).wrapping_sub(1);
        *found = less_one << 8 | equal_bits;
        let is_match = (less_one < MAX_DISTANCE) & (equal_bits >= 8 * MIN_FOUND_LEN);
        mask = mask >> 1 | u64::from(is_match) << (STRIP - 1);
    }
    mask
}

/// A mask of the positions of the strip at `pos` whose match does not begin before the data.
#[inline(never)]
fn starting_within_data(found: &[Candidate; STRIP], pos: usize) -> u64 {
    found.iter().enumerate().fold(0, |mask, (k, found)| {
        mask | u64::from((found >> 8) < (pos + k) as u32) << k
    })
}

/// Takes the first match, the next one after it, and so on, from `at` to the end of the strip at
/// `strip`; returns the end of the last token.
#[inline(always)]
fn take_matches(
    mask: u64,
    found: &[Candidate; STRIP],
    src: &[u8],
    strip: usize,
    mut at: usize,
    tokens: &mut Tokens,
) -> usize {
    while at < strip + STRIP {
        let k = at - strip;
        let mask = mask >> k;
        let n_literals = (mask.trailing_zeros() as usize).min(STRIP - k);
        tokens.literals(array_at(src, at), n_literals);
        at += n_literals;
        if mask != 0 {
            let found = found[(k + n_literals) % STRIP];
            let distance = (found >> 8) + 1;
            let mut length = (found as u8 / 8) as usize;
            if length == 8 {
                length = length_of_match(&src[at - distance as usize..], &src[at..]);
            }
            tokens.copy(length, distance);
            at += length;
        }
    }
    at
}

/// The number of equal bytes, of which the first eight are known to be equal.
fn length_of_match(earlier: &[u8], now: &[u8]) -> usize {
    let max = now.len().min(MAX_MATCH);
    let mut n = 8;
    while n + 8 <= max {
        let differ =
            u64::from_le_bytes(bytes_at(earlier, n)) ^ u64::from_le_bytes(bytes_at(now, n));
        if differ != 0 {
            return n + (differ.trailing_zeros() / 8) as usize;
        }
        n += 8;
    }
    n + now[n..max]
        .iter()
        .zip(&earlier[n..])
        .take_while(|(now, earlier)| now == earlier)
        .count()
}

impl Tokens {
    pub(super) const MATCH: u32 = 256;
    const NO_DISTANCE: Token = 31 << 10;

    pub(super) fn list(&self) -> &[Token] {
        &self.tokens[..self.n]
    }

    /// True if the repetitions in a block of `n` bytes are frequent or long enough for libdeflate
    /// to be better.
    pub(super) fn is_repetitive(&self, n: usize) -> bool {
        let n_literals = self.n - self.n_matches;
        n > 3 * self.n || n - n_literals > 5 * self.n_matches + n / 8
    }

    /// The counts of literals and length symbols, with one end of the block.
    pub(super) fn literals_and_lengths(&self) -> [u32; N_LITERALS] {
        // In four tables, because successive increments of the same counter would wait for each
        // other.
        let mut counts = [[0_u32; 1 << 10]; 4];
        let (fours, rest) = self.list().as_chunks::<4>();
        for four in fours {
            for (counts, token) in counts.iter_mut().zip(four) {
                counts[(token % (1 << 10)) as usize] += 1;
            }
        }
        for token in rest {
            counts[0][(token % (1 << 10)) as usize] += 1;
        }
        let count = |i: usize| counts.iter().map(|counts| counts[i]).sum::<u32>();
        let mut symbols = [0; N_LITERALS];
        for (byte, symbol) in symbols[..symbols::END].iter_mut().enumerate() {
            *symbol = count(byte);
        }
        symbols[symbols::END] = 1;
        for (length, &symbol) in LENGTH_SYMBOL.iter().enumerate().skip(symbols::MIN_MATCH) {
            symbols[FIRST_LENGTH + usize::from(symbol)] += count(Self::MATCH as usize + length);
        }
        symbols
    }

    fn clear(&mut self) {
        self.n = 0;
        self.n_matches = 0;
        self.distances = [0; N_DISTANCES];
    }

    fn literal(&mut self, byte: u8) {
        self.tokens[self.n] = Self::NO_DISTANCE | u32::from(byte);
        self.n += 1;
    }

    /// Appends the first `n` of the bytes. It always writes eight, which is faster than a variable
    /// number.
    #[inline(always)]
    fn literals(&mut self, bytes: &[u8; STRIP], n: usize) {
        let (bytes, _) = bytes.as_chunks::<8>();
        let (tokens, _) = self.tokens[self.n..self.n + STRIP].as_chunks_mut::<8>();
        tokens[0] = bytes[0].map(|byte| Self::NO_DISTANCE | u32::from(byte));
        if n > 8 {
            for (tokens, bytes) in tokens.iter_mut().zip(bytes).skip(1) {
                *tokens = bytes.map(|byte| Self::NO_DISTANCE | u32::from(byte));
            }
        }
        self.n += n;
    }

    #[inline(always)]
    fn copy(&mut self, length: usize, distance: u32) {
        let (symbol, extra) = symbols::distance_symbol(distance);
        self.distances[symbol as usize] += 1;
        self.tokens[self.n] = (Self::MATCH + length as u32) | symbol << 10 | extra << 15;
        self.n += 1;
        self.n_matches += 1;
    }
}

#[inline(always)]
fn hash(four: u32) -> usize {
    (four.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
}

/// The bytes from `at` on, by value.
#[inline(always)]
fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    *array_at(bytes, at)
}

#[inline(always)]
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> &[u8; N] {
    bytes[at..]
        .first_chunk()
        .expect("the array lies within the bytes")
}

/// Zeros, allocated without ever being on the stack.
pub(super) fn zeros<T: Default + Clone, const N: usize>() -> Box<[T; N]> {
    vec![T::default(); N]
        .into_boxed_slice()
        .try_into()
        .unwrap_or_else(|_| unreachable!("there are N"))
}
