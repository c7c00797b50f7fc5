//! lz4 with the framing of numcodecs: the length as u32, little endian, and one raw LZ4 block.

#[cfg(not(target_family = "wasm"))]
use ::lz4::block::{self, CompressionMode};

#[cfg(target_family = "wasm")]
use super::lz4_in_rust::decode_into;
#[cfg(target_family = "wasm")]
pub(crate) use super::lz4_in_rust::encode_block;
use crate::memory::sink;
use crate::{BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "lz4";
/// The greatest input of one LZ4 block, in bytes.
pub(crate) const MAX_INPUT: usize = 0x7e00_0000;

#[derive(Debug)]
pub(crate) struct Lz4 {
    pub(crate) acceleration: i32,
}

impl BytesToBytes for Lz4 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], mut dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        let (len, block) = prefix(src)?;
        if !is_plausible(len, block.len()) {
            return Err(CodecError::corrupt(
                NAME,
                format!(
                    "says that {} bytes hold {len}, more than LZ4 can",
                    block.len()
                ),
            ));
        }
        decode_block(NAME, block, sink::whole_output(NAME, &mut dst, len)?)?;
        Ok(len)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        if src.is_empty() {
            return Err(CodecError::encode(
                NAME,
                "empty input, which this framing cannot hold",
            ));
        }
        dst.clear();
        encode_block(NAME, src, self.acceleration, dst, 4)?;
        // The block was encoded, so its input has less than 2^31 bytes.
        dst[..4].copy_from_slice(&(src.len() as u32).to_le_bytes());
        Ok(())
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        prefix(src).map(|(len, _)| Some(len as u64))
    }
}

fn prefix(src: &[u8]) -> Result<(usize, &[u8]), CodecError> {
    let (len, block) = src
        .split_first_chunk::<4>()
        .ok_or_else(|| sink::truncated(NAME))?;
    match u32::from_le_bytes(*len) as usize {
        0 => Err(CodecError::corrupt(NAME, "has a decoded length of 0")),
        len if len > MAX_INPUT => Err(CodecError::corrupt(
            NAME,
            format!("states {len} decoded bytes, too many for LZ4"),
        )),
        len => Ok((len, block)),
    }
}

/// True if a block of `block_len` bytes can decode to `len` bytes: one byte stands for at most 255.
pub(crate) fn is_plausible(len: usize, block_len: usize) -> bool {
    len <= block_len.saturating_mul(255)
}

/// Decodes one raw block that fills `out`.
pub(crate) fn decode_block(
    codec: &'static str,
    block: &[u8],
    out: &mut [u8],
) -> Result<(), CodecError> {
    let corrupt = |what: &str| CodecError::corrupt(codec, what);
    if out.is_empty() && block == [0] {
        return Ok(());
    }
    if block.is_empty() || i32::try_from(block.len()).is_err() {
        return Err(corrupt(&format!(
            "{} bytes are not an LZ4 block",
            block.len()
        )));
    }
    if i32::try_from(out.len()).is_err() {
        return Err(corrupt("more bytes than LZ4 can have"));
    }
    let n = decode_into(block, out)
        .ok_or_else(|| corrupt("not an LZ4 block of the expected length"))?;
    if n != out.len() {
        return Err(sink::too_short(codec, n, out.len()));
    }
    Ok(())
}

/// Decodes one raw block of no more bytes than `out` has, which are few enough for LZ4; returns
/// their number.
#[cfg(not(target_family = "wasm"))]
fn decode_into(block: &[u8], out: &mut [u8]) -> Option<usize> {
    block::decompress_to_buffer(block, i32::try_from(out.len()).ok(), out).ok()
}

/// Appends a gap and then one raw block.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn encode_block(
    codec: &'static str,
    src: &[u8],
    acceleration: i32,
    dst: &mut Vec<u8>,
    gap: usize,
) -> Result<(), CodecError> {
    if src.len() > MAX_INPUT {
        return Err(CodecError::encode(
            codec,
            format!("{} bytes are too many for LZ4", src.len()),
        ));
    }
    let bound =
        block::compress_bound(src.len()).map_err(|error| CodecError::encode(codec, error))?;
    let start = dst.len() + gap;
    sink::reserve(dst, gap + bound)?;
    dst.resize(start + bound, 0);
    let mode = CompressionMode::FAST(acceleration.max(1));
    let n = block::compress_to_buffer(src, Some(mode), false, &mut dst[start..])
        .map_err(|error| CodecError::encode(codec, error))?;
    dst.truncate(start + n);
    Ok(())
}
