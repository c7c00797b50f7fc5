//! Boxes of an array in C order.

use std::ops::Range;

/// Cuts a range of an array in C order into the fewest possible boxes. Each comes with the number
/// of its first element, its first index and its length along each axis.
pub(super) fn for_each_box(
    extent: &[usize],
    range: Range<usize>,
    mut take: impl FnMut(usize, &[usize], &[usize]),
) {
    let mut at = range.start;
    while at < range.end {
        let mut start = vec![0; extent.len()];
        let mut len = vec![1; extent.len()];
        let mut rest = at;
        let mut stride = 1;
        for (axis, &n) in extent.iter().enumerate().rev() {
            start[axis] = rest % n;
            rest /= n;
            // As far as possible along this axis, while all axes after it are complete.
            if at.is_multiple_of(stride) && at + stride <= range.end {
                len[axis + 1..].copy_from_slice(&extent[axis + 1..]);
                len[axis] = (n - start[axis]).min((range.end - at) / stride);
            }
            stride *= n;
        }
        take(at, &start, &len);
        at += len.iter().product::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use ndzarr_codec::c_strides;

    use super::*;

    /// Every element of the range is in one box, in order; returns the boxes' lengths.
    fn check(extent: &[usize], range: Range<usize>) -> Vec<Vec<usize>> {
        let strides = c_strides(extent);
        let mut lens = Vec::new();
        let mut next = range.start;
        for_each_box(extent, range.clone(), |at, start, len| {
            assert_eq!(at, next, "{extent:?} {range:?}");
            let place: usize = start
                .iter()
                .zip(&strides)
                .map(|(i, stride)| i * *stride as usize)
                .sum();
            assert_eq!(at, place, "{extent:?} {range:?}");
            assert!(
                start
                    .iter()
                    .zip(len)
                    .zip(extent)
                    .all(|((start, len), n)| *len > 0 && start + len <= *n)
            );
            // The distance from the first element to the last matches their numbers: nothing
            // between is left out.
            let n: usize = len.iter().product();
            let last: usize = len
                .iter()
                .zip(&strides)
                .map(|(len, stride)| (len - 1) * *stride as usize)
                .sum();
            assert_eq!(last + 1, n, "{extent:?} {range:?}");
            lens.push(len.to_vec());
            next += n;
        });
        assert_eq!(next, range.end.max(range.start), "{extent:?} {range:?}");
        lens
    }

    #[test]
    fn boxes_cover_each_range_in_its_order() {
        for extent in [
            &[12][..],
            &[3, 4],
            &[1, 5],
            &[5, 1, 2],
            &[2, 3, 4],
            &[2, 1, 3, 2],
        ] {
            let n: usize = extent.iter().product();
            for start in 0..=n {
                for end in start..=n {
                    let boxes = check(extent, start..end);
                    assert!(boxes.len() < 2 * extent.len(), "{extent:?} {start} {end}");
                }
            }
        }
    }

    #[test]
    fn boxes_are_as_large_as_can_be() {
        assert_eq!(check(&[128, 128, 128], 1 << 17..1 << 18), [[8, 128, 128]]);
        assert_eq!(
            check(&[4, 10, 10], 95..327),
            [[1, 1, 5], [2, 10, 10], [1, 2, 10], [1, 1, 7]]
        );
        assert_eq!(check(&[2, 3], 2..2), [[0usize; 2]; 0]);
    }
}
