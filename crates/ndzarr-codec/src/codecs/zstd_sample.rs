//! Whether zstd finds anything, by samples.
//!
//! In noisy numbers level 1 finds hardly a match: what it makes smaller is the code of the literals. The table in which it
//! looks for matches can be small then, and a fifth of the time is saved.

use super::huffman;
use crate::CodecError;

/// Less is not worth the samples, in bytes.
pub(super) const MIN_LEN: usize = 512 << 10;
/// The size of that table, as a power of two, where nothing is found.
pub(super) const SMALL_TABLE: u32 = 8;

/// The middle of each part is a sample, in bytes.
const PART_LEN: usize = 2 << 20;
const SAMPLE_LEN: usize = 16 << 10;

/// The longest code that zstd gives a literal, in bits.
const MAX_BITS: usize = 11;

/// Whether samples of `src` come out no smaller than their literals with a code of their own, and nothing in it is a copy of
/// what is far away. `compressed` tells how large a sample comes out.
///
/// # Errors
/// Those of `compressed`.
pub(super) fn has_literals_alone(
    src: &[u8],
    mut compressed: impl FnMut(&[u8]) -> Result<usize, CodecError>,
) -> Result<bool, CodecError> {
    for part in src.chunks(PART_LEN) {
        let sample = middle(part, SAMPLE_LEN);
        let n = compressed(sample)?;
        if n + n / 1000 < len_of_literals(sample) {
            return Ok(false);
        }
    }
    Ok(!has_copies(src))
}

/// Whether more than every 64th line of 128 bytes begins as another one did: frames that were taken twice, say, of which a small
/// table knows nothing any more when they come again.
fn has_copies(src: &[u8]) -> bool {
    let mut seen = [0_u16; 1 << 14];
    let (lines, _) = src.as_chunks::<128>();
    let comes_again = |line: &&[u8; 128]| {
        let (words, _) = line.as_chunks::<8>();
        let hash = u64::from_le_bytes(words[0]).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ u64::from_le_bytes(words[1]).rotate_left(32);
        let hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
        let (place, mark) = (&mut seen[(hash >> 50) as usize], (hash >> 34) as u16);
        std::mem::replace(place, mark) == mark
    };
    lines.iter().filter(comes_again).count() > lines.len() / 64
}

fn middle(part: &[u8], len: usize) -> &[u8] {
    let len = len.min(part.len());
    let start = (part.len() - len) / 2;
    &part[start..start + len]
}

/// How many bytes there are with the best code of literals, but for its description.
fn len_of_literals(sample: &[u8]) -> usize {
    let counts = count(sample);
    let lens = huffman::lengths(&counts, MAX_BITS);
    let n_bits: u64 = counts.iter().zip(lens).map(|(&count, len)| u64::from(count) * u64::from(len)).sum();
    (n_bits / 8) as usize
}

/// How often each byte occurs.
fn count(bytes: &[u8]) -> [u32; 256] {
    // In eight tables: increments of one and the same place wait for each other, and numbers have bytes that hardly change.
    let mut tables = [[0_u32; 256]; 8];
    let (eights, rest) = bytes.as_chunks::<8>();
    for eight in eights {
        for (table, &byte) in tables.iter_mut().zip(eight) {
            table[usize::from(byte)] += 1;
        }
    }
    for &byte in rest {
        tables[0][usize::from(byte)] += 1;
    }
    std::array::from_fn(|byte| tables.iter().map(|table| table[byte]).sum())
}
