//! Reads `zarr.json` of Zarr v3.

use std::sync::Arc;

use ndzarr_model::{ArraySpec, Attributes, ChunkKeys, CodecCheck, FillValue};

use serde_json::Value;

use crate::json::spans;
use crate::json::{Json, Members, as_u64, show};
use crate::shared::chunk_grid;
use crate::shared::fields::{Place, lengths, required};
use crate::shared::fill;
use crate::v3::extension::Extension;
use crate::v3::inline::without_inline;
use crate::v3::{codecs, dtype, grid, keys, spellings};
use crate::{
    Context, Extensions, Format, Limits, MemberKind, MetadataError, Node, NodeKind, NodePath, json,
};

const ARRAY_MEMBERS: [&str; 11] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "storage_transformers",
    "dimension_names",
];
const GROUP_MEMBERS: [&str; 3] = ["zarr_format", "node_type", "attributes"];

/// The kind of node that a document describes, found without parsing the rest.
pub(crate) fn kind(key: &str, bytes: &[u8]) -> Result<MemberKind, MetadataError> {
    // The plain spellings are found without reading the rest.
    let members = spans::values(key, bytes, 0..bytes.len(), ["zarr_format", "node_type"]);
    if let Ok([Some(format), Some(node_type)]) = members
        && &bytes[format] == b"3"
    {
        match &bytes[node_type] {
            b"\"array\"" => return Ok(MemberKind::Array),
            b"\"group\"" => return Ok(MemberKind::Group),
            _ => {}
        }
    }
    let text = without_inline(bytes);
    let (document, _) = json::read_object(key, &text)?;
    check_format(key, &document)?;
    node_type(key, &document)
}

/// The kind of node that a document describes; `None` for the entry point of a draft hierarchy,
/// whose format is a string.
pub(crate) fn kind_or_draft(key: &str, bytes: &[u8]) -> Result<Option<MemberKind>, MetadataError> {
    let text = without_inline(bytes);
    let (document, _) = json::read_object(key, &text)?;
    if document.get("zarr_format").is_some_and(Json::is_string) {
        return Ok(None);
    }
    check_format(key, &document)?;
    node_type(key, &document).map(Some)
}

/// The node that a document describes, given its members and its attributes; the caller sets
/// `documents`.
pub(crate) fn node(
    path: &NodePath,
    key: &str,
    document: &Members<'_>,
    of_user: Option<Value>,
    (extensions, limits): (&Extensions, &Limits),
) -> Result<Node, MetadataError> {
    check_format(key, document)?;
    let mut warnings = Vec::new();
    let kind = match node_type(key, document)? {
        MemberKind::Array => {
            check_members(key, document, &ARRAY_MEMBERS)?;
            let mut spec = array(path, key, document, (extensions, limits), &mut warnings)?;
            if let Some(why) =
                check_storage_transformers(key, document.get("storage_transformers"))?
            {
                warnings.push(format!("{key}: {why}"));
                let codecs = Arc::make_mut(&mut spec.codecs);
                if let Some(codec) = codecs.first_mut() {
                    codec.unwritable = Some(why);
                }
            }
            NodeKind::Array(Box::new(spec))
        }
        MemberKind::Group => {
            check_members(key, document, &GROUP_MEMBERS)?;
            NodeKind::Group
        }
    };
    Ok(Node {
        format: Format::Zarr3,
        path: path.clone(),
        kind,
        attributes: attributes(key, of_user)?,
        context: Context::default(),
        documents: Vec::new(),
        warnings,
    })
}

/// Refuses anything but the integer 3.
pub(crate) fn check_format(key: &str, document: &Members<'_>) -> Result<(), MetadataError> {
    match required(key, document, "zarr_format")? {
        value if as_u64(value) == Some(3) => Ok(()),
        value if as_u64(value).is_some() => {
            Err(MetadataError::unsupported(key, "zarr_format", show(value)))
        }
        value => Err(MetadataError::invalid(
            key,
            format_args!("zarr_format is {}, not 3", show(value)),
        )),
    }
}

/// The user's attributes; `null` counts as none.
pub(crate) fn attributes(key: &str, value: Option<Value>) -> Result<Attributes, MetadataError> {
    match value {
        None | Some(Value::Null) => Ok(Attributes::new()),
        Some(Value::Object(attributes)) => Ok(attributes),
        Some(other) => Err(no_attributes(key, &other)),
    }
}

pub(crate) fn no_attributes(key: &str, value: &impl std::fmt::Display) -> MetadataError {
    MetadataError::invalid(
        key,
        format_args!("attributes is {}, not an object", show(value)),
    )
}

fn node_type(key: &str, document: &Members<'_>) -> Result<MemberKind, MetadataError> {
    match required(key, document, "node_type")? {
        Json::String(text) if text == "array" => Ok(MemberKind::Array),
        Json::String(text) if text == "group" => Ok(MemberKind::Group),
        other => {
            let what = format_args!("node_type is {}, not \"array\" or \"group\"", show(other));
            Err(MetadataError::invalid(key, what))
        }
    }
}

/// Fails for an unknown member that must be understood; `consolidated_metadata` as `null` never
/// must.
fn check_members(key: &str, document: &Members<'_>, known: &[&str]) -> Result<(), MetadataError> {
    for (name, value) in document.iter() {
        let harmless = known.contains(&name)
            || value.get("must_understand").and_then(Json::as_bool) == Some(false)
            || (name == "consolidated_metadata" && value.is_null() && known == GROUP_MEMBERS);
        if !harmless {
            let what = format_args!(
                "unknown member {name:?}, which must be understood: {}",
                show(value)
            );
            return Err(MetadataError::invalid(key, what));
        }
    }
    Ok(())
}

fn array(
    path: &NodePath,
    key: &str,
    document: &Members<'_>,
    (extensions, limits): (&Extensions, &Limits),
    warnings: &mut Vec<String>,
) -> Result<ArraySpec, MetadataError> {
    let shape = lengths(key, "shape", required(key, document, "shape")?)?;
    limits.check_ndim(key, shape.len())?;
    let name = required(key, document, "data_type")?;
    let data_type = dtype::parse(key, name, extensions)?;
    let grid = required(key, document, "chunk_grid")?;
    let grid::Grid {
        chunk_shape,
        edges,
        custom,
    } = grid::parse(key, grid, &shape, extensions)?;
    chunk_grid::check(key, &shape, &chunk_shape, &data_type)?;
    let encoding = keys::parse(key, required(key, document, "chunk_key_encoding")?)?;
    let codecs = spellings::codecs(key, document, &data_type, limits, warnings)?;
    let codecs = if dtype::is_legacy_structure(name) && data_type.swap_width() > 1 {
        let codecs = dtype::with_little_endian(&codecs);
        codecs::parse(key, &codecs, &data_type, &chunk_shape, limits)?
    } else {
        codecs::parse(key, &codecs, &data_type, &chunk_shape, limits)?
    };
    let fill_value = required(key, document, "fill_value")?;
    let fill_value = if dtype::is_legacy_structure(name) {
        fill::parse_stored(key, &data_type, fill_value, dtype::endian_of(&codecs))
    } else {
        fill::parse(key, &data_type, fill_value)
    };
    let fill_value = match (fill_value, document.get("fill_value")) {
        (Err(_), Some(Json::Null)) => {
            warnings.push(format!(
                "{key}: fill_value is null, as GDAL and zarrita.js write where there is none: read as zero, as they do"
            ));
            FillValue::undefined(&data_type)
        }
        (fill_value, _) => fill_value?,
    };
    let dimension_names = dimension_names(key, document.get("dimension_names"), shape.len())?;
    Ok(ArraySpec {
        shape,
        unit_shape: chunk_shape,
        chunk_edges: edges,
        custom_grid: custom,
        data_type,
        fill_value,
        codecs: codecs.into(),
        codec_check: CodecCheck::AtOpen,
        keys: ChunkKeys {
            prefix: path.prefix(),
            encoding,
        },
        dimension_names,
    })
}

/// Why new chunks cannot be stored: optional storage transformers. Required ones are an error.
fn check_storage_transformers(
    key: &str,
    value: Option<&Json<'_>>,
) -> Result<Option<String>, MetadataError> {
    match value {
        None => Ok(None),
        Some(Json::Array(transformers)) => {
            let mut unknown = None;
            for (i, transformer) in transformers.iter().enumerate() {
                let extension =
                    Extension::parse(key, Place::Item("storage_transformers", i), transformer)?;
                if !extension.is_optional {
                    return Err(MetadataError::unsupported(
                        key,
                        "storage transformer",
                        extension.name,
                    ));
                }
                unknown.get_or_insert(extension.name);
            }
            Ok(unknown.map(|name| format!("ignored the unknown storage transformer {name:?}")))
        }
        Some(other) => {
            let what = format_args!("storage_transformers is {}, not a list", show(other));
            Err(MetadataError::invalid(key, what))
        }
    }
}

fn dimension_names(
    key: &str,
    value: Option<&Json<'_>>,
    ndim: usize,
) -> Result<Option<Vec<Option<String>>>, MetadataError> {
    let value = match value {
        None | Some(Json::Null) => return Ok(None),
        Some(value) => value,
    };
    let name = |item: &Json<'_>| match item {
        Json::Null => Some(None),
        Json::String(name) => Some(Some(name.to_string())),
        _ => None,
    };
    value
        .as_array()
        .filter(|items| items.len() == ndim)
        .and_then(|items| items.iter().map(name).collect::<Option<Vec<_>>>())
        .map(Some)
        .ok_or_else(|| {
            let what = format_args!(
                "dimension_names is {}, not a list of {ndim} names or nulls",
                show(value)
            );
            MetadataError::invalid(key, what)
        })
}
