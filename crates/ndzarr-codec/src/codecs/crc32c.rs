//! crc32c: the payload and its CRC-32C, little endian (zarr-v3.md V3-124, zarr-v2.md V2-123).

use ndzarr_model::ChecksumLocation;

use crate::{BytesToBytes, CodecError, Dst, Workspace, bounded, sink};

const NAME: &str = "crc32c";

#[derive(Debug)]
pub(crate) struct Crc32c {
    pub(crate) location: ChecksumLocation,
}

impl BytesToBytes for Crc32c {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        let content = self.checked(src)?;
        bounded::store(NAME, content, dst)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        let crc = ::crc32c::crc32c(src).to_le_bytes();
        dst.clear();
        sink::reserve(dst, src.len().saturating_add(4))?;
        if self.location == ChecksumLocation::Start {
            dst.extend_from_slice(&crc);
        }
        dst.extend_from_slice(src);
        if self.location == ChecksumLocation::End {
            dst.extend_from_slice(&crc);
        }
        Ok(())
    }

    fn peel<'s>(&self, src: &'s [u8]) -> Result<Option<&'s [u8]>, CodecError> {
        self.checked(src).map(Some)
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        self.parts(src).map(|(content, _)| Some(content.len() as u64))
    }

    fn encoded_len(&self, decoded: usize) -> Option<usize> {
        decoded.checked_add(4)
    }
}

impl Crc32c {
    /// The content and the checksum.
    fn parts<'s>(&self, src: &'s [u8]) -> Result<(&'s [u8], u32), CodecError> {
        let parts = match self.location {
            ChecksumLocation::Start => src.split_first_chunk::<4>().map(|(crc, content)| (content, crc)),
            ChecksumLocation::End => src.split_last_chunk::<4>(),
        };
        let too_few =
            || CodecError::corrupt(NAME, format!("{} bytes have no room for the checksum", src.len()));
        parts.map(|(content, crc)| (content, u32::from_le_bytes(*crc))).ok_or_else(too_few)
    }

    fn checked<'s>(&self, src: &'s [u8]) -> Result<&'s [u8], CodecError> {
        let (content, crc) = self.parts(src)?;
        if ::crc32c::crc32c(content) != crc {
            return Err(CodecError::corrupt(NAME, "the checksum of the content is another"));
        }
        Ok(content)
    }
}
