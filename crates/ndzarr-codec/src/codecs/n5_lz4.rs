//! N5's lz4. It writes the block stream of lz4-java, and reads the framings of the other three
//! writers as well.

#[cfg(not(target_family = "wasm"))]
use std::io::Read;

use twox_hash::XxHash32;

use super::lz4::{decode_block, encode_block, is_plausible};
#[cfg(target_family = "wasm")]
use super::lz4_in_rust::decode_frame;
use crate::memory::sink::{self, Sink};
use crate::{BytesToBytes, CodecError, Dst, Workspace};

const NAME: &str = "lz4 (N5)";
const MAGIC: &[u8; 8] = b"LZ4Block";
const FRAME_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const STORED: u8 = 0x10;
const COMPRESSED: u8 = 0x20;
const SEED: u32 = 0x9747_b28c;
/// Level 0 is a sub-block whose length has this many bits.
const LEVEL_BASE: u32 = 10;
const DEFAULT_BLOCK_SIZE: u32 = 65_536;

#[derive(Debug)]
pub(crate) struct N5Lz4 {
    pub(crate) block_size: u32,
}

impl BytesToBytes for N5Lz4 {
    fn name(&self) -> &'static str {
        NAME
    }

    fn decode(&self, src: &[u8], mut dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        if src.starts_with(MAGIC) {
            return decode_java(src, dst);
        }
        if src.starts_with(&FRAME_MAGIC) {
            return decode_frame(NAME, src, dst);
        }
        if let Some(n) = decode_numcodecs(src, &mut dst)? {
            return Ok(n);
        }
        decode_bare(src, dst)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        // z5 states a level of 6 as the block size. Java cannot mean that, so it becomes Java's
        // default.
        let block_size = match self.block_size {
            64..=33_554_432 => self.block_size,
            _ => DEFAULT_BLOCK_SIZE,
        };
        let level = block_size
            .next_power_of_two()
            .trailing_zeros()
            .saturating_sub(LEVEL_BASE) as u8;
        dst.clear();
        for input in src.chunks(block_size as usize) {
            let start = dst.len();
            encode_block(NAME, input, 1, dst, HEADER_LEN)?;
            let mut method = COMPRESSED;
            if dst.len() - start - HEADER_LEN >= input.len() {
                method = STORED;
                dst.truncate(start + HEADER_LEN);
                dst.extend_from_slice(input);
            }
            let header = Header {
                method,
                level,
                encoded: (dst.len() - start - HEADER_LEN) as u32,
                decoded: input.len() as u32,
                checksum: checksum(input),
            };
            header.write(&mut dst[start..start + HEADER_LEN]);
        }
        let end = Header {
            method: STORED,
            level,
            encoded: 0,
            decoded: 0,
            checksum: 0,
        };
        let start = dst.len();
        dst.resize(start + HEADER_LEN, 0);
        end.write(&mut dst[start..]);
        Ok(())
    }

    fn decoded_len(&self, src: &[u8]) -> Result<Option<u64>, CodecError> {
        if !src.starts_with(MAGIC) {
            return Ok(None);
        }
        let mut rest = src;
        let mut sum = 0;
        while let Some((header, _)) = next_block(&mut rest)? {
            sum += u64::from(header.decoded);
        }
        Ok(Some(sum))
    }
}

const HEADER_LEN: usize = 21;

/// The header of a sub-block of lz4-java.
struct Header {
    method: u8,
    level: u8,
    /// Encoded size, in bytes.
    encoded: u32,
    /// Decoded size, in bytes.
    decoded: u32,
    checksum: u32,
}

impl Header {
    fn write(&self, out: &mut [u8]) {
        out[..8].copy_from_slice(MAGIC);
        out[8] = self.method | self.level;
        out[9..13].copy_from_slice(&self.encoded.to_le_bytes());
        out[13..17].copy_from_slice(&self.decoded.to_le_bytes());
        out[17..21].copy_from_slice(&self.checksum.to_le_bytes());
    }

    fn read(bytes: &[u8; HEADER_LEN]) -> Result<Self, CodecError> {
        let [
            magic @ ..,
            token,
            e0,
            e1,
            e2,
            e3,
            d0,
            d1,
            d2,
            d3,
            c0,
            c1,
            c2,
            c3,
        ] = *bytes;
        let header = Self {
            method: token & 0xf0,
            level: token & 0x0f,
            encoded: u32::from_le_bytes([e0, e1, e2, e3]),
            decoded: u32::from_le_bytes([d0, d1, d2, d3]),
            checksum: u32::from_le_bytes([c0, c1, c2, c3]),
        };
        let Self {
            method,
            level,
            encoded,
            decoded,
            ..
        } = header;
        if magic != *MAGIC {
            return Err(corrupt("a sub-block without its magic number"));
        }
        if method != STORED && method != COMPRESSED {
            return Err(corrupt(&format!("unknown method {method:#04x}")));
        }
        if u64::from(decoded) > 1 << (LEVEL_BASE + u32::from(level)) {
            return Err(corrupt(&format!(
                "a sub-block of {decoded} bytes at level {level}"
            )));
        }
        if (encoded == 0) != (decoded == 0) || (method == STORED && encoded != decoded) {
            return Err(corrupt(&format!(
                "a sub-block of {decoded} bytes in {encoded}"
            )));
        }
        if method == COMPRESSED && !is_plausible(decoded as usize, encoded as usize) {
            return Err(corrupt(&format!("{encoded} bytes cannot hold {decoded}")));
        }
        Ok(header)
    }
}

/// The low 28 bits, as lz4-java stores them.
fn checksum(content: &[u8]) -> u32 {
    XxHash32::oneshot(SEED, content) & 0x0fff_ffff
}

/// Takes the next sub-block; `None` at the end mark, which must be the last.
fn next_block<'s>(rest: &mut &'s [u8]) -> Result<Option<(Header, &'s [u8])>, CodecError> {
    let (bytes, tail) = rest
        .split_first_chunk::<HEADER_LEN>()
        .ok_or_else(|| sink::truncated(NAME))?;
    let header = Header::read(bytes)?;
    if header.decoded == 0 {
        if header.method != STORED || header.checksum != 0 {
            return Err(corrupt("a broken end mark"));
        }
        if !tail.is_empty() {
            return Err(corrupt(&format!(
                "{} bytes behind the end mark",
                tail.len()
            )));
        }
        return Ok(None);
    }
    let (block, tail) = tail
        .split_at_checked(header.encoded as usize)
        .ok_or_else(|| sink::truncated(NAME))?;
    *rest = tail;
    Ok(Some((header, block)))
}

fn decode_java(src: &[u8], dst: Dst<'_>) -> Result<usize, CodecError> {
    let mut sink = Sink::new(NAME, dst);
    let mut rest = src;
    while let Some((header, block)) = next_block(&mut rest)? {
        let len = header.decoded as usize;
        let out = sink.space_for(len)?;
        if header.method == STORED {
            out.copy_from_slice(block);
        } else {
            decode_block(NAME, block, out)?;
        }
        if checksum(out) != header.checksum {
            return Err(corrupt(
                "the checksum of a sub-block does not match its content",
            ));
        }
        sink.advance(len)?;
    }
    sink.finish()
}

/// The LZ4 frame format, as rust-n5 writes it.
#[cfg(not(target_family = "wasm"))]
fn decode_frame(codec: &'static str, src: &[u8], dst: Dst<'_>) -> Result<usize, CodecError> {
    let mut sink = Sink::new(codec, dst);
    let mut decoder =
        ::lz4::Decoder::new(src).map_err(|error| CodecError::corrupt(codec, error))?;
    loop {
        let n = decoder
            .read(sink.free_space()?)
            .map_err(|error| CodecError::corrupt(codec, error))?;
        if n == 0 {
            break;
        }
        sink.advance(n)?;
    }
    let (rest, result) = decoder.finish();
    result.map_err(|_| sink::truncated(codec))?;
    if !rest.is_empty() {
        return Err(CodecError::corrupt(
            codec,
            format!("{} bytes behind the frame", rest.len()),
        ));
    }
    sink.finish()
}

/// Length and block, with the framing of numcodecs; `None` if `src` does not have that framing.
fn decode_numcodecs(src: &[u8], dst: &mut Dst<'_>) -> Result<Option<usize>, CodecError> {
    let Some((len, block)) = src.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let len = u32::from_le_bytes(*len) as usize;
    let fits = match dst {
        Dst::Exact(out) => len == out.len(),
        Dst::Grow { max, .. } => len <= *max,
    };
    if !fits || len == 0 || !is_plausible(len, block.len()) {
        return Ok(None);
    }
    let out = sink::whole_output(NAME, dst, len)?;
    Ok(decode_block(NAME, block, out).is_ok().then_some(len))
}

/// A bare block, as z5 writes it.
fn decode_bare(src: &[u8], dst: Dst<'_>) -> Result<usize, CodecError> {
    match dst {
        Dst::Exact(out) => {
            if !is_plausible(out.len(), src.len()) {
                return Err(corrupt(&format!(
                    "{} bytes cannot hold {}",
                    src.len(),
                    out.len()
                )));
            }
            decode_block(NAME, src, out)?;
            Ok(out.len())
        }
        // A bare block is known to be complete only by the length of the chunk.
        Dst::Grow { .. } => Err(corrupt(
            "a bare block in a place where its length is not known",
        )),
    }
}

fn corrupt(what: &str) -> CodecError {
    CodecError::corrupt(NAME, what)
}
