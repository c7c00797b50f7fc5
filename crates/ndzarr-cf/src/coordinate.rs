//! `Coordinate`: the values of a coordinate, and where labels are among them.

pub(crate) mod kept;
pub(crate) mod labels;

use std::cmp::Ordering;
use std::ops::Range;

use ndzarr::{AnyElements, Cast, DataType};

use crate::coordinate::labels::{Label, Labels, Which};
use crate::encoding::{Encoding, Meaning};
use crate::error::{Error, Result};
use crate::time::Time;
use crate::time::calendar::Calendar;
use crate::time::time_text::Written;

/// The values along a dimension, and their order.
#[derive(Debug)]
pub(crate) struct Coordinate {
    name: String,
    values: Values,
    order: Order,
}

#[derive(Debug)]
enum Values {
    /// `single`: they are float32, and so labels are rounded to it.
    Numbers {
        numbers: Vec<f64>,
        single: bool,
    },
    /// In nanoseconds since 1970; the least number of all for missing ones.
    Times {
        nanos: Vec<i128>,
        calendar: Calendar,
    },
    Texts(Vec<String>),
}

/// Whether each value is greater than the one before it, or less. Equal ones are neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Increasing,
    Decreasing,
    None,
}

/// What labels select along a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    Index(u64),
    Range(Range<u64>),
    List(Vec<u64>),
}

/// A label in the terms of the values.
#[derive(Debug, PartialEq)]
enum Value<'l> {
    Number(f64),
    Nanos(i128),
    Text(&'l str),
}

impl Coordinate {
    /// From the stored elements of a variable with one dimension.
    pub(crate) fn new(name: &str, encoding: &Encoding, elements: AnyElements) -> Result<Self> {
        let is_times = matches!(encoding.meaning, Meaning::Times(_))
            || encoding.meaning == Meaning::Stored && matches!(encoding.stored, DataType::DateTime64 { .. });
        let values = if is_times {
            let times = encoding.times(elements, name)?;
            let calendar = times.iter().flatten().next().map_or(Calendar::Standard, |time| time.calendar());
            let nanos = times.iter().map(|time| time.map_or(i128::MIN, Time::nanos)).collect();
            Values::Times { nanos, calendar }
        } else {
            match encoding.decode(elements, None, name)? {
                AnyElements::String(texts) => Values::Texts(texts.into_iter().collect()),
                AnyElements::Bytes(bytes) => {
                    let text = |bytes| {
                        String::from_utf8(bytes)
                            .map_err(|_| Error::label(name, "has bytes that are not UTF-8"))
                    };
                    Values::Texts(bytes.into_iter().map(text).collect::<Result<_>>()?)
                }
                elements => {
                    let single = matches!(elements, AnyElements::Float32(_) | AnyElements::Float16(_));
                    let numbers = elements.cast::<f64>(Cast::Saturating).map_err(|_| {
                        Error::label(
                            name,
                            format!("has elements of {}, which are not labels", encoding.stored),
                        )
                    })?;
                    Values::Numbers { numbers: numbers.into_iter().collect(), single }
                }
            }
        };
        let mut coordinate = Self { name: name.to_owned(), values, order: Order::None };
        coordinate.order = coordinate.found_order();
        Ok(coordinate)
    }

    fn found_order(&self) -> Order {
        let all = |wanted| (1..self.len()).all(|at| self.compare(at, &self.value(at - 1)) == Some(wanted));
        // A single value that is missing has no order either.
        let is_missing = |at| self.compare(at, &self.value(at)).is_none();
        match self.len() {
            1 if is_missing(0) => Order::None,
            _ if all(Ordering::Greater) => Order::Increasing,
            _ if all(Ordering::Less) => Order::Decreasing,
            _ => Order::None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match &self.values {
            Values::Numbers { numbers, .. } => numbers.len(),
            Values::Times { nanos, .. } => nanos.len(),
            Values::Texts(texts) => texts.len(),
        }
    }

    fn value(&self, at: usize) -> Value<'_> {
        match &self.values {
            Values::Numbers { numbers, .. } => Value::Number(numbers[at]),
            Values::Times { nanos, .. } => Value::Nanos(nanos[at]),
            Values::Texts(texts) => Value::Text(&texts[at]),
        }
    }

    /// How the value at an index compares with another; `None` if one of them is missing.
    fn compare(&self, at: usize, other: &Value<'_>) -> Option<Ordering> {
        match (self.value(at), other) {
            (Value::Number(own), Value::Number(other)) => own.partial_cmp(other),
            (Value::Nanos(own), Value::Nanos(other)) => {
                (own != i128::MIN && *other != i128::MIN).then(|| own.cmp(other))
            }
            (Value::Text(own), Value::Text(other)) => Some(own.cmp(other)),
            _ => None,
        }
    }

    fn wrong(&self, what: impl Into<String>) -> Error {
        Error::label(&self.name, what)
    }

    /// What labels select.
    pub(crate) fn find(&self, labels: &Labels) -> Result<Pick> {
        match &labels.0 {
            Which::One(label) => self.exact(label).map(Pick::Index),
            Which::List(list) => {
                list.iter().map(|label| self.exact(label)).collect::<Result<_>>().map(Pick::List)
            }
            Which::Nearest(label) => self.nearest(label).map(Pick::Index),
            Which::Range(start, end) => self.range(start.as_ref(), end.as_ref()).map(Pick::Range),
        }
    }

    fn exact(&self, label: &Label) -> Result<u64> {
        let (value, _) = self.label(label)?;
        let is_equal = |&at: &usize| self.compare(at, &value) == Some(Ordering::Equal);
        let mut found = match self.order {
            Order::None => 0..self.len(),
            _ => {
                let first = self.first_not(|ordering| self.is_before(ordering), &value);
                first..self.len().min(first + 1)
            }
        }
        .filter(is_equal);
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(at as u64),
            (None, _) => Err(self.wrong(format!("does not have the value {}", shown(label)))),
            (Some(_), Some(_)) => Err(self.wrong(format!("has the value {} more than once", shown(label)))),
        }
    }

    fn nearest(&self, label: &Label) -> Result<u64> {
        let (value, _) = self.label(label)?;
        let distance = |at| match (self.value(at), &value) {
            (Value::Number(own), Value::Number(other)) => Some((own - other).abs()),
            (Value::Nanos(own), Value::Nanos(other)) if own != i128::MIN => Some(own.abs_diff(*other) as f64),
            _ => None,
        };
        if matches!(value, Value::Text(_)) {
            return Err(self.wrong("has texts, none of which is nearest to another"));
        }
        let mut found: Option<(usize, f64)> = None;
        for at in 0..self.len() {
            let Some(distance) = distance(at).filter(|distance| !distance.is_nan()) else { continue };
            let is_nearer = found.is_none_or(|(other, least)| {
                let is_greater = || self.compare(at, &self.value(other)) == Some(Ordering::Greater);
                distance < least || distance == least && is_greater()
            });
            if is_nearer {
                found = Some((at, distance));
            }
        }
        found.map(|(at, _)| at as u64).ok_or_else(|| self.wrong("has no value"))
    }

    fn range(&self, start: Option<&Label>, end: Option<&Label>) -> Result<Range<u64>> {
        if self.order == Order::None {
            return Err(self.wrong("neither increases nor decreases, so that no range of it can be selected"));
        }
        let (start, end) = (start.map(|label| self.label(label)), end.map(|label| self.label(label)));
        let (mut low, mut high) = (start.transpose()?, end.transpose()?);
        if let (Some((first, _)), Some((_, last))) = (&low, &high)
            && is_less(last, first)
        {
            std::mem::swap(&mut low, &mut high);
        }
        let below = |ordering| ordering == Ordering::Less;
        let not_above = |ordering| ordering != Ordering::Greater;
        let n_below = low.map_or(0, |(first, _)| self.count(below, &first));
        let n_within = high.map_or(self.len(), |(_, last)| self.count(not_above, &last));
        let n_within = n_within.max(n_below);
        let (first, behind) = match self.order {
            Order::Decreasing => (self.len() - n_within, self.len() - n_below),
            _ => (n_below, n_within),
        };
        Ok(first as u64..behind as u64)
    }

    /// How many values compare so with another; those are the least ones.
    fn count(&self, is_wanted: impl Fn(Ordering) -> bool, value: &Value<'_>) -> usize {
        match self.order {
            Order::Decreasing => self.len() - self.first_not(|ordering| !is_wanted(ordering), value),
            _ => self.first_not(is_wanted, value),
        }
    }

    fn is_before(&self, ordering: Ordering) -> bool {
        ordering == if self.order == Order::Decreasing { Ordering::Greater } else { Ordering::Less }
    }

    /// The first index whose value does not compare so with another, if all of those come first.
    fn first_not(&self, is_wanted: impl Fn(Ordering) -> bool, value: &Value<'_>) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.compare(middle, value).is_some_and(&is_wanted) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// The first and the last value that a label stands for.
    fn label<'l>(&self, label: &'l Label) -> Result<(Value<'l>, Value<'l>)> {
        let no_day =
            |calendar| self.wrong(format!("has the calendar {calendar}, which has no {}", shown(label)));
        match (&self.values, label) {
            (Values::Numbers { single, .. }, Label::Number(number)) => {
                let number = if *single { f64::from(*number as f32) } else { *number };
                if number.is_nan() {
                    return Err(self.wrong("is searched for NaN, which equals nothing"));
                }
                Ok((Value::Number(number), Value::Number(number)))
            }
            (Values::Times { calendar, .. }, Label::Time(time)) => {
                let nanos = time.in_calendar(*calendar).ok_or_else(|| no_day(calendar))?.nanos();
                Ok((Value::Nanos(nanos), Value::Nanos(nanos)))
            }
            (Values::Times { calendar, .. }, Label::Text(text)) => {
                let written = Written::parse(text)
                    .map_err(|what| self.wrong(format!("has times, and {text:?} is not one: {what}")))?;
                let first = Time::at(&written, *calendar).ok_or_else(|| no_day(calendar))?;
                let end = written.end(*calendar).ok_or_else(|| no_day(calendar))?;
                Ok((Value::Nanos(first.nanos()), Value::Nanos(end - 1)))
            }
            (Values::Texts(_), Label::Text(text)) => Ok((Value::Text(text), Value::Text(text))),
            (values, label) => {
                let what = match values {
                    Values::Numbers { .. } => "numbers",
                    Values::Times { .. } => "times",
                    Values::Texts(_) => "texts",
                };
                Err(self.wrong(format!("has {what}, and {} is none", shown(label))))
            }
        }
    }
}

fn is_less(one: &Value<'_>, other: &Value<'_>) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one < other,
        (Value::Nanos(one), Value::Nanos(other)) => one < other,
        (Value::Text(one), Value::Text(other)) => one < other,
        _ => false,
    }
}

fn shown(label: &Label) -> String {
    match label {
        Label::Number(number) => number.to_string(),
        Label::Time(time) => time.to_string(),
        Label::Text(text) => format!("{text:?}"),
    }
}
