//! crc32c: the payload and its CRC-32C, little endian.

use super::checksum::Checksum;
use crate::CodecError;

#[derive(Debug)]
pub(crate) struct Crc32c;

impl Checksum for Crc32c {
    const NAME: &'static str = "crc32c";

    fn of(&self, payload: &[u8]) -> Result<u32, CodecError> {
        Ok(::crc32c::crc32c(payload))
    }
}
