//! Encodes elements for storing.

use std::fmt::Display;

use ndzarr::ndarray::{ArrayD, ArrayRef, Dimension, IxDyn};
use ndzarr::{AnyElements, Cast, DataType, Datetime64, Number, for_each_type};

use crate::attributes::FILL_VALUE;
use crate::encoding::decode::nearest;
use crate::encoding::{Encoding, Meaning, with_other_sign};
use crate::error::{Error, Result};
use crate::time::Time;
use crate::time::time_units::TimeUnits;

impl Encoding {
    /// The reverse of [`decode`](Self::decode). Elements that are neither numbers nor texts stay as
    /// they are.
    pub(crate) fn encode(&self, elements: AnyElements, variable: &str) -> Result<AnyElements> {
        match &self.meaning {
            Meaning::Times(_) => Err(Error::variable(
                variable,
                "has times, which write_times writes",
            )),
            Meaning::Durations(..) => Err(Error::variable(
                variable,
                "has durations, which cannot be written",
            )),
            Meaning::Texts => {
                let AnyElements::String(texts) = elements else {
                    return Ok(elements);
                };
                Ok(texts.mapv(String::into_bytes).into())
            }
            Meaning::Stored | Meaning::Bools | Meaning::Numbers => {
                self.stored_numbers(elements, variable)
            }
        }
    }

    /// Times as counts, or as dates of NumPy.
    pub(crate) fn encode_times<T: Clone + Into<Option<Time>>, D: Dimension>(
        &self,
        times: &ArrayRef<T, D>,
        variable: &str,
    ) -> Result<AnyElements> {
        let times = times.map(|time| time.clone().into()).into_dyn();
        match &self.meaning {
            Meaning::Times(units) => self.counts(units, &times, variable),
            Meaning::Stored if matches!(self.stored, DataType::DateTime64 { .. }) => {
                let mut dates = Vec::with_capacity(times.len());
                for time in &times {
                    let date = match time {
                        None => None,
                        Some(time) => Some(time.to_datetime().ok_or_else(|| {
                            Error::variable(variable, format!("cannot have the time {time:?}"))
                        })?),
                    };
                    dates.push(Datetime64::from_datetime(date, &self.stored)?);
                }
                Ok(ArrayD::from_shape_vec(times.raw_dim(), dates)
                    .expect("one for each time")
                    .into())
            }
            _ => Err(Error::variable(
                variable,
                "has no times: no attribute \"units\" with \"since\"",
            )),
        }
    }

    fn counts(
        &self,
        units: &TimeUnits,
        times: &ArrayD<Option<Time>>,
        variable: &str,
    ) -> Result<AnyElements> {
        let count = |time: &Option<Time>| {
            let Some(time) = time else { return Ok(None) };
            let in_calendar = time.in_calendar(units.calendar).ok_or_else(|| {
                Error::variable(
                    variable,
                    format!(
                        "cannot have the time {time:?}: its calendar is {}",
                        units.calendar
                    ),
                )
            })?;
            Ok(Some((in_calendar, units.count(in_calendar))))
        };
        let counts = times.iter().map(count).collect::<Result<Vec<_>>>()?;
        let elements: AnyElements = if self.has_integers() {
            match self.in_memory() {
                // Its fill value may be out of range of int64.
                DataType::UInt { bits: 64 } => {
                    self.whole::<u64>(times.raw_dim(), counts, variable)?.into()
                }
                _ => self.whole::<i64>(times.raw_dim(), counts, variable)?.into(),
            }
        } else {
            let float = |count: Option<(Time, (i128, f64))>| {
                count.map_or(f64::NAN, |(_, (n, rest))| n as f64 + rest)
            };
            let counts = counts.into_iter().map(float).collect();
            ArrayD::from_shape_vec(times.raw_dim(), counts)
                .expect("one for each time")
                .into()
        };
        self.stored_numbers(elements, variable)
    }

    /// Counts as integers. Without a fill value, a missing time in int64 is the least integer, which
    /// is not a time even with one.
    fn whole<T: Number + TryFrom<i128>>(
        &self,
        shape: IxDyn,
        counts: Vec<Option<(Time, (i128, f64))>>,
        variable: &str,
    ) -> Result<ArrayD<T>> {
        let nat = || {
            T::try_from(i64::MIN.into())
                .ok()
                .filter(|_| self.stored == DataType::Int { bits: 64 })
        };
        let fill = self.fill_as::<T>().or_else(nat);
        let mut missing = self.missing_as::<T>();
        missing.extend(nat());
        let whole = |count: Option<(Time, (i128, f64))>| match count {
            None => fill.ok_or_else(|| no_fill(variable)),
            Some((time, (count, 0.0))) => match T::try_from(count) {
                Ok(count) if missing.contains(&count) => {
                    Err(would_be_missing(variable, &time, &count))
                }
                Ok(count) => Ok(count),
                Err(_) => {
                    let what = format!("makes a count of {count}");
                    Err(Error::attribute(variable, "units", what))
                }
            },
            Some((time, _)) => {
                let what = format!(
                    "has a unit that is too large for {time}: the elements are {}",
                    self.stored
                );
                Err(Error::attribute(variable, "units", what))
            }
        };
        let counts = counts.into_iter().map(whole).collect::<Result<Vec<_>>>()?;
        Ok(ArrayD::from_shape_vec(shape, counts).expect("one for each time"))
    }

    /// The type of the elements in memory, before numbers are unpacked.
    pub(super) fn in_memory(&self) -> DataType {
        match self.stored {
            DataType::Int { bits } if self.other_sign => DataType::UInt { bits },
            DataType::UInt { bits } if self.other_sign => DataType::Int { bits },
            ref stored => stored.clone(),
        }
    }

    fn stored_numbers(&self, elements: AnyElements, variable: &str) -> Result<AnyElements> {
        let is_number = for_each_type!(&elements, |_array: Number| true, other => matches!(other, AnyElements::Bool(_)));
        if !is_number {
            return Ok(elements);
        }
        let in_memory = self.in_memory();
        for_each_type!(&in_memory, T: Number => {
            let packed: AnyElements = self.packed::<T>(&elements, variable)?.into();
            Ok(if self.other_sign { with_other_sign(packed, &in_memory) } else { packed })
        }, _ => Ok(elements))
    }

    fn packed<T: Number>(&self, elements: &AnyElements, variable: &str) -> Result<ArrayD<T>> {
        let wrong =
            |error: ndzarr::Error| Error::variable(variable, format!("cannot hold this: {error}"));
        let is_float = for_each_type!(elements, |array: Number| may_be_nan(array), _ => false);
        if !is_float && !self.is_packed() {
            return elements.cast(Cast::Checked).map_err(wrong);
        }
        let fill = self.fill_as::<T>();
        let is_integer = nearest::<T>(0.5).to_f64() != 0.5;
        let scale = self.scale.unwrap_or(1.0);
        let offset = self.offset.unwrap_or(0.0);
        let mut numbers = elements.cast::<f64>(Cast::Checked).map_err(wrong)?;
        let mut missing = Vec::new();
        for (at, number) in numbers.iter_mut().enumerate() {
            *number = (*number - offset) / scale;
            if number.is_nan() {
                missing.push(at);
                *number = 0.0;
            }
        }
        let mut packed = AnyElements::from(numbers)
            .cast::<T>(Cast::Checked)
            .map_err(wrong)?;
        let marks = self.missing_as::<T>();
        let is_hidden = |(at, number): &(usize, &T)| {
            marks.contains(number) && missing.binary_search(at).is_err()
        };
        if let Some((at, stored)) = packed.iter().enumerate().find(is_hidden) {
            let numbers = elements.cast::<f64>(Cast::Checked).map_err(wrong)?;
            let number = numbers.iter().nth(at).copied().unwrap_or_default();
            return Err(would_be_missing(variable, &number, stored));
        }
        let fill = match fill {
            None if is_integer && !missing.is_empty() => return Err(no_fill(variable)),
            fill => fill.unwrap_or_else(|| nearest(f64::NAN)),
        };
        if let Some(elements) = packed.as_slice_mut() {
            for at in missing {
                elements[at] = fill;
            }
        }
        Ok(packed)
    }

    fn fill_as<T: Number>(&self) -> Option<T> {
        Some(self.fill.as_ref()?.cast::<T>(Cast::Checked).ok()?[()])
    }
}

/// The error of an element that would be stored as a number for missing ones.
fn would_be_missing(variable: &str, element: &dyn Display, stored: &dyn Display) -> Error {
    let what = format!(
        "cannot hold {element}: it would be stored as {stored}, which says that an element is missing"
    );
    Error::variable(variable, what)
}

fn no_fill(variable: &str) -> Error {
    Error::attribute(
        variable,
        FILL_VALUE,
        "is needed: there are missing elements to write, and integers have no NaN; the attributes of a \
         variable have it in every format, those that its array stores may not",
    )
}

/// True if the type of the elements has NaN.
fn may_be_nan<T: Number>(_: &ArrayD<T>) -> bool {
    nearest::<T>(0.5).to_f64() == 0.5
}
