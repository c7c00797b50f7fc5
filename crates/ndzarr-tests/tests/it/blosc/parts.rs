//! Blocks decoded without the others, compared with the whole.

use std::ops::Range;

use ndzarr_blosc::{
    Compress, Compressor, Error, Header, Shuffle, compress, decompress, decompress_parts,
};
use proptest::prelude::*;

const COMPRESSORS: [Compressor; 6] = [
    Compressor::BloscLz,
    Compressor::Lz4,
    Compressor::Lz4hc,
    Compressor::Snappy,
    Compressor::Zlib,
    Compressor::Zstd,
];

/// The decoded parts, among bytes of 0x5a.
fn decode(chunk: &[u8], len: usize, parts: &[Range<usize>]) -> Result<Vec<u8>, Error> {
    let mut out = vec![0x5a; len];
    // Leftovers of an earlier use.
    let mut scratch = vec![0xc3; 77];
    decompress_parts(chunk, parts, &mut out, &mut scratch)?;
    Ok(out)
}

fn content(len: usize, noise_of: u32) -> Vec<u8> {
    let mut noise = 1u32;
    (0..len)
        .map(|i| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if (i >> 9) as u32 % 4 < noise_of {
                (noise >> 24) as u8
            } else {
                (i / 37) as u8
            }
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parts_agree_with_the_whole(
        compressor in prop::sample::select(COMPRESSORS.to_vec()),
        shuffle in prop::sample::select(vec![Shuffle::None, Shuffle::Byte, Shuffle::Bit]),
        level in prop::sample::select(vec![0u8, 1, 5]),
        typesize in prop::sample::select(vec![1usize, 2, 3, 4, 8, 16, 17]),
        // c-blosc makes blocks of 64 KiB and more when it splits them.
        blocksize in prop::sample::select(vec![0usize, 128, 500, 4000, 1 << 15]),
        len in prop_oneof![1usize..9000, 60_000usize..300_000],
        noise_of in 0u32..5,
        picks in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 0..4),
    ) {
        let content = content(len, noise_of);
        let mut chunk = Vec::new();
        compress(&content, &Compress { compressor, level, shuffle, typesize, blocksize }, &mut chunk).expect("it encodes");
        // Some of them are empty, some overlap.
        let mut parts: Vec<Range<usize>> = picks
            .iter()
            .map(|(a, b)| {
                let (a, b) = (a.index(len + 1), b.index(len + 1));
                a.min(b)..a.max(b)
            })
            .collect();
        // Parts may come in any order.
        let out = decode(&chunk, len, &parts).expect("it decodes");
        for part in &parts {
            prop_assert!(out[part.clone()] == content[part.clone()]);
        }
        parts.sort_by_key(|part| part.start);
        let out = decode(&chunk, len, &parts).expect("it decodes");
        for part in &parts {
            prop_assert!(out[part.clone()] == content[part.clone()]);
        }
        // Nothing else was written, except the blocks of the parts.
        let block_len = Header::parse(&chunk).expect("it is whole").blocksize();
        for (i, block) in out.chunks(block_len).enumerate() {
            let range = i * block_len..i * block_len + block.len();
            if parts.iter().all(|part| part.is_empty() || part.end <= range.start || part.start >= range.end) {
                prop_assert!(block.iter().all(|&byte| byte == 0x5a));
            }
        }
    }
}

/// Blocks of 200 stored bytes that begin at `starts` after the table, filled with their index.
fn made(n_blocks: usize, starts: &[usize], last_len: usize) -> Vec<u8> {
    let nbytes = 200 * (starts.len() - 1) + last_len;
    let table_end = 16 + 4 * starts.len();
    let mut blocks = Vec::new();
    for i in 0..n_blocks {
        let len = if i + 1 == n_blocks { last_len } else { 200 };
        blocks.extend((len as u32).to_le_bytes());
        blocks.extend(vec![1 + i as u8; len]);
    }
    let mut chunk = vec![2, 1, 0x10, 1];
    for n in [nbytes, 200, table_end + blocks.len()] {
        chunk.extend((n as u32).to_le_bytes());
    }
    for &start in starts {
        chunk.extend(((table_end + start) as u32).to_le_bytes());
    }
    chunk.extend(blocks);
    chunk
}

#[test]
fn blocks_lie_in_any_order() {
    let chunk = made(4, &[408, 0, 204, 612], 50);
    let out = decode(&chunk, 650, &[150..201, 649..650]).expect("it decodes");
    assert_eq!(
        out,
        [vec![3; 200], vec![1; 200], vec![0x5a; 200], vec![4; 50]].concat()
    );
}

#[test]
fn blocks_that_share_bytes_are_refused() {
    // The second one five times: no encoder does that, and a few bytes would decode to any size.
    let chunk = made(2, &[0, 0, 0, 0, 0], 200);
    let error = decompress(&chunk, &mut vec![0; 1000])
        .expect_err("they share bytes")
        .to_string();
    assert!(
        error.contains("block 2 shares bytes with others"),
        "{error}"
    );
    for parts in [&[200..900][..], &[0..1, 300..301, 999..1000]] {
        let error = decode(&chunk, 1000, parts)
            .expect_err("they share bytes")
            .to_string();
        assert!(error.contains("shares bytes with others"), "{error}");
    }
}

#[test]
fn unordered_parts_are_decoded() {
    // Each needs the last blocks again, so that together they have more bytes than the chunk.
    let chunk = made(4, &[0, 204, 408, 612], 50);
    let out = decode(&chunk, 650, &[400..650, 200..650, 401..650, 0..1]).expect("it decodes");
    assert_eq!(
        out,
        [vec![1; 200], vec![2; 200], vec![3; 200], vec![4; 50]].concat()
    );
}

#[test]
fn errors_name_the_block_of_the_whole_chunk() {
    let mut chunk = made(4, &[0, 204, 408, 612], 50);
    // A stream of zero bytes in the third block.
    chunk[32 + 408..][..4].copy_from_slice(&[0; 4]);
    for parts in [&[400..401][..], &[0..650], &[0..1, 599..650]] {
        let error = decode(&chunk, 650, parts)
            .expect_err("it is broken")
            .to_string();
        assert!(error.starts_with("block 2, stream 0: "), "{error}");
    }
    decode(&chunk, 650, &[0..400, 600..650]).expect("it is not wanted");
    // An invalid blosclz stream, which is found only when it is decoded.
    let mut chunk = made(4, &[0, 204, 408, 612], 50);
    chunk[32 + 408..][..4].copy_from_slice(&100u32.to_le_bytes());
    chunk[32 + 412..][..100].fill(0xff);
    let error = decode(&chunk, 650, &[300..500])
        .expect_err("it is broken")
        .to_string();
    assert!(error.starts_with("block 2, stream 0: "), "{error}");
    decode(&chunk, 650, &[0..400, 600..650]).expect("it is not wanted");
    // The positions of all blocks are checked.
    let mut chunk = made(4, &[0, 204, 408, 612], 50);
    chunk[16 + 12..][..4].copy_from_slice(&31u32.to_le_bytes());
    let error = decode(&chunk, 650, &[0..1])
        .expect_err("block 3 begins in the table")
        .to_string();
    assert!(error.starts_with("block 3 begins at 31"), "{error}");
}

#[test]
fn parts_outside_and_other_lengths_are_refused() {
    let chunk = made(2, &[0, 204], 50);
    assert!(matches!(
        decode(&chunk, 250, &[200..251]),
        Err(Error::Input(_))
    ));
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = 20..10;
    assert!(matches!(
        decode(&chunk, 250, &[reversed]),
        Err(Error::Input(_))
    ));
    assert_eq!(
        decode(&chunk, 251, &[0..1]),
        Err(Error::Length {
            found: 250,
            expected: 251
        })
    );
}
