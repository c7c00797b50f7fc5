//! Data types of both dialects.

use ndzarr_model::{DataType, Endian};

use crate::MetadataError;
use crate::draft::layout::Dialect;
use crate::json::{Json, json, show};
use crate::options::limits::MAX_RAW_BYTES;
use crate::shared::dtype;
use crate::shared::dtype::Stored;

const COMPLEX_A: &str = "https://purl.org/zarr/spec/extensions/data-types/complex/1.0";
const DATETIME_A: &str = "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0";
const STRING_A: &str = "https://purl.org/zarr/spec/extensions/data-types/string/1.0";
const STRUCT_A: &str = "https://purl.org/zarr/spec/extensions/data-types/struct/1.0";

/// The URI that zarr-python 2 writes for types that the core text of the draft did not have.
const COMPLEX_B: &str = "https://zarr-specs.readthedocs.io/en/core-protocol-v3.0-dev/protocol/extensions/complex-dtypes/v1.0.html";
const DATETIME_B: &str =
    "https://zarr-specs.readthedocs.io/en/latest/extensions/data-types/datetime/v1.0.html";
const BYTES_B: &str = "TODO: bytestring array protocol URL";
const TEXT_B: &str = "TODO: unicode array protocol URL";
const OBJECT_B: &str = "TODO: object array protocol URL";
const STRUCTURED_B: &str = "TODO: structured array protocol URL";

/// Reads a `data_type`: the type and the byte order of its numbers, where that matters.
pub(crate) fn parse(
    key: &str,
    dialect: Dialect,
    value: &Json<'_>,
) -> Result<(DataType, Stored), MetadataError> {
    match (dialect, value) {
        (Dialect::A, Json::String(name)) => parse_name(key, name),
        (Dialect::B, Json::String(name)) => match parse_name(key, name) {
            Err(_) => numpy(key, value),
            parsed => parsed,
        },
        (_, Json::Object(members)) => {
            let extension = members
                .get("extension")
                .and_then(Json::as_str)
                .ok_or_else(|| {
                    MetadataError::invalid(key, "data_type has no URI as its extension")
                })?;
            let inner = members.get("type").ok_or_else(|| {
                MetadataError::invalid(key, "data_type has an extension, but no type")
            })?;
            match (dialect, inner) {
                // The URI has no meaning in this dialect.
                (Dialect::B, Json::String(_)) => parse(key, dialect, inner),
                (Dialect::B, inner) => structured(key, inner),
                (Dialect::A, Json::String(name)) if extension == COMPLEX_A => {
                    match parse_name(key, name) {
                        Ok((data_type @ DataType::Complex { .. }, endian)) => {
                            Ok((data_type, endian))
                        }
                        _ => Err(MetadataError::unsupported(key, "data type", show(value))),
                    }
                }
                (Dialect::A, inner) => {
                    let unsupported = || MetadataError::unsupported(key, "data type", show(value));
                    let parsed = numpy(key, inner).map_err(|_| unsupported())?;
                    match (extension, &parsed.0) {
                        (
                            DATETIME_A,
                            DataType::DateTime64 { .. } | DataType::TimeDelta64 { .. },
                        )
                        | (STRING_A, DataType::FixedBytes { .. } | DataType::FixedUtf32 { .. })
                        | (STRUCT_A, DataType::Struct(_)) => Ok(parsed),
                        _ => Err(unsupported()),
                    }
                }
            }
        }
        (_, other) => {
            let what = format_args!("data_type is {}, not a string or an object", other.kind());
            Err(MetadataError::invalid(key, what))
        }
    }
}

/// The replacement for an unknown type: the first of its fallbacks that is known.
pub(crate) fn fallback(
    key: &str,
    dialect: Dialect,
    value: &Json<'_>,
) -> Option<(DataType, Stored)> {
    match value.get("fallback")? {
        Json::Array(fallbacks) => fallbacks
            .iter()
            .find_map(|one| parse(key, dialect, one).ok()),
        one => parse(key, dialect, one).ok(),
    }
}

/// The identifiers of the draft's table, plus `int64`, `uint64` and the NumPy strings of its
/// examples, with or without a byte order.
fn parse_name(key: &str, name: &str) -> Result<(DataType, Stored), MetadataError> {
    let unsupported = || MetadataError::unsupported(key, "data type", name);
    if let Some(data_type) = DataType::from_name(name).filter(is_in_table) {
        if matches!(data_type, DataType::Raw { bytes } if bytes > MAX_RAW_BYTES) {
            return Err(MetadataError::invalid(
                key,
                format_args!("data_type {name:?} is too large"),
            ));
        }
        let endian = (data_type.swap_width() > 1).then_some(Endian::Little);
        return Ok((data_type, Stored::One(endian)));
    }
    let (order, rest) = match name.strip_prefix(['<', '>', '|']) {
        Some(rest) => (&name[..1], rest),
        None => ("<", name),
    };
    let mut chars = rest.chars();
    let numeric = matches!(chars.next(), Some('i' | 'u' | 'f' | 'c'))
        && !chars.as_str().is_empty()
        && chars.as_str().bytes().all(|b| b.is_ascii_digit());
    if name == "|b1" || numeric {
        return numpy(key, &format!("{order}{rest}").into()).map_err(|_| unsupported());
    }
    Err(unsupported())
}

/// True if the draft has the type under the name of the final v3.
fn is_in_table(data_type: &DataType) -> bool {
    match data_type {
        DataType::Int { bits } | DataType::UInt { bits } => *bits >= 8,
        DataType::Bool
        | DataType::Float { .. }
        | DataType::Complex { .. }
        | DataType::Raw { .. } => true,
        _ => false,
    }
}

/// True if a type is the object type of dialect B.
pub(crate) fn is_object(dialect: Dialect, value: &Json<'_>) -> bool {
    dialect == Dialect::B && dtype::is_object(value.get("type").unwrap_or(value))
}

/// Reads a type in NumPy's spelling.
fn numpy(key: &str, value: &Json<'_>) -> Result<(DataType, Stored), MetadataError> {
    dtype::parse(key, value).map_err(|error| match error {
        MetadataError::Invalid { .. } => MetadataError::invalid(
            key,
            format_args!("data_type {} is not a NumPy type", show(value)),
        ),
        other => other,
    })
}

/// Reads a structure. zarr-python 2 writes opaque bytes as a structure of one nameless field.
fn structured(key: &str, value: &Json<'_>) -> Result<(DataType, Stored), MetadataError> {
    if let Some([field]) = value.as_array().map(Vec::as_slice)
        && let Some([Json::String(name), data_type]) = field.as_array().map(Vec::as_slice)
        && name.is_empty()
        && let Ok(opaque @ (DataType::Raw { .. }, _)) = numpy(key, data_type)
    {
        return Ok(opaque);
    }
    numpy(key, value)
}

/// The `data_type` of a type; `None` if the dialect cannot express it.
pub(crate) fn write(
    dialect: Dialect,
    data_type: &DataType,
    endian: Endian,
) -> Option<Json<'static>> {
    let extended =
        |extension: &str, name: Json<'static>| json!({"extension": extension, "type": name});
    match dialect {
        Dialect::A if is_in_table(data_type) => Some(data_type.to_string().into()),
        Dialect::A => {
            // The endian codec states the byte order, except in a structure.
            let uri = match data_type {
                DataType::DateTime64 { .. } | DataType::TimeDelta64 { .. } => DATETIME_A,
                DataType::FixedBytes { .. } | DataType::FixedUtf32 { .. } => STRING_A,
                DataType::Struct(_) => STRUCT_A,
                _ => return None,
            };
            Some(extended(uri, dtype::write(data_type, endian)?))
        }
        Dialect::B => {
            let numpy = dtype::write(data_type, endian)?;
            let uri = match data_type {
                DataType::Bool => return Some(json!("bool")),
                DataType::Complex { .. } => COMPLEX_B,
                DataType::DateTime64 { .. } | DataType::TimeDelta64 { .. } => DATETIME_B,
                DataType::FixedBytes { .. } => BYTES_B,
                DataType::FixedUtf32 { .. } => TEXT_B,
                DataType::Struct(_) | DataType::Raw { .. } => STRUCTURED_B,
                DataType::String | DataType::Bytes | DataType::Json | DataType::VlenArray(_) => {
                    OBJECT_B
                }
                _ => return Some(json!(numpy.as_str()?.trim_start_matches('|'))),
            };
            let spelling = match data_type {
                // Opaque bytes are a structure of one nameless field.
                DataType::Raw { .. } => json!([["", numpy]]),
                _ => numpy,
            };
            Some(json!({"extension": uri, "fallback": null, "type": spelling}))
        }
    }
}
