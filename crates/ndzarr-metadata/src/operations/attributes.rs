//! Changes the document that holds the user's attributes.

use bytes::Bytes;
use serde_json::Value;

use crate::shared::attribute_texts;
use crate::{AttributeChange, Format, MetadataError, Node, draft, n5, v2, v3};

/// Key of the document that holds a node's attributes. The document need not exist.
#[must_use]
pub fn attributes_key(node: &Node) -> String {
    match node.format {
        Format::Zarr2 => v2::attributes_key(node),
        Format::Zarr3 => v3::document_key(&node.path),
        Format::DraftA | Format::DraftB => draft::attributes_key(node),
        Format::N5 => n5::document_key(&node.path),
    }
}

/// One attribute in the current value of the document under [`attributes_key`]; `None` if it is not
/// there. It may also find a member of the format's own, which cannot be changed.
///
/// # Errors
/// The document cannot be read.
pub fn current_attribute(
    node: &Node,
    current: Option<&[u8]>,
    name: &str,
) -> Result<Option<Value>, MetadataError> {
    attribute_texts::get(node.format, &attributes_key(node), current, name)
}

/// The new value of the document under [`attributes_key`], given its current value, read just
/// before; `None` means that it does not exist. Everything in the document except the user's
/// attributes stays as it is.
///
/// # Errors
/// The current document cannot be read or is gone; the change has no meaning in the node's format.
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
