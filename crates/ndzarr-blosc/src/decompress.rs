//! Checks and decompresses blosc chunks.

use crate::header::HEADER_LEN;
use crate::validate::validate;
use crate::{Error, Header, StreamFormat, c_blosc, snappy};

/// A chunk that was checked before it is decoded, so that its size is one that it may have.
///
/// ```
/// let mut chunk = Vec::new();
/// ndzarr_blosc::compress(&[7; 1000], &ndzarr_blosc::Compress::default(), &mut chunk)?;
/// let chunk = ndzarr_blosc::Chunk::parse(&chunk)?;
/// let mut out = vec![0; chunk.nbytes()];
/// chunk.decompress(&mut out)?;
/// assert_eq!(out, [7; 1000]);
/// # Ok::<_, ndzarr_blosc::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'c> {
    bytes: &'c [u8],
    header: Header,
    first_block: usize,
}

impl<'c> Chunk<'c> {
    /// Checks the header, where the blocks are, and how long their streams are. None of them states
    /// more content than its bytes can decode to, and the blocks share no bytes: memory for
    /// [`nbytes`](Self::nbytes) is in proportion to the chunk. Bytes behind the chunk's stated size
    /// are ignored.
    ///
    /// # Errors
    /// What is wrong with the chunk.
    pub fn parse(chunk: &'c [u8]) -> Result<Self, Error> {
        Self::of_blocks(chunk, 0)
    }

    /// As [`parse`](Self::parse). In errors the first block has the number `first_block`.
    pub(crate) fn of_blocks(bytes: &'c [u8], first_block: usize) -> Result<Self, Error> {
        let header = Header::parse(bytes)?;
        if !header.is_stored() {
            validate(bytes, &header, first_block)?;
        }
        Ok(Self { bytes, header, first_block })
    }

    /// How many bytes the chunk decodes to.
    #[must_use]
    pub fn nbytes(&self) -> usize {
        self.header.nbytes()
    }

    /// Decodes the chunk into `out`, which has [`nbytes`](Self::nbytes) bytes.
    ///
    /// # Errors
    /// Another length of `out`; a stream that is corrupt. What `out` holds then is not defined.
    pub fn decompress(&self, out: &mut [u8]) -> Result<(), Error> {
        let Self { bytes, header, first_block } = self;
        if header.nbytes() != out.len() {
            return Err(Error::Length { found: header.nbytes(), expected: out.len() });
        }
        if header.is_stored() {
            out.copy_from_slice(&bytes[HEADER_LEN..HEADER_LEN + out.len()]);
            return Ok(());
        }
        match header.format() {
            StreamFormat::Snappy => snappy::decompress(bytes, header, *first_block, out),
            _ => c_blosc::decompress(bytes, out),
        }
    }
}

/// Decodes a chunk into `out`, which has just the length that the header states. Bytes of `chunk`
/// behind its stated size are ignored.
///
/// # Errors
/// Another length of `out`; a chunk that is not whole and right. What `out` holds then is not
/// defined.
///
/// ```
/// let mut chunk = Vec::new();
/// ndzarr_blosc::compress(&[7; 1000], &ndzarr_blosc::Compress::default(), &mut chunk)?;
/// let mut out = [0; 1000];
/// ndzarr_blosc::decompress(&chunk, &mut out)?;
/// assert_eq!(out, [7; 1000]);
/// # Ok::<_, ndzarr_blosc::Error>(())
/// ```
pub fn decompress(chunk: &[u8], out: &mut [u8]) -> Result<(), Error> {
    let header = Header::parse(chunk)?;
    if header.nbytes() != out.len() {
        return Err(Error::Length { found: header.nbytes(), expected: out.len() });
    }
    Chunk::parse(chunk)?.decompress(out)
}
