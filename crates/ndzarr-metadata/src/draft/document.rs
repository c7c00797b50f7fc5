//! Documents of arrays and groups of the draft: A is strict about unknown members, B ignores them.

use bytes::Bytes;
use ndzarr_model::{ArraySpec, ChunkKeys, CodecCheck, CodecSpec, DataType, KeyEncoding};

use crate::draft::extensions::{self, check_members};
use crate::draft::layout::{Dialect, Layout};
use crate::draft::{codecs, data_type, fill, sharding};
use crate::json::{IN_VALUES, Json, Members, NonFinite, show};
use crate::shared::chunk_grid;
use crate::shared::dtype::Stored;
use crate::shared::fields::separator;
use crate::shared::fields::{Place, lengths, required};
use crate::shared::numcodecs;
use crate::v2::document::{bytes_codecs, order};
use crate::v2::objects;
use crate::{Context, MetadataError, Node, NodeKind, NodePath, UnknownType, json};

const ARRAY_A: [&str; 9] = [
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_memory_layout",
    "codecs",
    "fill_value",
    "storage_transformers",
    "extensions",
    "attributes",
];

/// The attribute in which dialect B keeps the filters of an array.
pub(crate) const FILTERS: &str = "filters";

/// The members of a document.
pub(crate) fn parse<'a>(
    key: &str,
    dialect: Dialect,
    bytes: &'a [u8],
) -> Result<Members<'a>, MetadataError> {
    let non_finite = match dialect {
        Dialect::A => IN_VALUES,
        Dialect::B => NonFinite::Accept,
    };
    json::parse_object(key, bytes, non_finite)
}

/// The array with this document.
pub(crate) fn array_node(
    layout: &Layout,
    path: &NodePath,
    bytes: &Bytes,
) -> Result<Node, MetadataError> {
    let key = layout.array_key(path);
    let members = parse(&key, layout.dialect, bytes)?;
    let mut node = empty_node(layout, path);
    let mut attributes = attributes(&key, layout.dialect, &members)?;
    if filters(layout.dialect, &attributes).is_some() {
        attributes.remove(FILTERS);
    }
    node.attributes = attributes.to_values();
    let spec = array(&key, layout, path, &members, &mut node.warnings)?;
    node.kind = NodeKind::Array(Box::new(spec));
    node.documents = vec![(key, bytes.clone())];
    Ok(node)
}

/// The group with this document.
pub(crate) fn group_node(
    layout: &Layout,
    path: &NodePath,
    bytes: &Bytes,
) -> Result<Node, MetadataError> {
    let key = layout.group_key(path);
    let members = parse(&key, layout.dialect, bytes)?;
    check_group(&key, layout.dialect, &members)?;
    let mut node = empty_node(layout, path);
    node.attributes = attributes(&key, layout.dialect, &members)?.to_values();
    node.kind = NodeKind::Group;
    node.documents = vec![(key, bytes.clone())];
    Ok(node)
}

/// A group without a document.
pub(crate) fn empty_node(layout: &Layout, path: &NodePath) -> Node {
    Node {
        format: layout.dialect.format(),
        path: path.clone(),
        kind: NodeKind::ImplicitGroup,
        attributes: ndzarr_model::Attributes::new(),
        context: Context {
            draft_suffix: layout.suffix.clone().into(),
            unknown_type: layout.unknown_type,
            ..Context::default()
        },
        documents: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Checks the document of a group.
fn check_group(key: &str, dialect: Dialect, document: &Members<'_>) -> Result<(), MetadataError> {
    match dialect {
        Dialect::A => {
            check_members(key, "the group", document, &["attributes"])?;
            required(key, document, "attributes")?;
        }
        Dialect::B => document
            .get("extensions")
            .map_or(Ok(()), |value| extensions::check(key, value))?,
    }
    attributes(key, dialect, document).map(drop)
}

/// The attributes as they stand, including the filters of dialect B.
pub(crate) fn attributes<'a>(
    key: &str,
    dialect: Dialect,
    document: &Members<'a>,
) -> Result<Members<'a>, MetadataError> {
    match document.get("attributes") {
        None => Ok(Members::new()),
        Some(Json::Null) if dialect == Dialect::B => Ok(Members::new()),
        Some(Json::Object(attributes)) => Ok(attributes.clone()),
        Some(other) => Err(MetadataError::invalid(
            key,
            format_args!("attributes is {}, not an object", other.kind()),
        )),
    }
}

/// The filters in an array's attributes. An attribute of that name in any other form is the user's.
pub(crate) fn filters<'s, 'a>(
    dialect: Dialect,
    attributes: &'s Members<'a>,
) -> Option<&'s Json<'a>> {
    let value = attributes.get(FILTERS).filter(|_| dialect == Dialect::B)?;
    let has_id = |item: &Json<'_>| item.get("id").is_some_and(Json::is_string);
    let items = value.as_array()?;
    (!items.is_empty() && items.iter().all(has_id)).then_some(value)
}

/// The array that a document describes.
fn array(
    key: &str,
    layout: &Layout,
    path: &NodePath,
    document: &Members<'_>,
    warnings: &mut Vec<String>,
) -> Result<ArraySpec, MetadataError> {
    let dialect = layout.dialect;
    if dialect == Dialect::A {
        check_members(key, "the array", document, &ARRAY_A)?;
    }
    if let Some(value) = document.get("extensions") {
        extensions::check(key, value)?;
    }
    let shape = lengths(key, "shape", required(key, document, "shape")?)?;
    let (chunk_shape, separator) = grid(key, dialect, required(key, document, "chunk_grid")?)?;
    let attributes = attributes(key, dialect, document)?;
    let mut filters = filters(dialect, &attributes).cloned();
    let name = required(key, document, "data_type")?;
    let objects = if data_type::is_object(dialect, name) {
        Some(objects::parse(key, &mut filters, &mut None)?)
    } else {
        None
    };
    let ((data_type, stored), warning) = match &objects {
        Some(objects) => ((objects.data_type.clone(), Stored::One(None)), None),
        None => known_type(key, layout, name)?,
    };
    chunk_grid::check(key, &shape, &chunk_shape, &data_type)?;
    let fill_value = fill::parse(
        key,
        dialect,
        &data_type,
        &stored,
        required(key, document, "fill_value")?,
    )?;
    let memory_layout = required(key, document, "chunk_memory_layout")?;
    if let Some(uri) = memory_layout.get("extension") {
        return Err(MetadataError::unsupported(
            key,
            "chunk memory layout",
            show(uri),
        ));
    }
    let mut chain = order(
        key,
        "chunk_memory_layout",
        memory_layout,
        objects.as_ref(),
        shape.len(),
    )?;
    match dialect {
        Dialect::A => chain.extend(codecs::parse(
            key,
            document.get("codecs"),
            &data_type,
            &stored,
        )?),
        Dialect::B => {
            chain.push(objects.map_or_else(|| stored.codec().into(), |objects| objects.codec));
            chain.extend(bytes_codecs(key, filters.as_ref(), None)?);
            chain.extend(compressor(key, document)?);
        }
    }
    let transformers = document.get("storage_transformers");
    let (chunk_shape, mut chain) =
        sharding::parse(key, dialect, transformers, &data_type, chunk_shape, chain)?;
    if let Some(warning) = warning {
        warnings.push(format!("{key}: {warning}"));
        // The meaning of the values is unknown, and so is which values are valid.
        if let Some(codec) = chain.first_mut() {
            codec.unwritable = Some(warning);
        }
    }
    let encoding = KeyEncoding::Draft {
        separator,
        scalar_index: dialect == Dialect::B,
    };
    Ok(ArraySpec {
        shape,
        unit_shape: chunk_shape,
        chunk_edges: None,
        custom_grid: None,
        data_type,
        fill_value,
        codecs: chain.into(),
        codec_check: CodecCheck::AtOpen,
        keys: ChunkKeys {
            prefix: layout.data_prefix(path),
            encoding,
        },
        dimension_names: None,
    })
}

/// The data type of this name. For an unknown one, its replacement, if requested, and a warning.
fn known_type(
    key: &str,
    layout: &Layout,
    name: &Json<'_>,
) -> Result<((DataType, Stored), Option<String>), MetadataError> {
    match data_type::parse(key, layout.dialect, name) {
        Err(error @ MetadataError::Unsupported { .. })
            if layout.unknown_type == UnknownType::Fallback =>
        {
            let found = data_type::fallback(key, layout.dialect, name).ok_or(error)?;
            let warning = format!(
                "its data type {} is not known and shown as {}",
                show(name),
                found.0
            );
            Ok((found, Some(warning)))
        }
        parsed => Ok((parsed?, None)),
    }
}

/// Shape and separator of a regular grid. The `dimension_separator` that dialect B may have next to
/// it has no meaning.
fn grid(key: &str, dialect: Dialect, value: &Json<'_>) -> Result<(Vec<u64>, char), MetadataError> {
    let Json::Object(members) = value else {
        return Err(MetadataError::invalid(
            key,
            format_args!("chunk_grid is {}", value.kind()),
        ));
    };
    if let Some(uri) = members.get("extension") {
        return Err(MetadataError::unsupported(key, "chunk grid", show(uri)));
    }
    match required_in(key, members, "type")? {
        Json::String(name) if name == "regular" => {}
        other => return Err(MetadataError::unsupported(key, "chunk grid", show(other))),
    }
    if dialect == Dialect::A {
        check_members(
            key,
            "chunk_grid",
            members,
            &["type", "chunk_shape", "separator"],
        )?;
    }
    let chunk_shape = lengths(
        key,
        "chunk_grid.chunk_shape",
        required_in(key, members, "chunk_shape")?,
    )?;
    let separator = match members.get("separator") {
        None => '/',
        Some(value) => value.as_str().and_then(separator).ok_or_else(|| {
            let what = format_args!(
                "chunk_grid.separator is {}, not \"/\" or \".\"",
                show(value)
            );
            MetadataError::invalid(key, what)
        })?,
    };
    Ok((chunk_shape, separator))
}

fn required_in<'a>(
    key: &str,
    members: &'a Members<'a>,
    name: &str,
) -> Result<&'a Json<'a>, MetadataError> {
    members
        .get(name)
        .ok_or_else(|| MetadataError::invalid(key, format_args!("chunk_grid has no {name}")))
}

/// The compressor of dialect B.
fn compressor(key: &str, document: &Members<'_>) -> Result<Option<CodecSpec>, MetadataError> {
    let value = match document.get("compressor") {
        None | Some(Json::Null) => return Ok(None),
        Some(value) => value,
    };
    if document.contains_key("codecs") {
        return Err(MetadataError::invalid(
            key,
            "has both a compressor and codecs",
        ));
    }
    let Some(Json::String(uri)) = value.get("codec") else {
        let what = format_args!(
            "compressor is {}, which has no URI as its codec",
            show(value)
        );
        return Err(MetadataError::invalid(key, what));
    };
    let id = codecs::name(Dialect::B, uri).filter(|id| codecs::COMPRESSORS_B.contains(id));
    let Some(id) = id else {
        return Err(MetadataError::unsupported(key, "codec", uri));
    };
    match value.get("configuration") {
        None => {
            numcodecs::parse_configuration(key, Place::Member("compressor"), id, &Members::new())
                .map(Some)
        }
        Some(Json::Object(members)) => {
            numcodecs::parse_configuration(key, Place::Member("compressor"), id, members).map(Some)
        }
        Some(other) => {
            let what = format_args!(
                "compressor.configuration is {}, not an object",
                other.kind()
            );
            Err(MetadataError::invalid(key, what))
        }
    }
}
