//! `Number`: real numbers, and their conversion.

use std::fmt;

use half::{bf16, f16};
use ndzarr_model::{odd_f32, odd_f32_of_int, odd_f32_of_uint};

use crate::element_types::plain_element::PlainElement;

/// A real number: `i8` to `i64`, `u8` to `u64`, `half::f16`, `half::bf16`, `f32` or `f64`.
///
/// [`for_each_type!`](crate::for_each_type) runs code for whichever of these an array has.
pub trait Number: PlainElement + Default + PartialOrd + fmt::Debug + fmt::Display {
    /// The nearest `f64`, ties to even: the number itself, but for integers beyond 2^53.
    fn to_f64(self) -> f64;

    /// The nearest number to a float, ties to even; `None` if it is out of range and `cast` is
    /// [`Checked`](Cast::Checked).
    #[must_use]
    fn from_f64(float: f64, cast: Cast) -> Option<Self> {
        let (number, fits) = Self::narrow(Wide::Float(float));
        (fits || cast == Cast::Saturating).then_some(number)
    }

    #[doc(hidden)]
    fn widen(self) -> Wide;

    /// The nearest number, and whether the other one was in range.
    #[doc(hidden)]
    fn narrow(wide: Wide) -> (Self, bool);
}

/// What a conversion does with numbers that are out of range of the new type.
///
/// Every conversion rounds to the nearest number of the new type, ties to even. Rounding is never
/// an error: 0.1 becomes the nearest `f32`, 2.5 becomes 2, and 2^53 + 1 becomes 2^53 as `f64`.
/// NumPy and `as` would cut off the digits of a float that becomes an integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Cast {
    /// They are an error, which names the first of them. So is a NaN that would become an integer.
    #[default]
    Checked,
    /// They become the greatest or the least integer, or an infinity of a float. A NaN becomes 0 as
    /// an integer.
    Saturating,
}

/// Holds any number exactly.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Wide {
    Int(i64),
    UInt(u64),
    Float(f64),
}

macro_rules! integers {
    ($($type:ty, $wide:ident($wider:ty);)*) => {$(
        impl Number for $type {
            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }

            #[inline]
            fn widen(self) -> Wide {
                Wide::$wide(<$wider>::from(self))
            }

            #[inline]
            fn narrow(wide: Wide) -> (Self, bool) {
                match wide {
                    Wide::Int(int) => match Self::try_from(int) {
                        Ok(number) => (number, true),
                        Err(_) => (if int < 0 { Self::MIN } else { Self::MAX }, false),
                    },
                    Wide::UInt(int) => Self::try_from(int).map_or((Self::MAX, false), |number| (number, true)),
                    Wide::Float(float) => {
                        // Both bounds are powers of two or 0, which a float holds exactly.
                        let least = Self::MIN as f64;
                        let end = (Self::MAX as i128 + 1) as f64;
                        let rounded = float.round_ties_even();
                        (rounded as Self, rounded >= least && rounded < end)
                    }
                }
            }
        }
    )*};
}
integers! {
    i8, Int(i64);
    i16, Int(i64);
    i32, Int(i64);
    i64, Int(i64);
    u8, UInt(u64);
    u16, UInt(u64);
    u32, UInt(u64);
    u64, UInt(u64);
}

macro_rules! floats {
    ($($type:ty, $ints_fit:expr, $from_int:expr, $from_uint:expr, $from_float:expr;)*) => {$(
        impl Number for $type {
            #[inline]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn widen(self) -> Wide {
                Wide::Float(f64::from(self))
            }

            #[inline]
            fn narrow(wide: Wide) -> (Self, bool) {
                let (number, fits): (Self, bool) = match wide {
                    Wide::Int(int) => ($from_int(int), $ints_fit),
                    Wide::UInt(int) => ($from_uint(int), $ints_fit),
                    Wide::Float(float) => ($from_float(float), !float.is_finite()),
                };
                (number, fits || number.is_finite())
            }
        }
    )*};
}
floats! {
    f16, false, |int| f16::from_f32(odd_f32_of_int(int)), |int| f16::from_f32(odd_f32_of_uint(int)), |float| f16::from_f32(odd_f32(float));
    bf16, true, |int| bf16::from_f32(odd_f32_of_int(int)), |int| bf16::from_f32(odd_f32_of_uint(int)), |float| bf16::from_f32(odd_f32(float));
    f32, true, |int: i64| int as f32, |int: u64| int as f32, |float: f64| float as f32;
    f64, true, |int: i64| int as f64, |int: u64| int as f64, |float: f64| float;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Number>(wide: Wide, expected: T, fits: bool) {
        let (number, in_range) = T::narrow(wide);
        assert_eq!(
            (format!("{number:?}"), in_range),
            (format!("{expected:?}"), fits),
            "{wide:?}"
        );
    }

    #[test]
    fn integers_are_clamped() {
        check(Wide::Int(-1), 0u8, false);
        check(Wide::Int(255), 255u8, true);
        check(Wide::Int(256), 255u8, false);
        check(Wide::UInt(u64::MAX), i64::MAX, false);
        check(Wide::Int(i64::MIN), u64::MIN, false);
        check(Wide::Int(i64::MIN), i64::MIN, true);
        check(Wide::UInt(1 << 63), i8::MAX, false);
        check(Wide::Int(-129), i8::MIN, false);
    }

    #[test]
    fn floats_are_rounded_to_integers() {
        for (float, int, fits) in [
            (0.5, 0, true),
            (1.5, 2, true),
            (2.5, 2, true),
            (-2.5, -2, true),
            (-3.5, -4, true),
            (127.49, 127, true),
            (127.5, 127, false),
            (-128.5, -128, true),
            (-128.6, -128, false),
            (f64::NAN, 0, false),
            (f64::INFINITY, 127, false),
            (f64::NEG_INFINITY, -128, false),
        ] {
            check::<i8>(Wide::Float(float), int, fits);
        }
        check(Wide::Float(-0.5), 0u8, true);
        check(Wide::Float(-0.51), 0u8, false);
        check(Wide::Float(9_223_372_036_854_775_807.0), i64::MAX, false);
        check(
            Wide::Float(9_223_372_036_854_774_784.0),
            9_223_372_036_854_774_784i64,
            true,
        );
        check(Wide::Float(18_446_744_073_709_551_616.0), u64::MAX, false);
        check(Wide::Float(-9_223_372_036_854_775_808.0), i64::MIN, true);
    }

    /// From the definitions of the formats: 11, 8, 24 and 53 binary digits.
    #[test]
    fn floats_are_the_nearest_ones() {
        check(Wide::Int((1 << 53) + 1), 9_007_199_254_740_992f64, true);
        check(Wide::Int((1 << 53) + 3), 9_007_199_254_740_996f64, true);
        check(Wide::UInt((1 << 24) + 1), 16_777_216f32, true);
        check(Wide::Float(1e39), f32::INFINITY, false);
        check(Wide::Float(f64::NEG_INFINITY), f32::NEG_INFINITY, true);
        check(Wide::Float(f64::NAN), f32::NAN, true);
        check(Wide::UInt(2049), f16::from_f32(2048.0), true);
        check(Wide::UInt(2051), f16::from_f32(2052.0), true);
        check(Wide::UInt(65519), f16::MAX, true);
        check(Wide::UInt(65520), f16::INFINITY, false);
        check(Wide::Int(-65520), f16::NEG_INFINITY, false);
        // A little more than half of a step: rounded in two steps it would be 2048.
        check(Wide::Float(2049.0 + 1e-9), f16::from_f32(2050.0), true);
        check(Wide::Float(2049.0 - 1e-9), f16::from_f32(2048.0), true);
        check(Wide::Float(-2049.0 - 1e-9), f16::from_f32(-2050.0), true);
        check(Wide::Float(1e-300), f16::from_f32(0.0), true);
        // 2^63 + 2^55 is half a step above 2^63.
        let half = (1u64 << 63) + (1 << 55);
        check(Wide::UInt(half), bf16::from_bits(0x5f00), true);
        check(Wide::UInt(half + 1), bf16::from_bits(0x5f01), true);
        check(Wide::UInt(half - 1), bf16::from_bits(0x5f00), true);
        check(
            Wide::Int(-(1 << 62) - (1 << 54) - 1),
            bf16::from_bits(0xde81),
            true,
        );
        check(Wide::Float(f64::from(f32::MAX)), bf16::INFINITY, false);
    }
}
