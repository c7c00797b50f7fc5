//! Chunks of c-blosc 1: safe calls to it, and an encoder for the common ones.
//!
//! A chunk is checked in full before c-blosc sees it: the header, block offsets, stream lengths,
//! that the streams can decode to their stated sizes, and the content of streams whose decoders
//! do not check enough themselves. Nothing here uses c-blosc's global state or its threads.
//!
//! To decode only some blocks, a chunk is made of them and checked like any other.
//!
//! Chunks of lz4 are made without c-blosc if the elements have less than 16 bytes and are shuffled
//! by byte or not at all. This is faster and gives the same bytes: the crate `blosc-src` compiles
//! its shuffle for AVX2 only if the whole program is.
//!
//! The crate `snap` encodes and decodes streams of snappy: c-blosc would need a C++ compiler for
//! them.
//!
//! In WebAssembly, without C, chunks are decoded in Rust, and only those of snappy are made.
//!
//! The only unsafe code is in [`compress()`] and [`decompress()`], one foreign call each, and in
//! the call to the vector code that shuffles elements of 4 and 8 bytes.

#[cfg(not(target_family = "wasm"))]
mod c_blosc;
mod compress;
mod decode_blocks;
mod decompress;
mod encode_blocks;
mod error;
mod header;
#[cfg(any(test, target_family = "wasm"))]
mod in_rust;
mod parameters;
mod parts;
mod shuffle;
mod streams;
mod validate;

pub use compress::{block_len, compress, compress_blocks};
pub use decompress::{Chunk, decompress};
pub use error::Error;
pub use header::{Header, StreamFormat};
pub use parameters::{Blocks, Compress, Compressor, Shuffle};
pub use parts::decompress_parts;

fn reserve(to: &mut Vec<u8>, byte_len: usize) -> Result<(), Error> {
    to.try_reserve(byte_len)
        .map_err(|_| Error::OutOfMemory { byte_len })
}
