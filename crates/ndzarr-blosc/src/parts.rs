//! Decodes some blocks of a chunk without the others.

use std::ops::Range;

use crate::decompress::{Chunk, decompress};
use crate::header::HEADER_LEN;
use crate::streams::{block_start, encoded_block};
use crate::{Error, Header, reserve};

/// Decodes the blocks that contain `parts` of a chunk's content, each to its place in `out`, which
/// has exactly the length that the header states. The rest of `out` is unspecified. `parts` are in
/// bytes and best in ascending order; `scratch` is memory for reuse.
///
/// The header and the offsets of all blocks are checked; damage within a block that is not decoded
/// goes undetected.
///
/// # Errors
/// The errors of [`decompress()`]; parts are outside the content.
///
/// ```
/// use ndzarr_blosc::{Compress, compress, decompress_parts};
///
/// let content: Vec<u8> = (0..=255).cycle().take(4096).collect();
/// let mut chunk = Vec::new();
/// compress(&content, &Compress { blocksize: 512, ..Compress::default() }, &mut chunk)?;
/// let mut out = [0; 4096];
/// decompress_parts(&chunk, &[600..700, 4000..4001], &mut out, &mut Vec::new())?;
/// assert_eq!(out[600..700], content[600..700]);
/// assert_eq!(out[4000], content[4000]);
/// # Ok::<_, ndzarr_blosc::Error>(())
/// ```
pub fn decompress_parts(
    chunk: &[u8],
    parts: &[Range<usize>],
    out: &mut [u8],
    scratch: &mut Vec<u8>,
) -> Result<(), Error> {
    let header = Header::parse(chunk)?;
    if header.nbytes() != out.len() {
        return Err(Error::Length {
            found: header.nbytes(),
            expected: out.len(),
        });
    }
    if let Some(part) = parts
        .iter()
        .find(|part| part.start > part.end || part.end > out.len())
    {
        return Err(Error::Input(format!(
            "a part {part:?} of {} bytes",
            out.len()
        )));
    }
    if header.is_stored() {
        for part in parts {
            out[part.clone()].copy_from_slice(&chunk[HEADER_LEN..][part.clone()]);
        }
        return Ok(());
    }
    for index in 0..header.n_blocks() {
        block_start(chunk, &header, index)?;
    }
    let blocksize = header.blocksize();
    // Blocks that share no bytes have no more than this together.
    let mut budget = header.cbytes() - HEADER_LEN - 4 * header.n_blocks();
    let mut done = 0..0;
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let mut blocks = part.start / blocksize..part.end.div_ceil(blocksize);
        if done.contains(&blocks.start) {
            blocks.start = done.end;
        } else {
            done.start = blocks.start;
        }
        if blocks.is_empty() {
            continue;
        }
        if !extract_blocks(chunk, &header, blocks.clone(), &mut budget, scratch)? {
            return decompress(chunk, out);
        }
        let end = (blocks.end * blocksize).min(out.len());
        Chunk::of_blocks(scratch, blocks.start)?
            .decompress(&mut out[blocks.start * blocksize..end])?;
        done.end = blocks.end;
    }
    Ok(())
}

/// Makes a chunk of some neighbouring blocks, which replaces the content of `to`. Returns false if
/// they have more bytes than `budget`: blocks requested in random order would be copied repeatedly.
fn extract_blocks(
    chunk: &[u8],
    header: &Header,
    blocks: Range<usize>,
    budget: &mut usize,
    to: &mut Vec<u8>,
) -> Result<bool, Error> {
    to.clear();
    let table_end = HEADER_LEN + 4 * blocks.len();
    reserve(to, table_end)?;
    to.resize(table_end, 0);
    for (i, index) in blocks.clone().enumerate() {
        let block = encoded_block(chunk, header, index)?;
        let Some(remaining) = budget.checked_sub(block.len()) else {
            return Ok(false);
        };
        *budget = remaining;
        let start = to.len() as u32;
        to[HEADER_LEN + 4 * i..][..4].copy_from_slice(&start.to_le_bytes());
        reserve(to, block.len())?;
        to.extend_from_slice(block);
    }
    header.of_blocks(&blocks).write(to);
    Ok(true)
}
