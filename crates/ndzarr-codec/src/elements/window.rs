//! The parts of an encoded array that contain a box of elements.

use std::num::NonZeroUsize;
use std::ops::Range;

/// A box of elements within an array in C order, in bytes.
#[derive(Debug)]
pub(crate) struct Window {
    /// For each axis, the wanted indices and the distance between neighbours in bytes.
    axes: Vec<(Range<usize>, usize)>,
    elem_size: usize,
}

impl Window {
    /// The part of `wanted` that is inside the array.
    pub(crate) fn new(extent: &[usize], elem_size: usize, wanted: &[Range<usize>]) -> Self {
        let mut stride = elem_size;
        let mut axes: Vec<_> = (extent.iter().zip(wanted).rev())
            .map(|(&n, range)| {
                let axis = (range.start.min(n)..range.end.min(n), stride);
                stride = stride.saturating_mul(n);
                axis
            })
            .collect();
        axes.reverse();
        Self { axes, elem_size }
    }

    /// The end of the last wanted element, in bytes.
    pub(crate) fn end(&self) -> usize {
        if self.axes.iter().any(|(range, _)| range.is_empty()) {
            return 0;
        }
        self.elem_size
            + self
                .axes
                .iter()
                .map(|(range, stride)| (range.end - 1) * stride)
                .sum::<usize>()
    }

    /// The blocks of `block_len` bytes that contain wanted elements, as ascending ranges of bytes
    /// with gaps between them.
    pub(crate) fn parts(&self, block_len: NonZeroUsize, byte_len: usize) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        if self.axes.iter().all(|(range, _)| !range.is_empty()) {
            let mut add = |hull: Range<usize>| {
                let start = hull.start / block_len * block_len.get();
                let end = hull
                    .end
                    .div_ceil(block_len.get())
                    .saturating_mul(block_len.get())
                    .min(byte_len);
                match parts.last_mut() {
                    Some(Range { end: last, .. }) if start <= *last => *last = end.max(*last),
                    _ => parts.push(start..end),
                }
            };
            visit_pieces(&self.axes, 0, self.elem_size, block_len, &mut add);
        }
        parts
    }
}

/// Splits a box into pieces without gaps, or whose first and last byte are at most a block apart,
/// so that these two bytes determine which blocks a piece overlaps. Visits the range of each piece.
fn visit_pieces(
    axes: &[(Range<usize>, usize)],
    origin: usize,
    elem_size: usize,
    block_len: NonZeroUsize,
    visit: &mut impl FnMut(Range<usize>),
) {
    let start = origin
        + axes
            .iter()
            .map(|(range, stride)| range.start * stride)
            .sum::<usize>();
    let len = elem_size
        + axes
            .iter()
            .map(|(range, stride)| (range.len() - 1) * stride)
            .sum::<usize>();
    match axes.split_first() {
        Some(((range, stride), inner))
            if len > block_len.get() && !is_gapless(axes, len, elem_size) =>
        {
            let inner_start: usize = inner
                .iter()
                .map(|(range, stride)| range.start * stride)
                .sum();
            for i in 0..range.len() {
                visit_pieces(
                    inner,
                    start - inner_start + i * stride,
                    elem_size,
                    block_len,
                    visit,
                );
            }
        }
        _ => visit(start..start + len),
    }
}

/// True if a box contains everything between its first and its last byte.
fn is_gapless(axes: &[(Range<usize>, usize)], len: usize, elem_size: usize) -> bool {
    axes.iter().map(|(range, _)| range.len()).product::<usize>() * elem_size == len
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Checks that exactly the blocks that contain a byte of a wanted element are found.
        #[test]
        fn parts_are_the_blocks_of_an_index_by_index_oracle(
            axes in prop::collection::vec((0usize..7, 0usize..7, 0usize..7), 0..4),
            elem_size in 1usize..9,
            block_len in 1usize..200,
        ) {
            let extent: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
            // Part of it may be outside of the array.
            let wanted: Vec<Range<usize>> = axes.iter().map(|axis| axis.1.min(axis.2)..axis.1.max(axis.2)).collect();
            let n: usize = extent.iter().product();
            let mut expected = BTreeSet::new();
            for linear in 0..n {
                let mut rest = linear;
                let inside = (extent.iter().zip(&wanted).rev()).all(|(&n, range)| {
                    let i = rest % n;
                    rest /= n;
                    range.contains(&i)
                });
                if inside {
                    expected.extend((linear * elem_size..(linear + 1) * elem_size).map(|byte| byte / block_len));
                }
            }
            let len = NonZeroUsize::new(block_len).expect("not 0");
            let parts = Window::new(&extent, elem_size, &wanted).parts(len, n * elem_size);
            let found: Vec<usize> =
                parts.iter().flat_map(|part| part.start / block_len..part.end.div_ceil(block_len)).collect();
            prop_assert_eq!(found, expected.iter().copied().collect::<Vec<_>>());
            let window = Window::new(&extent, elem_size, &wanted);
            prop_assert_eq!(window.end().div_ceil(block_len), expected.last().map_or(0, |last| last + 1));
            prop_assert!(parts.windows(2).all(|pair| pair[0].end < pair[1].start));
            prop_assert!(parts.iter().all(|part| part.start % block_len == 0 && part.end <= n * elem_size));
        }
    }
}
