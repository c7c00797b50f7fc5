//! Chunks along an axis that contain elements at equal distances.

use ndzarr_grid::{ChunkEdges, ChunkGrid, MetAlong, Picks, Steps};

fn grid(runs: &[(u64, u64)]) -> ChunkGrid {
    let edges = ChunkEdges::Listed(runs.to_vec());
    let len = edges.end().expect("it ends");
    ChunkGrid::rectilinear(&[len], &[edges]).expect("a grid")
}

fn met(grid: &ChunkGrid, met: &MetAlong) -> Vec<u64> {
    (0..met.len()).map(|n| met.nth(grid, n)).collect()
}

#[test]
fn the_chunks_are_those_of_the_elements_one_by_one() {
    let runs: [&[(u64, u64)]; 6] = [
        &[(3, 5)],
        &[(1, 7), (5, 2), (2, 3)],
        &[(5, 2), (1, 7), (5, 2)],
        &[(4, 1), (1, 1), (4, 1), (1, 1), (3, 2), (2, 3)],
        &[(2, 6), (3, 4)],
        &[(20, 1)],
    ];
    for runs in runs {
        let rectilinear = grid(runs);
        let len = rectilinear.array_shape()[0];
        let regular = ChunkGrid::regular(&[len], &[4]).expect("a grid");
        for grid in [rectilinear, regular] {
            // The chunk of each element.
            let chunks: Vec<u64> = (0..)
                .map_while(|chunk| grid.clipped_region(&[chunk]))
                .zip(0..)
                .flat_map(|(region, chunk)| {
                    let range = region.ranges()[0].clone();
                    range.map(move |_| chunk)
                })
                .collect();
            for step in 2..9 {
                for phase in 0..step {
                    let picks = Picks::Steps(Steps { phase, step });
                    for start in 0..len {
                        for end in start + 1..=len {
                            let range = &chunks[start as usize..end as usize];
                            let picked = range.iter().skip(phase).step_by(step);
                            let mut expected: Vec<u64> =
                                picked.map(|chunk| chunk - range[0]).collect();
                            expected.dedup();
                            let found = MetAlong::new(&grid, 0, start..end, &picks);
                            assert_eq!(
                                met(&grid, &found),
                                expected,
                                "{grid:?} {start}..{end} {picks:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}

/// Few elements among many chunks, then many elements in as many chunks. Neither is visited one by
/// one.
#[test]
fn the_cost_is_that_of_the_runs_of_chunks() {
    let n = 1u64 << 38;
    // Elements 0, 2^38 and 2^39: the first in the first chunk, the others in the last.
    let few = grid(&[(1, n), (2 * n, 1)]);
    let picks = |step: u64| {
        Picks::Steps(Steps {
            phase: 0,
            step: step as usize,
        })
    };
    let found = MetAlong::new(&few, 0, 0..2 * n + 1, &picks(n));
    assert_eq!(met(&few, &found), [0, n]);
    // Every second chunk of one element, then all of four.
    let many = grid(&[(1, n), (4, n)]);
    let found = MetAlong::new(&many, 0, 0..5 * n, &picks(2));
    assert_eq!(found.len(), n / 2 + n);
    let at = [0, 1, n / 2 - 1, n / 2, n / 2 + n - 1].map(|number| found.nth(&many, number));
    assert_eq!(at, [0, 2, n - 2, n, 2 * n - 1]);
}
