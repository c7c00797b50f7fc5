//! Lists the children of a group.

use crate::known::{Stop, resolve};
use crate::{Format, Known, Member, MetadataError, Node, Resolved, consolidated, draft, n5, v2, v3};

/// The children of a group, sorted by name; an array has none. The children of a node that was
/// found in consolidated metadata come from these; those of any other node from the store.
///
/// # Errors
/// The document of a child that has to be read is invalid.
pub fn members(node: &Node, known: &Known) -> Result<Resolved<Vec<Member>>, MetadataError> {
    node.context.limits.check_documents(known)?;
    resolve(find(node, known))
}

fn find(node: &Node, known: &Known) -> Result<Vec<Member>, Stop> {
    match consolidated::around(node, known)? {
        Some(consolidated) => Ok(consolidated.members(node)?),
        None => listed(node, known),
    }
}

/// The children in the store.
pub(crate) fn listed(node: &Node, known: &Known) -> Result<Vec<Member>, Stop> {
    match node.format {
        Format::Zarr2 => v2::members(node, known),
        Format::Zarr3 => v3::members(node, known),
        Format::DraftA | Format::DraftB => draft::members(node, known),
        Format::N5 => n5::members(node, known),
    }
}
