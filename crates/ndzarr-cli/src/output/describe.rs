//! Describes arrays and groups, as JSON and in words.

use ndzarr::{AnyArray, Format, Group, MemberKind, N5Axes};
use ndzarr_metadata::{codecs_json, data_type_json, fill_value_json};
use serde_json::{Value, json};

/// The name of a kind; `None` if the document of the node does not show its kind.
pub(crate) fn kind_name(kind: Option<MemberKind>) -> Option<&'static str> {
    kind.map(|kind| match kind {
        MemberKind::Array => "array",
        MemberKind::Group => "group",
    })
}

/// An array, without the numbers that listing its chunks gives.
pub(crate) fn array(array: &AnyArray, axes: N5Axes) -> Value {
    let spec = array.spec();
    json!({
        "node": "array",
        "path": array.path(),
        "store": array.storage().name(),
        "format": array.format().to_string(),
        "shape": array.shape(),
        "data_type": data_type_json(array.data_type()),
        "chunk_shape": array.chunk_shape(),
        "shard_shape": array.shard_shape(),
        "codecs": codecs_json(&spec.codecs, &spec.data_type),
        "fill_value": fill_value_json(&spec.data_type, &spec.fill_value),
        "dimension_names": array.dimension_names(),
        "n5_axes": n5_axes(array.format(), axes),
        "attributes": array.attributes(),
        "warnings": array.warnings(),
        "byte_len": byte_len(array),
    })
}

/// A group, without its members.
pub(crate) fn group(group: &Group) -> Value {
    json!({
        "node": "group",
        "path": group.path(),
        "store": group.storage().name(),
        "format": group.format().to_string(),
        "attributes": group.attributes(),
        "warnings": group.warnings(),
    })
}

/// The order in which the axes of an N5 array are shown.
fn n5_axes(format: Format, axes: N5Axes) -> Option<&'static str> {
    (format == Format::N5).then_some(match axes {
        N5Axes::Native => "native",
        N5Axes::Reversed => "reversed",
    })
}

/// The order in which the axes of an array are shown, in words.
pub(crate) fn order_of_axes(format: Format, axes: N5Axes) -> &'static str {
    match (format, axes) {
        (Format::N5, N5Axes::Native) => "N5's own order, the first axis varies fastest",
        (Format::N5, N5Axes::Reversed) => "reversed, the last axis varies fastest",
        _ => "the last axis varies fastest",
    }
}

/// The size of the elements in memory; `None` if they have no fixed size.
pub(crate) fn byte_len(array: &AnyArray) -> Option<u64> {
    let size = array.data_type().elem_size()? as u64;
    Some(
        array
            .shape()
            .iter()
            .fold(size, |bytes, &n| bytes.saturating_mul(n)),
    )
}

/// A shape in words: `512 × 512 × 200`.
pub(crate) fn shape(shape: &[u64]) -> String {
    if shape.is_empty() {
        return "a scalar".to_owned();
    }
    shape
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(" × ")
}

/// A codec chain in few words: `sharding_indexed(bytes, zstd:3)`.
pub(crate) fn codecs(array: &AnyArray) -> String {
    let spec = array.spec();
    short_codecs(&codecs_json(&spec.codecs, &spec.data_type))
}

fn short_codecs(codecs: &Value) -> String {
    codecs
        .as_array()
        .into_iter()
        .flatten()
        .map(short_codec)
        .collect::<Vec<_>>()
        .join(", ")
}

fn short_codec(codec: &Value) -> String {
    let Some(name) = codec.as_str().or_else(|| codec["name"].as_str()) else {
        return codec.to_string();
    };
    let configuration = &codec["configuration"];
    if configuration["codecs"].is_array() {
        return format!("{name}({})", short_codecs(&configuration["codecs"]));
    }
    let scalar = |(key, value): (&String, &Value)| match value {
        Value::Object(_) => None,
        Value::String(text) => Some(format!("{key}={text}")),
        other => Some(format!("{key}={other}")),
    };
    let parameters: Vec<String> = configuration
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(scalar)
        .collect();
    if parameters.is_empty() {
        name.to_owned()
    } else {
        format!("{name}({})", parameters.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_short() {
        let codecs = json!([{"name": "sharding_indexed", "configuration": {"chunk_shape": [4], "codecs": [
            {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 3}}
        ]}}, "crc32c"]);
        assert_eq!(
            short_codecs(&codecs),
            "sharding_indexed(bytes(endian=little), zstd(level=3)), crc32c"
        );
    }
}
