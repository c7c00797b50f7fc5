//! Writes bits to a deflate stream.

/// Bits put into bytes, the lowest first (RFC 1951, 3.1.1).
pub(super) struct BitWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    /// What is not in a whole byte yet, and what [`flush`](Self::flush) has not stored.
    waiting: u64,
    n_waiting: u32,
}

impl<'a> BitWriter<'a> {
    /// Writes into `out`, which has room for eight bytes more than are written.
    pub(super) fn new(out: &'a mut [u8]) -> Self {
        Self { out, at: 0, waiting: 0, n_waiting: 0 }
    }

    /// Adds the `n` bits of `value`, whose others are 0; at most 56 of them between two calls of [`flush`](Self::flush).
    #[inline(always)]
    pub(super) fn add(&mut self, value: u64, n: u32) {
        self.waiting |= value << self.n_waiting;
        self.n_waiting += n;
    }

    /// Stores whole bytes; up to seven bits stay.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        self.out[self.at..self.at + 8].copy_from_slice(&self.waiting.to_le_bytes());
        let whole = self.n_waiting / 8;
        self.at += whole as usize;
        self.waiting >>= whole * 8;
        self.n_waiting %= 8;
    }

    /// Fills the last byte up with zeros.
    pub(super) fn align(&mut self) {
        self.flush();
        self.add(0, self.n_waiting.wrapping_neg() % 8);
        self.flush();
    }

    /// Appends whole bytes, after [`align`](Self::align).
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.out[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// The number of bytes that were written, the last one filled up with zeros.
    pub(super) fn finish(mut self) -> usize {
        self.align();
        self.at
    }
}
