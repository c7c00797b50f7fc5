//! The trait `Selection`: ways to select the part of an array to read or write.

use std::fmt;
use std::ops::{Range, RangeFull};

use ndarray::{ArrayBase, Axis, Dim, Dimension, IxDyn, RawData, SliceInfo, SliceInfoElem};

use crate::error::{Error, ErrorKind, Result};
use crate::steps::Steps;

/// The part of an array to read or write, and its number of dimensions.
///
/// - [`s![..]`](ndarray::s) with ranges, steps of either sign, integers (which drop the axis) and
///   [`NewAxis`](ndarray::NewAxis), as ndarray slices;
/// - `..`: everything, whatever the rank;
/// - `[0..64, 0..n]`: ranges of `u64`, one for each axis; `&[Range<u64>]` for a rank known at run
///   time.
///
/// Bounds outside the array are errors, never clipped. As in ndarray, negative indices count from
/// the end, a negative step walks its range from the end, and a range that ends before it starts is
/// empty.
///
/// ```
/// use ndarray::{ArrayD, NewAxis, array};
/// use ndzarr_array::{Array, ErrorKind, Selection, s};
/// use ndzarr_store::MemoryStore;
///
/// let store = MemoryStore::new();
/// let a = Array::<u8>::builder([2, 3]).create((&store, "a"))?;
/// a.write([0..2, 0..3], &array![[1, 2, 3], [4, 5, 6]])?;
///
/// assert_eq!(a.read(..)?, array![[1, 2, 3], [4, 5, 6]].into_dyn());
/// assert_eq!(a.read(s![1, ..;-2])?, array![6, 4]);
/// assert_eq!(a.read(s![.., NewAxis, -1])?, array![[3], [6]]);
/// assert_eq!(a.read([0..1, 1..3])?, array![[2, 3]]);
/// let ranges = vec![1..2, 0..1];
/// assert_eq!(a.read(&ranges)?.shape(), [1, 1]);
///
/// // The shape is known without an array.
/// assert_eq!(s![..;2, 0].resolve(&[1001, 7])?.shape(), [501]);
/// assert_eq!(a.read([0..3, 0..1]).unwrap_err().kind(), ErrorKind::WrongShape);
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
pub trait Selection {
    /// The dimension type of the result.
    type OutDim: Dimension;

    /// Applies the selection to an array of this shape.
    ///
    /// # Errors
    /// [`ErrorKind::WrongShape`]: the rank differs from the array's; bounds are outside the array;
    /// a step is 0. [`ErrorKind::OutOfMemory`]: it is longer than this machine can address.
    fn resolve(&self, shape: &[u64]) -> Result<Resolved>;
}

/// A selection applied to an array of known shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Along each axis of the array.
    pub(crate) axes: Vec<ResolvedAxis>,
    /// The axes of the result, in order.
    pub(crate) out: Vec<OutAxis>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedAxis {
    /// From the lowest selected index to one past the highest.
    pub(crate) range: Range<u64>,
    /// The distance between selected indices, counted from the start of the range.
    pub(crate) step: usize,
    /// The number of selected indices.
    pub(crate) n: usize,
    /// Whether the indices of the result are in descending order.
    pub(crate) reversed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutAxis {
    Of(usize),
    New,
}

/// Converts a result to the number of dimensions of its selection.
pub(crate) fn into_dim<T, D: Dimension>(out: ndarray::ArrayD<T>) -> Result<ndarray::Array<T, D>> {
    out.into_dimensionality().map_err(|error| Error::new(ErrorKind::WrongShape, error))
}

impl Resolved {
    pub(crate) fn check_shape(&self, shape: &[usize]) -> Result<()> {
        let expected = self.shape();
        if shape == expected {
            return Ok(());
        }
        let what = format!("an array of shape {shape:?} for a selection of {expected:?}");
        Err(Error::new(ErrorKind::WrongShape, what))
    }

    /// Shape of the result, in elements.
    #[must_use]
    pub fn shape(&self) -> Vec<usize> {
        self.out
            .iter()
            .map(|out| match out {
                OutAxis::Of(axis) => self.axes[*axis].n,
                OutAxis::New => 1,
            })
            .collect()
    }

    /// The box that contains every selected element.
    pub(crate) fn region(&self) -> ndzarr_grid::Region {
        ndzarr_grid::Region::new(self.axes.iter().map(|axis| axis.range.clone()))
    }

    pub(crate) fn steps(&self) -> Vec<Steps> {
        self.axes.iter().map(|axis| Steps { phase: 0, step: axis.step }).collect()
    }

    /// Turns a view of the result's shape into one with one axis per array axis, in ascending
    /// order.
    pub(crate) fn unfold<S: RawData>(&self, view: ArrayBase<S, IxDyn>) -> ArrayBase<S, IxDyn> {
        let mut view = view;
        for (at, out) in self.out.iter().enumerate().rev() {
            if *out == OutAxis::New {
                view = view.index_axis_move(Axis(at), 0);
            }
        }
        for (axis, resolved) in self.axes.iter().enumerate() {
            if !self.out.contains(&OutAxis::Of(axis)) {
                view = view.insert_axis(Axis(axis));
            }
            if resolved.reversed {
                view.invert_axis(Axis(axis));
            }
        }
        view
    }
}

fn wrong(what: String) -> Error {
    Error::new(ErrorKind::WrongShape, what)
}

fn too_long(what: fmt::Arguments<'_>) -> Error {
    Error::new(ErrorKind::OutOfMemory, format!("the {what} is too long for this machine"))
}

fn whole(n: u64) -> Result<ResolvedAxis> {
    range(0..n, n, 0)
}

fn range(range: Range<u64>, len: u64, axis: usize) -> Result<ResolvedAxis> {
    if range.start > range.end || range.end > len {
        let what = match range.start > range.end {
            true => "ends before it starts".to_owned(),
            false => format!("does not fit axis {axis} of length {len}"),
        };
        return Err(wrong(format!("the range {range:?} {what}")));
    }
    let n =
        usize::try_from(range.end - range.start).map_err(|_| too_long(format_args!("range {range:?}")))?;
    Ok(ResolvedAxis { range, step: 1, n, reversed: false })
}

fn ranges(given: &[Range<u64>], shape: &[u64]) -> Result<Resolved> {
    if given.len() != shape.len() {
        return Err(wrong(format!("{} ranges for an array of {} dimensions", given.len(), shape.len())));
    }
    let axes =
        given.iter().zip(shape).enumerate().map(|(axis, (given, &len))| range(given.clone(), len, axis));
    let axes = axes.collect::<Result<Vec<_>>>()?;
    let out = (0..axes.len()).map(OutAxis::Of).collect();
    Ok(Resolved { axes, out })
}

impl Selection for RangeFull {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        let axes = shape.iter().map(|&n| whole(n)).collect::<Result<Vec<_>>>()?;
        Ok(Resolved { out: (0..axes.len()).map(OutAxis::Of).collect(), axes })
    }
}

macro_rules! arrays_of_ranges {
    ($($n:literal),*) => {$(
        impl Selection for [Range<u64>; $n] {
            type OutDim = Dim<[usize; $n]>;

            fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
                ranges(self, shape)
            }
        }
    )*};
}
arrays_of_ranges!(0, 1, 2, 3, 4, 5, 6);

impl Selection for &[Range<u64>] {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        ranges(self, shape)
    }
}

impl Selection for &Vec<Range<u64>> {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        ranges(self, shape)
    }
}

impl<I: AsRef<[SliceInfoElem]>, In: Dimension, Out: Dimension> Selection for SliceInfo<I, In, Out> {
    type OutDim = Out;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        slices(self.as_ref(), shape)
    }
}

impl Selection for &[SliceInfoElem] {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        slices(self, shape)
    }
}

fn slices(elems: &[SliceInfoElem], shape: &[u64]) -> Result<Resolved> {
    let n_axes = elems.iter().filter(|elem| !elem.is_new_axis()).count();
    if n_axes != shape.len() {
        let hint = if elems.len() == 1 { "; `..` alone (without s!) selects everything" } else { "" };
        return Err(wrong(format!(
            "a selection of {n_axes} axes for an array of {} dimensions{hint}",
            shape.len()
        )));
    }
    let mut axes = Vec::with_capacity(n_axes);
    let mut out = Vec::with_capacity(elems.len());
    for elem in elems {
        let axis = axes.len();
        match *elem {
            SliceInfoElem::NewAxis => out.push(OutAxis::New),
            SliceInfoElem::Index(index) => {
                let len = shape[axis];
                let at = from_end(index, len);
                let inside = u64::try_from(at).ok().filter(|&at| at < len);
                let at = inside.ok_or_else(|| {
                    wrong(format!("the index {index} does not fit axis {axis} of length {len}"))
                })?;
                axes.push(ResolvedAxis { range: at..at + 1, step: 1, n: 1, reversed: false });
            }
            SliceInfoElem::Slice { start, end, step } => {
                out.push(OutAxis::Of(axis));
                axes.push(slice(start, end, step, shape[axis], axis)?);
            }
        }
    }
    Ok(Resolved { axes, out })
}

/// Resolves a negative index, which counts from the end.
fn from_end(index: isize, len: u64) -> i128 {
    if index < 0 { index as i128 + i128::from(len) } else { index as i128 }
}

fn slice(start: isize, end: Option<isize>, step: isize, len: u64, axis: usize) -> Result<ResolvedAxis> {
    let first = from_end(start, len);
    let behind = end.map_or(i128::from(len), |end| from_end(end, len));
    // As in ndarray, a range that ends before it starts is empty.
    let behind_or_first = behind.max(first);
    let describe = || {
        let end = end.map(|end| end.to_string()).unwrap_or_default();
        let step = if step == 1 { String::new() } else { format!(";{step}") };
        format!("{start}..{end}{step}")
    };
    if step == 0 {
        return Err(wrong(format!("the slice {} along axis {axis} has a step of 0", describe())));
    }
    let bounds = u64::try_from(first).ok().zip(u64::try_from(behind_or_first).ok());
    let Some((first, behind)) = bounds.filter(|&(first, behind)| first <= len && behind <= len) else {
        return Err(wrong(format!("the slice {} does not fit axis {axis} of length {len}", describe())));
    };
    let step_len = step.unsigned_abs() as u64;
    let n = (behind - first).div_ceil(step_len);
    // A negative step starts at the last index; the lowest selected one follows from their number.
    let low = if step > 0 || n == 0 { first } else { behind - 1 - (n - 1) * step_len };
    let range = if n == 0 { low..low } else { low..low + (n - 1) * step_len + 1 };
    // The box of a slice must be addressable too, although only some of its elements are kept.
    let addressable = isize::try_from(range.end - range.start).ok().and(usize::try_from(n).ok());
    let n = addressable.ok_or_else(|| too_long(format_args!("slice {}", describe())))?;
    let reversed = step < 0;
    let step = if n > 1 { step.unsigned_abs() } else { 1 };
    Ok(ResolvedAxis { range, step, n, reversed })
}
