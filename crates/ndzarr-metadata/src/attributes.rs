//! Changes of the user's attributes.

use bytes::Bytes;
use ndzarr_model::Attributes;

use crate::json::{self, Json, Members, NonFinite};
use crate::{AttributeChange, CreateOptions, Format, MetadataError, Node, draft, n5, v2, v3};

/// Key of the document that holds a node's attributes; it need not exist.
#[must_use]
pub fn attributes_key(node: &Node) -> String {
    match node.format {
        Format::Zarr2 => v2::attributes_key(node),
        Format::Zarr3 => v3::attributes_key(node),
        Format::DraftA | Format::DraftB => draft::attributes_key(node),
        Format::N5 => n5::attributes_key(node),
    }
}

/// The new value of the document under [`attributes_key`], given its current one, read just now; `None`: there is
/// none. Whatever the document holds besides the user's attributes stays as it is.
///
/// # Errors
/// The current document cannot be read or is gone; an attribute is no standard JSON (`NaN`); the change has no
/// meaning in the node's format.
pub fn change_attributes(
    node: &Node,
    current: Option<&[u8]>,
    change: &AttributeChange,
) -> Result<Bytes, MetadataError> {
    match node.format {
        Format::Zarr2 => v2::change_attributes(node, current, change),
        Format::Zarr3 => v3::change_attributes(node, current, change),
        Format::DraftA | Format::DraftB => draft::change_attributes(node, current, change),
        Format::N5 => n5::change_attributes(node, current, change),
    }
}

/// The names of the attributes with the numbers `NaN`, `Infinity` or `-Infinity` in them, which Python writes and standard JSON
/// does not have. Users see them as strings, and as such they are written again.
#[must_use]
pub fn non_finite_attributes(node: &Node) -> Vec<String> {
    let has_tokens = |(_, value): &(&str, &Json<'_>)| value.has_tokens();
    texts(node).iter().filter(has_tokens).map(|(name, _)| name.to_owned()).collect()
}

/// The attributes of a new node, as they are written.
pub(crate) fn of_request(attributes: &Attributes, options: &CreateOptions) -> Members<'static> {
    match &options.attributes_of {
        Some(node) => Members::in_place_of(&texts(node), attributes).to_owned(),
        None => attributes.into(),
    }
}

/// The attributes of a node as its documents have them, and maybe other members.
fn texts(node: &Node) -> Members<'_> {
    let has_attributes = |key: &str| node.format != Format::Zarr2 || key.ends_with(v2::ATTRIBUTES);
    let document = node.documents.iter().find(|(key, _)| has_attributes(key));
    let members = document.and_then(|(key, bytes)| json::parse_object(key, bytes, NonFinite::Accept).ok());
    let mut members = members.unwrap_or_default();
    match node.format {
        Format::Zarr2 | Format::N5 => members,
        Format::Zarr3 | Format::DraftA | Format::DraftB => match members.remove("attributes") {
            Some(Json::Object(attributes)) => attributes,
            _ => Members::new(),
        },
    }
}

/// Applies a change of whole members; changes by N5 path are N5's own business. What the user sees no change in keeps its
/// text.
pub(crate) fn apply(
    format: Format,
    attributes: &mut Members<'_>,
    change: &AttributeChange,
) -> Result<(), MetadataError> {
    match change {
        AttributeChange::Merge(new) => {
            for (name, value) in new {
                let value = Json::in_place_of(attributes.get(name), value);
                attributes.insert(name.as_str(), value);
            }
        }
        AttributeChange::Replace(new) => *attributes = Members::in_place_of(attributes, new),
        AttributeChange::Remove(names) => {
            for name in names {
                attributes.remove(name);
            }
        }
        AttributeChange::SetN5Path { .. } | AttributeChange::RemoveN5Path(_) => {
            return Err(MetadataError::inexpressible(format, "attribute paths are of N5 alone"));
        }
    }
    Ok(())
}
