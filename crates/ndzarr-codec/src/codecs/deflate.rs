//! The common part of gzip and zlib: deflate, with states that are reused from chunk to chunk.

use ndzarr_deflate::{Container, DeflateError, Deflater, InflateError, Inflater, Output};

use crate::memory::sink::{self, Sink};
use crate::{CodecError, Dst, Workspace};

/// The decoder of this thread.
pub(crate) fn inflater(workspace: &mut Workspace) -> &mut Inflater {
    workspace.context(Inflater::new)
}

impl Output for Sink<'_> {
    type Error = CodecError;

    fn room(&mut self) -> Result<&mut [u8], CodecError> {
        Sink::free_space(self)
    }

    fn advance(&mut self, n: usize) -> Result<(), CodecError> {
        Sink::advance(self, n)
    }
}

/// Decodes the stream at the start of `src`; returns its length in bytes.
pub(crate) fn stream(
    src: &[u8],
    container: Container,
    sink: &mut Sink<'_>,
    workspace: &mut Workspace,
) -> Result<usize, CodecError> {
    inflater(workspace)
        .stream(src, container, sink)
        .map_err(|error| match error {
            InflateError::Truncated => sink::truncated(sink.codec()),
            InflateError::Corrupt(what) => CodecError::corrupt(sink.codec(), what),
            InflateError::Output(error) => error,
        })
}

/// Decodes a stream of RFC 1950. Bytes after it are ignored, as numcodecs does.
pub(crate) fn decode_zlib(
    codec: &'static str,
    src: &[u8],
    mut dst: Dst<'_>,
    workspace: &mut Workspace,
) -> Result<usize, CodecError> {
    if let Dst::Exact(out) = &mut dst
        && inflater(workspace).fill(src, Container::Zlib, out)
    {
        return Ok(out.len());
    }
    let mut sink = Sink::new(codec, dst);
    stream(src, Container::Zlib, &mut sink, workspace)?;
    sink.finish()
}

/// Encodes one stream and appends it.
pub(crate) fn append(
    codec: &'static str,
    src: &[u8],
    level: i32,
    container: Container,
    dst: &mut Vec<u8>,
    workspace: &mut Workspace,
) -> Result<(), CodecError> {
    let deflater = workspace.context(Deflater::new);
    deflater
        .append(src, level, container, dst)
        .map_err(|error| match error {
            DeflateError::OutOfMemory { byte_len } => CodecError::OutOfMemory { byte_len },
            error => CodecError::encode(codec, error),
        })
}
