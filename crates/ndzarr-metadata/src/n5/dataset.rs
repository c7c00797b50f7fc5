//! The members of a dataset to and from an [`ArraySpec`].

use ndzarr_model::{
    ArraySpec, ChunkKeys, CodecCheck, CodecConfig, CodecSpec, DataType, EdgeBlocks, Endian,
    FillValue, KeyEncoding, N5BlockConfig,
};

use serde_json::Value;

use crate::json::{Json, Members, as_integral_i128, json, show};
use crate::n5::compression;
use crate::n5::document::RESERVED;
use crate::shared::attribute_texts::of_request;
use crate::shared::names::DIMENSION_NAMES as ARRAY_DIMENSIONS;
use crate::{ArrayRequest, CreateOptions, FillRequest, Format, MetadataError, N5Axes, Order};

/// Maximum rank and block edge in a block's header.
const MAX_RANK: usize = u16::MAX as usize;
const MAX_EDGE: u64 = u32::MAX as u64;

/// Java's limits: signed 16, 32 and 64 bits.
const MAX_WRITTEN_RANK: usize = i16::MAX as usize;
const MAX_WRITTEN_EDGE: u64 = i32::MAX as u64;
const MAX_WRITTEN_LENGTH: u64 = i64::MAX as u64;

/// The array that the members of a document at `prefix` describe.
pub(crate) fn lower(
    key: &str,
    prefix: String,
    members: &Members<'_>,
    axes: N5Axes,
) -> Result<ArraySpec, MetadataError> {
    for name in ["codecs", "shardSize"] {
        if members.get(name).is_some_and(|value| !value.is_null()) {
            return Err(MetadataError::unsupported(key, "member", name));
        }
    }
    require(key, members)?;
    let mut shape = sizes(key, members, "dimensions", 0)?;
    let mut chunk_shape = sizes(key, members, "blockSize", 1)?;
    check_stored_sizes(key, &shape, &chunk_shape)?;
    let data_type = data_type(key, members.get("dataType"))?;
    let elem_size = data_type.elem_size().unwrap_or(1);
    if byte_len(&chunk_shape, elem_size).is_none() {
        let what = format!("blockSize {chunk_shape:?} of {data_type} is more than memory can hold");
        return Err(MetadataError::invalid(key, what));
    }
    let compression = compression::lower(key, members, elem_size)?;
    let mut dimension_names =
        names_in_axes(members, shape.len()).or_else(|| names_of_python(members, shape.len()));
    let block = CodecConfig::N5Block(Box::new(N5BlockConfig {
        compression,
        edge_blocks: EdgeBlocks::default(),
    }));
    let mut codecs = vec![CodecSpec::from(block)];
    match axes {
        N5Axes::Native if shape.len() >= 2 => {
            let order = (0..shape.len()).rev().collect();
            codecs.insert(0, CodecConfig::Transpose { order }.into());
        }
        N5Axes::Native => {}
        N5Axes::Reversed => {
            shape.reverse();
            chunk_shape.reverse();
            if let Some(names) = &mut dimension_names {
                names.reverse();
            }
        }
    }
    Ok(ArraySpec {
        shape,
        unit_shape: chunk_shape,
        chunk_edges: None,
        custom_grid: None,
        fill_value: FillValue::zero(&data_type),
        data_type,
        codecs: codecs.into(),
        codec_check: CodecCheck::AtOpen,
        keys: ChunkKeys {
            prefix,
            encoding: KeyEncoding::N5 {
                reversed: axes == N5Axes::Reversed,
            },
        },
        dimension_names,
    })
}

/// Refuses sizes that do not fit a block's header.
fn check_stored_sizes(key: &str, shape: &[u64], chunk_shape: &[u64]) -> Result<(), MetadataError> {
    if shape.len() != chunk_shape.len() {
        let what = format!(
            "dimensions has {} entries and blockSize {}",
            shape.len(),
            chunk_shape.len()
        );
        return Err(MetadataError::invalid(key, what));
    }
    if shape.len() > MAX_RANK {
        let what = format!(
            "dimensions has {} entries, more than a block can have",
            shape.len()
        );
        return Err(MetadataError::invalid(key, what));
    }
    if let Some(edge) = chunk_shape.iter().find(|edge| **edge > MAX_EDGE) {
        let what = format!("blockSize has the entry {edge}, more than a block can have");
        return Err(MetadataError::invalid(key, what));
    }
    Ok(())
}

/// Reports all missing members at once.
fn require(key: &str, members: &Members<'_>) -> Result<(), MetadataError> {
    let absent = |name: &&str| members.get(name).is_none_or(Json::is_null);
    let mut missing: Vec<&str> = ["dimensions", "blockSize", "dataType"]
        .into_iter()
        .filter(|name| absent(name))
        .collect();
    if absent(&"compression") && absent(&"compressionType") {
        missing.push("compression");
    }
    if missing.is_empty() {
        return Ok(());
    }
    let verb = if missing.len() == 1 { "is" } else { "are" };
    Err(MetadataError::invalid(
        key,
        format_args!("not a dataset: {} {verb} missing", missing.join(", ")),
    ))
}

/// A list of integers, each at least `least`; `5.0` is accepted as 5.
fn sizes(
    key: &str,
    members: &Members<'_>,
    name: &str,
    least: u64,
) -> Result<Vec<u64>, MetadataError> {
    let Some(Json::Array(items)) = members.get(name) else {
        let what = format!(
            "{name} is {}, not a list",
            members.get(name).map_or("missing", Json::kind)
        );
        return Err(MetadataError::invalid(key, what));
    };
    let size = |item: &Json<'_>| as_integral_i128(item).and_then(|int| u64::try_from(int).ok());
    items
        .iter()
        .map(|item| {
            size(item).filter(|size| *size >= least).ok_or_else(|| {
                let what = format!(
                    "{name} has the entry {}, not an integer of at least {least}",
                    show(item)
                );
                MetadataError::invalid(key, what)
            })
        })
        .collect()
}

fn data_type(key: &str, value: Option<&Json<'_>>) -> Result<DataType, MetadataError> {
    match value {
        Some(Json::String(name)) => {
            known(name).ok_or_else(|| MetadataError::unsupported(key, "dataType", name))
        }
        other => {
            let what = format!(
                "dataType is {}, not a string",
                other.map_or("missing", Json::kind)
            );
            Err(MetadataError::invalid(key, what))
        }
    }
}

/// The type of this name. N5 has no other fixed-size types: `bool`, `float16` … of zarr-python 2
/// are not part of it.
fn known(name: &str) -> Option<DataType> {
    DataType::from_name(name).filter(is_known)
}

fn is_known(data_type: &DataType) -> bool {
    match data_type {
        DataType::Int { bits } | DataType::UInt { bits } => *bits >= 8,
        DataType::String | DataType::Object => true,
        DataType::Float { bits } => matches!(bits, 32 | 64),
        _ => false,
    }
}

/// Refuses dimensions longer than Java can read.
pub(crate) fn check_lengths(shape: &[u64]) -> Result<(), MetadataError> {
    match shape.iter().find(|length| **length > MAX_WRITTEN_LENGTH) {
        None => Ok(()),
        Some(length) => {
            let what = format_args!("has no dimension as long as {length}");
            Err(MetadataError::inexpressible(Format::N5, what))
        }
    }
}

/// Bytes of a block; `None` if it cannot fit in memory.
fn byte_len(chunk_shape: &[u64], elem_size: usize) -> Option<u64> {
    let elem_size = u64::try_from(elem_size).ok()?;
    let len = chunk_shape
        .iter()
        .try_fold(elem_size, |product, edge| product.checked_mul(*edge))?;
    isize::try_from(len).ok().map(|_| len)
}

/// Names of the dimensions; `None` for one without a name.
type Names = Vec<Option<String>>;

/// The names in `axes`, in the order of the document. It only counts if it has one string per
/// dimension.
fn names_in_axes(members: &Members<'_>, rank: usize) -> Option<Names> {
    names(members.get("axes")?, rank)
}

/// The names in `_ARRAY_DIMENSIONS`, in the order of the document. Programs that write it (xarray,
/// zarr-python 2, z5py) show arrays with the axes reversed, and list the names as they show them.
fn names_of_python(members: &Members<'_>, rank: usize) -> Option<Names> {
    let mut names = names(members.get(ARRAY_DIMENSIONS)?, rank)?;
    names.reverse();
    Some(names)
}

fn names(list: &Json<'_>, rank: usize) -> Option<Names> {
    let names: Option<Vec<&str>> = list.as_array()?.iter().map(Json::as_str).collect();
    let names =
        names.filter(|names| names.len() == rank && names.iter().any(|name| !name.is_empty()))?;
    Some(
        names
            .into_iter()
            .map(|name| (!name.is_empty()).then(|| name.to_owned()))
            .collect(),
    )
}

/// The conflict between the names of the dimensions in `axes` and in `_ARRAY_DIMENSIONS`, if any.
pub(crate) fn conflict_of_names(members: &Members<'_>, rank: usize) -> Option<String> {
    let in_axes = names_in_axes(members, rank)?;
    let of_python = names_of_python(members, rank)?;
    (in_axes != of_python).then(|| {
        let axes = members.get("axes").map(show).unwrap_or_default();
        let python = members.get(ARRAY_DIMENSIONS).map(show).unwrap_or_default();
        format!(
            "axes names the dimensions {axes}, and {ARRAY_DIMENSIONS}, whose order is the reverse, {python}: \
             axes counts"
        )
    })
}

/// The members of a new dataset, the format's four first, the user's last.
pub(crate) fn raise(
    request: &ArrayRequest,
    options: &CreateOptions,
) -> Result<Members<'static>, MetadataError> {
    check_expressible(request)?;
    let data_type = &request.data_type;
    let axes = options.n5_axes;
    if !is_known(data_type) {
        return Err(refuse(format_args!("has no data type {data_type}")));
    }
    let elem_size = data_type.elem_size().unwrap_or(1);
    check_sizes(request, elem_size)?;
    let in_n5_order = |sizes: &[u64]| -> Vec<u64> {
        match axes {
            N5Axes::Native => sizes.to_vec(),
            N5Axes::Reversed => sizes.iter().rev().copied().collect(),
        }
    };
    let mut members = Members::new();
    members.insert("dataType", data_type.to_string().into());
    members.insert(
        "compression",
        compression::raise(&request.codecs, elem_size)?,
    );
    members.insert("blockSize", in_n5_order(&request.chunk_shape).into());
    members.insert("dimensions", in_n5_order(&request.shape).into());
    if let Some(names) = &request.dimension_names {
        let axes = raise_names(names, request.shape.len(), axes)?;
        if request
            .attributes
            .get("axes")
            .is_some_and(|given| Json::from(given) != axes)
        {
            return Err(refuse(
                "keeps dimension names in the attribute axes, which has another value",
            ));
        }
        members.insert("axes", axes);
    }
    for (name, value) in of_request(&request.attributes, options) {
        if RESERVED.contains(&&*name) || matches!(&*name, "codecs" | "shardSize") {
            return Err(refuse(format_args!("reserves the attribute {name}")));
        }
        members.insert(name, value);
    }
    match conflict_of_names(&members, request.shape.len()) {
        Some(what) => Err(MetadataError::inexpressible(Format::N5, what)),
        None => Ok(members),
    }
}

fn check_expressible(request: &ArrayRequest) -> Result<(), MetadataError> {
    if request.endian == Some(Endian::Little) {
        return Err(refuse("stores only big-endian numbers"));
    }
    if request.order == Order::F {
        return Err(refuse(
            "has no choice of element order: the axis order determines it",
        ));
    }
    if request.shard_shape.is_some() {
        return Err(refuse("has no shards"));
    }
    if let Some(separator) = request.separator.filter(|separator| *separator != '/') {
        return Err(refuse(format_args!("has no separator {separator:?}")));
    }
    if let Some(name) = &request.key_encoding {
        return Err(refuse(format_args!("has no chunk key encoding {name:?}")));
    }
    let zero = match &request.fill_value {
        FillRequest::Zero => true,
        FillRequest::Value(value) => value.is_zero(),
        FillRequest::Json(Value::String(text)) if request.data_type == DataType::String => {
            text.is_empty()
        }
        FillRequest::Json(Value::Number(number)) => number
            .to_string()
            .parse()
            .is_ok_and(|v: f64| v.to_bits() == 0),
        FillRequest::Json(_) => false,
        FillRequest::Undefined => return Err(refuse("has no undefined fill value, only 0")),
    };
    if zero {
        Ok(())
    } else {
        Err(refuse("has only 0 as fill value"))
    }
}

fn check_sizes(request: &ArrayRequest, elem_size: usize) -> Result<(), MetadataError> {
    let shape = &request.shape;
    let chunk_shape = &request.chunk_shape;
    if shape.len() != chunk_shape.len() {
        return Err(refuse(format_args!(
            "needs a block size per dimension, but has {} for {}",
            chunk_shape.len(),
            shape.len()
        )));
    }
    // Only tensorstore supports datasets without dimensions; Java fails on their blocks.
    if shape.is_empty() || shape.len() > MAX_WRITTEN_RANK {
        return Err(refuse(format_args!(
            "has 1 to {MAX_WRITTEN_RANK} dimensions, not {}",
            shape.len()
        )));
    }
    check_lengths(shape)?;
    if let Some(edge) = chunk_shape
        .iter()
        .find(|edge| !(1..=MAX_WRITTEN_EDGE).contains(edge))
    {
        return Err(refuse(format_args!(
            "has block sizes from 1 to {MAX_WRITTEN_EDGE}, not {edge}"
        )));
    }
    match byte_len(chunk_shape, elem_size) {
        Some(len) if len <= MAX_WRITTEN_EDGE => Ok(()),
        _ => Err(refuse(format_args!(
            "has blocks of at most {MAX_WRITTEN_EDGE} bytes, which {chunk_shape:?} exceeds"
        ))),
    }
}

/// `axes` as tensorstore needs it: a different string for every dimension.
fn raise_names(
    names: &[Option<String>],
    rank: usize,
    axes: N5Axes,
) -> Result<Json<'static>, MetadataError> {
    let given: Option<Vec<&str>> = names
        .iter()
        .map(|name| name.as_deref().filter(|name| !name.is_empty()))
        .collect();
    let Some(mut given) = given.filter(|given| given.len() == rank) else {
        return Err(refuse("names either all dimensions or none"));
    };
    if let Some(name) = given
        .iter()
        .enumerate()
        .find_map(|(i, name)| given[..i].contains(name).then_some(name))
    {
        return Err(refuse(format_args!(
            "cannot have two dimensions named {name}"
        )));
    }
    if axes == N5Axes::Reversed {
        given.reverse();
    }
    Ok(json!(given))
}

fn refuse(what: impl std::fmt::Display) -> MetadataError {
    MetadataError::inexpressible(Format::N5, what)
}
