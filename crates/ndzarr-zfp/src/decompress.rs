//! Decompresses zfp streams, with memory in proportion to their size.

use crate::stream::Stream;
use crate::{Error, Mode, Scalar, Shape};

/// The content of a stream's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed {
    /// The type of the elements.
    pub scalar: Scalar,
    /// The shape of the array.
    pub shape: Shape,
}

/// Size of the longest header in bytes, in whole words, and of the next word, which zfp may read.
const HEADER_BYTES: usize = 32;
/// Bits of a block besides its bit planes: flags for empty and reversible blocks, the exponent, the
/// precision.
const BLOCK_HEADER_BITS: usize = 64;
/// Bytes that zfp may read after the last bit that it uses.
const READ_AHEAD_BYTES: usize = 32;

/// Reads the header of a stream. Its shape has no more blocks than the stream has bits, so that
/// memory for the elements is in proportion to the stream.
///
/// # Errors
/// There is no header; the stream is too short for the shape.
pub fn header(src: &[u8]) -> Result<Framed, Error> {
    let mut start = [0; HEADER_BYTES / 8];
    fill(
        &mut start,
        &src[..src.len().min(HEADER_BYTES)],
        u64::from_le_bytes,
    );
    let mut stream = Stream::open(&mut start)?;
    let (scalar, shape, bits) = stream.read_header().ok_or(Error::Header)?;
    let available = src.len().saturating_mul(8);
    if bits > available {
        return Err(Error::Header);
    }
    let min_bits = shape
        .n_blocks()
        .saturating_mul(stream.minbits().max(1) as usize);
    if min_bits > available {
        return Err(Error::Truncated);
    }
    Ok(Framed { scalar, shape })
}

/// Decodes a stream with a header to exactly `out.len()` bytes, in C order and native byte order.
///
/// # Errors
/// The stream is invalid or truncated, or decodes to another size.
pub fn decompress_framed(src: &[u8], out: &mut [u8]) -> Result<(), Error> {
    let Framed { scalar, shape } = header(src)?;
    decode_padded(src, scalar, shape, None, out)
}

/// Decodes a stream without a header to exactly `out.len()` bytes, in C order and native byte
/// order.
///
/// # Errors
/// The stream is invalid or truncated; the shape has another size; zfp does not accept the
/// parameters.
pub fn decompress(
    src: &[u8],
    scalar: Scalar,
    shape: Shape,
    mode: Mode,
    out: &mut [u8],
) -> Result<(), Error> {
    decode_padded(src, scalar, shape, Some(mode), out)
}

/// Decodes a copy of the stream, padded with zeros as far as zfp can read. `mode` is `None` for a
/// stream with a header.
fn decode_padded(
    src: &[u8],
    scalar: Scalar,
    shape: Shape,
    mode: Option<Mode>,
    out: &mut [u8],
) -> Result<(), Error> {
    let found = shape
        .n_elements()
        .and_then(|n| n.checked_mul(scalar.size()))
        .unwrap_or(usize::MAX);
    if found != out.len() {
        return Err(Error::Length {
            found,
            expected: out.len(),
        });
    }
    let n_blocks = shape.n_blocks();
    let minbits = {
        let mut start = [0; HEADER_BYTES / 8];
        fill(
            &mut start,
            &src[..src.len().min(HEADER_BYTES)],
            u64::from_le_bytes,
        );
        let mut stream = Stream::open(&mut start)?;
        prepare(&mut stream, scalar, shape, mode)?;
        stream.minbits() as usize
    };
    let min_bytes = n_blocks.checked_mul(minbits).map(|bits| bits / 8);
    if min_bytes.is_none_or(|bytes| bytes > src.len()) {
        return Err(Error::Truncated);
    }
    // A bit plane has a bit for each element and the ends of runs among them; an element's first
    // one bit costs one more.
    let block_elements = 1usize << (2 * shape.ndim());
    let planes = 8 * scalar.size();
    let max_bits = planes * (block_elements + 1) + 2 * block_elements + BLOCK_HEADER_BITS;
    let readable = n_blocks
        .checked_mul(max_bits.max(minbits))
        .map(|bits| bits / 8)
        .and_then(|bytes| bytes.checked_add(HEADER_BYTES + READ_AHEAD_BYTES))
        .ok_or(Error::OutOfMemory {
            byte_len: usize::MAX,
        })?;
    let mut memory = zeroed(readable.max(src.len().saturating_add(READ_AHEAD_BYTES)))?;
    fill(&mut memory, src, u64::from_le_bytes);
    let mut elements = zeroed(out.len())?;
    let read = {
        let mut stream = Stream::open(&mut memory)?;
        prepare(&mut stream, scalar, shape, mode)?;
        stream.decompress(scalar, shape, &mut elements)?
    };
    // zfp ends streams with whole words, of 64 bits unless it was built differently.
    if read > src.len() {
        return Err(Error::Truncated);
    }
    for (out, word) in out.chunks_mut(8).zip(&elements) {
        out.copy_from_slice(&word.to_ne_bytes()[..out.len()]);
    }
    Ok(())
}

/// Positions a stream before its first block.
fn prepare(
    stream: &mut Stream<'_>,
    scalar: Scalar,
    shape: Shape,
    mode: Option<Mode>,
) -> Result<(), Error> {
    match mode {
        Some(mode) => stream.set_mode(mode, scalar, shape),
        None => stream.read_header().map(|_| ()).ok_or(Error::Header),
    }
}

/// Zeroed memory, aligned for words. The allocator provides its pages only when they are written
/// to.
pub(crate) fn zeroed(byte_len: usize) -> Result<Vec<u64>, Error> {
    let n = byte_len.div_ceil(8);
    let mut probe: Vec<u64> = Vec::new();
    // `vec!` aborts if there is no memory, so try to reserve it first.
    probe
        .try_reserve_exact(n)
        .map_err(|_| Error::OutOfMemory { byte_len })?;
    drop(probe);
    Ok(vec![0; n])
}

/// Bytes as words in memory order.
pub(crate) fn words_of(bytes: &[u8]) -> Result<Vec<u64>, Error> {
    let mut words = zeroed(bytes.len())?;
    fill(&mut words, bytes, u64::from_ne_bytes);
    Ok(words)
}

/// Copies bytes to words. The words of a stream are little endian, those of elements in memory
/// order.
fn fill(words: &mut [u64], bytes: &[u8], word_of: fn([u8; 8]) -> u64) {
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = word_of(whole);
    }
}
