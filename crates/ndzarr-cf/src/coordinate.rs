//! `Coordinate`: the values of a coordinate, and the search for labels among them.

pub(crate) mod cache;
pub(crate) mod labels;

use std::cmp::Ordering;
use std::ops::Range;

use ndzarr::{AnyElements, Cast, DataType};

use crate::coordinate::labels::{Label, Labels, Selector};
use crate::encoding::{Encoding, Meaning};
use crate::error::{Error, Result};
use crate::time::Time;
use crate::time::calendar::Calendar;
use crate::time::time_text::ParsedTime;

/// The values along a dimension, and their order.
#[derive(Debug)]
pub(crate) struct Coordinate {
    name: String,
    values: Values,
    order: Order,
}

#[derive(Debug)]
enum Values {
    /// `is_single`: the numbers are float32 or float16, and labels are rounded to float32.
    Numbers {
        numbers: Vec<f64>,
        is_single: bool,
    },
    /// In [`QUARTERS`]; `i128::MIN` for missing ones.
    Integers(Vec<i128>),
    /// In nanoseconds since 1970; `i128::MIN` for missing ones.
    Times {
        nanos: Vec<i128>,
        calendar: Calendar,
    },
    Texts(Vec<String>),
}

/// The order of the values along the dimension. Values have none if two neighbours are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Increasing,
    Decreasing,
    None,
}

/// The positions that labels select along a dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Positions {
    Index(u64),
    Range(Range<u64>),
    List(Vec<u64>),
}

/// A value, or a label that was converted for the comparison with values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value<'l> {
    Number(f64),
    /// An integer in [`QUARTERS`], or the nanoseconds of a time.
    Integer(i128),
    Text(&'l str),
}

/// Integers, and labels among them, are counted in quarters. So a label with a fraction can be an
/// `i128` that is before the same integers, and nearest to the same one.
const QUARTERS: i128 = 4;

impl Coordinate {
    /// From the stored elements of a variable with one dimension.
    pub(crate) fn new(name: &str, encoding: &Encoding, elements: AnyElements) -> Result<Self> {
        let is_times = matches!(encoding.meaning, Meaning::Times(_))
            || encoding.meaning == Meaning::Stored
                && matches!(encoding.stored, DataType::DateTime64 { .. });
        let values = if is_times {
            let times = encoding.times(elements, name)?;
            let calendar = times
                .iter()
                .flatten()
                .next()
                .map_or(Calendar::Standard, |time| time.calendar());
            let nanos = times
                .iter()
                .map(|time| time.map_or(i128::MIN, Time::nanos))
                .collect();
            Values::Times { nanos, calendar }
        } else if matches!(encoding.meaning, Meaning::Stored | Meaning::Numbers)
            && encoding.has_integers()
        {
            let integers = encoding.integers(elements)?;
            let in_quarters =
                |integer: Option<i128>| integer.map_or(i128::MIN, |integer| integer * QUARTERS);
            Values::Integers(integers.into_iter().map(in_quarters).collect())
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
                    let is_single =
                        matches!(elements, AnyElements::Float32(_) | AnyElements::Float16(_));
                    let numbers = elements.cast::<f64>(Cast::Saturating).map_err(|_| {
                        Error::label(
                            name,
                            format!("has elements of {}, which are not labels", encoding.stored),
                        )
                    })?;
                    Values::Numbers {
                        numbers: numbers.into_iter().collect(),
                        is_single,
                    }
                }
            }
        };
        let mut coordinate = Self {
            name: name.to_owned(),
            values,
            order: Order::None,
        };
        coordinate.order = coordinate.compute_order();
        Ok(coordinate)
    }

    fn compute_order(&self) -> Order {
        let all = |wanted| {
            (1..self.len()).all(|at| self.compare(at, &self.value(at - 1)) == Some(wanted))
        };
        // A single missing value has no order either.
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
            Values::Integers(integers)
            | Values::Times {
                nanos: integers, ..
            } => integers.len(),
            Values::Texts(texts) => texts.len(),
        }
    }

    fn value(&self, at: usize) -> Value<'_> {
        match &self.values {
            Values::Numbers { numbers, .. } => Value::Number(numbers[at]),
            Values::Integers(integers)
            | Values::Times {
                nanos: integers, ..
            } => Value::Integer(integers[at]),
            Values::Texts(texts) => Value::Text(&texts[at]),
        }
    }

    /// Compares the value at an index with another; `None` if one of them is missing.
    fn compare(&self, at: usize, other: &Value<'_>) -> Option<Ordering> {
        match (self.value(at), other) {
            (Value::Number(own), Value::Number(other)) => own.partial_cmp(other),
            (Value::Integer(own), Value::Integer(other)) => {
                (own != i128::MIN && *other != i128::MIN).then(|| own.cmp(other))
            }
            (Value::Text(own), Value::Text(other)) => Some(own.cmp(other)),
            _ => None,
        }
    }

    fn error(&self, what: impl Into<String>) -> Error {
        Error::label(&self.name, what)
    }

    /// The positions that labels select.
    pub(crate) fn find(&self, labels: &Labels) -> Result<Positions> {
        match &labels.0 {
            Selector::One(label) => self.exact(label).map(Positions::Index),
            Selector::List(list) => list
                .iter()
                .map(|label| self.exact(label))
                .collect::<Result<_>>()
                .map(Positions::List),
            Selector::Nearest(label) => self.nearest(label).map(Positions::Index),
            Selector::Range(start, end) => self
                .range(start.as_ref(), end.as_ref())
                .map(Positions::Range),
        }
    }

    fn exact(&self, label: &Label) -> Result<u64> {
        let (value, _) = self.values_of(label)?;
        let candidates = match self.order {
            Order::None => 0..self.len(),
            _ => {
                let first = self.partition_point(|ordering| self.is_before(ordering), &value);
                first..self.len().min(first + 1)
            }
        };
        let mut found = candidates.filter(|&at| self.compare(at, &value) == Some(Ordering::Equal));
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(at as u64),
            (None, _) => Err(self.error(format!("does not have the value {}", shown(label)))),
            (Some(_), Some(_)) => {
                Err(self.error(format!("has the value {} more than once", shown(label))))
            }
        }
    }

    fn nearest(&self, label: &Label) -> Result<u64> {
        let found = match (&self.values, self.values_of(label)?) {
            (Values::Numbers { numbers, .. }, (Value::Number(wanted), _)) => self
                .with_least_distance(|at| {
                    Some((numbers[at] - wanted).abs()).filter(|far| !far.is_nan())
                }),
            (
                Values::Integers(integers)
                | Values::Times {
                    nanos: integers, ..
                },
                (Value::Integer(wanted), _),
            ) => {
                let is_missing = |at: usize| integers[at] == i128::MIN;
                self.with_least_distance(|at| {
                    (!is_missing(at)).then(|| integers[at].abs_diff(wanted))
                })
            }
            _ => return Err(self.error("has texts, none of which is nearest to another")),
        };
        found
            .map(|at| at as u64)
            .ok_or_else(|| self.error("has no value"))
    }

    /// The index of the value with the least distance, and of several the greatest value.
    /// `distance` is `None` for missing values.
    fn with_least_distance<D: PartialOrd>(
        &self,
        distance: impl Fn(usize) -> Option<D>,
    ) -> Option<usize> {
        let mut found: Option<(usize, D)> = None;
        for at in 0..self.len() {
            let Some(distance) = distance(at) else {
                continue;
            };
            let is_nearer = found.as_ref().is_none_or(|(other, least)| {
                let is_greater =
                    || self.compare(at, &self.value(*other)) == Some(Ordering::Greater);
                distance < *least || distance == *least && is_greater()
            });
            if is_nearer {
                found = Some((at, distance));
            }
        }
        found.map(|(at, _)| at)
    }

    fn range(&self, start: Option<&Label>, end: Option<&Label>) -> Result<Range<u64>> {
        if self.order == Order::None {
            return Err(self
                .error("neither increases nor decreases, so that no range of it can be selected"));
        }
        let mut low = start.map(|label| self.values_of(label)).transpose()?;
        let mut high = end.map(|label| self.values_of(label)).transpose()?;
        if let (Some((first, _)), Some((_, last))) = (&low, &high)
            && is_less(last, first)
        {
            std::mem::swap(&mut low, &mut high);
        }
        let is_below = |ordering| ordering == Ordering::Less;
        let is_not_above = |ordering| ordering != Ordering::Greater;
        let n_below = low.map_or(0, |(first, _)| self.count(is_below, &first));
        let n_not_above = high.map_or(self.len(), |(_, last)| self.count(is_not_above, &last));
        let n_not_above = n_not_above.max(n_below);
        let range = match self.order {
            Order::Decreasing => self.len() - n_not_above..self.len() - n_below,
            _ => n_below..n_not_above,
        };
        Ok(range.start as u64..range.end as u64)
    }

    /// The number of values whose comparison with `value` is wanted. These must be the least ones.
    fn count(&self, is_wanted: impl Fn(Ordering) -> bool, value: &Value<'_>) -> usize {
        match self.order {
            Order::Decreasing => {
                self.len() - self.partition_point(|ordering| !is_wanted(ordering), value)
            }
            _ => self.partition_point(is_wanted, value),
        }
    }

    fn is_before(&self, ordering: Ordering) -> bool {
        ordering
            == if self.order == Order::Decreasing {
                Ordering::Greater
            } else {
                Ordering::Less
            }
    }

    /// The first index whose comparison with `value` is not wanted. The wanted ones must come
    /// first.
    fn partition_point(&self, is_wanted: impl Fn(Ordering) -> bool, value: &Value<'_>) -> usize {
        let mut low = 0;
        let mut high = self.len();
        while low < high {
            let middle = low + (high - low) / 2;
            if self.compare(middle, value).is_some_and(&is_wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The first and the last value that a label names.
    fn values_of<'l>(&self, label: &'l Label) -> Result<(Value<'l>, Value<'l>)> {
        let no_day = |calendar| {
            self.error(format!(
                "has the calendar {calendar}, which has no {}",
                shown(label)
            ))
        };
        let both = |value: Value<'l>| Ok((value, value));
        match (&self.values, label) {
            (Values::Numbers { .. } | Values::Integers(_), Label::Number(number))
                if number.is_nan() =>
            {
                Err(self.error("is searched for NaN, which equals nothing"))
            }
            (Values::Numbers { is_single, .. }, Label::Number(number)) => {
                both(rounded(*number, *is_single))
            }
            (Values::Numbers { is_single, .. }, Label::Integer(integer)) => {
                both(rounded(*integer as f64, *is_single))
            }
            (Values::Integers(_), Label::Integer(integer)) => {
                both(Value::Integer(integer * QUARTERS))
            }
            (Values::Integers(_), Label::Number(number)) => both(Value::Integer(quarters(*number))),
            (Values::Times { calendar, .. }, Label::Time(time)) => {
                let nanos = time
                    .in_calendar(*calendar)
                    .ok_or_else(|| no_day(calendar))?
                    .nanos();
                both(Value::Integer(nanos))
            }
            (Values::Times { calendar, .. }, Label::Text(text)) => {
                let parsed = ParsedTime::parse(text).map_err(|what| {
                    self.error(format!("has times, and {text:?} is not one: {what}"))
                })?;
                let first =
                    Time::from_parsed(&parsed, *calendar).ok_or_else(|| no_day(calendar))?;
                let end = parsed.end(*calendar).ok_or_else(|| no_day(calendar))?;
                Ok((Value::Integer(first.nanos()), Value::Integer(end - 1)))
            }
            (Values::Texts(_), Label::Text(text)) => both(Value::Text(text)),
            (values, label) => {
                let what = match values {
                    Values::Numbers { .. } | Values::Integers(_) => "numbers",
                    Values::Times { .. } => "times",
                    Values::Texts(_) => "texts",
                };
                Err(self.error(format!("has {what}, and {} is none", shown(label))))
            }
        }
    }
}

/// A label, rounded as the values of a coordinate are.
fn rounded(number: f64, is_single: bool) -> Value<'static> {
    Value::Number(if is_single {
        f64::from(number as f32)
    } else {
        number
    })
}

/// A number in [`QUARTERS`]. Of its fraction, 1 stands for less than a half, 2 for a half and 3 for
/// more.
fn quarters(number: f64) -> i128 {
    // No stored integer is out of these bounds.
    let number = number.clamp(-1e30, 1e30);
    let whole = number.floor();
    let fraction = number - whole;
    let of_fraction = if fraction == 0.0 {
        0
    } else if fraction < 0.5 {
        1
    } else if fraction == 0.5 {
        2
    } else {
        3
    };
    whole as i128 * QUARTERS + of_fraction
}

fn is_less(one: &Value<'_>, other: &Value<'_>) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one < other,
        (Value::Integer(one), Value::Integer(other)) => one < other,
        (Value::Text(one), Value::Text(other)) => one < other,
        _ => false,
    }
}

fn shown(label: &Label) -> String {
    match label {
        Label::Integer(integer) => integer.to_string(),
        Label::Number(number) => number.to_string(),
        Label::Time(time) => time.to_string(),
        Label::Text(text) => format!("{text:?}"),
    }
}
