//! The index of a shard that is cached, and that of the shard in its place.

use std::sync::Arc;

use ndarray::ArrayD;
use ndzarr::{AnyArray, DamageReport, ErrorKind, Format, MemoryStore, RunOptions, Storage, s};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency};

use crate::requests::{filled, shards_of_shards};

/// The cached index of a shard does not fit the array that took the place of its own.
#[test]
fn the_index_of_a_replaced_array_is_forgotten() {
    for fill_damaged in [false, true] {
        for asynchronous in [false, true] {
            let store = MemoryStore::new();
            let counting = Arc::new(CountingStore::new(store.clone()));
            let storage = if asynchronous {
                let store = AsyncMemoryStore::over(store, Latency::default());
                Storage::asynchronous(store)
            } else {
                Storage::blocking(Arc::clone(&counting))
            };
            let report = DamageReport::new();
            let mut options = RunOptions::default();
            if fill_damaged {
                options = options.fill_damaged(&report);
            }
            let replace = |lengths: &[u64]| {
                AnyArray::builder([16])
                    .request(shards_of_shards(lengths))
                    .format(Format::Zarr3)
                    .overwrite()
                    .create((&storage, "a"))
                    .and_then(AnyArray::typed::<u16>)
                    .expect("a new array")
                    .with_options(options.clone())
            };
            // Shards of 44 bytes in one of four, then some whose index has 68 bytes.
            let first = replace(&[2, 4]);
            first.write(.., &filled(&[16])).expect("a write");
            assert_eq!(first.read(..).expect("a read"), filled(&[16]));
            let second = replace(&[1, 4]);
            counting.reset();
            let read = second.read(..).expect("a read");
            assert_eq!(read, ArrayD::<u16>::zeros(vec![16]));
            assert!(asynchronous || counting.counts().fetches == 1);

            // The same, but the place is not empty when it is read.
            let third = replace(&[2, 4]);
            third.write(.., &filled(&[16])).expect("a write");
            third.read(..).expect("a read");
            let fourth = replace(&[1, 4]);
            fourth.write(.., &filled(&[16])).expect("a write");
            let read = fourth.read(s![3..9]).expect("a read");
            assert_eq!(read, filled(&[16]).slice(s![3..9]));
            assert!(report.take().is_empty());
        }
    }
}

/// Damage costs one request more where an index is cached: perhaps the shard was mended.
#[test]
fn a_broken_shard_is_looked_at_again() {
    let memory = MemoryStore::new();
    let store = CountingStore::new(memory.clone());
    let store = Arc::new(store);
    let storage = Storage::blocking(Arc::clone(&store));
    let create = |path: &str, lengths: &[u64]| {
        AnyArray::builder([16])
            .request(shards_of_shards(lengths))
            .format(Format::Zarr3)
            .create((&storage, path))
            .and_then(AnyArray::typed::<u16>)
            .expect("a new array")
    };
    let other = create("other", &[2, 4]);
    other.write(.., &filled(&[16])).expect("a write");
    let array = create("a", &[1, 4]);
    array.write(.., &filled(&[16])).expect("a write");
    // Its inner shards have 44 bytes, and 68 is what an index of the array has.
    let foreign = memory.get("other/c/0").expect("is stored");
    let good = memory.get("a/c/0").expect("is stored");
    memory.set("a/c/0", foreign).expect("the key is valid");
    // The first read finds the index of the outer shard, the second one has it.
    for _ in 0..2 {
        store.reset();
        let error = array.read(s![0..2]).expect_err("too few bytes");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        assert_eq!(error.inner_chunk(), [[0]], "{error:?}");
        let counts = store.counts();
        assert_eq!(counts.fetches, 1, "{counts:?}");
    }
    memory.set("a/c/0", good).expect("the key is valid");
    assert_eq!(array.read(s![0..2]).expect("mended"), ndarray::array![1, 2]);
}
