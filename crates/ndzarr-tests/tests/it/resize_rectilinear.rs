//! Resizes arrays with chunks of different lengths: every reader can open the new document.

use ndarray::{Array1, Array2, ArrayD, IxDyn};
use ndzarr::{Array, ChunkEdges, ErrorKind, MemoryStore, Storage, codec};
use ndzarr_testkit::{AsyncMemoryStore, Latency};
use serde_json::{Value, json};

fn one_of_four() -> ChunkEdges {
    ChunkEdges::Listed(vec![(4, 1)])
}

/// One shard of four elements, in inner chunks of two.
fn sharded(storage: &Storage) -> Array<u8> {
    let array = Array::<u8>::builder([4])
        .chunks([2])
        .shards([4])
        .chunk_edges([one_of_four()]);
    let array = array.create((storage, "a")).expect("a new array");
    array.fill(.., 7).expect("a write");
    array
}

fn reopened(storage: &Storage) -> Array<u8> {
    Array::open((storage, "a")).expect("every reader opens it")
}

fn elements(array: &Array<u8>) -> Vec<u8> {
    array.read(..).expect("a read").into_iter().collect()
}

/// Folders have locks, memory has conditional writes.
fn in_every_store(test: impl Fn(&Storage)) {
    let folder = tempfile::tempdir().expect("a folder");
    test(&Storage::folder(folder.path()));
    test(&Storage::from(MemoryStore::new()));
    test(&Storage::asynchronous(AsyncMemoryStore::new(
        Latency::default(),
    )));
}

/// Inner chunks divide every shard; edges may end beyond the array.
#[test]
fn v3_098_a_new_shard_holds_whole_inner_chunks() {
    let store = MemoryStore::new();
    let mut array = sharded(&Storage::from(&store));
    array.resize([7]).expect("a larger shape");
    let document: Value =
        serde_json::from_slice(&store.get("a/zarr.json").expect("a document")).expect("JSON");
    assert_eq!(document["shape"], json!([7]));
    assert_eq!(
        document["chunk_grid"]["configuration"]["chunk_shapes"],
        json!([[4, 4]])
    );
}

#[test]
fn sharded_arrays_open_after_resizing() {
    in_every_store(|storage| {
        let mut array = sharded(storage);
        array.resize([7]).expect("a larger shape");
        assert_eq!(elements(&reopened(storage)), [7, 7, 7, 7, 0, 0, 0]);
        array
            .write([5..7], &Array1::from_elem(2, 9))
            .expect("a write");
        assert_eq!(elements(&reopened(storage)), [7, 7, 7, 7, 0, 9, 9]);
        array.resize([4]).expect("the shape that it had");
        assert_eq!(elements(&reopened(storage)), [7; 4]);
        array.resize([7]).expect("a larger shape");
        assert_eq!(elements(&reopened(storage)), [7, 7, 7, 7, 0, 0, 0]);
    });
}

#[test]
fn sharded_arrays_are_appended_to_by_any_number_of_elements() {
    in_every_store(|storage| {
        let mut array = sharded(storage);
        let mut expected = vec![7; 4];
        for n in [3usize, 1, 2, 5] {
            array
                .append(0, &Array1::from_elem(n, n as u8))
                .expect("an append");
            expected.extend(vec![n as u8; n]);
            assert_eq!(elements(&reopened(storage)), expected);
        }
    });
}

/// By the axes of the array, also where a transpose stands before the shards.
#[test]
fn inner_chunks_divide_new_shards_along_each_axis() {
    let store = MemoryStore::new();
    let mut array = Array::<u8>::builder([4, 6])
        .chunk_edges([one_of_four(), ChunkEdges::Listed(vec![(6, 1)])])
        .codecs_json(json!([
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "sharding_indexed", "configuration": {
                "chunk_shape": [3, 2],
                "codecs": ["bytes"],
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "crc32c"],
            }},
        ]))
        .create((&store, "a"))
        .expect("a new array");
    array.resize([5, 7]).expect("a larger shape");
    let opened = Array::<u8>::open((&store, "a")).expect("every reader opens it");
    let edges = |len| ChunkEdges::Listed(len);
    assert_eq!(
        opened.spec().chunk_edges.as_deref(),
        Some(&[edges(vec![(4, 1), (2, 1)]), edges(vec![(6, 1), (3, 1)])][..])
    );
}

/// Chunks of a shape that a codec refuses are found before the document is written.
#[test]
fn a_refused_chunk_shape_leaves_the_document() {
    in_every_store(|storage| {
        let codecs = json!([{"name": "reshape", "configuration": {"shape": [2, 2]}}, "bytes"]);
        let array = Array::<u8>::builder([4])
            .chunk_edges([one_of_four()])
            .codecs_json(codecs);
        let mut array = array.create((storage, "a")).expect("a new array");
        array.fill(.., 7).expect("a write");
        assert_eq!(
            array
                .resize([7])
                .expect_err("3 elements are not 2 by 2")
                .kind(),
            ErrorKind::WrongShape
        );
        let refused = array
            .append(0, &Array1::from_elem(3, 9))
            .expect_err("3 elements are not 2 by 2");
        assert_eq!(refused.kind(), ErrorKind::WrongShape);
        assert_eq!(elements(&reopened(storage)), [7; 4]);
        array
            .append(0, &Array1::from_elem(4, 9))
            .expect("4 elements are");
        assert_eq!(elements(&reopened(storage)), [7, 7, 7, 7, 9, 9, 9, 9]);
    });
}

#[test]
fn one_axis_grows_while_another_shrinks() {
    in_every_store(|storage| {
        let array = Array::<u8>::builder([4, 4])
            .chunk_edges([one_of_four(), one_of_four()])
            .codecs([codec::gzip(1)])
            .fill_value(1);
        let mut array = array.create((storage, "a")).expect("a new array");
        array.fill(.., 7).expect("a write");
        array
            .resize([6, 2])
            .expect("a shape that grows and shrinks");
        array.resize([6, 4]).expect("a larger shape");
        let expected = Array2::from_shape_fn(
            (6, 4),
            |(row, column)| if row < 4 && column < 2 { 7 } else { 1 },
        );
        let read: ArrayD<u8> = reopened(storage).read(..).expect("a read");
        assert_eq!(read, expected.into_dyn());
        array
            .resize([2, 9])
            .expect("a shape that shrinks and grows");
        let expected =
            ArrayD::from_shape_fn(IxDyn(&[2, 9]), |index| if index[1] < 2 { 7 } else { 1 });
        assert_eq!(reopened(storage).read(..).expect("a read"), expected);
    });
}
