//! Floats of 4, 6 and 8 bits: names, codes and values.

use std::fmt;

/// A float of 4, 6 or 8 bits. Each is stored in the low bits of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SmallFloat {
    /// 1-2-1, bias 1, no infinity, no NaN.
    E2M1Fn,
    /// 1-2-3, bias 1, no infinity, no NaN.
    E2M3Fn,
    /// 1-3-2, bias 3, no infinity, no NaN.
    E3M2Fn,
    /// 1-3-4, bias 3, as IEEE 754.
    E3M4,
    /// 1-4-3, bias 7, as IEEE 754.
    E4M3,
    /// 1-4-3, bias 11, no infinity, no negative zero, NaN 0x80.
    E4M3B11Fnuz,
    /// 1-4-3, bias 7, no infinity, NaN 0x7f and 0xff.
    E4M3Fn,
    /// 1-4-3, bias 8, no infinity, no negative zero, NaN 0x80.
    E4M3Fnuz,
    /// 1-5-2, bias 15, as IEEE 754.
    E5M2,
    /// 1-5-2, bias 16, no infinity, no negative zero, NaN 0x80.
    E5M2Fnuz,
    /// A power of two without sign, bias 127, no zero, NaN 0xff.
    E8M0Fnu,
}

/// The meaning of codes that are not finite numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Specials {
    /// The greatest exponent is infinity and NaN.
    Ieee,
    /// None.
    None,
    /// All bits set is NaN, with either sign.
    AllOnes,
    /// Negative zero is NaN.
    NegativeZero,
}

impl SmallFloat {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::E2M1Fn,
        Self::E2M3Fn,
        Self::E3M2Fn,
        Self::E3M4,
        Self::E4M3,
        Self::E4M3B11Fnuz,
        Self::E4M3Fn,
        Self::E4M3Fnuz,
        Self::E5M2,
        Self::E5M2Fnuz,
        Self::E8M0Fnu,
    ];

    /// The Zarr v3 name, such as `float8_e4m3`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::E2M1Fn => "float4_e2m1fn",
            Self::E2M3Fn => "float6_e2m3fn",
            Self::E3M2Fn => "float6_e3m2fn",
            Self::E3M4 => "float8_e3m4",
            Self::E4M3 => "float8_e4m3",
            Self::E4M3B11Fnuz => "float8_e4m3b11fnuz",
            Self::E4M3Fn => "float8_e4m3fn",
            Self::E4M3Fnuz => "float8_e4m3fnuz",
            Self::E5M2 => "float8_e5m2",
            Self::E5M2Fnuz => "float8_e5m2fnuz",
            Self::E8M0Fnu => "float8_e8m0fnu",
        }
    }

    /// The type with this Zarr v3 name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|float| float.name() == name)
    }

    /// The number of bits.
    #[must_use]
    pub fn bits(self) -> u8 {
        match self {
            Self::E2M1Fn => 4,
            Self::E2M3Fn | Self::E3M2Fn => 6,
            _ => 8,
        }
    }

    /// Mantissa bits, bias, and the meaning of the other codes.
    fn form(self) -> (u32, i32, Specials) {
        match self {
            Self::E2M1Fn => (1, 1, Specials::None),
            Self::E2M3Fn => (3, 1, Specials::None),
            Self::E3M2Fn => (2, 3, Specials::None),
            Self::E3M4 => (4, 3, Specials::Ieee),
            Self::E4M3 => (3, 7, Specials::Ieee),
            Self::E4M3B11Fnuz => (3, 11, Specials::NegativeZero),
            Self::E4M3Fn => (3, 7, Specials::AllOnes),
            Self::E4M3Fnuz => (3, 8, Specials::NegativeZero),
            Self::E5M2 => (2, 15, Specials::Ieee),
            Self::E5M2Fnuz => (2, 16, Specials::NegativeZero),
            Self::E8M0Fnu => (0, 127, Specials::AllOnes),
        }
    }

    /// The code that "NaN" stands for in documents; `None` for a type without NaN.
    #[must_use]
    pub fn nan(self) -> Option<u8> {
        let (mantissa, _, specials) = self.form();
        match specials {
            Specials::None => None,
            Specials::NegativeZero => Some(0x80),
            Specials::AllOnes if self == Self::E8M0Fnu => Some(0xff),
            Specials::AllOnes => Some(0x7f),
            Specials::Ieee => Some(self.infinity()? | 1 << (mantissa - 1)),
        }
    }

    /// The code of positive infinity; `None` for a type without it.
    #[must_use]
    pub fn infinity(self) -> Option<u8> {
        let (mantissa, _, specials) = self.form();
        (specials == Specials::Ieee).then(|| 0x7f >> mantissa << mantissa)
    }

    /// The bit of the sign; 0 for the type without it.
    #[must_use]
    pub fn sign_bit(self) -> u8 {
        if self == Self::E8M0Fnu {
            0
        } else {
            1 << (self.bits() - 1)
        }
    }

    /// The value of a code, which every `f32` can hold. Bits above those of the type are ignored.
    #[must_use]
    pub fn to_f32(self, code: u8) -> f32 {
        let (mantissa_bits, bias, specials) = self.form();
        let code = code & (0xff >> (8 - self.bits()));
        let magnitude = code & !self.sign_bit();
        let is_nan = match specials {
            Specials::None => false,
            Specials::Ieee => self.infinity().is_some_and(|infinity| magnitude > infinity),
            Specials::AllOnes => magnitude == !self.sign_bit(),
            Specials::NegativeZero => code == 0x80,
        };
        if is_nan {
            return f32::NAN;
        }
        let sign = if code == magnitude { 1.0 } else { -1.0 };
        if self.infinity() == Some(magnitude) {
            return sign * f32::INFINITY;
        }
        let exponent = i32::from(magnitude) >> mantissa_bits;
        let mantissa = i32::from(magnitude) & ((1 << mantissa_bits) - 1);
        // The type without a mantissa has no subnormal numbers.
        let (significand, exponent) = if exponent == 0 && self != Self::E8M0Fnu {
            (mantissa, 1 - bias)
        } else {
            (mantissa | 1 << mantissa_bits, exponent - bias)
        };
        // In f64, where every power of two that occurs is in range.
        let value = f64::from(significand) * f64::powi(2.0, exponent - mantissa_bits.cast_signed());
        #[allow(clippy::cast_possible_truncation)]
        let value = value as f32;
        sign * value
    }

    /// The code of a value, rounded to nearest, ties to the even code (to the greater power of
    /// two), as ml_dtypes does: a value that is too large becomes infinity, or else NaN, or else
    /// the greatest number. `None` for NaN in a type without it.
    ///
    /// ```
    /// use ndzarr::SmallFloat;
    ///
    /// assert_eq!(SmallFloat::E4M3.from_f32(1.0), Some(0x38));
    /// assert_eq!(SmallFloat::E2M1Fn.from_f32(-100.0), Some(0xf), "-6, the least that there is");
    /// assert_eq!(SmallFloat::E2M1Fn.from_f32(f32::NAN), None);
    /// ```
    #[must_use]
    pub fn from_f32(self, value: f32) -> Option<u8> {
        let (mantissa_bits, bias, specials) = self.form();
        let sign = if value.is_sign_negative() {
            self.sign_bit()
        } else {
            0
        };
        if value.is_nan() {
            let sign = if specials == Specials::NegativeZero {
                0
            } else {
                sign
            };
            return self.nan().map(|nan| nan | sign);
        }
        if self == Self::E8M0Fnu {
            return Some(power_of_two(value));
        }
        // The codes of the greatest number, and of values that are too large.
        let all = !self.sign_bit() & (0xff >> (8 - self.bits()));
        let (greatest, too_large) = match specials {
            Specials::Ieee => self
                .infinity()
                .map_or((all, all), |infinity| (infinity - 1, infinity | sign)),
            Specials::None => (all, all | sign),
            Specials::AllOnes => (all - 1, all | sign),
            Specials::NegativeZero => (all, 0x80),
        };
        let magnitude = f64::from(value.abs());
        if magnitude.is_infinite() {
            return Some(too_large);
        }
        let exponent = if magnitude == 0.0 {
            1 - bias
        } else {
            exponent_of(magnitude).max(1 - bias)
        };
        // A quotient by a power of two, which f64 has without rounding.
        let steps =
            (magnitude / f64::powi(2.0, exponent - mantissa_bits.cast_signed())).round_ties_even();
        #[allow(clippy::cast_possible_truncation)]
        let code = (i64::from(exponent + bias - 1) << mantissa_bits) + steps as i64;
        Some(match u8::try_from(code) {
            Ok(0) if specials == Specials::NegativeZero => 0,
            Ok(code) if code <= greatest => code | sign,
            _ => too_large,
        })
    }
}

/// The exponent of a normal number.
fn exponent_of(value: f64) -> i32 {
    #[allow(clippy::cast_possible_truncation)]
    let biased = (value.to_bits() >> 52 & 0x7ff) as i32;
    biased - 1023
}

/// The code of the type without sign and mantissa.
fn power_of_two(value: f32) -> u8 {
    const NAN: u8 = 0xff;
    if value.is_sign_negative() || value == 0.0 || value.is_infinite() {
        return NAN;
    }
    let value = f64::from(value);
    let exponent = exponent_of(value);
    let code = exponent + 127;
    let significand = value / f64::powi(2.0, exponent);
    // Half-way between two powers ml_dtypes takes the greater one; between the least two it always
    // does.
    let up = significand >= 1.5 || code == 0 && significand > 1.0;
    u8::try_from((code + i32::from(up)).max(0)).unwrap_or(NAN)
}

impl fmt::Display for SmallFloat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from the OCP MX and FP8 specifications and the ml_dtypes documentation: greatest,
    /// least normal, least.
    #[test]
    fn codes_have_their_values() {
        for (float, code, value) in [
            (SmallFloat::E2M1Fn, 0x7, 6.0),
            (SmallFloat::E2M1Fn, 0x1, 0.5),
            (SmallFloat::E2M1Fn, 0xf, -6.0),
            (SmallFloat::E2M1Fn, 0xf7, 6.0),
            (SmallFloat::E2M3Fn, 0x1f, 7.5),
            (SmallFloat::E2M3Fn, 0x01, 0.125),
            (SmallFloat::E3M2Fn, 0x1f, 28.0),
            (SmallFloat::E3M2Fn, 0x01, 0.0625),
            (SmallFloat::E3M4, 0x6f, 15.5),
            (SmallFloat::E4M3, 0x77, 240.0),
            (SmallFloat::E4M3B11Fnuz, 0x7f, 30.0),
            (SmallFloat::E4M3Fn, 0x7e, 448.0),
            (SmallFloat::E4M3Fnuz, 0x7f, 240.0),
            (SmallFloat::E5M2, 0x7b, 57344.0),
            (SmallFloat::E5M2Fnuz, 0x7f, 57344.0),
            (SmallFloat::E8M0Fnu, 0x7f, 1.0),
            (SmallFloat::E8M0Fnu, 0x00, 2f32.powi(-127)),
            (SmallFloat::E5M2, 0x7c, f32::INFINITY),
            (SmallFloat::E3M4, 0xf0, f32::NEG_INFINITY),
        ] {
            assert_eq!(float.to_f32(code), value, "{float} {code:#x}");
        }
        assert!(
            SmallFloat::E4M3Fnuz.to_f32(0x80).is_nan() && SmallFloat::E8M0Fnu.to_f32(0xff).is_nan()
        );
        assert!(
            SmallFloat::E4M3.to_f32(0x80).is_sign_negative()
                && SmallFloat::E4M3.to_f32(0x80) == 0.0
        );
    }

    #[test]
    fn nans_of_documents() {
        let nans = [
            (SmallFloat::E3M4, Some(0x78)),
            (SmallFloat::E4M3, Some(0x7c)),
            (SmallFloat::E5M2, Some(0x7e)),
            (SmallFloat::E4M3B11Fnuz, Some(0x80)),
            (SmallFloat::E4M3Fn, Some(0x7f)),
            (SmallFloat::E8M0Fnu, Some(0xff)),
            (SmallFloat::E2M1Fn, None),
        ];
        for (float, nan) in nans {
            assert_eq!(float.nan(), nan, "{float}");
            assert!(nan.is_none_or(|nan| float.to_f32(nan).is_nan()));
        }
    }

    /// FNV-1a.
    fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// Hashes of the codes that ml_dtypes 0.6.0 gives 262,144 floats (all upper halves, each with
    /// four lower ones: those of NaN are left out where the type has none), and of the bytes of the
    /// floats of all codes except NaN.
    #[test]
    fn codes_and_values_are_those_of_ml_dtypes() {
        let cases: [(SmallFloat, u64, u64); 11] = [
            (
                SmallFloat::E2M1Fn,
                0x289a_6c4d_24d7_af8b,
                0x2403_bb76_b85d_fea5,
            ),
            (
                SmallFloat::E2M3Fn,
                0x950c_5231_3bf2_9883,
                0x7ffa_cb24_ad8b_0aa5,
            ),
            (
                SmallFloat::E3M2Fn,
                0xf2a5_426e_a061_2243,
                0x25da_1343_4201_d785,
            ),
            (
                SmallFloat::E3M4,
                0x951e_5175_96f4_8825,
                0x9757_3b35_9c8f_6cf5,
            ),
            (
                SmallFloat::E4M3,
                0x9947_199c_1a40_f325,
                0x6d1e_1dbb_0c04_a645,
            ),
            (
                SmallFloat::E4M3B11Fnuz,
                0x0789_0683_6899_35a5,
                0xbc2f_c1c0_6c9f_9c85,
            ),
            (
                SmallFloat::E4M3Fn,
                0x837e_888e_23c1_b0e5,
                0x9d09_ddc3_7a47_fa25,
            ),
            (
                SmallFloat::E4M3Fnuz,
                0x4891_e00e_cfdd_35a5,
                0x6de5_1237_e2c1_4355,
            ),
            (
                SmallFloat::E5M2,
                0x88d7_9dc2_e42f_2325,
                0xc6d5_65e5_9341_eaa5,
            ),
            (
                SmallFloat::E5M2Fnuz,
                0x1fbe_edd6_a2c5_14a5,
                0x9f50_e5ef_83e0_a7a5,
            ),
            (
                SmallFloat::E8M0Fnu,
                0x04d9_8d9b_0609_b8db,
                0x5858_1141_0ec7_eae8,
            ),
        ];
        let floats = || {
            let bits = (0..=0xffffu32)
                .flat_map(|upper| [0, 1, 0x8000, 0xffff].map(|lower| upper << 16 | lower));
            bits.map(f32::from_bits)
        };
        for (float, to_code, to_value) in cases {
            let codes = floats().filter_map(|value| float.from_f32(value));
            assert_eq!(hash(codes), to_code, "{float}");
            let codes = 0..=(0xffu8 >> (8 - float.bits()));
            let values = codes
                .map(|code| float.to_f32(code))
                .filter(|value| !value.is_nan());
            assert_eq!(hash(values.flat_map(f32::to_le_bytes)), to_value, "{float}");
        }
    }
}
