//! Custom chunk grids.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use ndarray::{Array2, ArrayD, IxDyn, arr2, s};
use ndzarr::{
    Array, ChunkEdges, CopyLevel, CopyOptions, CustomChunkGrid, Error, ErrorKind, Extensions,
    Format, MemoryStore, OpenOptions, Points, Progress, Region, RunOptions, Storage, asynchronous,
    codec, copy, par_fold, par_map, par_write,
};
use ndzarr_testkit::{AsyncMemoryStore, block_on};
use proptest::prelude::*;
use serde_json::{Value, json};

const SEASONS: &str = "example.seasons";
const BOUNDED: &str = "example.bounded";

pub(crate) fn listed(runs: &[(u64, u64)]) -> ChunkEdges {
    ChunkEdges::Listed(runs.to_vec())
}

/// Along axis 0 chunks of the listed heights, the last of which repeats without an end; along axis
/// 1 chunks of one width.
fn seasons(configuration: &Value) -> Result<CustomChunkGrid, String> {
    let heights: Option<Vec<u64>> = configuration["heights"]
        .as_array()
        .map(|list| list.iter().filter_map(Value::as_u64).collect());
    let (last, first) = heights
        .as_deref()
        .and_then(<[u64]>::split_last)
        .ok_or("has no heights")?;
    let width = configuration["width"].as_u64().ok_or("has no width")?;
    let first = first.iter().map(|&height| (height, 1));
    let rows = ChunkEdges::Listed(first.chain([(*last, u64::MAX)]).collect());
    let grid = CustomChunkGrid::new(SEASONS, [rows, ChunkEdges::Repeated(width)]);
    Ok(grid.with_configuration(configuration.clone()))
}

/// Chunks of 4 elements, of which the last ends with the array: it depends on the shape.
pub(crate) fn bounded(shape: &[u64]) -> CustomChunkGrid {
    let edges = |&len: &u64| {
        let whole = (len / 4 > 0).then_some((4, len / 4));
        let rest = (len % 4 > 0).then_some((len % 4, 1));
        ChunkEdges::Listed(whole.into_iter().chain(rest).collect())
    };
    CustomChunkGrid::new(BOUNDED, shape.iter().map(edges))
}

pub(crate) fn new_seasons(heights: &[u64], width: u64) -> CustomChunkGrid {
    seasons(&json!({"heights": heights, "width": width})).expect("a grid")
}

fn options() -> OpenOptions {
    let extensions = Extensions::new()
        .with_chunk_grid(SEASONS, |configuration, _| seasons(configuration))
        .with_chunk_grid(BOUNDED, |_, shape| Ok(bounded(shape)));
    OpenOptions::new().extensions(extensions)
}

pub(crate) fn open(storage: impl Into<Storage>, path: &str) -> ndzarr::Result<Array<u16>> {
    options().open_array::<u16>((storage, path))
}

fn part_shape(part: &Region) -> Vec<usize> {
    part.shape().iter().map(|&n| n as usize).collect()
}

pub(crate) fn document(store: &MemoryStore, path: &str) -> Value {
    serde_json::from_slice(&store.get(&format!("{path}/zarr.json")).expect("a document"))
        .expect("JSON")
}

pub(crate) fn numbered(rows: usize, columns: usize) -> Array2<u16> {
    Array2::from_shape_fn((rows, columns), |(row, column)| {
        (row * columns + column + 1) as u16
    })
}

#[test]
fn each_chunk_is_stored_in_its_own_shape() {
    let store = MemoryStore::new();
    let grid = new_seasons(&[1, 3, 2], 4);
    let a = Array::<u8>::builder([5, 6])
        .chunk_grid(grid)
        .create((&store, "a"))
        .expect("created");
    assert_eq!(
        document(&store, "a")["chunk_grid"],
        json!({"name": SEASONS, "configuration": {"heights": [1, 3, 2], "width": 4}})
    );
    assert_eq!(a.chunk_shape(), [3, 4]);
    let chunks: Vec<_> = a
        .chunks()
        .map(|chunk| (chunk.index, chunk.ranges))
        .collect();
    let expected = [
        (vec![0, 0], vec![0..1, 0..4]),
        (vec![0, 1], vec![0..1, 4..6]),
        (vec![1, 0], vec![1..4, 0..4]),
        (vec![1, 1], vec![1..4, 4..6]),
        (vec![2, 0], vec![4..5, 0..4]),
        (vec![2, 1], vec![4..5, 4..6]),
    ];
    assert_eq!(chunks, expected);
    let numbers = Array2::from_shape_fn((5, 6), |(row, column)| (row * 10 + column) as u8);
    a.write([0..5, 0..6], &numbers).expect("written");
    assert_eq!(store.get("a/c/0/0").as_deref(), Some(&[0, 1, 2, 3][..]));
    assert_eq!(
        store.get("a/c/1/0").as_deref(),
        Some(&[10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33][..])
    );
    // The last chunk extends beyond both ends.
    assert_eq!(
        store.get("a/c/2/1").as_deref(),
        Some(&[44, 45, 0, 0, 0, 0, 0, 0][..])
    );
    assert_eq!(store.keys().len(), 2 + 6, "two documents and six chunks");
    assert_eq!(
        a.read_chunk(&[0, 1]).expect("read"),
        arr2(&[[4, 5]]).into_dyn()
    );
    assert_eq!(
        a.read_chunk(&[0, 2]).expect_err("has to be refused").kind(),
        ErrorKind::WrongShape
    );
    assert_eq!(
        a.read(a.blocks((1..2, -1)).expect("one chunk"))
            .expect("read"),
        numbers.slice(s![1..4, 4..]).into_dyn()
    );
}

#[test]
fn thousands_of_chunks_are_each_written_once_and_read() {
    let numbers = numbered(64, 90);
    for (grid, chunks) in [
        (new_seasons(&[2, 1], 2), 63 * 45),
        (new_seasons(&[1, 5, 3, 1], 1), 58 * 90),
    ] {
        let store = MemoryStore::new();
        for storage in [
            Storage::from(&store),
            Storage::asynchronous(AsyncMemoryStore::default()),
        ] {
            let new = Array::<u16>::builder([64, 90]).chunk_grid(grid.clone());
            let a = new.create((&storage, "a")).expect("created");
            let last = Arc::new(Mutex::new(None));
            let on_progress = {
                let last = Arc::clone(&last);
                move |progress: Progress| {
                    let mut last = last.lock().expect("no panic");
                    *last = (*last).max(Some((progress.done, progress.total)));
                }
            };
            let a = a.with_options(RunOptions::default().progress(on_progress));
            a.write([0..64, 0..90], &numbers).expect("written");
            assert_eq!(
                last.lock().expect("no panic").take(),
                Some((chunks, chunks))
            );
            assert_eq!(a.read([0..64, 0..90]).expect("read"), numbers);
            assert_eq!(
                last.lock().expect("no panic").take(),
                Some((chunks, chunks))
            );
            let part = s![1..63, 2..89];
            assert_eq!(a.read(part).expect("read"), numbers.slice(part));
            let part = s![..; 40, ..; 5];
            assert_eq!(a.read(part).expect("read"), numbers.slice(part));
        }
    }
}

#[test]
fn unknown_and_impossible_grids_are_errors() {
    let store = MemoryStore::new();
    let grid = new_seasons(&[2], 4);
    Array::<u16>::builder([4, 8])
        .chunk_grid(grid.clone())
        .create((&store, "a"))
        .expect("created");
    let error = Array::<u16>::open((&store, "a")).expect_err("has to be refused");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error
            .to_string()
            .contains("unsupported chunk grid example.seasons"),
        "{error}"
    );

    let mut changed = document(&store, "a");
    for (configuration, expected) in [
        (
            json!({"heights": [], "width": 4}),
            "chunk_grid \"example.seasons\" has no heights",
        ),
        (
            json!({"heights": [3, 0], "width": 4}),
            "a chunk length or a count of 0 along axis 0",
        ),
        (
            json!({"heights": [3], "width": 0}),
            "a chunk length of 0 along axis 1",
        ),
    ] {
        changed["chunk_grid"]["configuration"] = configuration;
        store.set("a/zarr.json", changed.to_string()).expect("set");
        let error = open(&store, "a")
            .expect_err("has to be refused")
            .to_string();
        assert!(error.contains(expected), "{error}");
    }

    let create = |shape: &[u64], edges: Vec<ChunkEdges>| {
        let grid = CustomChunkGrid::new("example.other", edges);
        let created = Array::<u16>::builder(shape)
            .chunk_grid(grid)
            .create((MemoryStore::new(), "b"));
        created.map(drop).map_err(|error| error.to_string())
    };
    for (shape, edges, expected) in [
        (
            &[4][..],
            vec![listed(&[(2, 2)]); 2],
            "chunks of 2 dimensions for an array of 1",
        ),
        (
            &[4, 4],
            vec![listed(&[(2, 2)])],
            "chunks of 1 dimensions for an array of 2",
        ),
        (
            &[4],
            vec![listed(&[(2, 1), (1, 1)])],
            "chunks of 3 elements along axis 0, which has 4",
        ),
        (
            &[4],
            vec![listed(&[(2, 0), (4, 1)])],
            "a chunk length or a count of 0 along axis 0",
        ),
        (
            &[4],
            vec![listed(&[])],
            "chunks of 0 elements along axis 0, which has 4",
        ),
    ] {
        let error = create(shape, edges).expect_err("has to be refused");
        assert!(error.contains(expected), "{error}");
    }
    for format in [Format::Zarr2, Format::DraftA, Format::DraftB, Format::N5] {
        let new = Array::<u16>::builder([4, 8])
            .format(format)
            .chunk_grid(grid.clone());
        let error = new
            .create((MemoryStore::new(), "a"))
            .expect_err("has to be refused")
            .to_string();
        assert!(error.contains("has only regular chunk grids"), "{error}");
    }
}

/// A list may end beyond u64, where no element is.
#[test]
fn lengths_and_counts_of_any_size_are_accepted_or_refused() {
    let store = MemoryStore::new();
    let create = |path: &str, runs: &[(u64, u64)]| {
        let grid = CustomChunkGrid::new("example.far", [listed(runs)]);
        Array::<u8>::builder([u64::MAX])
            .chunk_grid(grid)
            .create((&store, path))
    };
    for (path, runs, n_chunks) in [
        ("threes", &[(3, u64::MAX)][..], u64::MAX / 3),
        ("larger", &[(1 << 20, 1 << 50), (5, 7)], 1 << 44),
        ("ones", &[(7, 1), (1, u64::MAX)], u64::MAX - 6),
    ] {
        let a = create(path, runs).expect("created");
        assert_eq!(a.chunks().grid_shape(), [n_chunks], "{path}");
        assert_eq!(
            a.chunks().next().expect("a chunk").ranges,
            [0..runs[0].0],
            "{path}"
        );
    }
    for runs in [
        &[(u64::MAX, u64::MAX), (1, 1)][..],
        &[(1, 1), (u64::MAX, 1), (2, u64::MAX)],
    ] {
        let error = create("too large", runs).expect_err("has to be refused");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(
            error.to_string().contains("is too large for this machine"),
            "{error}"
        );
    }
    let grid = CustomChunkGrid::new("example.threes", [listed(&[(1, 1), (3, u64::MAX)])]);
    let a = Array::<u8>::builder([u64::MAX])
        .chunk_grid(grid)
        .create((&store, "far"))
        .expect("created");
    let points = Points::new([[u64::MAX - 1], [0], [1 << 50]]);
    a.write(&points, &[1, 2, 3]).expect("written");
    assert_eq!(a.read(&points).expect("read").to_vec(), [1, 2, 3]);
    assert_eq!(
        a.read([u64::MAX - 3..u64::MAX]).expect("read").to_vec(),
        [0, 0, 1]
    );
}

/// A shape that shards cannot have is an error when the array is created.
#[test]
fn shards_of_a_custom_grid_are_divided_by_their_inner_chunks() {
    let store = MemoryStore::new();
    let new = |inner: [u64; 2]| {
        Array::<u16>::builder([8, 20])
            .chunk_grid(new_seasons(&[2, 4, 2], 8))
            .shards([2, 8])
            .chunks(inner)
    };
    let a = new([1, 2])
        .codecs([codec::gzip(1)])
        .create((&store, "a"))
        .expect("created");
    assert_eq!(a.chunk_shape(), [1, 2]);
    let numbers = Array2::from_shape_fn((8, 20), |(row, column)| (row * 100 + column) as u16);
    a.write([0..8, 0..20], &numbers).expect("written");
    let a = open(&store, "a").expect("opens");
    assert_eq!(
        a.read([1..7, 1..15]).expect("read"),
        numbers.slice(s![1..7, 1..15])
    );
    assert_eq!(
        a.read_chunk(&[3, 3])
            .expect("read")
            .into_raw_vec_and_offset()
            .0,
        [306, 307]
    );

    let error = new([4, 8])
        .create((&store, "b"))
        .expect_err("has to be refused");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}

#[test]
fn each_chunk_is_worked_on_in_parallel() {
    let storage = Storage::from(MemoryStore::new());
    let new = |path: &str| {
        let new = Array::<u16>::builder([11, 7]).chunk_grid(new_seasons(&[3, 1, 2], 4));
        new.create((&storage, path)).expect("created")
    };
    let a = new("a");
    let b = new("b");
    let written = par_write(&a, |part| {
        let origin = part.start();
        let of = |at: IxDyn| ((origin[0] + at[0] as u64) * 7 + origin[1] + at[1] as u64 + 1) as u16;
        Ok::<_, Error>(ArrayD::from_shape_fn(IxDyn(&part_shape(part)), of))
    });
    written.expect("written");
    assert_eq!(a.read([0..11, 0..7]).expect("read"), numbered(11, 7));
    par_map(&a, &b, |_, chunk| chunk + 1).expect("mapped");
    let sum = par_fold(
        &b,
        || 0,
        |n, _, chunk| n + u64::from(chunk.sum()),
        |a, b| a + b,
    );
    // 1 to 77, and one more for each.
    assert_eq!(sum.expect("a sum"), 77 * 78 / 2 + 77);
}

#[test]
fn the_grid_stays_with_copied_chunks_and_goes_where_there_is_none() {
    let store = MemoryStore::new();
    let new = Array::<u16>::builder([5, 7]).chunk_grid(new_seasons(&[1, 3, 2], 4));
    let a = new.create((&store, "a")).expect("created");
    a.write([0..5, 0..7], &numbered(5, 7)).expect("written");
    for (format, level) in [
        (Format::Zarr3, CopyLevel::Rekeyed),
        (Format::Zarr2, CopyLevel::Reencoded),
    ] {
        let other = MemoryStore::new();
        let convert_options = CopyOptions::new().format(format).open(options());
        let report = copy((&store, "a"), (&other, "b"), &convert_options).expect("converted");
        assert_eq!(report.nodes[0].level, level);
        let b = open(&other, "b").expect("opens");
        assert_eq!(b.spec().custom_grid.is_some(), format == Format::Zarr3);
        assert_eq!(b.read([0..5, 0..7]).expect("read"), numbered(5, 7));
    }
}

/// A region of some rows and columns.
fn part(shape: (u64, u64)) -> impl Strategy<Value = [Range<u64>; 2]> {
    let range = |n: u64| (0..n, 0..n).prop_map(|(a, b)| a.min(b)..a.max(b) + 1);
    (range(shape.0), range(shape.1)).prop_map(|(rows, columns)| [rows, columns])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Compared with an array in memory, on both drivers.
    #[test]
    fn regions_are_those_of_an_array_in_memory(
        heights in prop::collection::vec(1u64..5, 1..5),
        width in 1u64..6,
        writes in prop::collection::vec((part((11, 14)), any::<u16>()), 1..5),
        reads in prop::collection::vec(part((11, 14)), 1..5),
    ) {
        let of_usize = |range: &Range<u64>| range.start as usize..range.end as usize;
        for storage in [Storage::from(MemoryStore::new()), Storage::asynchronous(AsyncMemoryStore::default())] {
            let new = Array::<u16>::builder([11, 14]).chunk_grid(new_seasons(&heights, width));
            let a = new.create((&storage, "a")).expect("created");
            let mut expected = Array2::<u16>::zeros((11, 14));
            for (part, seed) in &writes {
                let mut view = expected.slice_mut(s![of_usize(&part[0]), of_usize(&part[1])]);
                view.indexed_iter_mut().for_each(|((row, column), value)| {
                    *value = seed.wrapping_add((row * 31 + column) as u16);
                });
                let data = view.to_owned();
                a.write(part.clone(), &data).expect("written");
            }
            let a = open(&storage, "a").expect("opens");
            let mut several = Vec::new();
            for part in &reads {
                let expected = expected.slice(s![of_usize(&part[0]), of_usize(&part[1])]);
                prop_assert_eq!(a.read(part.clone()).expect("read"), expected);
                let read = block_on(asynchronous::Array::from(a.clone()).read(part.clone()));
                prop_assert_eq!(read.expect("read"), expected);
                several.push(expected);
            }
            prop_assert_eq!(a.read_many(reads.clone()).expect("read"), several);
        }
    }
}
