//! Deflate (RFC 1951), bare or in zlib's container (RFC 1950), for many buffers whose decoded size
//! is known.
//!
//! libdeflate does most of the work, in one pass. Two parts are our own, both for noisy numbers,
//! which hardly repeat: an encoder for level 1, and a decoder of two streams at once. flate2
//! handles streams of unknown length, and builds without the feature `libdeflate`.
//!
//! ```
//! use ndzarr_deflate::{Container, Deflater, Inflater};
//!
//! let mut encoded = Vec::new();
//! Deflater::new().append(b"hello hello hello", 6, Container::Zlib, &mut encoded)?;
//! let mut decoded = [0; 17];
//! assert!(Inflater::new().fill(&encoded, Container::Zlib, &mut decoded) || !cfg!(feature = "libdeflate"));
//! # Ok::<(), ndzarr_deflate::DeflateError>(())
//! ```

#![forbid(unsafe_code)]

mod deflate;
mod error;
#[cfg(feature = "libdeflate")]
mod huffman;
mod inflate;
#[cfg(feature = "libdeflate")]
mod quick_deflate;
#[cfg(feature = "libdeflate")]
mod symbols;
#[cfg(feature = "libdeflate")]
mod twin_inflate;

#[cfg(all(test, feature = "libdeflate"))]
mod noisy;
#[cfg(test)]
mod tests;

pub use deflate::Deflater;
pub use error::DeflateError;
pub use inflate::{InflateError, Inflater, Output};

/// The container of a deflate stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// None.
    Raw,
    /// The header and the Adler-32 of RFC 1950.
    Zlib,
}

/// The CRC-32 of RFC 1952.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    #[cfg(feature = "libdeflate")]
    return libdeflater::crc32(bytes);
    #[cfg(not(feature = "libdeflate"))]
    {
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        crc.sum()
    }
}
