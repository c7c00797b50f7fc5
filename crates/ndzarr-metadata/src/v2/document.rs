//! Reads `.zarray`, `.zgroup` and `.zattrs`.

use ndzarr_model::{ArraySpec, Attributes, ChunkKeys, CodecCheck, CodecSpec, KeyEncoding};

use crate::json::{Json, Members, as_u64, show};
use crate::shared::chunk_grid;
use crate::shared::dtype::Stored;
use crate::shared::fields::separator;
use crate::shared::fields::{Place, lengths, required};
use crate::shared::names::DIMENSION_NAMES;
use crate::shared::request_parts::reversal;
use crate::shared::{dtype, numcodecs};
use crate::v2::objects::Objects;
use crate::v2::{fill, objects, spellings};
use crate::{MetadataError, NodePath, json};

/// Checks a `.zgroup`: it must exist and have format 2.
pub(crate) fn check_group(key: &str, bytes: &[u8]) -> Result<(), MetadataError> {
    check_format(
        key,
        &json::parse_object(key, bytes, json::NonFinite::Accept)?,
    )
}

/// Reads a `.zattrs`; an absent one is empty.
pub(crate) fn attributes(key: &str, bytes: Option<&[u8]>) -> Result<Attributes, MetadataError> {
    bytes.map_or_else(
        || Ok(Attributes::new()),
        |bytes| json::parse_attributes(key, bytes),
    )
}

/// Reads a `.zarray`; the names of its dimensions are among the attributes. Each departure of its
/// spelling from the specification is added to `warnings`.
pub(crate) fn array(
    path: &NodePath,
    key: &str,
    bytes: &[u8],
    attributes: &Attributes,
    warnings: &mut Vec<String>,
) -> Result<ArraySpec, MetadataError> {
    let mut document = json::parse_object(key, bytes, json::NonFinite::Accept)?;
    check_format(key, &document)?;
    spellings::correct(key, &mut document, warnings);
    let shape = lengths(key, "shape", required(key, &document, "shape")?)?;
    let chunk_shape = lengths(key, "chunks", required(key, &document, "chunks")?)?;
    let dtype = required(key, &document, "dtype")?;
    let mut filters = document.get("filters").cloned();
    let mut compressor = document.get("compressor").cloned();
    let objects = if dtype::is_object(dtype) {
        Some(objects::parse(key, &mut filters, &mut compressor)?)
    } else {
        None
    };
    let (data_type, stored) = match &objects {
        Some(objects) => (objects.data_type.clone(), Stored::One(None)),
        None => dtype::parse(key, dtype)?,
    };
    chunk_grid::check(key, &shape, &chunk_shape, &data_type)?;
    let fill_value = fill::parse(
        key,
        &data_type,
        &stored,
        required(key, &document, "fill_value")?,
    )?;
    let mut chain = order(
        key,
        "order",
        required(key, &document, "order")?,
        objects.as_ref(),
        shape.len(),
    )?;
    chain.push(objects.map_or_else(|| stored.codec().into(), |objects| objects.codec));
    chain.extend(bytes_codecs(key, filters.as_ref(), compressor.as_ref())?);
    let separator = match document.get("dimension_separator") {
        None => '.',
        Some(value) => value.as_str().and_then(separator).ok_or_else(|| {
            let what = format_args!("dimension_separator is {}, not \".\" or \"/\"", show(value));
            MetadataError::invalid(key, what)
        })?,
    };
    let dimension_names = dimension_names(attributes, shape.len());
    Ok(ArraySpec {
        shape,
        unit_shape: chunk_shape,
        chunk_edges: None,
        custom_grid: None,
        data_type,
        fill_value,
        codecs: chain.into(),
        codec_check: CodecCheck::AtAccess,
        keys: ChunkKeys {
            prefix: path.prefix(),
            encoding: KeyEncoding::V2 { separator },
        },
        dimension_names,
    })
}

/// The transpose for the element order that a member of this name states.
pub(crate) fn order(
    key: &str,
    name: &str,
    value: &Json<'_>,
    objects: Option<&Objects>,
    ndim: usize,
) -> Result<Vec<CodecSpec>, MetadataError> {
    match value.as_str() {
        Some("C") => Ok(Vec::new()),
        // The lists of some object codecs are row by row regardless.
        Some("F") if objects.is_some_and(|objects| objects.row_by_row) => Ok(Vec::new()),
        Some("F") => Ok(reversal(ndim).into_iter().collect()),
        _ => {
            let what = format_args!("{name} is {}, not \"C\" or \"F\"", show(value));
            Err(MetadataError::invalid(key, what))
        }
    }
}

/// Filters in order, then the compressor, as one chain.
pub(crate) fn bytes_codecs(
    key: &str,
    filters: Option<&Json<'_>>,
    compressor: Option<&Json<'_>>,
) -> Result<Vec<CodecSpec>, MetadataError> {
    let mut chain = Vec::new();
    match filters {
        None | Some(Json::Null) => {}
        Some(Json::Array(filters)) => {
            for (i, filter) in filters.iter().enumerate() {
                chain.push(numcodecs::parse_codec(
                    key,
                    Place::Item("filters", i),
                    filter,
                )?);
            }
        }
        Some(other) => {
            let what = format_args!("filters is {}, not null or a list", show(other));
            return Err(MetadataError::invalid(key, what));
        }
    }
    match compressor {
        None | Some(Json::Null) => {}
        Some(compressor) => chain.push(numcodecs::parse_codec(
            key,
            Place::Member("compressor"),
            compressor,
        )?),
    }
    Ok(chain)
}

fn check_format(key: &str, document: &Members<'_>) -> Result<(), MetadataError> {
    match required(key, document, "zarr_format")? {
        value if as_u64(value) == Some(2) => Ok(()),
        value => Err(MetadataError::invalid(
            key,
            format_args!("zarr_format is {}, not 2", show(value)),
        )),
    }
}

/// The names in xarray's `_ARRAY_DIMENSIONS`, if there is one for each dimension.
fn dimension_names(attributes: &Attributes, ndim: usize) -> Option<Vec<Option<String>>> {
    let names = attributes.get(DIMENSION_NAMES)?.as_array()?;
    if names.len() != ndim {
        return None;
    }
    names
        .iter()
        .map(|name| name.as_str().map(|name| Some(name.to_owned())))
        .collect()
}
