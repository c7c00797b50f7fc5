//! Exact integers.

use crate::Json;

/// An integer written without fraction and exponent, exactly.
#[must_use]
pub fn as_u64(value: &Json<'_>) -> Option<u64> {
    value.number()?.parse().ok()
}

/// Like [`as_u64`], with a sign.
#[must_use]
pub fn as_i128(value: &Json<'_>) -> Option<i128> {
    value.number()?.parse().ok()
}

/// An integer, written as `7` or as `7.0`. Both occur in documents.
#[must_use]
pub fn as_integral_i128(value: &Json<'_>) -> Option<i128> {
    as_i128(value).or_else(|| {
        let text = value.number()?;
        let float: f64 = text.parse().ok()?;
        // Below 2^53 every integral float is exactly the integer that was meant; above, the digits
        // decide.
        if float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0 {
            #[allow(clippy::cast_possible_truncation)]
            return Some(float as i128);
        }
        let (whole, fraction) = text.split_once('.')?;
        if fraction.bytes().all(|digit| digit == b'0') {
            whole.parse().ok()
        } else {
            None
        }
    })
}

/// A list of exact unsigned integers.
#[must_use]
pub fn as_u64_list(value: &Json<'_>) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(as_u64).collect()
}
