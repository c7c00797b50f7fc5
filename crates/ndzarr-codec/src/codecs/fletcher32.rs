//! fletcher32: the payload and the Fletcher-32 that HDF5 computes, little endian.

use super::checksum::Checksum;
use crate::CodecError;

/// The number of words that can be added before the sums overflow.
const RUN: usize = 360;

#[derive(Debug)]
pub(crate) struct Fletcher32;

impl Checksum for Fletcher32 {
    const NAME: &'static str = "fletcher32";

    fn of(&self, payload: &[u8]) -> Result<u32, CodecError> {
        if payload.is_empty() {
            // numcodecs can neither encode nor decode it (V2-T38).
            return Err(CodecError::corrupt(Self::NAME, "there is no payload"));
        }
        let (words, last) = payload.as_chunks::<2>();
        let mut a = 0;
        let mut b = 0;
        for run in words.chunks(RUN) {
            for &word in run {
                a += u32::from(u16::from_be_bytes(word));
                b += a;
            }
            a = fold(a);
            b = fold(b);
        }
        if let Some(&byte) = last.first() {
            a += u32::from(byte) << 8;
            b += a;
            a = fold(a);
            b = fold(b);
        }
        Ok(fold(b) << 16 | fold(a))
    }
}

fn fold(sum: u32) -> u32 {
    (sum & 0xffff) + (sum >> 16)
}
