//! Requests to the store: metadata first, then only for the chunks that are needed.

use ndarray::{Array1, Array2};
use ndzarr::{DataType, Format, MemoryStore, Storage, asynchronous};
use ndzarr_cf::{Dataset, asynchronous as cf};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency};
use serde_json::json;

/// 8 x 8 packed numbers in chunks of 2 x 8, with coordinates.
fn written() -> MemoryStore {
    let store = MemoryStore::new();
    let mut new = Dataset::create(&store, Format::Zarr3).expect("memory never fails");
    let float = DataType::Float { bits: 64 };
    for name in ["y", "x"] {
        let coordinate =
            new.create_variable(name, float.clone(), [(name, 8)], json!({}), |layout| layout);
        let values = Array1::from_iter((0..8).map(f64::from));
        coordinate
            .and_then(|coordinate| coordinate.write(values))
            .expect("it is valid");
    }
    let packed = json!({"scale_factor": 0.5, "_FillValue": -1});
    let dimensions = [("y", 8), ("x", 8)];
    let v = new.create_variable(
        "v",
        DataType::Int { bits: 16 },
        dimensions,
        packed,
        |layout| layout.chunks([2, 8]),
    );
    let values = Array2::from_shape_fn((8, 8), |(y, x)| y as f64 + x as f64 / 2.0);
    v.and_then(|v| v.write(values)).expect("it is valid");
    store
}

#[test]
fn opening_reads_one_document_and_reading_only_the_selected_chunks() {
    let store = CountingStore::new(written());
    let dataset = Dataset::open(Storage::blocking(store.clone())).expect("it is a dataset");
    let opened = store.reset();
    assert_eq!((opened.fetches, opened.lists), (1, 0), "{opened:?}");

    let v = dataset
        .variable("v")
        .and_then(|v| v.sel("y", 2.0..=3.0))
        .expect("it fits");
    assert_eq!(store.reset().fetches, 0);
    let read = v.read_as::<f64>().expect("it is there");
    assert_eq!((read.shape(), read[[1, 3]]), (&[2, 8][..], 4.5));
    // The coordinate and one chunk.
    assert_eq!(store.reset().fetches, 2);
    // The dataset keeps the coordinate.
    let again = dataset
        .variable("v")
        .and_then(|v| v.sel("y", 7.0))
        .and_then(|v| v.read())
        .expect("it is there");
    assert_eq!((again.shape(), store.reset().fetches), (&[8][..], 1));
}

#[test]
fn a_selection_is_written_without_the_rest() {
    let store = CountingStore::new(written());
    let dataset = Dataset::open(Storage::blocking(store.clone())).expect("it is a dataset");
    let rows = dataset
        .variable("v")
        .and_then(|v| v.sel("y", 4.0..=5.0))
        .expect("it fits");
    store.reset();
    rows.write(Array2::from_elem((2, 8), f64::NAN))
        .expect("it fits");
    let counts = store.reset();
    assert_eq!(
        (counts.puts, counts.fetches),
        (0, 1),
        "chunks of fill values are not stored: {counts:?}"
    );
    let v = dataset
        .variable("v")
        .and_then(|v| v.read_as::<f64>())
        .expect("it is there");
    assert_eq!(v.iter().filter(|element| element.is_nan()).count(), 16);
    rows.isel("x", 0..1)
        .and_then(|v| v.write(Array2::from_elem((2, 1), 0.5)))
        .expect("it fits");
    assert_eq!(
        dataset
            .variable("v")
            .and_then(|v| v.read_as::<f64>())
            .expect("it is there")[[4, 0]],
        0.5
    );
}

/// Futures may go to other threads.
fn sent<F: Future + Send>(future: F) -> F {
    future
}

#[test]
fn futures_read_and_write_the_same() {
    let store = AsyncMemoryStore::over(written(), Latency::default());
    ndzarr::store::block_on(async {
        let storage = Storage::asynchronous(store);
        let dataset = cf::Dataset::open(&storage).await.expect("it is a dataset");
        let v = dataset
            .variable("v")
            .and_then(|v| v.sel("y", 2.0..=3.0))
            .expect("it fits");
        assert_eq!(
            sent(v.read_as::<f64>()).await.expect("it is there")[[1, 3]],
            4.5
        );
        sent(v.write(Array2::from_elem((2, 8), 8.0)))
            .await
            .expect("it fits");
        assert_eq!(
            v.coordinate("y")
                .expect("it is there")
                .read_as::<u8>()
                .await
                .expect("they fit")
                .len(),
            2
        );
        let any: asynchronous::AnyArray = v.array();
        assert_eq!(
            any.read_as::<i16, _>((2, 0), Default::default())
                .await
                .expect("it is there")[()],
            16
        );
    });
}
