//! Numbers of every type, read from and written to bytes in native byte order.

use half::{bf16, f16};
use ndzarr_model::{DataType, odd_f32, odd_f32_of_int, odd_f32_of_uint};

/// A type of numbers that filters can compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}

/// A number in a type that can represent all values of [`NumberType`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    pub(crate) fn as_f64(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Float(x) => x,
        }
    }

    /// True if an integer, or a float without a fraction, is in a range of integers.
    #[inline]
    pub(crate) fn is_in(self, (low, high): (i128, i128)) -> bool {
        match self {
            Self::Int(n) => (low..=high).contains(&n),
            // 2^63 and the like are floats; the integers before them need not be.
            Self::Float(x) => x >= low as f64 && x < (high + 1) as f64,
        }
    }
}

impl NumberType {
    /// The numbers of a data type, if it consists of numbers; not the components of a complex one.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Bool => Self::Bool,
            DataType::Int { bits: 8 } => Self::I8,
            DataType::Int { bits: 16 } => Self::I16,
            DataType::Int { bits: 32 } => Self::I32,
            DataType::Int { bits: 64 } => Self::I64,
            DataType::UInt { bits: 8 } => Self::U8,
            DataType::UInt { bits: 16 } => Self::U16,
            DataType::UInt { bits: 32 } => Self::U32,
            DataType::UInt { bits: 64 } => Self::U64,
            DataType::Float { bits: 16 } => Self::F16,
            DataType::Float { bits: 32 } => Self::F32,
            DataType::Float { bits: 64 } => Self::F64,
            DataType::BFloat16 => Self::Bf16,
            _ => return None,
        })
    }

    /// Size in bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Least and greatest value of a type of integers.
    pub(crate) fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            Self::Bool => (0, 1),
            Self::I8 => (i8::MIN.into(), i8::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::I32 => (i32::MIN.into(), i32::MAX.into()),
            Self::I64 => (i64::MIN.into(), i64::MAX.into()),
            Self::U8 => (0, u8::MAX.into()),
            Self::U16 => (0, u16::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::U64 => (0, u64::MAX.into()),
            _ => return None,
        })
    }

    /// The number in `bytes`, which have the size of the type.
    #[inline]
    pub(crate) fn load(self, bytes: &[u8]) -> Number {
        let int = |n: i128| Number::Int(n);
        match self {
            Self::Bool => int((bytes[0] != 0).into()),
            Self::I8 => int(i8::from_ne_bytes(array(bytes)).into()),
            Self::I16 => int(i16::from_ne_bytes(array(bytes)).into()),
            Self::I32 => int(i32::from_ne_bytes(array(bytes)).into()),
            Self::I64 => int(i64::from_ne_bytes(array(bytes)).into()),
            Self::U8 => int(bytes[0].into()),
            Self::U16 => int(u16::from_ne_bytes(array(bytes)).into()),
            Self::U32 => int(u32::from_ne_bytes(array(bytes)).into()),
            Self::U64 => int(u64::from_ne_bytes(array(bytes)).into()),
            Self::F16 => Number::Float(f16::from_ne_bytes(array(bytes)).into()),
            Self::Bf16 => Number::Float(bf16::from_ne_bytes(array(bytes)).into()),
            Self::F32 => Number::Float(f32::from_ne_bytes(array(bytes)).into()),
            Self::F64 => Number::Float(f64::from_ne_bytes(array(bytes))),
        }
    }

    /// Writes a number with C's conversions: integers wrap, floats are truncated towards zero and
    /// then wrap.
    #[inline]
    pub(crate) fn store(self, number: Number, out: &mut [u8]) {
        if self.is_float() {
            return self.store_float(number, out);
        }
        let n = match number {
            Number::Int(n) => n,
            Number::Float(x) if self == Self::Bool => (x != 0.0).into(),
            Number::Float(x) => self.truncated(x),
        };
        match self {
            Self::Bool => out[0] = (n != 0).into(),
            Self::I8 | Self::U8 => out[0] = n as u8,
            Self::I16 | Self::U16 => out.copy_from_slice(&(n as u16).to_ne_bytes()),
            Self::I32 | Self::U32 => out.copy_from_slice(&(n as u32).to_ne_bytes()),
            _ => out.copy_from_slice(&(n as u64).to_ne_bytes()),
        }
    }

    fn store_float(self, number: Number, out: &mut [u8]) {
        match self {
            // half's own conversions from `f64` lose bits, depending on the machine.
            Self::F16 => out.copy_from_slice(&f16::from_f32(round_to_odd(number)).to_ne_bytes()),
            Self::Bf16 => out.copy_from_slice(&bf16::from_f32(round_to_odd(number)).to_ne_bytes()),
            Self::F32 => {
                let x = match number {
                    Number::Int(n) => n as f32,
                    Number::Float(x) => x as f32,
                };
                out.copy_from_slice(&x.to_ne_bytes());
            }
            _ => out.copy_from_slice(&number.as_f64().to_ne_bytes()),
        }
    }

    /// A float without its fraction. C leaves the result undefined beyond 64 bits; this is what x86
    /// gives.
    fn truncated(self, x: f64) -> i128 {
        let is_high = self == Self::U64 && x >= 9_223_372_036_854_775_808.0;
        if is_high && x < 18_446_744_073_709_551_616.0 {
            return x as i128;
        }
        let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x);
        if in_range {
            (x as i64).into()
        } else {
            i64::MIN.into()
        }
    }

    /// A float rounded to the precision of this type of floats.
    pub(crate) fn rounded(self, x: f64) -> f64 {
        match self {
            Self::F16 => f16::from_f32(odd_f32(x)).into(),
            Self::Bf16 => bf16::from_f32(odd_f32(x)).into(),
            Self::F32 => (x as f32).into(),
            _ => x,
        }
    }

    /// An integer wrapped to the range of this type of integers.
    pub(crate) fn wrapped(self, n: i128) -> i128 {
        match self {
            Self::Bool => (n != 0).into(),
            Self::I8 => (n as i8).into(),
            Self::I16 => (n as i16).into(),
            Self::I32 => (n as i32).into(),
            Self::I64 => (n as i64).into(),
            Self::U8 => (n as u8).into(),
            Self::U16 => (n as u16).into(),
            Self::U32 => (n as u32).into(),
            Self::U64 => (n as u64).into(),
            _ => n,
        }
    }
}

/// Writes each number of `src` into `out` after `change`.
pub(crate) fn convert_each(
    (from, src): (NumberType, &[u8]),
    (to, out): (NumberType, &mut [u8]),
    mut change: impl FnMut(Number) -> Number,
) {
    for (src, out) in src
        .chunks_exact(from.size())
        .zip(out.chunks_exact_mut(to.size()))
    {
        to.store(change(from.load(src)), out);
    }
}

/// Writes each number of `src` into `out` after `change`, up to the first error.
pub(crate) fn try_convert_each<E>(
    (from, src): (NumberType, &[u8]),
    (to, out): (NumberType, &mut [u8]),
    mut change: impl FnMut(Number) -> Result<Number, E>,
) -> Result<(), E> {
    for (src, out) in src
        .chunks_exact(from.size())
        .zip(out.chunks_exact_mut(to.size()))
    {
        to.store(change(from.load(src))?, out);
    }
    Ok(())
}

/// The number rounded to odd, so that rounding it once more, to 16 bits, gives the nearest number.
fn round_to_odd(number: Number) -> f32 {
    match number {
        Number::Float(x) => odd_f32(x),
        Number::Int(n) => match (i64::try_from(n), u64::try_from(n)) {
            (Ok(n), _) => odd_f32_of_int(n),
            (_, Ok(n)) => odd_f32_of_uint(n),
            // No type has such integers.
            _ => odd_f32(n as f64),
        },
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_become_integers_as_in_c() {
        let mut out = [0];
        for (x, expected) in [
            (-1.0, 0xff),
            (256.0, 0),
            (300.0, 0x2c),
            (1.9, 1),
            (-1.9, 0xff),
        ] {
            NumberType::U8.store(Number::Float(x), &mut out);
            assert_eq!(out, [expected], "{x}");
        }
        let mut out = [0; 8];
        NumberType::U64.store(Number::Float(18_446_744_073_709_549_568.0), &mut out);
        assert_eq!(u64::from_ne_bytes(out), 18_446_744_073_709_549_568);
        NumberType::I64.store(Number::Float(f64::NAN), &mut out);
        assert_eq!(i64::from_ne_bytes(out), i64::MIN);
    }

    #[test]
    fn an_integer_is_rounded_once() {
        // Through a float64 it would be rounded to 2^60, then stay there.
        let n = (1i128 << 60) + (1 << 36) + 1;
        let mut out = [0; 4];
        NumberType::F32.store(Number::Int(n), &mut out);
        assert_eq!(
            f32::from_ne_bytes(out),
            (1u64 << 60) as f32 + (1u64 << 37) as f32
        );
    }
}
