//! Reads and writes the data types of Zarr v3.

use ndzarr_model::{DataType, Endian, Field, StructType, TimeUnit};

use crate::json::{Json, Members, as_u64, as_u64_list, json, show};
use crate::options::limits::{MAX_RAW_BYTES, MAX_TYPE_DEPTH};
use crate::shared::fields::{Fields, Place};
use crate::v3::extension::{Extension, named};
use crate::{Extensions, MetadataError};

/// Which forms are accepted.
#[derive(Clone, Copy)]
enum Forms<'a> {
    /// Those in documents, including custom types.
    Documents(&'a Extensions),
    /// Also those for types of other formats: sub-arrays and padding, `json`, `vlen-array`,
    /// `object`.
    Neutral,
}

/// Reads the `data_type` of a document.
pub(crate) fn parse(
    key: &str,
    value: &Json<'_>,
    extensions: &Extensions,
) -> Result<DataType, MetadataError> {
    any(key, value, Forms::Documents(extensions), MAX_TYPE_DEPTH)
}

/// Reads a type of any format in the form of v3.
pub(crate) fn parse_neutral(key: &str, value: &Json<'_>) -> Result<DataType, MetadataError> {
    any(key, &Json::from(value), Forms::Neutral, MAX_TYPE_DEPTH)
}

/// True if this is the older form of a structure, which has a byte order without stating it.
pub(crate) fn is_legacy_structure(value: &Json<'_>) -> bool {
    value.get("name").and_then(Json::as_str) == Some("structured")
}

/// A list of codecs with the byte order that a legacy structure leaves out.
pub(crate) fn with_little_endian<'a>(codecs: &Json<'a>) -> Json<'a> {
    let Json::Array(codecs) = codecs else {
        return codecs.clone();
    };
    let has_no_endian = |codec: &Json<'_>| {
        let endian = codec
            .get("configuration")
            .and_then(|configuration| configuration.get("endian"));
        endian.is_none_or(Json::is_null)
    };
    codecs
        .iter()
        .map(|codec| match codec.get("name").unwrap_or(codec).as_str() {
            Some("bytes") if has_no_endian(codec) => named("bytes", json!({"endian": "little"})),
            Some("sharding_indexed") => {
                let mut codec = codec.clone();
                let configuration = codec.get_mut("configuration");
                if let Some(inner) =
                    configuration.and_then(|configuration| configuration.get_mut("codecs"))
                {
                    *inner = with_little_endian(inner);
                }
                codec
            }
            _ => codec.clone(),
        })
        .collect()
}

fn any(
    key: &str,
    value: &Json<'_>,
    forms: Forms<'_>,
    depth_left: usize,
) -> Result<DataType, MetadataError> {
    const PLACE: Place<'_> = Place::Member("data_type");
    let extension = Extension::parse(key, PLACE, value)?;
    let mut configuration = extension.configuration(key, PLACE);
    let positive = |value: &Json<'_>| {
        as_u64(value)
            .and_then(|n| usize::try_from(n).ok())
            .filter(|&n| n > 0)
    };
    let length = |configuration: &mut Fields<'_>| {
        configuration.required("length_bytes", "a positive integer", positive)
    };
    let data_type = match extension.name {
        "raw_bytes" => DataType::Raw {
            bytes: length(&mut configuration)?,
        },
        "null_terminated_bytes" => DataType::FixedBytes {
            bytes: length(&mut configuration)?,
        },
        "fixed_length_utf32" => {
            let units = |value: &Json<'_>| positive(value).filter(|n| n.is_multiple_of(4));
            let n = configuration.required("length_bytes", "a positive multiple of 4", units)?;
            DataType::FixedUtf32 { chars: n / 4 }
        }
        name @ ("numpy.datetime64" | "numpy.timedelta64") => time(name, &mut configuration)?,
        name @ ("struct" | "structured") => {
            let legacy = name == "structured";
            structure(key, &mut configuration, legacy, forms, depth_left)?
        }
        "variable_length_bytes" | "binary" => DataType::Bytes,
        "vlen-array" if matches!(forms, Forms::Neutral) => {
            let elements = configuration.required("data_type", "a data type", Some)?;
            let elements = any(key, elements, forms, depth_left.saturating_sub(1))?;
            if elements.elem_size().is_none() {
                return Err(MetadataError::invalid(
                    key,
                    "data_type vlen-array of elements of variable size",
                ));
            }
            DataType::VlenArray(elements.into())
        }
        name => match DataType::from_name(name) {
            Some(DataType::Json | DataType::Object) if matches!(forms, Forms::Documents(_)) => {
                return Err(MetadataError::unsupported(key, "data type", name));
            }
            Some(data_type) => data_type,
            None if is_bit_count(name) => {
                let what = format_args!("data_type {name:?} is not a multiple of 8 bits");
                return Err(MetadataError::invalid(key, what));
            }
            None => {
                let Forms::Documents(extensions) = forms else {
                    return Err(MetadataError::unsupported(key, "data type", name));
                };
                let custom = extensions
                    .data_type(name, &extension.raw_configuration())
                    .ok_or_else(|| MetadataError::unsupported(key, "data type", name))?
                    .map_err(|what| configuration.invalid(what))?;
                return checked_size(key, custom);
            }
        },
    };
    configuration.end()?;
    checked_size(key, data_type)
}

fn time(name: &str, configuration: &mut Fields<'_>) -> Result<DataType, MetadataError> {
    let unit = configuration.required("unit", "a unit of NumPy's", |value| {
        TimeUnit::from_name(value.as_str()?)
    })?;
    let scale =
        configuration.required("scale_factor", "an integer from 1 to 2147483647", |value| {
            u32::try_from(as_u64(value)?)
                .ok()
                .filter(|scale| (1..=0x7fff_ffff).contains(scale))
        })?;
    Ok(match name {
        "numpy.datetime64" => DataType::DateTime64 { unit, scale },
        _ => DataType::TimeDelta64 { unit, scale },
    })
}

fn checked_size(key: &str, data_type: DataType) -> Result<DataType, MetadataError> {
    if data_type
        .elem_size()
        .is_some_and(|size| size > MAX_RAW_BYTES)
    {
        let what =
            format_args!("data_type {data_type} has more than {MAX_RAW_BYTES} bytes per element");
        return Err(MetadataError::invalid(key, what));
    }
    Ok(data_type)
}

/// `fields` as objects, in the legacy form also as pairs.
fn structure(
    key: &str,
    configuration: &mut Fields<'_>,
    legacy: bool,
    forms: Forms<'_>,
    depth_left: usize,
) -> Result<DataType, MetadataError> {
    let Some(depth_left) = depth_left.checked_sub(1) else {
        return Err(configuration.invalid(format_args!(
            "is nested deeper than {MAX_TYPE_DEPTH} levels"
        )));
    };
    let items = configuration.required("fields", "a list", Json::as_array)?;
    let mut fields = Vec::with_capacity(items.len().min(StructType::MAX_PARTS));
    for item in items {
        let invalid = || configuration.invalid(format_args!("has the field {}", show(item)));
        let (name, data_type, shape) = match item {
            Json::Array(pair) if legacy => match pair.as_slice() {
                [Json::String(name), data_type] => (name, data_type, None),
                _ => return Err(invalid()),
            },
            Json::Object(members) => {
                let known = ["name", "data_type", "shape"];
                let n = if matches!(forms, Forms::Neutral) {
                    3
                } else {
                    2
                };
                match (members.get("name"), members.get("data_type")) {
                    (Some(Json::String(name)), Some(data_type))
                        if members.keys().all(|member| known[..n].contains(&member)) =>
                    {
                        (name, data_type, members.get("shape"))
                    }
                    _ => return Err(invalid()),
                }
            }
            _ => return Err(invalid()),
        };
        if name.is_empty() && matches!(forms, Forms::Documents(_)) {
            return Err(configuration.invalid("has a field without a name"));
        }
        let shape = match shape {
            None => Vec::new(),
            Some(shape) => as_u64_list(shape)
                .filter(|lens| !lens.contains(&0))
                .and_then(|lens| {
                    lens.into_iter()
                        .map(usize::try_from)
                        .collect::<Result<_, _>>()
                        .ok()
                })
                .ok_or_else(invalid)?,
        };
        let data_type = any(key, data_type, forms, depth_left)?;
        fields.push(Field::new(name.to_string(), data_type).with_shape(shape));
    }
    StructType::new(fields)
        .map(DataType::Struct)
        .map_err(|error| configuration.invalid(error))
}

/// The `data_type` of a document; `None` if v3 cannot express the type.
pub(crate) fn write(data_type: &DataType) -> Option<Json<'static>> {
    match data_type {
        DataType::Json | DataType::VlenArray(_) | DataType::Object => None,
        DataType::Struct(fields) => {
            let plain = fields.fields().iter().all(|field| {
                !field.is_padding() && field.shape.is_empty() && write(&field.data_type).is_some()
            });
            plain.then(|| write_neutral(data_type))
        }
        other => Some(write_neutral(other)),
    }
}

/// Why v3 cannot express a type, for which [`write`] returns `None`. The registry's `struct` only
/// states name and type of a field, and other members are an error there.
pub(crate) fn why_inexpressible(data_type: &DataType) -> String {
    if let DataType::Struct(fields) = data_type {
        for field in fields.fields() {
            let name = &field.name;
            if field.is_padding() {
                return format!("{data_type} cannot be expressed: a structure has no padding");
            }
            if !field.shape.is_empty() {
                return format!(
                    "{data_type} cannot be expressed: the field {name:?} is a sub-array, but a field has only a name and a type; \
                     use a field for each element, or another dimension of the array"
                );
            }
            if write(&field.data_type).is_none() {
                return why_inexpressible(&field.data_type);
            }
        }
    }
    format!("data type {data_type} cannot be expressed")
}

/// A type of any format in the form of v3.
pub(crate) fn write_neutral(data_type: &DataType) -> Json<'static> {
    match data_type {
        DataType::FixedBytes { bytes } => {
            named("null_terminated_bytes", json!({"length_bytes": bytes}))
        }
        DataType::FixedUtf32 { chars } => {
            named("fixed_length_utf32", json!({"length_bytes": chars * 4}))
        }
        DataType::DateTime64 { unit, scale } => named(
            "numpy.datetime64",
            json!({"unit": unit.name(), "scale_factor": scale}),
        ),
        DataType::TimeDelta64 { unit, scale } => named(
            "numpy.timedelta64",
            json!({"unit": unit.name(), "scale_factor": scale}),
        ),
        DataType::Struct(fields) => {
            let field = |field: &Field| {
                let mut members = Members::new();
                members.insert("name", (&field.name).into());
                members.insert("data_type", write_neutral(&field.data_type));
                if !field.shape.is_empty() {
                    members.insert("shape", (&field.shape).into());
                }
                Json::Object(members)
            };
            named(
                "struct",
                json!({"fields": fields.fields().iter().map(field).collect::<Vec<_>>()}),
            )
        }
        DataType::VlenArray(elements) => {
            named("vlen-array", json!({"data_type": write_neutral(elements)}))
        }
        DataType::Custom(custom) => match custom.configuration().into() {
            Json::Object(members) if members.is_empty() => custom.name().into(),
            configuration => named(custom.name(), configuration),
        },
        other => other.to_string().into(),
    }
}

/// The byte order in which a chain of codecs stores its elements; little if it states none.
pub(crate) fn endian_of(codecs: &[ndzarr_model::CodecSpec]) -> Endian {
    codecs
        .iter()
        .find_map(|codec| match &codec.config {
            ndzarr_model::CodecConfig::Bytes { endian } => *endian,
            ndzarr_model::CodecConfig::Sharding(sharding) => Some(endian_of(&sharding.codecs)),
            _ => None,
        })
        .unwrap_or(Endian::Little)
}

fn is_bit_count(name: &str) -> bool {
    name.strip_prefix('r')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
