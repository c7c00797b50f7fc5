//! Writes bits to a deflate stream.

/// Packs bits into bytes, the lowest first (RFC 1951, 3.1.1).
pub(super) struct BitWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    /// The bits that do not fill a whole byte yet, or that [`flush`](Self::flush) has not stored.
    waiting: u64,
    n_waiting: u32,
}

impl<'a> BitWriter<'a> {
    /// Writes into `out`, which must have room for eight more bytes than are written.
    pub(super) fn new(out: &'a mut [u8]) -> Self {
        Self { out, at: 0, waiting: 0, n_waiting: 0 }
    }

    /// Adds the `n` bits of `value`, whose other bits are 0; at most 56 of them between two calls
    /// of [`flush`](Self::flush).
    #[inline(always)]
    pub(super) fn add(&mut self, value: u64, n: u32) {
        self.waiting |= value << self.n_waiting;
        self.n_waiting += n;
    }

    /// Stores whole bytes; up to seven bits remain.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        self.out[self.at..self.at + 8].copy_from_slice(&self.waiting.to_le_bytes());
        let whole = self.n_waiting / 8;
        self.at += whole as usize;
        self.waiting >>= whole * 8;
        self.n_waiting %= 8;
    }

    /// Pads the last byte with zeros.
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

    /// The number of bytes written, after padding the last one with zeros.
    pub(super) fn finish(mut self) -> usize {
        self.align();
        self.at
    }
}
