//! Arrays whose chunks have different lengths, with and without shards, compared with an array in
//! memory.

use ndarray::{ArrayD, IxDyn, Slice};
use ndzarr::{Array, ChunkEdges, ErrorKind, Format, MemoryStore, Order, Storage, codec};
use ndzarr_testkit::{AsyncMemoryStore, Latency, Random};

fn listed(runs: &[(u64, u64)]) -> ChunkEdges {
    ChunkEdges::Listed(runs.to_vec())
}

/// Edges of shards are multiples of the inner chunks' lengths.
fn grids() -> Vec<(Vec<u64>, Vec<ChunkEdges>, [u64; 2])> {
    vec![
        (
            vec![12, 10],
            vec![listed(&[(2, 2), (4, 1), (6, 1)]), ChunkEdges::Repeated(4)],
            [2, 2],
        ),
        (
            vec![11, 9],
            vec![listed(&[(6, 1), (2, 4)]), listed(&[(3, 1), (6, 2)])],
            [2, 3],
        ),
        (
            vec![5, 7],
            vec![ChunkEdges::Repeated(4), listed(&[(1, 7)])],
            [4, 1],
        ),
        (
            vec![3, 8],
            vec![listed(&[(4, 1_000_000_000_000)]), listed(&[(8, 1)])],
            [1, 8],
        ),
    ]
}

fn arrays(storage: &Storage) -> Vec<Array<i32>> {
    let mut arrays = Vec::new();
    for (i, (shape, edges, inner)) in grids().into_iter().enumerate() {
        for (kind, order) in [("plain", Order::C), ("shards", Order::C), ("f", Order::F)] {
            let mut builder = Array::<i32>::builder(&shape)
                .chunk_edges(edges.clone())
                .order(order)
                .codecs([codec::gzip(1)])
                .fill_value(-1);
            if kind == "shards" {
                builder = builder.chunks(inner).shards([1, 1]);
            }
            builder
                .create((storage, &format!("{kind}{i}")))
                .expect("a new array");
            // As read back from its document.
            arrays.push(Array::<i32>::open((storage, &format!("{kind}{i}"))).expect("the array"));
        }
    }
    arrays
}

fn cut(model: &ArrayD<i32>, region: &[std::ops::Range<u64>]) -> ArrayD<i32> {
    let mut view = model.view();
    for (axis, range) in region.iter().enumerate() {
        view.slice_axis_inplace(
            ndarray::Axis(axis),
            Slice::from(range.start as usize..range.end as usize),
        );
    }
    view.to_owned()
}

#[test]
fn regions_are_written_and_read_as_in_memory() {
    let latency = Latency::default();
    for storage in [
        Storage::from(MemoryStore::new()),
        Storage::asynchronous(AsyncMemoryStore::new(latency)),
    ] {
        for array in arrays(&storage) {
            let shape: Vec<usize> = array.shape().iter().map(|&n| n as usize).collect();
            let mut model = ArrayD::from_elem(IxDyn(&shape), -1);
            let mut random = Random::seeded(array.path());
            let mut next = 0;
            for _ in 0..40 {
                let region = random.region(array.shape());
                let lens: Vec<usize> = region
                    .iter()
                    .map(|range| (range.end - range.start) as usize)
                    .collect();
                let data = ArrayD::from_shape_simple_fn(IxDyn(&lens), || {
                    next += 1;
                    next
                });
                array.write(&region[..], &data).expect("a write");
                let mut view = model.view_mut();
                for (axis, range) in region.iter().enumerate() {
                    let slice = Slice::from(range.start as usize..range.end as usize);
                    view.slice_axis_inplace(ndarray::Axis(axis), slice);
                }
                view.assign(&data);
                let region = random.region(array.shape());
                assert_eq!(
                    array.read(&region[..]).expect("a read"),
                    cut(&model, &region),
                    "{}",
                    array.path()
                );
            }
            assert_eq!(array.read(..).expect("a read"), model, "{}", array.path());
            for chunk in array.chunks().chain(&array.units()) {
                let read = array.read(&chunk.ranges[..]).expect("a read");
                assert_eq!(read, cut(&model, &chunk.ranges));
            }
            let first = array.chunks().next().expect("a chunk");
            assert_eq!(
                array.read_chunk(&first.index).expect("a read"),
                cut(&model, &first.ranges)
            );
        }
    }
}

/// Hand-computed values.
#[test]
fn v3_094_documents_and_keys() {
    let store = MemoryStore::new();
    let array = Array::<u8>::builder([6])
        .chunk_edges([listed(&[(1, 3), (3, 1)])])
        .create((&store, "a"))
        .expect("a new array");
    array
        .write(
            ..,
            &ArrayD::from_shape_vec(IxDyn(&[6]), vec![1, 2, 3, 4, 5, 6]).expect("6"),
        )
        .expect("a write");
    let document: serde_json::Value =
        serde_json::from_slice(&store.get("a/zarr.json").expect("it was made")).expect("JSON");
    assert_eq!(
        document["chunk_grid"],
        serde_json::json!({"name": "rectilinear",
            "configuration": {"kind": "inline", "chunk_shapes": [[[1, 3], 3]]}})
    );
    assert_eq!(store.get("a/c/3").as_deref(), Some(&[4, 5, 6][..]));
    assert_eq!(
        array.spec().chunk_edges.as_deref(),
        Some(&[listed(&[(1, 3), (3, 1)])][..])
    );

    // A regular grid is written as one.
    let plain = Array::<u8>::builder([6]).chunk_edges([ChunkEdges::Repeated(4)]);
    let plain = plain.create((&store, "b")).expect("a new array");
    assert_eq!(
        (plain.spec().chunk_edges.as_deref(), plain.chunk_shape()),
        (None, vec![4])
    );
    let text =
        String::from_utf8(store.get("b/zarr.json").expect("it was made").to_vec()).expect("text");
    assert!(
        text.contains("\"regular\"") && !text.contains("rectilinear"),
        "{text}"
    );
}

#[test]
fn v3_099_growing_shrinking_and_appending() {
    for shards in [false, true] {
        let store = MemoryStore::new();
        let mut builder = Array::<i32>::builder([6])
            .chunk_edges([listed(&[(2, 1), (4, 1), (6, 1)])])
            .fill_value(9);
        if shards {
            builder = builder.chunks([2]).shards([2]);
        }
        let mut array = builder.create((&store, "a")).expect("a new array");
        array.fill([0..6], 1).expect("a write");
        // Within the existing edges, they stay.
        array
            .append(0, &ndarray::array![2, 2, 2, 2, 2])
            .expect("appending");
        assert_eq!(
            array.spec().chunk_edges.as_deref(),
            Some(&[listed(&[(2, 1), (4, 1), (6, 1)])][..])
        );
        // Beyond them there is another one.
        array
            .append(0, &ndarray::array![3, 3, 3])
            .expect("appending");
        assert_eq!(array.shape(), [14]);
        assert_eq!(
            array.spec().chunk_edges.as_deref(),
            Some(&[listed(&[(2, 1), (4, 1), (6, 1), (2, 1)])][..])
        );
        array.resize([3]).expect("shrinking");
        assert_eq!(store.get("a/c/2"), None);
        array.resize([20]).expect("growing");
        let opened = Array::<i32>::open((&store, "a")).expect("the array");
        assert_eq!(
            opened.spec().chunk_edges.as_deref(),
            Some(&[listed(&[(2, 1), (4, 1), (6, 1), (2, 1), (6, 1)])][..])
        );
        let mut expected = vec![9; 20];
        expected[..3].fill(1);
        assert_eq!(
            opened.read(..).expect("a read").into_raw_vec_and_offset().0,
            expected
        );
        assert_eq!(
            array.read(..).expect("a read"),
            opened.read(..).expect("a read")
        );
    }
}

#[test]
fn a_shard_is_put_together_whatever_its_length() {
    let store = MemoryStore::new();
    let array = Array::<u16>::builder([10])
        .chunks([2])
        .shards([2])
        .chunk_edges([listed(&[(6, 1), (4, 1)])])
        .create((&store, "a"))
        .expect("a new array");
    for shard in 0..2 {
        let writer = array.shard_writer(&[shard]).expect("a shard");
        let inner: Vec<_> = writer.chunks().collect();
        assert_eq!(inner.len(), [3, 2][shard as usize]);
        for chunk in inner.iter().rev() {
            let data = ndarray::Array1::from_iter(chunk.ranges[0].clone().map(|n| n as u16));
            writer
                .write_chunk(&chunk.index, &data)
                .expect("an inner chunk");
        }
        writer.finish().expect("a shard");
    }
    assert_eq!(
        array.read(..).expect("a read").into_raw_vec_and_offset().0,
        (0..10).collect::<Vec<u16>>()
    );
}

#[test]
fn v3_098_what_does_not_fit_is_refused_when_it_is_made() {
    let store = MemoryStore::new();
    let odd = Array::<u8>::builder([10])
        .chunks([2])
        .shards([2])
        .chunk_edges([listed(&[(6, 1), (3, 2)])]);
    assert!(
        odd.create((&store, "a"))
            .expect_err("3 is no multiple of 2")
            .to_string()
            .contains("divide")
    );
    let short = Array::<u8>::builder([10]).chunk_edges([listed(&[(6, 1)])]);
    assert_eq!(
        short.create((&store, "a")).expect_err("too short").kind(),
        ErrorKind::InvalidArgument
    );
    for format in [Format::Zarr2, Format::N5, Format::DraftA] {
        let other = Array::<u8>::builder([10])
            .chunk_edges([listed(&[(6, 2)])])
            .format(format);
        assert!(other.create((&store, "a")).is_err());
    }
    assert!(store.keys().is_empty());
}
