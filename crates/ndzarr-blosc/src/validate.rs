//! Checks all blocks and streams of a chunk, so that c-blosc decodes it without leaving the chunk
//! or the output.

use crate::error::corrupt;
use crate::header::HEADER_LEN;
use crate::streams::{blosclz, snappy, stream_error, streams, zstd_frame};
use crate::{Error, Header, StreamFormat};

/// Checks the offsets of the blocks, the lengths of their streams, and the content of streams that
/// c-blosc's decoders do not check enough. Errors number the blocks from `first_block`.
pub(crate) fn validate(chunk: &[u8], header: &Header, first_block: usize) -> Result<(), Error> {
    // Blocks that share no bytes have no more than this together.
    let mut remaining = header.cbytes() - HEADER_LEN - 4 * header.n_blocks();
    for index in 0..header.n_blocks() {
        let (block_len, n_streams) = header.block(index);
        let block_number = first_block + index;
        // The streams divide the block evenly: otherwise the block's end would keep its old
        // content.
        if block_len % n_streams != 0 {
            return Err(corrupt(format!(
                "block {block_number} of {block_len} bytes in {n_streams} streams"
            )));
        }
        for (number, stream) in streams(chunk, header, index)?.enumerate() {
            let error = |what: String| stream_error(block_number, number, &what);
            let stream = stream.map_err(error)?;
            let len = block_len / n_streams;
            remaining = remaining
                .checked_sub(4 + stream.len())
                .ok_or_else(|| overlapping(block_number))?;
            // A stream as long as its content is stored.
            if stream.len() != len {
                validate_stream(header.format(), stream, len).map_err(error)?;
            }
        }
    }
    Ok(())
}

fn overlapping(block: usize) -> Error {
    corrupt(format!("block {block} shares bytes with others"))
}

/// The most bytes that one byte of lz4 decodes to: it extends a length by 255.
const LZ4_RATIO: usize = 255;
/// The most bytes that one byte of zlib decodes to: four lengths of 258, of two bits each.
const ZLIB_RATIO: usize = 1032;

/// Checks that a stream may decode to `len` bytes, and everything that its decoder does not check.
fn validate_stream(format: StreamFormat, stream: &[u8], len: usize) -> Result<(), String> {
    let max_len = match format {
        // Beyond about 8 MB of input a length in it overflows c-blosc's `int`.
        StreamFormat::BloscLz => return blosclz::validate(stream, len),
        StreamFormat::Snappy => return snappy::validate(stream, len),
        // The library may have decoders for the formats before zstd 0.8, which are not hardened.
        StreamFormat::Zstd => zstd_frame::validate(stream)?,
        // LZ4_decompress_safe and uncompress are safe for any bytes.
        StreamFormat::Lz4 => stream.len().saturating_mul(LZ4_RATIO),
        StreamFormat::Zlib => stream.len().saturating_mul(ZLIB_RATIO),
    };
    if len > max_len {
        return Err(format!("{} bytes cannot hold {len}", stream.len()));
    }
    Ok(())
}
