//! Tests shards of Zarr v3 and of the draft, byte by byte.

use ndzarr_codec::{Access, CodecChain, ShardBuilder, Workspace};
use ndzarr_model::IndexLocation::{self, End, Start};
use ndzarr_model::PayloadBounds;

use crate::it::support::*;

/// Shards of bytes, in inner chunks of raw bytes.
fn shards_of(chunk_shape: &[u64], location: IndexLocation) -> CodecChain {
    bind(
        &[sharded(sharding(chunk_shape, &[PLAIN], location))],
        &U8,
        chunk_shape.len(),
    )
}

#[test]
fn t19_a_transpose_in_front() {
    let chain = bind(
        &[
            transpose(&[1, 0]),
            sharded(sharding(&[2, 2], &[PLAIN], End)),
        ],
        &U8,
        2,
    );
    check(
        &chain,
        &[1, 2, 3, 4, 5, 6, 7, 8],
        &[4, 2],
        "01030204 05070608 0000000000000000 0400000000000000 0400000000000000 0400000000000000 f6ff6f8f",
    );
}

#[test]
fn t20_empty_inner_chunks() {
    let elements = [1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let shard = format!(
        "01020304 0000000000000000 0400000000000000 {} 667adc7a",
        "ff".repeat(48)
    );
    assert_eq!(hex(&shard).len(), 72);
    check(&shards_of(&[2, 2], End), &elements, &[4, 4], &shard);
}

#[test]
fn t21_the_index_at_the_start() {
    let shard = format!(
        "2400000000000000 0200000000000000 {} 2609790d 0102",
        "ff".repeat(16)
    );
    check(&shards_of(&[2], Start), &[1, 2, 0, 0], &[4], &shard);
}

#[test]
fn t22_an_index_in_big_endian_without_checksum() {
    let mut config = sharding(&[2], &[PLAIN], End);
    config.index_codecs = specs(&[BIG]);
    let chain = bind(&[sharded(config)], &U8, 1);
    check(
        &chain,
        &[0, 0, 1, 2],
        &[4],
        &format!("0102 {} 0000000000000000 0000000000000002", "ff".repeat(16)),
    );
}

#[test]
fn t23_gaps_and_any_order() {
    let shard = "aa0304bbcc0102dd 0500000000000000 0200000000000000 0100000000000000 0200000000000000 10a1ab50";
    let decoded = decode_full(&shards_of(&[2], End), &hex(shard), &[4]).expect("it decodes");
    assert_eq!(decoded, [1, 2, 3, 4]);
}

/// A shard of 4 bytes in inner chunks of 2 with an index of plain numbers.
fn with_index(
    payload: &[u8],
    entries: [[u64; 2]; 2],
    location: IndexLocation,
) -> (CodecChain, Vec<u8>) {
    let mut config = sharding(&[2], &[PLAIN], location);
    config.index_codecs = specs(&[LITTLE]);
    let index: Vec<u8> = entries
        .iter()
        .flatten()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let value = match location {
        End => [payload, &index].concat(),
        Start => [&index, payload].concat(),
    };
    (bind(&[sharded(config)], &U8, 1), value)
}

const EMPTY: u64 = u64::MAX;

#[test]
fn t24_entries_that_make_no_sense() {
    let good = [0, 2];
    for bad in [
        [EMPTY, 0],
        [0, EMPTY],
        [1000, 2],
        [35, 2],
        [2, EMPTY - 1],
        [EMPTY - 1, 2],
        [EMPTY - 1, EMPTY - 1],
        [0, u64::MAX >> 1],
        [0, 1],
        [0, 3],
    ] {
        for entries in [[bad, good], [good, bad]] {
            let (chain, value) = with_index(&[1, 2, 3, 4], entries, End);
            assert!(
                decode(&chain, &value, &[4]).is_err_and(|error| error.is_corrupt()),
                "{bad:?}"
            );
        }
    }
    // The same bytes twice, overlaps, and even the index itself are valid.
    let (chain, value) = with_index(&[1, 2, 3, 4], [[1, 2], [2, 2]], End);
    assert_eq!(
        decode_full(&chain, &value, &[4]).expect("it decodes"),
        [2, 3, 3, 4]
    );
    let (chain, value) = with_index(&[1, 2, 3, 4], [[3, 2], [34, 2]], End);
    assert_eq!(
        decode_full(&chain, &value, &[4]).expect("it decodes"),
        [4, 3, 0, 0]
    );
    // A shard of 2 bytes, and an index with a wrong checksum.
    decode(&chain, &[1, 2], &[4]).expect_err("no room for the index");
    decode(&chain, &[], &[4]).expect_err("no room for the index");
    let mut shard = hex(
        "aa0304bbcc0102dd 0500000000000000 0200000000000000 0100000000000000 0200000000000000 10a1ab50",
    );
    for bit in 0..8 * 36 {
        shard[8 + bit / 8] ^= 1 << (bit % 8);
        decode(&shards_of(&[2], End), &shard, &[4]).expect_err("the checksum is another");
        shard[8 + bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn t25_a_shard_of_nothing() {
    let shard = encode(&shards_of(&[2], End), &[0; 4], &[4]).expect("it encodes");
    assert_eq!(shard[..32], [0xff; 32]);
    assert_eq!(shard.len(), 36);
    let chain = try_bind(
        &[sharded(sharding(&[2], &[LITTLE], End))],
        &U16,
        &7u16.to_ne_bytes(),
        1,
    )
    .expect("it binds");
    assert_eq!(
        decode_full(&chain, &shard, &[4]).expect("it decodes"),
        u16s([7; 4])
    );
}

#[test]
fn t26_shapes_and_index_codecs_that_do_not_fit() {
    shards_of(&[2], End)
        .check(&[3])
        .expect_err("2 does not divide 3");
    shards_of(&[2], End)
        .check(&[1])
        .expect_err("2 does not divide 1");
    for chunk_shape in [&[][..], &[0], &[1, 1]] {
        try_bind(
            &[sharded(sharding(chunk_shape, &[PLAIN], End))],
            &U8,
            &[0],
            1,
        )
        .expect_err("no such shape");
    }
    for codecs in [
        &[LITTLE, ZSTD][..],
        &[LITTLE, CRC32C, GZIP],
        &[PLAIN],
        &[CRC32C],
        &[],
    ] {
        let mut config = sharding(&[2], &[PLAIN], End);
        config.index_codecs = specs(codecs);
        try_bind(&[sharded(config)], &U8, &[0], 1).expect_err("no size that is known");
    }
    // Inner chunks too large for memory.
    let config = sharding(&[1 << 62, 4], &[PLAIN], End);
    try_bind(&[sharded(config)], &U8, &[0], 2).expect_err("too large");
}

#[test]
fn t27_codecs_behind_a_shard() {
    let shard = format!(
        "01020304 0000000000000000 0400000000000000 {} 667adc7a",
        "ff".repeat(48)
    );
    let elements = [1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for outer in [&[CRC32C][..], &[GZIP], &[ZSTD, CRC32C], &[CRC32C, GZIP]] {
        let inner = sharded(sharding(&[2, 2], &[PLAIN], End));
        let chain = bind(&[&[inner], outer].concat(), &U8, 2);
        let bytes = bind(&[&[PLAIN], outer].concat(), &U8, 1);
        let value = encode(&bytes, &hex(&shard), &[72]).expect("it encodes");
        assert_eq!(
            decode_full(&chain, &value, &[4, 4]).expect("it decodes"),
            elements
        );
        assert_eq!(
            encode(&chain, &elements, &[4, 4]).expect("it encodes"),
            value
        );
    }
}

#[test]
fn t28_shards_in_shards() {
    // Offsets in an inner shard count from its first byte. The inner indices have no checksum.
    let mut inner = sharding(&[1], &[PLAIN], End);
    inner.index_codecs = specs(&[LITTLE]);
    let mut outer = sharding(&[2], &[sharded(inner)], Start);
    outer.index_codecs = specs(&[BIG]);
    let chain = bind(&[sharded(outer)], &U8, 1);
    let value = format!(
        "{} 0000000000000020 0000000000000022 \
         0506 0000000000000000 0100000000000000 0100000000000000 0100000000000000",
        "ff".repeat(16)
    );
    check(&chain, &[0, 0, 5, 6], &[4], &value);
}

#[test]
fn t66_an_index_far_larger_than_the_value() {
    let chain = bind(&[sharded(sharding(&[1, 1], &[PLAIN], End))], &U8, 2);
    if cfg!(target_pointer_width = "32") {
        chain
            .check(&[1 << 25, 1 << 25])
            .expect_err("a chunk beyond memory");
        return;
    }
    chain.check(&[1 << 25, 1 << 25]).expect("it could be");
    let error = decode(&chain, &[1, 2, 3, 4, 5, 6, 7], &[1 << 25, 1 << 25]).expect_err("it is not");
    // 2^50 entries of 16 bytes and the checksum.
    assert!(error.to_string().contains("18014398509481988"), "{error}");
    chain
        .check(&[1 << 31, 1 << 31])
        .expect_err("an index beyond memory");
}

#[test]
fn v3_130_empties_that_old_writers_shifted() {
    let shifted = [31, EMPTY];
    let (chain, value) = with_index(&[1, 2], [shifted, [32, 2]], Start);
    assert_eq!(
        decode_full(&chain, &value, &[4]).expect("it decodes"),
        [0, 0, 1, 2]
    );
    let (chain, value) = with_index(&[1, 2], [shifted, [0, 2]], End);
    decode(&chain, &value, &[4]).expect_err("those had the index at the start");
}

#[test]
fn d3_t43_draft_entries_stay_out_of_the_index() {
    // D3-T43: the draft's index is plain numbers at the end; with an offset of 2 the chunk overlaps
    // it.
    let read = |payload: PayloadBounds, entry: [u64; 2], location| {
        let (_, value) = with_index(&[1, 2, 3], [entry, [EMPTY, EMPTY]], location);
        let mut config = sharding(&[2], &[PLAIN], location);
        config.index_codecs = specs(&[LITTLE]);
        config.payload = payload;
        decode_full(&bind(&[sharded(config)], &U8, 1), &value, &[4]).ok()
    };
    assert_eq!(
        read(PayloadBounds::BeforeIndex, [1, 2], End),
        Some(vec![2, 3, 0, 0])
    );
    assert_eq!(read(PayloadBounds::BeforeIndex, [2, 2], End), None);
    assert_eq!(
        read(PayloadBounds::Shard, [2, 2], End),
        Some(vec![3, 2, 0, 0])
    );
    assert_eq!(
        read(PayloadBounds::BeforeIndex, [32, 2], Start),
        Some(vec![1, 2, 0, 0])
    );
    assert_eq!(read(PayloadBounds::BeforeIndex, [31, 2], Start), None);
}

#[test]
fn parts_of_a_shard_go_together() {
    // As the engine does: reads the index from the tail, then inner chunks from their positions;
    // and the reverse.
    let chain = shards_of(&[2, 2], End);
    let Access::Indexed(sharding) = chain.access() else {
        panic!("it is a shard")
    };
    let mut workspace = Workspace::new();
    let shard = encode(&chain, &[1, 2, 0, 0, 3, 4, 0, 0], &[2, 4]).expect("it encodes");
    let index_len = sharding.index_len(&[2, 4]).expect("it is known");
    let layout = sharding.layout(&[2, 4]);
    assert_eq!(
        (index_len, layout.index_len(), layout.counts()),
        (36, 36, &[1, 2][..])
    );
    let shard = bytes::Bytes::from(shard);
    let tail = shard.slice(shard.len() - index_len..);
    let index = sharding
        .decode_index(&tail, &[2, 4], shard.len() as u64, &mut workspace)
        .expect("it decodes");
    assert_eq!(
        (
            index.n_chunks(),
            index.entry(0).expect("fine"),
            index.entry(1).expect("fine")
        ),
        (2, Some(0..4), None)
    );
    index.entry(2).expect_err("there are two");
    sharding
        .decode_index(&tail.slice(1..), &[2, 4], 100, &mut workspace)
        .expect_err("another length");
    let mut new = ShardBuilder::new(layout).expect("there is memory for two entries");
    assert_eq!(new.add(4).expect("it is small"), 0);
    new.skip();
    let (at, index) = sharding.end(new, &mut workspace).expect("it encodes");
    assert_eq!((at, index), (4, tail.to_vec()));
}
