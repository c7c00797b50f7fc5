//! Attributes as documents spell them: whatever a change does not touch keeps its text.

use ndzarr_model::Attributes;
use serde_json::Value;

use crate::json::{self, Json, Members, NonFinite};
use crate::shared::names::ATTRIBUTES;
use crate::{AttributeChange, CreateOptions, Format, MetadataError, Node};

/// The attributes of a new node as they are written.
pub(crate) fn of_request(attributes: &Attributes, options: &CreateOptions) -> Members<'static> {
    match &options.attributes_of {
        Some(node) => Members::in_place_of(&texts(node), attributes).to_owned(),
        None => attributes.into(),
    }
}

/// The attributes of a node as its documents spell them, possibly with other members.
fn texts(node: &Node) -> Members<'_> {
    let has_attributes = |key: &str| node.format != Format::Zarr2 || key.ends_with(ATTRIBUTES);
    let document = node.documents.iter().find(|(key, _)| has_attributes(key));
    document
        .and_then(|(key, bytes)| in_document(node.format, key, bytes).ok())
        .unwrap_or_default()
}

/// The attributes in the text of the document that has them, possibly with other members.
fn in_document<'a>(
    format: Format,
    key: &str,
    bytes: &'a [u8],
) -> Result<Members<'a>, MetadataError> {
    let mut members = json::parse_object(key, bytes, NonFinite::Accept)?;
    Ok(match format {
        Format::Zarr2 | Format::N5 => members,
        Format::Zarr3 | Format::DraftA | Format::DraftB => match members.remove("attributes") {
            Some(Json::Object(attributes)) => attributes,
            _ => Members::new(),
        },
    })
}

/// One attribute in the current document under `key`, as users see it; `None` if it is absent.
pub(crate) fn get(
    format: Format,
    key: &str,
    current: Option<&[u8]>,
    name: &str,
) -> Result<Option<Value>, MetadataError> {
    let Some(current) = current else {
        return Ok(None);
    };
    let members = in_document(format, key, current)?;
    Ok(members.get(name).map(Json::to_value))
}

/// Applies a change to whole members; N5 handles changes by attribute path itself. Values that do
/// not change for the user keep their text.
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
            return Err(MetadataError::inexpressible(
                format,
                "only N5 has attribute paths",
            ));
        }
    }
    Ok(())
}
