//! packbits of numcodecs: booleans as bits, the first one highest.

use ndzarr_model::DataType;

use crate::memory::{bounded, sink};
use crate::{ArrayToArray, BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "packbits";

#[derive(Debug)]
pub(crate) struct NumcodecsPackbits;

impl BytesToBytes for NumcodecsPackbits {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], mut dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        let n = n_bits(src)?;
        unpack(src, sink::whole_output(NAME, &mut dst, n)?);
        Ok(n)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        dst.clear();
        sink::reserve(dst, packed_len(src.len()))?;
        dst.resize(packed_len(src.len()), 0);
        pack(src, dst);
        Ok(())
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        n_bits(src).map(|n| Some(n as u64))
    }

    fn encoded_len(&self, decoded: usize) -> Option<usize> {
        Some(packed_len(decoded))
    }
}

/// packbits of numcodecs as an array→array codec, for booleans.
#[derive(Debug)]
pub(crate) struct OnArray;

impl OnArray {
    pub(crate) fn new(data_type: &DataType) -> Result<Self, CodecError> {
        match data_type {
            DataType::Bool => Ok(Self),
            other => Err(CodecError::config(NAME, format!("takes bool, not {other}"))),
        }
    }
}

impl ArrayToArray for OnArray {
    fn name(&self) -> &'static str {
        NAME
    }

    fn encoded_type(&self) -> DataType {
        DataType::UInt { bits: 8 }
    }

    fn encoded_ndim(&self, _: usize) -> usize {
        1
    }

    fn encoded_shape(&self, shape: &[u64]) -> Result<Vec<u64>, CodecError> {
        let n = bounded::byte_len(shape, 1)
            .ok_or_else(|| CodecError::config(NAME, format!("{shape:?} is too large a shape")))?;
        Ok(vec![packed_len(n) as u64])
    }

    /// The fill value keeps its number, as in zarr-python.
    fn encoded_fill(&self, fill: &[u8]) -> Result<Vec<u8>, CodecError> {
        Ok(fill.to_vec())
    }

    fn encode(&self, elements: &[u8], _: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        pack(elements, out);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], _: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        bounded::expect_len(NAME, n_bits(encoded)?, out.len())?;
        unpack(encoded, out);
        Ok(())
    }
}

fn packed_len(n_bits: usize) -> usize {
    1 + n_bits.div_ceil(8)
}

/// The number of bits: the first byte states how many bits of the last byte are unused.
fn n_bits(src: &[u8]) -> Result<usize, CodecError> {
    let Some((&unused, packed)) = src.split_first() else {
        return Err(CodecError::corrupt(NAME, "the value is empty"));
    };
    if unused > 7 {
        return Err(CodecError::corrupt(
            NAME,
            format!("{unused} bits of a byte are said to be unused"),
        ));
    }
    packed
        .len()
        .checked_mul(8)
        .and_then(|bits| bits.checked_sub(unused.into()))
        .ok_or_else(|| {
            CodecError::corrupt(
                NAME,
                format!("{unused} bits are said to be unused where there are none"),
            )
        })
}

fn pack(bools: &[u8], out: &mut [u8]) {
    let Some((unused, packed)) = out.split_first_mut() else {
        return;
    };
    *unused = (8 - bools.len() % 8) as u8 % 8;
    for (bools, out) in bools.chunks(8).zip(packed) {
        *out = bools
            .iter()
            .enumerate()
            .fold(0, |byte, (i, &b)| byte | u8::from(b != 0) << (7 - i));
    }
}

fn unpack(src: &[u8], out: &mut [u8]) {
    for (out, &byte) in out.chunks_mut(8).zip(&src[1..]) {
        out.iter_mut()
            .enumerate()
            .for_each(|(i, out)| *out = byte >> (7 - i) & 1);
    }
}
