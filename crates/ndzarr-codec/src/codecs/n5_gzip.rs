//! gzip as N5 calls it (n5.md section 3): gzip or zlib. What is stored says which, whatever the flag.

use super::deflate::{self, Wrapper};
use super::gzip;
use crate::sink::Sink;
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
        let mut sink = Sink::new(NAME, dst);
        deflate::inflate(NAME, src, Wrapper::Zlib, &mut sink, workspace)?;
        sink.finish()
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, workspace: &mut Workspace) -> Result<(), CodecError> {
        if !self.use_zlib {
            return gzip::encode(NAME, src, self.level, dst, workspace);
        }
        dst.clear();
        deflate::deflate(NAME, src, self.level, Wrapper::Zlib, dst, workspace)
    }
}
