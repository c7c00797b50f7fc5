//! Truncated, changed and invented chunks: an error each time, and never a write outside the
//! output.

use ndzarr_blosc::{
    Chunk, Compress, Compressor, Error, Header, Shuffle, compress, decompress, decompress_parts,
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

fn sample() -> Vec<u8> {
    (0..400u32)
        .flat_map(|i| (i / 7 * 300 + (i.wrapping_mul(i) >> 5) % 4).to_le_bytes())
        .collect()
}

/// In four blocks: some compressors would split larger ones, which makes one block of 64 KiB.
fn chunk(compressor: Compressor, shuffle: Shuffle) -> Vec<u8> {
    let parameters = Compress {
        compressor,
        shuffle,
        level: 5,
        typesize: 4,
        blocksize: 500,
    };
    let mut chunk = Vec::new();
    compress(&sample(), &parameters, &mut chunk).expect("it encodes");
    chunk
}

/// Decodes with memory around the output that must not change: whole, and in parts, which must
/// agree.
fn decode_guarded(chunk: &[u8], len: usize) -> Result<Vec<u8>, Error> {
    let whole = guarded(len, |out| decompress(chunk, out));
    let third = len / 3;
    let parts = [
        vec![],
        vec![0..1],
        vec![third..2 * third],
        vec![len.saturating_sub(1)..len],
        vec![0..1, 2 * third..len],
    ];
    let mut scratch = Vec::new();
    for parts in parts
        .iter()
        .filter(|parts| parts.iter().all(|part| part.end <= len))
    {
        let in_parts = guarded(len, |out| decompress_parts(chunk, parts, out, &mut scratch));
        assert!(scratch.len() <= chunk.len());
        // The broken part may be elsewhere.
        let Ok(whole) = &whole else { continue };
        let in_parts = in_parts.expect("as the whole decodes");
        assert!(
            parts
                .iter()
                .all(|part| in_parts[part.clone()] == whole[part.clone()]),
            "{parts:?}"
        );
    }
    let all = 0..len;
    let in_parts = guarded(len, |out| {
        decompress_parts(chunk, &[all], out, &mut scratch)
    });
    assert_eq!(in_parts.is_ok(), whole.is_ok());
    whole
}

fn guarded(
    len: usize,
    decode: impl FnOnce(&mut [u8]) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    const GUARD: usize = 64;
    let mut memory = vec![0x5a; len + 2 * GUARD];
    let result = decode(&mut memory[GUARD..GUARD + len]);
    assert!(
        memory[..GUARD]
            .iter()
            .chain(&memory[GUARD + len..])
            .all(|&byte| byte == 0x5a)
    );
    result.map(|()| memory[GUARD..GUARD + len].to_vec())
}

#[test]
fn every_prefix_is_refused() {
    for compressor in COMPRESSORS {
        for shuffle in [Shuffle::None, Shuffle::Byte, Shuffle::Bit] {
            let chunk = chunk(compressor, shuffle);
            assert_eq!(decode_guarded(&chunk, 1600), Ok(sample()));
            for len in 0..chunk.len() {
                // In separate memory, so that a memory checker detects reads beyond it.
                let prefix = chunk[..len].to_vec();
                decode_guarded(&prefix, 1600).expect_err("it is not whole");
            }
            let mut longer = chunk.clone();
            longer.extend([7; 5]);
            assert_eq!(
                decode_guarded(&longer, 1600),
                Ok(sample()),
                "a tail is ignored"
            );
        }
    }
}

#[test]
fn flipped_bits_stay_inside() {
    for compressor in COMPRESSORS {
        for shuffle in [Shuffle::None, Shuffle::Byte, Shuffle::Bit] {
            let chunk = chunk(compressor, shuffle);
            for bit in 0..8 * chunk.len() {
                let mut flipped = chunk.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let _ = decode_guarded(&flipped, 1600);
            }
        }
    }
}

/// A chunk of a header and the rest as given.
fn made(flags: u8, typesize: u8, nbytes: i32, blocksize: i32, cbytes: i32, rest: &[u8]) -> Vec<u8> {
    let mut chunk = vec![2, 1, flags, typesize];
    for n in [nbytes, blocksize, cbytes] {
        chunk.extend(n.to_le_bytes());
    }
    chunk.extend(rest);
    chunk
}

#[test]
fn each_field_of_the_header_is_checked() {
    let stored = [7; 8];
    assert_eq!(
        decode_guarded(&made(0x02, 1, 8, 8, 24, &stored), 8),
        Ok(vec![7; 8])
    );
    let bad = [
        made(0x02, 1, 8, 8, 25, &stored), // cbytes beyond the value
        made(0x02, 1, 8, 8, 15, &stored), // and below the header
        made(0x02, 1, 8, 8, -1, &stored),
        made(0x02, 1, 8, 8, 23, &stored), // stored bytes beyond cbytes
        made(0x02, 1, 9, 9, 24, &stored),
        made(0x02, 1, i32::MAX, 8, 24, &stored),
        made(0x02, 1, -8, 8, 24, &stored),
        made(0x02, 0, 8, 8, 24, &stored), // typesize
        made(0x02, 1, 8, 0, 24, &stored), // blocksize
        made(0x02, 1, 8, -8, 24, &stored),
        made(0x0a, 1, 8, 8, 24, &stored), // reserved flag
        made(0xa2, 1, 8, 8, 24, &stored), // compressor 5
        made(0x30, 1, 8, 9, 24, &stored), // a block larger than the content
        made(0x30, 1, i32::MAX, i32::MAX, 24, &stored),
        made(0x30, 1, i32::MAX, 1, 24, &stored), // more blocks than the value has room for
        made(0x30, 1, 8, 8, 16, &[]),
    ];
    for chunk in bad {
        let nbytes = i32::from_le_bytes([chunk[4], chunk[5], chunk[6], chunk[7]]);
        assert!(
            matches!(Header::parse(&chunk), Err(Error::Corrupt(_))),
            "{chunk:?}"
        );
        assert!(decode_guarded(&chunk, nbytes.clamp(0, 64) as usize).is_err());
    }
    let mut other = made(0x02, 1, 8, 8, 24, &stored);
    other[0] = 5;
    assert_eq!(Header::parse(&other), Err(Error::Version { version: 5 }));
    other[0] = 2;
    other[1] = 2;
    assert!(matches!(Header::parse(&other), Err(Error::Corrupt(_))));
    assert_eq!(
        decode_guarded(&made(0x02, 1, 8, 8, 24, &stored), 9),
        Err(Error::Length {
            found: 8,
            expected: 9
        })
    );
}

#[test]
fn block_starts_and_stream_lengths_stay_inside() {
    // One block of 200 bytes, not split, in blosclz: 31 copies of 6 literals and a long run are not
    // needed, a stored stream does: start, length, content.
    let one = |start: i32, len: i32| {
        let mut rest = start.to_le_bytes().to_vec();
        rest.extend(len.to_le_bytes());
        rest.extend([9; 200]);
        made(0x10, 1, 200, 200, 16 + 4 + 4 + 200, &rest)
    };
    assert_eq!(decode_guarded(&one(20, 200), 200), Ok(vec![9; 200]));
    for (start, len) in [
        (0, 200),
        (16, 200),
        (19, 200),
        (21, 200),
        (-1, 200),
        (224, 200),
        (222, 200),
        (i32::MAX, 200),
        (i32::MIN, 200),
        (20, 201),
        (20, 0),
        (20, -1),
        (20, i32::MAX),
        (20, i32::MIN),
    ] {
        decode_guarded(&one(start, len), 200).expect_err("it reaches outside");
    }
}

/// A chunk of one blosclz stream.
fn blosclz(stream: &[u8], nbytes: i32) -> Vec<u8> {
    one_stream(0, nbytes as usize, stream)
}

#[test]
fn lengths_in_blosclz_streams_do_not_overflow() {
    // The first literal, then a run whose length continues for 9 million bytes of 255: beyond 2^31,
    // which overflows the `int` of c-blosc 1.21.6 and would lead to a memset of nearly 2^64 bytes.
    let mut stream = vec![0, 7, 0xe0];
    stream.extend(vec![255; 9_000_000]);
    stream.extend([0, 0, 0, 7]);
    decode_guarded(&blosclz(&stream, 1000), 1000).expect_err("it is far longer");
    // A reference before the start of the output, near and far.
    decode_guarded(&blosclz(&[0, 7, 0x20, 1, 0, 7], 5), 5).expect_err("it refers outside");
    decode_guarded(&blosclz(&[0, 7, 0x3f, 255, 0xff, 0xff, 0, 7], 5), 5)
        .expect_err("it refers outside");
    // Tokens without their ends.
    for stream in [
        &[0][..],
        &[3, 1, 2],
        &[0, 7, 0x20],
        &[0, 7, 0xe0],
        &[0, 7, 0xe0, 255],
        &[0, 7, 0x3f, 255, 1],
    ] {
        decode_guarded(&blosclz(stream, 200), 200).expect_err("it ends too early");
    }
}

#[test]
fn formats_before_zstd_0_8_are_refused() {
    // Streams with the old magic numbers, at the start and after a frame: libzstd may be built with
    // their decoders.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 4, 0x21, 0, 0, 9, 9, 9, 9];
    for old in [
        [0x1e, 0xb5, 0x2f, 0xfd],
        [0x22, 0xb5, 0x2f, 0xfd],
        [0x27, 0xb5, 0x2f, 0xfd],
    ] {
        for stream in [
            [&old[..], &[0; 20]].concat(),
            [&frame[..], &old, &[0; 20]].concat(),
        ] {
            let mut rest = 20i32.to_le_bytes().to_vec();
            rest.extend((stream.len() as i32).to_le_bytes());
            rest.extend(&stream);
            let chunk = made(0x90, 1, 200, 200, 24 + stream.len() as i32, &rest);
            assert!(
                matches!(decode_guarded(&chunk, 200), Err(Error::Corrupt(what)) if what.contains("zstd"))
            );
        }
    }
}

/// One block of one stream.
fn one_stream(flags: u8, nbytes: usize, stream: &[u8]) -> Vec<u8> {
    let mut rest = 20i32.to_le_bytes().to_vec();
    rest.extend((stream.len() as i32).to_le_bytes());
    rest.extend(stream);
    made(
        flags | 0x10,
        1,
        nbytes as i32,
        nbytes as i32,
        24 + stream.len() as i32,
        &rest,
    )
}

/// The sizes that streams state are not trusted: memory is allocated after the chunk was checked.
#[test]
fn more_content_than_the_streams_can_hold_is_refused() {
    // A zstd frame with two blocks, which contain 300 bytes and at most 128 KiB.
    let zstd = [
        &[0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x40][..],
        &(300u32 << 3 | 1 << 1).to_le_bytes()[..3],
        &[7],
        &(4u32 << 3 | 2 << 1 | 1).to_le_bytes()[..3],
        &[1, 2, 3, 4],
    ]
    .concat();
    for (flags, stream, most) in [
        (1 << 5, &[0xff; 40][..], 40 * 255),
        (3 << 5, &[0x78; 40], 40 * 1032),
        (4 << 5, &zstd, 300 + (128 << 10)),
    ] {
        for nbytes in [most + 1, 64 << 20, 1 << 29] {
            let chunk = one_stream(flags, nbytes, stream);
            assert_eq!(
                Header::parse(&chunk).map(|header| header.nbytes()),
                Ok(nbytes)
            );
            let error = Chunk::parse(&chunk)
                .expect_err("it cannot hold that")
                .to_string();
            assert!(error.contains("cannot hold"), "{error}");
        }
        assert_eq!(
            Chunk::parse(&one_stream(flags, most, stream)).map(|chunk| chunk.nbytes()),
            Ok(most)
        );
    }
    // A length of 512 MiB, then literals.
    let snappy = [&[0x80, 0x80, 0x80, 0x80, 0x02][..], &[9; 40]].concat();
    let error = Chunk::parse(&one_stream(2 << 5, 1 << 29, &snappy))
        .expect_err("it cannot hold that")
        .to_string();
    assert!(error.contains("cannot hold"), "{error}");
    // The tokens of blosclz are counted.
    Chunk::parse(&one_stream(0, 64 << 20, &[0, 7, 0x20, 0, 0, 7]))
        .expect_err("it cannot hold that");
}

#[test]
fn snappy_streams_of_other_lengths_are_refused() {
    // A literal of 4 bytes, then a copy of 60 from one byte back.
    let stream = [64, 3 << 2, 1, 2, 3, 4, 59 << 2 | 2, 1, 0];
    let content = [&[1, 2, 3][..], &[4; 61]].concat();
    let chunk = |len: usize, stream: &[u8]| one_stream(2 << 5, len, stream);
    assert_eq!(decode_guarded(&chunk(64, &stream), 64), Ok(content));
    for len in [63, 65, 128] {
        let error = decode_guarded(&chunk(len, &stream), len)
            .expect_err("another length")
            .to_string();
        assert_eq!(
            error,
            format!("block 0, stream 0: decodes to 64 bytes, but {len} are expected")
        );
    }
    // States 65 and ends after 64; refers outside; a length without its end.
    for stream in [
        &[&[65], &stream[1..]].concat()[..],
        &[4, 3 << 2 | 2, 1, 0],
        &[0xff; 3],
    ] {
        decode_guarded(&chunk(65, stream), 65).expect_err("it is broken");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_after_a_header_stay_inside(
        flags in any::<u8>(),
        typesize in 0u8..20,
        nbytes in 0i32..3000,
        blocksize in 0i32..3000,
        rest in prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(20), Just(0x28)], 0..300),
    ) {
        let chunk = made(flags, typesize, nbytes, blocksize, 16 + rest.len() as i32, &rest);
        let _ = decode_guarded(&chunk, nbytes as usize);
    }

    #[test]
    fn changed_chunks_stay_inside(
        compressor in prop::sample::select(COMPRESSORS.to_vec()),
        shuffle in prop::sample::select(vec![Shuffle::None, Shuffle::Byte, Shuffle::Bit]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut chunk = chunk(compressor, shuffle);
        for (at, byte) in changes {
            // The sizes in the header stay, so that the blocks are examined.
            let n = chunk.len() - 16;
            chunk[16 + at.index(n)] = byte;
        }
        let _ = decode_guarded(&chunk, 1600);
    }
}
