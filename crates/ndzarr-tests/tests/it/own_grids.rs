//! Custom chunk grids.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use ndarray::{Array2, ArrayD, IxDyn, arr1, arr2, s};
use ndzarr::{
    Array, CopyLevel, CopyOptions, CustomChunkGrid, CustomGrid, Error, ErrorKind, Extensions, Format,
    MemoryStore, OpenOptions, Progress, Region, RunOptions, Storage, asynchronous, codec, copy, par_fold,
    par_map, par_write,
};
use ndzarr_testkit::{AsyncMemoryStore, block_on};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Bricks, with every second row shifted by half.
#[derive(Debug)]
struct Bricks {
    height: u64,
    width: u64,
}

impl CustomGrid for Bricks {
    fn chunk(&self, index: &[u64]) -> Option<Region> {
        let &[row, brick] = index else { return None };
        let (top, end) = (row.checked_mul(self.height)?, brick.checked_add(1)?.checked_mul(self.width)?);
        let (start, end) = match row % 2 {
            0 => (end - self.width, end),
            _ => ((end - self.width).saturating_sub(self.width / 2), end - self.width / 2),
        };
        Some(Region::new([top..top.checked_add(self.height)?, start..end]))
    }

    fn indices(&self, region: &Region) -> Vec<Range<u64>> {
        let last = (region.ranges()[1].end - 1).saturating_add(self.width / 2) / self.width;
        let rows = &region.ranges()[0];
        vec![
            rows.start / self.height..(rows.end - 1) / self.height + 1,
            region.ranges()[1].start / self.width..last + 1,
        ]
    }

    fn max_chunk_shape(&self) -> Vec<u64> {
        vec![self.height, self.width]
    }
}

/// Squares of 3 x 3 elements cut like a pinwheel: chunk (2, 2) of each is in the middle, and every
/// straight cut divides a chunk.
#[derive(Debug)]
struct Pinwheel;

impl CustomGrid for Pinwheel {
    fn chunk(&self, index: &[u64]) -> Option<Region> {
        let &[row, column] = index else { return None };
        // Five chunks of a square have these of its 3 x 2 indices.
        let (rows, columns) = match (row % 3, column % 2) {
            (0, 0) => (0..1, 0..2),
            (0, 1) => (0..2, 2..3),
            (1, 0) => (1..3, 0..1),
            (1, 1) => (1..2, 1..2),
            (2, 0) => (2..3, 1..3),
            _ => return None,
        };
        let (top, left) = ((row / 3).checked_mul(3)?, (column / 2).checked_mul(3)?);
        Some(Region::new([top + rows.start..top + rows.end, left + columns.start..left + columns.end]))
    }

    fn indices(&self, region: &Region) -> Vec<Range<u64>> {
        let squares = |axis: usize, n: u64| {
            let range = &region.ranges()[axis];
            range.start / 3 * n..((range.end - 1) / 3 + 1) * n
        };
        vec![squares(0, 3), squares(1, 2)]
    }

    fn max_chunk_shape(&self) -> Vec<u64> {
        vec![2, 2]
    }
}

/// Every second element has no chunk, or has two.
#[derive(Debug)]
struct Broken {
    len: u64,
}

impl CustomGrid for Broken {
    fn chunk(&self, index: &[u64]) -> Option<Region> {
        Some(Region::new([index[0] * 2..index[0] * 2 + self.len]))
    }

    fn indices(&self, region: &Region) -> Vec<Range<u64>> {
        let range = &region.ranges()[0];
        vec![range.start.saturating_sub(2) / 2..range.end.div_ceil(2)]
    }

    fn max_chunk_shape(&self) -> Vec<u64> {
        vec![3]
    }
}

/// Chunks of one element, but one is missing.
#[derive(Debug)]
struct Gap;

impl CustomGrid for Gap {
    fn chunk(&self, index: &[u64]) -> Option<Region> {
        (index[0] != 4001).then(|| Region::new([index[0]..index[0] + 1]))
    }

    fn indices(&self, region: &Region) -> Vec<Range<u64>> {
        region.ranges().to_vec()
    }

    fn max_chunk_shape(&self) -> Vec<u64> {
        vec![1]
    }
}

fn grid(name: &str, configuration: &Value) -> Result<CustomChunkGrid, String> {
    match name {
        "example.bricks" => {
            let length =
                |name| configuration[name].as_u64().filter(|&n| n > 0).ok_or(format!("has no {name}"));
            let bricks = Bricks { height: length("height")?, width: length("width")? };
            Ok(CustomChunkGrid::new(name, bricks).with_configuration(configuration.clone()))
        }
        "example.pinwheel" => Ok(CustomChunkGrid::new(name, Pinwheel)),
        _ => Err(format!("no grid {name}")),
    }
}

fn bricks() -> CustomChunkGrid {
    grid("example.bricks", &json!({"height": 2, "width": 4})).expect("bricks")
}

fn options() -> OpenOptions {
    let extensions =
        ["example.bricks", "example.pinwheel"].into_iter().fold(Extensions::new(), |all, name| {
            all.with_chunk_grid(name, move |configuration, _| grid(name, configuration))
        });
    OpenOptions::new().extensions(extensions)
}

fn open(storage: impl Into<Storage>, path: &str) -> ndzarr::Result<Array<u16>> {
    options().open_array::<u16>((storage, path))
}

fn part_shape(part: &Region) -> Vec<usize> {
    part.shape().iter().map(|&n| n as usize).collect()
}

fn document(store: &MemoryStore, path: &str) -> Value {
    serde_json::from_slice(&store.get(&format!("{path}/zarr.json")).expect("a document")).expect("JSON")
}

#[test]
fn each_chunk_is_stored_in_its_own_shape() {
    let store = MemoryStore::new();
    let a = Array::<u8>::builder([4, 8]).chunk_grid(bricks()).create((&store, "a")).expect("created");
    assert_eq!(
        document(&store, "a")["chunk_grid"],
        json!({"name": "example.bricks", "configuration": {"height": 2, "width": 4}})
    );
    assert_eq!(a.chunk_shape(), [2, 4]);
    let chunks: Vec<_> = a.chunks().map(|chunk| (chunk.index, chunk.ranges)).collect();
    let expected = [
        (vec![0, 0], vec![0..2, 0..4]),
        (vec![0, 1], vec![0..2, 4..8]),
        (vec![1, 0], vec![2..4, 0..2]),
        (vec![1, 1], vec![2..4, 2..6]),
        (vec![1, 2], vec![2..4, 6..8]),
    ];
    assert_eq!(chunks, expected);
    let numbers = Array2::from_shape_fn((4, 8), |(row, column)| (row * 10 + column) as u8);
    a.write([0..4, 0..8], &numbers).expect("written");
    assert_eq!(store.get("a/c/0/1").as_deref(), Some(&[4, 5, 6, 7, 14, 15, 16, 17][..]));
    assert_eq!(store.get("a/c/1/0").as_deref(), Some(&[20, 21, 30, 31][..]));
    // The last brick extends beyond the end.
    assert_eq!(store.get("a/c/1/2").as_deref(), Some(&[26, 27, 0, 0, 36, 37, 0, 0][..]));
    assert_eq!(store.keys().len(), 2 + 5, "two documents and five chunks");
    assert_eq!(a.read_chunk(&[1, 0]).expect("read"), arr2(&[[20, 21], [30, 31]]).into_dyn());
    assert_eq!(a.read_chunk(&[0, 2]).expect_err("has to be refused").kind(), ErrorKind::WrongShape);
}

/// More chunks than a call lists at once.
#[test]
fn thousands_of_chunks_are_each_written_once_and_read() {
    let numbers = Array2::from_shape_fn((64, 90), |(row, column)| (row * 90 + column + 1) as u16);
    for (configuration, chunks) in
        [(json!({"height": 1, "width": 2}), 32 * 45 + 32 * 46), (json!({}), 21 * 30 * 5 + 30 * 2)]
    {
        let name = if configuration.get("width").is_some() { "example.bricks" } else { "example.pinwheel" };
        let store = MemoryStore::new();
        for storage in [Storage::from(&store), Storage::asynchronous(AsyncMemoryStore::default())] {
            let grid = grid(name, &configuration).expect("a grid");
            let new = Array::<u16>::builder([64, 90]).chunk_grid(grid);
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
            assert_eq!(last.lock().expect("no panic").take(), Some((chunks, chunks)), "{name}");
            assert_eq!(a.read([0..64, 0..90]).expect("read"), numbers, "{name}");
            let read = last.lock().expect("no panic").take().expect("it reads");
            assert!(read.0 == read.1 && read.0 >= chunks, "{name}: {read:?}");
            let part = s![1..63, 2..89];
            assert_eq!(a.read(part).expect("read"), numbers.slice(part), "{name}");
            let part = s![..; 40, ..; 5];
            assert_eq!(a.read(part).expect("read"), numbers.slice(part), "{name}");
        }
    }
}

/// A fault far from the others is found before anything is written.
#[test]
fn a_gap_among_thousands_of_chunks_is_an_error() {
    let grid = CustomChunkGrid::new("example.broken", Gap);
    let store = MemoryStore::new();
    let a = Array::<u8>::builder([5000]).chunk_grid(grid).create((&store, "a")).expect("created");
    let keys = store.keys();
    let error = a.fill(.., 1).expect_err("has to be refused").to_string();
    assert!(error.contains("the element [4001] is in no chunk"), "{error}");
    assert_eq!(store.keys(), keys);
    let error = a.read(..).expect_err("has to be refused").to_string();
    assert!(error.contains("the element [4001] is in no chunk"), "{error}");
}

#[test]
fn unknown_and_impossible_grids_are_errors() {
    let store = MemoryStore::new();
    Array::<u16>::builder([4, 8]).chunk_grid(bricks()).create((&store, "a")).expect("created");
    let error = Array::<u16>::open((&store, "a")).expect_err("has to be refused");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("unsupported chunk grid example.bricks"), "{error}");

    let mut changed = document(&store, "a");
    changed["chunk_grid"]["configuration"]["height"] = json!(0);
    store.set("a/zarr.json", changed.to_string()).expect("set");
    let error = open(&store, "a").expect_err("has to be refused").to_string();
    assert!(error.contains("chunk_grid \"example.bricks\" has no height"), "{error}");

    let error = Array::<u16>::builder([4])
        .chunk_grid(bricks())
        .create((&store, "b"))
        .expect_err("has to be refused")
        .to_string();
    assert!(error.contains("chunks of 2 dimensions for an array of 1"), "{error}");
    for format in [Format::Zarr2, Format::DraftA, Format::DraftB, Format::N5] {
        let new = Array::<u16>::builder([4, 8]).format(format).chunk_grid(bricks());
        let error = new.create((MemoryStore::new(), "a")).expect_err("has to be refused").to_string();
        assert!(error.contains("has only regular chunk grids"), "{error}");
    }
}

#[test]
fn elements_in_no_chunk_or_in_two_are_errors() {
    for (len, expected) in
        [(1, "the element [1] is in no chunk"), (3, "the element [2] is in the chunks [0] and [1]")]
    {
        let grid = CustomChunkGrid::new("example.broken", Broken { len });
        let a =
            Array::<u8>::builder([4]).chunk_grid(grid).create((MemoryStore::new(), "a")).expect("created");
        let error = a.read([0..4]).expect_err("has to be refused").to_string();
        assert!(error.contains(expected), "{error}");
        let error = a.write([0..4], &arr1(&[1, 2, 3, 4])).expect_err("has to be refused").to_string();
        assert!(error.contains(expected), "{error}");
        let sum = par_fold(&a, || 0, |n, _, chunk| n + chunk.len(), |a, b| a + b);
        let mapped = par_map(&a, &a, |_, chunk| chunk);
        let written = par_write(&a, |part| Ok::<_, Error>(ArrayD::zeros(IxDyn(&part_shape(part)))));
        for refused in [sum.map(drop), mapped, written] {
            let error = refused.expect_err("has to be refused").to_string();
            assert!(error.contains(expected), "{error}");
        }
        // Valid elements are read without an error.
        assert_eq!(a.read([0..1]).expect("read")[0], 0);
    }
    // Longer than the stated maximum.
    let grid = CustomChunkGrid::new("example.broken", Broken { len: 4 });
    let a = Array::<u8>::builder([4]).chunk_grid(grid).create((MemoryStore::new(), "a")).expect("created");
    assert!(a.read([0..4]).is_err());
}

/// More than there can be chunks of the array, so that going through all of them would not end.
#[derive(Debug)]
struct Endless;

impl CustomGrid for Endless {
    fn chunk(&self, index: &[u64]) -> Option<Region> {
        Some(Region::new([index[0].checked_mul(4)?..index[0].checked_add(1)?.checked_mul(4)?]))
    }

    fn indices(&self, region: &Region) -> Vec<Range<u64>> {
        // All, except of one element.
        let range = &region.ranges()[0];
        vec![if range.end - range.start == 1 { range.start / 4..range.start / 4 + 1 } else { 0..u64::MAX }]
    }

    fn max_chunk_shape(&self) -> Vec<u64> {
        vec![4]
    }
}

#[test]
fn indices_without_an_end_are_an_error() {
    let create = |len: u64| {
        let grid = CustomChunkGrid::new("example.endless", Endless);
        Array::<u8>::builder([len]).chunk_grid(grid).create((MemoryStore::new(), "a"))
    };
    let error = create(40).expect_err("has to be refused").to_string();
    assert!(error.contains("[0..18446744073709551615]"), "{error}");
    let mut a = create(1).expect("one index");
    a.fill(.., 3).expect("written");
    assert_eq!(a.read(..).expect("read").sum(), 3);
    a.resize([40]).expect_err("has to be refused");
}

/// A shape is known when a chunk is read or written: one that shards cannot have is an error then.
#[test]
fn shards_of_them_are_divided_by_their_inner_chunks() {
    let store = MemoryStore::new();
    let wide = grid("example.bricks", &json!({"height": 2, "width": 8})).expect("bricks");
    let new = Array::<u16>::builder([8, 20]).chunk_grid(wide).shards([2, 8]);
    let a = new.clone().chunks([1, 2]).codecs([codec::gzip(1)]).create((&store, "a")).expect("created");
    assert_eq!(a.chunk_shape(), [1, 2]);
    let numbers = Array2::from_shape_fn((8, 20), |(row, column)| (row * 100 + column) as u16);
    a.write([0..8, 0..20], &numbers).expect("written");
    let a = open(&store, "a").expect("opens");
    assert_eq!(a.read([3..7, 1..15]).expect("read"), numbers.slice(s![3..7, 1..15]));
    assert_eq!(a.read_chunk(&[3, 3]).expect("read").into_raw_vec_and_offset().0, [306, 307]);

    // Half a brick is not divided by three quarters of one.
    let a = new.chunks([1, 8]).create((&store, "b")).expect("created");
    assert!(a.read([0..2, 0..20]).is_ok());
    assert!(a.read([2..4, 0..20]).is_err());
    assert!(a.write([2..4, 0..20], &Array2::ones((2, 20))).is_err());
}

#[test]
fn shrinking_trims_and_removes_and_growing_shows_nothing_old() {
    for storage in [Storage::from(MemoryStore::new()), Storage::asynchronous(AsyncMemoryStore::default())] {
        for pinwheel in [false, true] {
            let (path, grid) = match pinwheel {
                false => ("bricks", bricks()),
                true => ("pinwheel", grid("example.pinwheel", &json!({})).expect("a pinwheel")),
            };
            let mut a =
                Array::<u16>::builder([6, 9]).chunk_grid(grid).create((&storage, path)).expect("created");
            let numbers = Array2::from_shape_fn((6, 9), |(row, column)| (row * 10 + column + 1) as u16);
            a.write([0..6, 0..9], &numbers).expect("written");
            a.resize([5, 4]).expect("resized");
            assert_eq!(a.read([0..5, 0..4]).expect("read"), numbers.slice(s![..5, ..4]));
            a.resize([6, 9]).expect("resized");
            let mut expected = numbers.clone();
            expected.slice_mut(s![5.., ..]).fill(0);
            expected.slice_mut(s![.., 4..]).fill(0);
            assert_eq!(a.read([0..6, 0..9]).expect("read"), expected);
            a.append(1, &Array2::ones((6, 3)).into_dyn()).expect("appended");
            let a = open(&storage, path).expect("opens");
            assert_eq!(a.read([0..6, 8..12]).expect("read").column(0).sum(), 0);
            assert_eq!(a.read([0..6, 9..12]).expect("read"), Array2::<u16>::ones((6, 3)));
        }
    }
}

#[test]
fn the_grid_stays_with_copied_chunks_and_goes_where_there_is_none() {
    let store = MemoryStore::new();
    let a = Array::<u16>::builder([5, 7]).chunk_grid(bricks()).create((&store, "a")).expect("created");
    let numbers = Array2::from_shape_fn((5, 7), |(row, column)| (row * 10 + column) as u16);
    a.write([0..5, 0..7], &numbers).expect("written");
    for (format, level) in [(Format::Zarr3, CopyLevel::Rekeyed), (Format::Zarr2, CopyLevel::Reencoded)] {
        let other = MemoryStore::new();
        let convert_options = CopyOptions::new().format(format).open(options());
        let report = copy((&store, "a"), (&other, "b"), &convert_options).expect("converted");
        assert_eq!(report.nodes[0].level, level);
        let b = open(&other, "b").expect("opens");
        assert_eq!(b.spec().custom_grid.is_some(), format == Format::Zarr3);
        assert_eq!(b.read([0..5, 0..7]).expect("read"), numbers);
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
        is_pinwheel in any::<bool>(),
        size in (1u64..4, 1u64..4),
        writes in prop::collection::vec((part((11, 14)), any::<u16>()), 1..5),
        reads in prop::collection::vec(part((11, 14)), 1..5),
    ) {
        let (name, configuration) = match is_pinwheel {
            true => ("example.pinwheel", json!({})),
            false => ("example.bricks", json!({"height": size.0, "width": 2 * size.1})),
        };
        let of_usize = |range: &Range<u64>| range.start as usize..range.end as usize;
        for storage in [Storage::from(MemoryStore::new()), Storage::asynchronous(AsyncMemoryStore::default())] {
            let grid = grid(name, &configuration).expect("a grid");
            let a = Array::<u16>::builder([11, 14]).chunk_grid(grid).create((&storage, "a")).expect("created");
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
            for part in &reads {
                let expected = expected.slice(s![of_usize(&part[0]), of_usize(&part[1])]);
                prop_assert_eq!(a.read(part.clone()).expect("read"), expected);
                prop_assert_eq!(block_on(asynchronous::Array::from(a.clone()).read(part.clone())).expect("read"), expected);
            }
        }
    }
}
