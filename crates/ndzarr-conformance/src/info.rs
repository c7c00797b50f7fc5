//! Descriptions of nodes, as lines of JSON.

use std::io::Write;
use std::path::Path;

use ndzarr::{AnyArray, AnyNode, ConsolidatedUse, Format, Group, MemberKind, OpenOptions, Storage};
use ndzarr_metadata::{codecs_json, data_type_json, fill_value_json};
use serde_json::{Map, Value, json};

use crate::arguments::NodeArguments;
use crate::failure::Failure;

/// Prints the line of a node.
pub(crate) fn print(node: &NodeArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let line = match node.open()? {
        AnyNode::Array(array) => of_array(&array),
        AnyNode::Group(group) => of_group(&group)?,
    };
    Ok(writeln!(out, "{line}")?)
}

/// Prints a line for each node of a store.
pub(crate) fn list(
    store: &Path,
    format: Option<Format>,
    consolidated: ConsolidatedUse,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut print =
        |path: &str, node: &str| writeln!(out, "{}", json!({"path": path, "node": node}));
    let options = OpenOptions::new().format(format).consolidated(consolidated);
    match options.open_node(Storage::folder(store))? {
        AnyNode::Array(_) => print("", "array")?,
        AnyNode::Group(group) => {
            print("", "group")?;
            for child in group.walk()? {
                print(&child.path(), kind_name(child.kind()))?;
            }
        }
    }
    Ok(())
}

/// The line of an array.
pub(crate) fn of_array(array: &AnyArray) -> Value {
    let spec = array.spec();
    json!({
        "format": format_name(array.format()),
        "node": "array",
        "shape": array.shape(),
        "chunk_shape": innermost_chunk_shape(array),
        "shard_shape": array.shard_shape(),
        "data_type": data_type_json(array.data_type()),
        "fill_value": fill_value_json(&spec.data_type, &spec.fill_value),
        "codecs": codecs_json(&spec.codecs, &spec.data_type),
        "dimension_names": array.dimension_names(),
        "attributes": shown(array.attributes()),
    })
}

fn of_group(group: &Group) -> Result<Value, Failure> {
    let members: Map<String, Value> = group
        .children()?
        .iter()
        .map(|child| {
            (
                child.name().to_owned(),
                Value::from(kind_name(child.kind())),
            )
        })
        .collect();
    Ok(json!({
        "format": format_name(group.format()),
        "node": "group",
        "attributes": shown(group.attributes()),
        "members": members,
    }))
}

/// Shape of the first chunk, in elements; of the innermost ones where shards are nested, by the
/// axes of the array.
fn innermost_chunk_shape(array: &AnyArray) -> Vec<u64> {
    let spec = array.spec();
    if let Some((shape, _)) = spec.inner_chunks().pop() {
        return shape;
    }
    // Chunks may differ in shape.
    let first = spec
        .grid()
        .ok()
        .and_then(|grid| grid.shape_of(&vec![0; spec.shape.len()]));
    first.unwrap_or_else(|| spec.unit_shape.clone())
}

fn shown(attributes: &serde_json::Map<String, serde_json::Value>) -> Value {
    Value::Object(attributes.clone())
}

fn kind_name(kind: Option<MemberKind>) -> &'static str {
    match kind {
        Some(MemberKind::Array) => "array",
        Some(MemberKind::Group) => "group",
        None => "unreadable",
    }
}

/// The draft has two dialects, but one name.
fn format_name(format: Format) -> &'static str {
    match format {
        Format::Zarr2 => "zarr2",
        Format::Zarr3 => "zarr3",
        Format::DraftA | Format::DraftB => "zarr3-draft",
        Format::N5 => "n5",
        _ => "unknown",
    }
}
