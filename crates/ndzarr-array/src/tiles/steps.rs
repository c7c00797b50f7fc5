//! Selects indices along the axes of ndarrays: at equal distances, or those of a list.

use ndarray::{ArrayBase, ArrayView, ArrayViewD, Axis, CowArray, IxDyn, RawData, ShapeBuilder, Slice};
use ndzarr_codec::strided::Strided;
use ndzarr_engine::{Coverage, EngineCause, Picked};
pub(crate) use ndzarr_grid::Picks;
use ndzarr_grid::{Region, Run};

/// The selection of a tile along each axis: the length of its box, and which of its indices are
/// selected.
pub(crate) type Selected = Vec<(usize, Picks)>;

/// What a tile takes of its box.
pub(crate) fn picked(axes: &[(usize, Picks)]) -> Picked {
    match axes.iter().all(|(_, picks)| picks.is_all()) {
        true => Picked::All,
        false => Picked::Along(axes.iter().map(|(_, picks)| picks.clone()).collect()),
    }
}

/// What a source has of its box.
pub(crate) fn picked_along(axes: &[Picks]) -> Picked {
    if is_dense(axes) { Picked::All } else { Picked::Along(axes.to_vec()) }
}

/// The shape of a box that fits into memory.
pub(crate) fn lengths(region: &Region) -> Vec<usize> {
    region.shape().iter().map(|&n| n as usize).collect()
}

/// Splits a selection in two at an index of one axis.
pub(crate) fn split(axes: Selected, axis: usize, at: usize) -> (Selected, Selected) {
    let mut head = axes;
    let mut tail = head.clone();
    let (len, picks) = &head[axis];
    tail[axis] = (len - at, picks.from(at));
    head[axis].0 = at;
    (head, tail)
}

/// The selected elements of a box, or a part of them, at equal distances along each axis.
pub(crate) struct Part<'p> {
    runs: Runs<'p>,
    /// The place of the first of them in the slice that has the box.
    pub(crate) offset: usize,
    /// The distances between neighbours there.
    pub(crate) strides: &'p [usize],
}

enum Runs<'p> {
    /// Every index of a box that begins here.
    All(&'p [usize], &'p [usize]),
    Some(&'p [Run]),
}

impl Part<'_> {
    /// Narrows an array of all selected elements to these.
    pub(crate) fn narrow<S: RawData>(&self, array: &mut ArrayBase<S, IxDyn>) {
        let mut narrow = |axis, first, n| array.slice_axis_inplace(Axis(axis), Slice::from(first..first + n));
        match self.runs {
            Runs::All(start, len) => {
                start.iter().zip(len).enumerate().for_each(|(axis, (&first, &n))| narrow(axis, first, n));
            }
            Runs::Some(runs) => {
                runs.iter().enumerate().for_each(|(axis, run)| narrow(axis, run.first, run.n));
            }
        }
    }
}

/// Visits the selected elements of a box that begins at `start`, and lies at `place` in a slice.
pub(crate) fn each_part<'p>(
    axes: impl Iterator<Item = &'p Picks> + Clone,
    start: &[usize],
    len: &[usize],
    place: Strided<'_>,
    mut visit: impl FnMut(Part<'_>) -> Result<(), EngineCause>,
) -> Result<(), EngineCause> {
    if !axes.clone().all(Picks::is_all) {
        return each_run(&axes.collect::<Vec<_>>(), start, len, place, &mut visit);
    }
    if len.contains(&0) {
        return Ok(());
    }
    let strides = strides(len, place)?;
    visit(Part { runs: Runs::All(start, len), offset: place.offset, strides: &strides })
}

/// Visits the runs of selected elements.
fn each_run(
    axes: &[&Picks],
    start: &[usize],
    len: &[usize],
    place: Strided<'_>,
    visit: &mut dyn FnMut(Part<'_>) -> Result<(), EngineCause>,
) -> Result<(), EngineCause> {
    let runs_along = |(axis, picks): (usize, &&Picks)| picks.runs(start[axis], len[axis]).collect();
    let all: Vec<Vec<Run>> = axes.iter().enumerate().map(runs_along).collect();
    let Some(mut runs) = all.iter().map(|runs| runs.first().copied()).collect::<Option<Vec<Run>>>() else {
        return Ok(());
    };
    let mut at = vec![0; all.len()];
    let mut strides = vec![0; all.len()];
    'parts: loop {
        let mut offset = place.offset;
        for (axis, run) in runs.iter().enumerate() {
            offset += run.offset * usize::try_from(place.strides[axis]).map_err(|_| outside())?;
            strides[axis] = stride(place, axis, run.n, run.step)?;
        }
        visit(Part { runs: Runs::Some(&runs), offset, strides: &strides })?;
        for axis in (0..all.len()).rev() {
            at[axis] = (at[axis] + 1) % all[axis].len();
            runs[axis] = all[axis][at[axis]];
            if at[axis] > 0 {
                continue 'parts;
            }
        }
        return Ok(());
    }
}

/// The distances between the elements of a box.
fn strides(len: &[usize], place: Strided<'_>) -> Result<Vec<usize>, EngineCause> {
    let mut strides = Vec::with_capacity(len.len());
    for (axis, &n) in len.iter().enumerate() {
        strides.push(stride(place, axis, n, 1)?);
    }
    Ok(strides)
}

/// The distance between `n` elements along an axis. ndarray refuses overlapping strides, even for an axis of
/// one element, which never takes the step.
fn stride(place: Strided<'_>, axis: usize, n: usize, step: usize) -> Result<usize, EngineCause> {
    match n {
        1 => Ok(0),
        _ => usize::try_from(place.strides[axis]).map(|stride| stride * step).map_err(|_| outside()),
    }
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
    axes: &[Picks],
    start: &[usize],
    len: &[usize],
) -> (CowArray<'static, T, IxDyn>, Vec<Picks>) {
    let mut src = elements.view();
    let mut within = Vec::with_capacity(axes.len());
    for (axis, picks) in axes.iter().enumerate() {
        let (first, n) = picks.hit(start[axis], len[axis]);
        src.slice_axis_inplace(Axis(axis), Slice::from(first..first + n));
        within.push(picks.from(start[axis]));
    }
    (CowArray::from(src.to_owned()), within)
}

/// How many of the indices of a box are selected.
pub(crate) fn coverage(axes: &[Picks], start: &[usize], len: &[usize]) -> Coverage {
    let along = axes.iter().zip(start).zip(len).map(|((picks, &start), &len)| (picks.hit(start, len).1, len));
    along.fold(Coverage::All, |before, (n, len)| match (before, n) {
        (Coverage::None, _) | (_, 0) => Coverage::None,
        _ if n < len => Coverage::Part,
        _ => before,
    })
}

/// Whether the selected elements are the whole box.
pub(crate) fn is_dense(axes: &[Picks]) -> bool {
    axes.iter().all(|picks| matches!(picks, Picks::Steps(steps) if steps.step == 1))
}
