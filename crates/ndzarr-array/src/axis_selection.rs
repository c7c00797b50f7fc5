//! `AxisSelection` and `s!`: what a selection takes along one axis.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use ndarray::{Dimension, Ix0, Ix1, NewAxis, Slice, SliceInfoElem};

/// What a selection takes along one axis: a range or an index of any kind of integer, `..`, an
/// [`ndarray::Slice`] with a step, or [`NewAxis`], which adds an axis of length 1.
///
/// Negative numbers count from the end.
#[diagnostic::on_unimplemented(
    message = "`{Self}` selects nothing along an axis",
    note = "a range (`0..4`, `2..`, `..=-1`), `..` or an index of `u64`, `usize`, `i64` or `i32` does"
)]
pub trait AxisSelection {
    /// `Ix1`, or `Ix0` if the axis is dropped.
    type Dim: Dimension;
    /// The same for [`s!`](crate::s).
    type Slice: Into<SliceInfoElem>;

    /// Where it begins and ends.
    fn bounds(&self) -> AxisBounds;

    /// Turns it into what ndarray understands. Numbers that it cannot hold are outside any array.
    fn to_slice(self) -> Self::Slice;
}

/// Where the selection of an axis begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisBounds(pub(crate) Bounds);

/// Before negative numbers are counted from the end of the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    Index(i128),
    Slice { start: i128, end: Option<i128>, step: i128 },
    NewAxis,
}

impl AxisBounds {
    pub(crate) fn range(start: i128, end: Option<i128>) -> Self {
        Self(Bounds::Slice { start, end, step: 1 })
    }

    /// A range with its last index; -1 is the end of the axis.
    fn up_to(start: i128, last: i128) -> Self {
        Self::range(start, (last != -1).then_some(last + 1))
    }

    /// For ndarray, which has numbers of `isize`.
    fn slice(self) -> Slice {
        match self.0 {
            Bounds::Slice { start, end, step } => {
                Slice { start: number(start), end: end.map(number), step: number(step) }
            }
            Bounds::Index(_) | Bounds::NewAxis => Slice { start: 0, end: None, step: 1 },
        }
    }
}

impl From<SliceInfoElem> for AxisBounds {
    fn from(elem: SliceInfoElem) -> Self {
        Self(match elem {
            SliceInfoElem::Index(index) => Bounds::Index(exact(index)),
            SliceInfoElem::Slice { start, end, step } => {
                Bounds::Slice { start: exact(start), end: end.map(exact), step: step as i128 }
            }
            SliceInfoElem::NewAxis => Bounds::NewAxis,
        })
    }
}

/// `isize::MIN` stands for numbers that do not fit.
fn number(number: i128) -> isize {
    isize::try_from(number).unwrap_or(isize::MIN)
}

/// The opposite: what did not fit is outside an axis of any length.
fn exact(number: isize) -> i128 {
    if number == isize::MIN { i128::MIN / 2 } else { number as i128 }
}

/// An integer. One impl for all of them lets the compiler infer the dimensions of a selection before
/// it knows which integers are in it.
pub trait Integer: Copy {
    #[doc(hidden)]
    fn to_i128(self) -> i128;
}

macro_rules! integers {
    ($($int:ty),*) => {$(
        impl Integer for $int {
            fn to_i128(self) -> i128 {
                self as i128
            }
        }
    )*};
}
integers!(u64, usize, u32, i64, isize, i32);

impl<I: Integer> AxisSelection for I {
    type Dim = Ix0;
    type Slice = isize;

    fn bounds(&self) -> AxisBounds {
        AxisBounds(Bounds::Index(self.to_i128()))
    }

    fn to_slice(self) -> isize {
        number(self.to_i128())
    }
}

macro_rules! ranges {
    ($($(@$int:ident)? $range:ty, |$self:ident| $bounds:expr;)*) => {$(
        impl$(<$int: Integer>)? AxisSelection for $range {
            type Dim = Ix1;
            type Slice = Slice;

            fn bounds(&self) -> AxisBounds {
                let $self = self;
                $bounds
            }

            fn to_slice(self) -> Slice {
                self.bounds().slice()
            }
        }
    )*};
}
ranges! {
    @I Range<I>, |range| AxisBounds::range(range.start.to_i128(), Some(range.end.to_i128()));
    @I RangeFrom<I>, |range| AxisBounds::range(range.start.to_i128(), None);
    @I RangeTo<I>, |range| AxisBounds::range(0, Some(range.end.to_i128()));
    @I RangeInclusive<I>, |range| AxisBounds::up_to(range.start().to_i128(), range.end().to_i128());
    @I RangeToInclusive<I>, |range| AxisBounds::up_to(0, range.end.to_i128());
    RangeFull, |_all| AxisBounds::range(0, None);
    Slice, |slice| AxisBounds::from(SliceInfoElem::from(*slice));
}

impl AxisSelection for NewAxis {
    type Dim = Ix1;
    type Slice = Self;

    fn bounds(&self) -> AxisBounds {
        AxisBounds(Bounds::NewAxis)
    }

    fn to_slice(self) -> Self {
        self
    }
}

/// ndarray's [`s!`](ndarray::s), for numbers of `u64` as well: `s![0..a.shape()[0], -1, ..;2]`.
///
/// It also slices ndarrays.
///
/// ```
/// use ndarray::array;
/// use ndzarr_array::{Array, s};
/// use ndzarr_store::MemoryStore;
///
/// let a = Array::<u8>::builder([2, 3]).create((MemoryStore::new(), "a"))?;
/// let (rows, column): (u64, usize) = (a.shape()[0], 2);
/// a.write(s![0..rows, column], &array![7, 8])?;
/// assert_eq!(a.read(s![1, ..;-2])?, array![8, 0]);
/// assert_eq!(array![[1, 2], [3, 4]].slice(s![.., 1_u64]), array![2, 4]);
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
#[macro_export]
macro_rules! s {
    ($($range:expr $(; $step:expr)?),* $(,)?) => {
        $crate::ndarray::s![$($crate::AxisSelection::to_slice($range) $(; $step)?),*]
    };
}
