//! NumPy's spelling of data types (zarr-v2.md section 3).

use ndzarr_model::{DataType, Endian};
use serde_json::Value;

use crate::MetadataError;
use crate::chunk_grid::MAX_RAW_BYTES;
use crate::json::show;

/// Reads a `dtype`: the type, and the stored byte order where it matters.
pub(crate) fn parse(key: &str, value: &Value) -> Result<(DataType, Option<Endian>), MetadataError> {
    let unsupported = || MetadataError::unsupported(key, "data type", show(value));
    let invalid = |what: &str| MetadataError::invalid(key, format_args!("dtype {} {what}", show(value)));
    let text = match value {
        Value::String(text) => text.as_str(),
        Value::Array(_) => return Err(unsupported()),
        _ => return Err(invalid("is neither a string nor a list")),
    };
    // tensorstore's name for a type that NumPy has not (V2-053).
    if text == "bfloat16" {
        return Ok((DataType::BFloat16, Some(Endian::Little)));
    }
    let mut chars = text.chars();
    let endian = match chars.next() {
        Some('<') => Some(Endian::Little),
        Some('>') => Some(Endian::Big),
        Some('|') => None,
        // Names of v3 as tensorstore writes them are known types, if not here; else a byte order is missing.
        _ if text.starts_with("int") || text.starts_with("float") => return Err(unsupported()),
        _ => return Err(invalid("does not begin with a byte order '<', '>' or '|'")),
    };
    let Some(kind) = chars.next() else { return Err(invalid("has no kind")) };
    let size = chars.as_str();
    if matches!(kind, 'S' | 'U' | 'M' | 'm' | 'O') {
        return Err(unsupported());
    }
    let digits = !size.is_empty() && size.bytes().all(|b| b.is_ascii_digit());
    let size = match size.parse::<usize>() {
        Ok(size) if digits => size,
        _ => return Err(invalid("has no size")),
    };
    let bits = u8::try_from(size.saturating_mul(8)).unwrap_or(0);
    let data_type = match (kind, size) {
        ('b', 1) => DataType::Bool,
        ('i', 1 | 2 | 4 | 8) => DataType::Int { bits },
        ('u', 1 | 2 | 4 | 8) => DataType::UInt { bits },
        ('f', 2 | 4 | 8) => DataType::Float { bits },
        ('c', 8 | 16) => DataType::Complex { bits },
        // The long double of the machine that wrote it (V2-043).
        ('f', 12 | 16) | ('c', 24 | 32) => return Err(unsupported()),
        ('V', 1..=MAX_RAW_BYTES) => DataType::Raw { bytes: size },
        _ => return Err(invalid("is none of NumPy's")),
    };
    if data_type.swap_width() == 1 {
        return Ok((data_type, None));
    }
    match endian {
        Some(endian) => Ok((data_type, Some(endian))),
        None => Err(invalid("has no byte order")),
    }
}

/// The `dtype` of a type in a stored byte order; `None` for a type that NumPy has no name for.
pub(crate) fn write(data_type: &DataType, endian: Endian) -> Option<String> {
    let kind = match data_type {
        DataType::Bool => 'b',
        DataType::Int { .. } => 'i',
        DataType::UInt { .. } => 'u',
        DataType::Float { .. } => 'f',
        DataType::Complex { .. } => 'c',
        DataType::Raw { .. } => 'V',
        _ => return None,
    };
    let order = match endian {
        _ if data_type.swap_width() == 1 => '|',
        Endian::Little => '<',
        Endian::Big => '>',
    };
    Some(format!("{order}{kind}{}", data_type.elem_size()?))
}
