//! Chunks of c-blosc 1: safe calls of it, and an encoder of the common ones.
//!
//! A chunk is checked in full before c-blosc sees it: header, block offsets, stream lengths,
//! whether the streams can decode to what is said of them, and the streams whose decoders do not
//! check enough by themselves. Nothing here uses c-blosc's global state or its threads.
//!
//! Some blocks alone are decoded as a chunk that is made of them, and checked as one.
//!
//! Chunks of lz4 whose elements of less than 16 bytes are shuffled byte by byte, or not shuffled,
//! are made without c-blosc, in less time and with the same bytes: the crate `blosc-src` compiles
//! its shuffle for AVX2 only where the whole program is.
//!
//! Streams of snappy are encoded and decoded by the crate `snap`: c-blosc would need a C++ compiler
//! for them.
//!
//! The only unsafe code is behind [`compress()`] and [`decompress()`], one foreign call each, and
//! the call of the vectors that shuffle elements of 4 and 8 bytes.

mod blosclz;
mod c_blosc;
mod compress;
mod decompress;
mod encode_blocks;
mod error;
mod header;
mod parameters;
mod parts;
mod shuffle;
mod snappy;
mod streams;
mod validate;
mod zstd_frame;

pub use compress::{block_len, compress, compress_blocks};
pub use decompress::{Chunk, decompress};
pub use error::Error;
pub use header::{Header, StreamFormat};
pub use parameters::{Blocks, Compress, Compressor, Shuffle};
pub use parts::decompress_parts;

fn reserve(to: &mut Vec<u8>, byte_len: usize) -> Result<(), Error> {
    to.try_reserve(byte_len).map_err(|_| Error::OutOfMemory { byte_len })
}
