//! Codecs that add a checksum of 4 bytes, little endian, before or after the payload.

use std::fmt;

use ndzarr_model::ChecksumLocation;

use crate::memory::sink;
use crate::traits::link::{BorrowDecoded, Capable};
use crate::{BytesToBytes, CodecError, Dst, Workspace};

/// How a checksum is computed.
pub(crate) trait Checksum: fmt::Debug + Send + Sync {
    const NAME: &'static str;

    fn of(&self, payload: &[u8]) -> Result<u32, CodecError>;
}

#[derive(Debug)]
pub(crate) struct Checked<C> {
    pub(crate) checksum: C,
    pub(crate) location: ChecksumLocation,
}

impl<C: Checksum> Checked<C> {
    /// The payload and the checksum.
    fn split<'s>(&self, src: &'s [u8]) -> Result<(&'s [u8], u32), CodecError> {
        let parts = match self.location {
            ChecksumLocation::Start => src
                .split_first_chunk::<4>()
                .map(|(sum, payload)| (payload, sum)),
            ChecksumLocation::End => src.split_last_chunk::<4>(),
        };
        let too_few = || {
            CodecError::corrupt(
                C::NAME,
                format!("{} bytes are too few for the checksum", src.len()),
            )
        };
        parts
            .map(|(payload, sum)| (payload, u32::from_le_bytes(*sum)))
            .ok_or_else(too_few)
    }
}

impl<C: Checksum> BytesToBytes for Checked<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        sink::store(C::NAME, self.checked(src)?, dst)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        let sum = self.checksum.of(src)?.to_le_bytes();
        dst.clear();
        sink::reserve(dst, src.len().saturating_add(4))?;
        if self.location == ChecksumLocation::Start {
            dst.extend_from_slice(&sum);
        }
        dst.extend_from_slice(src);
        if self.location == ChecksumLocation::End {
            dst.extend_from_slice(&sum);
        }
        Ok(())
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        self.split(src)
            .map(|(payload, _)| Some(payload.len() as u64))
    }

    fn encoded_len(&self, decoded: usize) -> Option<usize> {
        decoded.checked_add(4)
    }
}

impl<C: Checksum> Capable for Checked<C> {
    fn borrowing_decoder(&self) -> Option<&dyn BorrowDecoded> {
        Some(self)
    }
}

impl<C: Checksum> BorrowDecoded for Checked<C> {
    fn checked<'s>(&self, src: &'s [u8]) -> Result<&'s [u8], CodecError> {
        let (payload, sum) = self.split(src)?;
        if self.checksum.of(payload)? != sum {
            return Err(CodecError::corrupt(
                C::NAME,
                "the checksum does not match the content",
            ));
        }
        Ok(payload)
    }
}
