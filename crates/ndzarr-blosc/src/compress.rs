//! Compresses bytes into a blosc chunk.
#![allow(unsafe_code)]

#[cfg(not(target_family = "wasm"))]
use std::ffi::{c_int, c_void};

use crate::header::HEADER_LEN;
use crate::parameters::{Blocks, Compress};
use crate::{Error, encode_blocks};

/// Encodes `src` as one chunk, which replaces the content of `dst`.
///
/// # Errors
/// The parameters are out of range; the input has more than 2^31 - 17 bytes; the parameters need
/// c-blosc, in WebAssembly.
pub fn compress(src: &[u8], parameters: &Compress, dst: &mut Vec<u8>) -> Result<(), Error> {
    compress_blocks(src.len(), &mut &*src, parameters, dst, &mut Vec::new())
}

/// Encodes `nbytes` bytes as one chunk, which replaces the content of `dst`. The bytes are supplied
/// block by block, each of [`block_len`] bytes; the last may have fewer. `scratch` is memory for
/// reuse, up to two blocks of it; its content does not matter.
///
/// # Errors
/// The same as for [`compress()`].
///
/// ```
/// use ndzarr_blosc::{Compress, compress_blocks, decompress};
///
/// let mut chunk = Vec::new();
/// let mut scratch = Vec::new();
/// for content in [[7; 1000], [8; 1000]] {
///     compress_blocks(1000, &mut &content[..], &Compress::default(), &mut chunk, &mut scratch)?;
///     let mut out = [0; 1000];
///     decompress(&chunk, &mut out)?;
///     assert_eq!(out, content);
/// }
/// # Ok::<_, ndzarr_blosc::Error>(())
/// ```
pub fn compress_blocks(
    nbytes: usize,
    content: &mut dyn Blocks,
    parameters: &Compress,
    dst: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
) -> Result<(), Error> {
    check(nbytes, parameters)?;
    if encode_blocks::can_encode(parameters) {
        return encode_blocks::compress(nbytes, content, parameters, dst, scratch);
    }
    compress_by_c_blosc(content.block(0..nbytes), parameters, dst)
}

/// The number of bytes that [`compress_blocks`] requests at a time: fewer than all if it does not
/// call c-blosc.
#[must_use]
pub fn block_len(nbytes: usize, parameters: &Compress) -> usize {
    if check(nbytes, parameters).is_ok() && encode_blocks::can_encode(parameters) {
        encode_blocks::blocksize(nbytes, parameters)
    } else {
        nbytes
    }
}

fn check(nbytes: usize, parameters: &Compress) -> Result<(), Error> {
    let Compress {
        level, typesize, ..
    } = *parameters;
    let input = |what: String| Err(Error::Input(what));
    if level > 9 {
        return input(format!("level {level} is not within 0 to 9"));
    }
    if !(1..=255).contains(&typesize) {
        return input(format!("typesize {typesize} is not within 1 to 255"));
    }
    if nbytes > i32::MAX as usize - HEADER_LEN {
        return input(format!("{nbytes} bytes are too many for one chunk"));
    }
    Ok(())
}

/// Refuses checked input.
#[cfg(target_family = "wasm")]
fn compress_by_c_blosc(_: &[u8], parameters: &Compress, _: &mut Vec<u8>) -> Result<(), Error> {
    let compressor = parameters.compressor;
    Err(Error::Input(format!(
        "this build, without C, only decodes {compressor:?}"
    )))
}

/// Encodes checked input.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn compress_by_c_blosc(
    src: &[u8],
    parameters: &Compress,
    dst: &mut Vec<u8>,
) -> Result<(), Error> {
    use crate::parameters::Shuffle;

    let Compress {
        compressor,
        level,
        shuffle,
        typesize,
        blocksize,
    } = *parameters;
    let byte_len = src.len() + HEADER_LEN;
    dst.clear();
    crate::reserve(dst, byte_len)?;
    let shuffle = match shuffle {
        Shuffle::None => 0,
        Shuffle::Byte => 1,
        Shuffle::Bit => 2,
    };
    // SAFETY: `blosc_compress_ctx` with one thread reads no global state except the split mode,
    // which nothing here sets. It reads `src.len()` bytes from `src`, and writes at most `byte_len`
    // bytes to `dst`, which are reserved; the slices do not overlap, because `dst` is a `&mut`. The
    // compressor's name ends with a zero. Level, typesize and sizes are within the ranges that
    // c-blosc requires, and the size of the input and of a block fit its `int`s.
    let n = unsafe {
        blosc_src::blosc_compress_ctx(
            c_int::from(level),
            shuffle,
            typesize,
            src.len(),
            src.as_ptr().cast::<c_void>(),
            dst.as_mut_ptr().cast::<c_void>(),
            byte_len,
            compressor.name().as_ptr(),
            blocksize.min(crate::header::MAX_BLOCKSIZE),
            1,
        )
    };
    let n = match usize::try_from(n) {
        Ok(n) if n >= HEADER_LEN && n <= byte_len => n,
        _ => return Err(Error::Input(format!("c-blosc fails with {n}"))),
    };
    // SAFETY: c-blosc has written the first `n` bytes, and they are within the capacity.
    unsafe { dst.set_len(n) };
    Ok(())
}
