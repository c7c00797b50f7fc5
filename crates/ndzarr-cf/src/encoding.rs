//! `Encoding`: what the attributes of a variable say about its stored elements.

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
    /// Integers whose bits are those of the other signedness, by `_Unsigned`.
    pub(crate) other_sign: bool,
    /// The numbers that stand for missing ones; NaN is not among them.
    pub(crate) missing: Vec<AnyElements<Ix0>>,
    /// Whether there is a `_FillValue` or `missing_value`, be it NaN.
    names_missing: bool,
    /// What missing elements are written as.
    pub(crate) fill: Option<AnyElements<Ix0>>,
    pub(crate) scale: Option<f64>,
    pub(crate) offset: Option<f64>,
    pub(crate) meaning: Meaning,
}

/// What the stored elements are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// What they are stored as.
    Stored,
    /// Numbers, packed or with missing ones among them.
    Numbers,
    /// `dtype: "bool"`.
    Bools,
    /// UTF-8, by `_Encoding`.
    Texts,
    Times(TimeUnits),
    /// Counts of a unit in nanoseconds, and the type that they have in memory.
    Durations(i128, DataType),
}

/// The type that numbers become, by the rules of xarray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Becomes {
    Same,
    Float32,
    Float64,
}

const KNOWN: &str = "standard, proleptic_gregorian, julian, noleap, all_leap and 360_day";

impl Encoding {
    /// Of an array.
    pub(crate) fn of(array: &AnyArray, variable: &str, attributes: &Map<String, Value>) -> Result<Self> {
        let is_mask = array.format() == Format::Zarr2 && array.spec().fill_value.is_defined();
        let attributes = Attributes { variable, all: attributes };
        Self::new(array.data_type(), attributes, is_mask.then(|| array.fill_value()))
    }

    /// Of an array with these attributes. xarray takes the fill value of Zarr v2 for `_FillValue`.
    pub(crate) fn new(
        stored: &DataType,
        attributes: Attributes<'_>,
        zarr2_fill: Option<AnyElements<Ix0>>,
    ) -> Result<Self> {
        let mut encoding = Self {
            stored: stored.clone(),
            other_sign: false,
            missing: Vec::new(),
            names_missing: false,
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
            return Err(attributes.wrong("scale_factor", "is 0"));
        }
        encoding.offset = attributes.finite("add_offset")?;
        encoding.other_sign = other_sign(stored, attributes)?;
        let fill = match zarr2_fill {
            Some(fill) => Some(fill),
            None => fill_value(attributes, stored)?.map(|number| number.element()),
        };
        // `_FillValue` has the stored bits, `missing_value` the numbers.
        let fill = fill.map(|fill| encoding.of_stored_bits(fill));
        let missing = attributes.numbers("missing_value")?.into_iter().map(|number| number.element());
        let missing: Vec<_> = fill.iter().cloned().chain(missing).collect();
        encoding.names_missing = !missing.is_empty();
        encoding.fill = missing.first().cloned();
        encoding.missing = missing.into_iter().filter(|number| !to_f64(number).is_nan()).collect();
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
                Some(Err(what)) => return Err(attributes.wrong("units", what)),
                None => {}
            }
        }
        if let Some(unit) =
            units.filter(|units| units.ends_with('s')).and_then(|units| unit_nanos(units, Calendar::Standard))
            && let Some(data_type) = dtype.and_then(duration_type)
        {
            return Ok(Meaning::Durations(unit, data_type));
        }
        let is_plain = !self.is_packed() && self.missing.is_empty() && !self.other_sign;
        Ok(if is_plain { Meaning::Stored } else { Meaning::Numbers })
    }

    /// The number that an integer with these stored bits is in memory.
    fn of_stored_bits(&self, number: AnyElements<Ix0>) -> AnyElements<Ix0> {
        let is_whole = to_f64(&number).fract() == 0.0;
        if self.other_sign && is_whole { other_bits(number, &self.stored) } else { number }
    }

    pub(crate) fn is_packed(&self) -> bool {
        self.scale.is_some() || self.offset.is_some()
    }

    /// Whether times and durations are stored as integers.
    pub(crate) fn has_whole_counts(&self) -> bool {
        matches!(self.stored, DataType::Int { .. } | DataType::UInt { .. }) && !self.is_packed()
    }

    /// The type of numbers in memory. A factor in JSON is a float64 for xarray, and so are the
    /// numbers; without one, integers of up to 16 bits become float32.
    pub(crate) fn becomes(&self, with_missing: bool) -> Becomes {
        let is_float = !matches!(self.stored, DataType::Int { .. } | DataType::UInt { .. });
        let is_time = matches!(self.meaning, Meaning::Times(_) | Meaning::Durations(..));
        if self.is_packed() {
            let only_nan = is_float && self.names_missing && self.missing.is_empty() && !is_time;
            return if only_nan { Becomes::Same } else { Becomes::Float64 };
        }
        if is_float || self.missing.is_empty() && !with_missing {
            return Becomes::Same;
        }
        match self.stored {
            DataType::Int { bits: ..=16 } | DataType::UInt { bits: ..=16 } => Becomes::Float32,
            _ => Becomes::Float64,
        }
    }
}

/// The range outside which the conventions take numbers for missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ValidRange {
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// Whether it is that of the numbers in memory, not of the stored ones.
    pub(crate) of_unpacked: bool,
}

impl ValidRange {
    /// From `valid_range`, or `valid_min` and `valid_max`, which have the stored bits. Floats
    /// beside packed integers are in the unit of the unpacked numbers.
    pub(crate) fn of(attributes: Attributes<'_>, encoding: &Encoding) -> Result<Option<Self>> {
        let (min, max) = match &attributes.numbers("valid_range")?[..] {
            [] if attributes.get("valid_range").is_none() => {
                (attributes.number("valid_min")?, attributes.number("valid_max")?)
            }
            [min, max] => (Some(*min), Some(*max)),
            numbers => {
                return Err(
                    attributes.wrong("valid_range", format!("has {} numbers, not two", numbers.len()))
                );
            }
        };
        if min.is_none() && max.is_none() {
            return Ok(None);
        }
        let is_integer = matches!(encoding.stored, DataType::Int { .. } | DataType::UInt { .. });
        let any_float = [min, max].into_iter().flatten().any(|number| number.is_float());
        let of_unpacked = is_integer && any_float && encoding.is_packed();
        let bound = |number: Number| match of_unpacked {
            true => number.to_f64(),
            false => to_f64(&encoding.of_stored_bits(number.element())),
        };
        Ok(Some(Self {
            min: min.map_or(f64::NEG_INFINITY, bound),
            max: max.map_or(f64::INFINITY, bound),
            of_unpacked,
        }))
    }
}

fn to_f64(number: &AnyElements<Ix0>) -> f64 {
    number.cast::<f64>(Cast::Saturating).map_or(f64::NAN, |float| float[()])
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

/// The calendar of times; the standard one if none is named.
fn calendar(attributes: Attributes<'_>) -> Result<Calendar> {
    let Some(value) = attributes.get("calendar") else { return Ok(Calendar::Standard) };
    value
        .as_str()
        .and_then(Calendar::named)
        .ok_or_else(|| attributes.wrong("calendar", format!("is {}, not one of {KNOWN}", shown(value))))
}

/// Whether integers are to be taken as those of the other signedness.
fn other_sign(stored: &DataType, attributes: Attributes<'_>) -> Result<bool> {
    let Some(value) = attributes.get("_Unsigned") else { return Ok(false) };
    let unsigned = match value {
        Value::Bool(unsigned) => *unsigned,
        Value::String(text) if text.eq_ignore_ascii_case("true") => true,
        Value::String(text) if text.eq_ignore_ascii_case("false") => false,
        _ => {
            return Err(
                attributes.wrong("_Unsigned", format!("is {}, not \"true\" or \"false\"", shown(value)))
            );
        }
    };
    Ok(match stored {
        DataType::Int { bits: 8.. } => unsigned,
        DataType::UInt { bits: 8.. } => !unsigned,
        _ => false,
    })
}

/// The integers with the same bits and the other signedness; others as they are.
pub(crate) fn other_bits<D: ndzarr::ndarray::Dimension>(
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
