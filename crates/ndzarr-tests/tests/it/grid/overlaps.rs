//! Overlaps against an element-by-element oracle.

use ndzarr_grid::{ChunkGrid, Region};
use proptest::prelude::*;

fn cases() -> impl Strategy<Value = (Vec<u64>, Vec<u64>, Vec<(u64, u64)>)> {
    (0usize..4).prop_flat_map(|ndim| {
        (
            prop::collection::vec(0u64..9, ndim),
            prop::collection::vec(1u64..5, ndim),
            prop::collection::vec((0u64..10, 0u64..10), ndim),
        )
    })
}

proptest! {
    #[test]
    fn every_element_of_the_region_is_in_just_one_overlap((shape, chunk, bounds) in cases()) {
        let grid = ChunkGrid::regular(&shape, &chunk).expect("as many chunk lengths above 0 as dimensions");
        let region = Region::new(bounds.iter().map(|&(a, b)| a.min(b)..a.max(b)));
        let inside = region.intersection(&Region::whole(&shape));
        let mut seen = std::collections::HashMap::new();
        for overlap in grid.overlaps(&region) {
            prop_assert!(!overlap.in_chunk.is_empty());
            prop_assert_eq!(overlap.in_chunk.shape(), overlap.region().shape());
            for offset in indices(&overlap.in_chunk.shape()) {
                let element: Vec<u64> = (0..shape.len())
                    .map(|axis| overlap.chunk[axis] * chunk[axis] + overlap.in_chunk.start()[axis] + offset[axis])
                    .collect();
                let again: Vec<u64> = (0..shape.len())
                    .map(|axis| overlap.start[axis] + offset[axis])
                    .collect();
                prop_assert_eq!(&element, &again);
                prop_assert!((0..shape.len()).all(|axis| region.ranges()[axis].contains(&element[axis])));
                *seen.entry(element).or_insert(0) += 1;
            }
        }
        prop_assert!(seen.values().all(|&n| n == 1));
        prop_assert_eq!(Some(seen.len() as u64), inside.n_elements());
    }
}

fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    let mut all = vec![vec![]];
    for &n in shape {
        all = all
            .iter()
            .flat_map(|index: &Vec<u64>| (0..n).map(move |i| [&index[..], &[i]].concat()))
            .collect();
    }
    all
}
