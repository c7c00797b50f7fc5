//! Reads bits from a deflate stream.

/// Takes bits out of bytes, the lowest first (RFC 1951, 3.1.1).
#[derive(Clone, Copy)]
pub(super) struct BitReader<'s> {
    src: &'s [u8],
    /// The bytes that are not in `word` yet.
    pub(super) rest: &'s [u8],
    /// The next bits. Above the `n` valid bits there may be others, which are the start of `rest`.
    pub(super) word: u64,
    pub(super) n: u32,
}

impl<'s> BitReader<'s> {
    pub(super) fn new(src: &'s [u8]) -> Self {
        Self {
            src,
            rest: src,
            word: 0,
            n: 0,
        }
    }

    /// A reader from which no bit is ever taken.
    pub(super) fn idle() -> Self {
        Self {
            src: &[0; 8],
            rest: &[0; 8],
            word: 0,
            n: 56,
        }
    }

    /// Ensures 56 bits, or as many as are left.
    #[inline]
    pub(super) fn refill(&mut self) {
        if let Some(next) = self.next_word() {
            return self.add_word(next);
        }
        while self.n < 56
            && let Some((&byte, rest)) = self.rest.split_first()
        {
            self.word |= u64::from(byte) << self.n;
            self.n += 8;
            self.rest = rest;
        }
    }

    /// The word at the start of `rest`; `None` if `rest` is shorter than a word.
    #[inline(always)]
    pub(super) fn next_word(&self) -> Option<u64> {
        self.rest
            .first_chunk()
            .map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// Puts the word at the start of `rest` after the valid bits. Only the lower six bits of `n`
    /// are used.
    #[inline(always)]
    pub(super) fn add_word(&mut self, next: u64) {
        self.word |= next << (self.n & 63);
        self.rest = &self.rest[(!self.n >> 3 & 7) as usize..];
        self.n |= 56;
    }

    /// The next bits, up to 32; `None` if there are fewer.
    pub(super) fn take(&mut self, n: u32) -> Option<u32> {
        self.refill();
        let value = self.word & ((1 << n) - 1);
        self.skip(n)?;
        Some(value as u32)
    }

    /// Skips bits that were looked at; `None` if there are fewer.
    pub(super) fn skip(&mut self, n: u32) -> Option<()> {
        self.n = self.n.checked_sub(n)?;
        self.word >>= n;
        Some(())
    }

    /// Takes this many bytes, from the next whole one on; `None` if there are fewer.
    pub(super) fn bytes(&mut self, len: usize) -> Option<&'s [u8]> {
        let (bytes, rest) = self.src[self.n_read()..].split_at_checked(len)?;
        self.rest = rest;
        self.word = 0;
        self.n = 0;
        Some(bytes)
    }

    /// The number of bytes read, including a last partial one.
    pub(super) fn n_read(&self) -> usize {
        self.src.len() - self.rest.len() - (self.n / 8) as usize
    }
}
