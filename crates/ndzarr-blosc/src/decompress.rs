//! Checks and decompresses blosc chunks.

use std::ffi::c_void;

use crate::error::corrupt;
use crate::header::HEADER_LEN;
use crate::validate::validate;
use crate::{Error, Header, StreamFormat, snappy};

/// Blocks from this size on, in bytes, are decoded only after a look whether there is memory for them.
const LARGE_BLOCK: usize = 4 << 20;

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
    /// Checks the header, where the blocks are, and how long their streams are. None of them states more content than
    /// its bytes can decode to, and the blocks share no bytes: memory for [`nbytes`](Self::nbytes) is in proportion to
    /// the chunk. Bytes behind the chunk's stated size are ignored.
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
            _ => decompress_by_c_blosc(bytes, out),
        }
    }
}

/// Decodes a chunk into `out`, which has just the length that the header states. Bytes of `chunk` behind its stated size
/// are ignored.
///
/// # Errors
/// Another length of `out`; a chunk that is not whole and right. What `out` holds then is not defined.
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

/// Decodes a chunk that was checked, is not stored and whose streams are not of snappy, to as many bytes as its header
/// states.
pub(crate) fn decompress_by_c_blosc(chunk: &[u8], out: &mut [u8]) -> Result<(), Error> {
    look_for_memory(&Header::parse(chunk)?)?;
    // SAFETY: `blosc_decompress_ctx` with one thread uses neither global state nor threads. It reads `cbytes` bytes from
    // `chunk` at most, which `Header::parse` found to be in the slice, and begins with the header that was checked there.
    // It writes `nbytes` bytes to `out` at most, and refuses an `out` that is shorter. `validate` found every offset and
    // length that it follows to be inside the chunk, and every stream to be of a decoder that checks its bounds, or
    // checked it in full (blosclz); the chunks of `snappy::decompress` are made to be like that. The two slices do not
    // overlap, as one of them is a `&mut`.
    let n = unsafe {
        blosc_src::blosc_decompress_ctx(
            chunk.as_ptr().cast::<c_void>(),
            out.as_mut_ptr().cast::<c_void>(),
            out.len(),
            1,
        )
    };
    if usize::try_from(n) != Ok(out.len()) {
        return Err(corrupt("a stream does not decode to its length"));
    }
    Ok(())
}

/// c-blosc does not check that it got the scratch memory of a block. A small one is always there; for a large one it is
/// asked for first, which costs no pass over it.
fn look_for_memory(header: &Header) -> Result<(), Error> {
    let blocksize = header.blocksize();
    if blocksize < LARGE_BLOCK {
        return Ok(());
    }
    let byte_len = 2 * blocksize + 4 * header.typesize() + 64;
    let mut scratch = Vec::<u8>::new();
    scratch.try_reserve_exact(byte_len).map_err(|_| Error::OutOfMemory { byte_len })?;
    // Or the allocator could see that nothing is ever done with it.
    std::hint::black_box(&mut scratch);
    Ok(())
}
