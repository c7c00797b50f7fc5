//! base64: the standard alphabet with padding.

use ::base64::engine::general_purpose::STANDARD;
use ::base64::{DecodeError, DecodeSliceError, Engine as _};

use crate::memory::sink;
use crate::{BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "base64";

#[derive(Debug)]
pub(crate) struct Base64;

impl BytesToBytes for Base64 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], mut dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        let len = decoded_len(src)?;
        let out = sink::whole_output(NAME, &mut dst, len)?;
        STANDARD.decode_slice(src, out).map_err(|error| {
            let what = match error {
                DecodeSliceError::DecodeError(DecodeError::InvalidByte(_, digit)) => {
                    format!("{digit:#04x} is not a base64 digit")
                }
                DecodeSliceError::DecodeError(DecodeError::InvalidLastSymbol { .. }) => {
                    "the last digit has bits that do not belong to a byte".to_owned()
                }
                error => error.to_string(),
            };
            CodecError::corrupt(NAME, what)
        })
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        dst.clear();
        let len = src.len().div_ceil(3).saturating_mul(4);
        sink::reserve(dst, len)?;
        dst.resize(len, 0);
        STANDARD
            .encode_slice(src, dst)
            .map_err(|error| CodecError::encode(NAME, error))?;
        Ok(())
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        decoded_len(src).map(|len| Some(len as u64))
    }

    fn encoded_len(&self, decoded: usize) -> Option<usize> {
        decoded.div_ceil(3).checked_mul(4)
    }
}

fn decoded_len(src: &[u8]) -> Result<usize, CodecError> {
    if !src.len().is_multiple_of(4) {
        return Err(CodecError::corrupt(
            NAME,
            format!("{} digits are not whole groups of 4", src.len()),
        ));
    }
    Ok(src.len() / 4 * 3 - padding(src))
}

fn padding(src: &[u8]) -> usize {
    match src {
        [.., b'=', b'='] => 2,
        [.., b'='] => 1,
        _ => 0,
    }
}
