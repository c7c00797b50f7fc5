//! The call of c-blosc that decompresses.

use std::ffi::c_void;

use crate::error::corrupt;
use crate::{Error, Header};

/// Blocks from this size on, in bytes, are decoded only after a look whether there is memory for
/// them.
const LARGE_BLOCK: usize = 4 << 20;

/// Decodes a chunk that was checked, is not stored and whose streams are not of snappy, to as many
/// bytes as its header states.
pub(crate) fn decompress(chunk: &[u8], out: &mut [u8]) -> Result<(), Error> {
    look_for_memory(&Header::parse(chunk)?)?;
    // SAFETY: `blosc_decompress_ctx` with one thread uses neither global state nor threads. It
    // reads `cbytes` bytes from `chunk` at most, which `Header::parse` found to be in the slice,
    // and begins with the header that was checked there. It writes `nbytes` bytes to `out` at most,
    // and refuses an `out` that is shorter. `validate` found every offset and length that it
    // follows to be inside the chunk, and every stream to be of a decoder that checks its bounds,
    // or checked it in full (blosclz); the chunks of `snappy::decompress` are made to be like that.
    // The two slices do not overlap, as one of them is a `&mut`.
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

/// c-blosc does not check that it got the scratch memory of a block. A small one is always there;
/// for a large one it is asked for first, which costs no pass over it.
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
