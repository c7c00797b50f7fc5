//! A cache of chunks saves reading and decoding, and never shows what is no longer stored.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Waker};

use ndarray::{Array2, Array3, s};
use ndzarr::{
    AnyArray, Array, Cache, Endian, Format, Group, MemoryStore, OpenOptions, RunOptions, Storage,
    asynchronous, codec,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, block_on};

const FORMATS: [Format; 5] = [
    Format::Zarr3,
    Format::Zarr2,
    Format::N5,
    Format::DraftA,
    Format::DraftB,
];

fn cube() -> Array3<u16> {
    Array3::from_shape_fn((8, 8, 8), |(z, y, x)| (z * 64 + y * 8 + x) as u16)
}

fn create(storage: &Storage, format: Format) -> Array<u16> {
    let array = Array::<u16>::builder([8, 8, 8])
        .chunks([4, 4, 4])
        .codecs([codec::gzip(1)])
        .format(format);
    let array = array.create((storage, "a")).expect("a new array");
    array.write(.., &cube().into_dyn()).expect("a write");
    array
}

fn counting() -> (Arc<CountingStore<MemoryStore>>, Storage) {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    (Arc::clone(&store), Storage::blocking(store))
}

#[test]
fn planes_of_one_chunk_are_fetched_once() {
    for format in FORMATS {
        let (store, storage) = counting();
        create(&storage, format);
        for cache in [Cache::new(1 << 20), Cache::new(1 << 20).encoded()] {
            let options = OpenOptions::new().cache(&cache);
            let array = options
                .open_array::<u16>((&storage, "a"))
                .expect("the array");
            let any = options
                .open_array::<ndzarr::Any>((&storage, "a"))
                .expect("the array");
            for z in 0..4 {
                store.reset();
                assert_eq!(
                    array.read(s![z, .., ..]).expect("a read"),
                    cube().slice(s![z, .., ..])
                );
                let counts = store.reset();
                assert_eq!(
                    (counts.fetches, counts.bytes_read == 0),
                    (4, z > 0),
                    "{format}: {counts:?}"
                );
                let plane = any
                    .read_bytes(&[z as u64..z as u64 + 1, 0..8, 0..8])
                    .expect("a read");
                let expected = cube()
                    .slice(s![z, .., ..])
                    .iter()
                    .flat_map(|n| n.to_ne_bytes())
                    .collect::<Vec<_>>();
                assert_eq!(plane, expected, "{format}");
                assert_eq!(
                    store.counts().bytes_read,
                    0,
                    "{format}: another handle shares the cache"
                );
            }
            assert!(cache.byte_len() > 4 * 4 * 4, "{format}");
        }
    }
}

#[test]
fn asynchronous_calls_share_a_cache_with_blocking_ones() {
    let store = Arc::new(AsyncMemoryStore::new(Latency::default()));
    let cache = Cache::new(1 << 20);
    let storage = Storage::asynchronous(Arc::clone(&store)).cached(&cache);
    let array = create(&storage, Format::Zarr3);
    store.reset();
    let other = block_on(asynchronous::Array::<u16>::open((&storage, "a"))).expect("the array");
    assert_eq!(block_on(other.read(..)).expect("a read"), cube().into_dyn());
    store.reset();
    assert_eq!(array.read(..).expect("a read"), cube().into_dyn());
    assert_eq!(
        block_on(other.read(s![3, .., ..])).expect("a read"),
        cube().slice(s![3, .., ..])
    );
    let counts = store.counts();
    assert_eq!(
        (counts.fetches, counts.bytes_read),
        (8 + 4, 0),
        "{counts:?}"
    );
}

#[test]
fn every_write_is_seen() {
    for shards in [false, true] {
        let (store, storage) = counting();
        let cache = Cache::new(1 << 20);
        let cached = storage.clone().cached(&cache);
        let mut builder = Array::<u16>::builder([8, 8])
            .chunks([2, 2])
            .codecs([codec::gzip(1)]);
        if shards {
            builder = builder.shards([4, 4]);
        }
        let array = builder.create((&cached, "a")).expect("a new array");
        let other = Array::<u16>::open((&storage, "a")).expect("the array");
        let mut expected = Array2::<u16>::zeros((8, 8)).into_dyn();
        let check = |expected: &ndarray::ArrayD<u16>| {
            for _ in 0..2 {
                assert_eq!(array.read(..).expect("a read"), expected);
            }
        };
        check(&expected);
        for (i, writer) in [&array, &other, &array, &other].into_iter().enumerate() {
            let at = s![i..i + 3, 2 * i..8];
            writer.fill(at, 10 + i as u16).expect("a write");
            expected.slice_mut(at).fill(10 + i as u16);
            check(&expected);
        }
        // A chunk of fill value is erased.
        other.fill(s![0..4, 0..4], 0).expect("a write");
        expected.slice_mut(s![0..4, 0..4]).fill(0);
        check(&expected);
        other.fill(s![0..4, 0..4], 3).expect("a write");
        expected.slice_mut(s![0..4, 0..4]).fill(3);
        check(&expected);
        store.reset();
        check(&expected);
        assert_eq!(store.counts().bytes_read, 0, "shards {shards}");
    }
}

#[test]
fn a_shard_is_asked_for_once_and_its_inner_chunks_are_kept() {
    let (store, storage) = counting();
    let array = Array::<u16>::builder([8, 8])
        .chunks([2, 2])
        .shards([8, 8])
        .codecs([]);
    let array = array
        .create((storage.cached(&Cache::new(1 << 20)), "a"))
        .expect("a new array");
    array
        .write(
            ..,
            &Array2::from_shape_fn((8, 8), |(y, x)| (8 * y + x + 1) as u16).into_dyn(),
        )
        .expect("a write");
    store.reset();
    assert_eq!(
        array.read(s![0..2, 1]).expect("a read"),
        ndarray::array![2, 10]
    );
    // The index of 16 inner chunks with its checksum, and the whole inner chunk.
    assert_eq!(store.reset().bytes_read, 16 * 16 + 4 + 8);
    assert_eq!(
        array.read(s![0..2, 0]).expect("a read"),
        ndarray::array![1, 9]
    );
    let counts = store.reset();
    assert_eq!((counts.fetches, counts.bytes_read), (1, 0), "{counts:?}");
    // Its neighbour comes with the same request that checks the shard.
    assert_eq!(
        array.read(s![0..2, 0..4]).expect("a read").sum(),
        1 + 2 + 3 + 4 + 9 + 10 + 11 + 12
    );
    let counts = store.reset();
    assert_eq!((counts.fetches, counts.bytes_read), (1, 8), "{counts:?}");
}

#[test]
fn a_frozen_cache_asks_for_nothing_that_it_has() {
    for shards in [false, true] {
        let (store, storage) = counting();
        let cache = Cache::new(1 << 20);
        let mut builder = Array::<u16>::builder([8, 8]).chunks([2, 2]);
        if shards {
            builder = builder.shards([4, 4]);
        }
        builder
            .create((&storage, "a"))
            .expect("a new array")
            .fill(s![0..2, ..], 5)
            .expect("a write");
        let array = OpenOptions::new().cache(&cache.clone().frozen());
        let array = array.open_array::<u16>((&storage, "a")).expect("the array");
        assert_eq!(array.read(..).expect("a read").sum(), 5 * 16);
        store.reset();
        assert_eq!(array.read(..).expect("a read").sum(), 5 * 16);
        assert_eq!(
            store.counts().fetches,
            0,
            "shards {shards}: missing chunks included"
        );
        // A handle of the same memory that is not frozen sees every write.
        let other = Array::<u16>::open((storage.cached(&cache), "a")).expect("the array");
        other.fill(s![6..8, ..], 1).expect("a write");
        assert_eq!(other.read(..).expect("a read").sum(), 5 * 16 + 16);
    }
}

#[test]
fn memory_is_bounded_and_what_is_used_again_stays() {
    let (store, storage) = counting();
    // Room for 11 chunks of 4 KiB out of 256.
    let cache = Cache::new(50_000);
    let cached = storage.cached(&cache);
    let array = Array::<u8>::builder([256 * 4096])
        .chunks([4096])
        .codecs([codec::gzip(1)]);
    let array = array.create((&cached, "a")).expect("a new array");
    array.fill(.., 1).expect("a write");
    for _ in 0..4 {
        array.read(s![0..10]).expect("a read");
        array.read(s![4096..4106]).expect("a read");
    }
    for chunk in 2..256 {
        array
            .read(s![chunk * 4096..chunk * 4096 + 1])
            .expect("a read");
        assert!(cache.byte_len() <= 50_000, "{cache:?}");
    }
    assert!(cache.byte_len() > 30_000, "{cache:?}");
    store.reset();
    array.read(s![0..4106]).expect("a read");
    assert_eq!(
        store.counts().bytes_read,
        0,
        "chunks that were read often outlive a scan {cache:?}"
    );
    cache.clear();
    assert_eq!(cache.byte_len(), 0);

    // A chunk that is too large is read as without a cache: here, in windows.
    let large = Array::<u8>::builder([1 << 20]).chunks([1 << 20]).codecs([]);
    let large = large.create((&cached, "large")).expect("a new array");
    large.fill(.., 1).expect("a write");
    store.reset();
    large.read(s![0..100]).expect("a read");
    assert_eq!((store.counts().bytes_read, cache.byte_len()), (100, 0));
}

#[test]
fn errors_are_not_kept() {
    let (store, storage) = counting();
    let memory = store.inner();
    let array = create(&storage.cached(&Cache::new(1 << 20)), Format::Zarr3);
    let good = memory.get("a/c/0/0/0").expect("a chunk");
    for broken in [good.slice(..good.len() - 5), "no gzip".into()] {
        memory.set("a/c/0/0/0", broken).expect("a key");
        for _ in 0..2 {
            array.read(s![0, .., ..]).expect_err("a broken chunk");
        }
        memory.set("a/c/0/0/0", good.clone()).expect("a key");
        assert_eq!(array.read(..).expect("a read"), cube().into_dyn());
    }
}

/// Stored bytes that two documents describe differently.
#[test]
fn chunks_are_cached_by_what_their_document_says() {
    let (store, storage) = counting();
    let storage = storage.cached(&Cache::new(1 << 20));
    let make = |path: &str, endian| {
        let array = Array::<u16>::builder([4])
            .endian(endian)
            .codecs([codec::gzip(1)]);
        array.create((&storage, path)).expect("a new array")
    };
    let little = make("a", Endian::Little);
    little.fill(.., 0x0102).expect("a write");
    assert_eq!(little.read(..).expect("a read").sum(), 4 * 0x0102);
    make("b", Endian::Big);
    store
        .inner()
        .set(
            "a/zarr.json",
            store.inner().get("b/zarr.json").expect("a document"),
        )
        .expect("a key");
    let big = Array::<u16>::open((&storage, "a")).expect("the array");
    assert_eq!(big.read(..).expect("a read").sum(), 4 * 0x0201);
    assert_eq!(little.read(..).expect("a read").sum(), 4 * 0x0102);
}

#[test]
fn calls_that_are_given_up_leave_no_false_chunks() {
    let store = AsyncMemoryStore::new(Latency::default()).with_polls(3);
    let cache = Cache::new(1 << 20);
    let storage = Storage::asynchronous(store).cached(&cache);
    create(&storage, Format::Zarr3);
    let array = block_on(asynchronous::Array::<u16>::open((&storage, "a"))).expect("the array");
    let array =
        array.with_options(RunOptions::default().requests_in_flight(2.try_into().expect("not 0")));
    for value in 0..20 {
        let mut dropped = Box::pin(array.read(..));
        for _ in 0..value {
            if dropped
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_ready()
            {
                break;
            }
        }
        block_on(array.fill(s![.., 1, ..], value)).expect("a write");
        drop(dropped);
        let mut expected = cube();
        expected.slice_mut(s![.., 1, ..]).fill(value);
        assert_eq!(
            block_on(array.read(..)).expect("a read"),
            expected.into_dyn()
        );
    }
}

#[test]
fn nodes_opened_through_a_group_use_its_cache() {
    let (store, storage) = counting();
    Group::create(&storage, Format::Zarr3).expect("a new group");
    create(&storage, Format::Zarr3);
    let cache = Cache::new(1 << 20);
    let group = OpenOptions::new()
        .cache(&cache)
        .open_group(&storage)
        .expect("the group");
    let array: AnyArray = group.array("a").expect("the array");
    for _ in 0..2 {
        array.read_bytes(&[0..8, 0..8, 0..8]).expect("a read");
    }
    store.reset();
    array.read_bytes(&[0..8, 0..8, 0..8]).expect("a read");
    assert_eq!(store.counts().bytes_read, 0);
}
