//! The chunks of an array, counted and found by selections.

use std::collections::BTreeSet;

use ndarray::{Array2, array};
use ndzarr::{
    Array, ArrayBuilder, ChunkEdges, ErrorKind, Format, MemoryStore, Points, Result, Selection,
};
use ndzarr_testkit::Random;

pub(crate) const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::DraftA,
    Format::DraftB,
    Format::N5,
];

/// Along each axis, the ends of the chunks.
type Ends = [Vec<u64>; 2];

/// The chunk that has an element, by a search along each axis.
fn chunk_of(ends: &Ends, element: [u64; 2]) -> Vec<u64> {
    (0..2)
        .map(|axis| {
            ends[axis]
                .iter()
                .take_while(|end| **end <= element[axis])
                .count() as u64
        })
        .collect()
}

/// The indexes of the chunks of a selection, in order.
fn chunks_of(a: &Array<u8>, selection: impl Selection) -> Vec<Vec<u64>> {
    let chunks = a.chunks_in(selection).expect("it fits");
    let n = chunks.len();
    let by_number: Vec<_> = (0..n)
        .map(|i| chunks.get(i).expect("it is below the number").index)
        .collect();
    assert_eq!(chunks.get(n), None);
    let all: Vec<_> = chunks.map(|chunk| chunk.index).collect();
    assert_eq!(all, by_number);
    all
}

#[test]
fn the_chunks_of_a_selection_are_those_that_have_its_elements() -> Result<()> {
    let every = |len: u64, n: u64| (1..=len.div_ceil(n)).map(|i| i * n).collect::<Vec<_>>();
    let edges = [
        ChunkEdges::Listed(vec![(3, 2), (1, 3), (7, 1), (5, 1)]),
        ChunkEdges::Repeated(4),
    ];
    let arrays: [(ArrayBuilder<u8>, Ends); 3] = [
        (
            Array::builder([20, 17]).chunks([3, 5]),
            [every(20, 3), every(17, 5)],
        ),
        (
            Array::builder([20, 17]).chunks([2, 3]).shards([4, 9]),
            [every(20, 2), every(17, 3)],
        ),
        (
            Array::builder([20, 17]).chunk_edges(edges),
            [vec![3, 6, 7, 8, 9, 16, 21], every(17, 4)],
        ),
    ];
    let mut random = Random::seeded("chunks of selections");
    for (builder, ends) in arrays {
        let a = builder.create((MemoryStore::new(), "a"))?;
        let all: Vec<_> = a.chunks().map(|chunk| chunk.index).collect();
        let expected: BTreeSet<_> = (0..20).flat_map(|y| (0..17).map(move |x| [y, x])).collect();
        let expected: BTreeSet<_> = expected
            .into_iter()
            .map(|element| chunk_of(&ends, element))
            .collect();
        assert_eq!(all, expected.into_iter().collect::<Vec<_>>());
        assert_eq!(
            a.chunks().grid_shape(),
            ends.clone().map(|ends| ends.len() as u64)
        );
        for _ in 0..200 {
            let of = |elements: &[[u64; 2]]| -> Vec<Vec<u64>> {
                let chunks: BTreeSet<_> = elements
                    .iter()
                    .map(|element| chunk_of(&ends, *element))
                    .collect();
                chunks.into_iter().collect()
            };
            let cross = |rows: &[u64], columns: &[u64]| -> Vec<[u64; 2]> {
                rows.iter()
                    .flat_map(|y| columns.iter().map(|x| [*y, *x]))
                    .collect()
            };
            // Ranges with steps.
            let region = random.region(a.shape());
            let steps = [1 + random.below(9), 1 + random.below(9)];
            let along = |axis: usize| -> Vec<u64> {
                region[axis].clone().step_by(steps[axis] as usize).collect()
            };
            let slices = ndzarr::s![
                region[0].clone(); steps[0] as isize,
                region[1].clone(); steps[1] as isize
            ];
            assert_eq!(
                chunks_of(&a, slices),
                of(&cross(&along(0), &along(1))),
                "{region:?} {steps:?}"
            );
            // Lists, in any order.
            let lists: [Vec<u64>; 2] =
                [20, 17].map(|n| (0..random.below(6)).map(|_| random.below(n)).collect());
            let list =
                |axis: usize| -> Vec<usize> { lists[axis].iter().map(|at| *at as usize).collect() };
            assert_eq!(
                chunks_of(&a, (list(0), list(1))),
                of(&cross(&lists[0], &lists[1])),
                "{lists:?}"
            );
            assert_eq!(
                chunks_of(&a, (list(0), region[1].clone())),
                of(&cross(&lists[0], &region[1].clone().collect::<Vec<_>>()))
            );
            // Points and masks.
            let points: Vec<[u64; 2]> = (0..random.below(8))
                .map(|_| [random.below(20), random.below(17)])
                .collect();
            let ys: Vec<i64> = points.iter().map(|point| point[0] as i64).collect();
            let xs: Vec<i64> = points.iter().map(|point| point[1] as i64).collect();
            assert_eq!(
                chunks_of(&a, Points::by_axis([ys, xs])),
                of(&points),
                "{points:?}"
            );
            let mask =
                Array2::from_shape_fn((20, 17), |(y, x)| points.contains(&[y as u64, x as u64]));
            assert_eq!(chunks_of(&a, &mask), of(&points), "{points:?}");
        }
        // The ranges of a chunk fit the array and the selection.
        for chunk in a.chunks_in([2..9, 4..16])? {
            let read = a.read(&chunk)?;
            assert_eq!(read.shape(), chunk.shape());
            assert_eq!(read, a.read_chunk(&chunk.index)?);
            for (axis, (overlap, range)) in chunk.overlap.iter().zip(&chunk.ranges).enumerate() {
                let selected = [2..9, 4..16][axis].clone();
                assert_eq!(
                    *overlap,
                    range.start.max(selected.start)..range.end.min(selected.end)
                );
            }
        }
    }
    Ok(())
}

#[test]
fn numbers_of_chunks_begin_after_those_that_were_taken() -> Result<()> {
    let a = Array::<u8>::builder([7, 3])
        .chunks([2, 2])
        .create((MemoryStore::new(), "a"))?;
    let all: Vec<_> = a.chunks().collect();
    assert_eq!((all.len(), a.chunks().size_hint()), (8, (8, Some(8))));
    let mut chunks = a.chunks();
    assert_eq!(chunks.nth(2).as_ref(), Some(&all[2]));
    assert_eq!(
        (chunks.len(), chunks.get(0).as_ref(), chunks.get(4).as_ref()),
        (5, Some(&all[3]), Some(&all[7]))
    );
    assert_eq!((chunks.clone().nth(5), chunks.get(5)), (None, None));
    assert_eq!(
        chunks.by_ref().skip(1).step_by(2).collect::<Vec<_>>(),
        [all[4].clone(), all[6].clone()]
    );
    assert_eq!((chunks.next(), chunks.len()), (None, 0));
    Ok(())
}

#[test]
fn chunks_without_a_number_are_not_left_out() -> Result<()> {
    let a = Array::<u8>::builder([1 << 40, 1 << 40]).chunks([1, 1]);
    let a = a.create((MemoryStore::new(), "a"))?;
    let first = Points::new([[0, 5], [1, 7]]);
    assert_eq!(chunks_of(&a, first), [[0, 5], [1, 7]]);
    let last = Points::new([[0_u64, 5], [(1_u64 << 40) - 1, 7]]);
    let error = a.chunks_in(last).expect_err("it has no number");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    Ok(())
}

#[test]
fn grids_without_chunks_and_huge_grids_are_counted() -> Result<()> {
    let memory = MemoryStore::new();
    let empty = Array::<u8>::builder([4, 0])
        .chunks([2, 2])
        .create((&memory, "empty"))?;
    assert_eq!(
        (
            empty.chunks().len(),
            empty.chunks().next(),
            empty.chunks().grid_shape()
        ),
        (0, None, vec![2, 0])
    );
    assert_eq!(
        (empty.units().iter().len(), empty.units().stored()?.len()),
        (0, 0)
    );
    assert_eq!(empty.chunks_in(..)?.len(), 0);
    assert_eq!(
        empty
            .units()
            .is_stored(&[0, 0])
            .expect_err("there is none")
            .kind(),
        ErrorKind::WrongShape
    );

    let scalar = Array::<u8>::builder([0u64; 0]).create((&memory, "scalar"))?;
    assert_eq!(
        (scalar.chunks().len(), scalar.chunks().grid_shape()),
        (1, vec![])
    );
    scalar.write((), &ndarray::arr0(3))?;
    assert_eq!(
        scalar.chunks_in(())?.next().expect("one").index,
        Vec::<u64>::new()
    );
    assert!(scalar.units().is_stored(&[])?);
    assert_eq!(
        scalar
            .units()
            .stored()?
            .map(|unit| unit.byte_len)
            .collect::<Vec<_>>(),
        [Some(1)]
    );
    scalar.units().erase(&[])?;
    assert_eq!(scalar.read(())?, ndarray::arr0(0));

    let huge = Array::<u8>::builder([1 << 50, 3])
        .chunks([1 << 10, 1])
        .create((&memory, "huge"))?;
    // With 32 bits, there are more than a usize counts.
    assert_eq!(
        huge.chunks().len(),
        usize::try_from(3_u64 << 40).unwrap_or(usize::MAX)
    );
    if cfg!(target_pointer_width = "64") {
        let last = huge.chunks().last_of();
        assert_eq!(
            (last.index, last.ranges),
            (
                vec![(1 << 40) - 1, 2],
                vec![(1 << 50) - 1024..1 << 50, 2..3]
            )
        );
    }
    let far = huge.chunks_in(ndzarr::s![0..1u64 << 49; 1 << 30, 1]);
    if cfg!(target_pointer_width = "64") {
        let far = far?;
        assert_eq!(
            (far.len(), far.get(511).expect("the last").index),
            (1 << 19, vec![511 << 20, 1])
        );
    } else {
        // ndarray's slices have an `isize`.
        assert_eq!(
            far.expect_err("it is too long").kind(),
            ErrorKind::WrongShape
        );
    }
    huge.write([0..1, 0..1], &array![[5]])?;
    assert_eq!(huge.units().stored()?.len(), 1);
    // More than any number.
    let most = Array::<u8>::builder([u64::MAX, u64::MAX])
        .chunks([1, 1])
        .create((&memory, "most"))?;
    // A bound above `isize::MAX` is refused: the range is not empty.
    for bounds in [ndzarr::s![5..u64::MAX, 1], ndzarr::s![u64::MAX - 1.., 1]] {
        assert_eq!(
            most.chunks_in(bounds).expect_err("it is too long").kind(),
            ErrorKind::WrongShape
        );
    }
    assert_eq!(
        (
            most.chunks().len(),
            most.chunks().nth(3).expect("one").index
        ),
        (usize::MAX, vec![0, 3])
    );
    most.write([0..1, 5..6], &array![[5]])?;
    assert_eq!(
        most.units()
            .stored()?
            .map(|unit| unit.index)
            .collect::<Vec<_>>(),
        [[0, 5]]
    );
    most.write([2..3, 5..6], &array![[5]])?;
    let error = most.units().stored().expect_err("it has no number");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error.to_string().contains("most/c/2/5 is not listed"),
        "{error}"
    );
    Ok(())
}

trait Last {
    fn last_of(self) -> ndzarr::Chunk;
}

impl<I: ExactSizeIterator<Item = ndzarr::Chunk>> Last for I {
    fn last_of(mut self) -> ndzarr::Chunk {
        let n = self.len();
        self.nth(n - 1).expect("the last")
    }
}
