//! The `chunk_grid` of a document (Zarr v3 specification, "Chunk grid").

use ndzarr_model::{ChunkEdges, ChunkGrid, CustomChunkGrid};

use crate::json::{Json, as_u64, as_u64_list, json, show};
use crate::shared::fields::{Fields, Place};
use crate::v3::extension::{Extension, named};
use crate::{Extensions, MetadataError};

const PLACE: Place<'_> = Place::Member("chunk_grid");

/// A chunk grid in a document.
#[derive(Debug, PartialEq)]
pub(crate) struct Grid {
    /// The maximum lengths.
    pub(crate) chunk_shape: Vec<u64>,
    pub(crate) edges: Option<Vec<ChunkEdges>>,
    pub(crate) custom: Option<CustomChunkGrid>,
}

/// Reads a grid over an array of this shape.
pub(crate) fn parse(
    key: &str,
    value: &Json<'_>,
    shape: &[u64],
    extensions: &Extensions,
) -> Result<Grid, MetadataError> {
    let extension = Extension::parse(key, PLACE, value)?;
    let mut configuration = extension.configuration(key, PLACE);
    match extension.name {
        "regular" => {
            let chunk_shape =
                configuration.required("chunk_shape", "a list of lengths", as_u64_list)?;
            configuration.end()?;
            Ok(Grid {
                chunk_shape,
                edges: None,
                custom: None,
            })
        }
        "rectilinear" => rectilinear(configuration, shape),
        name => match extensions.chunk_grid(name, &extension.raw_configuration(), shape) {
            Some(made) => {
                let custom = made.map_err(|what| configuration.invalid(what))?;
                let grid = ChunkGrid::rectilinear(shape, custom.edges())
                    .map_err(|error| configuration.invalid(error))?;
                Ok(Grid {
                    chunk_shape: grid.chunk_shape().to_vec(),
                    edges: None,
                    custom: Some(custom),
                })
            }
            None => Err(MetadataError::unsupported(key, "chunk grid", name)),
        },
    }
}

fn rectilinear(mut configuration: Fields<'_>, shape: &[u64]) -> Result<Grid, MetadataError> {
    let kind = configuration.required("kind", "\"inline\"", Json::as_str)?;
    if kind != "inline" {
        return Err(configuration.invalid(format_args!("has the unknown kind {kind:?}")));
    }
    let specs = configuration.required("chunk_shapes", "a list", Json::as_array)?;
    if specs.len() != shape.len() {
        let what = format_args!(
            "has {} chunk_shapes for {} dimensions",
            specs.len(),
            shape.len()
        );
        return Err(configuration.invalid(what));
    }
    let mut edges = Vec::with_capacity(specs.len());
    for (axis, spec) in specs.iter().enumerate() {
        let parsed = edges_of(spec).ok_or_else(|| {
            let what = format_args!(
                "has {} for dimension {axis}, not a length or a list of lengths and pairs, all above 0",
                show(spec)
            );
            configuration.invalid(what)
        })?;
        match parsed.end() {
            // A list may end beyond u64, which is always enough.
            Some(end) if end < shape[axis] => {
                let what = format_args!(
                    "covers {end} of the {} elements of dimension {axis}",
                    shape[axis]
                );
                return Err(configuration.invalid(what));
            }
            _ => edges.push(parsed),
        }
    }
    configuration.end()?;
    // A grid with equal lengths is treated as regular.
    let repeated = |edges: &ChunkEdges| match edges {
        ChunkEdges::Repeated(len) => Some(*len),
        ChunkEdges::Listed(_) => None,
    };
    let chunk_shape = edges.iter().map(ChunkEdges::max).collect();
    let regular = edges.iter().map(repeated).collect::<Option<Vec<_>>>();
    Ok(Grid {
        chunk_shape,
        edges: if regular.is_some() { None } else { Some(edges) },
        custom: None,
    })
}

/// Counts stay numbers and are never expanded into lists, however large they are.
fn edges_of(spec: &Json<'_>) -> Option<ChunkEdges> {
    let positive = |value: &Json<'_>| as_u64(value).filter(|&n| n > 0);
    if let Some(len) = positive(spec) {
        return Some(ChunkEdges::Repeated(len));
    }
    let run = |item: &Json<'_>| match item {
        Json::Array(pair) => match &pair[..] {
            [len, count] => Some((positive(len)?, positive(count)?)),
            _ => None,
        },
        len => Some((positive(len)?, 1)),
    };
    spec.as_array()?
        .iter()
        .map(run)
        .collect::<Option<Vec<_>>>()
        .map(ChunkEdges::Listed)
}

/// A grid in the form in which it is written.
pub(crate) fn write(grid: &Grid) -> Json<'static> {
    if let Some(custom) = &grid.custom {
        return named(custom.name(), custom.configuration().into());
    }
    let Some(edges) = &grid.edges else {
        return named("regular", json!({"chunk_shape": &grid.chunk_shape}));
    };
    let specs: Vec<Json<'static>> = edges.iter().map(spec_of).collect();
    named(
        "rectilinear",
        json!({"kind": "inline", "chunk_shapes": specs}),
    )
}

fn spec_of(edges: &ChunkEdges) -> Json<'static> {
    match edges {
        ChunkEdges::Repeated(len) => (*len).into(),
        ChunkEdges::Listed(runs) => runs
            .iter()
            .map(|&(len, count)| {
                if count == 1 {
                    json!(len)
                } else {
                    json!([len, count])
                }
            })
            .collect(),
    }
}

/// Extends a document's lists of lengths to the end of an array of this shape or beyond: one more
/// chunk covers the rest, as in zarr-python. Inner chunks have to divide it, so it may end after
/// the array.
pub(crate) fn extend(grid: &mut Json<'_>, shape: &[u64], inner_chunk_shape: Option<&[u64]>) {
    if grid.get("name").and_then(Json::as_str) != Some("rectilinear") {
        return;
    }
    let Some(specs) = grid
        .get_mut("configuration")
        .and_then(|configuration| configuration.get_mut("chunk_shapes"))
        .and_then(Json::as_array_mut)
    else {
        return;
    };
    for (axis, (spec, &len)) in specs.iter_mut().zip(shape).enumerate() {
        let end = edges_of(&Json::from(&*spec)).and_then(|edges| edges.end());
        if let (Some(end), Some(list)) = (end, spec.as_array_mut())
            && end < len
        {
            let missing = len - end;
            let unit = inner_chunk_shape
                .and_then(|shape| shape.get(axis))
                .map_or(1, |&n| n.max(1));
            list.push(
                missing
                    .checked_next_multiple_of(unit)
                    .unwrap_or(missing)
                    .into(),
            );
        }
    }
}
