//! `Labels`: which values of a coordinate are selected.

use std::ops::{RangeFrom, RangeInclusive, RangeToInclusive};

use jiff::civil::{Date, DateTime};

use crate::time::Time;

/// Values of a coordinate that [`Variable::sel`](crate::Variable::sel) selects: a value, a list of
/// values, an inclusive range, or [`nearest`](Self::nearest).
///
/// Values are numbers, [`Time`]s, jiff's `DateTime` and `Date`, and texts. A text is a time where the
/// coordinate is one, in its calendar: alone and at the begin of a range the first moment of what it
/// names, at the end of a range the last, so that `"2001-06"..="2001-08"` has all of August and
/// `"2001-06-15"..="2001"` all from 15 June to the end of the year.
///
/// - A value drops the dimension. It must be there, once.
/// - A list keeps the dimension, in the order of the list.
/// - A range selects what lies between two values, both included. The coordinate increases or
///   decreases, and either end of the range may come first. It may be open: `30.0..` selects values
///   from 30, whatever the order. A range can be empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels(pub(crate) Which);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Which {
    One(Label),
    Nearest(Label),
    Range(Option<Label>, Option<Label>),
    List(Vec<Label>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Label {
    Number(f64),
    Time(Time),
    Text(String),
}

impl Labels {
    /// The value that is nearest to this one; of two that are as near, the greater. It drops the
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
            Which::One(label) => Self(Which::Nearest(label)),
            other => Self(other),
        }
    }
}

macro_rules! labels {
    ($($type:ty, |$value:ident| $label:expr;)*) => {$(
        impl From<$type> for Labels {
            fn from($value: $type) -> Self {
                Self(Which::One($label))
            }
        }

        impl From<RangeInclusive<$type>> for Labels {
            fn from(range: RangeInclusive<$type>) -> Self {
                let label = |$value: $type| $label;
                let (start, end) = range.into_inner();
                Self(Which::Range(Some(label(start)), Some(label(end))))
            }
        }

        impl From<RangeFrom<$type>> for Labels {
            fn from(range: RangeFrom<$type>) -> Self {
                let $value = range.start;
                Self(Which::Range(Some($label), None))
            }
        }

        impl From<RangeToInclusive<$type>> for Labels {
            fn from(range: RangeToInclusive<$type>) -> Self {
                let $value = range.end;
                Self(Which::Range(None, Some($label)))
            }
        }

        impl From<Vec<$type>> for Labels {
            fn from(list: Vec<$type>) -> Self {
                Self(Which::List(list.into_iter().map(|$value| $label).collect()))
            }
        }

        impl<const N: usize> From<[$type; N]> for Labels {
            fn from(list: [$type; N]) -> Self {
                Self(Which::List(list.into_iter().map(|$value| $label).collect()))
            }
        }
    )*};
}
labels! {
    f64, |value| Label::Number(value);
    f32, |value| Label::Number(value.into());
    i32, |value| Label::Number(value.into());
    u32, |value| Label::Number(value.into());
    i64, |value| Label::Number(value as f64);
    u64, |value| Label::Number(value as f64);
    usize, |value| Label::Number(value as f64);
    Time, |value| Label::Time(value);
    DateTime, |value| Label::Time(value.into());
    Date, |value| Label::Time(value.into());
    &str, |value| Label::Text(value.to_owned());
    String, |value| Label::Text(value);
}
