//! The trait `Selection`: ways to select the part of an array to read or write.

use std::ops::{Range, RangeFull};

use ndarray::{ArrayBase, Axis, Dim, DimAdd, Dimension, Ix0, Ix1, IxDyn, RawData, SliceInfo, SliceInfoElem};
use ndzarr_grid::Region;

use crate::axis_selection::{AxisBounds, AxisSelection, Bounds};
use crate::chunks::Chunk;
use crate::error::{Error, ErrorKind, Result};
use crate::steps::Steps;

/// The part of an array to read or write, and its number of dimensions.
///
/// - `..`: everything, whatever the rank; `()`: the element of an array without axes;
/// - `[0..64, 0..n]`, `(0..64, 3, ..)`: an [`AxisSelection`] for each axis, with integers of any
///   kind; an index drops its axis;
/// - [`s![0..64, ..;2]`](crate::s): the same with steps, as ndarray slices;
/// - slices and vectors of these, for a rank known at run time;
/// - a [`Chunk`](crate::Chunk) or a [`Region`]: the part of the array in it.
///
/// Bounds outside the array are errors, never clipped. As in NumPy, negative numbers count from the
/// end, and a range that ends before it starts is empty. As in ndarray, a negative step walks its
/// range from the end.
///
/// ```
/// use ndarray::{Array2, ArrayD, NewAxis, array};
/// use ndzarr_array::{Array, ErrorKind, Selection, s};
/// use ndzarr_store::MemoryStore;
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
///
/// // The shape is known without an array.
/// assert_eq!(s![..;2, 0].resolve(&[1001, 7])?.shape(), [501]);
/// assert_eq!(a.read([0..3, 0..1]).unwrap_err().kind(), ErrorKind::WrongShape);
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
///
/// A type of your own resolves to one of these:
///
/// ```
/// use ndzarr_array::{Array, Resolved, Result, Selection};
/// use ndzarr_store::MemoryStore;
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
/// # Ok::<(), ndzarr_array::Error>(())
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
    pub(crate) fn region(&self) -> Region {
        Region::new(self.axes.iter().map(|axis| axis.range.clone()))
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
fn bounds(given: impl Iterator<Item = AxisBounds> + Clone, shape: &[u64]) -> Result<Resolved> {
    let n_axes = given.clone().filter(|axis| axis.0 != Bounds::NewAxis).count();
    if n_axes != shape.len() {
        let hint = if given.count() == 1 { "; `..` alone (without s!) selects everything" } else { "" };
        return Err(wrong(format!(
            "a selection of {n_axes} axes for an array of {} dimensions{hint}",
            shape.len()
        )));
    }
    let (mut axes, mut out) = (Vec::with_capacity(n_axes), Vec::with_capacity(n_axes));
    for AxisBounds(given) in given {
        let axis = axes.len();
        match given {
            Bounds::NewAxis => out.push(OutAxis::New),
            Bounds::Index(index) => {
                let len = shape[axis];
                let inside = u64::try_from(from_end(index, len)).ok().filter(|&at| at < len);
                let at = inside.ok_or_else(|| {
                    wrong(format!("the index {index} does not fit axis {axis} of length {len}"))
                })?;
                axes.push(ResolvedAxis { range: at..at + 1, step: 1, n: 1, reversed: false });
            }
            Bounds::Slice { start, end, step } => {
                out.push(OutAxis::Of(axis));
                axes.push(slice(start, end, step, shape[axis], axis)?);
            }
        }
    }
    Ok(Resolved { axes, out })
}

/// Resolves a negative number, which counts from the end.
fn from_end(number: i128, len: u64) -> i128 {
    if number < 0 { number + i128::from(len) } else { number }
}

fn slice(start: i128, end: Option<i128>, step: i128, len: u64, axis: usize) -> Result<ResolvedAxis> {
    let first = from_end(start, len);
    let behind = end.map_or(i128::from(len), |end| from_end(end, len));
    // As in NumPy, a range that ends before it starts is empty.
    let behind_or_first = behind.max(first);
    let describe = || {
        let end = end.map(|end| end.to_string()).unwrap_or_default();
        let step = if step == 1 { String::new() } else { format!(";{step}") };
        format!("range {start}..{end}{step}")
    };
    if step == 0 {
        return Err(wrong(format!("the {} along axis {axis} has a step of 0", describe())));
    }
    let bounds = u64::try_from(first).ok().zip(u64::try_from(behind_or_first).ok());
    let Some((first, behind)) = bounds.filter(|&(first, behind)| first <= len && behind <= len) else {
        return Err(wrong(format!("the {} does not fit axis {axis} of length {len}", describe())));
    };
    let reversed = step < 0;
    let step = u64::try_from(step.unsigned_abs()).unwrap_or(u64::MAX);
    let n = (behind - first).div_ceil(step);
    // A negative step starts at the last index; the lowest selected one follows from their number.
    let low = if !reversed || n == 0 { first } else { behind - 1 - (n - 1) * step };
    let range = if n == 0 { low..low } else { low..low + (n - 1) * step + 1 };
    // The box of a slice must be addressable too, although only some of its elements are kept.
    let addressable = isize::try_from(range.end - range.start).ok().and(usize::try_from(n).ok());
    let n = addressable.ok_or_else(|| {
        let what = format!("the {} is too long for this machine", describe());
        Error::new(ErrorKind::OutOfMemory, what)
    })?;
    let step = if n > 1 { usize::try_from(step).unwrap_or(1) } else { 1 };
    Ok(ResolvedAxis { range, step, n, reversed })
}
