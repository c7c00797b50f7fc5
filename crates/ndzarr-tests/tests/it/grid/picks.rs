//! Runs of picked indices against the indices one by one.

use ndzarr_grid::{Picks, Steps};

#[test]
fn runs_have_each_picked_index_once() {
    let lists: [&[usize]; 6] = [
        &[],
        &[0],
        &[3, 4, 5, 9, 11, 13, 14],
        &[0, 2, 4, 6, 8],
        &[1, 5, 6, 20, 39],
        &[7, 9, 10, 11],
    ];
    let steps = [(0, 1), (2, 3), (1, 7)].map(|(phase, step)| Steps { phase, step });
    let of_steps = steps.map(|steps| {
        let all: Vec<usize> = (0..40)
            .filter(|i| *i >= steps.phase && (i - steps.phase) % steps.step == 0)
            .collect();
        (Picks::Steps(steps), all)
    });
    let of_lists = lists.map(|list| (Picks::listed(list), list.to_vec()));
    for (picks, all) in of_steps.into_iter().chain(of_lists) {
        for base in [0, 1, 4, 10] {
            let picks = picks.from(base);
            let here: Vec<usize> = all
                .iter()
                .filter(|i| **i >= base)
                .map(|i| i - base)
                .collect();
            for (start, len) in [(0, 30), (0, 0), (3, 1), (5, 7), (9, 21)] {
                let found: Vec<(usize, usize)> = picks
                    .runs(start, len)
                    .flat_map(|run| {
                        (0..run.n).map(move |i| (run.first + i, start + run.offset + i * run.step))
                    })
                    .collect();
                let expected: Vec<(usize, usize)> = here
                    .iter()
                    .copied()
                    .enumerate()
                    .filter(|(_, i)| (start..start + len).contains(i))
                    .collect();
                assert_eq!(found, expected, "{picks:?} {base} {start} {len}");
                assert_eq!(picks.hit(start, len).1, expected.len());
            }
        }
    }
}
