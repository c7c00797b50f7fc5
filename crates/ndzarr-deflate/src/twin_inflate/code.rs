//! Decodes symbols of a prefix code without a table.

/// The longest code, in bits.
pub(super) const MAX_BITS: usize = 15;

/// A prefix code of RFC 1951, 3.2.2, in which every sequence of bits has a meaning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code {
    /// The number of symbols of each length.
    count: [u16; MAX_BITS + 1],
    /// Symbols by length, then by number.
    symbols: [u16; 288],
}

impl Code {
    /// A code without symbols.
    pub(super) const NONE: Self = Self {
        count: [0; MAX_BITS + 1],
        symbols: [0; 288],
    };

    /// The code with these lengths; 0 if the symbol does not occur. `None` if some bits would have
    /// no meaning, or two.
    pub(super) fn new(lens: &[u8]) -> Option<Self> {
        let mut code = Self::NONE;
        for &len in lens {
            code.count[usize::from(len)] += 1;
        }
        code.count[0] = 0;
        // In units of the longest code.
        let space: u32 = (1..=MAX_BITS)
            .map(|len| u32::from(code.count[len]) << (MAX_BITS - len))
            .sum();
        if space != 1 << MAX_BITS {
            return None;
        }
        let mut next = [0; MAX_BITS + 2];
        for len in 1..=MAX_BITS {
            next[len + 1] = next[len] + code.count[len];
        }
        for (symbol, &len) in lens.iter().enumerate().filter(|(_, len)| **len > 0) {
            let index = &mut next[usize::from(len)];
            code.symbols[usize::from(*index)] = symbol as u16;
            *index += 1;
        }
        Some(code)
    }

    /// Every symbol with its bits, in reading order, and their number, shortest codes first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, u32, u32)> {
        let mut code = 0u32;
        let mut len_before = 1;
        let lens =
            (1..=MAX_BITS as u32).flat_map(|len| (0..self.count[len as usize]).map(move |_| len));
        self.symbols.iter().zip(lens).map(move |(&symbol, len)| {
            code <<= len - len_before;
            len_before = len;
            let bits = code.reverse_bits() >> (32 - len);
            code += 1;
            (usize::from(symbol), bits, len)
        })
    }

    /// The symbol at the start of these bits, and its length.
    pub(super) fn decode(&self, bits: u64) -> Option<(usize, u32)> {
        let mut code = 0;
        let mut first = 0;
        let mut n_shorter = 0;
        for len in 1..=MAX_BITS {
            code |= (bits >> (len - 1)) as u32 & 1;
            let count = u32::from(self.count[len]);
            if code < first + count {
                return Some((
                    usize::from(self.symbols[(n_shorter + code - first) as usize]),
                    len as u32,
                ));
            }
            n_shorter += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }
}
