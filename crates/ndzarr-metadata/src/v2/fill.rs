//! Fill values in v2 documents (Zarr v2 specification, "Fill value encoding").

use ndzarr_model::{DataType, FillValue};

use crate::json::{Json, as_integral_i128, show};
use crate::shared::base64;
use crate::shared::dtype::Stored;
use crate::shared::fill;
use crate::shared::fill::{boolean, code_units, integer, native, padded, signed};
use crate::shared::float::{FloatKind, decimal_bits, named_bits};
use crate::{Format, MetadataError};

/// Reads a `fill_value` of a type stored in this form; `null` means undefined.
pub(crate) fn parse(
    key: &str,
    data_type: &DataType,
    stored: &Stored,
    value: &Json<'_>,
) -> Result<FillValue, MetadataError> {
    if value.is_null() {
        return Ok(FillValue::undefined(data_type));
    }
    element(data_type, stored, value)
        .map(FillValue::defined)
        .ok_or_else(|| {
            MetadataError::invalid(
                key,
                format_args!("fill_value {} is not a value of {data_type}", show(value)),
            )
        })
}

/// The `fill_value` of a document of `format`, which uses v2's encodings.
///
/// # Errors
/// A NaN other than the usual one cannot be expressed.
pub(crate) fn write(
    format: Format,
    data_type: &DataType,
    stored: &Stored,
    fill: &FillValue,
) -> Result<Json<'static>, MetadataError> {
    if !fill.is_defined() {
        return Ok(Json::Null);
    }
    let bytes = fill.bytes();
    Ok(match data_type {
        DataType::DateTime64 { .. } | DataType::TimeDelta64 { .. } => signed(bytes).into(),
        DataType::Raw { .. } => base64::encode(bytes).into(),
        DataType::Struct(_) => {
            let mut bytes = bytes.to_vec();
            stored.swap_bytes(data_type, &mut bytes);
            base64::encode(&bytes).into()
        }
        // No program would read a list from a document.
        DataType::VlenArray(_) if bytes.is_empty() => 0.into(),
        DataType::VlenArray(_) => {
            let what = "a fill value of vlen-array that is not empty cannot be expressed";
            return Err(MetadataError::inexpressible(format, what));
        }
        _ => {
            let value = fill::write(data_type, fill);
            if FloatKind::of(data_type).is_some() {
                let parts = value
                    .as_array()
                    .map_or(std::slice::from_ref(&value), Vec::as_slice);
                if let Some(bits) = parts
                    .iter()
                    .filter_map(Json::as_str)
                    .find(|text| text.starts_with("0x"))
                {
                    let what =
                        format_args!("the fill value NaN with the bits {bits} cannot be expressed");
                    return Err(MetadataError::inexpressible(format, what));
                }
            }
            value
        }
    })
}

/// One element in native byte order.
fn element(data_type: &DataType, stored: &Stored, value: &Json<'_>) -> Option<Vec<u8>> {
    match data_type {
        DataType::Bool => boolean(value),
        DataType::Int { bits } | DataType::UInt { bits } => {
            let value = match value {
                Json::String(text) => decimal_integer(text)?,
                value => as_integral_i128(value)?,
            };
            integer(data_type, *bits, value)
        }
        DataType::Float { .. } | DataType::BFloat16 | DataType::SmallFloat(_) => {
            let kind = FloatKind::of(data_type)?;
            Some(native(float(kind, value)?, kind.size()))
        }
        DataType::Complex { .. } => {
            let kind = FloatKind::of(data_type)?;
            let (re, im) = match value {
                Json::Array(parts) => {
                    let [re, im] = parts.as_slice() else {
                        return None;
                    };
                    (float(kind, re)?, float(kind, im)?)
                }
                value => (float(kind, value)?, 0),
            };
            let mut bytes = native(re, kind.size());
            bytes.extend(native(im, kind.size()));
            Some(bytes)
        }
        DataType::Raw { bytes: size } => match value {
            Json::String(text) => base64::decode(text).filter(|bytes| bytes.len() == *size),
            value => (as_integral_i128(value)? == 0).then(|| vec![0; *size]),
        },
        DataType::FixedBytes { bytes: size } => match value {
            Json::String(text) => padded(text, *size).or_else(|| zero_text(text, *size)),
            value => zero(value, *size),
        },
        DataType::FixedUtf32 { chars } => match value {
            Json::String(text) => code_units(text, *chars),
            value => zero(value, chars * 4),
        },
        DataType::DateTime64 { .. } | DataType::TimeDelta64 { .. } => {
            fill::element(data_type, value)
        }
        DataType::Struct(fields) => match value {
            Json::String(text) => {
                let mut bytes =
                    base64::decode(text).filter(|bytes| bytes.len() == fields.byte_len())?;
                stored.swap_bytes(data_type, &mut bytes);
                data_type.is_element(&bytes).then_some(bytes)
            }
            value => zero(value, fields.byte_len()),
        },
        DataType::String => match value {
            Json::String(text) => Some(text.as_bytes().to_vec()),
            // zarr-python 2's default.
            value => zero(value, 0),
        },
        DataType::Bytes => match value {
            Json::String(text) => base64::decode(text).or_else(|| zero_text(text, 0)),
            value => zero(value, 0),
        },
        DataType::VlenArray(_) => match value {
            Json::String(text) if text.is_empty() => Some(Vec::new()),
            Json::Array(items) if items.is_empty() => Some(Vec::new()),
            value => zero(value, 0),
        },
        DataType::Json => fill::element(data_type, value),
        _ => None,
    }
}

/// The meaning of the number 0 in types that have no numbers.
fn zero(value: &Json<'_>, size: usize) -> Option<Vec<u8>> {
    (as_integral_i128(value)? == 0).then(|| vec![0; size])
}

/// The meaning of the text `0`, which is not Base64.
fn zero_text(text: &str, size: usize) -> Option<Vec<u8>> {
    (text == "0").then(|| vec![0; size])
}

fn decimal_integer(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// A number, possibly in quotes, one of Python's tokens, or a name; hex belongs to v3.
fn float(kind: FloatKind, value: &Json<'_>) -> Option<u64> {
    let text = match value {
        Json::Number(number) => &**number,
        Json::String(text) => text,
        _ => return None,
    };
    named_bits(kind, text).or_else(|| decimal_bits(kind, text))
}
