//! Tests shards of random shapes and codecs against their input.

use ndzarr_codec::CodecChain;
use ndzarr_model::{CodecConfig, IndexLocation, ShardingConfig};
use proptest::prelude::*;

use crate::it::support::*;

/// Codecs of an inner chunk, without the transpose.
fn inner_codecs() -> impl Strategy<Value = Vec<CodecConfig>> {
    prop::sample::select(vec![
        vec![LITTLE],
        vec![BIG],
        vec![LITTLE, GZIP],
        vec![BIG, ZSTD, CRC32C],
        vec![BIG, CRC32C],
    ])
}

fn index_codecs(ndim: usize) -> impl Strategy<Value = Vec<CodecConfig>> {
    let reversed: Vec<usize> = (0..=ndim).rev().collect();
    prop::sample::select(vec![
        vec![LITTLE],
        vec![BIG],
        vec![LITTLE, CRC32C],
        vec![BIG, CRC32C, CRC32C],
        vec![transpose(&reversed), BIG, CRC32C],
    ])
}

fn locations() -> impl Strategy<Value = IndexLocation> {
    prop::sample::select(vec![IndexLocation::Start, IndexLocation::End])
}

#[derive(Clone, Debug)]
struct Case {
    shape: Vec<u64>,
    chain: Vec<CodecConfig>,
}

/// Shards whose inner chunks, of random shape, may be shards of smaller ones.
fn cases() -> impl Strategy<Value = Case> {
    (0usize..4).prop_flat_map(|ndim| {
        let axes: Vec<usize> = (0..ndim).collect();
        let counts = || prop::collection::vec(1u64..4, ndim);
        let level = || {
            (
                locations(),
                index_codecs(ndim),
                Just(axes.clone()).prop_shuffle(),
            )
        };
        (
            (counts(), counts(), counts()),
            (level(), level(), level()),
            inner_codecs(),
            any::<bool>(),
            0usize..3,
        )
            .prop_map(
                |(
                    (innermost, per_inner, per_outer),
                    (inner, outer, front),
                    codecs,
                    nested,
                    outside,
                )| {
                    let stored = |shape: &[u64], order: &[usize]| {
                        order.iter().map(|&axis| shape[axis]).collect::<Vec<_>>()
                    };
                    let times = |a: &[u64], b: &[u64]| {
                        a.iter().zip(b).map(|(a, b)| a * b).collect::<Vec<_>>()
                    };
                    // The shapes are over the logical axes; each level begins with a transpose.
                    let mut chain = vec![transpose(&inner.2)];
                    chain.extend(codecs);
                    let mut chunk = innermost;
                    if nested {
                        let shard = times(&chunk, &per_inner);
                        let config =
                            configure(stored(&stored(&chunk, &front.2), &inner.2), &inner, chain);
                        chain = vec![transpose(&inner.2), config];
                        chunk = shard;
                    }
                    let shape = times(&chunk, &per_outer);
                    let config = configure(stored(&chunk, &front.2), &outer, chain);
                    let mut chain = vec![transpose(&front.2), config];
                    chain.extend([GZIP, CRC32C].into_iter().take(outside));
                    Case { shape, chain }
                },
            )
    })
}

fn configure(
    chunk_shape: Vec<u64>,
    (location, index_codecs, _): &(IndexLocation, Vec<CodecConfig>, Vec<usize>),
    codecs: Vec<CodecConfig>,
) -> CodecConfig {
    CodecConfig::Sharding(Box::new(ShardingConfig {
        chunk_shape,
        codecs: specs(&codecs),
        index_codecs: specs(index_codecs),
        index_location: *location,
        payload: Default::default(),
    }))
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(case in cases(), holes in 0u16..4) {
        let n: u64 = case.shape.iter().product();
        // Some runs of the fill value, so that whole inner chunks are empty.
        let elements = u16s((0..n as u16).map(|i| if (i / 5) % 4 < holes { 9 } else { i * 3 }));
        let chain = try_bind(&case.chain, &U16, &9u16.to_ne_bytes(), case.shape.len()).expect("it binds");
        chain.check(&case.shape).expect("the shape fits");
        let value = encode(&chain, &elements, &case.shape).expect("it encodes");
        prop_assert!((value.len() as u64) < chain.encoded_limit(&case.shape));
        prop_assert_eq!(decode_full(&chain, &value, &case.shape).expect("it decodes"), elements);
    }

    #[test]
    fn shards_with_changed_bytes_make_no_panic(
        case in cases(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let n: u64 = case.shape.iter().product();
        let chain = try_bind(&case.chain, &U16, &9u16.to_ne_bytes(), case.shape.len()).expect("it binds");
        chain.check(&case.shape).expect("the shape fits");
        let mut value = encode(&chain, &u16s(0..n as u16), &case.shape).expect("it encodes");
        for (at, byte) in changes {
            let at = at.index(value.len());
            value[at] = byte;
        }
        let _ = decode(&chain, &value, &case.shape);
        let _ = decode(&chain, &value[..cut.index(value.len())], &case.shape);
    }
}

#[test]
fn every_prefix_of_a_shard_is_refused() {
    let chain: CodecChain = bind(
        &[sharded(sharding(
            &[2, 3],
            &[LITTLE, ZSTD],
            IndexLocation::End,
        ))],
        &U16,
        2,
    );
    let elements = u16s(0..36);
    let shard = encode(&chain, &elements, &[6, 6]).expect("it encodes");
    for len in 0..shard.len() {
        decode(&chain, &shard[..len], &[6, 6]).expect_err("it is not whole");
    }
    // With the index at the start, the end of the last inner chunk.
    let config = sharding(&[2, 3], &[LITTLE, ZSTD], IndexLocation::Start);
    let chain = bind(&[sharded(config)], &U16, 2);
    let shard = encode(&chain, &elements, &[6, 6]).expect("it encodes");
    for len in 0..shard.len() {
        decode(&chain, &shard[..len], &[6, 6]).expect_err("it is not whole");
    }
}

#[test]
fn zeros_of_either_sign_are_not_the_same() {
    // V3-T11: fill -0.0 and a chunk of +0.0.
    let data_type = ndzarr_model::DataType::Float { bits: 32 };
    let config = sharding(&[1], &[LITTLE], IndexLocation::End);
    let chain =
        try_bind(&[sharded(config)], &data_type, &(-0.0f32).to_ne_bytes(), 1).expect("it binds");
    let elements: Vec<u8> = [0.0f32, -0.0]
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect();
    let shard = encode(&chain, &elements, &[2]).expect("it encodes");
    assert_eq!(shard.len(), 4 + 36);
    assert_eq!(
        decode_full(&chain, &shard, &[2]).expect("it decodes"),
        elements
    );
}
