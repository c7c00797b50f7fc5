//! scale_offset: shifts, then scales, in the type of the elements, without loss.

use ndzarr_model::{DataType, ScaleOffsetConfig};

use crate::elements::number::{Number, NumberType, try_convert_each};
use crate::filter::numbers;
use crate::{ArrayToArray, CodecError};

const NAME: &str = "scale_offset";

#[derive(Debug)]
pub(crate) struct ScaleOffset {
    data_type: DataType,
    numbers: NumberType,
    offset: Number,
    scale: Number,
}

impl ScaleOffset {
    pub(crate) fn new(
        config: &ScaleOffsetConfig,
        data_type: &DataType,
    ) -> Result<Self, CodecError> {
        let numbers = numbers(NAME, data_type)?;
        let number = |n: i128| {
            if numbers.is_float() {
                Number::Float(n as f64)
            } else {
                Number::Int(n)
            }
        };
        let read = |bytes: &Option<Vec<u8>>, default: i128| match bytes {
            None => Ok(number(default)),
            Some(bytes) if bytes.len() == numbers.size() => Ok(numbers.load(bytes)),
            Some(bytes) => Err(CodecError::config(
                NAME,
                format!("{} bytes are not one value of {data_type}", bytes.len()),
            )),
        };
        let offset = read(&config.offset, 0)?;
        let scale = read(&config.scale, 1)?;
        if numbers == NumberType::Bool {
            return Err(CodecError::config(NAME, "does not compute with bool"));
        }
        if scale.as_f64() == 0.0 {
            return Err(CodecError::config(NAME, "a scale of 0"));
        }
        Ok(Self {
            data_type: data_type.clone(),
            numbers,
            offset,
            scale,
        })
    }

    /// A result in the type of the elements, if it fits: finite, if `finite` is true.
    fn fitting(&self, result: Number, finite: bool) -> Option<Number> {
        match result {
            Number::Int(n) => {
                let (low, high) = self.numbers.range()?;
                (low..=high).contains(&n).then_some(result)
            }
            Number::Float(x) => {
                let rounded = self.numbers.rounded(x);
                (!finite || rounded.is_finite()).then_some(Number::Float(rounded))
            }
        }
    }

    fn encoded(&self, x: Number) -> Option<Number> {
        let finite = x.as_f64().is_finite();
        let shifted = match (x, self.offset) {
            (Number::Int(x), Number::Int(offset)) => Number::Int(x - offset),
            (x, offset) => Number::Float(x.as_f64() - offset.as_f64()),
        };
        let scaled = match (self.fitting(shifted, finite)?, self.scale) {
            (Number::Int(x), Number::Int(scale)) => Number::Int(x.checked_mul(scale)?),
            (x, scale) => Number::Float(x.as_f64() * scale.as_f64()),
        };
        self.fitting(scaled, finite)
    }

    fn decoded(&self, y: Number) -> Option<Number> {
        let finite = y.as_f64().is_finite();
        let quotient = match (y, self.scale) {
            (Number::Int(y), Number::Int(scale)) if y % scale != 0 => return None,
            (Number::Int(y), Number::Int(scale)) => Number::Int(y / scale),
            (y, scale) => Number::Float(y.as_f64() / scale.as_f64()),
        };
        let shifted = match (self.fitting(quotient, finite)?, self.offset) {
            (Number::Int(x), Number::Int(offset)) => Number::Int(x + offset),
            (x, offset) => Number::Float(x.as_f64() + offset.as_f64()),
        };
        self.fitting(shifted, finite)
    }
}

impl ArrayToArray for ScaleOffset {
    fn name(&self) -> &'static str {
        NAME
    }

    fn encoded_type(&self) -> DataType {
        self.data_type.clone()
    }

    fn encoded_fill(&self, fill: &[u8]) -> Result<Vec<u8>, CodecError> {
        let mut out = vec![0; fill.len()];
        let encoded = self.encoded(self.numbers.load(fill));
        let number = encoded
            .ok_or_else(|| CodecError::config(NAME, "the fill value has no encoded form"))?;
        self.numbers.store(number, &mut out);
        Ok(out)
    }

    fn encode(&self, elements: &[u8], _: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        try_convert_each((self.numbers, elements), (self.numbers, out), |x| {
            let out_of_range = || {
                CodecError::encode(
                    NAME,
                    format!("{x:?} leaves the range of {}", self.data_type),
                )
            };
            self.encoded(x).ok_or_else(out_of_range)
        })
    }

    fn decode(&self, encoded: &[u8], _: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        try_convert_each((self.numbers, encoded), (self.numbers, out), |y| {
            let not_encoded = || {
                CodecError::corrupt(
                    NAME,
                    format!(
                        "{y:?} is not the encoded form of an element of {}",
                        self.data_type
                    ),
                )
            };
            self.decoded(y).ok_or_else(not_encoded)
        })
    }
}
