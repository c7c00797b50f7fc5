//! What selections fetch of chunks and shards.

use std::sync::Arc;

use ndarray::{Array1, Array2};
use ndzarr::{Array, ChunkEdges, CustomChunkGrid, MemoryStore, Points, Storage, codec, s};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency};

use crate::selections::numbered;

/// Regions that share chunks, points and lists: every chunk is fetched once, and of a shard only
/// the inner chunks that are needed.
#[test]
fn each_chunk_is_fetched_once() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let storage = Storage::blocking(Arc::clone(&store));
    let array = Array::<u16>::builder([8, 8])
        .chunks([4, 4])
        .codecs([codec::gzip(1)]);
    let array = array.create((&storage, "a")).expect("a new array");
    let all = Array2::from_shape_fn((8, 8), |(y, x)| (y * 8 + x) as u16 + 1);
    array.write(.., &all).expect("a write");

    store.reset();
    let parts = array
        .read_many([[0..1, 0..8], [1..3, 0..8], [2..6, 1..3]])
        .expect("a read");
    assert_eq!(parts[2], all.slice(s![2..6, 1..3]));
    assert_eq!(
        store.reset().fetches,
        3,
        "the chunks (0, 0), (0, 1) and (1, 0)"
    );

    let points = Points::new([[0, 0], [7, 0], [3, 3], [4, 1], [0, 0]]);
    assert_eq!(
        array.read(&points).expect("a read").to_vec(),
        [1, 57, 28, 34, 1]
    );
    assert_eq!(store.reset().fetches, 2);
    array.write(&points, &[1_u16, 2, 3, 4, 5]).expect("a write");
    let counts = store.reset();
    assert_eq!((counts.fetches, counts.puts), (2, 2));
    assert_eq!(
        array.read(&points).expect("a read").to_vec(),
        [5, 2, 3, 4, 5],
        "the last one counts"
    );

    store.reset();
    assert_eq!(
        array
            .read((vec![7, 4], vec![0, 1, 2]))
            .expect("a read")
            .shape(),
        [2, 3]
    );
    assert_eq!(store.reset().fetches, 1);
    assert_eq!(
        array.read((vec![7_u64; 0], ..)).expect("a read").shape(),
        [0, 8]
    );
    assert_eq!(store.reset().fetches, 0);
}

#[test]
fn of_a_shard_only_the_needed_inner_chunks_are_fetched() {
    for asynchronous in [false, true] {
        let store = Arc::new(CountingStore::new(MemoryStore::new()));
        let remote = Arc::new(AsyncMemoryStore::new(Latency::default()));
        let storage = if asynchronous {
            Storage::asynchronous(Arc::clone(&remote))
        } else {
            Storage::blocking(Arc::clone(&store))
        };
        let bytes = || {
            if asynchronous {
                remote.reset().bytes_read
            } else {
                store.reset().bytes_read
            }
        };
        // 64 inner chunks of 16 KiB, too far from each other to be fetched together.
        let array = Array::<u8>::builder([64, 1 << 14])
            .chunks([1, 1 << 14])
            .shards([64, 1 << 14])
            .codecs([]);
        let array = array.create((&storage, "a")).expect("a new array");
        let all = Array2::from_shape_fn((64, 1 << 14), |(y, x)| (y * 3 + x) as u8);
        array.write(.., &all).expect("a write");
        let array = Array::<u8>::open((&storage, "a")).expect("the array");
        array
            .read(Points::new([[0, 0]]))
            .expect("a read, which learns the index");

        bytes();
        let found = array
            .read(Points::new([[40, 9], [3, 1], [40, 16_000]]))
            .expect("a read");
        assert_eq!(
            found.to_vec(),
            [all[[40, 9]], all[[3, 1]], all[[40, 16_000]]]
        );
        assert!(bytes() <= 2 * (1 << 14), "asynchronous: {asynchronous}");
        let found = array.read((vec![40, 3, 9], 5..7)).expect("a read");
        assert_eq!(
            found,
            ndarray::stack![
                ndarray::Axis(0),
                all.slice(s![40, 5..7]),
                all.slice(s![3, 5..7]),
                all.slice(s![9, 5..7])
            ]
        );
        assert!(bytes() <= 3 * (1 << 14), "asynchronous: {asynchronous}");
        let parts = array
            .read_many([[3..4, 0..1], [3..4, 7..8], [40..41, 0..1]])
            .expect("a read");
        assert_eq!(parts[1][[0, 0]], all[[3, 7]]);
        assert!(bytes() <= 2 * (1 << 14), "asynchronous: {asynchronous}");
        // Rows 0, 20, 40, 60 and 1, 21, 41, 61.
        let parts = array
            .read_many([s![..;20, ..], s![1..;20, ..]])
            .expect("a read");
        assert_eq!(parts[1], all.slice(s![1..;20, ..]));
        assert!(bytes() <= 8 * (1 << 14), "asynchronous: {asynchronous}");
    }
}

/// Far apart in a chunk that can be read in part.
#[test]
fn of_a_raw_chunk_only_the_bytes_near_a_selection_are_fetched() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let storage = Storage::blocking(Arc::clone(&store));
    let array = Array::<u8>::builder([1 << 22]).chunks([1 << 22]).codecs([]);
    let array = array.create((&storage, "a")).expect("a new array");
    let all = Array1::from_shape_fn(1 << 22, |at| (at % 251) as u8);
    array.write(.., &all).expect("a write");
    store.reset();
    let found = array
        .read(Points::new([[5_u64], [(1 << 22) - 1], [1 << 21]]))
        .expect("a read");
    assert_eq!(found.to_vec(), [all[5], all[(1 << 22) - 1], all[1 << 21]]);
    assert!(store.reset().bytes_read < 1 << 16);
    let parts = array
        .read_many([[0..10], [(1 << 22) - 10..1 << 22]])
        .expect("a read");
    assert_eq!(parts[1], all.slice(s![-10..]));
    assert!(store.reset().bytes_read < 1 << 16);
}

/// Each is found at once, whatever lies between them.
#[test]
fn points_are_read_from_the_chunks_of_a_custom_grid() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let tens = ChunkEdges::Listed(vec![(1, 2), (10, u64::MAX)]);
    let array =
        Array::<u8>::builder([1 << 40]).chunk_grid(CustomChunkGrid::new("example.tens", [tens]));
    let array = array
        .create((&Storage::blocking(Arc::clone(&store)), "a"))
        .expect("a new array");
    let points = Points::new([[(1_u64 << 40) - 1], [3], [7], [1 << 39]]);
    array.write(&points, &[1, 2, 3, 4]).expect("a write");
    store.reset();
    assert_eq!(array.read(&points).expect("a read").to_vec(), [1, 2, 3, 4]);
    assert_eq!(store.counts().fetches, 3);
}

/// Shards of shards, whose points are followed into each level.
#[test]
fn points_are_read_from_nested_shards() {
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[16,16],"data_type":"int32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[16,16]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,
        "codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[8,8],
            "codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,4],
                "codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}}],
                "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}],
            "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]}"#;
    let store = MemoryStore::new();
    store
        .set("a/zarr.json", document.as_bytes().to_vec())
        .expect("a document");
    let array = Array::<i32>::open((&store, "a")).expect("the array");
    let mut all = numbered(&[16, 16]);
    array.write(.., &all).expect("a write");
    let points = [[0, 0], [15, 15], [7, 8], [8, 7], [3, 11], [7, 8]];
    let expected: Vec<i32> = points.iter().map(|at| all[&at[..]]).collect();
    assert_eq!(
        array.read(Points::new(points)).expect("a read").to_vec(),
        expected
    );
    array
        .write(Points::new(points), &[-1, -2, -3, -4, -5, -6])
        .expect("a write");
    points
        .iter()
        .zip([-1, -2, -3, -4, -5, -6])
        .for_each(|(at, value)| all[&at[..]] = value);
    assert_eq!(array.read(..).expect("a read"), all);
    let lists = array
        .read((vec![9, 2, 15], vec![0, 14, 7]))
        .expect("a read");
    assert_eq!(lists[[2, 1]], all[[15, 14]]);
    assert_eq!(lists.shape(), [3, 3]);
}

/// Sparse lists and points of an array of 10^12 chunks: the work follows what is selected.
#[test]
fn selections_of_a_huge_array_cost_what_they_select() {
    let array = Array::<u8>::builder([1 << 40, 1 << 20])
        .chunks([1, 1 << 20])
        .codecs([codec::gzip(1)]);
    let array = array
        .create((MemoryStore::new(), "a"))
        .expect("a new array");
    let points = Points::new([[0, 5], [1_u64 << 39, 7], [(1 << 40) - 1, 9]]);
    array.write(&points, &[1, 2, 3]).expect("a write");
    assert_eq!(array.read(&points).expect("a read").to_vec(), [1, 2, 3]);
}
