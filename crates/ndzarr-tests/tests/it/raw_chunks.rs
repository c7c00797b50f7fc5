//! Raw chunks of another size, large regions of raw chunks, and large results.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use ndarray::{ArrayD, IxDyn};
use ndzarr::Store;
use ndzarr::store::{Fetch, Fetched, Key, Precondition, Put, StoreError};
use ndzarr::{Array, ErrorKind, FsStore, MemoryStore, RunOptions, Storage};
use ndzarr_store::FetchedPieces;

/// A raw chunk of the wrong size is an error on every path.
#[test]
fn a_raw_chunk_of_another_size_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let array = Array::<u16>::builder([8, 8])
        .chunks([4, 8])
        .create((FsStore::new(folder.path()), "a"))
        .expect("an array");
    array
        .write(.., &ArrayD::from_elem(IxDyn(&[8, 8]), 5))
        .expect("a write");
    let chunk = folder.path().join("a/c/1/0");
    let stored = std::fs::read(&chunk).expect("a chunk");
    assert_eq!(stored.len(), 64);
    for len in [0, 1, 63, 65] {
        std::fs::write(&chunk, &[&stored[..], &[0]].concat()[..len]).expect("a file");
        let error = array.read(..).expect_err("it is broken");
        assert!(error.to_string().contains("c/1/0"), "{error}");
    }
    std::fs::remove_file(&chunk).expect("it was there");
    let read = array.read(..).expect("a missing chunk is the fill value");
    assert_eq!(read.iter().filter(|&&element| element == 0).count(), 32);
}

/// Regions of raw chunks that are read in several pieces, layer by layer along the first axis
/// longer than one.
#[test]
fn regions_of_large_raw_chunks_have_their_elements() {
    for (shape, chunks) in [
        ([40u64, 100, 100], [40u64, 100, 100]),
        ([45, 130, 90], [40, 100, 60]),
        ([3, 200, 300], [2, 200, 300]),
        ([1, 400, 301], [1, 400, 300]),
        ([2, 1, 200_000], [1, 1, 150_000]),
        ([70, 2, 3000], [70, 2, 3000]),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let data = ArrayD::from_shape_fn(IxDyn(&shape.map(|n| n as usize)), |at| {
            let row = (at[0] * 7_919 + at[1]) as u32;
            row.wrapping_mul(104_729).wrapping_add(at[2] as u32)
        });
        let array = Array::<u32>::builder(shape)
            .chunks(chunks)
            .create((FsStore::new(folder.path()), "a"));
        // More than one thread on every machine: only the first begins with the first layer.
        let options = RunOptions::default().threads(NonZeroUsize::new(3));
        let array = array.expect("an array").with_options(options);
        array.write(.., &data).expect("a write");
        let edges = shape.map(|n| [0..n, 0..n / 2 + 1, n / 3..n, n / 2..n / 2 + 1, n - 1..n]);
        for (a, b, c) in (0..125).map(|i| (i / 25, i / 5 % 5, i % 5)) {
            let region = [
                edges[0][a].clone(),
                edges[1][b].clone(),
                edges[2][c].clone(),
            ];
            let [z, y, x] = region
                .clone()
                .map(|range| ndarray::Slice::from(range.start as usize..range.end as usize));
            let expected = data.slice_each_axis(|axis| [z, y, x][axis.axis.index()]);
            assert_eq!(
                array
                    .read(region.clone())
                    .expect("a read")
                    .view()
                    .into_dyn(),
                expected,
                "{shape:?} {region:?}"
            );
        }
    }
}

/// Counts the calls that may open a file.
#[derive(Debug)]
struct Counted {
    inner: FsStore,
    fetches: AtomicUsize,
}

impl Store for Counted {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        self.inner.fetch(fetch)
    }

    fn fetch_pieces(
        &self,
        key: &Key,
        byte_len: u64,
        ranges: &[Range<u64>],
        piece: &mut [u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<FetchedPieces, StoreError> {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        self.inner.fetch_pieces(key, byte_len, ranges, piece, take)
    }

    fn put(&self, _: &Key, _: &[Bytes], _: Precondition) -> Result<Put, StoreError> {
        Err(StoreError::Unsupported("write"))
    }

    fn erase(&self, _: &Key, _: Precondition) -> Result<Put, StoreError> {
        Err(StoreError::Unsupported("erase"))
    }
}

/// A raw chunk costs one request, if it exists or not, contiguous in the result or
/// scattered.
#[test]
fn a_raw_chunk_is_asked_for_once() {
    for fill in [0u16, 7] {
        let folder = tempfile::tempdir().expect("a folder");
        let files = Storage::from(FsStore::new(folder.path()));
        let a = Array::<u16>::builder([4, 4])
            .chunks([2, 2])
            .fill_value(fill)
            .create((&files, "a"));
        let block = ndarray::array![[1, 2], [3, 4]];
        a.expect("an array")
            .write([0..2, 0..2], &block)
            .expect("a write");
        let store = Arc::new(Counted {
            inner: FsStore::new(folder.path()),
            fetches: AtomicUsize::new(0),
        });
        let a =
            Array::<u16>::open((Arc::clone(&store) as Arc<dyn Store>, "a")).expect("it was made");
        store.fetches.store(0, Ordering::Relaxed);
        let mut expected = ndarray::Array2::from_elem((4, 4), fill);
        expected.slice_mut(ndarray::s![..2, ..2]).assign(&block);
        assert_eq!(a.read([0..4, 0..4]).expect("elements"), expected);
        assert_eq!(store.fetches.swap(0, Ordering::Relaxed), 4);
        assert_eq!(
            a.read([2..4, 2..4]).expect("elements"),
            ndarray::Array2::from_elem((2, 2), fill)
        );
        assert_eq!(store.fetches.load(Ordering::Relaxed), 1);
    }
}

/// Each result of a batch is made just before it is read; a lack of memory for one is reported as
/// by a single read.
#[test]
fn a_result_of_a_batch_that_no_memory_holds_is_an_error() {
    let n: u64 = 1 << 50;
    // 32 bits have no array with chunks that they cannot address.
    let large = if cfg!(target_pointer_width = "64") {
        [1 << 40, n]
    } else {
        [1 << 20, 1 << 30]
    };
    for chunks in large {
        let store = MemoryStore::new();
        let array = Array::<u8>::builder([n])
            .chunks([chunks])
            .create((&store, "a"))
            .expect("an array");
        let small = array.read_many([[0..4], [n - 2..n]]).expect("a read");
        assert_eq!(
            small,
            [ndarray::Array1::<u8>::zeros(4), ndarray::Array1::zeros(2)]
        );
        let batch = array.read_many([[0..4], [0..n]]).expect_err("too much");
        let single = array.read([0..n]).expect_err("too much");
        assert_eq!(
            (batch.kind(), batch.to_string()),
            (ErrorKind::OutOfMemory, single.to_string())
        );
    }
}

/// A result so large that it is written past the caches, from chunks that begin anywhere in it.
#[test]
fn a_large_result_has_every_element() {
    let shape = [33u64, 1031, 1021];
    let data = ArrayD::from_shape_fn(IxDyn(&shape.map(|n| n as usize)), |at| {
        (at[0] * 151 + at[1] * 31 + at[2] * 7) as u8
    });
    let array = Array::<u8>::builder(shape)
        .chunks([33, 300, 301])
        .create((MemoryStore::new(), "a"));
    let array = array.expect("an array");
    array.write(.., &data).expect("a write");
    assert!(data.len() > 32 << 20 && array.read(..).expect("a read") == data);
    let part = array.read([0..33, 1..1031, 3..1021]).expect("a read");
    assert!(part.len() > 32 << 20 && part == data.slice(ndarray::s![.., 1.., 3..]));
}
