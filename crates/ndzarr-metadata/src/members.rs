use crate::known::resolve;
use crate::path::is_name;
use crate::{Format, Known, Listing, Member, MetadataError, Node, Resolved, draft, n5, v2, v3};

/// The children of a group, sorted by name; none for an array. Of a node that was found in consolidated metadata, those that
/// they hold; of any other, those that are there.
///
/// # Errors
/// The document of a child that has to be read is invalid.
pub fn members(node: &Node, known: &Known) -> Result<Resolved<Vec<Member>>, MetadataError> {
    if let Some(consolidated) = &node.context.consolidated {
        return consolidated.members(node).map(Resolved::Done);
    }
    node.context.limits.check_documents(known)?;
    resolve(match node.format {
        Format::Zarr2 => v2::members(node, known),
        Format::Zarr3 => v3::members(node, known),
        Format::DraftA | Format::DraftB => draft::members(node, known),
        Format::N5 => n5::members(node, known),
    })
}

/// The names of the prefixes of a listing, sorted; names that no path can have belong to something else.
pub(crate) fn child_names(listing: &Listing) -> Vec<&String> {
    let mut names: Vec<&String> = listing.prefixes.iter().filter(|name| is_name(name)).collect();
    names.sort();
    names.dedup();
    names
}
