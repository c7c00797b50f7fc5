//! Selects every n-th index along the axes of ndarrays.

use ndarray::{ArrayBase, ArrayView, ArrayViewD, Axis, CowArray, IxDyn, RawData, ShapeBuilder, Slice};
use ndzarr_codec::strided::Strided;
use ndzarr_engine::EngineCause;
pub(crate) use ndzarr_grid::Steps;

/// The selection of a tile along each axis: the length of its box, and which of its indices are
/// selected.
pub(crate) type Selected = Vec<(usize, Steps)>;

/// The steps of a tile that does not take every index.
pub(crate) fn wanted(axes: &[(usize, Steps)]) -> Vec<Steps> {
    match axes.iter().all(|(_, steps)| *steps == Steps::ALL) {
        true => Vec::new(),
        false => axes.iter().map(|(_, steps)| *steps).collect(),
    }
}

/// Splits a selection in two at an index of one axis.
pub(crate) fn split(axes: Selected, axis: usize, at: usize) -> (Selected, Selected) {
    let mut head = axes;
    let mut tail = head.clone();
    let (len, steps) = head[axis];
    tail[axis] = (len - at, steps.from(at));
    head[axis].0 = at;
    (head, tail)
}

/// Narrows an array to the selected elements of a box that begins at `start`. Returns the offset of
/// the first of them in the slice that has the box at `place`, and the distances between
/// neighbours; `None` if none is selected.
pub(crate) fn select<S: RawData>(
    array: &mut ArrayBase<S, IxDyn>,
    axes: impl IntoIterator<Item = Steps>,
    start: &[usize],
    len: &[usize],
    place: Strided<'_>,
) -> Result<Option<(usize, Vec<usize>)>, EngineCause> {
    let (mut offset, mut strides) = (place.offset, Vec::with_capacity(start.len()));
    for (axis, steps) in axes.into_iter().enumerate() {
        let hit = steps.hit(start[axis], len[axis]);
        if hit.n == 0 {
            return Ok(None);
        }
        array.slice_axis_inplace(Axis(axis), Slice::from(hit.first..hit.first + hit.n));
        let stride = usize::try_from(place.strides[axis]).map_err(|_| outside())?;
        offset += hit.offset * stride;
        // ndarray refuses overlapping strides, even for an axis of one element, which never takes
        // the step.
        strides.push(if hit.n == 1 { 0 } else { stride * steps.step });
    }
    Ok(Some((offset, strides)))
}

/// Elements in a slice as an array.
pub(crate) fn view<'s, S>(
    src: &'s [S],
    offset: usize,
    strides: &[usize],
    shape: &[usize],
) -> Result<ArrayViewD<'s, S>, EngineCause> {
    let src = src.get(offset..).ok_or_else(outside)?;
    ArrayView::from_shape(IxDyn(shape).strides(IxDyn(strides)), src).map_err(|_| outside())
}

/// The error for decoded elements that are not where their layout says.
pub(crate) fn outside() -> EngineCause {
    EngineCause::Element("decoded elements are outside the chunk".to_owned())
}

/// A copy of the selected elements within a box, and which elements of the box they are.
pub(crate) fn piece<T: Clone>(
    elements: &CowArray<'_, T, IxDyn>,
    axes: &[Steps],
    start: &[usize],
    len: &[usize],
) -> (CowArray<'static, T, IxDyn>, Vec<Steps>) {
    let mut src = elements.view();
    let mut axes = axes.to_vec();
    for (axis, steps) in axes.iter_mut().enumerate() {
        let hit = steps.hit(start[axis], len[axis]);
        src.slice_axis_inplace(Axis(axis), Slice::from(hit.first..hit.first + hit.n));
        *steps = Steps { phase: hit.offset, step: steps.step };
    }
    (CowArray::from(src.to_owned()), axes)
}

/// Whether any of these indices lies in a box.
pub(crate) fn touch(axes: &[Steps], start: &[usize], len: &[usize]) -> bool {
    axes.iter().zip(start).zip(len).all(|((steps, &start), &len)| steps.hit(start, len).n > 0)
}
