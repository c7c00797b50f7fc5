//! The JSON that users see of neutral values, whatever the format: that of Zarr v3.

use ndzarr_model::{CodecSpec, DataType, FillValue};
use serde_json::Value;

use crate::{MetadataError, v3};

/// A fill value in the form of Zarr v3 for its type: `7`, `"NaN"`, `"0x7fc00001"`, `[1.0, 0.0]` …
#[must_use]
pub fn fill_value_json(data_type: &DataType, fill_value: &FillValue) -> Value {
    v3::fill::write(data_type, fill_value)
}

/// The fill value that JSON in the form of Zarr v3 stands for.
///
/// # Errors
/// The JSON is no value of the type.
pub fn parse_fill_value_json(data_type: &DataType, value: &Value) -> Result<FillValue, MetadataError> {
    v3::fill::parse("fill value", data_type, value)
}

/// A chain of codecs in the form of Zarr v3, for elements of this type. Codecs that v3 does not know have names of
/// their own: `numcodecs.<id>`, `n5_block`.
#[must_use]
pub fn codecs_json(codecs: &[CodecSpec], data_type: &DataType) -> Value {
    Value::Array(v3::codecs::write(codecs, data_type))
}
