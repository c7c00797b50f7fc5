//! quantize: rounds floats to a given number of decimal digits.

use ndzarr_model::FilterTypes;

use crate::CodecError;
use crate::elements::number::{Number, NumberType, convert_each};
use crate::filter::{Filter, both_numbers};

const NAME: &str = "quantize";

#[derive(Debug)]
pub(crate) struct Quantize {
    types: FilterTypes,
    dtype: NumberType,
    astype: NumberType,
    /// A power of two.
    scale: f64,
}

impl Quantize {
    pub(crate) fn new(digits: i32, types: &FilterTypes) -> Result<Self, CodecError> {
        let (dtype, astype) = both_numbers(NAME, types)?;
        if !dtype.is_float() || !astype.is_float() {
            return Err(CodecError::config(NAME, "takes and makes floats only"));
        }
        let bits = (f64::from(digits) * 10f64.log2()).ceil();
        Ok(Self {
            types: types.clone(),
            dtype,
            astype,
            scale: bits.exp2(),
        })
    }
}

impl Filter for Quantize {
    const NAME: &'static str = NAME;

    fn types(&self) -> &FilterTypes {
        &self.types
    }

    fn encode(&self, elements: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        let dtype = self.dtype;
        let scale = dtype.rounded(self.scale);
        convert_each((dtype, elements), (self.astype, out), |x| {
            let scaled = dtype.rounded(x.as_f64() * scale);
            Number::Float(dtype.rounded(scaled.round_ties_even() / scale))
        });
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        convert_each((self.astype, encoded), (self.dtype, out), |y| y);
        Ok(())
    }
}
