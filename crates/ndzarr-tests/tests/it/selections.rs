//! Lists, masks, points, names and blocks select what NumPy does, and read each chunk once.

mod decoded;
mod handle;
mod matrix;
mod model;
mod refused;

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayD, IxDyn, array};
use ndzarr::asynchronous;
use ndzarr::store::block_on;
use ndzarr::{
    AnyArray, Array, ChunkEdges, CustomChunkGrid, DataType, Error, ErrorKind, Format, MemoryStore, Points,
    Storage, codec, s,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency};
use proptest::prelude::*;
use proptest::sample::Index;

use self::model::{NAMES, Outer, Pick, outer};

fn pick(len: usize) -> impl Strategy<Value = Pick> {
    let n = len as i64;
    let step = prop_oneof![1..5_isize, -5..0_isize];
    prop_oneof![
        (-n..n).prop_map(Pick::Index),
        (-n..=n, prop::option::of(-n..=n), step).prop_map(|(start, end, step)| Pick::Range(start, end, step)),
        prop::collection::vec(-n..n, 0..8).prop_map(Pick::List),
        prop::collection::vec(any::<bool>(), len).prop_map(Pick::Mask),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Form {
    format: Format,
    sharded: bool,
    compressed: bool,
}

fn forms() -> impl Strategy<Value = Form> {
    let formats = prop::sample::select(vec![Format::Zarr3, Format::Zarr2, Format::N5, Format::DraftA]);
    (formats, any::<bool>(), any::<bool>()).prop_map(|(format, sharded, compressed)| Form {
        format,
        sharded,
        compressed,
    })
}

fn numbered(shape: &[usize]) -> ArrayD<i32> {
    let n = shape.iter().product::<usize>() as i32;
    ArrayD::from_shape_vec(IxDyn(shape), (1..=n).collect()).expect("as many elements")
}

/// An array of `1, 2, 3 …`, with a chunk that is not stored.
fn made(storage: &Storage, shape: &[usize], chunk: &[u64], form: Form) -> (Array<i32>, ArrayD<i32>) {
    let builder = Array::<i32>::builder(shape).chunks(chunk).format(form.format);
    let shards: Vec<u64> = chunk.iter().map(|n| n * 2).collect();
    let builder = match form.sharded && matches!(form.format, Format::Zarr3 | Format::DraftA) {
        true => builder.shards(shards),
        false => builder,
    };
    let builder = if form.compressed { builder.codecs([codec::gzip(1)]) } else { builder.codecs([]) };
    let named = matches!(form.format, Format::Zarr3 | Format::N5);
    let builder = if named { builder.dimension_names(NAMES[..shape.len()].iter().copied()) } else { builder };
    let array = builder.create((storage, "a")).expect("a new array");
    let mut all = numbered(shape);
    array.write(.., &all).expect("a write");
    let first: Vec<_> = shape.iter().zip(chunk).map(|(&n, &len)| 0..(len * 2).min(n as u64)).collect();
    array.fill(&first[..], 0).expect("a write");
    all.slice_each_axis_mut(|axis| (0..first[axis.axis.index()].end as isize).into()).fill(0);
    (array, all)
}

fn shapes() -> impl Strategy<Value = (Vec<usize>, Vec<u64>)> {
    (1..=3_usize)
        .prop_flat_map(|n| (prop::collection::vec(1..14_usize, n), prop::collection::vec(1..5_u64, n)))
}

fn cases() -> impl Strategy<Value = (Vec<usize>, Vec<u64>, Vec<Pick>, Form)> {
    shapes().prop_flat_map(|(shape, chunk)| {
        let picks: Vec<_> = shape.iter().map(|&len| pick(len)).collect();
        (Just(shape), Just(chunk), picks, forms())
    })
}

/// By names where there are any, else as the outer product of a selection for each axis.
fn read(array: &Array<i32>, picks: &[Pick]) -> Result<ArrayD<i32>, Error> {
    if array.dimension_names().is_some() {
        let named = picks.iter().zip(NAMES);
        let by_name = named.fold(array.by_name(), |by_name, (pick, name)| pick.along(by_name, name));
        return array.read(by_name);
    }
    array.read(Outer(picks))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn axes_are_selected_each_for_itself((shape, chunk, picks, form) in cases()) {
        let storage = Storage::blocking(MemoryStore::new());
        let (array, all) = made(&storage, &shape, &chunk, form);
        let expected = outer(&shape, &picks).of(&all);
        let found = read(&array, &picks).expect("a read");
        prop_assert!(found.is_standard_layout() || array.dimension_names().is_none());
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn lists_are_written_with_the_last_value_of_an_index((shape, chunk, picks, form) in cases()) {
        let storage = Storage::blocking(MemoryStore::new());
        let (array, mut all) = made(&storage, &shape, &chunk, form);
        let lists: Vec<Vec<u64>> = picks.iter().zip(&shape)
            .map(|(pick, &len)| pick.indices(len).iter().map(|&at| at as u64).collect()).collect();
        let lens: Vec<usize> = lists.iter().map(Vec::len).collect();
        let data = numbered(&lens).mapv(|n| -n);
        array.write(&lists, &data).expect("a write");
        for (index, &value) in data.indexed_iter() {
            let at: Vec<usize> = lists.iter().enumerate().map(|(axis, list)| list[index[axis]] as usize).collect();
            all[&at[..]] = value;
        }
        prop_assert_eq!(array.read(..).expect("a read"), all.clone());
        array.fill(&lists, 77).expect("a write");
        data.indexed_iter().for_each(|(index, _)| {
            let at: Vec<usize> = lists.iter().enumerate().map(|(axis, list)| list[index[axis]] as usize).collect();
            all[&at[..]] = 77;
        });
        prop_assert_eq!(array.read(..).expect("a read"), all);
    }

    #[test]
    fn points_are_read_and_written(
        (shape, chunk) in shapes(),
        picked in prop::collection::vec(prop::array::uniform3(any::<Index>()), 0..60),
        form in forms(),
        asynchronous in any::<bool>(),
    ) {
        let points: Vec<Vec<i64>> = picked.iter()
            .map(|at| shape.iter().zip(at).map(|(&n, at)| at.index(n) as i64).collect()).collect();
        let from_end: Vec<Vec<i64>> = points.iter()
            .map(|point| point.iter().zip(&shape).map(|(at, &n)| at - n as i64).collect()).collect();
        let storage = Storage::blocking(MemoryStore::new());
        let (array, mut all) = made(&storage, &shape, &chunk, form);
        let place = |point: &[i64]| point.iter().map(|&at| at as usize).collect::<Vec<_>>();
        let expected: Vec<i32> = points.iter().map(|point| all[&place(point)[..]]).collect();
        prop_assert_eq!(array.read(Points::new(&points)).expect("a read").to_vec(), expected.clone());
        prop_assert_eq!(array.read(Points::new(&from_end)).expect("a read").to_vec(), expected.clone());
        let by_axis: Vec<Vec<i64>> =
            (0..shape.len()).map(|axis| points.iter().map(|point| point[axis]).collect()).collect();
        prop_assert_eq!(array.read(Points::by_axis(by_axis)).expect("a read").to_vec(), expected.clone());
        let mut into = Array1::from_elem(points.len(), -1);
        array.read_into(Points::new(&points), &mut into).expect("a read");
        prop_assert_eq!(into.to_vec(), expected);

        let values: Vec<i32> = (0..points.len() as i32).map(|n| -n - 1).collect();
        if asynchronous {
            let array = block_on(asynchronous::Array::<i32>::open((&storage, "a"))).expect("the array");
            block_on(array.write(Points::new(&points), &values)).expect("a write");
        } else {
            array.write(Points::new(&points), &values).expect("a write");
        }
        points.iter().zip(&values).for_each(|(point, &value)| all[&place(point)[..]] = value);
        prop_assert_eq!(array.read(..).expect("a read"), all);
    }

    #[test]
    fn masks_select_in_c_order((shape, chunk) in shapes(), bits in any::<[u64; 8]>(), form in forms()) {
        let storage = Storage::blocking(MemoryStore::new());
        let (array, mut all) = made(&storage, &shape, &chunk, form);
        let mut n = 0;
        let mask = ArrayD::from_shape_simple_fn(IxDyn(&shape), || {
            n += 1;
            bits[n / 64 % 8] >> (n % 64) & 1 == 1
        });
        let expected: Vec<i32> = all.iter().zip(&mask).filter(|(_, m)| **m).map(|(value, _)| *value).collect();
        prop_assert_eq!(array.read(&mask).expect("a read").to_vec(), expected.clone());
        let values: Vec<i32> = (0..expected.len() as i32).map(|n| -n - 1).collect();
        array.write(&mask, &values).expect("a write");
        all.iter_mut().zip(&mask).filter(|(_, m)| **m).zip(&values).for_each(|((place, _), value)| *place = *value);
        prop_assert_eq!(array.read(..).expect("a read"), all);
    }

    #[test]
    fn many_selections_are_each_what_it_is_alone(
        (shape, chunk) in shapes(),
        boxes in prop::collection::vec(prop::array::uniform3((any::<Index>(), any::<Index>())), 0..12),
        form in forms(),
    ) {
        let storage = Storage::blocking(MemoryStore::new());
        let (array, all) = made(&storage, &shape, &chunk, form);
        let boxes: Vec<Vec<_>> = boxes.iter().map(|ends| {
            shape.iter().zip(ends).map(|(&n, (a, b))| {
                let (a, b) = (a.index(n + 1) as u64, b.index(n + 1) as u64);
                a.min(b)..a.max(b)
            }).collect()
        }).collect();
        let found = array.read_many(&boxes).expect("a read");
        prop_assert_eq!(found.len(), boxes.len());
        for (found, ranges) in found.iter().zip(&boxes) {
            let part = all.slice_each_axis(|axis| {
                let range = &ranges[axis.axis.index()];
                (range.start as isize..range.end as isize).into()
            });
            prop_assert_eq!(found.view(), part);
        }
    }
}

/// Regions that share chunks, points and lists: every chunk is fetched once, and of a shard only the
/// inner chunks that are needed.
#[test]
fn each_chunk_is_fetched_once() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let storage = Storage::blocking(Arc::clone(&store));
    let array = Array::<u16>::builder([8, 8]).chunks([4, 4]).codecs([codec::gzip(1)]);
    let array = array.create((&storage, "a")).expect("a new array");
    let all = Array2::from_shape_fn((8, 8), |(y, x)| (y * 8 + x) as u16 + 1);
    array.write(.., &all).expect("a write");

    store.reset();
    let parts = array.read_many([[0..1, 0..8], [1..3, 0..8], [2..6, 1..3]]).expect("a read");
    assert_eq!(parts[2], all.slice(s![2..6, 1..3]));
    assert_eq!(store.reset().fetches, 3, "the chunks (0, 0), (0, 1) and (1, 0)");

    let points = Points::new([[0, 0], [7, 0], [3, 3], [4, 1], [0, 0]]);
    assert_eq!(array.read(&points).expect("a read").to_vec(), [1, 57, 28, 34, 1]);
    assert_eq!(store.reset().fetches, 2);
    array.write(&points, &[1_u16, 2, 3, 4, 5]).expect("a write");
    let counts = store.reset();
    assert_eq!((counts.fetches, counts.puts), (2, 2));
    assert_eq!(array.read(&points).expect("a read").to_vec(), [5, 2, 3, 4, 5], "the last one counts");

    store.reset();
    assert_eq!(array.read((vec![7, 4], vec![0, 1, 2])).expect("a read").shape(), [2, 3]);
    assert_eq!(store.reset().fetches, 1);
    assert_eq!(array.read((vec![7_u64; 0], ..)).expect("a read").shape(), [0, 8]);
    assert_eq!(store.reset().fetches, 0);
}

#[test]
fn of_a_shard_only_the_needed_inner_chunks_are_fetched() {
    for asynchronous in [false, true] {
        let store = Arc::new(CountingStore::new(MemoryStore::new()));
        let remote = Arc::new(AsyncMemoryStore::new(Latency::default()));
        let storage = match asynchronous {
            false => Storage::blocking(Arc::clone(&store)),
            true => Storage::asynchronous(Arc::clone(&remote)),
        };
        let bytes = || if asynchronous { remote.reset().bytes_read } else { store.reset().bytes_read };
        // 64 inner chunks of 16 KiB, too far from each other to be fetched together.
        let array = Array::<u8>::builder([64, 1 << 14]).chunks([1, 1 << 14]).shards([64, 1 << 14]).codecs([]);
        let array = array.create((&storage, "a")).expect("a new array");
        let all = Array2::from_shape_fn((64, 1 << 14), |(y, x)| (y * 3 + x) as u8);
        array.write(.., &all).expect("a write");
        let array = Array::<u8>::open((&storage, "a")).expect("the array");
        array.read(Points::new([[0, 0]])).expect("a read, which learns the index");

        bytes();
        let found = array.read(Points::new([[40, 9], [3, 1], [40, 16_000]])).expect("a read");
        assert_eq!(found.to_vec(), [all[[40, 9]], all[[3, 1]], all[[40, 16_000]]]);
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
        let parts = array.read_many([[3..4, 0..1], [3..4, 7..8], [40..41, 0..1]]).expect("a read");
        assert_eq!(parts[1][[0, 0]], all[[3, 7]]);
        assert!(bytes() <= 2 * (1 << 14), "asynchronous: {asynchronous}");
        // Rows 0, 20, 40, 60 and 1, 21, 41, 61.
        let parts = array.read_many([s![..;20, ..], s![1..;20, ..]]).expect("a read");
        assert_eq!(parts[1], all.slice(s![1..;20, ..]));
        assert!(bytes() <= 8 * (1 << 14), "asynchronous: {asynchronous}");
    }
}

/// Far apart in a chunk that can be read in part.
#[test]
fn of_a_raw_chunk_only_what_is_near_is_fetched() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let storage = Storage::blocking(Arc::clone(&store));
    let array = Array::<u8>::builder([1 << 22]).chunks([1 << 22]).codecs([]);
    let array = array.create((&storage, "a")).expect("a new array");
    let all = Array1::from_shape_fn(1 << 22, |at| (at % 251) as u8);
    array.write(.., &all).expect("a write");
    store.reset();
    let found = array.read(Points::new([[5_u64], [(1 << 22) - 1], [1 << 21]])).expect("a read");
    assert_eq!(found.to_vec(), [all[5], all[(1 << 22) - 1], all[1 << 21]]);
    assert!(store.reset().bytes_read < 1 << 16);
    let parts = array.read_many([[0..10], [(1 << 22) - 10..1 << 22]]).expect("a read");
    assert_eq!(parts[1], all.slice(s![-10..]));
    assert!(store.reset().bytes_read < 1 << 16);
}

/// Each is found at once, whatever lies between them.
#[test]
fn points_in_the_chunks_of_a_custom_grid() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let tens = ChunkEdges::Listed(vec![(1, 2), (10, u64::MAX)]);
    let array = Array::<u8>::builder([1 << 40]).chunk_grid(CustomChunkGrid::new("example.tens", [tens]));
    let array = array.create((&Storage::blocking(Arc::clone(&store)), "a")).expect("a new array");
    let points = Points::new([[(1_u64 << 40) - 1], [3], [7], [1 << 39]]);
    array.write(&points, &[1, 2, 3, 4]).expect("a write");
    store.reset();
    assert_eq!(array.read(&points).expect("a read").to_vec(), [1, 2, 3, 4]);
    assert_eq!(store.counts().fetches, 3);
}

/// Shards of shards, whose points are followed into each level.
#[test]
fn points_in_nested_shards() {
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[16,16],"data_type":"int32",
        "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[16,16]}},
        "chunk_key_encoding":{"name":"default"},"fill_value":0,
        "codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[8,8],
            "codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,4],
                "codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}}],
                "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}],
            "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]}}]}"#;
    let store = MemoryStore::new();
    store.set("a/zarr.json", document.as_bytes().to_vec()).expect("a document");
    let array = Array::<i32>::open((&store, "a")).expect("the array");
    let mut all = numbered(&[16, 16]);
    array.write(.., &all).expect("a write");
    let points = [[0, 0], [15, 15], [7, 8], [8, 7], [3, 11], [7, 8]];
    let expected: Vec<i32> = points.iter().map(|at| all[&at[..]]).collect();
    assert_eq!(array.read(Points::new(points)).expect("a read").to_vec(), expected);
    array.write(Points::new(points), &[-1, -2, -3, -4, -5, -6]).expect("a write");
    points.iter().zip([-1, -2, -3, -4, -5, -6]).for_each(|(at, value)| all[&at[..]] = value);
    assert_eq!(array.read(..).expect("a read"), all);
    let lists = array.read((vec![9, 2, 15], vec![0, 14, 7])).expect("a read");
    assert_eq!(lists[[2, 1]], all[[15, 14]]);
    assert_eq!(lists.shape(), [3, 3]);
}

#[test]
fn elements_of_every_kind_are_picked() {
    let storage = Storage::blocking(MemoryStore::new());
    let texts = Array::<String>::builder([4]).chunks([3]).create((&storage, "texts")).expect("a new array");
    texts.write(.., &["a", "bc", "", "d"].map(str::to_owned)).expect("a write");
    assert_eq!(texts.read((vec![3, 1, 1],)).expect("a read").to_vec(), ["d", "bc", "bc"]);
    texts.write(Points::new([[2], [0]]), &["x".to_owned(), "y".to_owned()]).expect("a write");
    assert_eq!(
        texts.read(Points::new([[0], [1], [2], [3]])).expect("a read").to_vec(),
        ["y", "bc", "x", "d"]
    );

    let flags = Array::<bool>::builder([2, 2]).create((&storage, "flags")).expect("a new array");
    flags.write(&array![[true, false], [false, true]], &[true, true]).expect("a write");
    assert_eq!(flags.read(..).expect("a read"), array![[true, false], [false, true]].into_dyn());

    let fields = [ndzarr::Field::new("id", DataType::UInt { bits: 8 })];
    let fields = DataType::Struct(ndzarr::StructType::new(fields).expect("one name"));
    let stars = AnyArray::builder([3]).data_type(fields).create((&storage, "stars")).expect("a new array");
    stars.write_bytes(&[0..3], &[7, 8, 9]).expect("a write");
    let ids: Array1<u8> = stars.read_field("id", (vec![2, 0],)).expect("a read");
    assert_eq!(ids.to_vec(), [9, 7]);
    assert_eq!(stars.read_field::<u8, _>("id", Points::new([[1]])).expect("a read").to_vec(), [8]);

    let point = Array::<u8>::builder([]).create((&storage, "point")).expect("a new array");
    point.write(Points::new([[0_u8; 0].map(u64::from)]), &[5]).expect("a write");
    assert_eq!(point.read(&ndarray::arr0(true)).expect("a read").to_vec(), [5]);
    assert_eq!(point.read(&ndarray::arr0(false)).expect("a read").len(), 0);
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_read() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let storage = Storage::blocking(Arc::clone(&store));
    let array = Array::<u8>::builder([4, 6]).chunks([2, 2]).dimension_names(["y", "x"]);
    let array = array.create((&storage, "a")).expect("a new array");
    store.reset();
    let refused = |result: Result<(), Error>, words: &str| {
        let error = result.expect_err(words);
        assert_eq!(error.kind(), ErrorKind::WrongShape, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    refused(array.read((vec![0, 4], ..)).map(drop), "the index 4 does not fit axis 0 of length 4");
    refused(array.read((.., vec![-7])).map(drop), "the index -7 does not fit axis 1 of length 6");
    refused(
        array.read(s![u64::MAX, ..]).map(drop),
        "the index (out of range) does not fit axis 0 of length 4",
    );
    refused(array.read(s![.., isize::MIN..]).map(drop), "the range (out of range).. does not fit axis 1");
    refused(array.read(([true; 3], ..)).map(drop), "a mask of 3 elements for axis 0 of length 4");
    refused(array.read(Points::new([[0, 0], [0, 6]])).map(drop), "the index 6 does not fit axis 1");
    refused(array.read(Points::new([[0, 0, 0]])).map(drop), "points of 3 coordinates");
    refused(array.read(Points::new([vec![0, 0], vec![1]])).map(drop), "points with 2 and with 1 coordinates");
    refused(array.read(Points::by_axis([vec![0, 0], vec![1]])).map(drop), "points with 2 and with 1");
    refused(array.read(Points::by_axis([[0; 0]; 3])).map(drop), "points of 3 coordinates");
    refused(array.read(&Array2::from_elem((6, 4), true)).map(drop), "a mask of shape [6, 4]");
    refused(array.write(Points::new([[0, 0]]), &[1, 2]), "an array of shape [2] for a selection of [1]");
    refused(array.read(array.by_name().axis("z", 0)).map(drop), r#"no dimension "z" among "y", "x""#);
    refused(array.read(array.by_name().axis("x", 0).axis("x", 1)).map(drop), "selected twice");
    refused(array.blocks((0..3, ..)).map(drop), "0..3 does not fit axis 0 of length 2");
    refused(array.blocks((vec![1, 0], ..)).map(drop), "an index or a range for each axis");
    assert_eq!(store.reset().fetches, 0);
    array.fill(.., 3).expect("a write");
    assert_eq!(array.read(array.blocks((1, 1..3)).expect("blocks")).expect("a read").shape(), [2, 4]);
    assert_eq!(array.read(array.blocks((-1, ..0)).expect("blocks")).expect("a read").shape(), [2, 0]);
}

/// Sparse lists and points of an array of 10^12 chunks: the work follows what is selected.
#[test]
fn selections_of_a_huge_array_cost_what_they_select() {
    let array = Array::<u8>::builder([1 << 40, 1 << 20]).chunks([1, 1 << 20]).codecs([codec::gzip(1)]);
    let array = array.create((MemoryStore::new(), "a")).expect("a new array");
    let points = Points::new([[0, 5], [1_u64 << 39, 7], [(1 << 40) - 1, 9]]);
    array.write(&points, &[1, 2, 3]).expect("a write");
    assert_eq!(array.read(&points).expect("a read").to_vec(), [1, 2, 3]);
}
