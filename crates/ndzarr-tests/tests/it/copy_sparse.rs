//! Copies of arrays with many places for chunks, of which few or none are stored.

use ndzarr::{
    Array, CopyOptions, DataType, MemoryStore, RunOptions, Storage, asynchronous, copy, s,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, block_on};

/// core/f23: two chunks of 100,000, at either end.
fn two_chunks(store: &MemoryStore) {
    let a = Array::<u8>::builder([1_000_000])
        .chunks([10])
        .fill_value(9)
        .create((store, "a"));
    let a = a.expect("a new array");
    a.fill([5..9], 1).expect("elements");
    a.fill([999_990..999_999], 2).expect("elements");
}

fn check(store: &MemoryStore, n_chunks: usize) {
    let b = Array::<u8>::open((store, "b")).expect("the copy");
    assert_eq!(
        b.read([4..10]).expect("elements").to_vec(),
        [9, 1, 1, 1, 1, 9]
    );
    assert_eq!(
        b.read([999_988..1_000_000]).expect("elements").to_vec(),
        [9, 9, 2, 2, 2, 2, 2, 2, 2, 2, 2, 9]
    );
    assert_eq!(
        store
            .keys()
            .iter()
            .filter(|key| key.starts_with("b/c/"))
            .count(),
        n_chunks
    );
}

#[test]
fn chunks_that_are_not_listed_are_not_asked_for() {
    let memory = MemoryStore::new();
    two_chunks(&memory);
    for (options, n_chunks) in [
        (CopyOptions::new().chunks([14]), 3),
        (
            CopyOptions::new()
                .chunks([14])
                .run(RunOptions::default().threads(std::num::NonZeroUsize::new(1))),
            3,
        ),
        (CopyOptions::new().chunks([14]).select(s![..]), 3),
        (CopyOptions::new().chunks([10]).shards([1000]), 2),
    ] {
        let counted = CountingStore::new(memory.clone());
        let counters = counted.clone();
        let target = MemoryStore::new();
        copy((Storage::blocking(counted), "a"), (&target, "b"), &options).expect("copied");
        // Documents, twice, and the chunks.
        assert!(counters.counts().fetches < 20, "{:?}", counters.counts());
        check(&target, n_chunks);
    }
}

#[test]
fn an_asynchronous_store_is_not_asked_for_unlisted_chunks_either() {
    let memory = MemoryStore::new();
    two_chunks(&memory);
    let counted = AsyncMemoryStore::over(memory, Latency::default());
    let counters = counted.clone();
    let target = MemoryStore::new();
    let options = CopyOptions::new().chunks([14]);
    block_on(asynchronous::copy(
        (Storage::asynchronous(counted), "a"),
        (&target, "b"),
        &options,
    ))
    .expect("copied");
    assert!(counters.counts().fetches < 20, "{:?}", counters.counts());
    check(&target, 3);
}

/// surface/H2: what a document says takes neither memory nor time.
#[test]
fn an_array_of_any_shape_is_planned() {
    let store = MemoryStore::new();
    let all = 1_u64 << 62;
    for (name, shape, chunks) in [
        ("long", vec![1_000_000_000], vec![1]),
        ("empty", vec![0, all], vec![1, 1]),
        ("longest", vec![all, 1], vec![1, 1]),
        ("cubes", vec![1 << 20; 3], vec![1; 3]),
    ] {
        let a = Array::<u8>::builder(shape.clone())
            .chunks(chunks.clone())
            .create((&store, name));
        a.expect("a new array");
        for options in [
            CopyOptions::new().chunks(vec![7; shape.len()]),
            CopyOptions::new().data_type(DataType::Float { bits: 64 }),
            CopyOptions::new()
                .chunks(chunks.clone())
                .shards(vec![64; shape.len()]),
        ] {
            let target = MemoryStore::new();
            copy((&store, name), (&target, "b"), &options.clone().dry_run()).expect(name);
            copy((&store, name), (&target, "b"), &options).expect(name);
            assert_eq!(target.keys(), ["b/zarr.json", "zarr.json"], "{name}");
        }
    }
}
