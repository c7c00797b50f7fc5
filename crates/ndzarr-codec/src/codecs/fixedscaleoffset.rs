//! fixedscaleoffset: shifts, scales and rounds.

use ndzarr_model::{FilterNumber, FilterTypes, FixedScaleOffsetConfig};

use crate::CodecError;
use crate::elements::number::{Number, NumberType, convert_each};
use crate::filter::{Filter, both_numbers};

const NAME: &str = "fixedscaleoffset";

#[derive(Debug)]
pub(crate) struct FixedScaleOffset {
    config: FixedScaleOffsetConfig,
    dtype: NumberType,
    astype: NumberType,
}

impl FixedScaleOffset {
    pub(crate) fn new(config: &FixedScaleOffsetConfig) -> Result<Self, CodecError> {
        let (dtype, astype) = both_numbers(NAME, &config.types)?;
        for (name, number) in [("offset", config.offset), ("scale", config.scale)] {
            // NumPy computes with an integer in the type of the elements, which it must fit
            // (V2-T51).
            if let (FilterNumber::Int(n), Some((low, high))) = (number, dtype.range())
                && !(low..=high).contains(&n)
            {
                let what = format!("{name} {n} does not fit {}", config.types.dtype.data_type);
                return Err(CodecError::config(NAME, what));
            }
        }
        Ok(Self {
            config: config.clone(),
            dtype,
            astype,
        })
    }
}

/// One step of NumPy's arithmetic: integers stay in their type and wrap; with a float the result is
/// a float.
fn step(
    x: Number,
    by: FilterNumber,
    of: NumberType,
    ints: impl FnOnce(i128, i128) -> i128,
    floats: impl FnOnce(f64, f64) -> f64,
) -> Number {
    match (x, by) {
        (Number::Int(x), FilterNumber::Int(n)) => Number::Int(of.wrapped(ints(x, n))),
        (Number::Int(x), FilterNumber::Float(n)) => Number::Float(floats(x as f64, n)),
        (Number::Float(x), by) => {
            let n = match by {
                FilterNumber::Int(n) => n as f64,
                FilterNumber::Float(n) => n,
            };
            // Integers converted to floats have the precision of float64.
            let precision = if of.is_float() { of } else { NumberType::F64 };
            Number::Float(precision.rounded(floats(x, precision.rounded(n))))
        }
    }
}

impl Filter for FixedScaleOffset {
    const NAME: &'static str = NAME;

    fn types(&self) -> &FilterTypes {
        &self.config.types
    }

    fn encode(&self, elements: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        let dtype = self.dtype;
        let FixedScaleOffsetConfig { offset, scale, .. } = &self.config;
        convert_each((dtype, elements), (self.astype, out), |x| {
            let shifted = step(x, *offset, dtype, i128::wrapping_sub, |x, n| x - n);
            match step(shifted, *scale, dtype, i128::wrapping_mul, |x, n| x * n) {
                Number::Float(x) => Number::Float(x.round_ties_even()),
                int => int,
            }
        });
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        let astype = self.astype;
        let FixedScaleOffsetConfig { offset, scale, .. } = &self.config;
        // A quotient is always a float.
        let float = |number| match number {
            Number::Int(n) => Number::Float(n as f64),
            float => float,
        };
        convert_each((astype, encoded), (self.dtype, out), |y| {
            let quotient = step(float(y), *scale, astype, i128::wrapping_mul, |y, n| y / n);
            step(quotient, *offset, astype, i128::wrapping_add, |y, n| y + n)
        });
        Ok(())
    }
}
