//! Views of views select what slicing an ndarray again and again does.

use ndarray::{Array3, ArrayD, Axis, IxDyn, Slice, SliceInfoElem, s};
use ndzarr::asynchronous;
use ndzarr::store::block_on;
use ndzarr::{
    AnyArray, Array, ErrorKind, Format, MemoryStore, Order, Points, Resolved, Selection, Storage,
    codec,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency, Random};

const SHAPE: [usize; 3] = [9, 7, 8];

/// One more selection of a view, and the same of the array that has the number of each element.
fn narrowed(random: &mut Random, view: &Resolved, ids: &ArrayD<u32>) -> (Resolved, ArrayD<u32>) {
    let n_axes = ids.ndim() as u64;
    let axis = Axis(random.below(n_axes.max(1)) as usize);
    let taken = |elems: Vec<SliceInfoElem>| view.view(&elems[..]).expect("it fits");
    let all = || SliceInfoElem::Slice {
        start: 0,
        end: None,
        step: 1,
    };
    match random.below(6) {
        0 if n_axes > 1 && ids.len_of(axis) > 0 => {
            let at = random.below(ids.len_of(axis) as u64) as usize;
            let mut elems = vec![all(); ids.ndim()];
            elems[axis.index()] = SliceInfoElem::Index(at as isize);
            (taken(elems), ids.index_axis(axis, at).to_owned())
        }
        1 => {
            let mut elems = vec![all(); ids.ndim()];
            elems.insert(axis.index(), SliceInfoElem::NewAxis);
            (taken(elems), ids.clone().insert_axis(axis))
        }
        2 => {
            let mut order: Vec<usize> = (0..ids.ndim()).collect();
            for at in (1..order.len()).rev() {
                order.swap(at, random.below(at as u64 + 1) as usize);
            }
            let permuted = view.permuted(&order).expect("each axis once");
            (permuted, ids.clone().permuted_axes(IxDyn(&order)))
        }
        3 if ids.ndim() == 2 && !ids.shape().contains(&1) && ids.len_of(axis) > 0 => {
            let n = random.below(6);
            let list: Vec<usize> = (0..n)
                .map(|_| random.below(ids.len_of(axis) as u64) as usize)
                .collect();
            let view = match axis.index() {
                0 => view.view((list.clone(), ..)),
                _ => view.view((.., list.clone())),
            };
            (view.expect("it fits"), ids.select(axis, &list))
        }
        _ if n_axes > 0 && ids.len_of(axis) != 1 => {
            let len = ids.len_of(axis) as u64;
            let a = random.below(len + 1) as isize;
            let b = random.below(len + 1) as isize;
            let step = [1, 2, 3, -1, -2][random.below(5) as usize];
            let (start, end) = (a.min(b), Some(a.max(b)));
            let mut elems = vec![all(); ids.ndim()];
            elems[axis.index()] = SliceInfoElem::Slice { start, end, step };
            let mut ids = ids.clone();
            ids.slice_axis_inplace(axis, Slice { start, end, step });
            (taken(elems), ids)
        }
        _ => (view.clone(), ids.clone()),
    }
}

#[test]
fn a_view_of_a_view_is_what_ndarray_slices() {
    let mut random = Random::seeded("views");
    let array = || Array::<u32>::builder(&SHAPE[..]);
    let layouts = [
        ("chunks", array().chunks([4, 3, 5]).codecs([codec::gzip(1)])),
        ("raw", array().chunks([3, 7, 2])),
        ("shards", array().chunks([2, 3, 2]).shards([6, 6, 4])),
        (
            "transposed",
            array()
                .chunks([4, 3, 5])
                .codecs([codec::transpose([2, 0, 1])]),
        ),
        (
            "order F",
            array()
                .chunks([4, 3, 5])
                .format(Format::Zarr2)
                .order(Order::F),
        ),
        ("n5", array().chunks([4, 3, 5]).format(Format::N5)),
    ];
    for (name, builder) in layouts {
        let memory = MemoryStore::new();
        let a = builder.create((&memory, "a")).expect("a new array");
        let any = AnyArray::from(a.clone());
        let asynchronous_array = asynchronous::Array::from(a.clone());
        let mut n = 0;
        let ids = Array3::from_shape_simple_fn(SHAPE, || {
            n += 1;
            n - 1
        });
        let mut elements: Vec<u32> = (0..n).map(|id| id + 1000).collect();
        a.write(.., &ids.mapv(|id| id + 1000)).expect("a write");
        for round in 0..60 {
            let mut view = (..).resolve(a.shape()).expect("all");
            let mut ids = ids.clone().into_dyn();
            for _ in 0..1 + random.below(5) {
                (view, ids) = narrowed(&mut random, &view, &ids);
            }
            let what = || format!("{name} {round}: {view:?}");
            let expected = ids.mapv(|id| elements[id as usize]);
            let read = a
                .read(&view)
                .unwrap_or_else(|error| panic!("{}: {error}", what()));
            assert_eq!(read, expected, "{}", what());
            assert!(read.is_standard_layout(), "{}", what());
            assert_eq!(
                a.read_many([&view]).expect("a read"),
                std::slice::from_ref(&expected),
                "{}",
                what()
            );
            assert_eq!(
                block_on(asynchronous_array.read(&view)).expect("a read"),
                expected,
                "{}",
                what()
            );
            let mut into = ArrayD::zeros(expected.raw_dim());
            a.read_into(&view, &mut into).expect("a read");
            assert_eq!(into, expected, "{}", what());
            let bytes: Vec<u8> = expected
                .iter()
                .flat_map(|element| element.to_ne_bytes())
                .collect();
            assert_eq!(any.read_bytes(&view).expect("a read"), bytes, "{}", what());

            // A few of its elements by their coordinates.
            if !ids.is_empty() {
                let point = |random: &mut Random| -> Vec<u64> {
                    ids.shape()
                        .iter()
                        .map(|&n| random.below(n as u64))
                        .collect()
                };
                let points: Vec<Vec<u64>> = (0..4).map(|_| point(&mut random)).collect();
                let at = |point: &Vec<u64>| {
                    expected[&point.iter().map(|&at| at as usize).collect::<Vec<_>>()[..]]
                };
                let found = a
                    .read(view.view(Points::new(&points)).expect("points"))
                    .expect("a read");
                assert_eq!(
                    found.into_raw_vec_and_offset().0,
                    points.iter().map(at).collect::<Vec<_>>()
                );
                let mask = ids.mapv(|id| id % 3 == 0);
                let found = a.read(view.view(&mask).expect("a mask")).expect("a read");
                let expected = expected
                    .iter()
                    .zip(&mask)
                    .filter(|(_, is)| **is)
                    .map(|(element, _)| *element);
                assert_eq!(
                    found.into_raw_vec_and_offset().0,
                    expected.collect::<Vec<_>>(),
                    "{}",
                    what()
                );
            }

            let data = ids.mapv(|_| random.number() as u32);
            a.write(&view, &data)
                .unwrap_or_else(|error| panic!("{}: {error}", what()));
            for (id, element) in ids.iter().zip(&data) {
                elements[*id as usize] = *element;
            }
            let all = a.read(..).expect("a read");
            assert!(all.iter().eq(&elements), "{}", what());
        }
    }
}

#[test]
fn what_does_not_fit_a_view_is_refused() -> Result<(), ndzarr::Error> {
    let a = Array::<u8>::builder([4, 6]).create((MemoryStore::new(), "a"))?;
    let view = s![1..3, ..;2].resolve(a.shape())?;
    assert_eq!(view.shape(), [2, 3]);
    let kind =
        |result: Result<Resolved, ndzarr::Error>| result.expect_err("it does not fit").kind();
    assert_eq!(kind(view.view((2, ..))), ErrorKind::WrongShape);
    assert_eq!(kind(view.view((0,))), ErrorKind::WrongShape);
    assert_eq!(
        kind(view.view(Points::new([[0, 3]]))),
        ErrorKind::WrongShape
    );
    for order in [&[0][..], &[0, 0], &[0, 2], &[0, 1, 2]] {
        assert_eq!(kind(view.permuted(order)), ErrorKind::WrongShape);
    }
    let points = Points::new([[0, 1], [3, 5]]).resolve(a.shape())?;
    assert_eq!(kind(points.view((0,))), ErrorKind::Unsupported);
    let added = s![.., ndarray::NewAxis, ..].resolve(a.shape())?;
    assert_eq!(kind(added.view((.., 0..0, ..))), ErrorKind::Unsupported);
    assert_eq!(a.read(added.view((3, -1, ..))?)?.shape(), [6]);
    // A selection of one array is not silently one of another.
    let other = Array::<u8>::builder([2, 6]).create((MemoryStore::new(), "a"))?;
    for selection in [view, points.clone()] {
        assert_eq!(
            other.read(&selection).expect_err("another array").kind(),
            ErrorKind::WrongShape
        );
    }
    let line = Array::<u8>::builder([24]).create((MemoryStore::new(), "a"))?;
    assert_eq!(
        line.read(&points).expect_err("another array").kind(),
        ErrorKind::WrongShape
    );
    Ok(())
}

/// Views are resolved only against the shape, and read only the chunks with their elements.
#[test]
fn a_view_reads_only_the_chunks_with_its_elements() -> Result<(), ndzarr::Error> {
    let store = AsyncMemoryStore::new(Latency::default());
    let a = Array::<u16>::builder([1_000_000, 64]).chunks([10, 64]);
    let a = a.create((Storage::from(store.memory()), "a"))?;
    a.fill((999_990.., ..), 3)?;
    let a = Array::<u16>::open((Storage::asynchronous(store.clone()), "a"))?;
    store.reset();
    let view = s![..;-1, ..].resolve(a.shape())?.view((..20, 5))?;
    assert_eq!(store.counts().fetches, 0);
    assert_eq!(a.chunks_in(&view)?.count(), 2);
    assert_eq!(
        block_on(asynchronous::Array::from(a).read(&view))?.sum(),
        30
    );
    assert_eq!(store.counts().fetches, 2);
    Ok(())
}
