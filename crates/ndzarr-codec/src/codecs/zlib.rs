//! zlib: a stream of RFC 1950.

use ndzarr_deflate::{Container, Inflater};

use super::deflate;
use crate::traits::link::{Capable, DecodeTwo};
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

    fn decode(
        &self,
        src: &[u8],
        dst: Dst<'_>,
        workspace: &mut Workspace,
    ) -> Result<usize, CodecError> {
        deflate::decode_zlib(NAME, src, dst, workspace)
    }

    fn encode(
        &self,
        src: &[u8],
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        dst.clear();
        deflate::append(NAME, src, self.level, Container::Zlib, dst, workspace)
    }
}

impl Capable for Zlib {
    fn pair_decoder(&self) -> Option<&dyn DecodeTwo> {
        Inflater::FILLS_TWO.then_some(self)
    }
}

impl DecodeTwo for Zlib {
    fn decode_two(&self, src: [&[u8]; 2], dst: [&mut [u8]; 2], workspace: &mut Workspace) -> bool {
        deflate::inflater(workspace).fill_two(src, Container::Zlib, dst)
    }
}
