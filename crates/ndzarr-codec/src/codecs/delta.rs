//! delta: the difference between each element and the one before it.

use ndzarr_model::FilterTypes;

use crate::CodecError;
use crate::elements::number::{Number, NumberType, convert_each, try_convert_each};
use crate::filter::{Filter, both_numbers};

const NAME: &str = "delta";

#[derive(Debug)]
pub(crate) struct Delta {
    types: FilterTypes,
    dtype: NumberType,
    astype: NumberType,
}

impl Delta {
    pub(crate) fn new(types: &FilterTypes) -> Result<Self, CodecError> {
        let (dtype, astype) = both_numbers(NAME, types)?;
        Ok(Self {
            types: types.clone(),
            dtype,
            astype,
        })
    }
}

impl Filter for Delta {
    const NAME: &'static str = NAME;

    fn types(&self) -> &FilterTypes {
        &self.types
    }

    fn encode(&self, elements: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        let dtype = self.dtype;
        let astype = self.astype;
        let mut previous = None;
        try_convert_each((dtype, elements), (astype, out), |x| {
            let difference = match (x, previous.replace(x)) {
                (x, None) => x,
                // Decoding, which must read what numcodecs wrote, combines them with OR.
                (Number::Int(0), Some(Number::Int(1))) if dtype == NumberType::Bool => {
                    return Err(CodecError::encode(
                        NAME,
                        "a false bool after a true one, which reads as true",
                    ));
                }
                (Number::Int(x), Some(Number::Int(y))) if dtype == NumberType::Bool => {
                    Number::Int(x ^ y)
                }
                (Number::Int(x), Some(Number::Int(y))) => Number::Int(dtype.wrapped(x - y)),
                (x, Some(y)) => Number::Float(dtype.rounded(x.as_f64() - y.as_f64())),
            };
            if is_restorable(difference, dtype, astype) {
                return Ok(difference);
            }
            // numcodecs would store a truncated difference, and the values would be lost (V2-T50).
            let what = format!(
                "a difference of {} does not fit {}",
                show(difference),
                self.types.astype.data_type
            );
            Err(CodecError::encode(NAME, what))
        })
    }

    fn decode(&self, encoded: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        let dtype = self.dtype;
        let mut sum = None;
        convert_each((self.astype, encoded), (dtype, out), |difference| {
            // The sum runs in the type of the elements.
            let mut cast = [0; 8];
            dtype.store(difference, &mut cast[..dtype.size()]);
            let next = match (dtype.load(&cast[..dtype.size()]), sum) {
                (next, None) => next,
                (Number::Int(x), Some(Number::Int(y))) if dtype == NumberType::Bool => {
                    Number::Int(x | y)
                }
                (Number::Int(x), Some(Number::Int(y))) => {
                    Number::Int(dtype.wrapped(x.wrapping_add(y)))
                }
                (x, Some(y)) => Number::Float(dtype.rounded(x.as_f64() + y.as_f64())),
            };
            sum = Some(next);
            next
        });
        Ok(())
    }
}

/// True if a difference can be restored from its stored form; for floats, as closely as they allow.
fn is_restorable(difference: Number, dtype: NumberType, astype: NumberType) -> bool {
    match difference {
        Number::Int(n) if !astype.is_float() => dtype.wrapped(astype.wrapped(n)) == n,
        // Infinity becomes an integer that no type has.
        Number::Int(n) => astype.rounded(n as f64) as i128 == n,
        Number::Float(x) => {
            let is_in = |range| Number::Float(x.trunc()).is_in(range);
            astype.range().is_none_or(is_in)
        }
    }
}

fn show(number: Number) -> String {
    match number {
        Number::Int(n) => n.to_string(),
        Number::Float(x) => x.to_string(),
    }
}
