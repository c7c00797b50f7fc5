//! `Encoding`: the meaning of the stored elements of a variable, from its attributes.

mod decode;
mod encode;

use ndzarr::ndarray::Ix0;
use ndzarr::{AnyArray, AnyElements, Cast, DataType, Format, TimeUnit};
use serde_json::{Map, Value};

use crate::attributes::{Attributes, Number, fill_value, shown};
use crate::error::Result;
use crate::time::calendar::Calendar;
use crate::time::time_units::{TimeUnits, unit_nanos};

/// How the elements of a variable are stored.
#[derive(Clone, Debug)]
pub(crate) struct Encoding {
    pub(crate) stored: DataType,
    /// True if `_Unsigned` says that the bits are those of integers of the other signedness.
    pub(crate) other_sign: bool,
    /// The numbers that mark missing elements, except for NaN.
    pub(crate) missing: Vec<AnyElements<Ix0>>,
    /// True if there is a `_FillValue` or `missing_value`, which may be NaN.
    states_missing: bool,
    /// The element that is written for missing ones.
    pub(crate) fill: Option<AnyElements<Ix0>>,
    pub(crate) scale: Option<f64>,
    pub(crate) offset: Option<f64>,
    pub(crate) meaning: Meaning,
}

/// The meaning of the stored elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// The elements as they are stored.
    Stored,
    /// Numbers that are packed, or some of which may be missing.
    Numbers,
    /// `dtype: "bool"`.
    Bools,
    /// UTF-8, by `_Encoding`.
    Texts,
    Times(TimeUnits),
    /// Counts of a unit in nanoseconds, and the type that they have in memory.
    Durations(i128, DataType),
}

/// The type of decoded numbers, by the rules of xarray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecodedAs {
    Stored,
    Float32,
    Float64,
}

const KNOWN_CALENDARS: &str = "standard, proleptic_gregorian, julian, noleap, all_leap and 360_day";

impl Encoding {
    /// The encoding of an array.
    pub(crate) fn of(
        array: &AnyArray,
        variable: &str,
        attributes: &Map<String, Value>,
    ) -> Result<Self> {
        let fill_is_missing =
            array.format() == Format::Zarr2 && array.spec().fill_value.is_defined();
        let attributes = Attributes {
            variable,
            all: attributes,
        };
        Self::new(
            array.data_type(),
            attributes,
            fill_is_missing.then(|| array.fill_value()),
        )
    }

    /// The encoding of elements with these attributes. xarray takes the fill value of Zarr v2 for
    /// `_FillValue`.
    pub(crate) fn new(
        stored: &DataType,
        attributes: Attributes<'_>,
        zarr2_fill: Option<AnyElements<Ix0>>,
    ) -> Result<Self> {
        let mut encoding = Self {
            stored: stored.clone(),
            other_sign: false,
            missing: Vec::new(),
            states_missing: false,
            fill: None,
            scale: None,
            offset: None,
            meaning: Meaning::Stored,
        };
        if !is_number(stored) {
            if matches!(stored, DataType::Bytes | DataType::FixedBytes { .. })
                && attributes.get("_Encoding").is_some()
            {
                encoding.meaning = Meaning::Texts;
            }
            return Ok(encoding);
        }
        encoding.scale = attributes.finite("scale_factor")?;
        if encoding.scale == Some(0.0) {
            return Err(attributes.error("scale_factor", "is 0"));
        }
        encoding.offset = attributes.finite("add_offset")?;
        encoding.other_sign = other_sign(stored, attributes)?;
        let fill = match zarr2_fill {
            Some(fill) => Some(fill),
            None => fill_value(attributes, stored)?.map(|number| number.to_element()),
        };
        // `_FillValue` has the stored bits, `missing_value` the numbers in memory.
        let fill = fill.map(|fill| encoding.number_of_bits(fill));
        let missing = attributes
            .numbers("missing_value")?
            .into_iter()
            .map(|number| number.to_element());
        let missing: Vec<_> = fill.iter().cloned().chain(missing).collect();
        encoding.states_missing = !missing.is_empty();
        encoding.fill = missing.first().cloned();
        encoding.missing = missing
            .into_iter()
            .filter(|number| !to_f64(number).is_nan())
            .collect();
        encoding.meaning = encoding.meaning_of_numbers(attributes)?;
        Ok(encoding)
    }

    fn meaning_of_numbers(&self, attributes: Attributes<'_>) -> Result<Meaning> {
        let dtype = attributes.text("dtype");
        if dtype == Some("bool") {
            return Ok(Meaning::Bools);
        }
        let units = attributes.text("units");
        if units.is_some_and(|units| units.contains(" since ")) {
            let calendar = calendar(attributes)?;
            match units.and_then(|units| TimeUnits::parse(units, calendar)) {
                Some(Ok(units)) => return Ok(Meaning::Times(units)),
                Some(Err(what)) => return Err(attributes.error("units", what)),
                None => {}
            }
        }
        if let Some(units) = units.filter(|units| units.ends_with('s'))
            && let Some(unit) = unit_nanos(units, Calendar::Standard)
            && let Some(data_type) = dtype.and_then(duration_type)
        {
            return Ok(Meaning::Durations(unit, data_type));
        }
        let is_plain = !self.is_packed() && self.missing.is_empty() && !self.other_sign;
        Ok(if is_plain {
            Meaning::Stored
        } else {
            Meaning::Numbers
        })
    }

    /// The number in memory for an integer with these stored bits.
    fn number_of_bits(&self, number: AnyElements<Ix0>) -> AnyElements<Ix0> {
        let is_whole = to_f64(&number).fract() == 0.0;
        if self.other_sign && is_whole {
            with_other_sign(number, &self.stored)
        } else {
            number
        }
    }

    pub(crate) fn is_packed(&self) -> bool {
        self.scale.is_some() || self.offset.is_some()
    }

    /// True if the numbers are integers in memory, or counts of times and durations are.
    pub(crate) fn has_integers(&self) -> bool {
        matches!(self.stored, DataType::Int { .. } | DataType::UInt { .. }) && !self.is_packed()
    }

    /// The type of numbers in memory. A factor in JSON is a float64 for xarray, and so are the
    /// numbers; without one, integers of up to 16 bits become float32.
    pub(crate) fn decoded_as(&self, with_missing: bool) -> DecodedAs {
        let is_float = !matches!(self.stored, DataType::Int { .. } | DataType::UInt { .. });
        let is_time = matches!(self.meaning, Meaning::Times(_) | Meaning::Durations(..));
        if self.is_packed() {
            let only_nan = is_float && self.states_missing && self.missing.is_empty() && !is_time;
            return if only_nan {
                DecodedAs::Stored
            } else {
                DecodedAs::Float64
            };
        }
        if is_float || self.missing.is_empty() && !with_missing {
            return DecodedAs::Stored;
        }
        match self.stored {
            DataType::Int { bits: ..=16 } | DataType::UInt { bits: ..=16 } => DecodedAs::Float32,
            _ => DecodedAs::Float64,
        }
    }
}

/// The range outside which numbers are missing, by the conventions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ValidRange {
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// True if it is a range of the numbers in memory, not of the stored ones.
    pub(crate) of_unpacked: bool,
}

impl ValidRange {
    /// From `valid_range`, or `valid_min` and `valid_max`, which have the stored bits. For packed
    /// integers, floats are in the unit of the unpacked numbers.
    pub(crate) fn of(attributes: Attributes<'_>, encoding: &Encoding) -> Result<Option<Self>> {
        let (min, max) = match &attributes.numbers("valid_range")?[..] {
            [] if attributes.get("valid_range").is_none() => (
                attributes.number("valid_min")?,
                attributes.number("valid_max")?,
            ),
            [min, max] => (Some(*min), Some(*max)),
            numbers => {
                return Err(attributes.error(
                    "valid_range",
                    format!("has {} numbers, not two", numbers.len()),
                ));
            }
        };
        if min.is_none() && max.is_none() {
            return Ok(None);
        }
        let is_integer = matches!(
            encoding.stored,
            DataType::Int { .. } | DataType::UInt { .. }
        );
        let any_float = [min, max]
            .into_iter()
            .flatten()
            .any(|number| number.is_float());
        let of_unpacked = is_integer && any_float && encoding.is_packed();
        let bound = |number: Number| {
            if of_unpacked {
                number.to_f64()
            } else {
                to_f64(&encoding.number_of_bits(number.to_element()))
            }
        };
        Ok(Some(Self {
            min: min.map_or(f64::NEG_INFINITY, bound),
            max: max.map_or(f64::INFINITY, bound),
            of_unpacked,
        }))
    }
}

fn to_f64(number: &AnyElements<Ix0>) -> f64 {
    number
        .cast::<f64>(Cast::Saturating)
        .map_or(f64::NAN, |float| float[()])
}

pub(crate) fn is_number(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int { .. }
            | DataType::UInt { .. }
            | DataType::Float { .. }
            | DataType::BFloat16
            | DataType::SmallFloat(_)
    )
}

/// The calendar of times; the standard one if none is stated.
fn calendar(attributes: Attributes<'_>) -> Result<Calendar> {
    let Some(value) = attributes.get("calendar") else {
        return Ok(Calendar::Standard);
    };
    value.as_str().and_then(Calendar::named).ok_or_else(|| {
        let what = format!("is {}, not one of {KNOWN_CALENDARS}", shown(value));
        attributes.error("calendar", what)
    })
}

/// True if the stored bits are those of integers of the other signedness.
fn other_sign(stored: &DataType, attributes: Attributes<'_>) -> Result<bool> {
    let Some(value) = attributes.get("_Unsigned") else {
        return Ok(false);
    };
    let is_unsigned = match value {
        Value::Bool(is_unsigned) => *is_unsigned,
        Value::String(text) if text.eq_ignore_ascii_case("true") => true,
        Value::String(text) if text.eq_ignore_ascii_case("false") => false,
        _ => {
            return Err(attributes.error(
                "_Unsigned",
                format!("is {}, not \"true\" or \"false\"", shown(value)),
            ));
        }
    };
    Ok(match stored {
        DataType::Int { bits: 8.. } => is_unsigned,
        DataType::UInt { bits: 8.. } => !is_unsigned,
        _ => false,
    })
}

/// The integers with the same bits and the other signedness; other elements as they are.
pub(crate) fn with_other_sign<D: ndzarr::ndarray::Dimension>(
    elements: AnyElements<D>,
    stored: &DataType,
) -> AnyElements<D> {
    macro_rules! cast {
        ($($variant:ident $bits:literal: $from:ty => $to:ty),* $(,)?) => {
            match stored {
                $(DataType::$variant { bits: $bits } => match elements.cast::<$from>(Cast::Checked) {
                    Ok(array) => array.mapv(|number| number as $to).into(),
                    Err(_) => elements,
                },)*
                _ => elements,
            }
        };
    }
    cast!(
        Int 8: i8 => u8, Int 16: i16 => u16, Int 32: i32 => u32, Int 64: i64 => u64,
        UInt 8: u8 => i8, UInt 16: u16 => i16, UInt 32: u32 => i32, UInt 64: u64 => i64,
    )
}

/// The type that `dtype: "timedelta64[s]"` names.
fn duration_type(dtype: &str) -> Option<DataType> {
    let unit = match dtype.strip_prefix("timedelta64[")?.strip_suffix(']')? {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        "ns" => TimeUnit::Nanosecond,
        _ => return None,
    };
    Some(DataType::TimeDelta64 { unit, scale: 1 })
}
