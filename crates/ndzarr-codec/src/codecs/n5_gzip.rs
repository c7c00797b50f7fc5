//! gzip as N5 calls it: gzip or zlib. What is stored says which, whatever the flag.

use super::deflate::{self, Wrapper};
use super::gzip;
use crate::{BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "gzip (N5)";

#[derive(Debug)]
pub(crate) struct N5Gzip {
    pub(crate) level: i32,
    pub(crate) use_zlib: bool,
}

impl BytesToBytes for N5Gzip {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, workspace: &mut Workspace) -> Result<usize, CodecError> {
        if src.first() == Some(&0x1f) {
            return gzip::decode(NAME, src, dst, workspace);
        }
        deflate::decode_zlib(NAME, src, dst, workspace)
    }

    #[cfg(feature = "libdeflate")]
    fn decodes_two(&self) -> bool {
        true
    }

    #[cfg(feature = "libdeflate")]
    fn decode_two(&self, src: [&[u8]; 2], dst: [&mut [u8]; 2], workspace: &mut Workspace) -> bool {
        match src.map(|src| src.first() == Some(&0x1f)) {
            [true, true] => gzip::two_members(NAME, src, dst, workspace),
            [false, false] => super::libdeflate::inflate_two(src, Wrapper::Zlib, dst, workspace),
            _ => false,
        }
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, workspace: &mut Workspace) -> Result<(), CodecError> {
        if !self.use_zlib {
            return gzip::encode(NAME, src, self.level, dst, workspace);
        }
        dst.clear();
        deflate::deflate(NAME, src, self.level, Wrapper::Zlib, dst, workspace)
    }
}
