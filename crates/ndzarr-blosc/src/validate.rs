//! A walk over all blocks and streams of a chunk: what passes, c-blosc decodes without leaving the chunk or the output.

use crate::error::corrupt;
use crate::header::HEADER_LEN;
use crate::{Error, Header, StreamFormat, blosclz, zstd_frame};

/// Checks the offsets of the blocks, the lengths of their streams, and those inside of streams that the decoders of
/// c-blosc do not check enough.
pub(crate) fn validate(chunk: &[u8], header: &Header) -> Result<(), Error> {
    let chunk = &chunk[..header.cbytes()];
    let table_end = HEADER_LEN + 4 * header.n_blocks();
    for (index, start) in chunk[HEADER_LEN..table_end].as_chunks::<4>().0.iter().enumerate() {
        let start = i32::from_le_bytes(*start);
        let at = usize::try_from(start).ok().filter(|&at| at >= table_end && at < chunk.len());
        let at = at.ok_or_else(|| corrupt(format!("block {index} begins at {start} of {}", chunk.len())))?;
        let (block_len, n_streams) = header.block(index);
        // A stream is a whole part of its block: otherwise the block's end would stay as it was.
        if block_len % n_streams != 0 {
            return Err(corrupt(format!("block {index} of {block_len} bytes in {n_streams} streams")));
        }
        let mut rest = &chunk[at..];
        for number in 0..n_streams {
            let of = |what: String| corrupt(format!("block {index}, stream {number}: {what}"));
            let stream = take_stream(&mut rest).map_err(of)?;
            let len = block_len / n_streams;
            // A stream of the content's own length is stored.
            if stream.len() != len {
                validate_stream(header.format(), stream, len).map_err(of)?;
            }
        }
    }
    Ok(())
}

fn take_stream<'c>(rest: &mut &'c [u8]) -> Result<&'c [u8], String> {
    let (len, tail) = rest.split_first_chunk::<4>().ok_or("the chunk ends before it")?;
    let len = i32::from_le_bytes(*len);
    let stream = usize::try_from(len).ok().filter(|&n| n > 0).and_then(|n| tail.split_at_checked(n));
    let (stream, tail) = stream.ok_or_else(|| format!("{len} bytes of the {} that are left", tail.len()))?;
    *rest = tail;
    Ok(stream)
}

fn validate_stream(format: StreamFormat, stream: &[u8], len: usize) -> Result<(), String> {
    match format {
        // A length in it overflows c-blosc's `int` beyond about 8 MB of input.
        StreamFormat::BloscLz => blosclz::validate(stream, len),
        // The library may have the decoders of formats before zstd 0.8 built in, which are not hardened.
        StreamFormat::Zstd => zstd_frame::validate(stream),
        // LZ4_decompress_safe, uncompress and snappy's RawUncompress take any bytes.
        StreamFormat::Lz4 | StreamFormat::Snappy | StreamFormat::Zlib => Ok(()),
    }
}
