//! Finds the elements that differ in two runs of packed elements.

use half::{bf16, f16};
use ndzarr::DataType;

/// When two elements are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Equality {
    /// As numbers: 0.0 and -0.0 are equal, and so are two NaNs.
    Value,
    /// As bits.
    Bits,
    /// As numbers that differ by at most this.
    Within(f64),
}

/// Calls `take` with the number of each element that differs. Both have the same length.
pub(crate) fn differing(
    a: &[u8],
    b: &[u8],
    data_type: &DataType,
    equality: Equality,
    take: &mut impl FnMut(u64),
) {
    let size = data_type.elem_size().unwrap_or(1).max(1);
    // Most parts are equal, and comparing memory is quick.
    const PART: usize = 1 << 12;
    let step = size * PART;
    for (number, (of_a, of_b)) in a.chunks(step).zip(b.chunks(step)).enumerate() {
        if of_a == of_b {
            continue;
        }
        let first = (number * PART) as u64;
        for (n, (x, y)) in of_a.chunks(size).zip(of_b.chunks(size)).enumerate() {
            if x != y && !are_equal(x, y, data_type, equality) {
                take(first + n as u64);
            }
        }
    }
}

fn are_equal(x: &[u8], y: &[u8], data_type: &DataType, equality: Equality) -> bool {
    let within = match equality {
        Equality::Bits => return false,
        Equality::Value => None,
        Equality::Within(most) => Some(most),
    };
    if let DataType::Complex { .. } = data_type {
        let half = x.len() / 2;
        let data_type = DataType::Float {
            bits: (half * 8) as u8,
        };
        return are_equal_or_same(&x[..half], &y[..half], &data_type, equality)
            && are_equal_or_same(&x[half..], &y[half..], &data_type, equality);
    }
    match (number(x, data_type), number(y, data_type)) {
        (Some(Number::Int(x)), Some(Number::Int(y))) => {
            within.is_some_and(|most| x.abs_diff(y) as f64 <= most)
        }
        (Some(Number::Float(x)), Some(Number::Float(y))) => {
            x == y || (x.is_nan() && y.is_nan()) || within.is_some_and(|most| (x - y).abs() <= most)
        }
        _ => false,
    }
}

fn are_equal_or_same(x: &[u8], y: &[u8], data_type: &DataType, equality: Equality) -> bool {
    x == y || are_equal(x, y, data_type, equality)
}

enum Number {
    Int(i128),
    Float(f64),
}

/// The number in packed bytes.
fn number(bytes: &[u8], data_type: &DataType) -> Option<Number> {
    macro_rules! read {
        ($type:ty) => {
            <$type>::from_ne_bytes(bytes.try_into().ok()?)
        };
    }
    Some(match data_type {
        DataType::Int { bits } if *bits <= 8 => Number::Int(read!(i8).into()),
        DataType::Int { bits: 16 } => Number::Int(read!(i16).into()),
        DataType::Int { bits: 32 } => Number::Int(read!(i32).into()),
        DataType::Int { bits: 64 } => Number::Int(read!(i64).into()),
        DataType::UInt { bits } if *bits <= 8 => Number::Int(read!(u8).into()),
        DataType::UInt { bits: 16 } => Number::Int(read!(u16).into()),
        DataType::UInt { bits: 32 } => Number::Int(read!(u32).into()),
        DataType::UInt { bits: 64 } => Number::Int(read!(u64).into()),
        DataType::Float { bits: 16 } => Number::Float(read!(f16).into()),
        DataType::BFloat16 => Number::Float(read!(bf16).into()),
        DataType::Float { bits: 32 } => Number::Float(read!(f32).into()),
        DataType::Float { bits: 64 } => Number::Float(read!(f64)),
        DataType::SmallFloat(kind) => Number::Float(kind.to_f32(read!(u8)).into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(a: &[u8], b: &[u8], data_type: &DataType, equality: Equality) -> Vec<u64> {
        let mut found = Vec::new();
        differing(a, b, data_type, equality, &mut |n| found.push(n));
        found
    }

    #[test]
    fn cli_13_nan_is_nan_and_zero_is_zero() {
        let float = DataType::Float { bits: 64 };
        let bytes = |values: [f64; 5]| values.map(f64::to_ne_bytes).concat();
        let other_nan = f64::from_bits(f64::NAN.to_bits() | 1);
        let a = bytes([0.0, f64::NAN, 1.0, f64::INFINITY, 2.0]);
        let b = bytes([-0.0, other_nan, 1.5, f64::INFINITY, f64::NAN]);
        assert_eq!(found(&a, &b, &float, Equality::Value), [2, 4]);
        assert_eq!(found(&a, &b, &float, Equality::Bits), [0, 1, 2, 4]);
        assert_eq!(found(&a, &b, &float, Equality::Within(0.5)), [4]);
        assert_eq!(found(&a, &b, &float, Equality::Within(0.25)), [2, 4]);
    }

    #[test]
    fn cli_13_integers_are_compared_exactly() {
        let uint = DataType::UInt { bits: 64 };
        let bytes = |values: [u64; 2]| values.map(u64::to_ne_bytes).concat();
        // As float64 they are equal.
        let a = bytes([1 << 63, 7]);
        let b = bytes([(1 << 63) + 1, 7]);
        assert_eq!(found(&a, &b, &uint, Equality::Value), [0]);
        assert_eq!(
            found(&a, &b, &uint, Equality::Within(1.0)),
            Vec::<u64>::new()
        );
        assert_eq!(found(&a, &b, &uint, Equality::Within(0.5)), [0]);
    }

    #[test]
    fn both_parts_of_complex_numbers_count() {
        let complex = DataType::Complex { bits: 64 };
        let bytes = |values: [f32; 4]| values.map(f32::to_ne_bytes).concat();
        let a = bytes([0.0, 1.0, 2.0, f32::NAN]);
        let b = bytes([-0.0, 1.0, 2.0, 3.0]);
        assert_eq!(found(&a, &b, &complex, Equality::Value), [1]);
    }

    #[test]
    fn every_part_is_compared() {
        let uint = DataType::UInt { bits: 16 };
        let a = vec![0; 100_000];
        let mut b = vec![0; 100_000];
        for n in [0, 8191, 8192, 49_999] {
            b[2 * n] = 1;
        }
        assert_eq!(
            found(&a, &b, &uint, Equality::Value),
            [0, 8191, 8192, 49_999]
        );
    }
}
