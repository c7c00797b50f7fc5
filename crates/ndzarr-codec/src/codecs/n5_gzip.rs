//! N5's gzip: gzip or zlib. When decoding, the stored bytes determine which, whatever the flag.

use ndzarr_deflate::{Container, Inflater};

use super::{deflate, gzip};
use crate::traits::link::{Capable, DecodeTwo};
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

    fn decode(
        &self,
        src: &[u8],
        dst: Dst<'_>,
        workspace: &mut Workspace,
    ) -> Result<usize, CodecError> {
        if src.first() == Some(&0x1f) {
            return gzip::decode(NAME, src, dst, workspace);
        }
        deflate::decode_zlib(NAME, src, dst, workspace)
    }

    fn encode(
        &self,
        src: &[u8],
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        if !self.use_zlib {
            return gzip::encode(NAME, src, self.level, dst, workspace);
        }
        dst.clear();
        deflate::append(NAME, src, self.level, Container::Zlib, dst, workspace)
    }
}

impl Capable for N5Gzip {
    fn pair_decoder(&self) -> Option<&dyn DecodeTwo> {
        Inflater::FILLS_TWO.then_some(self)
    }
}

impl DecodeTwo for N5Gzip {
    fn decode_two(&self, src: [&[u8]; 2], dst: [&mut [u8]; 2], workspace: &mut Workspace) -> bool {
        match src.map(|src| src.first() == Some(&0x1f)) {
            [true, true] => gzip::two_members(NAME, src, dst, workspace),
            [false, false] => deflate::inflater(workspace).fill_two(src, Container::Zlib, dst),
            _ => false,
        }
    }
}
