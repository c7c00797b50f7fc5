//! Decodes chunks without c-blosc: those of snappy, and all of them in builds without C.

use snap::raw::Decoder;

use crate::parameters::Shuffle;
use crate::shuffle::{bitunshuffle, unshuffle};
use crate::streams::{stream_error, streams};
use crate::{Error, Header, StreamFormat, reserve};

/// True if c-blosc cannot decode the chunk, because it is built without snappy.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn is_needed_for(header: &Header) -> bool {
    header.format() == StreamFormat::Snappy
}

/// Decodes a checked chunk, not a stored one, into the number of bytes that its header states.
/// Errors number the blocks from `first_block`.
pub(crate) fn decompress(
    chunk: &[u8],
    header: &Header,
    first_block: usize,
    out: &mut [u8],
) -> Result<(), Error> {
    let mut shuffled = Vec::new();
    if header.shuffle() != Shuffle::None {
        reserve(&mut shuffled, header.blocksize())?;
        shuffled.resize(header.blocksize(), 0);
    }
    for index in 0..header.n_blocks() {
        let out = &mut out[header.range(index)];
        let decode = |to: &mut [u8]| {
            let stream_len = to.len() / header.block(index).1;
            let streams = streams(chunk, header, index)?.enumerate();
            for ((number, stream), to) in streams.zip(to.chunks_exact_mut(stream_len)) {
                let error = |what: String| stream_error(first_block + index, number, &what);
                decode_stream(header.format(), stream.map_err(error)?, to).map_err(error)?;
            }
            Ok::<_, Error>(())
        };
        match header.shuffle() {
            Shuffle::None => decode(out)?,
            Shuffle::Byte => {
                let block = &mut shuffled[..out.len()];
                decode(block)?;
                unshuffle(header.typesize(), block, out);
            }
            Shuffle::Bit => {
                let block = &mut shuffled[..out.len()];
                decode(block)?;
                bitunshuffle(header.typesize(), block, out);
            }
        }
    }
    Ok(())
}

/// Decodes a stream that fills `to`.
fn decode_stream(format: StreamFormat, stream: &[u8], to: &mut [u8]) -> Result<(), String> {
    if stream.len() == to.len() {
        to.copy_from_slice(stream);
        return Ok(());
    }
    let n = match format {
        StreamFormat::Snappy => Decoder::new()
            .decompress(stream, to)
            .map_err(|error| error.to_string())?,
        #[cfg(any(test, target_family = "wasm"))]
        format => crate::in_rust::decode_stream(format, stream, to)?,
        #[cfg(not(any(test, target_family = "wasm")))]
        _ => return Err("is for c-blosc".to_owned()),
    };
    if n != to.len() {
        return Err(format!(
            "decodes to {n} bytes, but {} are expected",
            to.len()
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
