//! base64: the standard alphabet with padding.

use crate::{BytesToBytes, CodecError, Dst, Workspace, sink};

const NAME: &str = "base64";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// What stands for no digit.
const NONE: u8 = 0xff;
static VALUES: [u8; 256] = values();

#[derive(Debug)]
pub(crate) struct Base64;

const fn values() -> [u8; 256] {
    let mut values = [NONE; 256];
    let mut i = 0;
    while i < 64 {
        values[ALPHABET[i] as usize] = i as u8;
        i += 1;
    }
    values
}

impl BytesToBytes for Base64 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], mut dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        let len = decoded_len(src)?;
        let out = sink::room_of(NAME, &mut dst, len)?;
        let digits = &src[..src.len() - padding(src)];
        let mut places = out.chunks_mut(3);
        for group in digits.chunks(4) {
            let mut bits = 0;
            for &digit in group {
                let value = VALUES[usize::from(digit)];
                if value == NONE {
                    return Err(CodecError::corrupt(NAME, format!("{digit:#04x} is not a base64 digit")));
                }
                bits = bits << 6 | u32::from(value);
            }
            bits <<= 6 * (4 - group.len());
            if let Some(place) = places.next() {
                if bits.to_be_bytes()[1 + place.len()..].iter().any(|&byte| byte != 0) {
                    return Err(CodecError::corrupt(
                        NAME,
                        "the last digit has bits that do not belong to a byte",
                    ));
                }
                place.copy_from_slice(&bits.to_be_bytes()[1..1 + place.len()]);
            }
        }
        Ok(len)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        dst.clear();
        sink::reserve(dst, src.len().div_ceil(3).saturating_mul(4))?;
        for group in src.chunks(3) {
            let mut word = [0; 4];
            word[1..1 + group.len()].copy_from_slice(group);
            let bits = u32::from_be_bytes(word);
            for i in 0..4 {
                let digit = ALPHABET[(bits >> (18 - 6 * i) & 63) as usize];
                dst.push(if i <= group.len() { digit } else { b'=' });
            }
        }
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
        return Err(CodecError::corrupt(NAME, format!("{} digits are not whole groups of 4", src.len())));
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
