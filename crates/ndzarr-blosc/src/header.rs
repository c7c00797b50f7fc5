//! Reads, checks and writes the header of a blosc chunk.

use std::ops::Range;

use crate::Error;
use crate::error::corrupt;
use crate::parameters::{Compress, Compressor, Shuffle};

/// Size of the header in bytes.
pub(crate) const HEADER_LEN: usize = 16;
/// c-blosc's greatest block size in bytes: the sizes of its scratch memory are `int`s.
pub(crate) const MAX_BLOCKSIZE: usize = (i32::MAX as usize - 255 * 4) / 3;
/// The only version of the chunk format.
const VERSION: u8 = 2;
/// The only version of each compressor's format.
const COMPRESSOR_VERSION: u8 = 1;

/// The shortest content that is compressed, and the smallest block that can be requested, in bytes.
pub(crate) const MIN_CONTENT: usize = 128;

const SHUFFLED: u8 = 0x01;
const STORED: u8 = 0x02;
const RESERVED: u8 = 0x08;
const BITSHUFFLED: u8 = 0x04;
const NOT_SPLIT: u8 = 0x10;
const LZ4: u8 = 1 << 5;
const SNAPPY: u8 = 2 << 5;
/// Blocks with smaller streams than this are not split, in bytes.
const MIN_SPLIT: usize = 128;
/// Blocks with larger elements than this are not split, in bytes.
const MAX_SPLIT_TYPESIZE: usize = 16;

/// The header of a chunk, checked by itself and against the size of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    flags: u8,
    typesize: u8,
    nbytes: usize,
    blocksize: usize,
    cbytes: usize,
}

/// How the streams of a chunk are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum StreamFormat {
    BloscLz,
    /// For lz4 and lz4hc.
    Lz4,
    Snappy,
    Zlib,
    Zstd,
}

impl Header {
    /// Reads and checks the header of a chunk, as far as is possible without the blocks. Bytes of
    /// `chunk` after its stated size are ignored.
    ///
    /// # Errors
    /// The header is malformed.
    ///
    /// ```
    /// let header = ndzarr_blosc::Header::parse(&[2, 1, 0x33, 1, 2, 0, 0, 0, 2, 0, 0, 0, 18, 0, 0, 0, 7, 8])?;
    /// assert_eq!(header.nbytes(), 2);
    /// assert!(header.is_stored());
    /// # Ok::<_, ndzarr_blosc::Error>(())
    /// ```
    pub fn parse(chunk: &[u8]) -> Result<Self, Error> {
        let Some(
            &[
                version,
                compressor_version,
                flags,
                typesize,
                n0,
                n1,
                n2,
                n3,
                b0,
                b1,
                b2,
                b3,
                c0,
                c1,
                c2,
                c3,
            ],
        ) = chunk.first_chunk::<HEADER_LEN>()
        else {
            return Err(corrupt(format!(
                "{} bytes are too few for the header",
                chunk.len()
            )));
        };
        if version != VERSION {
            return Err(Error::Version { version });
        }
        if compressor_version != COMPRESSOR_VERSION {
            return Err(corrupt(format!(
                "unknown version {compressor_version} of the compressor's format"
            )));
        }
        let header = Self {
            flags,
            typesize,
            nbytes: length("nbytes", [n0, n1, n2, n3])?,
            blocksize: length("blocksize", [b0, b1, b2, b3])?,
            cbytes: length("cbytes", [c0, c1, c2, c3])?,
        };
        header.check(chunk.len())?;
        Ok(header)
    }

    fn check(&self, chunk_len: usize) -> Result<(), Error> {
        let Self {
            flags,
            typesize,
            nbytes,
            blocksize,
            cbytes,
        } = *self;
        if flags & RESERVED != 0 || flags >> 5 > 4 {
            return Err(corrupt(format!("unknown flags {flags:#04x}")));
        }
        if typesize == 0 || blocksize == 0 {
            return Err(corrupt("a typesize or blocksize of 0"));
        }
        if cbytes < HEADER_LEN || cbytes > chunk_len {
            return Err(corrupt(format!(
                "states {cbytes} bytes, but the value has {chunk_len}"
            )));
        }
        if self.is_stored() {
            if cbytes - HEADER_LEN < nbytes {
                return Err(corrupt(format!(
                    "{cbytes} bytes do not hold {nbytes} stored ones"
                )));
            }
            return Ok(());
        }
        if blocksize > nbytes || blocksize > MAX_BLOCKSIZE {
            return Err(corrupt(format!(
                "a blocksize of {blocksize} for {nbytes} bytes"
            )));
        }
        if self.n_blocks() > (cbytes - HEADER_LEN) / 4 {
            return Err(corrupt(format!(
                "{cbytes} bytes are too few for {} block starts",
                self.n_blocks()
            )));
        }
        Ok(())
    }

    /// The decoded size in bytes.
    #[must_use]
    pub fn nbytes(&self) -> usize {
        self.nbytes
    }

    /// Size of the chunk in bytes, with the header.
    #[must_use]
    pub fn cbytes(&self) -> usize {
        self.cbytes
    }

    /// Size of a block's content in bytes; the last may have fewer.
    #[must_use]
    pub fn blocksize(&self) -> usize {
        self.blocksize
    }

    /// Size in bytes of the elements that were shuffled.
    #[must_use]
    pub fn typesize(&self) -> usize {
        usize::from(self.typesize)
    }

    /// True if the content follows the header uncompressed.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.flags & STORED != 0
    }

    /// How the streams are compressed.
    #[must_use]
    pub fn format(&self) -> StreamFormat {
        match self.flags >> 5 {
            0 => StreamFormat::BloscLz,
            1 => StreamFormat::Lz4,
            2 => StreamFormat::Snappy,
            3 => StreamFormat::Zlib,
            // Greater values were refused when the header was read.
            _ => StreamFormat::Zstd,
        }
    }

    pub(crate) fn n_blocks(&self) -> usize {
        self.nbytes.div_ceil(self.blocksize)
    }

    /// The header of a chunk of lz4 or snappy whose size is not known yet.
    pub(crate) fn new(nbytes: usize, blocksize: usize, parameters: &Compress) -> Self {
        let &Compress {
            compressor,
            level,
            shuffle,
            typesize,
            ..
        } = parameters;
        let mut flags = if compressor == Compressor::Snappy {
            SNAPPY
        } else {
            LZ4
        };
        flags |= match shuffle {
            Shuffle::None => 0,
            Shuffle::Byte => SHUFFLED,
            Shuffle::Bit => BITSHUFFLED,
        };
        if level == 0 || nbytes < MIN_CONTENT {
            flags |= STORED;
        }
        if !is_split(typesize, blocksize) {
            flags |= NOT_SPLIT;
        }
        // At most 255, as checked before.
        Self {
            flags,
            typesize: typesize as u8,
            nbytes,
            blocksize,
            cbytes: 0,
        }
    }

    /// The header for the same content, stored uncompressed.
    pub(crate) fn stored(self) -> Self {
        Self {
            flags: self.flags | STORED,
            ..self
        }
    }

    /// The header of a few neighbouring blocks.
    pub(crate) fn of_blocks(&self, blocks: &Range<usize>) -> Self {
        let nbytes = (blocks.end * self.blocksize).min(self.nbytes) - blocks.start * self.blocksize;
        // The last block is shorter and never split. As the only block of a chunk it would be taken
        // for one of the full size.
        let (blocksize, split) = if nbytes < self.blocksize {
            (nbytes, NOT_SPLIT)
        } else {
            (self.blocksize, 0)
        };
        Self {
            flags: self.flags | split,
            nbytes,
            blocksize,
            ..*self
        }
    }

    /// How the bytes of the elements are reordered. If both flags are set, it is by byte, as in
    /// c-blosc.
    pub(crate) fn shuffle(&self) -> Shuffle {
        match self.flags {
            flags if flags & SHUFFLED != 0 && self.typesize > 1 => Shuffle::Byte,
            flags if flags & BITSHUFFLED != 0 => Shuffle::Bit,
            _ => Shuffle::None,
        }
    }

    /// Writes the header to the start of `chunk`, with the size of the chunk.
    pub(crate) fn write(&self, chunk: &mut [u8]) {
        // Each fits an `i32`, because it is the size of a chunk or of part of one.
        let lengths = [self.nbytes, self.blocksize, chunk.len()];
        chunk[..4].copy_from_slice(&[VERSION, COMPRESSOR_VERSION, self.flags, self.typesize]);
        for (field, len) in chunk[4..].as_chunks_mut::<4>().0.iter_mut().zip(lengths) {
            *field = (len as u32).to_le_bytes();
        }
    }

    /// The position of a block in the content, in bytes.
    pub(crate) fn range(&self, index: usize) -> Range<usize> {
        index * self.blocksize..((index + 1) * self.blocksize).min(self.nbytes)
    }

    /// The decoded size of a block in bytes, and its number of streams.
    pub(crate) fn block(&self, index: usize) -> (usize, usize) {
        let len = self.range(index).len();
        let typesize = self.typesize();
        let split = self.flags & NOT_SPLIT == 0
            && is_split(typesize, self.blocksize)
            && len == self.blocksize;
        (len, if split { typesize } else { 1 })
    }
}

/// True if whole blocks are split into a stream for each byte of an element, where the compressor
/// allows that.
pub(crate) fn is_split(typesize: usize, blocksize: usize) -> bool {
    typesize <= MAX_SPLIT_TYPESIZE && blocksize / typesize >= MIN_SPLIT
}

fn length(name: &str, bytes: [u8; 4]) -> Result<usize, Error> {
    let len = i32::from_le_bytes(bytes);
    usize::try_from(len).map_err(|_| corrupt(format!("{name} is {len}")))
}
