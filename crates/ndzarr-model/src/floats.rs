//! Small floats, and rounding to them without rounding twice.

mod odd_float;
mod small_float;

pub use odd_float::{odd_f32, odd_f32_of_int, odd_f32_of_uint};
pub use small_float::SmallFloat;
