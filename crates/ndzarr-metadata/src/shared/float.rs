//! Floats between decimal text and bits, rounded once.

use std::cmp::Ordering;

use ndzarr_model::{ComplexPart, DataType, SmallFloat};

/// A binary floating point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatKind {
    F16,
    BF16,
    F32,
    F64,
    Small(SmallFloat),
}

impl FloatKind {
    /// The format of a float, or of one component of a complex number.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Float { bits: 16 } => Some(Self::F16),
            DataType::Float { bits: 32 } | DataType::Complex { bits: 64 } => Some(Self::F32),
            DataType::Float { bits: 64 } | DataType::Complex { bits: 128 } => Some(Self::F64),
            DataType::BFloat16 => Some(Self::BF16),
            DataType::SmallFloat(float) => Some(Self::Small(*float)),
            DataType::ComplexOf(part) => Self::of_part(*part),
            _ => None,
        }
    }

    fn of_part(part: ComplexPart) -> Option<Self> {
        match part {
            ComplexPart::Float16 => Some(Self::F16),
            ComplexPart::BFloat16 => Some(Self::BF16),
            ComplexPart::Small(float) => Some(Self::Small(float)),
            _ => None,
        }
    }

    /// Size in bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::F16 | Self::BF16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
            Self::Small(_) => 1,
        }
    }

    /// Bits of the mantissa that are stored.
    fn mantissa_bits(self) -> u32 {
        match self {
            Self::F16 => 10,
            Self::BF16 => 7,
            Self::F32 => 23,
            Self::F64 => 52,
            Self::Small(_) => 0,
        }
    }

    fn sign_bit(self) -> u64 {
        1 << (self.size() * 8 - 1)
    }

    /// Positive infinity: all exponent bits.
    fn infinity(self) -> u64 {
        self.sign_bit() - (1 << self.mantissa_bits())
    }

    /// The quiet NaN with positive sign and only the top mantissa bit set.
    fn nan(self) -> u64 {
        self.infinity() | (1 << (self.mantissa_bits() - 1))
    }
}

/// The spelling of a float in documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FloatName {
    /// The shortest decimal number that gives the same bits.
    Number(String),
    /// The quiet NaN that documents mean by "NaN".
    Nan,
    Infinity,
    NegativeInfinity,
    /// Any other NaN, which only its bits identify.
    OtherNan,
}

/// Bits of the float that "NaN", "Infinity" or "-Infinity" stands for.
pub(crate) fn named_bits(kind: FloatKind, name: &str) -> Option<u64> {
    if let FloatKind::Small(float) = kind {
        let code = match name {
            "NaN" => float.nan(),
            "Infinity" => float.infinity(),
            "-Infinity" => float.infinity().map(|code| code | float.sign_bit()),
            _ => None,
        };
        return code.map(u64::from);
    }
    match name {
        "NaN" => Some(kind.nan()),
        "Infinity" => Some(kind.infinity()),
        "-Infinity" => Some(kind.infinity() | kind.sign_bit()),
        _ => None,
    }
}

/// Bits of the float nearest to a decimal number: ties to even, infinity beyond the range; `None`
/// if the text is not a number.
pub(crate) fn decimal_bits(kind: FloatKind, text: &str) -> Option<u64> {
    if !text
        .bytes()
        .all(|b| matches!(b, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
    {
        return None;
    }
    match kind {
        FloatKind::F64 => text.parse::<f64>().ok().map(f64::to_bits),
        FloatKind::F32 => text
            .parse::<f32>()
            .ok()
            .map(|float| u64::from(float.to_bits())),
        FloatKind::F16 | FloatKind::BF16 => {
            let near: f64 = text.parse().ok()?;
            Some(narrow(kind, near, || compare_decimal(text, near)))
        }
        FloatKind::Small(float) => {
            let near: f64 = text.parse().ok()?;
            nearest(float, near, compare_decimal(text, near)).map(u64::from)
        }
    }
}

/// The name of the float with these bits.
pub(crate) fn name(kind: FloatKind, bits: u64) -> FloatName {
    if let FloatKind::Small(float) = kind {
        return small_name(float, bits);
    }
    let magnitude = bits & !kind.sign_bit();
    if magnitude > kind.infinity() {
        return if bits == kind.nan() {
            FloatName::Nan
        } else {
            FloatName::OtherNan
        };
    }
    if magnitude == kind.infinity() {
        return if bits == magnitude {
            FloatName::Infinity
        } else {
            FloatName::NegativeInfinity
        };
    }
    FloatName::Number(match kind {
        FloatKind::F64 => format!("{:?}", f64::from_bits(bits)),
        #[allow(clippy::cast_possible_truncation)]
        FloatKind::F32 => format!("{:?}", f32::from_bits(bits as u32)),
        FloatKind::F16 | FloatKind::BF16 | FloatKind::Small(_) => shortest(kind, bits),
    })
}

/// Debug prints the shortest decimal for standard floats; for the small ones it has to be searched
/// for.
fn shortest(kind: FloatKind, bits: u64) -> String {
    let value = widen(kind, bits);
    for digits in 0..17 {
        let text = format!("{value:.digits$e}");
        if decimal_bits(kind, &text) == Some(bits) {
            return text.parse().map_or(text, |float: f64| format!("{float:?}"));
        }
    }
    format!("{value:?}")
}

fn small_name(float: SmallFloat, bits: u64) -> FloatName {
    #[allow(clippy::cast_possible_truncation)]
    let code = bits as u8;
    let value = float.to_f32(code);
    if value.is_nan() {
        return if float.nan() == Some(code) {
            FloatName::Nan
        } else {
            FloatName::OtherNan
        };
    }
    if value.is_infinite() {
        return if value > 0.0 {
            FloatName::Infinity
        } else {
            FloatName::NegativeInfinity
        };
    }
    FloatName::Number(shortest(FloatKind::Small(float), bits))
}

/// The code of the value nearest to a number that is `near`, or slightly off it in the direction
/// `side`: ties to even; infinity beyond the range, or `None` in a type without infinity.
fn nearest(float: SmallFloat, near: f64, side: Ordering) -> Option<u8> {
    let codes = 0..=0xffu8 >> (8 - float.bits());
    let mut finite: Vec<(f64, u8)> = codes
        .map(|code| (f64::from(float.to_f32(code)), code))
        .filter(|(value, _)| value.is_finite())
        // The two zeros have one value and differ in sign.
        .filter(|(value, code)| {
            *value != 0.0 || (code & float.sign_bit() != 0) == near.is_sign_negative()
        })
        .collect();
    if !finite.iter().any(|(value, _)| *value == 0.0) && float != SmallFloat::E8M0Fnu {
        // A type without negative zero.
        finite.push((0.0, 0));
    }
    finite.sort_by(|a, b| a.0.total_cmp(&b.0));
    let &(lowest, _) = finite.first()?;
    let &(highest, top) = finite.last()?;
    // The next binade step after the highest value: from half of it on, a number is beyond the
    // range.
    let step = highest - finite.iter().rev().find(|(value, _)| *value < highest)?.0;
    let beyond = |distance: f64, side: Ordering| {
        // A tie goes to the even neighbour, which is infinity where the greatest number is odd.
        distance > step / 2.0
            || distance == step / 2.0
                && (side == Ordering::Greater || side == Ordering::Equal && top % 2 == 1)
    };
    if near > highest && (beyond(near - highest, side) || float.infinity().is_none()) {
        return float.infinity();
    }
    if near < lowest {
        if lowest > 0.0 {
            // Unsigned type: what is not positive is out of range, and small values become the
            // smallest.
            return (near > 0.0).then_some(0);
        }
        if beyond(lowest - near, side.reverse()) || float.infinity().is_none() {
            return float.infinity().map(|code| code | float.sign_bit());
        }
    }
    let above = finite.partition_point(|(value, _)| *value < near);
    let (Some(&(high, high_code)), Some(&(low, low_code))) = (
        finite.get(above.min(finite.len() - 1)),
        finite.get(above.saturating_sub(1)),
    ) else {
        return None;
    };
    if high == near && side == Ordering::Equal {
        return Some(high_code);
    }
    let ordering = (near - low).total_cmp(&(high - near)).then(side);
    Some(match ordering {
        Ordering::Less => low_code,
        Ordering::Greater => high_code,
        Ordering::Equal if low_code % 2 == 0 => low_code,
        Ordering::Equal => high_code,
    })
}

/// The value of a float of 16 bits or fewer.
pub(crate) fn widen(kind: FloatKind, bits: u64) -> f64 {
    #[allow(clippy::cast_possible_truncation)]
    let bits = bits as u16;
    match kind {
        FloatKind::BF16 => half::bf16::from_bits(bits).to_f64(),
        FloatKind::Small(float) => f64::from(float.to_f32(bits as u8)),
        _ => half::f16::from_bits(bits).to_f64(),
    }
}

/// Rounds a number that is `near`, or slightly off it in the direction `side`, to a small float.
fn narrow(kind: FloatKind, near: f64, side: impl FnOnce() -> Ordering) -> u64 {
    let sign = if near.is_sign_negative() {
        kind.sign_bit()
    } else {
        0
    };
    if near.is_infinite() {
        return sign | kind.infinity();
    }
    if near == 0.0 {
        return sign;
    }
    let bits = near.to_bits();
    let exponent_field = (bits >> 52) & 0x7ff;
    // Subnormal doubles are far below the smallest of the small floats.
    if exponent_field == 0 {
        return sign;
    }
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let exponent = i64::try_from(exponent_field).unwrap_or(0) - 1023;
    let mantissa_bits = i64::from(kind.mantissa_bits());
    let bias = i64::try_from(kind.infinity() >> (kind.mantissa_bits() + 1)).unwrap_or(0);
    // Exponent of the unit in the last place; subnormal results share that of the smallest normal
    // one.
    let lowest = 1 - bias;
    let unit = exponent.max(lowest) - mantissa_bits;
    let shift = unit - (exponent - 52);
    let (whole, rest, half) = if shift >= 64 {
        (0, 1, 2)
    } else {
        (
            mantissa >> shift,
            mantissa & ((1 << shift) - 1),
            1u64 << (shift - 1),
        )
    };
    let up = match rest.cmp(&half) {
        Ordering::Equal => {
            // `side` is about the number, everything else about its magnitude.
            let side = if sign == 0 { side() } else { side().reverse() };
            side == Ordering::Greater || (side == Ordering::Equal && whole % 2 == 1)
        }
        decided => decided == Ordering::Greater,
    };
    let units = whole + u64::from(up);
    // Counts units from the bottom of the binade: a carry correctly runs into the exponent, up to
    // infinity.
    let binade = u64::try_from(exponent.max(lowest) - lowest).unwrap_or(0) << kind.mantissa_bits();
    sign | (binade + units).min(kind.infinity())
}

/// How a decimal number compares with the double nearest to it.
fn compare_decimal(text: &str, near: f64) -> Ordering {
    if near == 0.0 || !near.is_finite() {
        return Ordering::Equal;
    }
    // Enough places to print every double midway between two small floats exactly.
    let (Some(ours), Some(theirs)) = (digits(text), digits(&format!("{near:.160}"))) else {
        return Ordering::Equal;
    };
    let magnitude = ours.1.cmp(&theirs.1).then_with(|| ours.0.cmp(&theirs.0));
    if near < 0.0 {
        magnitude.reverse()
    } else {
        magnitude
    }
}

/// The significant digits of a decimal number and the power of ten of the place before the first.
fn digits(text: &str) -> Option<(String, i64)> {
    let text = text.trim_start_matches(['+', '-']);
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let leading = all.len() - significant.len();
    let point = i64::try_from(whole.len())
        .ok()?
        .checked_sub(i64::try_from(leading).ok()?)?;
    Some((
        significant.trim_end_matches('0').to_owned(),
        exponent.checked_add(point)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f16(text: &str) -> Option<u64> {
        decimal_bits(FloatKind::F16, text)
    }

    /// Values from the IEEE 754 table of binary16: 1 + 2^-11 is midway between 1 and its successor.
    #[test]
    fn half_floats_are_rounded_once() {
        for (text, bits) in [
            ("1", 0x3c00),
            ("-2", 0xc000),
            ("65504", 0x7bff),
            ("65519.999999999999999999", 0x7bff),
            ("65520", 0x7c00),
            ("-1e9", 0xfc00),
            ("1e99999999999999999999", 0x7c00),
            ("1e-99999999999999999999", 0),
            ("-0.0", 0x8000),
            ("1.00048828125", 0x3c00),
            ("1.000488281250000000000000000001", 0x3c01),
            ("1.000488281249999999999999999999", 0x3c00),
            ("1.00146484375", 0x3c02),
            ("1.001464843749999999999999999999", 0x3c01),
            ("-1.000488281250000000000000000001", 0xbc01),
            ("-1.00146484374999999999999999999999", 0xbc01),
            // 2^-24 is the smallest subnormal, 2^-25 the tie below it.
            ("5.9604644775390625e-8", 0x0001),
            ("2.98023223876953125e-8", 0x0000),
            ("2.98023223876953125000000000000000001e-8", 0x0001),
            ("0.0999755859375", 0x2e66),
            ("0.1", 0x2e66),
            ("6.103515625e-5", 0x0400),
        ] {
            assert_eq!(f16(text), Some(bits), "{text}");
        }
        for text in ["nan", "inf", "infinity", "0x1", "", "1_0", "e", "--1"] {
            assert_eq!(f16(text), None, "{text}");
        }
    }

    #[test]
    fn bfloat16_is_the_upper_half_of_float32() {
        for (text, bits) in [
            ("1", 0x3f80),
            ("3.3895313892515355e38", 0x7f7f),
            ("3.4e38", 0x7f80),
            ("1e39", 0x7f80),
        ] {
            assert_eq!(decimal_bits(FloatKind::BF16, text), Some(bits), "{text}");
        }
        assert_eq!(named_bits(FloatKind::BF16, "NaN"), Some(0x7fc0));
    }

    #[test]
    fn names() {
        assert_eq!(named_bits(FloatKind::F16, "NaN"), Some(0x7e00));
        assert_eq!(named_bits(FloatKind::F32, "NaN"), Some(0x7fc0_0000));
        assert_eq!(
            named_bits(FloatKind::F64, "NaN"),
            Some(0x7ff8_0000_0000_0000)
        );
        assert_eq!(named_bits(FloatKind::F32, "-Infinity"), Some(0xff80_0000));
        assert_eq!(named_bits(FloatKind::F32, "nan"), None);
        for (kind, bits, expected) in [
            (FloatKind::F32, 0x7fc0_0001, FloatName::OtherNan),
            (FloatKind::F32, 0xffc0_0000, FloatName::OtherNan),
            (FloatKind::F32, 0x7f80_0000, FloatName::Infinity),
            (
                FloatKind::F32,
                0x8000_0000,
                FloatName::Number("-0.0".into()),
            ),
            (FloatKind::F32, 0x3dcc_cccd, FloatName::Number("0.1".into())),
            (FloatKind::F16, 0x2e66, FloatName::Number("0.1".into())),
            (FloatKind::F16, 0x7bff, FloatName::Number("65500.0".into())),
            (FloatKind::BF16, 0x3f80, FloatName::Number("1.0".into())),
        ] {
            assert_eq!(name(kind, bits), expected, "{kind:?} {bits:x}");
        }
    }

    /// A type without infinity cannot represent values beyond its range; OCP FP8: ties to even.
    #[test]
    fn small_floats_are_rounded_to_even_or_refused() {
        let bits = |float, text| decimal_bits(FloatKind::Small(float), text);
        for (float, text, expected) in [
            (SmallFloat::E4M3Fn, "448", Some(0x7e)),
            (SmallFloat::E4M3Fn, "449", None),
            (SmallFloat::E5M2, "57344", Some(0x7b)),
            (SmallFloat::E5M2, "61439", Some(0x7b)),
            (SmallFloat::E5M2, "61440", Some(0x7c)),
            (SmallFloat::E5M2, "-1e9", Some(0xfc)),
            (SmallFloat::E4M3, "1.0625", Some(0x38)),
            (SmallFloat::E4M3, "1.1875", Some(0x3a)),
            (
                SmallFloat::E4M3,
                "1.06250000000000000000000000001",
                Some(0x39),
            ),
            (SmallFloat::E4M3, "-0.0", Some(0x80)),
            (SmallFloat::E4M3Fnuz, "-0.0", Some(0x00)),
            (SmallFloat::E2M1Fn, "-6", Some(0x0f)),
            (SmallFloat::E2M1Fn, "7", None),
            (SmallFloat::E8M0Fnu, "1", Some(0x7f)),
            (SmallFloat::E8M0Fnu, "-1", None),
        ] {
            assert_eq!(bits(float, text), expected, "{float} {text}");
        }
        for name in ["NaN", "Infinity"] {
            assert_eq!(named_bits(FloatKind::Small(SmallFloat::E3M2Fn), name), None);
        }
    }

    #[test]
    fn every_small_float_comes_back() {
        for float in SmallFloat::ALL {
            let kind = FloatKind::Small(float);
            for bits in 0..1 << float.bits() {
                match super::name(kind, bits) {
                    FloatName::Number(text) => {
                        assert_eq!(decimal_bits(kind, &text), Some(bits), "{kind:?} {text}");
                    }
                    FloatName::Nan => assert_eq!(named_bits(kind, "NaN"), Some(bits)),
                    FloatName::Infinity => assert_eq!(named_bits(kind, "Infinity"), Some(bits)),
                    FloatName::NegativeInfinity => {
                        assert_eq!(named_bits(kind, "-Infinity"), Some(bits))
                    }
                    FloatName::OtherNan => assert!(float.to_f32(bits as u8).is_nan()),
                }
            }
        }
        for kind in [FloatKind::F16, FloatKind::BF16] {
            for bits in 0..=u64::from(u16::MAX) {
                if let FloatName::Number(text) = name(kind, bits) {
                    assert_eq!(decimal_bits(kind, &text), Some(bits), "{kind:?} {text}");
                }
            }
        }
    }
}
