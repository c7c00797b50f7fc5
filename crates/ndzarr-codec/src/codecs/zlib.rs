//! zlib: a stream of RFC 1950 (zarr-v2.md V2-101).

use super::deflate::{self, Wrapper};
use crate::sink::Sink;
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

    /// Bytes behind the stream are ignored, as numcodecs does (V2-T30).
    fn decode(&self, src: &[u8], dst: Dst<'_>, workspace: &mut Workspace) -> Result<usize, CodecError> {
        #[cfg(feature = "libdeflate")]
        let mut dst = dst;
        #[cfg(feature = "libdeflate")]
        if let Dst::Exact(out) = &mut dst
            && super::libdeflate::inflate(src, Wrapper::Zlib, out, workspace)
        {
            return Ok(out.len());
        }
        let mut sink = Sink::new(NAME, dst);
        deflate::inflate(NAME, src, Wrapper::Zlib, &mut sink, workspace)?;
        sink.finish()
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, workspace: &mut Workspace) -> Result<(), CodecError> {
        dst.clear();
        deflate::deflate(NAME, src, self.level, Wrapper::Zlib, dst, workspace)
    }
}
