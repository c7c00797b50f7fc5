//! Checks and decompresses blosc chunks.

use crate::header::HEADER_LEN;
use crate::validate::validate;
use crate::{Error, Header, decode_blocks};

/// A chunk whose header and streams were checked, so that its decoded size is plausible.
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
    /// Checks the header, the offsets of the blocks, and the lengths of their streams. No stream
    /// states more content than its bytes can decode to, and the blocks share no bytes, so memory
    /// for [`nbytes`](Self::nbytes) is in proportion to the chunk. Bytes after the chunk's stated
    /// size are ignored.
    ///
    /// # Errors
    /// The chunk is malformed.
    pub fn parse(chunk: &'c [u8]) -> Result<Self, Error> {
        Self::of_blocks(chunk, 0)
    }

    /// Checks a chunk as [`parse`](Self::parse) does. Errors number the blocks from `first_block`.
    pub(crate) fn of_blocks(bytes: &'c [u8], first_block: usize) -> Result<Self, Error> {
        let header = Header::parse(bytes)?;
        if !header.is_stored() {
            validate(bytes, &header, first_block)?;
        }
        Ok(Self {
            bytes,
            header,
            first_block,
        })
    }

    /// The decoded size in bytes.
    #[must_use]
    pub fn nbytes(&self) -> usize {
        self.header.nbytes()
    }

    /// Decodes the chunk into `out`, which has [`nbytes`](Self::nbytes) bytes.
    ///
    /// # Errors
    /// `out` has another length; a stream is corrupt. The content of `out` is then unspecified.
    pub fn decompress(&self, out: &mut [u8]) -> Result<(), Error> {
        let Self {
            bytes,
            header,
            first_block,
        } = self;
        if header.nbytes() != out.len() {
            return Err(Error::Length {
                found: header.nbytes(),
                expected: out.len(),
            });
        }
        if header.is_stored() {
            out.copy_from_slice(&bytes[HEADER_LEN..HEADER_LEN + out.len()]);
            return Ok(());
        }
        #[cfg(not(target_family = "wasm"))]
        if !decode_blocks::is_needed_for(header) {
            return crate::c_blosc::decompress(bytes, out);
        }
        decode_blocks::decompress(bytes, header, *first_block, out)
    }
}

/// Decodes a chunk into `out`, which has exactly the length that the header states. Bytes of
/// `chunk` after its stated size are ignored.
///
/// # Errors
/// `out` has another length; the chunk is incomplete or corrupt. The content of `out` is then
/// unspecified.
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
        return Err(Error::Length {
            found: header.nbytes(),
            expected: out.len(),
        });
    }
    Chunk::parse(chunk)?.decompress(out)
}
