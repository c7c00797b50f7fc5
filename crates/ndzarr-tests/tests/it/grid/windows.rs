//! Windows of bytes that cover a region, on small examples.

use ndzarr_grid::{Region, Window, WindowCost, windows};

const COST: WindowCost = WindowCost {
    request: 100,
    max_span: 10_000,
};

#[test]
fn a_dense_region_is_one_window() {
    let windows = windows(&[8, 10], &Region::new([2..5, 0..10]), COST);
    assert_eq!(
        windows,
        [Window {
            region: Region::new([2..5, 0..10]),
            span: 20..50
        }]
    );
}

#[test]
fn a_column_is_read_with_what_lies_between() {
    let windows = windows(&[8, 10], &Region::new([0..8, 7..8]), COST);
    assert_eq!(windows.len(), 1);
    assert_eq!(windows[0].span, 7..78);
}

#[test]
fn distant_rows_are_read_apart() {
    let windows = windows(&[3, 1_000_000], &Region::new([0..3, 5..10]), COST);
    assert_eq!(
        windows.iter().map(|w| w.span.clone()).collect::<Vec<_>>(),
        [5..10, 1_000_005..1_000_010, 2_000_005..2_000_010]
    );
}

#[test]
fn a_plane_across_is_read_in_bounded_windows() {
    let shape = [100, 100, 100];
    let windows = windows(&shape, &Region::new([0..100, 0..100, 7..8]), COST);
    assert!(
        windows.iter().all(|w| w.span.end - w.span.start <= 10_000),
        "{windows:?}"
    );
    assert_eq!(windows.len(), 100);
    assert_eq!(
        windows
            .iter()
            .filter_map(|w| w.region.n_elements())
            .sum::<u64>(),
        10_000
    );
}
