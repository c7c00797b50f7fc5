//! bitround: rounds low bits away. Decoding is the identity.

use ndzarr_model::{ComplexPart, DataType, FilterTypes, StoredType};

use crate::CodecError;
use crate::filter::Filter;

const NAME: &str = "bitround";

/// The specification to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// numcodecs: floats, which cannot keep more bits than they have.
    Numcodecs,
    /// The registry of Zarr v3: floats and integers.
    Registry,
}

#[derive(Debug)]
pub(crate) struct Bitround {
    keepbits: u32,
    types: FilterTypes,
    kind: Result<Kind, String>,
}

/// The meaning of the bits.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Components of this many bytes, with a mantissa of this many bits.
    Float {
        size: usize,
        mantissa: u32,
    },
    Int {
        size: usize,
    },
}

impl Bitround {
    pub(crate) fn new(keepbits: u32, input: &StoredType, rules: Rules) -> Result<Self, CodecError> {
        let data_type = &input.data_type;
        let kind = match (kind(data_type), rules) {
            (Some(Kind::Float { mantissa, .. }), Rules::Numcodecs) if keepbits > mantissa => Err(
                format!("{data_type} has {mantissa} bits of mantissa, fewer than {keepbits}"),
            ),
            (Some(Kind::Int { .. }), Rules::Numcodecs) | (None, _) => {
                Err(format!("takes no {data_type}"))
            }
            (Some(kind), _) => Ok(kind),
        };
        if let (Err(what), Rules::Registry) = (&kind, rules) {
            return Err(CodecError::config(NAME, what));
        }
        let types = FilterTypes {
            dtype: input.clone(),
            astype: input.clone(),
        };
        Ok(Self {
            keepbits,
            types,
            kind,
        })
    }
}

fn kind(data_type: &DataType) -> Option<Kind> {
    let float = |bits: u8| match bits {
        16 => Some(Kind::Float {
            size: 2,
            mantissa: 10,
        }),
        32 => Some(Kind::Float {
            size: 4,
            mantissa: 23,
        }),
        64 => Some(Kind::Float {
            size: 8,
            mantissa: 52,
        }),
        _ => None,
    };
    match *data_type {
        DataType::Float { bits } => float(bits),
        DataType::Complex { bits } => float(bits / 2),
        DataType::ComplexOf(ComplexPart::Float16) => float(16),
        DataType::BFloat16 | DataType::ComplexOf(ComplexPart::BFloat16) => Some(Kind::Float {
            size: 2,
            mantissa: 7,
        }),
        DataType::Int { bits } | DataType::UInt { bits } if bits >= 8 => Some(Kind::Int {
            size: usize::from(bits) / 8,
        }),
        DataType::DateTime64 { .. } | DataType::TimeDelta64 { .. } => Some(Kind::Int { size: 8 }),
        _ => None,
    }
}

impl Filter for Bitround {
    const NAME: &'static str = NAME;

    fn types(&self) -> &FilterTypes {
        &self.types
    }

    fn encode(&self, elements: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        out.copy_from_slice(elements);
        match *self
            .kind
            .as_ref()
            .map_err(|what| CodecError::encode(NAME, what))?
        {
            Kind::Float { mantissa, .. } if self.keepbits >= mantissa => {}
            Kind::Float { size, mantissa } => {
                let dropped = mantissa - self.keepbits;
                let exponent = (1u64 << (8 * size as u32 - 1 - mantissa)) - 1;
                change_each(size, out, |bits| {
                    // Non-finite numbers have all bits of the exponent set.
                    let is_finite = bits >> mantissa & exponent != exponent;
                    if is_finite {
                        rounded(bits, dropped) as u64
                    } else {
                        bits
                    }
                });
            }
            Kind::Int { size } => change_each(size, out, |bits| {
                let dropped = (u64::BITS - bits.leading_zeros()).saturating_sub(self.keepbits);
                let rounded = rounded(bits, dropped);
                let max = u64::MAX >> (64 - 8 * size as u32);
                let rounded_down = max
                    .checked_shr(dropped)
                    .unwrap_or(0)
                    .checked_shl(dropped)
                    .unwrap_or(0);
                if rounded > u128::from(max) {
                    rounded_down
                } else {
                    rounded as u64
                }
            }),
        }
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        out.copy_from_slice(encoded);
        Ok(())
    }
}

/// Rounds away this many low bits, ties to even.
fn rounded(bits: u64, dropped: u32) -> u128 {
    let bits = u128::from(bits);
    if dropped == 0 {
        return bits;
    }
    let up = (bits >> dropped & 1) + (1 << (dropped - 1)) - 1;
    (bits + up) >> dropped << dropped
}

/// Changes each number of `size` bytes, as the low bytes of a `u64`.
fn change_each(size: usize, out: &mut [u8], change: impl Fn(u64) -> u64) {
    for unit in out.chunks_exact_mut(size) {
        let mut word = [0; 8];
        if cfg!(target_endian = "little") {
            word[..size].copy_from_slice(unit);
            unit.copy_from_slice(&change(u64::from_le_bytes(word)).to_le_bytes()[..size]);
        } else {
            word[8 - size..].copy_from_slice(unit);
            unit.copy_from_slice(&change(u64::from_be_bytes(word)).to_be_bytes()[8 - size..]);
        }
    }
}
