//! Copies from one array into another of the same shape.

use bytemuck::Pod;
use ndarray::{ArrayBase, ArrayViewD, ArrayViewMutD, Axis, Ix3, IxDyn, RawData};
use ndzarr_codec::strided::{Nesting, transpose};

use crate::tiles::raw;

/// Rows of at least this many bytes are copied one by one; for shorter ones the call costs more
/// than the copy.
const LONG_ROW: usize = 128;

/// Assigns element by element, in the order of the destination's memory. The compiler generates
/// faster code if it knows that a row is contiguous.
pub(crate) fn assign<S: Copy, D>(
    src: ArrayViewD<'_, S>,
    dst: ArrayViewMutD<'_, D>,
    each: impl Fn(S) -> D + Copy,
) {
    if dst.is_empty() {
        return;
    }
    let (src, dst, crosses) = nested(src, dst);
    if crosses {
        return assign_planes(src, dst, each);
    }
    assign_nested(src, dst, each);
}

/// What [`assign`] puts for an element of the same type: itself.
pub(crate) fn same<T>(element: T) -> T {
    element
}

/// Both arrays with the axes in the order of the loops over them, without axes of one element,
/// merging those that are contiguous on both sides; and whether the last two are a plane to
/// transpose.
fn nested<'s, 'd, S, D>(
    src: ArrayViewD<'s, S>,
    dst: ArrayViewMutD<'d, D>,
) -> (ArrayViewD<'s, S>, ArrayViewMutD<'d, D>, bool) {
    let Nesting { axes, crosses } = Nesting::new(dst.shape(), src.strides(), dst.strides());
    let (mut src, mut dst) = if axes.is_sorted() {
        (src, dst)
    } else {
        (
            src.permuted_axes(IxDyn(&axes)),
            dst.permuted_axes(IxDyn(&axes)),
        )
    };
    let drop_axis = |src: &mut ArrayViewD<'s, S>, dst: &mut ArrayViewMutD<'d, D>, axis| {
        src.index_axis_inplace(Axis(axis), 0);
        dst.index_axis_inplace(Axis(axis), 0);
    };
    for axis in (0..dst.ndim()).rev() {
        if dst.shape()[axis] == 1 {
            drop_axis(&mut src, &mut dst, axis);
        }
    }
    for axis in (1..dst.ndim()).rev() {
        let n = dst.shape()[axis].cast_signed();
        let is_one = |strides: &[isize]| strides[axis - 1] == strides[axis] * n;
        if is_one(src.strides()) && is_one(dst.strides()) {
            src.merge_axes(Axis(axis - 1), Axis(axis));
            dst.merge_axes(Axis(axis - 1), Axis(axis));
            drop_axis(&mut src, &mut dst, axis - 1);
        }
    }
    (src, dst, crosses)
}

fn assign_planes<S: Copy, D>(
    src: ArrayViewD<'_, S>,
    mut dst: ArrayViewMutD<'_, D>,
    each: impl Fn(S) -> D + Copy,
) {
    if dst.ndim() > 2 {
        let planes = dst.outer_iter_mut().zip(src.outer_iter());
        return planes.for_each(|(dst, src)| assign_planes(src, dst, each));
    }
    let lines: Vec<&[S]> = src
        .lanes(Axis(0))
        .into_iter()
        .filter_map(|line| line.to_slice())
        .collect();
    let mut rows: Vec<&mut [D]> = dst
        .rows_mut()
        .into_iter()
        .filter_map(|row| row.into_slice())
        .collect();
    transpose(&lines, &mut rows, each);
}

fn assign_nested<S: Copy, D>(
    src: ArrayViewD<'_, S>,
    mut dst: ArrayViewMutD<'_, D>,
    each: impl Fn(S) -> D + Copy,
) {
    let row_len = dst.shape().last().map_or(0, |n| n * size_of::<D>());
    let mut by_row = |src: &[S], dst: &mut [D]| {
        assign_row(src, dst, each);
        true
    };
    if row_len >= LONG_ROW && for_each_row(src.view(), dst.view_mut(), &mut by_row) {
        return;
    }
    if dst.ndim() > 3 {
        return dst
            .outer_iter_mut()
            .zip(src.outer_iter())
            .for_each(|(dst, src)| assign_nested(src, dst, each));
    }
    let (src, mut dst) = (three_axes(src), three_axes(dst));
    dst.zip_mut_with(&src, |dst, src| *dst = each(*src));
}

/// At most three axes as three. ndarray needs far less time for each row if it knows the number of
/// axes.
fn three_axes<S: RawData>(mut view: ArrayBase<S, IxDyn>) -> ArrayBase<S, Ix3> {
    while view.ndim() < 3 {
        view = view.insert_axis(Axis(0));
    }
    view.into_dimensionality().expect("at most three axes")
}

/// A separate function, so that the compiler knows that the rows do not overlap and can turn a
/// plain assignment into a block copy.
#[inline(never)]
fn assign_row<S: Copy, D>(src: &[S], dst: &mut [D], each: impl Fn(S) -> D) {
    for (dst, src) in dst.iter_mut().zip(src) {
        *dst = each(*src);
    }
}

/// Copies row by row, bypassing the caches, if rows are contiguous and `memory` shows those of the
/// destination as what is copied. Returns whether it did.
pub(crate) fn stream<S: Pod, D>(
    src: ArrayViewD<'_, S>,
    dst: ArrayViewMutD<'_, D>,
    memory: impl Fn(&mut [D]) -> Option<&mut [S]>,
) -> bool {
    if dst.is_empty() {
        return true;
    }
    let (src, dst, _) = nested(src, dst);
    let past_caches = raw::PastCaches::begin();
    for_each_row(src, dst, &mut |src: &[S], dst: &mut [D]| {
        let Some(dst) = memory(dst) else { return false };
        past_caches.copy(bytemuck::cast_slice(src), bytemuck::cast_slice_mut(dst));
        true
    })
}

/// The `memory` of [`stream`] for destinations of the same type.
pub(crate) fn as_it_is<S>(row: &mut [S]) -> Option<&mut [S]> {
    Some(row)
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
        return dst
            .outer_iter_mut()
            .zip(src.outer_iter())
            .all(|(dst, src)| for_each_row(src, dst, take));
    }
    let (src, mut dst) = (three_axes(src), three_axes(dst));
    src.outer_iter()
        .zip(dst.outer_iter_mut())
        .all(|(src, mut dst)| {
            src.outer_iter()
                .zip(dst.outer_iter_mut())
                .all(|(src, mut dst)| {
                    let (Some(src), Some(dst)) = (src.to_slice(), dst.as_slice_mut()) else {
                        return false;
                    };
                    take(src, dst)
                })
        })
}

#[cfg(test)]
mod tests {
    use ndarray::{ArrayD, IxDyn, Slice};

    use super::*;

    const SHAPES: [&[usize]; 15] = [
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
        &[70, 3, 100],
        &[33, 1, 8],
        &[90, 3],
    ];

    /// An array of twice the length along each axis, of which the tests use a part that begins
    /// anywhere.
    fn larger(shape: &[usize], first: u16) -> ArrayD<u16> {
        let mut n = first;
        ArrayD::from_shape_simple_fn(
            IxDyn(&shape.iter().map(|n| 2 * n + 1).collect::<Vec<_>>()),
            || {
                n = n.wrapping_mul(31).wrapping_add(7);
                n
            },
        )
    }

    fn part(shape: &[usize], skip: usize) -> impl Fn(usize) -> Slice {
        move |axis| Slice::from(skip..skip + shape[axis])
    }

    #[test]
    fn both_ways_copy_what_ndarray_copies() {
        let order = |array: ArrayD<u16>, reversed| {
            if reversed {
                array.reversed_axes()
            } else {
                array
            }
        };
        for shape in SHAPES {
            let turned: Vec<usize> = shape.iter().rev().copied().collect();
            for case in 0..16 {
                let [skip, from_f, to_f, flip] = std::array::from_fn(|bit| case >> bit & 1);
                let make = |is_f, first| {
                    order(
                        larger(if is_f == 1 { &turned } else { shape }, first),
                        is_f == 1,
                    )
                };
                let src = make(from_f, 3);
                let before = make(to_f, 5);
                let mut src = src.view();
                let mut expected = before.clone();
                let mut target = expected.view_mut();
                for axis in 0..shape.len() {
                    src.slice_axis_inplace(Axis(axis), part(shape, skip)(axis));
                    target.slice_axis_inplace(Axis(axis), part(shape, skip)(axis));
                }
                if let (1, Some(last)) = (flip, shape.len().checked_sub(1)) {
                    src.invert_axis(Axis(last));
                }
                target.assign(&src);
                for streamed in [false, true] {
                    let mut out = before.clone();
                    let mut dst = out.view_mut();
                    for axis in 0..shape.len() {
                        dst.slice_axis_inplace(Axis(axis), part(shape, skip)(axis));
                    }
                    if streamed {
                        let done = stream(src.view(), dst, as_it_is);
                        let line = if to_f == 1 {
                            shape.first()
                        } else {
                            shape.last()
                        };
                        let rows = from_f == to_f && flip == 0 && line.is_some_and(|&n| n > 1);
                        assert!(done || !rows, "{shape:?} {case:b}");
                        if !done {
                            continue;
                        }
                    } else {
                        assign(src.view(), dst, |element| element);
                    }
                    assert_eq!(out, expected, "{shape:?} {case:b} {streamed}");
                }
            }
        }
    }
}
