//! Blocks in which two arrays are compared, and the indices of elements in them.

use std::ops::Range;

/// The index in the array of an element of a block.
pub(crate) fn index_of(n: u64, lengths: &[u64], ranges: &[Range<u64>]) -> Vec<u64> {
    let mut rest = n;
    let mut index = vec![0; lengths.len()];
    for axis in (0..lengths.len()).rev() {
        index[axis] = ranges[axis].start + rest % lengths[axis];
        rest /= lengths[axis];
    }
    index
}

/// Inserts an index into a sorted list of at most `most`, which keeps the least.
pub(crate) fn insert_least(first: &mut Vec<Vec<u64>>, index: Vec<u64>, most: usize) {
    if first.len() == most && first.last().is_some_and(|last| *last <= index) {
        return;
    }
    let at = first.partition_point(|other| *other < index);
    first.insert(at, index);
    first.truncate(most);
}

/// The shape of blocks of at most about this many elements for which chunks of both arrays are
/// decoded as few times as possible.
pub(crate) fn block(shape: &[u64], a: &[u64], b: &[u64], max_elements: u64) -> Vec<u64> {
    let mut block: Vec<u64> = (0..shape.len())
        .map(|axis| a[axis].max(b[axis]).min(shape[axis]).max(1))
        .collect();
    let volume = |block: &[u64]| block.iter().fold(1_u64, |all, &n| all.saturating_mul(n));
    let decodes = |block: &[u64], chunk: &[u64]| -> f64 {
        let along = |axis: usize| chunk[axis].min(shape[axis]).max(1).div_ceil(block[axis]) as f64;
        (0..shape.len()).map(along).product()
    };
    while volume(&block) > max_elements {
        let halves = (0..shape.len())
            .filter(|&axis| block[axis] > 1)
            .map(|axis| {
                let mut half = block.clone();
                half[axis] = half[axis].div_ceil(2);
                half
            });
        let cost = |half: &Vec<u64>| decodes(half, a) + decodes(half, b);
        match halves.min_by(|x, y| cost(x).total_cmp(&cost(y))) {
            Some(half) => block = half,
            None => break,
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_balance_repeated_decoding() {
        assert_eq!(
            block(&[100, 100], &[10, 100], &[10, 100], 10_000),
            [10, 100]
        );
        assert_eq!(block(&[100, 100], &[10, 50], &[20, 25], 10_000), [20, 50]);
        // Planes and columns: both are cut, instead of one of them sixteen times.
        let block = block(
            &[1024, 1024, 512],
            &[8, 1024, 512],
            &[1024, 32, 32],
            1 << 27,
        );
        assert!(block.iter().product::<u64>() <= 1 << 27);
        assert!(
            block[0] >= 256 && block[1] * block[2] >= 1 << 17,
            "{block:?}"
        );
    }

    #[test]
    fn the_least_indices_are_kept() {
        let mut first = Vec::new();
        for n in [5, 1, 4, 0, 9, 3] {
            insert_least(&mut first, vec![n], 3);
        }
        assert_eq!(first, [[0], [1], [3]]);
        assert_eq!(index_of(5, &[2, 3], &[10..12, 4..7]), [11, 6]);
    }
}
