//! Copies between arrays in memory with different strides.

/// The position of an array in a slice: the element of index 0 and the distances between
/// neighbours, all in elements.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a> {
    /// The position of the element of index 0.
    pub offset: usize,
    /// Distance between neighbours along each axis.
    pub strides: &'a [isize],
}

/// Copies a box of `extent` elements of `size` bytes from one place to another.
///
/// # Panics
/// If an index is outside its slice.
pub fn copy(extent: &[usize], size: usize, src: &[u8], from: Strided<'_>, dst: &mut [u8], to: Strided<'_>) {
    if extent.contains(&0) || size == 0 {
        return;
    }
    let axes = merged_axes(extent, from.strides, to.strides);
    let Some((&(n, from_step, to_step), outer)) = axes.split_last() else {
        let (at, to) = (from.offset * size, to.offset * size);
        dst[to..to + size].copy_from_slice(&src[at..at + size]);
        return;
    };
    let mut walk = Walk::new(outer, from.offset as isize, to.offset as isize);
    while let Some((at, to)) = walk.next() {
        if from_step == 1 && to_step == 1 {
            let (at, to, len) = (at as usize * size, to as usize * size, n * size);
            dst[to..to + len].copy_from_slice(&src[at..at + len]);
        } else {
            copy_line(n, size, src, at, from_step, dst, to, to_step);
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
    let axes = merged_axes(extent, to.strides, to.strides);
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

/// Whether a slice contains only copies of one element.
#[must_use]
pub fn is_all(bytes: &[u8], element: &[u8]) -> bool {
    let size = element.len();
    // Each byte equals the one an element earlier, and the first element equals `element`: a
    // comparison at memory speed.
    size == 0
        || (bytes.len() >= size && bytes[..size] == *element && bytes[size..] == bytes[..bytes.len() - size])
}

#[allow(clippy::too_many_arguments)]
fn copy_line(
    n: usize,
    size: usize,
    src: &[u8],
    at: isize,
    from: isize,
    dst: &mut [u8],
    to: isize,
    step: isize,
) {
    fn each<const N: usize>(
        n: usize,
        src: &[u8],
        at: isize,
        from: isize,
        dst: &mut [u8],
        to: isize,
        step: isize,
    ) {
        let (src, dst) = (src.as_chunks::<N>().0, dst.as_chunks_mut::<N>().0);
        for i in 0..n as isize {
            dst[(to + i * step) as usize] = src[(at + i * from) as usize];
        }
    }
    match size {
        1 => each::<1>(n, src, at, from, dst, to, step),
        2 => each::<2>(n, src, at, from, dst, to, step),
        4 => each::<4>(n, src, at, from, dst, to, step),
        8 => each::<8>(n, src, at, from, dst, to, step),
        16 => each::<16>(n, src, at, from, dst, to, step),
        _ => {
            for i in 0..n as isize {
                let (at, to) = ((at + i * from) as usize * size, (to + i * step) as usize * size);
                dst[to..to + size].copy_from_slice(&src[at..at + size]);
            }
        }
    }
}

/// The axes of more than one element, merging those that are contiguous on both sides.
fn merged_axes(extent: &[usize], from: &[isize], to: &[isize]) -> Vec<(usize, isize, isize)> {
    let mut axes: Vec<(usize, isize, isize)> = Vec::with_capacity(extent.len());
    for ((&n, &from), &to) in extent.iter().zip(from).zip(to) {
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
    axes
}

/// Visits the starts of all lines: an odometer over the outer axes.
struct Walk<'a> {
    axes: &'a [(usize, isize, isize)],
    index: Vec<usize>,
    at: (isize, isize),
    done: bool,
}

impl<'a> Walk<'a> {
    fn new(axes: &'a [(usize, isize, isize)], from: isize, to: isize) -> Self {
        Self { axes, index: vec![0; axes.len()], at: (from, to), done: false }
    }

    fn next(&mut self) -> Option<(isize, isize)> {
        if self.done {
            return None;
        }
        let at = self.at;
        self.done = true;
        for (axis, &(n, from, to)) in self.axes.iter().enumerate().rev() {
            self.index[axis] += 1;
            self.at.0 += from;
            self.at.1 += to;
            if self.index[axis] < n {
                self.done = false;
                break;
            }
            self.index[axis] = 0;
            self.at.0 -= from * n as isize;
            self.at.1 -= to * n as isize;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c_strides;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn copies_agree_with_an_index_by_index_oracle(
            extent in prop::collection::vec(0usize..5, 0..4),
            size in prop::sample::select(vec![1usize, 2, 3, 4, 8, 16]),
            flip in any::<bool>(),
        ) {
            let n: usize = extent.iter().product();
            let src: Vec<u8> = (0..n * size).map(|i| i as u8).collect();
            let from = c_strides(&extent);
            // The destination is in F order, optionally with the first axis reversed.
            let mut to = vec![1isize; extent.len()];
            for axis in 1..extent.len() {
                to[axis] = to[axis - 1] * extent[axis - 1].max(1) as isize;
            }
            let mut offset = 0;
            if flip && n > 0 && !extent.is_empty() {
                offset = (extent[0] - 1) * to[0] as usize;
                to[0] = -to[0];
            }
            let mut dst = vec![0; n * size];
            copy(&extent, size, &src, Strided { offset: 0, strides: &from }, &mut dst, Strided { offset, strides: &to });
            for linear in 0..n {
                let (mut rest, mut at) = (linear, offset as isize);
                for axis in (0..extent.len()).rev() {
                    at += (rest % extent[axis]) as isize * to[axis];
                    rest /= extent[axis];
                }
                let at = at as usize;
                prop_assert_eq!(&dst[at * size..(at + 1) * size], &src[linear * size..(linear + 1) * size]);
            }
        }
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
