//! Changes of an array's shape.

use bytes::Bytes;
use ndzarr_model::ArraySpec;

use crate::json::{Json, Members};
use crate::{Format, MetadataError, Node, NodeKind, attributes_key, draft, n5, v2, v3};

/// How a document changes when the shape of its array changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapeChange {
    /// The new value of the document.
    pub document: Bytes,
    /// The shape in the old document, in elements, by the axes of the array.
    pub was: Vec<u64>,
    /// The array in the new document. Its grid may have more chunks: in a rectilinear one, growing
    /// beyond the last chunk adds another.
    pub now: ArraySpec,
}

/// Key of the document that holds an array's shape.
///
/// ```
/// # use bytes::Bytes;
/// # use ndzarr_metadata::*;
/// let document = br#"{"zarr_format": 2, "shape": [5], "chunks": [3], "dtype": "|u1", "order": "C",
///                     "compressor": null, "filters": null, "fill_value": 9}"#;
/// let mut known = Known::new();
/// known.add_document("a/.zarray", Some(Bytes::from_static(document)));
/// known.add_document("a/.zattrs", None);
/// let options = OpenOptions { format: Some(Format::Zarr2), ..OpenOptions::default() };
/// let node = match open(&NodePath::new("a")?, &known, &options)? {
///     Resolved::Done(node) => node,
///     Resolved::Need(need) => panic!("all of it is known but {need:?}"),
/// };
/// assert_eq!(shape_key(&node), "a/.zarray");
///
/// let change = change_shape(&node, Some(document), &[8])?;
/// assert_eq!(change.was, [5]);
/// assert_eq!(document_shape(&node, Some(&change.document))?, [8]);
/// # Ok::<(), MetadataError>(())
/// ```
#[must_use]
pub fn shape_key(node: &Node) -> String {
    match node.format {
        Format::Zarr2 => format!("{}{}", node.path.prefix(), v2::ARRAY),
        Format::Zarr3 | Format::DraftA | Format::DraftB | Format::N5 => attributes_key(node),
    }
}

/// The new value of the document under [`shape_key`], given its current one, read just before
/// (`None`: it does not exist). `shape` is in elements, by the axes of the array. Everything else
/// in the document stays, including unknown members, the order of members and the texts of numbers.
///
/// # Errors
/// The shape has another rank, or the format cannot express it; the current document is gone,
/// cannot be read, or describes another array than the one that was opened.
pub fn change_shape(
    node: &Node,
    current: Option<&[u8]>,
    shape: &[u64],
) -> Result<ShapeChange, MetadataError> {
    let key = shape_key(node);
    let current = current.ok_or_else(|| MetadataError::gone(&node.path, &key))?;
    let before = lower(node, &key, current)?;
    if shape.len() != before.shape.len() {
        let new = shape.len();
        let old = before.shape.len();
        let what = format_args!("a shape of {new} dimensions for an array of {old} dimensions");
        return Err(MetadataError::inexpressible(node.format, what));
    }
    let mut lengths: Vec<Json<'static>> = shape.iter().map(|&n| n.into()).collect();
    let mut document = parse(node, &key, current)?;
    let name = match node.format {
        Format::N5 => {
            n5::check_lengths(shape)?;
            if node.context.n5_axes == crate::N5Axes::Reversed {
                lengths.reverse();
            }
            "dimensions"
        }
        Format::Zarr2 | Format::Zarr3 | Format::DraftA | Format::DraftB => "shape",
    };
    // Inserting over a member leaves it in its place.
    document.insert(name, lengths.into());
    if let (Format::Zarr3, Some(grid)) = (node.format, document.get_mut("chunk_grid")) {
        v3::grid::extend(grid, shape, before.inner_chunk_shape().as_deref());
    }
    if node.format != Format::N5 {
        crate::json::quote_fill_value(&mut document);
    }
    let document = crate::json::write_object(&key, document)?;
    // The format's other requirements on a shape are checked by reading it.
    let after = lower(node, &key, &document)
        .map_err(|error| MetadataError::inexpressible(node.format, error))?;
    Ok(ShapeChange {
        document,
        was: before.shape,
        now: after,
    })
}

/// The array's shape in the document under [`shape_key`], in elements, by the axes of the array.
///
/// # Errors
/// The document is gone, cannot be read, or describes another array than the one that was opened.
pub fn document_shape(node: &Node, current: Option<&[u8]>) -> Result<Vec<u64>, MetadataError> {
    let key = shape_key(node);
    let current = current.ok_or_else(|| MetadataError::gone(&node.path, &key))?;
    Ok(lower(node, &key, current)?.shape)
}

fn parse<'a>(node: &Node, key: &str, bytes: &'a [u8]) -> Result<Members<'a>, MetadataError> {
    match node.format {
        Format::Zarr2 | Format::N5 => {
            crate::json::parse_object(key, bytes, crate::json::NonFinite::Accept)
        }
        Format::Zarr3 => crate::json::parse_object(key, bytes, crate::json::IN_VALUES),
        Format::DraftA | Format::DraftB => draft::parse(node, key, bytes),
    }
}

/// The array as the document describes it now; apart from its shape it must still be the array of
/// the node.
fn lower(node: &Node, key: &str, bytes: &[u8]) -> Result<ArraySpec, MetadataError> {
    let spec = match node.format {
        Format::Zarr2 => v2::array_spec(node, key, bytes),
        Format::Zarr3 => v3::array_spec(node, key, bytes),
        Format::DraftA | Format::DraftB => draft::array_spec(node, bytes),
        Format::N5 => n5::array_spec(node, key, bytes),
    }?;
    let same = match &node.kind {
        NodeKind::Array(was) => was.data_type == spec.data_type && same_chunks(was, &spec),
        NodeKind::Group | NodeKind::ImplicitGroup => false,
    };
    if same {
        return Ok(spec);
    }
    Err(MetadataError::invalid(
        key,
        "no longer describes the array that was opened",
    ))
}

/// True if an array is still the one that was opened: only its shape, what follows from that, and
/// the names of its dimensions may have changed.
#[must_use]
pub fn is_same_array(was: &ArraySpec, is: &ArraySpec) -> bool {
    let changed = ArraySpec {
        shape: is.shape.clone(),
        unit_shape: is.unit_shape.clone(),
        chunk_edges: is.chunk_edges.clone(),
        dimension_names: is.dimension_names.clone(),
        ..was.clone()
    };
    changed == *is && was.shape.len() == is.shape.len() && same_chunks(was, is)
}

/// True if the chunks that both have are the same.
fn same_chunks(was: &ArraySpec, is: &ArraySpec) -> bool {
    let agree = match (was.edges(), is.edges()) {
        (None, None) => was.unit_shape == is.unit_shape,
        (Some(was), Some(is)) => {
            was.len() == is.len() && was.iter().zip(is).all(|(was, is)| was.agrees_with(is))
        }
        _ => false,
    };
    agree && was.custom_grid == is.custom_grid
}
