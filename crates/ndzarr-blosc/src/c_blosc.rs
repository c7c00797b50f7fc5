//! Calls c-blosc's decompressor.
#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::error::corrupt;
use crate::{Error, Header};

/// Blocks of at least this many bytes are decoded only after a check that memory for them is
/// available.
const LARGE_BLOCK: usize = 4 << 20;

/// Decodes a checked chunk, neither stored nor with snappy streams, to the number of bytes that its
/// header states.
pub(crate) fn decompress(chunk: &[u8], out: &mut [u8]) -> Result<(), Error> {
    check_memory_for_scratch(&Header::parse(chunk)?)?;
    // SAFETY: `blosc_decompress_ctx` with one thread uses neither global state nor threads. It
    // reads at most `cbytes` bytes from `chunk`, which `Header::parse` found to be in the slice,
    // and begins with the header that was checked there. It writes at most `nbytes` bytes to `out`,
    // and refuses an `out` that is shorter. `validate` found every offset and length that it
    // follows to be inside the chunk, and every stream to be for a decoder that checks its bounds,
    // or checked the stream in full (blosclz). The two slices do not overlap, because one of them
    // is a `&mut`.
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

/// c-blosc does not check that it got the scratch memory of a block. That of a small block is
/// always available; that of a large one is requested here first, without writing to it.
fn check_memory_for_scratch(header: &Header) -> Result<(), Error> {
    let blocksize = header.blocksize();
    if blocksize < LARGE_BLOCK {
        return Ok(());
    }
    let byte_len = 2 * blocksize + 4 * header.typesize() + 64;
    let mut scratch = Vec::<u8>::new();
    scratch
        .try_reserve_exact(byte_len)
        .map_err(|_| Error::OutOfMemory { byte_len })?;
    // Otherwise the compiler could remove the unused allocation.
    std::hint::black_box(&mut scratch);
    Ok(())
}
