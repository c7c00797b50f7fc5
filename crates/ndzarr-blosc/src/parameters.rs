//! The input and parameters of compression: content, compressor, level, shuffle.

#[cfg(not(target_family = "wasm"))]
use std::ffi::CStr;
use std::ops::Range;

/// Parameters of compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compress {
    /// The compressor of the blocks.
    pub compressor: Compressor,
    /// 0 (stored) to 9.
    pub level: u8,
    /// How the bytes of elements are reordered first.
    pub shuffle: Shuffle,
    /// Size of an element in bytes, 1 to 255.
    pub typesize: usize,
    /// Size of a block in bytes; 0 lets c-blosc choose.
    pub blocksize: usize,
}

/// lz4 at level 5, byte shuffle with elements of one byte.
impl Default for Compress {
    fn default() -> Self {
        Self {
            compressor: Compressor::Lz4,
            level: 5,
            shuffle: Shuffle::Byte,
            typesize: 1,
            blocksize: 0,
        }
    }
}

/// A compressor of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Compressor {
    BloscLz,
    Lz4,
    Lz4hc,
    Snappy,
    Zlib,
    Zstd,
}

#[cfg(not(target_family = "wasm"))]
impl Compressor {
    pub(crate) fn name(self) -> &'static CStr {
        match self {
            Self::BloscLz => c"blosclz",
            Self::Lz4 => c"lz4",
            Self::Lz4hc => c"lz4hc",
            Self::Snappy => c"snappy",
            Self::Zlib => c"zlib",
            Self::Zstd => c"zstd",
        }
    }
}

/// How the bytes of elements are reordered before compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shuffle {
    /// Not reordered.
    None,
    /// All first bytes, all second bytes …
    Byte,
    /// All first bits, all second bits …
    Bit,
}

/// The content of a chunk to be encoded.
pub trait Blocks {
    /// The bytes in a range. Blocks are requested in order, and once more from the start if they
    /// turn out to be stored.
    fn block(&mut self, range: Range<usize>) -> &[u8];
}

impl Blocks for &[u8] {
    fn block(&mut self, range: Range<usize>) -> &[u8] {
        &self[range]
    }
}
