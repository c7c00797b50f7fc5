use std::fmt;

/// A float of 4, 6 or 8 bits (zarr-v3.md V3-077). Each is stored as one byte, the low bits of which count.
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

/// What the codes that are no finite numbers mean.
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

    /// How many bits it has.
    #[must_use]
    pub fn bits(self) -> u8 {
        match self {
            Self::E2M1Fn => 4,
            Self::E2M3Fn | Self::E3M2Fn => 6,
            _ => 8,
        }
    }

    /// Mantissa bits, bias, and what the other codes mean.
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
        if self == Self::E8M0Fnu { 0 } else { 1 << (self.bits() - 1) }
    }

    /// The value of a code, which every `f32` can hold. Bits above those of the type are passed over.
    #[must_use]
    pub fn to_f32(self, code: u8) -> f32 {
        let (mantissa_bits, bias, specials) = self.form();
        let code = code & (0xff >> (8 - self.bits()));
        let magnitude = code & !self.sign_bit();
        let is_nan = match specials {
            Specials::None => false,
            Specials::Ieee => self.infinity().is_some_and(|infinity| magnitude > infinity),
            Specials::AllOnes => magnitude == (0xff & !self.sign_bit()),
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
        // By f64, where no power of two that occurs is out of range.
        let value = f64::from(significand) * f64::powi(2.0, exponent - mantissa_bits.cast_signed());
        #[allow(clippy::cast_possible_truncation)]
        let value = value as f32;
        sign * value
    }
}

impl fmt::Display for SmallFloat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from the OCP MX and FP8 specifications and the ml_dtypes documentation: greatest, least normal, least.
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
        assert!(SmallFloat::E4M3Fnuz.to_f32(0x80).is_nan() && SmallFloat::E8M0Fnu.to_f32(0xff).is_nan());
        assert!(SmallFloat::E4M3.to_f32(0x80).is_sign_negative() && SmallFloat::E4M3.to_f32(0x80) == 0.0);
    }

    /// zarr-v3.md V3-077.
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
}
