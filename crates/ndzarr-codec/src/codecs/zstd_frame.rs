//! Reads the framing of zstd (RFC 8878), to find the ends of frames and a bound of their content.

use crate::CodecError;
use crate::memory::sink;

const NAME: &str = "zstd";
const MAGIC: u32 = 0xfd2f_b528;
/// The magic number of skippable frames, whose lowest 4 bits are free.
const SKIPPABLE: u32 = 0x184d_2a50;
/// The largest decoded block, in bytes.
const BLOCK_LEN: u64 = 128 << 10;

/// A summary of all frames of a value.
#[cfg_attr(
    target_family = "wasm",
    allow(dead_code, reason = "only libzstd decodes in one pass or in part")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frames {
    /// The size of the content, in bytes, if every frame states it.
    pub(crate) content_len: Option<u64>,
    /// The most bytes that the blocks can decode to.
    pub(crate) bound: u64,
    /// The number of frames, including skippable ones.
    pub(crate) n: usize,
    /// True if any frame has a checksum of its content.
    pub(crate) has_checksum: bool,
}

/// The bytes after a skippable frame, if `src` begins with one.
#[cfg(any(test, target_family = "wasm"))]
pub(crate) fn after_skippable(src: &[u8]) -> Option<&[u8]> {
    let (magic, rest) = src.split_first_chunk::<4>()?;
    let (len, rest) = rest.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*magic) & 0xffff_fff0 != SKIPPABLE {
        return None;
    }
    rest.get(u32::from_le_bytes(*len) as usize..)
}

/// Walks over the frames. Anything between or after them is an error, and so are the formats before
/// zstd 0.8, which the library would otherwise decode if another crate of the tree enables them.
pub(crate) fn frames(src: &[u8]) -> Result<Frames, CodecError> {
    let mut all = Frames {
        content_len: Some(0),
        bound: 0,
        n: 0,
        has_checksum: false,
    };
    let mut rest = src;
    loop {
        let magic = u32::from_le_bytes(take(&mut rest)?);
        all.n += 1;
        if magic & 0xffff_fff0 == SKIPPABLE {
            let len = u32::from_le_bytes(take(&mut rest)?);
            skip(&mut rest, len as usize)?;
        } else if magic == MAGIC {
            let Frame {
                content_len,
                bound,
                has_checksum,
            } = frame(&mut rest)?;
            all.has_checksum |= has_checksum;
            all.content_len = match (all.content_len, content_len) {
                (Some(sum), Some(len)) => Some(
                    sum.checked_add(len)
                        .ok_or_else(|| corrupt("content sizes overflow"))?,
                ),
                _ => None,
            };
            all.bound = all.bound.saturating_add(bound);
        } else {
            return Err(corrupt(&format!(
                "not a zstd frame (magic number {magic:#010x})"
            )));
        }
        if rest.is_empty() {
            return Ok(all);
        }
    }
}

/// The facts that a frame states.
struct Frame {
    content_len: Option<u64>,
    bound: u64,
    has_checksum: bool,
}

/// Walks over a frame, after its magic number.
fn frame(rest: &mut &[u8]) -> Result<Frame, CodecError> {
    let [descriptor] = take(rest)?;
    let single_segment = descriptor & 0x20 != 0;
    if descriptor & 0x08 != 0 {
        return Err(corrupt("a reserved bit of the frame header is set"));
    }
    if !single_segment {
        skip(rest, 1)?;
    }
    skip(rest, [0, 1, 2, 4][usize::from(descriptor & 3)])?;
    let content_len = match descriptor >> 6 {
        0 if single_segment => Some(u64::from(u8::from_le_bytes(take(rest)?))),
        0 => None,
        1 => Some(u64::from(u16::from_le_bytes(take(rest)?)) + 256),
        2 => Some(u64::from(u32::from_le_bytes(take(rest)?))),
        _ => Some(u64::from_le_bytes(take(rest)?)),
    };
    let mut bound = 0u64;
    loop {
        let [a, b, c] = take(rest)?;
        let header = u32::from_le_bytes([a, b, c, 0]);
        let len = header >> 3;
        match (header >> 1) & 3 {
            0 => {
                skip(rest, len as usize)?;
                bound = bound.saturating_add(u64::from(len));
            }
            1 => {
                skip(rest, 1)?;
                bound = bound.saturating_add(u64::from(len));
            }
            2 => {
                skip(rest, len as usize)?;
                bound = bound.saturating_add(BLOCK_LEN);
            }
            _ => return Err(corrupt("a block of a reserved type")),
        }
        if header & 1 != 0 {
            break;
        }
    }
    let has_checksum = descriptor & 4 != 0;
    if has_checksum {
        skip(rest, 4)?;
    }
    if let Some(len) = content_len
        && len > bound
    {
        return Err(corrupt(&format!(
            "states {len} decoded bytes, but its blocks have at most {bound}"
        )));
    }
    Ok(Frame {
        content_len,
        bound,
        has_checksum,
    })
}

fn corrupt(what: &str) -> CodecError {
    CodecError::corrupt(NAME, what)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], CodecError> {
    let (head, tail) = rest
        .split_first_chunk::<N>()
        .ok_or_else(|| sink::truncated(NAME))?;
    *rest = tail;
    Ok(*head)
}

fn skip(rest: &mut &[u8], n: usize) -> Result<(), CodecError> {
    *rest = rest.get(n..).ok_or_else(|| sink::truncated(NAME))?;
    Ok(())
}
