//! What does not fit is an error before any request to the store, whatever the selection and the
//! call.

use ndarray::{ArrayD, IxDyn, SliceInfoElem, arr0, arr1};
use ndzarr::store::block_on;
use ndzarr::{AnyElements, CodecRegistry, DataType, Error, ErrorKind, Format};
use ndzarr_testkit::Counts;

use super::handle::{Handle, counted};
use super::matrix::{CHUNK, SHAPE, chosen, made};
use super::model::{Chosen, Pick};

/// Selections that do not fit an array of [`SHAPE`], and words of their errors.
fn outside() -> Vec<(Chosen, &'static str)> {
    let yes = |n| vec![true; n];
    let slice = |step| SliceInfoElem::Slice {
        start: 0,
        end: None,
        step,
    };
    let whole = |shape: &[usize]| Chosen::Mask(ArrayD::from_elem(IxDyn(shape), true));
    vec![
        (
            Chosen::Lists(vec![vec![0, 5], vec![0], vec![0]]),
            "the index 5 does not fit axis 0 of length 5",
        ),
        (
            Chosen::Lists(vec![vec![], vec![-8], vec![0]]),
            "the index -8 does not fit axis 1 of length 7",
        ),
        (
            Chosen::Lists(vec![vec![0]; 2]),
            "a selection of 2 axes for an array of 3 dimensions",
        ),
        (
            Chosen::Masks(vec![yes(4), yes(7), yes(6)]),
            "a mask of 4 elements for axis 0 of length 5",
        ),
        (
            Chosen::Masks(vec![yes(5), yes(7), yes(7)]),
            "a mask of 7 elements for axis 2 of length 6",
        ),
        (
            Chosen::Masks(vec![yes(5), yes(7), vec![]]),
            "for axis 2 of length 6",
        ),
        (
            Chosen::Tuple(vec![0], 3..8, yes(6)),
            "the range 3..8 does not fit axis 1 of length 7",
        ),
        (
            Chosen::Tuple(vec![5], 3..7, yes(6)),
            "the index 5 does not fit axis 0",
        ),
        (
            Chosen::Ranges(vec![(0, Some(6), -1), (0, None, 1), (0, None, 1)]),
            "does not fit axis 0",
        ),
        (
            Chosen::Ranges(vec![(0, None, 1), (-8, None, 1), (0, None, 1)]),
            "does not fit axis 1",
        ),
        (
            Chosen::Ranges(vec![(0, None, 1), (0, None, 1), (7, None, -2)]),
            "does not fit axis 2",
        ),
        (
            Chosen::Slices(vec![slice(1), slice(0), slice(1)]),
            "along axis 1 has a step of 0",
        ),
        (
            Chosen::Slices(vec![slice(1), SliceInfoElem::Index(7), slice(1)]),
            "the index 7 does not fit axis 1",
        ),
        (
            Chosen::Slices(vec![slice(1); 4]),
            "a selection of 4 axes for an array of 3 dimensions",
        ),
        (
            Chosen::Axes(vec![Pick::Index(5), Pick::Index(0), Pick::Index(0)]),
            "the index 5 does not fit",
        ),
        (
            Chosen::Names(vec![("z", Pick::Index(0))]),
            r#"no dimension "z" among "t", "y", "x""#,
        ),
        (
            Chosen::Names(vec![("y", Pick::Index(0)), ("y", Pick::Index(0))]),
            r#""y" is selected twice"#,
        ),
        (
            Chosen::Names(vec![("x", Pick::List(vec![0, -7]))]),
            "the index -7 does not fit axis 2",
        ),
        (
            Chosen::Names(vec![("x", Pick::Mask(yes(5)))]),
            "a mask of 5 elements for axis 2 of length 6",
        ),
        (
            Chosen::Names(vec![("t", Pick::Range(2, Some(6), 2))]),
            "does not fit axis 0 of length 5",
        ),
        (
            Chosen::Points(vec![vec![0, 0, 0], vec![4, 7, 5]]),
            "the index 7 does not fit axis 1",
        ),
        (
            Chosen::Points(vec![vec![0, 0, 0], vec![-6, 0, 0]]),
            "the index -6 does not fit axis 0",
        ),
        (
            Chosen::Points(vec![vec![0, 0]]),
            "points of 2 coordinates for an array of 3 dimensions",
        ),
        (
            Chosen::Points(vec![vec![0, 0, 0], vec![0, 0]]),
            "points with 3 and with 2 coordinates",
        ),
        (
            Chosen::ByAxis(vec![vec![0], vec![0, 1], vec![0]]),
            "points with 1 and with 2 coordinates",
        ),
        (Chosen::ByAxis(vec![vec![0]; 4]), "points of 4 coordinates"),
        (
            Chosen::ByAxis(vec![vec![0], vec![0], vec![6]]),
            "the index 6 does not fit axis 2",
        ),
        (
            whole(&[5, 7]),
            "a mask of shape [5, 7] for an array of [5, 7, 6]",
        ),
        (whole(&[7, 5, 6]), "a mask of shape [7, 5, 6]"),
        (
            Chosen::Blocks(vec![(0, 4), (0, 1), (0, 1)]),
            "0..4 does not fit axis 0 of length 3",
        ),
        (Chosen::Blocks(vec![(0, 1); 2]), "a selection of 2 axes"),
    ]
}

/// Each handle of arrays in stores that count, with the name of both.
fn each_handle(mut check: impl FnMut(&str, &Handle, &dyn Fn() -> Counts)) {
    for (format, sharded) in [
        (Format::Zarr3, false),
        (Format::Zarr3, true),
        (Format::N5, false),
    ] {
        for slow in [false, true] {
            let (storage, counts) = counted(slow);
            made(&storage, format, sharded, DataType::Int { bits: 32 });
            for (name, handle) in Handle::all(&storage, &CodecRegistry::new()) {
                counts();
                check(
                    &format!("{format}, sharded {sharded}, {slow}, {name}"),
                    &handle,
                    &*counts,
                );
            }
        }
    }
}

fn is_refused<T>(result: Result<T, Error>, kind: ErrorKind, words: &str, what: &str) {
    let Err(error) = result else {
        panic!("it is not an error: {what}")
    };
    assert_eq!(error.kind(), kind, "{error}, {what}");
    assert!(error.to_string().contains(words), "{error}, {what}");
}

#[test]
fn a_selection_outside_the_array_is_refused() {
    let one = ArrayD::from_elem(IxDyn(&[1]), 9);
    each_handle(|name, handle, counts| {
        for (chosen, words) in &outside() {
            let what = format!("{name}: {chosen:?}");
            let is_refused = |result| is_refused(result, ErrorKind::WrongShape, words, &what);
            is_refused(handle.read(chosen).map(drop));
            is_refused(handle.read_into(chosen, &[1]).map(drop));
            is_refused(
                handle
                    .read_many(&[&Chosen::Points(vec![vec![0, 0, 0]]), chosen])
                    .map(drop),
            );
            is_refused(handle.write(chosen, &one));
            is_refused(handle.fill(chosen, 9));
            assert_eq!(counts(), Counts::default(), "{what}");
        }
    });
}

#[test]
fn elements_of_another_shape_than_the_selection_are_refused() {
    each_handle(|name, handle, counts| {
        for chosen in &chosen() {
            let shape = chosen.taken(&SHAPE, &CHUNK).shape;
            let mut longer = shape.clone();
            longer.last_mut().into_iter().for_each(|last| *last += 1);
            let reversed = shape.iter().rev().copied().collect::<Vec<_>>();
            for other in [
                longer,
                reversed,
                [&shape[..], &[1]].concat(),
                [&[2], &shape[..]].concat(),
            ] {
                let what = format!("{name}: {other:?} for {chosen:?}");
                let is_refused = |result| is_refused(result, ErrorKind::WrongShape, "for a", &what);
                let as_long = other.iter().product::<usize>() == shape.iter().product::<usize>();
                let (typed, bytes) = match handle {
                    Handle::Typed(_) | Handle::AsyncTyped(_) => (true, false),
                    Handle::Untyped(_) | Handle::AsyncUntyped(_) => (false, false),
                    Handle::Bytes(_) | Handle::AsyncBytes(_) => (false, true),
                };
                // Bytes have no shape, but a length.
                if other != shape && (typed || !as_long) {
                    is_refused(handle.read_into(chosen, &other).map(drop));
                }
                if other != shape && (!bytes || !as_long) {
                    is_refused(handle.write(chosen, &ArrayD::zeros(other)));
                }
                assert_eq!(counts(), Counts::default(), "{what}");
            }
        }
    });
}

#[test]
fn elements_of_another_type_are_refused() {
    each_handle(|name, handle, counts| {
        let numbers: AnyElements<_> = arr1(&[0u8]).into();
        let mut written = Vec::new();
        match handle {
            Handle::Untyped(a) => {
                written.push(a.write((0, 0, [0]), &numbers));
                written.push(a.fill((0, 0, [0]), arr0(1i64)));
            }
            Handle::AsyncUntyped(a) => {
                written.push(block_on(a.write((0, 0, [0]), &numbers)));
                written.push(block_on(a.fill((0, 0, [0]), arr0(1i64))));
            }
            _ => {}
        }
        written
            .into_iter()
            .for_each(|written| is_refused(written, ErrorKind::WrongType, "int32", name));
        assert_eq!(counts(), Counts::default(), "{name}");
    });
}
