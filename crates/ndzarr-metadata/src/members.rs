use crate::known::resolve;
use crate::{Format, Known, Member, MetadataError, Node, Resolved, draft, n5, v2, v3};

/// The children of a group, in the order of the store's listing; none for an array.
///
/// # Errors
/// The document of a child that has to be read is invalid.
pub fn members(node: &Node, known: &Known) -> Result<Resolved<Vec<Member>>, MetadataError> {
    resolve(match node.format {
        Format::Zarr2 => v2::members(node, known),
        Format::Zarr3 => v3::members(node, known),
        Format::DraftA | Format::DraftB => draft::members(node, known),
        Format::N5 => n5::members(node, known),
    })
}
