//! Counts the requests of the data path to a store.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayD, IxDyn};
use ndzarr::{
    AnyArray, Array, ArrayRequest, CodecRequest, DataType, Format, MemoryStore, RunOptions,
    Storage, codec, s,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency};
use serde_json::json;

pub(crate) type Counting = Arc<CountingStore<MemoryStore>>;

pub(crate) fn counting() -> (Counting, Storage) {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let storage = Storage::blocking(Arc::clone(&store));
    (store, storage)
}

pub(crate) fn filled(shape: &[usize]) -> ArrayD<u16> {
    let mut n = 0u16;
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        n = n.wrapping_add(1);
        n
    })
}

/// 8 x 8 in one shard of 4 inner chunks of 4 x 4.
fn sharded(storage: &Storage) -> Array<u16> {
    let array = Array::<u16>::builder([8, 8])
        .chunks([4, 4])
        .shards([8, 8])
        .codecs([codec::zstd(1)])
        .create((storage, "a"))
        .expect("a new array");
    array.write(.., &filled(&[8, 8])).expect("a write");
    Array::open((storage, "a")).expect("the array that was made")
}

#[test]
fn a_full_chunk_write_reads_nothing() {
    for (chunks, shards) in [([4, 4], None), ([2, 2], Some([4, 4]))] {
        let (store, storage) = counting();
        let mut builder = Array::<u16>::builder([7, 7]).chunks(chunks);
        if let Some(shards) = shards {
            builder = builder.shards(shards);
        }
        let array = builder.create((&storage, "a")).expect("a new array");
        store.reset();
        array.write(.., &filled(&[7, 7])).expect("a write");
        // A chunk at the edge that is covered up to the array's end counts as full.
        array
            .write(s![4..7, 4..7], &Array2::ones((3, 3)))
            .expect("a write");
        let counts = store.counts();
        assert_eq!(counts.fetches, 0, "{counts:?}");
        assert_eq!(counts.puts, 5, "{counts:?}");
        store.reset();
        array
            .write(s![4..6, 4..7], &Array2::ones((2, 3)))
            .expect("a write");
        assert_eq!(store.counts().fetches, 1, "a partial write reads once");
    }
}

#[test]
fn one_inner_chunk_is_two_ranges_in_two_requests_and_one_when_the_index_is_known() {
    let (store, storage) = counting();
    let array = sharded(&storage);
    store.reset();
    assert_eq!(
        array.read_chunk(&[1, 0]).expect("a read"),
        filled(&[8, 8]).slice(s![4..8, 0..4]).to_owned().into_dyn()
    );
    let counts = store.counts();
    assert_eq!((counts.fetches, counts.ranges), (2, 2), "{counts:?}");

    store.reset();
    array.read_chunk(&[0, 1]).expect("a read");
    let counts = store.counts();
    assert_eq!((counts.fetches, counts.ranges), (1, 1), "warm: {counts:?}");

    // Another writer replaces the shard: one request detects it, two more read the new one.
    let other = Array::<u16>::open((&storage, "a")).expect("the array");
    other
        .write(.., &Array2::from_elem((8, 8), 5).into_dyn())
        .expect("a write");
    store.reset();
    assert_eq!(
        array.read(s![0, 0..3]).expect("a read"),
        Array1::from_elem(3, 5)
    );
    assert_eq!(store.counts().fetches, 3, "{:?}", store.counts());

    // And erases it.
    other
        .write(.., &Array2::zeros((8, 8)).into_dyn())
        .expect("a write");
    assert_eq!(
        array.read(s![0, 0..3]).expect("a read"),
        Array1::<u16>::zeros(3)
    );
}

#[test]
fn neighbouring_inner_chunks_come_in_one_range() {
    let (store, storage) = counting();
    let array = sharded(&storage);
    store.reset();
    assert_eq!(array.read(..).expect("a read"), filled(&[8, 8]));
    let counts = store.counts();
    assert_eq!((counts.fetches, counts.ranges), (2, 2), "{counts:?}");
}

/// A shard of shards: 16 in 2 of 8, each in 2 of 4, as far as `levels` goes.
fn nested(storage: &Storage, levels: usize) -> AnyArray {
    let shapes: Vec<u64> = (0..levels).map(|level| 2 << level).collect();
    AnyArray::builder([16])
        .request(shards_of_shards(&shapes))
        .format(Format::Zarr3)
        .create((storage, "nested"))
        .expect("a new array")
}

/// A chunk of 16 that is divided into inner chunks of these lengths, the innermost first.
pub(crate) fn shards_of_shards(lengths: &[u64]) -> ArrayRequest {
    let bytes = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let index =
        json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
    let mut codecs = bytes;
    for (level, length) in lengths.iter().enumerate() {
        codecs = json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [length],
            "codecs": codecs,
            "index_codecs": index.clone(),
            "index_location": if level % 2 == 0 { "start" } else { "end" },
        }}]);
    }
    let mut request = ArrayRequest::new(vec![16], vec![16], DataType::UInt { bits: 16 });
    request.codecs = CodecRequest::Json(codecs);
    request
}

#[test]
fn nested_shards_cost_one_more_request_for_each_level() {
    for levels in 1..4 {
        let (store, storage) = counting();
        nested(&storage, levels)
            .typed::<u16>()
            .expect("u16")
            .write(.., &filled(&[16]))
            .expect("a write");
        let array = Array::<u16>::open((&storage, "nested")).expect("the array");
        store.reset();
        assert_eq!(array.read(s![5..7]).expect("a read"), ndarray::array![6, 7]);
        assert_eq!(
            store.counts().fetches,
            levels as u64 + 1,
            "{levels} levels, cold"
        );
        store.reset();
        array.read(s![5..7]).expect("a read");
        assert_eq!(
            store.counts().fetches,
            levels as u64,
            "{levels} levels, the outermost index known"
        );
    }
}

#[test]
fn a_partial_read_of_a_raw_chunk_fetches_windows() {
    let (store, storage) = counting();
    let array = Array::<u16>::builder([1000, 1000])
        .chunks([1000, 1000])
        .create((&storage, "a"))
        .expect("a new array");
    array.write(.., &filled(&[1000, 1000])).expect("a write");
    store.reset();
    let rows = array.read(s![500..510, ..]).expect("a read");
    assert_eq!(rows, filled(&[1000, 1000]).slice(s![500..510, ..]));
    let counts = store.counts();
    assert_eq!(
        (counts.fetches, counts.ranges, counts.bytes_read),
        (1, 1, 20_000),
        "{counts:?}"
    );
    store.reset();
    let corner = array.read(s![0..2, 0..2]).expect("a read");
    assert_eq!(corner, filled(&[1000, 1000]).slice(s![0..2, 0..2]));
    assert!(store.counts().bytes_read < 10_000, "{:?}", store.counts());
}

#[test]
fn fill_is_not_stored_and_what_becomes_fill_is_erased() {
    let store = MemoryStore::new();
    let array = Array::<f32>::builder([4])
        .chunks([2])
        .create((&store, "a"))
        .expect("a new array");
    array
        .write(.., &ndarray::array![0.0, 0.0, 1.0, 0.0].into_dyn())
        .expect("a write");
    assert_eq!(store.get("a/c/0"), None);
    assert!(store.get("a/c/1").is_some());
    array
        .write(s![2..3], &ndarray::array![0.0])
        .expect("a write");
    assert_eq!(
        store.get("a/c/1"),
        None,
        "a chunk that becomes all fill is erased"
    );
    // Bit by bit: negative zero is not the fill value (V3-T11, V2-T14).
    array
        .write(s![0..2], &ndarray::array![-0.0, 0.0])
        .expect("a write");
    assert_eq!(
        store.get("a/c/0").as_deref(),
        Some(&[0, 0, 0, 0x80, 0, 0, 0, 0][..])
    );

    let storing = RunOptions::default().store_fill_chunks();
    array
        .with_options(storing)
        .write(.., &Array1::zeros(4).into_dyn())
        .expect("a write");
    assert!(store.get("a/c/0").is_some() && store.get("a/c/1").is_some());
}

#[test]
fn untouched_inner_chunks_keep_their_bytes() {
    let store = MemoryStore::new();
    let array = sharded(&Storage::from(&store));
    let before = store.get("a/c/0/0").expect("a shard");
    let first: Vec<u8> = before[..20].to_vec();
    array.write(s![7, 7], &ndarray::arr0(9)).expect("a write");
    let after = store.get("a/c/0/0").expect("a shard");
    assert_eq!(after[..20], first[..]);
    let mut expected = filled(&[8, 8]);
    expected[[7, 7]] = 9;
    assert_eq!(array.read(..).expect("a read"), expected);
}

#[test]
fn requests_to_an_asynchronous_store_overlap_up_to_the_limit() {
    // Counted in polls, not in time, which depends on how busy the machine is.
    let store = Arc::new(AsyncMemoryStore::new(Latency::default()).with_polls(1000));
    let storage = Storage::asynchronous(Arc::clone(&store));
    let array = Array::<u16>::builder([64, 8])
        .chunks([1, 8])
        .create((&storage, "a"))
        .expect("a new array");
    array.write(.., &filled(&[64, 8])).expect("a write");
    for limit in [1, 8, 64] {
        store.reset();
        let options = RunOptions::default().requests_in_flight(limit.try_into().expect("not 0"));
        let array = array.clone().with_options(options);
        assert_eq!(array.read(..).expect("a read"), filled(&[64, 8]));
        let counts = store.counts();
        assert_eq!(counts.fetches, 64);
        assert_eq!(counts.max_in_flight, limit as u64, "{counts:?}");
    }
    // A limit in bytes: each chunk has 16.
    store.reset();
    let options = RunOptions::default().bytes_in_flight(64);
    array.with_options(options).read(..).expect("a read");
    assert_eq!(store.counts().max_in_flight, 4, "{:?}", store.counts());
}

#[test]
fn rs_32_an_array_in_an_asynchronous_store_is_opened_in_one_round() {
    // zarr.json, .zarray, .zgroup, .zattrs, and N5's document there and at the root.
    let most = 6;
    for format in [Format::Zarr3, Format::Zarr2, Format::N5] {
        let store = Arc::new(AsyncMemoryStore::new(Latency::default()).with_polls(1000));
        let storage = Storage::asynchronous(Arc::clone(&store));
        let mut array = Array::<u16>::builder([8])
            .format(format)
            .create((&storage, "a"))
            .expect("a new array");
        array
            .merge_attributes(json!({"of": "the array"}))
            .expect("a new attribute");
        store.reset();
        let opened = Array::<u16>::open((&storage, "a")).expect("the array");
        assert_eq!(
            (opened.format(), &opened.attributes()["of"]),
            (format, &json!("the array"))
        );
        // All at once, and none later: each is one of the requests that were under way together.
        let counts = store.counts();
        assert_eq!(
            (counts.fetches, counts.max_in_flight),
            (most, most),
            "{format}: {counts:?}"
        );
        assert_eq!((counts.looks, counts.lists), (0, 0), "{format}: {counts:?}");
    }
}

/// RS-50: each chunk is fetched whole, though one row of it is wanted.
#[test]
fn rs_50_the_limit_in_bytes_counts_what_is_fetched() {
    let store = Arc::new(AsyncMemoryStore::new(Latency::default()).with_polls(1000));
    let storage = Storage::asynchronous(Arc::clone(&store));
    let array = Array::<u16>::builder([8, 64])
        .chunks([8, 1])
        .codecs([codec::zstd(1)]);
    let array = array.create((&storage, "a")).expect("a new array");
    array.write(.., &filled(&[8, 64])).expect("a write");
    store.reset();
    // 16 bytes in each chunk, once decoded.
    let array = array.with_options(RunOptions::default().bytes_in_flight(64));
    let regions: Vec<_> = (0..8).map(|row| s![row, ..]).collect();
    array.read_many(regions).expect("a read");
    assert_eq!(store.counts().max_in_flight, 4, "{:?}", store.counts());
}

#[test]
fn a_batch_of_reads_has_the_limits_of_one() {
    let store = Arc::new(AsyncMemoryStore::new(Latency::default()).with_polls(1000));
    let storage = Storage::asynchronous(Arc::clone(&store));
    let array = Array::<u16>::builder([64, 8])
        .chunks([1, 8])
        .create((&storage, "a"))
        .expect("a new array");
    array.write(.., &filled(&[64, 8])).expect("a write");
    store.reset();
    let options = RunOptions::default().requests_in_flight(3.try_into().expect("not 0"));
    // Regions of one chunk, and of several. Rows 4, 6, 12 and 14 are in several.
    let regions: Vec<[std::ops::Range<u64>; 2]> = (0..16)
        .map(|i| {
            if i % 2 == 0 {
                [i..i + 1, 0..8]
            } else {
                [i * 4..i * 4 + 4, 0..8]
            }
        })
        .collect();
    let parts = array
        .with_options(options)
        .read_many(regions.clone())
        .expect("a read");
    for (part, [rows, _]) in parts.iter().zip(&regions) {
        let (start, end) = (rows.start as usize, rows.end as usize);
        assert_eq!(part, filled(&[64, 8]).slice(ndarray::s![start..end, ..]));
    }
    let counts = store.counts();
    assert_eq!(
        (counts.fetches, counts.max_in_flight),
        (8 - 4 + 8 * 4, 3),
        "{counts:?}"
    );
}

#[test]
fn progress_is_reported_and_cancelling_stops() {
    use ndzarr::{Cancel, ErrorKind};
    use std::sync::Mutex;
    let store = MemoryStore::new();
    let array = Array::<u16>::builder([16])
        .chunks([1])
        .create((&store, "a"))
        .expect("a new array");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let cancel = Cancel::new();
    let reports = Arc::clone(&seen);
    let stop = cancel.clone();
    let options = RunOptions::default()
        .threads(std::num::NonZeroUsize::new(1))
        .cancel(cancel)
        .progress(move |progress| {
            reports
                .lock()
                .expect("no panic before")
                .push((progress.done, progress.total));
            if progress.done == 3 {
                stop.cancel();
            }
        });
    let error = array
        .clone()
        .with_options(options)
        .write(.., &filled(&[16]))
        .expect_err("it was cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(
        *seen.lock().expect("no panic before"),
        [(1, 16), (2, 16), (3, 16)]
    );
    assert_eq!(
        array.read(s![0..4]).expect("a read"),
        ndarray::array![1, 2, 3, 0]
    );
}

/// Issue 5: opening one array opens at most three files, whatever format it has.
#[test]
fn opening_an_array_by_its_path_reads_three_documents_at_most() {
    for (format, most) in [(Format::Zarr3, 1), (Format::Zarr2, 3), (Format::N5, 3)] {
        for path in ["", "a", "deep/below/a"] {
            let (store, storage) = counting();
            // Below the root, the groups on the way to it have documents.
            if path.contains('/') {
                let mut group =
                    ndzarr::Group::create((&storage, "deep/below"), format).expect("a new group");
                group
                    .merge_attributes(json!({"of": "the group"}))
                    .expect("a new attribute");
            }
            let mut array = Array::<u16>::builder([8])
                .format(format)
                .create((&storage, path))
                .expect("a new array");
            array
                .merge_attributes(json!({"of": "the array"}))
                .expect("a new attribute");
            store.reset();
            let opened = Array::<u16>::open((&storage, path)).expect("the array");
            assert_eq!(
                (opened.format(), &opened.attributes()["of"]),
                (format, &json!("the array"))
            );
            let counts = store.counts();
            assert!(counts.fetches <= most, "{format} {path:?}: {counts:?}");
            assert_eq!(
                (counts.lists, counts.locks),
                (0, 0),
                "{format} {path:?}: {counts:?}"
            );
        }
    }
}
