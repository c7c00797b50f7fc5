//! `Labels`: the values of a coordinate that are selected.

use std::ops::{RangeFrom, RangeInclusive, RangeToInclusive};

use jiff::civil::{Date, DateTime};

use crate::time::Time;

/// Values of a coordinate that [`Variable::sel`](crate::Variable::sel) selects: a value, a list of
/// values, an inclusive range, or [`nearest`](Self::nearest).
///
/// Values are numbers, [`Time`]s, jiff's `DateTime` and `Date`, and texts. If the coordinate has
/// times, a text is a time in its calendar. A text such as `2001-06` names a period: it is the last
/// moment of the period at the end of a range, and the first elsewhere. So `"2001-06"..="2001-08"`
/// includes all of August, and `"2001-06-15"..="2001"` goes from 15 June to the end of the year.
/// Along a coordinate of integers, numbers are compared exactly.
///
/// - A value drops the dimension. The coordinate must have it exactly once.
/// - A list keeps the dimension, in the order of the list.
/// - A range selects the values between two values, both included. The coordinate must increase or
///   decrease, and either end of the range may come first. It may be open: `30.0..` selects values
///   from 30, in either order. A range can be empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels(pub(crate) Selector);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Selector {
    One(Label),
    Nearest(Label),
    Range(Option<Label>, Option<Label>),
    List(Vec<Label>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Label {
    Integer(i128),
    Number(f64),
    Time(Time),
    Text(String),
}

impl Labels {
    /// The value nearest to this one; the greater of two that are equally near. It drops the
    /// dimension.
    ///
    /// ```
    /// use ndzarr_cf::Labels;
    ///
    /// let noon = Labels::nearest("2001-06-01T12:00");
    /// let equator = Labels::nearest(0.0);
    /// # assert_ne!(noon, equator);
    /// ```
    #[must_use]
    pub fn nearest(value: impl Into<Self>) -> Self {
        match value.into().0 {
            Selector::One(label) => Self(Selector::Nearest(label)),
            other => Self(other),
        }
    }
}

macro_rules! labels {
    ($($type:ty, |$value:ident| $label:expr;)*) => {$(
        impl From<$type> for Labels {
            fn from($value: $type) -> Self {
                Self(Selector::One($label))
            }
        }

        impl From<RangeInclusive<$type>> for Labels {
            fn from(range: RangeInclusive<$type>) -> Self {
                let label = |$value: $type| $label;
                let (start, end) = range.into_inner();
                Self(Selector::Range(Some(label(start)), Some(label(end))))
            }
        }

        impl From<RangeFrom<$type>> for Labels {
            fn from(range: RangeFrom<$type>) -> Self {
                let $value = range.start;
                Self(Selector::Range(Some($label), None))
            }
        }

        impl From<RangeToInclusive<$type>> for Labels {
            fn from(range: RangeToInclusive<$type>) -> Self {
                let $value = range.end;
                Self(Selector::Range(None, Some($label)))
            }
        }

        impl From<Vec<$type>> for Labels {
            fn from(list: Vec<$type>) -> Self {
                Self(Selector::List(list.into_iter().map(|$value| $label).collect()))
            }
        }

        impl<const N: usize> From<[$type; N]> for Labels {
            fn from(list: [$type; N]) -> Self {
                Self(Selector::List(list.into_iter().map(|$value| $label).collect()))
            }
        }
    )*};
}
labels! {
    f64, |value| Label::Number(value);
    f32, |value| Label::Number(value.into());
    i32, |value| Label::Integer(value.into());
    u32, |value| Label::Integer(value.into());
    i64, |value| Label::Integer(value.into());
    u64, |value| Label::Integer(value.into());
    usize, |value| Label::Integer(value as i128);
    Time, |value| Label::Time(value);
    DateTime, |value| Label::Time(value.into());
    Date, |value| Label::Time(value.into());
    &str, |value| Label::Text(value.to_owned());
    String, |value| Label::Text(value);
}
