//! `AxisSelection` and `s!`: what a selection takes along one axis.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use ndarray::{ArrayBase, Data, Dimension, Ix0, Ix1, NewAxis, Slice, SliceInfoElem};

/// What a selection takes along one axis: a range or an index of any kind of integer, `..`, an
/// [`ndarray::Slice`] with a step, a list of indices, a mask of the axis, or [`NewAxis`], which
/// adds an axis of length 1.
///
/// Negative numbers count from the end. A list may be in any order and repeat indices; a mask is a
/// list of `bool`, one for each index of the axis.
#[diagnostic::on_unimplemented(
    message = "`{Self}` selects nothing along an axis",
    note = "a range (`0..4`, `2..`, `..=-1`), `..`, an index of `u64`, `usize`, `i64` or `i32`, a list of indices (`vec![3, 1]`) or of `bool` does"
)]
pub trait AxisSelection {
    /// `Ix1`, or `Ix0` if the axis is dropped.
    type Dim: Dimension;

    /// Which indices it takes.
    fn bounds(&self) -> AxisBounds;
}

/// An [`AxisSelection`] that ndarray understands too: all but lists and masks.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in `s!`",
    note = "ndarray's slices have no lists: write a tuple, `(vec![3, 1], 0..4)`"
)]
pub trait AxisSlice: AxisSelection {
    /// It in [`s!`](crate::s).
    type Slice: Into<SliceInfoElem>;

    /// Turns it into what ndarray understands. Numbers that it cannot hold are outside any array.
    fn to_slice(self) -> Self::Slice;
}

/// Which indices of an axis are selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisBounds(pub(crate) Bounds);

/// Before negative numbers are counted from the end of the axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    Index(i128),
    Slice {
        start: i128,
        end: Option<i128>,
        step: i128,
    },
    List(Vec<i128>),
    Mask(Vec<bool>),
    NewAxis,
}

impl AxisBounds {
    pub(crate) fn range(start: i128, end: Option<i128>) -> Self {
        Self(Bounds::Slice {
            start,
            end,
            step: 1,
        })
    }

    /// A range with its last index; -1 is the end of the axis.
    fn up_to(start: i128, last: i128) -> Self {
        Self::range(start, (last != -1).then_some(last + 1))
    }

    /// For ndarray, which has numbers of `isize`.
    fn slice(self) -> Slice {
        match self.0 {
            Bounds::Slice { start, end, step } => Slice {
                start: number(start),
                end: end.map(number),
                step: number(step),
            },
            Bounds::Index(_) | Bounds::List(_) | Bounds::Mask(_) | Bounds::NewAxis => Slice {
                start: 0,
                end: None,
                step: 1,
            },
        }
    }
}

impl From<SliceInfoElem> for AxisBounds {
    fn from(elem: SliceInfoElem) -> Self {
        Self(match elem {
            SliceInfoElem::Index(index) => Bounds::Index(exact(index)),
            SliceInfoElem::Slice { start, end, step } => Bounds::Slice {
                start: exact(start),
                end: end.map(exact),
                step: step as i128,
            },
            SliceInfoElem::NewAxis => Bounds::NewAxis,
        })
    }
}

/// `isize::MIN` stands for numbers that do not fit.
fn number(number: i128) -> isize {
    isize::try_from(number).unwrap_or(isize::MIN)
}

/// The opposite: what did not fit is outside an axis of any length, and past it, so that no range
/// ends there before it starts.
fn exact(number: isize) -> i128 {
    if number == isize::MIN {
        BEYOND
    } else {
        number as i128
    }
}

/// Any number that did not fit.
const BEYOND: i128 = i128::MAX / 2;

/// A number in a message.
pub(crate) fn shown(number: i128) -> String {
    if number == BEYOND {
        "(out of range)".to_owned()
    } else {
        number.to_string()
    }
}

/// An integer. One impl for all of them lets the compiler infer the dimensions of a selection
/// before it knows which integers are in it.
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

    fn bounds(&self) -> AxisBounds {
        AxisBounds(Bounds::Index(self.to_i128()))
    }
}

impl<I: Integer> AxisSlice for I {
    type Slice = isize;

    fn to_slice(self) -> isize {
        number(self.to_i128())
    }
}

macro_rules! ranges {
    ($($(@$int:ident)? $range:ty, |$self:ident| $bounds:expr;)*) => {$(
        impl$(<$int: Integer>)? AxisSelection for $range {
            type Dim = Ix1;

            fn bounds(&self) -> AxisBounds {
                let $self = self;
                $bounds
            }
        }

        impl$(<$int: Integer>)? AxisSlice for $range {
            type Slice = Slice;

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

    fn bounds(&self) -> AxisBounds {
        AxisBounds(Bounds::NewAxis)
    }
}

impl AxisSlice for NewAxis {
    type Slice = Self;

    fn to_slice(self) -> Self {
        self
    }
}

/// An item of a list: an index, or whether an index is selected.
pub trait ListItem: Copy {
    #[doc(hidden)]
    fn list(items: impl Iterator<Item = Self>) -> AxisBounds;
}

impl<I: Integer> ListItem for I {
    fn list(items: impl Iterator<Item = Self>) -> AxisBounds {
        AxisBounds(Bounds::List(items.map(Integer::to_i128).collect()))
    }
}

impl ListItem for bool {
    fn list(items: impl Iterator<Item = Self>) -> AxisBounds {
        AxisBounds(Bounds::Mask(items.collect()))
    }
}

macro_rules! lists {
    ($([$($generic:tt)*] $list:ty;)*) => {$(
        impl<$($generic)*> AxisSelection for $list {
            type Dim = Ix1;

            fn bounds(&self) -> AxisBounds {
                ListItem::list(self.iter().copied())
            }
        }
    )*};
}
lists! {
    [L: ListItem] Vec<L>;
    [L: ListItem] &Vec<L>;
    [L: ListItem] &[L];
    [L: ListItem, const N: usize] [L; N];
    [L: ListItem, const N: usize] &[L; N];
    [L: ListItem, S: Data<Elem = L>] ArrayBase<S, Ix1>;
    [L: ListItem, S: Data<Elem = L>] &ArrayBase<S, Ix1>;
}

/// ndarray's [`s!`](ndarray::s), for numbers of `u64` as well: `s![0..a.shape()[0], -1, ..;2]`.
///
/// It also slices ndarrays.
///
/// ```
/// use ndarray::array;
/// use ndzarr::{Array, MemoryStore, s};
///
/// let a = Array::<u8>::builder([2, 3]).create((MemoryStore::new(), "a"))?;
/// let (rows, column): (u64, usize) = (a.shape()[0], 2);
/// a.write(s![0..rows, column], &array![7, 8])?;
/// assert_eq!(a.read(s![1, ..;-2])?, array![8, 0]);
/// assert_eq!(array![[1, 2], [3, 4]].slice(s![.., 1_u64]), array![2, 4]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[macro_export]
macro_rules! s {
    ($($range:expr $(; $step:expr)?),* $(,)?) => {
        $crate::ndarray::s![$($crate::AxisSlice::to_slice($range) $(; $step)?),*]
    };
}
