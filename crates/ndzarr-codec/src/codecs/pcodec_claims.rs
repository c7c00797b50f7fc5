//! Checks the sizes that the first bytes of a chunk of pco claim. pco allocates its dictionary and
//! its window as large as claimed, and a few bytes can claim hundreds of MiB, so the claims are
//! checked first. The layout is in pco's format.md.

use crate::CodecError;
use crate::memory::sink;

const NAME: &str = "pcodec";
/// The largest window that pco's encoder has ever used, in numbers.
const COMMON_WINDOW: u64 = 1 << 15;

/// Checks that the chunk at the start of `chunk` has no more numbers than fit `max_bytes`, contains
/// the dictionary that it announces, and has a window that is small or in proportion to its
/// numbers.
///
/// `size` is the size of a number in bytes, `major` the version of the format.
pub(super) fn check(
    chunk: &[u8],
    size: usize,
    major: u8,
    max_bytes: usize,
) -> Result<(), CodecError> {
    // The type of its numbers, their count minus one, then the metadata.
    let Some(([_, n @ ..], metadata)) = chunk.split_first_chunk::<4>() else {
        return Err(sink::truncated(NAME));
    };
    let n = n.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)) + 1;
    if n > (max_bytes / size) as u64 {
        return Err(CodecError::corrupt(
            NAME,
            format!("holds {n} numbers where {} are left", max_bytes / size),
        ));
    }
    let mut bits = Bits {
        bytes: metadata,
        position: 0,
    };
    match bits.take(4)? {
        1 | 2 => bits.position += 8 * size,
        3 => bits.position += 8,
        4 => {
            let unique = bits.take(25)? as usize;
            bits.position = bits.position.next_multiple_of(8);
            if unique > (bits.bytes.len() - bits.position / 8) / size {
                return Err(sink::truncated(NAME));
            }
            bits.position += 8 * size * unique;
        }
        // A mode without parameters, or one that pco does not know either.
        _ => {}
    }
    if major >= 3 && bits.take(4)? == 2 {
        let window = 1 << (1 + bits.take(5)?);
        if window > COMMON_WINDOW.max(n / 2) {
            let what = format!("looks back over {window} numbers, of which it has {n}");
            return Err(CodecError::corrupt(NAME, what));
        }
    }
    Ok(())
}

/// Reads numbers of a few bits, the lowest first.
struct Bits<'a> {
    bytes: &'a [u8],
    /// The number of bits before the next one.
    position: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: usize) -> Result<u64, CodecError> {
        let mut value = 0;
        for i in 0..count {
            let position = self.position + i;
            let byte = self
                .bytes
                .get(position / 8)
                .ok_or_else(|| sink::truncated(NAME))?;
            value |= u64::from(byte >> (position % 8) & 1) << i;
        }
        self.position += count;
        Ok(value)
    }
}
