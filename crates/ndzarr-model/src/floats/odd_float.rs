//! Floats rounded to odd: the first of two roundings that together give the result of one.

/// The number as an `f32` for rounding once more, to a type with far fewer digits, such as float16
/// or bfloat16: rounded towards zero, with its last bit set if that lost anything. Both steps
/// together give the result of rounding once.
///
/// ```
/// use ndzarr_model::odd_f32;
///
/// // The nearest `f32` is 2049, half-way between two float16, so that the rest no longer counts.
/// assert_eq!(odd_f32(2049.0 + 1e-9), f32::from_bits(2049f32.to_bits() + 1));
/// assert_eq!(odd_f32(2049.0), 2049.0);
/// ```
#[must_use]
#[inline]
pub fn odd_f32(float: f64) -> f32 {
    let nearest = float as f32;
    let back = f64::from(nearest);
    if back == float || !nearest.is_finite() {
        return nearest;
    }
    let towards_zero = nearest.to_bits() - u32::from(back.abs() > float.abs());
    f32::from_bits(towards_zero | 1)
}

/// [`odd_f32`] of an integer, which may be too large for an `f64`.
#[must_use]
#[inline]
pub fn odd_f32_of_uint(int: u64) -> f32 {
    // Only the upper 53 bits fit an `f64`. The lowest of them is set if any lower bit is.
    let lost = int & 0x7ff;
    if int >> 53 == 0 {
        return odd_f32(int as f64);
    }
    odd_f32(((int - lost) | u64::from(lost != 0) << 11) as f64)
}

/// [`odd_f32_of_uint`] for an integer with a sign.
#[must_use]
#[inline]
pub fn odd_f32_of_int(int: i64) -> f32 {
    let float = odd_f32_of_uint(int.unsigned_abs());
    if int < 0 { -float } else { float }
}
