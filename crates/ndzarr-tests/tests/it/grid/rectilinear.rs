//! Grids of chunks of varying lengths, against a list of all of them.

use std::ops::Range;

use ndzarr_grid::{ChunkEdges, ChunkGrid, Region};

/// Every chunk along an axis, one after the other.
fn naive(edges: &ChunkEdges, len: u64) -> Vec<Range<u64>> {
    let lens: Vec<u64> = match edges {
        ChunkEdges::Repeated(n) => vec![*n; len.div_ceil(*n) as usize],
        ChunkEdges::Listed(runs) => runs
            .iter()
            .flat_map(|&(n, count)| vec![n; count as usize])
            .collect(),
    };
    let mut start = 0;
    let mut chunks = Vec::new();
    for n in lens {
        if start < len {
            chunks.push(start..start + n);
        }
        start += n;
    }
    chunks
}

fn axes() -> Vec<(ChunkEdges, u64)> {
    let listed = |runs: &[(u64, u64)]| ChunkEdges::Listed(runs.to_vec());
    vec![
        (ChunkEdges::Repeated(3), 10),
        (listed(&[(1, 3), (3, 1)]), 6),
        (listed(&[(4, 1), (4, 1), (4, 1)]), 6),
        (listed(&[(2, 2), (5, 1), (2, 1), (1, 4)]), 13),
        (listed(&[(7, 1)]), 0),
        (listed(&[]), 0),
        (listed(&[(1, 1)]), 1),
    ]
}

#[test]
fn chunks_and_overlaps_are_those_of_the_list() {
    for (a, a_len) in axes() {
        for (b, b_len) in axes() {
            let grid =
                ChunkGrid::rectilinear(&[a_len, b_len], &[a.clone(), b.clone()]).expect("a grid");
            let lists = [naive(&a, a_len), naive(&b, b_len)];
            assert_eq!(
                grid.grid_shape(),
                lists.each_ref().map(|list| list.len() as u64)
            );
            for row in 0..a_len.min(4) {
                let region = Region::new([row..a_len, row.min(b_len)..b_len]);
                let found: Vec<_> = grid.overlaps(&region).collect();
                let mut expected = Vec::new();
                for (i, rows) in lists[0].iter().enumerate() {
                    for (j, columns) in lists[1].iter().enumerate() {
                        let common =
                            Region::new([rows.clone(), columns.clone()]).intersection(&region);
                        if !common.is_empty() {
                            expected.push((
                                vec![i as u64, j as u64],
                                common,
                                vec![rows.start, columns.start],
                            ));
                        }
                    }
                }
                assert_eq!(found.len(), expected.len());
                assert_eq!(grid.n_overlaps(&region), Some(expected.len() as u64));
                for (overlap, (index, common, origin)) in found.iter().zip(expected) {
                    assert_eq!(overlap.chunk, index);
                    assert_eq!(overlap.in_chunk, common.relative_to(&origin));
                    assert_eq!(overlap.region(), common);
                    let whole = grid.chunk_region(&index).expect("in the grid");
                    assert_eq!(whole.start(), origin);
                    assert_eq!(grid.shape_of(&index), Some(whole.shape()));
                }
            }
        }
    }
}

/// V3-T39, V3-T62.
#[test]
fn v3_t62_a_count_is_a_number() {
    let edges = [ChunkEdges::Listed(vec![(2, 1_000_000_000_000)])];
    let grid = ChunkGrid::rectilinear(&[5], &edges).expect("a grid");
    assert_eq!(grid.grid_shape(), [3]);
    assert_eq!(grid.clipped_region(&[2]), Some(Region::new([4..5])));
    assert_eq!(grid.chunk_region(&[3]), None);
    let far = [ChunkEdges::Listed(vec![(1 << 40, 1 << 40), (3, 1)])];
    let grid = ChunkGrid::rectilinear(&[u64::MAX], &far).expect("the end is beyond u64");
    assert_eq!(
        grid.overlaps(&Region::new([u64::MAX - 1..u64::MAX]))
            .count(),
        1
    );
}

#[test]
fn v3_t39_chunks_that_do_not_cover_the_array_are_refused() {
    for (edges, len) in [
        (ChunkEdges::Listed(vec![(1, 3), (3, 1)]), 7),
        (ChunkEdges::Listed(vec![]), 1),
        (ChunkEdges::Listed(vec![(0, 3)]), 0),
        (ChunkEdges::Listed(vec![(3, 0)]), 0),
        (ChunkEdges::Repeated(0), 1),
    ] {
        assert!(
            ChunkGrid::rectilinear(&[len], std::slice::from_ref(&edges)).is_err(),
            "{edges:?}"
        );
    }
    assert!(ChunkGrid::rectilinear(&[1, 1], &[ChunkEdges::Repeated(1)]).is_err());
}

#[test]
fn agreement_is_about_the_chunks_that_both_have() {
    let listed = |runs: &[(u64, u64)]| ChunkEdges::Listed(runs.to_vec());
    let agree = |a: &ChunkEdges, b: &ChunkEdges| a.agrees_with(b) && b.agrees_with(a);
    assert!(agree(
        &listed(&[(2, 3)]),
        &listed(&[(2, 1), (2, 2), (5, 1)])
    ));
    assert!(agree(&listed(&[]), &listed(&[(2, 1)])));
    assert!(agree(&ChunkEdges::Repeated(2), &listed(&[(2, 9)])));
    assert!(!agree(&listed(&[(2, 3)]), &listed(&[(2, 2), (5, 1)])));
    assert!(!agree(&ChunkEdges::Repeated(2), &listed(&[(2, 9), (3, 1)])));
}

#[test]
fn each_length_along_each_axis_is_visited_once() {
    let visited = |grid: &ChunkGrid| {
        let mut shapes = Vec::new();
        grid.try_each_distinct_shape(|shape| {
            shapes.push(shape.to_vec());
            Ok::<_, ()>(())
        })
        .expect("no visit fails");
        shapes
    };
    let regular = ChunkGrid::regular(&[9, 9], &[2, 4]).expect("a grid");
    assert_eq!(visited(&regular), [[2, 4]]);
    let edges = [
        ChunkEdges::Listed(vec![(2, 2), (5, 1), (2, 1)]),
        ChunkEdges::Listed(vec![(1, 1), (4, 2), (3, 9)]),
    ];
    let grid = ChunkGrid::rectilinear(&[11, 36], &edges).expect("a grid");
    let mut shapes = visited(&grid);
    shapes.sort();
    assert_eq!(shapes, [[2, 4], [5, 1], [5, 3], [5, 4]]);
    // The first failure ends it.
    let mut n = 0;
    let fails = grid.try_each_distinct_shape(|_| {
        n += 1;
        Err(n)
    });
    assert_eq!((fails, n), (Err(1), 1));
}
