//! Finds the blocks of a chunk and their streams; a module for each format that is checked here.

pub(crate) mod blosclz;
pub(crate) mod snappy;
pub(crate) mod zstd_frame;

use crate::error::corrupt;
use crate::header::HEADER_LEN;
use crate::{Error, Header};

/// The start of a block, checked to be inside the chunk and after the table of the blocks.
pub(crate) fn block_start(chunk: &[u8], header: &Header, index: usize) -> Result<usize, Error> {
    let table_end = HEADER_LEN + 4 * header.n_blocks();
    let starts = chunk[HEADER_LEN..table_end].as_chunks::<4>().0;
    let start = i32::from_le_bytes(starts[index]);
    let inside = usize::try_from(start)
        .ok()
        .filter(|&start| start >= table_end && start < header.cbytes());
    inside.ok_or_else(|| {
        corrupt(format!(
            "block {index} begins at {start} of {}",
            header.cbytes()
        ))
    })
}

/// The streams of a block with their lengths, checked to be inside the chunk. Their content is not
/// checked.
pub(crate) fn encoded_block<'c>(
    chunk: &'c [u8],
    header: &Header,
    index: usize,
) -> Result<&'c [u8], Error> {
    let start = block_start(chunk, header, index)?;
    let mut len = 0;
    for (number, stream) in streams(chunk, header, index)?.enumerate() {
        len += 4 + stream
            .map_err(|what| stream_error(index, number, &what))?
            .len();
    }
    Ok(&chunk[start..start + len])
}

/// The streams of a block, each checked to be inside the chunk.
pub(crate) fn streams<'c>(
    chunk: &'c [u8],
    header: &Header,
    index: usize,
) -> Result<impl Iterator<Item = Result<&'c [u8], String>> + use<'c>, Error> {
    let mut rest = &chunk[block_start(chunk, header, index)?..header.cbytes()];
    Ok((0..header.block(index).1).map(move |_| take_stream(&mut rest)))
}

pub(crate) fn stream_error(block: usize, number: usize, what: &str) -> Error {
    corrupt(format!("block {block}, stream {number}: {what}"))
}

fn take_stream<'c>(rest: &mut &'c [u8]) -> Result<&'c [u8], String> {
    let (len, tail) = rest
        .split_first_chunk::<4>()
        .ok_or("the chunk ends before it")?;
    let len = i32::from_le_bytes(*len);
    let stream = usize::try_from(len)
        .ok()
        .filter(|&n| n > 0)
        .and_then(|n| tail.split_at_checked(n));
    let (stream, tail) =
        stream.ok_or_else(|| format!("{len} bytes of the {} that are left", tail.len()))?;
    *rest = tail;
    Ok(stream)
}
