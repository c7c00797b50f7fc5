//! Changes the document that holds the user's attributes.

use bytes::Bytes;

use crate::{AttributeChange, Format, MetadataError, Node, draft, n5, v2, v3};

/// Key of the document that holds a node's attributes. The document need not exist.
#[must_use]
pub fn attributes_key(node: &Node) -> String {
    match node.format {
        Format::Zarr2 => v2::attributes_key(node),
        Format::Zarr3 => v3::attributes_key(node),
        Format::DraftA | Format::DraftB => draft::attributes_key(node),
        Format::N5 => n5::attributes_key(node),
    }
}

/// The new value of the document under [`attributes_key`], given its current value, read just
/// before; `None` means that it does not exist. Everything in the document except the user's
/// attributes stays as it is.
///
/// # Errors
/// The current document cannot be read or is gone; an attribute is not standard JSON (`NaN`); the
/// change has no meaning in the node's format.
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
