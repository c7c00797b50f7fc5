//! Names of documents, in any format.

use crate::{consolidated, n5, v2, v3};

/// Whether the last name of a key is that of a document of a node, in any format. `draft_suffix` is that
/// of the draft's documents.
#[must_use]
pub fn is_node_document(name: &str, draft_suffix: &str) -> bool {
    [v3::DOCUMENT, v2::ARRAY, v2::GROUP, n5::DOCUMENT].contains(&name)
        || is_draft_document(name, draft_suffix)
}

/// Like [`is_node_document`], for documents of the draft alone.
#[must_use]
pub fn is_draft_document(name: &str, draft_suffix: &str) -> bool {
    let kind = name.strip_suffix(draft_suffix).unwrap_or_default();
    kind.ends_with(".array") || kind.ends_with(".group")
}

/// Like [`is_node_document`], for attributes and consolidated metadata as well.
#[must_use]
pub fn is_document(name: &str, draft_suffix: &str) -> bool {
    is_node_document(name, draft_suffix) || [v2::ATTRIBUTES, consolidated::DOCUMENT].contains(&name)
}
