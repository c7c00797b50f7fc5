//! Raw snappy streams, and chunks of them, for which c-blosc only undoes the shuffle.

use snap::raw::{Decoder, decompress_len};

use crate::header::HEADER_LEN;
use crate::streams::{of_stream, streams};
use crate::{Error, Header, c_blosc, reserve};

/// The most bytes that one byte of a stream decodes to, rounded up: a copy of 64 bytes takes 3.
const MAX_RATIO: usize = 22;

/// Checks that a stream states a decoded size of `len` bytes, and that this is possible.
pub(crate) fn validate(stream: &[u8], len: usize) -> Result<(), String> {
    let found = decompress_len(stream).map_err(|error| error.to_string())?;
    if found != len {
        return Err(format!("decodes to {found} bytes, but {len} are expected"));
    }
    if len / MAX_RATIO > stream.len() {
        return Err(format!("{} bytes cannot hold {len}", stream.len()));
    }
    Ok(())
}

/// Decodes a checked chunk into the number of bytes that its header states.
///
/// Each block becomes a separate chunk with stored streams, which c-blosc decodes.
pub(crate) fn decompress(
    chunk: &[u8],
    header: &Header,
    first_block: usize,
    out: &mut [u8],
) -> Result<(), Error> {
    let mut decoder = Decoder::new();
    let mut stored = Vec::new();
    for index in 0..header.n_blocks() {
        let (block_len, n_streams) = header.block(index);
        let stream_len = block_len / n_streams;
        let start = HEADER_LEN + 4;
        let byte_len = start + n_streams * (4 + stream_len);
        stored.clear();
        reserve(&mut stored, byte_len)?;
        stored.resize(byte_len, 0);
        stored[HEADER_LEN..start].copy_from_slice(&(start as u32).to_le_bytes());
        let places = stored[start..].chunks_exact_mut(4 + stream_len);
        for ((number, stream), place) in streams(chunk, header, index)?.enumerate().zip(places) {
            let of = |what: String| of_stream(first_block + index, number, &what);
            let stream = stream.map_err(of)?;
            let (len, content) = place.split_at_mut(4);
            len.copy_from_slice(&(stream_len as u32).to_le_bytes());
            if stream.len() == stream_len {
                content.copy_from_slice(stream);
            } else {
                decoder.decompress(stream, content).map_err(|error| of(error.to_string()))?;
            }
        }
        header.of_stored_block(index).write(&mut stored);
        c_blosc::decompress(&stored, &mut out[header.range(index)])?;
    }
    Ok(())
}
