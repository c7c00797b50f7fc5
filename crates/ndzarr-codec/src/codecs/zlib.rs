//! zlib: a stream of RFC 1950.

use super::deflate::{self, Wrapper};
use crate::{BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "zlib";

#[derive(Debug)]
pub(crate) struct Zlib {
    pub(crate) level: i32,
}

impl BytesToBytes for Zlib {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, workspace: &mut Workspace) -> Result<usize, CodecError> {
        deflate::decode_zlib(NAME, src, dst, workspace)
    }

    #[cfg(feature = "libdeflate")]
    fn decodes_two(&self) -> bool {
        true
    }

    #[cfg(feature = "libdeflate")]
    fn decode_two(&self, src: [&[u8]; 2], dst: [&mut [u8]; 2], workspace: &mut Workspace) -> bool {
        super::libdeflate::inflate_two(src, Wrapper::Zlib, dst, workspace)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, workspace: &mut Workspace) -> Result<(), CodecError> {
        dst.clear();
        deflate::deflate(NAME, src, self.level, Wrapper::Zlib, dst, workspace)
    }
}
