//! Visits the picked elements of a box, in parts where they are at equal distances along each axis.

use ndarray::{ArrayBase, ArrayView, ArrayViewD, Axis, IxDyn, RawData, ShapeBuilder, Slice};
use ndzarr_codec::strided::Strided;
use ndzarr_engine::EngineCause;
use ndzarr_grid::{Picks, Region, Run};

/// The shape of a box that fits into memory.
pub(crate) fn lengths(region: &Region) -> Vec<usize> {
    region.shape().iter().map(|&n| n as usize).collect()
}

/// The selected elements of a box, or a part of them, at equal distances along each axis.
#[doc(hidden)]
pub struct PickedPart<'p> {
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

impl PickedPart<'_> {
    /// The place in the slice of the element with this index among them.
    pub(crate) fn place(&self, index: &[usize]) -> usize {
        let distances = index
            .iter()
            .zip(self.strides)
            .map(|(at, stride)| at * stride);
        self.offset + distances.sum::<usize>()
    }

    /// The distances in bytes between elements of this size, whose bytes are the last axis.
    pub(crate) fn byte_strides(&self, size: usize) -> Vec<usize> {
        self.strides
            .iter()
            .map(|stride| stride * size)
            .chain([1])
            .collect()
    }

    /// Narrows an array of all selected elements to these.
    pub(crate) fn narrow<S: RawData>(&self, array: &mut ArrayBase<S, IxDyn>) {
        let mut narrow =
            |axis, first, n| array.slice_axis_inplace(Axis(axis), Slice::from(first..first + n));
        match self.runs {
            Runs::All(start, len) => {
                start
                    .iter()
                    .zip(len)
                    .enumerate()
                    .for_each(|(axis, (&first, &n))| narrow(axis, first, n));
            }
            Runs::Some(runs) => {
                runs.iter()
                    .enumerate()
                    .for_each(|(axis, run)| narrow(axis, run.first, run.n));
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
    mut visit: impl FnMut(PickedPart<'_>) -> Result<(), EngineCause>,
) -> Result<(), EngineCause> {
    if !axes.clone().all(Picks::is_all) {
        return each_run(&axes.collect::<Vec<_>>(), start, len, place, &mut visit);
    }
    if len.contains(&0) {
        return Ok(());
    }
    let strides = strides(len, place)?;
    visit(PickedPart {
        runs: Runs::All(start, len),
        offset: place.offset,
        strides: &strides,
    })
}

/// Visits the runs of selected elements.
fn each_run(
    axes: &[&Picks],
    start: &[usize],
    len: &[usize],
    place: Strided<'_>,
    visit: &mut dyn FnMut(PickedPart<'_>) -> Result<(), EngineCause>,
) -> Result<(), EngineCause> {
    let runs_along = |(axis, picks): (usize, &&Picks)| picks.runs(start[axis], len[axis]).collect();
    let all: Vec<Vec<Run>> = axes.iter().enumerate().map(runs_along).collect();
    let Some(mut runs) = all
        .iter()
        .map(|runs| runs.first().copied())
        .collect::<Option<Vec<Run>>>()
    else {
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
        visit(PickedPart {
            runs: Runs::Some(&runs),
            offset,
            strides: &strides,
        })?;
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

/// The distance between `n` elements along an axis. ndarray refuses overlapping strides, even for
/// an axis of one element, which never takes the step.
fn stride(place: Strided<'_>, axis: usize, n: usize, step: usize) -> Result<usize, EngineCause> {
    match n {
        1 => Ok(0),
        _ => usize::try_from(place.strides[axis])
            .map(|stride| stride * step)
            .map_err(|_| outside()),
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
