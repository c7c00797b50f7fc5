//! c-blosc is the oracle: it must write the same bytes, and decode ours.

use proptest::prelude::*;

use super::*;
use crate::compress::compress_by_c_blosc;
use crate::decompress;

#[derive(Clone, Copy, Debug)]
enum Content {
    Constant,
    Ramp,
    Noise,
    Sparse,
    Bits,
    /// Noise except for a run of this many bytes: compression saves about as much as the lengths
    /// take.
    Run(usize),
    /// Noise in the first byte of every group of this many bytes.
    Planes(usize),
}

impl Content {
    fn bytes(self, len: usize) -> Vec<u8> {
        let mut state = len as u32 | 1;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let byte = |at| match self {
            Self::Constant => 7,
            Self::Ramp => (at / 3) as u8,
            Self::Noise => noise(),
            Self::Sparse => noise() / 250 * noise(),
            Self::Bits => noise() & 1,
            Self::Run(n) if (len / 3..len / 3 + n).contains(&at) => 0,
            Self::Run(_) => noise(),
            Self::Planes(n) if at % n > 0 => (at / 1000) as u8,
            Self::Planes(_) => noise(),
        };
        (0..len).map(byte).collect()
    }
}

/// Checks that both encoders write the same bytes, and that they decode. Both reuse memory.
fn check(content: Content, len: usize, parameters: &Compress, scratch: &mut Vec<u8>) {
    let what = format!("{len} bytes of {content:?}, {parameters:?}");
    let src = content.bytes(len);
    let mut own = vec![9; 5];
    let mut theirs = vec![9; 5];
    assert!(
        can_encode(parameters) || parameters.shuffle == Shuffle::Bit,
        "{what}"
    );
    compress(len, &mut &src[..], parameters, &mut own, scratch).expect("it encodes");
    compress_by_c_blosc(&src, parameters, &mut theirs).expect("it encodes");
    assert!(
        own == theirs,
        "{what}: {} and {} bytes",
        own.len(),
        theirs.len()
    );
    let mut decoded = vec![0xa5; len];
    decompress(&own, &mut decoded).expect("it decodes");
    assert!(decoded == src, "{what}");
}

const CONTENTS: [Content; 8] = [
    Content::Constant,
    Content::Ramp,
    Content::Noise,
    Content::Sparse,
    Content::Bits,
    Content::Run(30),
    Content::Planes(2),
    Content::Planes(4),
];

#[test]
fn edges_are_as_c_blosc_has_them() {
    let mut scratch = Vec::new();
    for typesize in [1, 2, 3, 4, 7, 8, 15, 16, 17, 255] {
        for shuffle in [Shuffle::None, Shuffle::Byte] {
            let parameters = |level, blocksize| Compress {
                compressor: Compressor::Lz4,
                level,
                shuffle,
                typesize,
                blocksize,
            };
            if !can_encode(&parameters(5, 0)) {
                continue;
            }
            let around = [16, 127, 128 * typesize, 32 << 10, 64 << 10];
            let lengths = [0, 1, 15, 200]
                .into_iter()
                .chain(around.iter().flat_map(|&n| n - 1..=n + 1));
            for len in lengths {
                for content in CONTENTS {
                    check(content, len, &parameters(5, 0), &mut scratch);
                }
                for (level, blocksize) in [
                    (0, 0),
                    (1, 0),
                    (9, 0),
                    (5, 1),
                    (9, 128),
                    (3, 1000),
                    (7, 1 << 20),
                ] {
                    check(
                        Content::Planes(typesize.min(4)),
                        len,
                        &parameters(level, blocksize),
                        &mut scratch,
                    );
                }
            }
        }
    }
}

#[test]
fn whole_and_short_blocks_are_as_c_blosc_has_them() {
    let mut scratch = Vec::new();
    for typesize in [1, 2, 4, 8, 12] {
        for level in 1..=9 {
            let parameters = Compress {
                level,
                typesize,
                ..Compress::default()
            };
            let blocksize = blocksize(usize::MAX >> 1, &parameters);
            for len in [blocksize, 2 * blocksize - 1, 2 * blocksize + 5] {
                check(
                    Content::Planes(typesize.clamp(2, 4)),
                    len,
                    &parameters,
                    &mut scratch,
                );
            }
        }
    }
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        prop::sample::select(CONTENTS.to_vec()),
        (0..200usize).prop_map(Content::Run),
        (1..9usize).prop_map(Content::Planes),
    ]
}

fn parameters() -> impl Strategy<Value = Compress> {
    let shuffled = prop_oneof![prop::sample::select(vec![1, 2, 4, 8]), 1..LARGE_ELEMENT];
    let order = prop_oneof![
        4 => (Just(Shuffle::Byte), shuffled),
        1 => (Just(Shuffle::None), 1..=255usize),
        // Only c-blosc encodes these for lz4, because its version is vectorized; for snappy this
        // code does.
        1 => (Just(Shuffle::Bit), prop_oneof![1..=16usize, 1..=255usize]),
    ];
    let blocksize = prop_oneof![3 => Just(0), 2 => 1..4096usize, 1 => 4096..600_000usize];
    (order, 0..=9u8, blocksize).prop_map(|((shuffle, typesize), level, blocksize)| Compress {
        compressor: Compressor::Lz4,
        level,
        shuffle,
        typesize,
        blocksize,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_chunk_is_as_c_blosc_has_it(
        content in content(),
        len in prop_oneof![0..600usize, 0..9000usize, 0..300_000usize],
        parameters in parameters(),
    ) {
        check(content, len, &parameters, &mut Vec::new());
    }
}
