//! adler32: the payload and its Adler-32, little endian.

use super::checksum::Checksum;
use crate::CodecError;

/// The greatest prime below 2^16.
const MODULUS: u32 = 65_521;
/// The number of bytes that can be added before the sums overflow.
const RUN: usize = 5552;

#[derive(Debug)]
pub(crate) struct Adler32;

impl Checksum for Adler32 {
    const NAME: &'static str = "adler32";

    fn of(&self, payload: &[u8]) -> Result<u32, CodecError> {
        let mut a = 1;
        let mut b = 0;
        for run in payload.chunks(RUN) {
            for &byte in run {
                a += u32::from(byte);
                b += a;
            }
            a %= MODULUS;
            b %= MODULUS;
        }
        Ok(b << 16 | a)
    }
}
