//! Encodes chunks without c-blosc: lz4 in the common case, and all of snappy.
//!
//! The bytes of lz4 are identical to those of c-blosc 1.21. The shuffle is code that the compiler
//! vectorizes, and its buffers are reused. c-blosc is built without snappy, because that needs a
//! C++ compiler.

#[cfg(not(target_family = "wasm"))]
use lz4::block::{CompressionMode, compress_to_buffer};
use snap::raw::{Encoder, max_compress_len};

use crate::header::{HEADER_LEN, Header, MAX_BLOCKSIZE, MIN_CONTENT, is_split};
use crate::parameters::{Blocks, Compress, Compressor, Shuffle};
use crate::shuffle::{LARGE_ELEMENT, bitshuffle, shuffle};
use crate::{Error, reserve};

/// True if this module can encode with these parameters.
pub(crate) fn can_encode(parameters: &Compress) -> bool {
    match parameters.compressor {
        Compressor::Snappy => true,
        Compressor::Lz4 if cfg!(target_family = "wasm") => false,
        Compressor::Lz4 => match parameters.shuffle {
            Shuffle::None => true,
            Shuffle::Byte => parameters.typesize < LARGE_ELEMENT,
            Shuffle::Bit => false,
        },
        _ => false,
    }
}

/// Encodes at most 2^31 - 17 bytes.
pub(crate) fn compress(
    nbytes: usize,
    content: &mut dyn Blocks,
    parameters: &Compress,
    dst: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
) -> Result<(), Error> {
    let header = Header::new(nbytes, blocksize(nbytes, parameters), parameters);
    dst.clear();
    reserve(dst, HEADER_LEN + nbytes)?;
    if header.is_stored() || !append_blocks(content, &header, parameters, dst, scratch)? {
        dst.clear();
        dst.resize(HEADER_LEN, 0);
        for index in 0..header.n_blocks() {
            dst.extend_from_slice(content.block(header.range(index)));
        }
        header.stored().write(dst);
    } else {
        header.write(dst);
    }
    Ok(())
}

/// The number of bytes in a block.
pub(crate) fn blocksize(nbytes: usize, parameters: &Compress) -> usize {
    let Compress {
        level,
        typesize,
        blocksize,
        ..
    } = *parameters;
    if nbytes < typesize {
        return 1;
    }
    let mut len = match blocksize {
        0 if nbytes < 32 << 10 => nbytes,
        0 => match level {
            0 => 8 << 10,
            1 => 16 << 10,
            2 => 32 << 10,
            3 => 64 << 10,
            4 | 5 => 128 << 10,
            _ => 256 << 10,
        },
        requested => requested.clamp(MIN_CONTENT, MAX_BLOCKSIZE),
    };
    if level > 0 && is_split(typesize, len) {
        // The value computed so far is then the length of a stream.
        len = (len.min(256 << 10) * typesize).clamp(64 << 10, 1 << 20);
    }
    len = len.min(nbytes);
    if len > typesize {
        len / typesize * typesize
    } else {
        len
    }
}

/// The compressor of a chunk's streams.
enum Streams {
    #[cfg(not(target_family = "wasm"))]
    Lz4(CompressionMode),
    Snappy(Box<Encoder>),
}

impl Streams {
    fn new(parameters: &Compress) -> Self {
        match parameters.compressor {
            #[cfg(not(target_family = "wasm"))]
            Compressor::Lz4 => Self::Lz4(CompressionMode::FAST(10 - i32::from(parameters.level))),
            _ => Self::Snappy(Box::new(Encoder::new())),
        }
    }

    /// The most bytes that the encoded form of `len` bytes may need.
    fn bound(&self, len: usize) -> usize {
        match self {
            #[cfg(not(target_family = "wasm"))]
            Self::Lz4(_) => len,
            Self::Snappy(_) => max_compress_len(len),
        }
    }

    /// Encodes a stream and returns its length; `None` if that is more than `max_len`.
    fn encode(&mut self, stream: &[u8], encoded: &mut [u8], max_len: usize) -> Option<usize> {
        // It can fail only if the output is too short.
        match self {
            #[cfg(not(target_family = "wasm"))]
            Self::Lz4(mode) => {
                let max_len = stream.len().min(max_len);
                compress_to_buffer(stream, Some(*mode), false, &mut encoded[..max_len]).ok()
            }
            Self::Snappy(encoder) => encoder
                .compress(stream, encoded)
                .ok()
                .filter(|&n| n <= max_len),
        }
    }
}

/// Appends the table of the blocks and the blocks, after space for the header. Returns false if
/// they need more bytes than the content.
fn append_blocks(
    content: &mut dyn Blocks,
    header: &Header,
    parameters: &Compress,
    dst: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
) -> Result<bool, Error> {
    let blocksize = header.blocksize();
    let mut streams = Streams::new(parameters);
    let scratch_len = blocksize + streams.bound(blocksize);
    if scratch.len() < scratch_len {
        reserve(scratch, scratch_len - scratch.len())?;
        scratch.resize(scratch_len, 0);
    }
    let (shuffled, encoded) = scratch.split_at_mut(blocksize);
    dst.resize(HEADER_LEN + 4 * header.n_blocks(), 0);
    for index in 0..header.n_blocks() {
        let block = content.block(header.range(index));
        let start = dst.len() as u32;
        dst[HEADER_LEN + 4 * index..][..4].copy_from_slice(&start.to_le_bytes());
        let (len, n_streams) = header.block(index);
        let block = match parameters.shuffle {
            Shuffle::Byte if parameters.typesize > 1 => {
                shuffle(parameters.typesize, block, &mut shuffled[..len]);
                &shuffled[..len]
            }
            Shuffle::Bit => {
                bitshuffle(parameters.typesize, block, &mut shuffled[..len]);
                &shuffled[..len]
            }
            Shuffle::Byte | Shuffle::None => block,
        };
        for stream in block.chunks_exact(len / n_streams) {
            if !append_stream(
                stream,
                &mut streams,
                HEADER_LEN + header.nbytes(),
                dst,
                encoded,
            ) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Appends a stream with its length; stored, if encoding does not make it shorter. Returns false
/// if `dst` would become longer than `limit`.
fn append_stream(
    stream: &[u8],
    streams: &mut Streams,
    limit: usize,
    dst: &mut Vec<u8>,
    encoded: &mut [u8],
) -> bool {
    let max_len = limit.saturating_sub(dst.len() + 4);
    if max_len == 0 {
        return false;
    }
    let content = match streams.encode(stream, encoded, max_len) {
        Some(n) if n < stream.len() => &encoded[..n],
        _ if stream.len() <= max_len => stream,
        _ => return false,
    };
    dst.extend_from_slice(&(content.len() as u32).to_le_bytes());
    dst.extend_from_slice(content);
    true
}

#[cfg(test)]
mod tests;
