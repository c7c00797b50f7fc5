//! Damage to a file, and the damage that is tried.

use std::fmt;

use ndzarr_testkit::Random;

use super::EVERYWHERE;
use super::select::Target;

/// Damage to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    /// Only this many bytes of its beginning are left.
    Prefix(usize),
    /// A bit of a byte is flipped, 0 the least significant.
    Flip { byte: usize, bit: u32 },
}

impl Damage {
    /// Every strict prefix and every single bit; a sample for larger files.
    pub(crate) fn everywhere(target: &Target, len: usize) -> Vec<Self> {
        if len > EVERYWHERE {
            return Self::sample(&mut Random::seeded(&target.to_string()), len, EVERYWHERE);
        }
        let flips = (0..len).flat_map(|byte| (0..8).map(move |bit| Self::Flip { byte, bit }));
        (0..len).map(Self::Prefix).chain(flips).collect()
    }

    /// `n` prefixes, and twice as many bits.
    pub(crate) fn sample(random: &mut Random, len: usize, n: usize) -> Vec<Self> {
        if len == 0 {
            return Vec::new();
        }
        let mut below = |n: usize| random.below(n as u64) as usize;
        let mut damages = Vec::new();
        for _ in 0..n {
            damages.push(Self::Prefix(below(len)));
            for _ in 0..2 {
                damages.push(Self::Flip {
                    byte: below(len),
                    bit: below(8) as u32,
                });
            }
        }
        damages
    }

    pub(crate) fn apply(self, intact: &[u8]) -> Vec<u8> {
        match self {
            Self::Prefix(len) => intact[..len].to_vec(),
            Self::Flip { byte, bit } => {
                let mut damaged = intact.to_vec();
                damaged[byte] ^= 1 << bit;
                damaged
            }
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(len) => write!(f, "the first {len} bytes"),
            Self::Flip { byte, bit } => write!(f, "bit {bit} of byte {byte} flipped"),
        }
    }
}
