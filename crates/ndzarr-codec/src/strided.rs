//! Copies between arrays in memory with different strides.

use std::cmp::Reverse;

/// The position of an array in a slice: the element of index 0 and the distances between
/// neighbours, all in elements.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a> {
    /// The position of the element of index 0.
    pub offset: usize,
    /// Distance between neighbours along each axis.
    pub strides: &'a [isize],
}

/// Planes with fewer elements along an axis are copied line by line, not transposed.
const MIN_TRANSPOSED_LEN: usize = 8;

/// Side of the blocks in which a plane is transposed. In elements of 1 to 16 bytes a block takes 1
/// to 16 KiB of the nearest cache; see docs/internals/lab/reading.md for other sizes.
const BLOCK: usize = 32;

/// Copies a box of `extent` elements of `size` bytes from one place to another.
///
/// # Panics
/// If an index is outside its slice.
pub fn copy(
    extent: &[usize],
    size: usize,
    src: &[u8],
    from: Strided<'_>,
    dst: &mut [u8],
    to: Strided<'_>,
) {
    fn sized<const N: usize>(
        extent: &[usize],
        src: &[u8],
        from: Strided<'_>,
        dst: &mut [u8],
        to: Strided<'_>,
    ) {
        copy_elements(
            extent,
            src.as_chunks::<N>().0,
            from,
            dst.as_chunks_mut::<N>().0,
            to,
        );
    }
    match size {
        0 => {}
        1 => copy_elements(extent, src, from, dst, to),
        2 => sized::<2>(extent, src, from, dst, to),
        4 => sized::<4>(extent, src, from, dst, to),
        8 => sized::<8>(extent, src, from, dst, to),
        16 => sized::<16>(extent, src, from, dst, to),
        _ => {
            // The bytes of an element are one more axis.
            let in_bytes = |at: Strided<'_>| -> Vec<isize> {
                at.strides
                    .iter()
                    .map(|stride| stride * size as isize)
                    .chain([1])
                    .collect()
            };
            let from_bytes = in_bytes(from);
            let to_bytes = in_bytes(to);
            let from = Strided {
                offset: from.offset * size,
                strides: &from_bytes,
            };
            let to = Strided {
                offset: to.offset * size,
                strides: &to_bytes,
            };
            copy_elements(&[extent, &[size]].concat(), src, from, dst, to);
        }
    }
}

fn copy_elements<T: Copy>(
    extent: &[usize],
    src: &[T],
    from: Strided<'_>,
    dst: &mut [T],
    to: Strided<'_>,
) {
    if extent.contains(&0) {
        return;
    }
    let (mut axes, crosses) = merged_axes(extent, from.strides, to.strides);
    let Some((n, from_step, to_step)) = axes.pop() else {
        dst[to.offset] = src[from.offset];
        return;
    };
    let crossing = if crosses { axes.pop() } else { None };
    let mut walk = Walk::new(&axes, from.offset as isize, to.offset as isize);
    while let Some((at, to)) = walk.next() {
        if let Some((rows, _, row_stride)) = crossing {
            let start = |i: usize| (at + i as isize * from_step) as usize;
            let lines: Vec<&[T]> = (0..n).map(|i| &src[start(i)..start(i) + rows]).collect();
            let rows = dst[to as usize..]
                .chunks_mut(row_stride as usize)
                .take(rows);
            let mut rows: Vec<&mut [T]> = rows.map(|row| &mut row[..n]).collect();
            transpose(&lines, &mut rows, |element| element);
        } else if from_step == 1 && to_step == 1 {
            let at = at as usize;
            let to = to as usize;
            dst[to..to + n].copy_from_slice(&src[at..at + n]);
        } else {
            for i in 0..n as isize {
                dst[(to + i * to_step) as usize] = src[(at + i * from_step) as usize];
            }
        }
    }
}

/// Sets `dst[i][j]` to `each(src[j][i])`, block by block: each cache line is read and written once,
/// however far the lines are apart.
///
/// # Panics
/// If a line of `dst` has another length than `src`, or one of `src` than `dst`.
pub fn transpose<S: Copy, D>(src: &[&[S]], dst: &mut [&mut [D]], each: impl Fn(S) -> D) {
    assert!(
        src.iter().all(|line| line.len() == dst.len())
            && dst.iter().all(|line| line.len() == src.len())
    );
    for (at, src) in (0..).step_by(BLOCK).zip(src.chunks(BLOCK)) {
        for (first, dst) in (0..).step_by(BLOCK).zip(dst.chunks_mut(BLOCK)) {
            match <&[&[S]; BLOCK]>::try_from(src) {
                Ok(src) if dst.len() == BLOCK => transpose_block(src, first, dst, at, &each),
                _ => {
                    for (i, line) in (first..).zip(dst) {
                        line[at..]
                            .iter_mut()
                            .zip(src)
                            .for_each(|(to, src)| *to = each(src[i]));
                    }
                }
            }
        }
    }
}

/// A whole block: the compiler generates fast code for lengths that it knows.
#[inline]
fn transpose_block<S: Copy, D>(
    src: &[&[S]; BLOCK],
    first: usize,
    dst: &mut [&mut [D]],
    at: usize,
    each: &impl Fn(S) -> D,
) {
    let block: [[S; BLOCK]; BLOCK] = std::array::from_fn(|j| {
        *src[j][first..]
            .first_chunk::<BLOCK>()
            .expect("the lines go on for a block")
    });
    for (i, line) in dst.iter_mut().enumerate() {
        let line = line[at..]
            .first_chunk_mut::<BLOCK>()
            .expect("the lines go on for a block");
        for (j, to) in line.iter_mut().enumerate() {
            *to = each(block[j][i]);
        }
    }
}

/// Fills a box of `extent` elements with copies of one.
///
/// # Panics
/// If an index is outside the slice.
pub fn fill(extent: &[usize], element: &[u8], dst: &mut [u8], to: Strided<'_>) {
    let size = element.len();
    if extent.contains(&0) || size == 0 {
        return;
    }
    let (axes, _) = merged_axes(extent, to.strides, to.strides);
    let (n, step, outer) = match axes.split_last() {
        Some((&(n, step, _), outer)) => (n, step, outer),
        None => (1, 1, &[][..]),
    };
    let mut walk = Walk::new(outer, to.offset as isize, to.offset as isize);
    while let Some((at, _)) = walk.next() {
        if step == 1 {
            let at = at as usize * size;
            fill_contiguous(&mut dst[at..at + n * size], element);
        } else {
            for i in 0..n as isize {
                let at = (at + i * step) as usize * size;
                dst[at..at + size].copy_from_slice(element);
            }
        }
    }
}

/// Fills a slice with copies of one element.
pub fn fill_contiguous(dst: &mut [u8], element: &[u8]) {
    if let Some(&first) = element.first()
        && element.iter().all(|&byte| byte == first)
    {
        dst.fill(first);
        return;
    }
    let size = element.len();
    let mut done = size.min(dst.len());
    dst[..done].copy_from_slice(&element[..done]);
    while done < dst.len() {
        let n = done.min(dst.len() - done);
        dst.copy_within(..n, done);
        done += n;
    }
}

/// True if a slice contains only copies of one element.
#[must_use]
pub fn is_all(bytes: &[u8], element: &[u8]) -> bool {
    let size = element.len();
    // Each byte equals the one an element earlier, and the first element equals `element`: a
    // comparison at memory speed.
    size == 0
        || (bytes.len() >= size
            && bytes[..size] == *element
            && bytes[size..] == bytes[..bytes.len() - size])
}

/// The order of the loops over two arrays of one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nesting {
    /// The axes, the innermost last: in the order of the destination's memory, unless its lines are
    /// short.
    pub axes: Vec<usize>,
    /// True if lines of the source cross those of the destination. Then the last two axes are a
    /// plane to [`transpose`], with lines of the source along the last but one.
    pub crosses: bool,
}

impl Nesting {
    /// The fastest loops over arrays with these strides.
    #[must_use]
    pub fn new(extent: &[usize], from: &[isize], to: &[isize]) -> Self {
        let mut axes: Vec<usize> = (0..extent.len()).collect();
        // An axis of one element has no meaningful stride: it goes to the outside.
        axes.sort_by_key(|&axis| {
            Reverse(if extent[axis] == 1 {
                usize::MAX
            } else {
                to[axis].unsigned_abs()
            })
        });
        let Some(&last) = axes.last().filter(|&&last| from[last] != 1) else {
            return Self {
                axes,
                crosses: false,
            };
        };
        let crossing = axes
            .iter()
            .position(|&axis| from[axis] == 1 && extent[axis] >= MIN_TRANSPOSED_LEN);
        let mut crosses = false;
        if let Some(position) = crossing {
            let axis = axes.remove(position);
            crosses = to[last] == 1
                && extent[last] >= MIN_TRANSPOSED_LEN
                && to[axis] >= extent[last] as isize;
            // Lines of the source are faster than short lines of the destination.
            let position = if extent[last] < MIN_TRANSPOSED_LEN {
                axes.len()
            } else {
                axes.len() - 1
            };
            axes.insert(position, axis);
        }
        Self { axes, crosses }
    }
}

/// Length and both strides of an axis.
pub(crate) type Loop = (usize, isize, isize);

/// The nested loops, without axes of one element, and with axes merged where both sides are
/// contiguous; and true if the last two cross.
fn merged_axes(extent: &[usize], from: &[isize], to: &[isize]) -> (Vec<Loop>, bool) {
    let Nesting {
        axes: order,
        crosses,
    } = Nesting::new(extent, from, to);
    let mut axes: Vec<Loop> = Vec::with_capacity(extent.len());
    for axis in order {
        let n = extent[axis];
        let from = from[axis];
        let to = to[axis];
        if n == 1 {
            continue;
        }
        if let Some(last) = axes.last_mut()
            && last.1 == from * n as isize
            && last.2 == to * n as isize
        {
            *last = (last.0 * n, from, to);
        } else {
            axes.push((n, from, to));
        }
    }
    (axes, crosses)
}

/// Visits the indices of a box in C order, with the position of each on both sides. No axis has the
/// length 0.
pub(crate) struct Walk<'a> {
    axes: &'a [Loop],
    index: Vec<usize>,
    /// The positions of the next index.
    positions: (isize, isize),
    done: bool,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(axes: &'a [Loop], from: isize, to: isize) -> Self {
        Self {
            axes,
            index: vec![0; axes.len()],
            positions: (from, to),
            done: false,
        }
    }

    pub(crate) fn next(&mut self) -> Option<(isize, isize)> {
        if self.done {
            return None;
        }
        let positions = self.positions;
        self.done = true;
        for (axis, &(n, from, to)) in self.axes.iter().enumerate().rev() {
            self.index[axis] += 1;
            self.positions.0 += from;
            self.positions.1 += to;
            if self.index[axis] < n {
                self.done = false;
                break;
            }
            self.index[axis] = 0;
            self.positions.0 -= from * n as isize;
            self.positions.1 -= to * n as isize;
        }
        Some(positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Strides of an array whose axes lie in memory in this order, the first one outermost, with
    /// `gap` elements between lines; and the length of the memory.
    fn strides(extent: &[usize], order: &[usize], gap: usize) -> (Vec<isize>, usize) {
        let mut strides = vec![0; extent.len()];
        let mut stride = 1;
        for &axis in order.iter().rev() {
            strides[axis] = stride as isize;
            stride = stride * extent[axis].max(1) + gap;
        }
        (strides, stride)
    }

    proptest! {
        #[test]
        fn copies_agree_with_an_index_by_index_oracle(
            (extent, from_order, to_order) in prop::collection::vec(
                prop_oneof![3 => 0usize..5, 1 => 30usize..70], 0..4,
            ).prop_flat_map(|extent| {
                let order = Just((0..extent.len()).collect::<Vec<_>>()).prop_shuffle();
                (Just(extent), order.clone(), order)
            }),
            size in prop::sample::select(vec![1usize, 2, 3, 4, 8, 12, 16]),
            gaps in (0usize..3, 0usize..3),
            flip in any::<(bool, bool)>(),
        ) {
            let n: usize = extent.iter().product();
            let flipped = |order: &[usize], gap, flip: bool| {
                let (mut strides, len) = strides(&extent, order, gap);
                let mut offset = 0;
                if let (true, Some(&axis)) = (flip && n > 0, order.first()) {
                    offset = (extent[axis] - 1) * strides[axis] as usize;
                    strides[axis] = -strides[axis];
                }
                (strides, offset, len)
            };
            let (from, from_offset, from_len) = flipped(&from_order, gaps.0, flip.0);
            let (to, to_offset, to_len) = flipped(&to_order, gaps.1, flip.1);
            let src: Vec<u8> = (0..from_len * size).map(|i| (i % 251) as u8).collect();
            let mut dst = vec![255; to_len * size];
            let mut expected = dst.clone();
            for linear in 0..n {
                let mut rest = linear;
                let mut at = from_offset as isize;
                let mut place = to_offset as isize;
                for axis in (0..extent.len()).rev() {
                    at += (rest % extent[axis]) as isize * from[axis];
                    place += (rest % extent[axis]) as isize * to[axis];
                    rest /= extent[axis];
                }
                let at = at as usize * size;
                let place = place as usize * size;
                expected[place..place + size].copy_from_slice(&src[at..at + size]);
            }
            let from = Strided { offset: from_offset, strides: &from };
            copy(&extent, size, &src, from, &mut dst, Strided { offset: to_offset, strides: &to });
            prop_assert!(dst == expected);
        }
    }

    #[test]
    fn loops_go_along_memory() {
        let check =
            |extent: &[usize], from: &[isize], to: &[isize], axes: &[usize], crosses: bool| {
                assert_eq!(
                    Nesting::new(extent, from, to),
                    Nesting {
                        axes: axes.to_vec(),
                        crosses
                    }
                );
            };
        let c = [3000, 60, 1];
        let f = [1, 40, 2000];
        check(&[40, 50, 60], &c, &c, &[0, 1, 2], false);
        check(&[40, 50, 60], &f, &f, &[2, 1, 0], false);
        check(&[40, 50, 60], &c, &f, &[1, 2, 0], true);
        check(&[40, 50, 60], &f, &c, &[1, 0, 2], true);
        // Three planes become the parts of each element: the loop goes along the planes.
        check(&[400, 3], &[1, 400], &[3, 1], &[1, 0], false);
        check(&[400, 3], &[3, 1], &[3, 1], &[0, 1], false);
        check(&[3, 1, 3], &[3, 0, 1], &[1, 0, 3], &[1, 2, 0], false);
    }

    #[test]
    fn all_fill_is_found_bit_by_bit() {
        assert!(is_all(&[1, 2, 1, 2, 1, 2], &[1, 2]));
        assert!(!is_all(&[1, 2, 1, 2, 1, 3], &[1, 2]));
        assert!(!is_all(&(-0.0f32).to_ne_bytes(), &0.0f32.to_ne_bytes()));
        let mut out = [0; 10];
        fill_contiguous(&mut out, &[1, 2]);
        assert!(is_all(&out, &[1, 2]));
    }
}
