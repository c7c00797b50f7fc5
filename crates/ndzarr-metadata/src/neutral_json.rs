//! The JSON that users see of neutral values, whatever the format: that of Zarr v3.

use ndzarr_model::{CodecSpec, DataType, FillValue};
use serde_json::Value;

use crate::json::Json;
use crate::{MetadataError, json, v3};

/// A fill value in the form of Zarr v3 for its type: `7`, `"NaN"`, `"0x7fc00001"`, `[1.0, 0.0]` …
#[must_use]
pub fn fill_value_json(data_type: &DataType, fill_value: &FillValue) -> Value {
    v3::fill::write(data_type, fill_value).to_value()
}

/// A data type in the form of Zarr v3: its name, or an object of name and configuration. Types that v3 does not have look
/// alike: `json`, `object`, `vlen-array` with its `data_type`, structures with the `shape` of sub-arrays and with padding
/// as fields without a name.
#[must_use]
pub fn data_type_json(data_type: &DataType) -> Value {
    v3::dtype::write_neutral(data_type).to_value()
}

/// The data type that JSON as of [`data_type_json`] stands for.
///
/// # Errors
/// It stands for none.
pub fn parse_data_type_json(value: &Value) -> Result<DataType, MetadataError> {
    v3::dtype::parse_neutral("data type", &value.into())
}

/// The value that JSON text stands for, which may have the tokens `NaN`, `Infinity` and `-Infinity` in it, as Python writes them.
///
/// Integers of 64 bits are exact; other numbers are the nearest `f64`. The tokens, and numbers too large for an `f64`, become the
/// strings `"NaN"`, `"Infinity"` and `"-Infinity"`. Half a surrogate pair becomes U+FFFD.
///
/// # Errors
/// The text is no JSON.
pub fn parse_json(text: &[u8]) -> Result<Value, MetadataError> {
    json::parse_value("value", text, json::NonFinite::Accept)
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
    Json::Array(v3::codecs::write(codecs, data_type)).to_value()
}

/// The number that an attribute holds, which is a string where JSON has no number for it: `"NaN"`, `"Infinity"`, `"-Infinity"`.
#[must_use]
pub fn attribute_f64(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        _ => value.as_f64(),
    }
}
