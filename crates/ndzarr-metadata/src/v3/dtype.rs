use ndzarr_model::DataType;
use serde_json::Value;

use crate::MetadataError;
use crate::chunk_grid::MAX_RAW_BYTES;
use crate::json::as_u64;
use crate::v3::extension::Extension;

/// Reads the `data_type` of a document (V3-012, V3-053, V3-061).
pub(crate) fn parse(key: &str, value: &Value) -> Result<DataType, MetadataError> {
    let extension = Extension::parse(key, "data_type", value)?;
    let mut configuration = extension.configuration(key, "data_type");
    let data_type = match extension.name {
        "complex_float32" => DataType::Complex { bits: 64 },
        "complex_float64" => DataType::Complex { bits: 128 },
        "raw_bytes" => DataType::Raw {
            bytes: configuration.required("length_bytes", "a positive integer", |value| {
                as_u64(value).and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0)
            })?,
        },
        name => match DataType::from_name(name) {
            Some(data_type) => data_type,
            None if is_bit_count(name) => {
                let what = format_args!("data_type {name:?} is not a multiple of 8 bits");
                return Err(MetadataError::invalid(key, what));
            }
            None => return Err(MetadataError::unsupported(key, "data type", name)),
        },
    };
    configuration.end()?;
    if let DataType::Raw { bytes } = data_type
        && bytes > MAX_RAW_BYTES
    {
        let what = format_args!("data_type {data_type} has more than {MAX_RAW_BYTES} bytes per element");
        return Err(MetadataError::invalid(key, what));
    }
    Ok(data_type)
}

/// The `data_type` of a document.
pub(crate) fn write(data_type: &DataType) -> Value {
    Value::String(data_type.to_string())
}

fn is_bit_count(name: &str) -> bool {
    name.strip_prefix('r')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
