//! astype: casts elements to another type, as C does.

use ndzarr_model::FilterTypes;

use crate::CodecError;
use crate::elements::number::{NumberType, convert_each};
use crate::filter::{Filter, both_numbers};

const NAME: &str = "astype";

#[derive(Debug)]
pub(crate) struct AsType {
    types: FilterTypes,
    decode_dtype: NumberType,
    encode_dtype: NumberType,
}

impl AsType {
    pub(crate) fn new(types: &FilterTypes) -> Result<Self, CodecError> {
        let (decode_dtype, encode_dtype) = both_numbers(NAME, types)?;
        Ok(Self {
            types: types.clone(),
            decode_dtype,
            encode_dtype,
        })
    }
}

impl Filter for AsType {
    const NAME: &'static str = NAME;

    fn types(&self) -> &FilterTypes {
        &self.types
    }

    fn encode(&self, elements: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        convert_each(
            (self.decode_dtype, elements),
            (self.encode_dtype, out),
            |x| x,
        );
        Ok(())
    }

    fn decode(&self, encoded: &[u8], out: &mut [u8]) -> Result<(), CodecError> {
        convert_each(
            (self.encode_dtype, encoded),
            (self.decode_dtype, out),
            |y| y,
        );
        Ok(())
    }
}
