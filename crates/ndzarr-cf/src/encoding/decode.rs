//! Decodes stored elements.

use ndzarr::ndarray::{ArrayD, Ix0};
use ndzarr::{AnyElements, Cast, DataType, Datetime64, Number, Timedelta64, for_each_type};

use crate::encoding::{DecodedAs, Encoding, Meaning, ValidRange, with_other_sign};
use crate::error::{Error, Result};
use crate::time::Time;
use crate::time::calendar::Calendar;
use crate::time::time_units::{TimeUnits, unit_nanos};

impl Encoding {
    /// Elements as xarray shows them; numbers outside the valid range are missing.
    pub(crate) fn decode(
        &self,
        elements: AnyElements,
        valid: Option<ValidRange>,
        variable: &str,
    ) -> Result<AnyElements> {
        match &self.meaning {
            Meaning::Stored if valid.is_none() => Ok(elements),
            Meaning::Stored | Meaning::Numbers => {
                Ok(self.numbers(elements, self.decoded_as(valid.is_some()), valid))
            }
            Meaning::Bools => {
                for_each_type!(elements, |array: Number| Ok(array.mapv(is_true).into()), other => Ok(other))
            }
            Meaning::Texts => texts(elements, variable),
            Meaning::Times(units) => {
                let times = self.times_of(units, elements, variable)?;
                let mut nanos = ArrayD::from_elem(times.raw_dim(), Datetime64::NAT);
                for (to, time) in nanos.iter_mut().zip(&times) {
                    let Some(time) = time else { continue };
                    if !units.is_datetime64(time.nanos()) {
                        let what =
                            format!("has the time {time:?}, which only read_times can return");
                        return Err(Error::variable(variable, what));
                    }
                    *to = Datetime64(i64::try_from(time.nanos()).unwrap_or(i64::MIN));
                }
                Ok(nanos.into())
            }
            Meaning::Durations(unit, data_type) => {
                self.durations(*unit, data_type, elements, variable)
            }
        }
    }

    /// The type of the elements that [`decode`](Self::decode) returns with this range.
    pub(crate) fn decoded_type(&self, valid: Option<ValidRange>) -> DataType {
        match &self.meaning {
            Meaning::Bools => DataType::Bool,
            Meaning::Texts => DataType::String,
            Meaning::Times(_) => DataType::DateTime64 {
                unit: ndzarr::TimeUnit::Nanosecond,
                scale: 1,
            },
            Meaning::Durations(_, data_type) => data_type.clone(),
            Meaning::Stored | Meaning::Numbers => match self.decoded_as(valid.is_some()) {
                DecodedAs::Stored => self.in_memory(),
                DecodedAs::Float32 => DataType::Float { bits: 32 },
                DecodedAs::Float64 => DataType::Float { bits: 64 },
            },
        }
    }

    /// Times; `None` for missing ones.
    pub(crate) fn times(
        &self,
        elements: AnyElements,
        variable: &str,
    ) -> Result<ArrayD<Option<Time>>> {
        match (&self.meaning, elements) {
            (Meaning::Times(units), elements) => self.times_of(units, elements, variable),
            (Meaning::Stored, AnyElements::DateTime64(array)) => {
                let time =
                    |element: &Datetime64| Ok(element.to_datetime(&self.stored)?.map(Time::from));
                let times = array.iter().map(time).collect::<Result<Vec<_>>>()?;
                Ok(ArrayD::from_shape_vec(array.raw_dim(), times).expect("one for each element"))
            }
            _ => Err(Error::variable(
                variable,
                "has no times: no attribute \"units\" with \"since\"",
            )),
        }
    }

    fn times_of(
        &self,
        units: &TimeUnits,
        elements: AnyElements,
        variable: &str,
    ) -> Result<ArrayD<Option<Time>>> {
        let out_of_range = |count: &dyn std::fmt::Display| {
            Error::attribute(
                variable,
                "units",
                format!("has no time for the count {count}"),
            )
        };
        let shape = elements.shape().to_vec();
        let times: Result<Vec<Option<Time>>> = if self.has_integers() {
            let counts = self
                .whole_counts(elements)
                .map_err(|error| out_of_range(&error))?;
            let time = |count| units.time(count).ok_or_else(|| out_of_range(&count));
            counts
                .into_iter()
                .map(|count| count.map(time).transpose())
                .collect()
        } else {
            let counts = self
                .numbers(elements, DecodedAs::Float64, None)
                .cast::<f64>(Cast::Checked)?;
            let time = |&count: &f64| {
                if count.is_nan() {
                    return Ok(None);
                }
                units
                    .time_at(count)
                    .map(Some)
                    .ok_or_else(|| out_of_range(&count))
            };
            counts.iter().map(time).collect()
        };
        Ok(ArrayD::from_shape_vec(shape, times?).expect("one for each element"))
    }

    fn durations(
        &self,
        unit: i128,
        data_type: &DataType,
        elements: AnyElements,
        variable: &str,
    ) -> Result<AnyElements> {
        let DataType::TimeDelta64 { unit: step, .. } = data_type else {
            return Ok(elements);
        };
        // The units of NumPy have the names that `unit_nanos` knows.
        let step = unit_nanos(&format!("{step:?}"), Calendar::Standard).unwrap_or(1);
        let out_of_range = || {
            Error::attribute(
                variable,
                "units",
                "has counts that are out of range of durations",
            )
        };
        let shape = elements.shape().to_vec();
        let durations: Result<Vec<Timedelta64>> = if self.has_integers() {
            let counts = self.whole_counts(elements).map_err(|_| out_of_range())?;
            let duration = |count: Option<i64>| {
                let Some(count) = count else {
                    return Ok(Timedelta64::NAT);
                };
                let steps = i128::from(count) * unit / step;
                i64::try_from(steps)
                    .map(Timedelta64)
                    .map_err(|_| out_of_range())
            };
            counts.into_iter().map(duration).collect()
        } else {
            let counts = self
                .numbers(elements, DecodedAs::Float64, None)
                .cast::<f64>(Cast::Checked)?;
            let duration = |&count: &f64| {
                if count.is_nan() {
                    return Ok(Timedelta64::NAT);
                }
                let steps = count * unit as f64 / step as f64;
                if steps.abs() < 9.2e18 {
                    Ok(Timedelta64(steps as i64))
                } else {
                    Err(out_of_range())
                }
            };
            counts.iter().map(duration).collect()
        };
        Ok(ArrayD::from_shape_vec(shape, durations?)
            .expect("one for each element")
            .into())
    }

    /// Counts of times or durations that are integers; `None` for missing ones.
    fn whole_counts(&self, elements: AnyElements) -> ndzarr::Result<Vec<Option<i64>>> {
        let (elements, is_missing) = self.without_missing(elements);
        let counts = elements.cast::<i64>(Cast::Checked)?;
        let count = |(&count, is_missing): (&i64, bool)| {
            (!is_missing && count != i64::MIN).then_some(count)
        };
        Ok(counts.iter().zip(is_missing).map(count).collect())
    }

    /// Numbers that are integers in memory; `None` for missing ones.
    pub(crate) fn integers(&self, elements: AnyElements) -> Result<Vec<Option<i128>>> {
        let (elements, is_missing) = self.without_missing(elements);
        let integers: Vec<i128> = match elements {
            AnyElements::UInt64(array) => array.into_iter().map(i128::from).collect(),
            elements => {
                let array = elements.cast::<i64>(Cast::Checked)?;
                array.into_iter().map(i128::from).collect()
            }
        };
        let integer = |(integer, is_missing): (i128, bool)| (!is_missing).then_some(integer);
        Ok(integers.into_iter().zip(is_missing).map(integer).collect())
    }

    /// Numbers in memory, with 0 for missing ones, and which of them are missing. These are found
    /// among the stored elements, since they may be out of range of counts.
    fn without_missing(&self, elements: AnyElements) -> (AnyElements, Vec<bool>) {
        let elements = if self.other_sign {
            with_other_sign(elements, &self.stored)
        } else {
            elements
        };
        let mut is_missing = Vec::new();
        let elements = for_each_type!(elements, |array: Number| {
            let missing = self.missing_as();
            is_missing.extend(array.iter().map(|number| missing.contains(number)));
            array.mapv_into(|number| if missing.contains(&number) { nearest(0.0) } else { number }).into()
        }, other => other);
        (elements, is_missing)
    }

    /// Numbers, unpacked, with NaN for missing ones.
    fn numbers(
        &self,
        elements: AnyElements,
        decoded_as: DecodedAs,
        valid: Option<ValidRange>,
    ) -> AnyElements {
        let elements = if self.other_sign {
            with_other_sign(elements, &self.stored)
        } else {
            elements
        };
        let is_stored =
            decoded_as == DecodedAs::Stored && !self.is_packed() && self.missing.is_empty();
        if is_stored && valid.is_none() {
            return elements;
        }
        for_each_type!(elements, |array: Number| self.numbers_of(array, decoded_as, valid), other => other)
    }

    fn numbers_of<S: Number>(
        &self,
        array: ArrayD<S>,
        decoded_as: DecodedAs,
        valid: Option<ValidRange>,
    ) -> AnyElements
    where
        AnyElements: From<ArrayD<S>>,
    {
        match decoded_as {
            DecodedAs::Stored => self.unpacked::<S, S>(array, valid).into(),
            DecodedAs::Float32 => self.unpacked::<S, f32>(array, valid).into(),
            DecodedAs::Float64 => self.unpacked::<S, f64>(array, valid).into(),
        }
    }

    /// Computes in `F`, as NumPy does: each step is computed in f64 and rounded to `F`, which gives
    /// the same result.
    fn unpacked<S: Number, F: Number>(
        &self,
        array: ArrayD<S>,
        valid: Option<ValidRange>,
    ) -> ArrayD<F> {
        let missing = self.missing_as::<S>();
        let nan = nearest::<F>(f64::NAN);
        let scale = self.scale.map(|scale| nearest::<F>(scale).to_f64());
        let offset = self.offset.map(|offset| nearest::<F>(offset).to_f64());
        let is_valid =
            |number: f64| valid.is_none_or(|range| !(number < range.min || number > range.max));
        let of_unpacked = valid.is_some_and(|range| range.of_unpacked);
        array.mapv_into_any(|stored: S| {
            if missing.contains(&stored) || !of_unpacked && !is_valid(stored.to_f64()) {
                return nan;
            }
            let mut number = nearest::<F>(stored.to_f64());
            if let Some(scale) = scale {
                number = nearest(number.to_f64() * scale);
            }
            if let Some(offset) = offset {
                number = nearest(number.to_f64() + offset);
            }
            if of_unpacked && !is_valid(number.to_f64()) {
                nan
            } else {
                number
            }
        })
    }

    /// The numbers that mark missing elements, as far as the type `S` has them.
    pub(super) fn missing_as<S: Number>(&self) -> Vec<S> {
        let is_integer = nearest::<S>(0.5).to_f64() != 0.5;
        let to_type = |number: &AnyElements<Ix0>| {
            let exact = number.cast::<f64>(Cast::Saturating).ok()?[()];
            let cast = number.cast::<S>(Cast::Checked).ok()?[()];
            (!is_integer || exact.fract() == 0.0).then_some(cast)
        };
        self.missing.iter().filter_map(to_type).collect()
    }
}

pub(crate) fn nearest<F: Number>(float: f64) -> F {
    F::from_f64(float, Cast::Saturating).expect("a saturating cast always has a result")
}

fn is_true<S: Number>(number: S) -> bool {
    number.to_f64() != 0.0
}

fn texts(elements: AnyElements, variable: &str) -> Result<AnyElements> {
    let AnyElements::Bytes(array) = elements else {
        return Ok(elements);
    };
    let text = |bytes: &Vec<u8>| {
        let what = "says that the elements are text, but they are not UTF-8";
        String::from_utf8(bytes.clone()).map_err(|_| Error::attribute(variable, "_Encoding", what))
    };
    let texts = array.iter().map(text).collect::<Result<Vec<_>>>()?;
    Ok(ArrayD::from_shape_vec(array.raw_dim(), texts)
        .expect("one for each element")
        .into())
}
