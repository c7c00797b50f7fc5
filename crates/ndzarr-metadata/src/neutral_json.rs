//! The JSON that users see of neutral values, whatever the format: that of Zarr v3.

use ndzarr_model::{CodecSpec, DataType, FillValue};
use serde_json::Value;

use crate::{MetadataError, json, v3};

/// A fill value in the form of Zarr v3 for its type: `7`, `"NaN"`, `"0x7fc00001"`, `[1.0, 0.0]` …
#[must_use]
pub fn fill_value_json(data_type: &DataType, fill_value: &FillValue) -> Value {
    v3::fill::write(data_type, fill_value)
}

/// A data type in the form of Zarr v3: its name, or an object of name and configuration. Types that v3 does not have look
/// alike: `json`, `object`, `vlen-array` with its `data_type`, structures with the `shape` of sub-arrays and with padding
/// as fields without a name.
#[must_use]
pub fn data_type_json(data_type: &DataType) -> Value {
    v3::dtype::write_neutral(data_type)
}

/// The data type that JSON as of [`data_type_json`] stands for.
///
/// # Errors
/// It stands for none.
pub fn parse_data_type_json(value: &Value) -> Result<DataType, MetadataError> {
    v3::dtype::parse_neutral("data type", value)
}

/// The value that JSON text is, be there tokens like `NaN` in it, as Python writes them.
///
/// # Errors
/// The text is no JSON.
pub fn parse_json(text: &[u8]) -> Result<Value, MetadataError> {
    json::parse("value", text, json::NonFinite::Accept)
}

/// The fill value that JSON in the form of Zarr v3 stands for.
///
/// # Errors
/// The JSON is no value of the type.
pub fn parse_fill_value_json(data_type: &DataType, value: &Value) -> Result<FillValue, MetadataError> {
    v3::fill::parse("fill value", data_type, &value.into())
}

/// A chain of codecs in the form of Zarr v3, for elements of this type. Codecs that v3 does not know have names of
/// their own: `numcodecs.<id>`, `n5_block`.
#[must_use]
pub fn codecs_json(codecs: &[CodecSpec], data_type: &DataType) -> Value {
    Value::Array(v3::codecs::write(codecs, data_type))
}

/// The number that an attribute holds, be it one of the tokens `NaN`, `Infinity` and `-Infinity` that Python writes.
/// Those are kept as numbers of that text, for which [`Value::as_f64`] has no answer.
#[must_use]
pub fn attribute_f64(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => json::non_finite(number).or_else(|| number.as_f64()),
        _ => None,
    }
}

/// A value with the tokens `NaN`, `Infinity` and `-Infinity` turned into strings, so that it can be shown as standard
/// JSON. With them in it, `serde_json::to_value` and the macro `json!` fail.
#[must_use]
pub fn standard_json(value: Value) -> Value {
    match value {
        Value::Number(number) if json::non_finite(&number).is_some() => Value::String(number.to_string()),
        Value::Array(items) => items.into_iter().map(standard_json).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, standard_json(value))).collect()
        }
        other => other,
    }
}
