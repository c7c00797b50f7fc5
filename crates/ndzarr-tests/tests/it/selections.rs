//! Lists, masks, points, names and blocks select what NumPy does.

mod decoded;
mod fetched;
mod handle;
mod matrix;
mod model;
mod refused;

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayD, IxDyn, array};
use ndzarr::asynchronous;
use ndzarr::store::block_on;
use ndzarr::{
    AnyArray, Array, DataType, Error, ErrorKind, Format, MemoryStore, Points, Storage, codec, s,
};
use ndzarr_testkit::CountingStore;
use proptest::prelude::*;
use proptest::sample::Index;

use self::model::{NAMES, Outer, Pick, outer};

fn pick(len: usize) -> impl Strategy<Value = Pick> {
    let n = len as i64;
    let step = prop_oneof![1..5_isize, -5..0_isize];
    prop_oneof![
        (-n..n).prop_map(Pick::Index),
        (-n..=n, prop::option::of(-n..=n), step)
            .prop_map(|(start, end, step)| Pick::Range(start, end, step)),
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
    let formats = prop::sample::select(vec![
        Format::Zarr3,
        Format::Zarr2,
        Format::N5,
        Format::DraftA,
    ]);
    (formats, any::<bool>(), any::<bool>()).prop_map(|(format, sharded, compressed)| Form {
        format,
        sharded,
        compressed,
    })
}

pub(crate) fn numbered(shape: &[usize]) -> ArrayD<i32> {
    let n = shape.iter().product::<usize>() as i32;
    ArrayD::from_shape_vec(IxDyn(shape), (1..=n).collect()).expect("as many elements")
}

/// An array of `1, 2, 3 …`, with a chunk that is not stored.
fn made(
    storage: &Storage,
    shape: &[usize],
    chunk: &[u64],
    form: Form,
) -> (Array<i32>, ArrayD<i32>) {
    let builder = Array::<i32>::builder(shape)
        .chunks(chunk)
        .format(form.format);
    let shards: Vec<u64> = chunk.iter().map(|n| n * 2).collect();
    let is_sharded = form.sharded && matches!(form.format, Format::Zarr3 | Format::DraftA);
    let builder = if is_sharded {
        builder.shards(shards)
    } else {
        builder
    };
    let builder = if form.compressed {
        builder.codecs([codec::gzip(1)])
    } else {
        builder.codecs([])
    };
    let named = matches!(form.format, Format::Zarr3 | Format::N5);
    let builder = if named {
        builder.dimension_names(NAMES[..shape.len()].iter().copied())
    } else {
        builder
    };
    let array = builder.create((storage, "a")).expect("a new array");
    let mut all = numbered(shape);
    array.write(.., &all).expect("a write");
    let first: Vec<_> = shape
        .iter()
        .zip(chunk)
        .map(|(&n, &len)| 0..(len * 2).min(n as u64))
        .collect();
    array.fill(&first[..], 0).expect("a write");
    all.slice_each_axis_mut(|axis| (0..first[axis.axis.index()].end as isize).into())
        .fill(0);
    (array, all)
}

fn shapes() -> impl Strategy<Value = (Vec<usize>, Vec<u64>)> {
    (1..=3_usize).prop_flat_map(|n| {
        (
            prop::collection::vec(1..14_usize, n),
            prop::collection::vec(1..5_u64, n),
        )
    })
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
        let by_name = named.fold(array.by_name(), |by_name, (pick, name)| {
            pick.along(by_name, name)
        });
        return array.read(by_name);
    }
    array.read(Outer(picks))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_axis_is_selected_by_itself((shape, chunk, picks, form) in cases()) {
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
    fn many_selections_are_each_read_as_by_themselves(
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

#[test]
fn elements_of_every_kind_are_picked() {
    let storage = Storage::blocking(MemoryStore::new());
    let texts = Array::<String>::builder([4])
        .chunks([3])
        .create((&storage, "texts"))
        .expect("a new array");
    texts
        .write(.., &["a", "bc", "", "d"].map(str::to_owned))
        .expect("a write");
    assert_eq!(
        texts.read((vec![3, 1, 1],)).expect("a read").to_vec(),
        ["d", "bc", "bc"]
    );
    texts
        .write(Points::new([[2], [0]]), &["x".to_owned(), "y".to_owned()])
        .expect("a write");
    assert_eq!(
        texts
            .read(Points::new([[0], [1], [2], [3]]))
            .expect("a read")
            .to_vec(),
        ["y", "bc", "x", "d"]
    );

    let flags = Array::<bool>::builder([2, 2])
        .create((&storage, "flags"))
        .expect("a new array");
    flags
        .write(&array![[true, false], [false, true]], &[true, true])
        .expect("a write");
    assert_eq!(
        flags.read(..).expect("a read"),
        array![[true, false], [false, true]].into_dyn()
    );

    let fields = [ndzarr::Field::new("id", DataType::UInt { bits: 8 })];
    let fields = DataType::Struct(ndzarr::StructType::new(fields).expect("one name"));
    let stars = AnyArray::builder([3])
        .data_type(fields)
        .create((&storage, "stars"))
        .expect("a new array");
    stars.write_bytes(&[0..3], &[7, 8, 9]).expect("a write");
    let ids: Array1<u8> = stars.read_field("id", (vec![2, 0],)).expect("a read");
    assert_eq!(ids.to_vec(), [9, 7]);
    assert_eq!(
        stars
            .read_field::<u8, _>("id", Points::new([[1]]))
            .expect("a read")
            .to_vec(),
        [8]
    );

    let point = Array::<u8>::builder([])
        .create((&storage, "point"))
        .expect("a new array");
    point
        .write(Points::new([[0_u8; 0].map(u64::from)]), &[5])
        .expect("a write");
    assert_eq!(
        point.read(&ndarray::arr0(true)).expect("a read").to_vec(),
        [5]
    );
    assert_eq!(point.read(&ndarray::arr0(false)).expect("a read").len(), 0);
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_read() {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let storage = Storage::blocking(Arc::clone(&store));
    let array = Array::<u8>::builder([4, 6])
        .chunks([2, 2])
        .dimension_names(["y", "x"]);
    let array = array.create((&storage, "a")).expect("a new array");
    store.reset();
    let refused = |result: Result<(), Error>, words: &str| {
        let error = result.expect_err(words);
        assert_eq!(error.kind(), ErrorKind::WrongShape, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    refused(
        array.read((vec![0, 4], ..)).map(drop),
        "the index 4 does not fit axis 0 of length 4",
    );
    refused(
        array.read((.., vec![-7])).map(drop),
        "the index -7 does not fit axis 1 of length 6",
    );
    refused(
        array.read(s![u64::MAX, ..]).map(drop),
        "the index (out of range) does not fit axis 0 of length 4",
    );
    refused(
        array.read(s![.., isize::MIN..]).map(drop),
        "the range (out of range).. does not fit axis 1",
    );
    refused(
        array.read(([true; 3], ..)).map(drop),
        "a mask of 3 elements for axis 0 of length 4",
    );
    refused(
        array.read(Points::new([[0, 0], [0, 6]])).map(drop),
        "the index 6 does not fit axis 1",
    );
    refused(
        array.read(Points::new([[0, 0, 0]])).map(drop),
        "points of 3 coordinates",
    );
    refused(
        array.read(Points::new([vec![0, 0], vec![1]])).map(drop),
        "points with 2 and with 1 coordinates",
    );
    refused(
        array.read(Points::by_axis([vec![0, 0], vec![1]])).map(drop),
        "points with 2 and with 1",
    );
    refused(
        array.read(Points::by_axis([[0; 0]; 3])).map(drop),
        "points of 3 coordinates",
    );
    refused(
        array.read(&Array2::from_elem((6, 4), true)).map(drop),
        "a mask of shape [6, 4]",
    );
    refused(
        array.write(Points::new([[0, 0]]), &[1, 2]),
        "an array of shape [2] for a selection of [1]",
    );
    refused(
        array.read(array.by_name().axis("z", 0)).map(drop),
        r#"no dimension "z" among "y", "x""#,
    );
    refused(
        array
            .read(array.by_name().axis("x", 0).axis("x", 1))
            .map(drop),
        "selected twice",
    );
    refused(
        array.blocks((0..3, ..)).map(drop),
        "0..3 does not fit axis 0 of length 2",
    );
    refused(
        array.blocks((vec![1, 0], ..)).map(drop),
        "an index or a range for each axis",
    );
    assert_eq!(store.reset().fetches, 0);
    array.fill(.., 3).expect("a write");
    assert_eq!(
        array
            .read(array.blocks((1, 1..3)).expect("blocks"))
            .expect("a read")
            .shape(),
        [2, 4]
    );
    assert_eq!(
        array
            .read(array.blocks((-1, ..0)).expect("blocks"))
            .expect("a read")
            .shape(),
        [2, 0]
    );
}
