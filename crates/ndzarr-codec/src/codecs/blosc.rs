//! blosc: one chunk of c-blosc 1.

use std::num::NonZeroUsize;
use std::ops::Range;

use ndzarr_blosc::{Blocks, Chunk, Compress, Compressor, Error, Header, Shuffle};
use ndzarr_model::{BloscCname, BloscConfig, BloscShuffle};

use crate::memory::{bounded, sink};
use crate::traits::link::{Capable, DecodeParts, EncodePieces};
use crate::{Buffer, BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "blosc";
/// Greatest element size that the header can store.
const MAX_TYPESIZE: usize = 255;
/// A stored chunk has no blocks. It is read as if it had blocks of this many bytes.
const STORED_BLOCK: usize = 4 << 10;

/// Scratch memory beyond this many bytes is freed. Blocks of the size that c-blosc chooses need
/// less.
const MAX_KEPT_SCRATCH: usize = 2 << 20;

/// The blocks of an encoder.
#[derive(Default)]
struct Scratch(Vec<u8>);

#[derive(Debug)]
pub(crate) struct Blosc {
    config: BloscConfig,
    /// Size in bytes of the input elements.
    elem_size: usize,
}

impl Blosc {
    pub(crate) fn new(config: &BloscConfig, elem_size: usize) -> Self {
        Self {
            config: *config,
            elem_size,
        }
    }

    fn parameters(&self) -> Result<Compress, CodecError> {
        let BloscConfig {
            cname,
            clevel,
            shuffle,
            typesize,
            blocksize,
        } = self.config;
        let typesize = match typesize.unwrap_or(self.elem_size) {
            0 => return Err(CodecError::encode(NAME, "a typesize of 0")),
            size if size > MAX_TYPESIZE => 1,
            size => size,
        };
        Ok(Compress {
            compressor: match cname {
                BloscCname::BloscLz => Compressor::BloscLz,
                BloscCname::Lz4 => Compressor::Lz4,
                BloscCname::Lz4hc => Compressor::Lz4hc,
                BloscCname::Snappy => Compressor::Snappy,
                BloscCname::Zlib => Compressor::Zlib,
                BloscCname::Zstd => Compressor::Zstd,
            },
            level: clevel,
            shuffle: match shuffle {
                BloscShuffle::None => Shuffle::None,
                BloscShuffle::Byte => Shuffle::Byte,
                BloscShuffle::Bit => Shuffle::Bit,
                BloscShuffle::Auto if typesize == 1 => Shuffle::Bit,
                BloscShuffle::Auto => Shuffle::Byte,
            },
            typesize,
            blocksize,
        })
    }

    fn compress(
        &self,
        byte_len: usize,
        content: &mut dyn Blocks,
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        let parameters = self.parameters()?;
        let Scratch(scratch) = workspace.context(Scratch::default);
        let result = ndzarr_blosc::compress_blocks(byte_len, content, &parameters, dst, scratch);
        if scratch.capacity() > MAX_KEPT_SCRATCH {
            *scratch = Vec::new();
        }
        result.map_err(|error| match error {
            Error::OutOfMemory { byte_len } => CodecError::OutOfMemory { byte_len },
            error => CodecError::encode(NAME, error),
        })
    }
}

/// Blocks that are made just before they are encoded.
struct BlocksOnDemand<'m> {
    make: &'m mut dyn FnMut(Range<usize>, &mut [u8]),
    buffer: Buffer,
}

impl Blocks for BlocksOnDemand<'_> {
    fn block(&mut self, range: Range<usize>) -> &[u8] {
        let block = &mut self.buffer.bytes_mut()[..range.len()];
        (self.make)(range, block);
        block
    }
}

impl BytesToBytes for Blosc {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Follows the chunk's header, whatever the configuration (V2-T28).
    fn decode(&self, src: &[u8], mut dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        let chunk = Chunk::parse(src).map_err(decode_error)?;
        let out = sink::whole_output(NAME, &mut dst, chunk.nbytes())?;
        chunk.decompress(out).map_err(decode_error)?;
        Ok(out.len())
    }

    fn encode(
        &self,
        src: &[u8],
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        self.compress(src.len(), &mut &*src, dst, workspace)
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        Header::parse(src)
            .map(|header| Some(header.nbytes() as u64))
            .map_err(decode_error)
    }
}

impl Capable for Blosc {
    fn partial_decoder(&self) -> Option<&dyn DecodeParts> {
        Some(self)
    }

    fn piecewise_encoder(&self) -> Option<&dyn EncodePieces> {
        Some(self)
    }
}

impl EncodePieces for Blosc {
    fn piece_len(&self, byte_len: usize) -> Option<NonZeroUsize> {
        NonZeroUsize::new(ndzarr_blosc::block_len(byte_len, &self.parameters().ok()?))
    }

    fn encode_pieces(
        &self,
        byte_len: usize,
        make: &mut dyn FnMut(Range<usize>, &mut [u8]),
        dst: &mut Vec<u8>,
        workspace: &mut Workspace,
    ) -> Result<(), CodecError> {
        let piece_len = ndzarr_blosc::block_len(byte_len, &self.parameters()?);
        let mut content = BlocksOnDemand {
            make,
            buffer: bounded::take(workspace, piece_len)?,
        };
        let result = self.compress(byte_len, &mut content, dst, workspace);
        workspace.give(content.buffer);
        result
    }
}

impl DecodeParts for Blosc {
    fn block_len(&self, src: &[u8]) -> Result<Option<NonZeroUsize>, CodecError> {
        let header = Header::parse(src).map_err(decode_error)?;
        Ok(NonZeroUsize::new(if header.is_stored() {
            STORED_BLOCK
        } else {
            header.blocksize()
        }))
    }

    fn decode_parts(
        &self,
        src: &[u8],
        parts: &[Range<usize>],
        out: &mut [u8],
        workspace: &mut Workspace,
    ) -> Result<bool, CodecError> {
        let mut scratch = workspace.take_bytes();
        let result = ndzarr_blosc::decompress_parts(src, parts, out, &mut scratch);
        workspace.give_bytes(scratch);
        result.map(|()| true).map_err(decode_error)
    }
}

fn decode_error(error: Error) -> CodecError {
    match error {
        Error::OutOfMemory { byte_len } => CodecError::OutOfMemory { byte_len },
        error => CodecError::corrupt(NAME, error),
    }
}
