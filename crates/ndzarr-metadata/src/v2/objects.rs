//! The codecs that give `|O` its element type.

use ndzarr_model::{CodecConfig, CodecSpec, DataType, Endian, VlenConfig};

use crate::MetadataError;
use crate::json::{Json, Members, json, show};
use crate::shared::dtype::{self, Stored};
use crate::shared::fields::Place;
use crate::shared::numcodecs::{categorize_objects, takes_objects};

/// The meaning of `|O`, by its object codec.
pub(crate) struct Objects {
    pub(crate) data_type: DataType,
    pub(crate) codec: CodecSpec,
    /// True if it always takes the chunk row by row, regardless of its order.
    pub(crate) row_by_row: bool,
}

/// Takes the object codec from the filters or, if there are none, from the compressor (V2-T26).
pub(crate) fn parse(
    key: &str,
    filters: &mut Option<Json<'_>>,
    compressor: &mut Option<Json<'_>>,
) -> Result<Objects, MetadataError> {
    let missing =
        || MetadataError::invalid(key, "object dtype without object codec: \"|O\" has no type");
    let value = match filters.as_mut() {
        Some(Json::Array(filters)) if !filters.is_empty() => filters.remove(0),
        _ => compressor
            .take()
            .filter(|compressor| !compressor.is_null())
            .ok_or_else(missing)?,
    };
    let id = value.get("id").and_then(Json::as_str).ok_or_else(missing)?;
    let (data_type, config) = match id {
        "vlen-utf8" => (DataType::String, VlenConfig::Utf8),
        "vlen-bytes" => (DataType::Bytes, VlenConfig::Bytes),
        "json2" => {
            if let Some(encoding) = value.get("encoding").and_then(Json::as_str)
                && !matches!(
                    encoding.to_ascii_lowercase().as_str(),
                    "utf-8" | "utf8" | "ascii"
                )
            {
                return Err(MetadataError::unsupported(
                    key,
                    "encoding of json2",
                    encoding,
                ));
            }
            (DataType::Json, VlenConfig::Json2)
        }
        "msgpack2" => (DataType::Json, VlenConfig::Msgpack2),
        "categorize" => {
            let members = value.as_object().ok_or_else(missing)?;
            let labels = categorize_objects(key, Place::Member("the object codec"), members)?;
            (DataType::String, VlenConfig::Categorize(labels))
        }
        "vlen-array" => {
            let inner = value.get("dtype").ok_or_else(|| {
                MetadataError::invalid(key, "the object codec vlen-array has no dtype")
            })?;
            match dtype::parse(key, inner)? {
                (elements, Stored::One(endian)) => (
                    DataType::VlenArray(elements.into()),
                    VlenConfig::Array { endian },
                ),
                (_, Stored::Leaves(_)) => {
                    return Err(MetadataError::unsupported(
                        key,
                        "dtype of vlen-array",
                        show(inner),
                    ));
                }
            }
        }
        // Never run: it is a program.
        "pickle" | "json" | "msgpack" => {
            return Err(MetadataError::unsupported(
                key,
                "object codec",
                format!("{id:?}"),
            ));
        }
        other => {
            let what = format_args!(
                "object dtype without object codec: {other:?} does not determine the type of \"|O\""
            );
            return Err(MetadataError::invalid(key, what));
        }
    };
    let row_by_row = matches!(config, VlenConfig::Json2 | VlenConfig::Msgpack2);
    Ok(Objects {
        data_type,
        codec: CodecConfig::Vlen(config).into(),
        row_by_row,
    })
}

/// True if this is one of the codecs that give `|O` a type.
pub(crate) fn is_codec(value: &Json<'_>) -> bool {
    let id = value.get("id").and_then(Json::as_str);
    match id {
        Some("vlen-utf8" | "vlen-bytes" | "vlen-array" | "json2" | "msgpack2") => true,
        // For strings of fixed length it is an ordinary filter.
        Some("categorize") => value.get("dtype").is_some_and(takes_objects),
        _ => false,
    }
}

/// The object codec of a new array of this type; `None` for a type that is not an object.
pub(crate) fn write(data_type: &DataType, endian: Endian) -> Option<Json<'static>> {
    Some(match data_type {
        DataType::String => json!({"id": "vlen-utf8"}),
        DataType::Bytes => json!({"id": "vlen-bytes"}),
        DataType::VlenArray(elements) => {
            json!({"id": "vlen-array", "dtype": dtype::write(elements, endian)?})
        }
        // numcodecs' default.
        DataType::Json => Json::Object(Members::from_iter([
            ("id".to_owned(), json!("json2")),
            ("encoding".to_owned(), json!("utf-8")),
            ("ensure_ascii".to_owned(), json!(true)),
            ("sort_keys".to_owned(), json!(true)),
            ("skipkeys".to_owned(), json!(false)),
            ("check_circular".to_owned(), json!(true)),
            ("allow_nan".to_owned(), json!(true)),
            ("indent".to_owned(), Json::Null),
            ("separators".to_owned(), json!([",", ":"])),
            ("strict".to_owned(), json!(true)),
        ])),
        _ => return None,
    })
}
