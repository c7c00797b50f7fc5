//! Random-looking numbers and regions that are the same in every run.

use std::ops::Range;

/// Numbers that look random and are the same in every run (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Numbers that depend on a text only.
    #[must_use]
    pub fn seeded(seed: &str) -> Self {
        // FNV-1a.
        Self(seed.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if there is none.
    pub fn below(&mut self, n: u64) -> u64 {
        self.number().checked_rem(n).unwrap_or(0)
    }

    /// A region of a shape, one range for each axis; sometimes empty.
    pub fn region(&mut self, shape: &[u64]) -> Vec<Range<u64>> {
        let mut range = |&n: &u64| {
            let a = self.below(n + 1);
            let b = self.below(n + 1);
            if a == b && b < n {
                a..b + 1
            } else {
                a.min(b)..a.max(b)
            }
        };
        shape.iter().map(&mut range).collect()
    }
}
