//! Safe calls of c-blosc 1.
//!
//! A chunk is checked in full before c-blosc sees it: header, block offsets, stream lengths, and the streams whose decoders
//! do not check enough by themselves. Nothing here uses c-blosc's global state or its threads.
//!
//! Some blocks alone are decoded as a chunk that is made of them, and checked as one.
//!
//! The only unsafe code is behind [`compress()`] and [`decompress()`]: one foreign call each.

mod blosclz;
mod compress;
mod decompress;
mod error;
mod header;
mod parts;
mod validate;
mod zstd_frame;

pub use compress::{Compress, Compressor, Shuffle, compress};
pub use decompress::decompress;
pub use error::Error;
pub use header::{Header, StreamFormat};
pub use parts::decompress_parts;
