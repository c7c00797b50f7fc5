//! Strided selections fetch, decode and write only the chunks and inner chunks with selected
//! elements.

use std::sync::Arc;

use ndarray::{Array1, Array3, s};
use ndzarr::{
    AnyArray, Array, ArrayRequest, CodecRequest, DataType, Format, MemoryStore, Storage, codec,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency};
use serde_json::json;

const FORMATS: [Format; 5] = [
    Format::Zarr3,
    Format::Zarr2,
    Format::N5,
    Format::DraftA,
    Format::DraftB,
];

fn rows(n: usize) -> Array3<u16> {
    Array3::from_shape_fn((n, 16, 40), |(row, y, x)| (row * 7 + y * 40 + x) as u16)
}

/// 10 shards of 100 rows each. A row is 1,280 bytes: its neighbours are too far away to be merged.
fn sharded(storage: &Storage, format: Format) -> Array<u16> {
    let array = Array::<u16>::builder([1000, 16, 40])
        .chunks([1, 16, 40])
        .shards([100, 16, 40])
        .codecs([]);
    let array = array
        .format(format)
        .create((storage, "a"))
        .expect("a new array");
    array.write(.., &rows(1000).into_dyn()).expect("a write");
    Array::open((storage, "a")).expect("the array")
}

#[test]
fn rs_31_a_stride_over_shards_fetches_the_inner_chunks_with_selected_elements() {
    let expected = rows(1000).slice(s![0..1000;10, .., ..]).to_owned();
    for (format, checksum) in [(Format::Zarr3, 4), (Format::DraftA, 0), (Format::DraftB, 0)] {
        // An index has 16 bytes for each of 100 inner chunks.
        let ranges = 10 + 100;
        let bytes = 10 * (1600 + checksum) + 100 * 1280;

        let store = Arc::new(CountingStore::new(MemoryStore::new()));
        let array = sharded(&Storage::blocking(Arc::clone(&store)), format);
        store.reset();
        assert_eq!(
            array.read(s![0..1000;10, .., ..]).expect("a read"),
            expected
        );
        let counts = store.counts();
        assert_eq!(
            (counts.ranges, counts.bytes_read),
            (ranges, bytes),
            "{format}: {counts:?}"
        );

        let store = Arc::new(AsyncMemoryStore::new(Latency::default()));
        let array = sharded(&Storage::asynchronous(Arc::clone(&store)), format);
        store.reset();
        assert_eq!(
            array.read(s![0..1000;10, .., ..]).expect("a read"),
            expected
        );
        let counts = store.counts();
        assert_eq!(
            (counts.ranges, counts.bytes_read),
            (ranges, bytes),
            "{format}: {counts:?}"
        );
    }
}

#[test]
fn a_stride_over_chunks_fetches_and_writes_those_with_selected_elements() {
    for format in FORMATS {
        let store = Arc::new(CountingStore::new(MemoryStore::new()));
        let storage = Storage::blocking(Arc::clone(&store));
        let array = Array::<u16>::builder([30, 4])
            .chunks([1, 4])
            .codecs([codec::gzip(1)])
            .format(format);
        let array = array.create((&storage, "a")).expect("a new array");
        array.fill(.., 1).expect("a write");
        store.reset();
        assert_eq!(
            array.read(s![2..30;9, ..]).expect("a read").sum(),
            4 * 4,
            "{format}"
        );
        assert_eq!(store.reset().fetches, 4, "{format}: rows 2, 11, 20 and 29");
        array.fill(s![..;-10, 1..2], 5).expect("a write");
        let counts = store.counts();
        assert_eq!(
            (counts.fetches, counts.puts),
            (3, 3),
            "{format}: rows 29, 19 and 9"
        );
        assert_eq!(
            array.read(..).expect("a read").sum(),
            30 * 4 + 3 * 4,
            "{format}"
        );
    }
}

/// 24 elements in shards of 8 of 4 of 2, in both dialects of nesting: `depth` levels.
fn nested(store: &MemoryStore, depth: usize) -> Array<u16> {
    let mut codecs =
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    let index =
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    for level in 0..depth {
        codecs = json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [2u64 << level],
            "codecs": codecs,
            "index_codecs": index,
            "index_location": "start",
        }}]);
    }
    let mut request = ArrayRequest::new(vec![24], vec![24], DataType::UInt { bits: 16 });
    request.codecs = CodecRequest::Json(codecs);
    let array = AnyArray::builder([24])
        .request(request)
        .format(Format::Zarr3);
    let array = array
        .create((store, "a"))
        .expect("a new array")
        .typed::<u16>()
        .expect("u16");
    array
        .write(.., &Array1::from_iter(1..25).into_dyn())
        .expect("a write");
    array
}

/// Breaks the inner chunk of the elements 11 and 12, at whatever depth, and returns its bytes.
fn break_one(store: &MemoryStore) -> Vec<u8> {
    let mut shard = store.get("a/c/0").expect("a shard").to_vec();
    let at = shard
        .windows(4)
        .position(|window| window == [11, 0, 12, 0])
        .expect("it exists");
    shard[at] ^= 0x80;
    store.set("a/c/0", shard.clone()).expect("a key");
    shard[at..at + 8].to_vec()
}

#[test]
fn inner_chunks_between_the_steps_are_neither_decoded_nor_encoded() {
    for depth in 1..=3 {
        let store = MemoryStore::new();
        let array = nested(&store, depth);
        let broken = break_one(&store);
        array.read(..).expect_err("its checksum is wrong");
        assert_eq!(
            array.read(s![..;8]).expect("others"),
            ndarray::array![1, 9, 17],
            "{depth} levels"
        );
        assert_eq!(
            array.read(s![..;-10]).expect("others"),
            ndarray::array![24, 14, 4],
            "{depth} levels"
        );
        array
            .write(s![1..;17], &ndarray::array![0, 50])
            .expect("others");
        let shard = store.get("a/c/0").expect("a shard");
        assert!(
            shard.windows(8).any(|window| window == broken),
            "{depth} levels: it keeps its bytes"
        );
        assert_eq!(
            array.read(s![..;9]).expect("others"),
            ndarray::array![1, 10, 50],
            "{depth} levels"
        );
    }
}

/// More chunks lie between them than anyone could look at.
#[test]
fn only_chunks_with_a_selected_element_are_visited() {
    use std::sync::{Arc, Mutex};

    use ndzarr::{Array, MemoryStore, RunOptions, s};

    let totals: Arc<Mutex<Vec<u64>>> = Arc::default();
    let seen = Arc::clone(&totals);
    let options = RunOptions::default()
        .progress(move |progress| seen.lock().expect("no panic").push(progress.total));
    let a = Array::<u16>::builder([1_u64 << 60, 8])
        .chunks([64, 3])
        .create((MemoryStore::new(), "a"));
    let a = a.expect("it works").with_options(options);
    let rows = [0_u64, 1 << 58, 1 << 59, 3 << 58];
    let check = |n: u64| {
        let totals = std::mem::take(&mut *totals.lock().expect("no panic"));
        assert_eq!(totals, vec![n; n as usize]);
    };
    a.fill((rows.to_vec(), 2..4), 5).expect("it works");
    check(8);
    assert_eq!(
        a.read(s![..;1_isize << 58, 2..4]).expect("it works").sum(),
        40
    );
    check(8);
    assert_eq!(a.read((rows.to_vec(), ..)).expect("it works").sum(), 40);
    check(12);
    let twos = ndarray::Array2::from_elem((4, 1), 2);
    a.write(s![..;-(1_isize << 58), 7..], &twos)
        .expect("it works");
    check(4);
    // Backwards, from the last element: none of those that were written.
    assert_eq!(a.read((rows.to_vec(), 7)).expect("it works").sum(), 0);
    let shards = Array::<u16>::builder([1_u64 << 60])
        .chunks([64])
        .shards([1 << 20]);
    let shards = shards.create((MemoryStore::new(), "a")).expect("it works");
    shards.fill(s![..;1_isize << 58], 3).expect("it works");
    assert_eq!(shards.read((rows.to_vec(),)).expect("it works").sum(), 12);
}
