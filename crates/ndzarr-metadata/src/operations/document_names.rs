//! Names of documents, in any format.

use crate::operations::consolidated;
use crate::{Format, n5, v2, v3};

/// True if the last name of a key is that of a document of a node, in any format. `draft_suffix` is
/// that of the draft's documents.
#[must_use]
pub fn is_node_document(name: &str, draft_suffix: &str) -> bool {
    [v3::DOCUMENT, v2::ARRAY, v2::GROUP, n5::DOCUMENT].contains(&name)
        || is_draft_document(name, draft_suffix)
}

/// True if the last name of a key is that of a document of a node in the draft. `draft_suffix` is
/// that of the draft's documents.
#[must_use]
pub fn is_draft_document(name: &str, draft_suffix: &str) -> bool {
    let kind = name.strip_suffix(draft_suffix).unwrap_or_default();
    kind.ends_with(".array") || kind.ends_with(".group")
}

/// True if the last name of a key is that of a document of a node, of attributes or of consolidated
/// metadata, in any format. `draft_suffix` is that of the draft's documents.
#[must_use]
pub fn is_document(name: &str, draft_suffix: &str) -> bool {
    is_node_document(name, draft_suffix) || [v2::ATTRIBUTES, consolidated::DOCUMENT].contains(&name)
}

/// True if the key of a document is that of a document of this format.
#[must_use]
pub fn is_document_of(format: Format, key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    match format {
        Format::Zarr2 => name.starts_with(".z"),
        Format::N5 => name == n5::DOCUMENT,
        // The draft has `zarr.json` at its root.
        Format::Zarr3 => name == v3::DOCUMENT,
        Format::DraftA | Format::DraftB => name == v3::DOCUMENT || key.starts_with("meta/"),
    }
}

/// The prefixes of the keys below a node: of its chunks, and of the documents and chunks of all
/// nodes below it. `path` is that of the node, not the root.
#[must_use]
pub fn key_prefixes(format: Format, path: &str) -> Vec<String> {
    match format {
        Format::DraftA => vec![format!("meta/{path}/"), format!("data/{path}/")],
        Format::DraftB => vec![format!("meta/root/{path}/"), format!("data/root/{path}/")],
        Format::Zarr2 | Format::Zarr3 | Format::N5 => vec![format!("{path}/")],
    }
}
