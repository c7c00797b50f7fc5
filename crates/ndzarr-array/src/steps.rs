//! Selects every n-th index along an axis.

use ndarray::{ArrayBase, ArrayView, ArrayViewD, Axis, CowArray, IxDyn, RawData, ShapeBuilder, Slice};
use ndzarr_codec::strided::Strided;
use ndzarr_engine::EngineCause;

/// Which indices along one axis of a box are selected: `phase`, `phase + step`, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) phase: usize,
    pub(crate) step: usize,
}

/// The selected indices that lie in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Position of the first of them among all selected indices.
    pub(crate) first: usize,
    /// Their number.
    pub(crate) n: usize,
    /// Index of the first of them, counted from the start of the range.
    pub(crate) offset: usize,
}

impl Steps {
    /// Every index.
    pub(crate) const ALL: Self = Self { phase: 0, step: 1 };

    /// The number of selected indices below `end`.
    pub(crate) fn n_below(self, end: usize) -> usize {
        end.saturating_sub(self.phase).div_ceil(self.step)
    }

    /// The selected indices among the `len` indices from `start` on.
    pub(crate) fn hit(self, start: usize, len: usize) -> Hit {
        let first = self.n_below(start);
        let n = self.n_below(start + len) - first;
        Hit { first, n, offset: (self.phase + first * self.step).saturating_sub(start) }
    }

    /// The same selection, relative to `at`.
    pub(crate) fn from(self, at: usize) -> Self {
        Self { phase: self.phase + self.n_below(at) * self.step - at, step: self.step }
    }
}

/// The selection of a tile along each axis: the length of its box, and which of its indices are
/// selected.
pub(crate) type Selected = Vec<(usize, Steps)>;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_agree_with_counting() {
        for phase in 0..4 {
            for step in 1..5 {
                let steps = Steps { phase, step };
                let selected: Vec<usize> =
                    (0..40).filter(|i| *i >= phase && (i - phase) % step == 0).collect();
                for start in 0..10 {
                    for len in 0..10 {
                        let inside: Vec<usize> =
                            selected.iter().copied().filter(|i| (start..start + len).contains(i)).collect();
                        let hit = steps.hit(start, len);
                        assert_eq!(hit.n, inside.len());
                        if let Some(first) = inside.first() {
                            assert_eq!(selected[hit.first], *first);
                            assert_eq!(start + hit.offset, *first);
                        }
                    }
                    let rest = steps.from(start);
                    let expected = selected.iter().find(|i| **i >= start).map(|i| i - start);
                    assert_eq!(Some(rest.phase), expected);
                }
            }
        }
    }
}
