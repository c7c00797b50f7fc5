//! Neutral values as JSON for users, in the form of Zarr v3 whatever the format.

use ndzarr_model::{CodecSpec, DataType, FillValue};
use serde_json::Value;

use crate::json::Json;
use crate::shared::fill;
use crate::{MetadataError, json, v3};

/// A fill value in the form of Zarr v3 for its type: `7`, `"NaN"`, `"0x7fc00001"`, `[1.0, 0.0]` …
#[must_use]
pub fn fill_value_json(data_type: &DataType, fill_value: &FillValue) -> Value {
    fill::write(data_type, fill_value).to_value()
}

/// A data type in the form of Zarr v3: its name, or an object with name and configuration. Types
/// that v3 does not have take a similar form: `json`, `object`, `vlen-array` with its `data_type`,
/// structures with the `shape` of sub-arrays and with padding as fields without a name.
#[must_use]
pub fn data_type_json(data_type: &DataType) -> Value {
    v3::dtype::write_neutral(data_type).to_value()
}

/// Parses a data type from the JSON of [`data_type_json`].
///
/// # Errors
/// It is not a data type.
pub fn parse_data_type_json(value: &Value) -> Result<DataType, MetadataError> {
    v3::dtype::parse_neutral("data type", &value.into())
}

/// Parses JSON that may contain the tokens `NaN`, `Infinity` and `-Infinity`, as Python writes
/// them.
///
/// 64-bit integers are exact; other numbers are the nearest `f64`. The tokens, and numbers too
/// large for an `f64`, become the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. An unpaired
/// surrogate becomes U+FFFD.
///
/// # Errors
/// The text is not JSON.
pub fn parse_json(text: &[u8]) -> Result<Value, MetadataError> {
    json::parse_value("value", text, json::NonFinite::Accept)
}

/// Parses a fill value from JSON in the form of Zarr v3.
///
/// # Errors
/// The JSON is not a value of the type.
pub fn parse_fill_value_json(
    data_type: &DataType,
    value: &Value,
) -> Result<FillValue, MetadataError> {
    fill::parse("fill value", data_type, &value.into())
}

/// A chain of codecs in the form of Zarr v3, for elements of this type. Codecs that v3 does not
/// know get names such as `numcodecs.<id>` or `n5_block`.
#[must_use]
pub fn codecs_json(codecs: &[CodecSpec], data_type: &DataType) -> Value {
    Json::Array(v3::codecs::write(codecs, data_type)).to_value()
}

/// The number in an attribute, which may be a string where JSON has no number: `"NaN"`,
/// `"Infinity"`, `"-Infinity"`.
#[must_use]
pub fn attribute_f64(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        _ => value.as_f64(),
    }
}
