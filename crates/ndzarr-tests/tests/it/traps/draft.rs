//! Traps of the draft of Zarr v3.

use ndarray::array;
use ndzarr::{AnyArray, Array, ArrayRequest, DataType, ErrorKind, Format, MemoryStore, s};

use super::store::*;

fn draft(format: Format, chunks_per_shard: Option<u64>) -> MemoryStore {
    let store = MemoryStore::new();
    let mut request = ArrayRequest::new(vec![6], vec![2], DataType::UInt { bits: 8 });
    request.shard_shape = chunks_per_shard.map(|n| vec![2 * n]);
    AnyArray::builder(&request.shape)
        .request(request.clone())
        .format(format)
        .create((&store, "sh"))
        .expect("a new array");
    store
}

#[test]
fn d3_t19_t20_t43_shards_as_zarr_python_wrote_them() {
    let c0 = "0304 0102 0200000000000000 0200000000000000 0000000000000000 0200000000000000";
    let c1 = format!("0909 0000000000000000 0200000000000000 {}", "ff".repeat(16));
    for (format, prefix) in [
        (Format::DraftA, "data/sh/"),
        (Format::DraftB, "data/root/sh/"),
    ] {
        let store = draft(format, Some(2));
        store.set(&format!("{prefix}c0"), hex(c0)).expect("a key");
        store.set(&format!("{prefix}c1"), hex(&c1)).expect("a key");
        let array = Array::<u8>::open((&store, "sh")).expect("an array");
        assert_eq!(
            array.read(s![..]).expect("a read"),
            array![1, 2, 3, 4, 9, 9]
        );

        // T43: an offset that reaches into the index.
        let mut broken = hex(&c1);
        broken[2] = 2;
        store.set(&format!("{prefix}c1"), broken).expect("a key");
        assert_eq!(
            array.read(s![..]).expect_err("broken").kind(),
            ErrorKind::Corrupt
        );
    }
}

#[test]
fn d3_t22_broken_shards_are_errors() {
    let store = draft(Format::DraftA, Some(2));
    let array = Array::<u8>::open((&store, "sh")).expect("an array");
    let fill = "ff".repeat(8);
    let zero = "00".repeat(8);
    for shard in [
        "00".repeat(20),
        format!("feffffffffffffff 0400000000000000 {fill}{fill}"),
        format!("{fill}{zero}{fill}{fill}"),
    ] {
        store.set("data/sh/c0", hex(&shard)).expect("a key");
        assert_eq!(
            array.read(s![0..2]).expect_err("broken").kind(),
            ErrorKind::Corrupt
        );
    }
}

#[test]
fn d3_t23_the_index_is_full_at_the_edge() {
    let store = MemoryStore::new();
    let array = Array::<u8>::builder([3, 3])
        .chunks([1, 1])
        .shards([2, 2])
        .format(Format::DraftA)
        .create((&store, "a"));
    array
        .and_then(|a| a.write(s![2, 2], &ndarray::arr0(5)))
        .expect("a write");
    assert_eq!(
        stored(&store, "data/a/c1/1").map(|shard| shard.len()),
        Some(1 + 64)
    );
}

#[test]
fn d3_t24_erasing_the_last_chunk_of_a_shard_erases_the_shard() {
    let store = draft(Format::DraftB, Some(2));
    let array = Array::<u8>::open((&store, "sh")).expect("an array");
    array.write(s![0..4], &array![1, 2, 3, 4]).expect("a write");
    array.fill(s![0..2], 0).expect("an erasure");
    let shard = stored(&store, "data/root/sh/c0").expect("one chunk is left");
    assert_eq!((&shard[..2], &shard[2..18]), (&[3, 4][..], &[0xff; 16][..]));
    assert_eq!(array.read(s![0..4]).expect("a read"), array![0, 0, 3, 4]);
    array.fill(s![2..4], 0).expect("an erasure");
    assert_eq!(stored(&store, "data/root/sh/c0"), None);
}

#[test]
fn d3_t38_t40_short_empty_and_edge_chunks() {
    for (format, prefix) in [
        (Format::DraftA, "data/a/"),
        (Format::DraftB, "data/root/a/"),
    ] {
        let store = MemoryStore::new();
        let array = Array::<u8>::builder([3])
            .chunks([2])
            .fill_value(9)
            .format(format)
            .create((&store, "a"))
            .expect("a new array");
        array.write(s![..], &array![1, 2, 3]).expect("a write");
        assert_eq!(stored(&store, &format!("{prefix}c0")), Some(hex("0102")));
        assert_eq!(stored(&store, &format!("{prefix}c1")), Some(hex("0309")));
        for short in ["03", ""] {
            store
                .set(&format!("{prefix}c1"), hex(short))
                .expect("a key");
            assert_eq!(
                array.read(s![..]).expect_err("too short").kind(),
                ErrorKind::Corrupt
            );
        }
    }
}

#[test]
fn d3_t09_scalars_of_both_dialects() {
    for (format, key) in [
        (Format::DraftA, "data/a/c"),
        (Format::DraftB, "data/root/a/c0"),
    ] {
        let store = MemoryStore::new();
        let array = Array::<f64>::builder([])
            .format(format)
            .create((&store, "a"))
            .expect("a new array");
        array.write(s![], &ndarray::arr0(1.5)).expect("a write");
        assert_eq!(stored(&store, key), Some(hex("000000000000f83f")));
        if format == Format::DraftB {
            // As zarrita spelled it.
            let value = stored(&store, key).expect("it was there");
            array.write(s![], &ndarray::arr0(0.0)).expect("an erasure");
            store.set("data/root/a/c", value).expect("a key");
        }
        assert_eq!(array.read(s![]).expect("a read"), ndarray::arr0(1.5));
    }
}
