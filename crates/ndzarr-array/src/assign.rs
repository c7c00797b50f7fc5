//! Copies from one array into another of the same shape.

use ndarray::{ArrayViewD, ArrayViewMutD, Axis, Dimension, Ix2, Ix3};

use crate::plain_element::PlainElement;
use crate::raw;

/// Rows of at least this many bytes are copied one by one; for shorter ones the call costs more
/// than the copy.
const LONG_ROW: usize = 128;

/// Assigns element by element. ndarray needs far less time per row if it knows the number of axes,
/// and the compiler generates faster code if it knows that a row is contiguous.
pub(crate) fn assign<R, T>(
    src: ArrayViewD<'_, R>,
    mut dst: ArrayViewMutD<'_, T>,
    each: impl Fn(&mut T, &R) + Copy,
) {
    let row_len = dst.shape().last().map_or(0, |n| n * size_of::<T>());
    let mut by_row = |src: &[R], dst: &mut [T]| {
        assign_row(src, dst, each);
        true
    };
    if dst.ndim() > 1 && row_len >= LONG_ROW && for_each_row(src.view(), dst.view_mut(), &mut by_row) {
        return;
    }
    match dst.ndim() {
        2 => assign_all::<Ix2, R, T>(src, dst, each),
        3 => assign_all::<Ix3, R, T>(src, dst, each),
        0 | 1 => dst.zip_mut_with(&src, each),
        _ => dst.outer_iter_mut().zip(src.outer_iter()).for_each(|(dst, src)| assign(src, dst, each)),
    }
}

fn assign_all<D: Dimension, R, T>(
    src: ArrayViewD<'_, R>,
    dst: ArrayViewMutD<'_, T>,
    each: impl Fn(&mut T, &R),
) {
    if let (Ok(src), Ok(mut dst)) = (src.into_dimensionality::<D>(), dst.into_dimensionality::<D>()) {
        dst.zip_mut_with(&src, each);
    }
}

/// A separate function, so that the compiler knows that the rows do not overlap and can turn a
/// plain assignment into a block copy.
#[inline(never)]
fn assign_row<R, T>(src: &[R], dst: &mut [T], each: impl Fn(&mut T, &R)) {
    for (dst, src) in dst.iter_mut().zip(src) {
        each(dst, src);
    }
}

/// Copies row by row, bypassing the caches, if rows are contiguous. Returns whether it did.
pub(crate) fn stream<T: PlainElement>(src: ArrayViewD<'_, T::Repr>, dst: ArrayViewMutD<'_, T>) -> bool {
    let past_caches = raw::PastCaches::begin();
    for_each_row(src, dst, &mut |src: &[T::Repr], dst: &mut [T]| {
        let Some(dst) = T::cast_slice_mut(dst) else { return false };
        past_caches.copy(bytemuck::cast_slice(src), bytemuck::cast_slice_mut(dst));
        true
    })
}

/// Passes on pairs of rows, if rows are contiguous on both sides, until one is refused. Returns
/// whether all were accepted.
fn for_each_row<R, T>(
    src: ArrayViewD<'_, R>,
    mut dst: ArrayViewMutD<'_, T>,
    take: &mut impl FnMut(&[R], &mut [T]) -> bool,
) -> bool {
    let is_row = |strides: &[isize]| strides.last() == Some(&1);
    if !is_row(src.strides()) || !is_row(dst.strides()) {
        return false;
    }
    if dst.ndim() > 3 {
        return dst.outer_iter_mut().zip(src.outer_iter()).all(|(dst, src)| for_each_row(src, dst, take));
    }
    let (mut src, mut dst) = (src, dst);
    while dst.ndim() < 3 {
        (src, dst) = (src.insert_axis(Axis(0)), dst.insert_axis(Axis(0)));
    }
    let (Ok(src), Ok(mut dst)) = (src.into_dimensionality::<Ix3>(), dst.into_dimensionality::<Ix3>()) else {
        return false;
    };
    src.outer_iter().zip(dst.outer_iter_mut()).all(|(src, mut dst)| {
        src.outer_iter().zip(dst.outer_iter_mut()).all(|(src, mut dst)| {
            let (Some(src), Some(dst)) = (src.to_slice(), dst.as_slice_mut()) else { return false };
            take(src, dst)
        })
    })
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, IxDyn, Slice};

    use super::*;

    const SHAPES: [&[usize]; 12] = [
        &[],
        &[0],
        &[1],
        &[700],
        &[3, 200],
        &[40, 1],
        &[0, 5],
        &[2, 3, 150],
        &[5, 1, 64],
        &[2, 3, 4, 33],
        &[2, 0, 2, 100],
        &[2, 1, 2, 2, 70],
    ];

    /// An array of twice the length along each axis, of which the tests use a part that begins
    /// anywhere.
    fn larger(shape: &[usize], first: u16) -> ArrayD<u16> {
        let mut n = first;
        ArrayD::from_shape_simple_fn(IxDyn(&shape.iter().map(|n| 2 * n + 1).collect::<Vec<_>>()), || {
            n = n.wrapping_mul(31).wrapping_add(7);
            n
        })
    }

    fn part(shape: &[usize], skip: usize) -> impl Fn(usize) -> Slice {
        move |axis| Slice::from(skip..skip + shape[axis])
    }

    #[test]
    fn both_ways_copy_what_ndarray_copies() {
        for shape in SHAPES {
            for (skip, reversed) in [(0, false), (1, false), (1, true)] {
                let turned: Vec<usize> = shape.iter().rev().copied().collect();
                let mut src = larger(if reversed { &turned } else { shape }, 3);
                if reversed {
                    src = src.reversed_axes();
                }
                let before = larger(shape, 5);
                let mut src = src.view();
                let mut expected = before.clone();
                let mut target = expected.view_mut();
                for axis in 0..shape.len() {
                    src.slice_axis_inplace(Axis(axis), part(shape, skip)(axis));
                    target.slice_axis_inplace(Axis(axis), part(shape, skip)(axis));
                }
                target.assign(&src);
                for streamed in [false, true] {
                    let mut out = before.clone();
                    let mut dst = out.view_mut();
                    for axis in 0..shape.len() {
                        dst.slice_axis_inplace(Axis(axis), part(shape, skip)(axis));
                    }
                    if streamed {
                        let done = stream(src.view(), dst);
                        let rows = !reversed && shape.last().is_some_and(|&n| n > 1);
                        assert!(done || !rows, "{shape:?} {skip}");
                        if !done {
                            continue;
                        }
                    } else {
                        assign(src.view(), dst, |dst, src| *dst = *src);
                    }
                    assert_eq!(out, expected, "{shape:?} {skip} {reversed} {streamed}");
                }
            }
        }
    }
}
