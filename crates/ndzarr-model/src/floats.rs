//! Floats of few bits, and roundings on the way to them.

mod odd_float;
mod small_float;

pub use odd_float::{odd_f32, odd_f32_of_int, odd_f32_of_uint};
pub use small_float::SmallFloat;
