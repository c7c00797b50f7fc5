//! The trait `Selection`: ways to select the part of an array to read or write.

use std::ops::RangeFull;

use ndarray::{Dim, DimAdd, Dimension, Ix0, Ix1, IxDyn, SliceInfo, SliceInfoElem};
use ndzarr_grid::{Picks, Region, Steps};

use crate::arrays::chunks::Chunk;
use crate::error::{Error, ErrorKind, Result};
use crate::selections::axis_selection::{AxisBounds, AxisSelection, Bounds, shown};
use crate::selections::resolved::{Axes, AxisOrder, OutAxis, Resolution, Resolved, ResolvedAxis};

/// The part of an array to read or write, and its number of dimensions.
///
/// - `..`: everything, whatever the rank; `()`: the element of an array without axes;
/// - `[0..64, 0..n]`, `(0..64, 3, ..)`: an [`AxisSelection`] for each axis, with integers of any
///   kind; an index drops its axis;
/// - `(vec![7, 2], .., &mask)`: lists of indices, or of `bool`, along axes. Each axis is selected
///   for itself, as by NumPy's `ix_` and zarr's `oindex`;
/// - [`s![0..64, ..;2]`](crate::s): ranges with steps, as ndarray slices;
/// - slices and vectors of these, for a rank known at run time;
/// - [`Points`](crate::Points): single elements by their coordinates; an ndarray of `bool`: the
///   elements where it is true;
/// - [`a.by_name()`](crate::ArrayInfo::by_name): by the names of dimensions;
///   [`a.blocks((0..2, 1))`](crate::ArrayInfo::blocks): whole chunks;
/// - a [`Resolved`] selection, a [view](Resolved::view) of which is one again;
/// - a [`Chunk`](crate::Chunk) or a [`Region`]: the part of the array in it.
///
/// Bounds outside the array are errors, never clipped, and found before anything is read. As in
/// NumPy, negative numbers count from the end, and a range that ends before it starts is empty. As
/// in ndarray, a negative step walks its range from the end. Lists may be empty, in any order, and
/// have an index more than once; a write leaves the last of its values there.
///
/// Each chunk is read once, and of a shard only the inner chunks that have selected elements.
///
/// ```
/// use ndarray::{Array2, ArrayD, NewAxis, array};
/// use ndzarr::{Array, ErrorKind, MemoryStore, Selection, s};
///
/// let store = MemoryStore::new();
/// let a = Array::<u8>::builder([2, 3]).create((&store, "a"))?;
/// a.write(.., &array![[1, 2, 3], [4, 5, 6]])?;
///
/// assert_eq!(a.read(..)?, array![[1, 2, 3], [4, 5, 6]].into_dyn());
/// let of_two_axes: Array2<u8> = a.read((.., ..))?;
/// assert_eq!(a.read((-1, 1..))?, array![5, 6]);
/// assert_eq!(a.read(s![1, ..;-2])?, array![6, 4]);
/// assert_eq!(a.read(s![.., NewAxis, -1])?, array![[3], [6]]);
/// assert_eq!(a.read([0..1, 1..3])?, array![[2, 3]]);
/// assert_eq!(a.read(vec![1..2, 0..1])?.shape(), [1, 1]);
/// assert_eq!(a.read((.., vec![2, 0, 2]))?, array![[3, 1, 3], [6, 4, 6]]);
/// assert_eq!(a.read(([false, true], [0, -1]))?, array![[4, 6]]);
///
/// // The shape is known without an array.
/// assert_eq!(s![..;2, 0].resolve(&[1001, 7])?.shape(), [501]);
/// assert_eq!(a.read([0..3, 0..1]).unwrap_err().kind(), ErrorKind::WrongShape);
/// # Ok::<(), ndzarr::Error>(())
/// ```
///
/// A type of your own resolves to one of these:
///
/// ```
/// use ndzarr::{Array, MemoryStore, Resolved, Result, Selection};
///
/// struct Row(u64);
///
/// impl Selection for Row {
///     type OutDim = ndarray::Ix1;
///
///     fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
///         (self.0, ..).resolve(shape)
///     }
/// }
///
/// let a = Array::<u8>::builder([2, 3]).create((MemoryStore::new(), "a"))?;
/// assert_eq!(a.read(Row(1))?.len(), 3);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not select a part of an array",
    note = "`..` selects everything; else one range or index for each axis: `[0..4, 2..3]`, `(0..4, 2, ..)`, `s![0..4, ..;2]`"
)]
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

pub(crate) fn wrong(what: String) -> Error {
    Error::new(ErrorKind::WrongShape, what)
}

impl<S: Selection + ?Sized> Selection for &S {
    type OutDim = S::OutDim;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        (**self).resolve(shape)
    }
}

impl Selection for RangeFull {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        bounds(shape.iter().map(|_| self.bounds()), shape)
    }
}

impl<A: AxisSelection<Dim = Ix1>, const N: usize> Selection for [A; N]
where
    Dim<[usize; N]>: Dimension,
{
    type OutDim = Dim<[usize; N]>;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        self[..].resolve(shape)
    }
}

impl<A: AxisSelection<Dim = Ix1>> Selection for [A] {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        bounds(self.iter().map(AxisSelection::bounds), shape)
    }
}

impl<A: AxisSelection<Dim = Ix1>> Selection for Vec<A> {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        self[..].resolve(shape)
    }
}

type Sum<A, B> = <A as DimAdd<B>>::Output;

/// Adds up the dimensions of the axes, then implements the trait.
macro_rules! tuple {
    ([$($where:tt)*] [$sum:ty] [$next:ident $($rest:ident)*] $all:tt) => {
        tuple!([$($where)* $sum: DimAdd<$next::Dim>,] [Sum<$sum, $next::Dim>] [$($rest)*] $all);
    };
    ([$($where:tt)*] [$sum:ty] [] [$($axis:ident)*]) => {
        impl<$($axis: AxisSelection),*> Selection for ($($axis,)*)
        where
            $($where)*
        {
            type OutDim = $sum;

            #[allow(non_snake_case, reason = "the axes have the names of their types")]
            fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
                let ($($axis,)*) = self;
                bounds([$($axis.bounds()),*].into_iter(), shape)
            }
        }
    };
}
tuple!([] [Ix0] [] []);
tuple!([][Ix0][A][A]);
tuple!([] [Ix0] [A B] [A B]);
tuple!([] [Ix0] [A B C] [A B C]);
tuple!([] [Ix0] [A B C D] [A B C D]);
tuple!([] [Ix0] [A B C D E] [A B C D E]);
tuple!([] [Ix0] [A B C D E F] [A B C D E F]);

impl Selection for Chunk {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        self.ranges.resolve(shape)
    }
}

impl Selection for Region {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        self.ranges().resolve(shape)
    }
}

impl<I: AsRef<[SliceInfoElem]>, In: Dimension, Out: Dimension> Selection for SliceInfo<I, In, Out> {
    type OutDim = Out;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        self.as_ref().resolve(shape)
    }
}

impl Selection for [SliceInfoElem] {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        bounds(self.iter().map(|&elem| elem.into()), shape)
    }
}

/// Applies what is selected along each axis to an array of this shape.
pub(crate) fn bounds(given: impl Iterator<Item = AxisBounds>, shape: &[u64]) -> Result<Resolved> {
    let given: Vec<AxisBounds> = given.collect();
    let n_axes = given
        .iter()
        .filter(|axis| axis.0 != Bounds::NewAxis)
        .count();
    if n_axes != shape.len() {
        let hint = if given.len() == 1 {
            "; `..` by itself selects everything"
        } else {
            ""
        };
        return Err(wrong(format!(
            "a selection of {n_axes} axes for an array of {} dimensions{hint}",
            shape.len()
        )));
    }
    let (mut axes, mut out) = (Vec::with_capacity(n_axes), Vec::with_capacity(n_axes));
    for AxisBounds(given) in given {
        let axis = axes.len();
        match given {
            Bounds::NewAxis => {
                out.push(OutAxis::New);
                continue;
            }
            Bounds::Index(index) => {
                let at = index_in(index, axis, shape[axis])?;
                let order = AxisOrder::Ascending;
                axes.push(ResolvedAxis {
                    range: at..at + 1,
                    picks: Picks::ALL,
                    n: 1,
                    order,
                });
                continue;
            }
            Bounds::Slice { start, end, step } => {
                axes.push(slice(start, end, step, shape[axis], axis)?)
            }
            Bounds::List(indices) => {
                let indices = indices
                    .into_iter()
                    .map(|index| index_in(index, axis, shape[axis]));
                axes.push(list(indices.collect::<Result<_>>()?, axis)?);
            }
            Bounds::Mask(mask) => {
                if mask.len() as u64 != shape[axis] {
                    let n = mask.len();
                    let len = shape[axis];
                    return Err(wrong(format!(
                        "a mask of {n} elements for axis {axis} of length {len}"
                    )));
                }
                let indices = mask
                    .iter()
                    .zip(0..)
                    .filter_map(|(&selected, at)| selected.then_some(at));
                axes.push(list(indices.collect(), axis)?);
            }
        }
        out.push(OutAxis::Of(axis));
    }
    Ok(Resolved(Resolution::Axes(Axes { axes, out })))
}

/// An index of an axis, which may be counted from the end.
pub(crate) fn index_in(index: i128, axis: usize, len: u64) -> Result<u64> {
    let inside = u64::try_from(from_end(index, len))
        .ok()
        .filter(|&at| at < len);
    inside.ok_or_else(|| {
        let index = shown(index);
        wrong(format!(
            "the index {index} does not fit axis {axis} of length {len}"
        ))
    })
}

/// A list of indices of an axis.
pub(crate) fn list(indices: Vec<u64>, axis: usize) -> Result<ResolvedAxis> {
    let n = indices.len();
    let (Some(&low), Some(&high)) = (indices.iter().min(), indices.iter().max()) else {
        return Ok(ResolvedAxis {
            range: 0..0,
            picks: Picks::ALL,
            n: 0,
            order: AxisOrder::Ascending,
        });
    };
    if isize::try_from(high - low).is_err() {
        let what = format!("the list along axis {axis} spans more than this machine can address");
        return Err(Error::new(ErrorKind::OutOfMemory, what));
    }
    let within: Vec<usize> = indices
        .iter()
        .map(|&index| (index - low) as usize)
        .collect();
    let mut distinct = within.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let order = if within == distinct {
        AxisOrder::Ascending
    } else {
        AxisOrder::Listed(
            within
                .iter()
                .map(|at| distinct.partition_point(|other| other < at))
                .collect(),
        )
    };
    let step = distinct.get(1).copied().unwrap_or(1);
    let picks = if distinct.iter().enumerate().all(|(i, &at)| at == i * step) {
        Picks::Steps(Steps { phase: 0, step })
    } else {
        Picks::listed(distinct)
    };
    Ok(ResolvedAxis {
        range: low..high + 1,
        picks,
        n,
        order,
    })
}

/// Resolves a negative number, which counts from the end.
fn from_end(number: i128, len: u64) -> i128 {
    if number < 0 {
        number + i128::from(len)
    } else {
        number
    }
}

fn slice(
    start: i128,
    end: Option<i128>,
    step: i128,
    len: u64,
    axis: usize,
) -> Result<ResolvedAxis> {
    let first = from_end(start, len);
    let past = end.map_or(i128::from(len), |end| from_end(end, len));
    // As in NumPy, a range that ends before it starts is empty.
    let past_or_first = past.max(first);
    let describe = || {
        let start = shown(start);
        let end = end.map(shown).unwrap_or_default();
        let step = if step == 1 {
            String::new()
        } else {
            format!(";{step}")
        };
        format!("range {start}..{end}{step}")
    };
    if step == 0 {
        return Err(wrong(format!(
            "the {} along axis {axis} has a step of 0",
            describe()
        )));
    }
    let bounds = u64::try_from(first)
        .ok()
        .zip(u64::try_from(past_or_first).ok());
    let Some((first, past)) = bounds.filter(|&(first, past)| first <= len && past <= len) else {
        return Err(wrong(format!(
            "the {} does not fit axis {axis} of length {len}",
            describe()
        )));
    };
    let reversed = step < 0;
    let step = u64::try_from(step.unsigned_abs()).unwrap_or(u64::MAX);
    let n = (past - first).div_ceil(step);
    // A negative step starts at the last index; the lowest selected one follows from their number.
    let low = if !reversed || n == 0 {
        first
    } else {
        past - 1 - (n - 1) * step
    };
    let range = if n == 0 {
        low..low
    } else {
        low..low + (n - 1) * step + 1
    };
    // The box of a slice must be addressable too, although only some of its elements are kept.
    let addressable = isize::try_from(range.end - range.start)
        .ok()
        .and(usize::try_from(n).ok());
    let n = addressable.ok_or_else(|| {
        let what = format!("the {} is too long for this machine", describe());
        Error::new(ErrorKind::OutOfMemory, what)
    })?;
    let step = if n > 1 {
        usize::try_from(step).unwrap_or(1)
    } else {
        1
    };
    let order = if reversed {
        AxisOrder::Descending
    } else {
        AxisOrder::Ascending
    };
    Ok(ResolvedAxis {
        range,
        picks: Picks::Steps(Steps { phase: 0, step }),
        n,
        order,
    })
}
