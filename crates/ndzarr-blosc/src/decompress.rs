use std::ffi::c_void;

use crate::error::corrupt;
use crate::header::HEADER_LEN;
use crate::validate::validate;
use crate::{Error, Header, StreamFormat};

/// Blocks from this size on, in bytes, are decoded only after a look whether there is memory for them.
const LARGE_BLOCK: usize = 4 << 20;

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
    decompress_blocks(chunk, 0, out)
}

/// As [`decompress()`]. In errors the first block has the number `first_block`.
pub(crate) fn decompress_blocks(chunk: &[u8], first_block: usize, out: &mut [u8]) -> Result<(), Error> {
    let header = Header::parse(chunk)?;
    if header.nbytes() != out.len() {
        return Err(Error::Length { found: header.nbytes(), expected: out.len() });
    }
    if header.is_stored() {
        out.copy_from_slice(&chunk[HEADER_LEN..HEADER_LEN + out.len()]);
        return Ok(());
    }
    if cfg!(not(feature = "snappy")) && header.format() == StreamFormat::Snappy {
        return Err(Error::NoSnappy);
    }
    validate(chunk, &header, first_block)?;
    look_for_memory(&header)?;
    // SAFETY: `blosc_decompress_ctx` with one thread uses neither global state nor threads. It reads `cbytes` bytes from
    // `chunk` at most, which `Header::parse` found to be in the slice, and begins with the header that was checked there.
    // It writes `nbytes` bytes to `out` at most, which are just its length. `validate` found every offset and length that
    // it follows to be inside the chunk, and every stream to be of a decoder that checks its bounds, or checked it in full
    // (blosclz). The two slices do not overlap, as one of them is a `&mut`.
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
