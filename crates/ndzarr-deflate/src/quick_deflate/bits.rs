//! Writes bits to a deflate stream.

/// Packs bits into bytes, the lowest first (RFC 1951, 3.1.1).
pub(super) struct BitWriter<'a> {
    out: &'a mut [u8],
    /// The number of whole bytes stored.
    len: usize,
    /// The bits that do not fill a whole byte yet, or that [`flush`](Self::flush) has not stored.
    pending: u64,
    n_pending: u32,
}

impl<'a> BitWriter<'a> {
    /// Writes into `out`, which must be at least eight bytes longer than what is written.
    pub(super) fn new(out: &'a mut [u8]) -> Self {
        Self {
            out,
            len: 0,
            pending: 0,
            n_pending: 0,
        }
    }

    /// Adds the `n` bits of `value`, whose other bits are 0; at most 56 of them between two calls
    /// of [`flush`](Self::flush).
    #[inline(always)]
    pub(super) fn add(&mut self, value: u64, n: u32) {
        self.pending |= value << self.n_pending;
        self.n_pending += n;
    }

    /// Stores whole bytes; up to seven bits remain.
    #[inline(always)]
    pub(super) fn flush(&mut self) {
        self.out[self.len..self.len + 8].copy_from_slice(&self.pending.to_le_bytes());
        let whole = self.n_pending / 8;
        self.len += whole as usize;
        self.pending >>= whole * 8;
        self.n_pending %= 8;
    }

    /// Pads the last byte with zeros.
    pub(super) fn align(&mut self) {
        self.flush();
        self.add(0, self.n_pending.wrapping_neg() % 8);
        self.flush();
    }

    /// Appends whole bytes, after [`align`](Self::align).
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.out[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// The number of bytes written, after padding the last one with zeros.
    pub(super) fn finish(mut self) -> usize {
        self.align();
        self.len
    }
}
