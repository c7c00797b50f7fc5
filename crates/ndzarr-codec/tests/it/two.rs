//! Compares two values decoded at once with each decoded separately.

use std::convert::Infallible;

use ndzarr_codec::{CodecChain, Workspace};
use ndzarr_model::{CodecConfig, CodecSpec, EdgeBlocks, N5BlockConfig};

use crate::it::support::{
    BIG, CRC32C, GZIP, LITTLE, PLAIN, U8, U16, ZSTD, bind, decode, encode, gather, transpose,
};

const ZLIB: CodecConfig = CodecConfig::Zlib { level: 1 };

fn n5(use_zlib: bool) -> CodecConfig {
    let gzip = CodecSpec::from(CodecConfig::N5Gzip { level: 1, use_zlib });
    CodecConfig::N5Block(Box::new(N5BlockConfig {
        compression: Some(gzip),
        edge_blocks: EdgeBlocks::default(),
    }))
}

/// Numbers that deflate encodes as literals and short matches.
fn noise(seed: u32, n: usize) -> Vec<u8> {
    let next = |state: &u32| Some(state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let numbers = std::iter::successors(Some(seed), next)
        .skip(1)
        .map(|state| (state >> 26) as u16 + 3000);
    numbers.take(n).flat_map(u16::to_ne_bytes).collect()
}

/// The elements of both in C order, and their extents.
fn decode_two(
    chain: &CodecChain,
    encoded: [&[u8]; 2],
    shapes: [&[u64]; 2],
) -> Option<[(Vec<u8>, Vec<usize>); 2]> {
    let mut workspace = Workspace::new();
    let both = chain.decode_two(encoded, shapes, &mut workspace)?;
    Some(both.map(|ahead| {
        let mut found = None;
        let put = chain.put_ahead(ahead, &mut workspace, |elements, layout| {
            found = Some(gather(elements, layout));
            Ok::<_, Infallible>(())
        });
        assert_eq!(put, Ok(()));
        found.expect("put was called")
    }))
}

const SHAPES: [[u64; 2]; 2] = [[200, 100], [170, 131]];

fn two_values(chain: &CodecChain) -> [Vec<u8>; 2] {
    [0, 1].map(|i| {
        let elements = noise(i as u32, SHAPES[i].iter().product::<u64>() as usize);
        encode(chain, &elements, &SHAPES[i]).expect("it encodes")
    })
}

/// Checks that both values, if they can be decoded at once, equal their separate results. Returns
/// true if they can be.
fn agrees(chain: &CodecChain, encoded: [&[u8]; 2]) -> bool {
    let Some(both) = decode_two(chain, encoded, [&SHAPES[0], &SHAPES[1]]) else {
        return false;
    };
    for (i, found) in both.into_iter().enumerate() {
        assert_eq!(
            decode(chain, encoded[i], &SHAPES[i]).expect("it decodes"),
            found
        );
    }
    true
}

#[test]
fn chains_of_deflate_decode_two() {
    let chains = [
        vec![LITTLE, ZLIB],
        vec![BIG, ZLIB],
        vec![LITTLE, GZIP],
        vec![transpose(&[1, 0]), BIG, GZIP],
        vec![n5(false)],
        vec![transpose(&[1, 0]), n5(true)],
    ];
    for configs in chains {
        let chain = bind(&configs, &U16, 2);
        assert!(chain.decodes_two(), "{configs:?}");
        let [a, b] = two_values(&chain);
        assert!(agrees(&chain, [&a, &b]), "{configs:?}");
    }
}

#[test]
fn others_do_not() {
    for configs in [
        vec![LITTLE],
        vec![LITTLE, ZSTD],
        vec![LITTLE, ZLIB, CRC32C],
        vec![LITTLE, GZIP, GZIP],
    ] {
        let chain = bind(&configs, &U16, 2);
        assert!(!chain.decodes_two(), "{configs:?}");
        let [a, b] = two_values(&chain);
        assert!(
            decode_two(&chain, [&a, &b], [&SHAPES[0], &SHAPES[1]]).is_none(),
            "{configs:?}"
        );
    }
}

#[test]
fn small_chunks_and_other_ranks_are_left_alone() {
    let chain = bind(&[PLAIN, ZLIB], &U8, 1);
    let value = encode(&chain, &noise(0, 1000), &[2000]).expect("it encodes");
    assert!(decode_two(&chain, [&value, &value], [&[2000]; 2]).is_none());
    let large = encode(&chain, &noise(0, 50_000), &[100_000]).expect("it encodes");
    assert!(decode_two(&chain, [&large, &large], [&[100_000]; 2]).is_some());
    assert!(decode_two(&chain, [&large, &value], [&[100_000], &[2000]]).is_none());
    assert!(decode_two(&chain, [&large, &large], [&[100_000], &[1000, 100]]).is_none());
    assert!(decode_two(&chain, [&large, &large], [&[100_000], &[u64::MAX]]).is_none());
}

/// Changes or removes any byte of a value: a value that is still accepted gives the same result as
/// separately.
#[test]
fn damage_is_left_to_each_by_itself() {
    for configs in [
        vec![LITTLE, ZLIB],
        vec![LITTLE, GZIP],
        vec![n5(false)],
        vec![n5(true)],
    ] {
        let chain = bind(&configs, &U16, 2);
        let [a, b] = two_values(&chain);
        let ends = |len: usize| {
            (0..40)
                .chain((40..len - 20).step_by(997))
                .chain(len - 20..len)
        };
        for place in ends(b.len()) {
            let mut broken = b.clone();
            broken[place] ^= 0x55;
            // Only the header has bytes without a meaning.
            let taken = agrees(&chain, [&a, &broken]);
            assert!(
                !taken || place < 40 && decode(&chain, &broken, &SHAPES[1]).is_ok(),
                "byte {place}"
            );
            assert!(!agrees(&chain, [&a, &b[..place]]), "up to byte {place}");
            assert!(!agrees(&chain, [&b[..place], &b]), "up to byte {place}");
        }
    }
}

/// V2-T30: numcodecs ignores bytes after a stream of zlib. After gzip they would be another member.
#[test]
fn what_is_behind_a_value_v2_t30() {
    let chain = bind(&[LITTLE, ZLIB], &U16, 2);
    let [a, b] = two_values(&chain);
    let longer = [&b[..], b"anything"].concat();
    assert!(agrees(&chain, [&a, &longer]));
    let chain = bind(&[LITTLE, GZIP], &U16, 2);
    let [a, b] = two_values(&chain);
    let empty = encode(&chain, &[], &[0, 0]).expect("it encodes");
    let members = [&b[..], &empty].concat();
    assert!(!agrees(&chain, [&a, &members]));
    assert!(decode(&chain, &members, &SHAPES[1]).is_ok());
}
