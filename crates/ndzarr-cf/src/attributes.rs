//! Numbers and texts in the attributes of a variable, with errors that name both.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ndzarr::ndarray::Ix0;
use ndzarr::{AnyArray, AnyElements, Cast, DataType, for_each_type};
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// The attributes of a variable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes<'a> {
    pub(crate) variable: &'a str,
    pub(crate) all: &'a Map<String, Value>,
}

impl<'a> Attributes<'a> {
    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.all.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn error(&self, key: &str, what: impl Into<String>) -> Error {
        Error::attribute(self.variable, key, what)
    }

    /// A text; `None` also for other values.
    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key).and_then(Value::as_str)
    }

    /// The numbers of a list, or a single number.
    pub(crate) fn numbers(&self, key: &str) -> Result<Vec<Number>> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let list = value
            .as_array()
            .map_or(std::slice::from_ref(value), Vec::as_slice);
        let number = |value: &Value| {
            number(value).ok_or_else(|| {
                self.error(key, format!("is {}, which is not a number", shown(value)))
            })
        };
        list.iter()
            .filter(|value| !value.is_null())
            .map(number)
            .collect()
    }

    /// One number, or a list of one.
    pub(crate) fn number(&self, key: &str) -> Result<Option<Number>> {
        match &self.numbers(key)?[..] {
            [] if self.get(key).is_none() => Ok(None),
            [number] => Ok(Some(*number)),
            numbers => Err(self.error(key, format!("has {} numbers, not one", numbers.len()))),
        }
    }

    /// The factor or the summand of packed numbers.
    pub(crate) fn finite(&self, key: &str) -> Result<Option<f64>> {
        let Some(number) = self.number(key)? else {
            return Ok(None);
        };
        let number = number.to_f64();
        if number.is_finite() {
            return Ok(Some(number));
        }
        Err(self.error(key, format!("is {number}")))
    }
}

/// A number of JSON; integers are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    UInt(u64),
    Float(f64),
}

impl Number {
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::UInt(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::Float(_))
    }

    /// The fill value of an array of numbers.
    pub(crate) fn of_fill(array: &AnyArray) -> Option<Self> {
        let fill = array.fill_value();
        if is_float(array.data_type()) {
            return Some(Self::Float(fill.cast::<f64>(Cast::Checked).ok()?[()]));
        }
        match fill.cast::<i64>(Cast::Checked) {
            Ok(int) => Some(Self::Int(int[()])),
            Err(_) => Some(Self::UInt(fill.cast::<u64>(Cast::Checked).ok()?[()])),
        }
    }

    /// The form of all formats in JSON, which has no NaN.
    pub(crate) fn to_json(self) -> Value {
        match self {
            Self::Int(int) => int.into(),
            Self::UInt(int) => int.into(),
            Self::Float(float) if float.is_finite() => float.into(),
            Self::Float(float) if float.is_nan() => "NaN".into(),
            Self::Float(float) if float > 0.0 => "Infinity".into(),
            Self::Float(_) => "-Infinity".into(),
        }
    }

    pub(crate) fn to_element(self) -> AnyElements<Ix0> {
        match self {
            Self::Int(int) => int.into(),
            Self::UInt(int) => int.into(),
            Self::Float(float) => float.into(),
        }
    }
}

/// A number, or a text that contains one, since JSON has no NaN.
fn number(value: &Value) -> Option<Number> {
    let float = match value {
        Value::Number(number) => {
            let int = number
                .as_i64()
                .map(Number::Int)
                .or_else(|| number.as_u64().map(Number::UInt));
            return int.or_else(|| number.as_f64().map(Number::Float));
        }
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    float.map(Number::Float)
}

/// A value for a message, shortened.
pub(crate) fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// `_FillValue` of formats other than Zarr v2, where xarray stores a float as its eight bytes in
/// base64; `None` for elements that are not real numbers.
pub(crate) fn fill_value(attributes: Attributes<'_>, stored: &DataType) -> Result<Option<Number>> {
    let number = match attributes.get(FILL_VALUE) {
        Some(Value::String(text)) if is_float(stored) => from_base64(text).map(Number::Float),
        _ => None,
    };
    match number {
        Some(number) => Ok(Some(number)),
        None => attributes.number(FILL_VALUE),
    }
}

/// `_FillValue` of formats other than Zarr v2 for a number; the reverse of [`fill_value`].
pub(crate) fn fill_attribute(number: Number, stored: &DataType) -> Value {
    match as_stored(number, stored) {
        number if is_float(stored) => to_base64(number.to_f64()).into(),
        number => number.to_json(),
    }
}

pub(crate) fn is_float(stored: &DataType) -> bool {
    matches!(
        stored,
        DataType::Float { .. } | DataType::BFloat16 | DataType::SmallFloat(_)
    )
}

/// The nearest number of the stored type, if that is a float: xarray compares 1e20 with the float32
/// that is nearest to it, and finds a difference.
fn as_stored(number: Number, stored: &DataType) -> Number {
    let rounded =
        for_each_type!(stored, T: Number => round_to::<T>(number.to_f64()), _ => return number);
    match stored {
        DataType::Int { .. } | DataType::UInt { .. } => number,
        _ => Number::Float(rounded),
    }
}

/// Rounds numbers, or lists of them, to the stored type, if that is a float.
pub(crate) fn round_numbers(value: &mut Value, stored: &DataType) {
    match value {
        Value::Array(list) => {
            for value in list {
                round_numbers(value, stored);
            }
        }
        Value::Number(_) => {
            if let Some(Number::Float(float)) =
                number(value).map(|number| as_stored(number, stored))
            {
                *value = float.into();
            }
        }
        _ => {}
    }
}

/// The nearest number of type `T`.
fn round_to<T: ndzarr::Number>(float: f64) -> f64 {
    T::from_f64(float, Cast::Saturating).map_or(float, ndzarr::Number::to_f64)
}

pub(crate) const FILL_VALUE: &str = "_FillValue";

/// The names of the dimensions, in formats other than Zarr v3.
pub(crate) const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";

fn from_base64(text: &str) -> Option<f64> {
    let bytes = STANDARD.decode(text).ok()?;
    Some(f64::from_le_bytes(bytes.try_into().ok()?))
}

fn to_base64(float: f64) -> String {
    STANDARD.encode(float.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From Python: `base64.standard_b64encode(struct.pack("<d", x))`.
    #[test]
    fn floats_are_those_of_xarray() {
        for (float, text) in [
            (0.0, "AAAAAAAAAAA="),
            (1.5, "AAAAAAAA+D8="),
            (-9999.0, "AAAAAICHw8A="),
            (f64::NAN, "AAAAAAAA+H8="),
            (1e20, "QIy1eB2vFUQ="),
        ] {
            assert_eq!(to_base64(float), text);
            assert_eq!(from_base64(text).map(f64::to_bits), Some(float.to_bits()));
        }
        for text in [
            "",
            "AAAAAAAAAAA",
            "AAAAAAAAAA==",
            "AAAAAAAAAA-=",
            "NaN",
            "AAAAAAAAAAAA",
        ] {
            assert_eq!(from_base64(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_exact_and_may_be_texts() {
        let attributes = serde_json::json!({"a": [i64::MIN, u64::MAX, 0.5, "NaN", null], "b": "x", "c": [1, 2], "d": []});
        let all = attributes.as_object().expect("it is an object");
        let attributes = Attributes { variable: "v", all };
        let numbers = attributes.numbers("a").expect("all are numbers");
        assert_eq!(
            numbers[..3],
            [
                Number::Int(i64::MIN),
                Number::UInt(u64::MAX),
                Number::Float(0.5)
            ]
        );
        assert!(numbers[3].to_f64().is_nan() && numbers.len() == 4);
        let error = attributes
            .numbers("b")
            .expect_err("it is a text")
            .to_string();
        assert_eq!(
            error,
            r#"the attribute "b" of the variable "v" is "x", which is not a number"#
        );
        assert!(attributes.number("c").is_err() && attributes.number("d").is_err());
        assert_eq!(attributes.number("e").expect("there is none"), None);
    }
}
