//! Finds and reads the node at a path, whatever its format.

use crate::known::{Stop, resolve};
use crate::operations::consolidated;
use crate::{
    ConsolidatedUse, Format, Known, MetadataError, Node, NodePath, OpenOptions, Resolved, Wanted,
    draft, n5, v2, v3,
};

/// Opens the node at a path of a store, in whatever format it is.
///
/// The formats are tried in this order: v3, v2, N5; then the draft of v3, which only the root
/// states. The first document found counts; a warning names other formats at the path, as far as
/// they are known. An array of v3 costs one document, one of v2 three, and an N5 dataset three if
/// the root of the store is its container. A node without a document is looked up in the
/// consolidated metadata of the groups above it, unless the options say otherwise.
///
/// # Errors
/// There is no node; a document is invalid in its format; it needs something that is not supported.
pub fn open(
    path: &NodePath,
    known: &Known,
    options: &OpenOptions,
) -> Result<Resolved<Node>, MetadataError> {
    resolve(find(path, known, options))
}

/// The documents that [`open`] may ask for first: for stores where reading several at once takes no
/// longer than reading one.
#[must_use]
pub fn likely_documents(path: &NodePath, options: &OpenOptions) -> Vec<String> {
    let may_be = |format| options.format.is_none_or(|asked| asked == format);
    let mut keys = Vec::new();
    if may_be(Format::Zarr3) {
        keys.push(v3::document_key(path));
    }
    if may_be(Format::Zarr2) {
        keys.extend(v2::document_keys(path));
        keys.push(format!("{}{}", path.prefix(), v2::ATTRIBUTES));
    }
    if may_be(Format::N5) {
        keys.extend(n5::document_keys(path));
    }
    keys
}

/// Key of the document with consolidated metadata that a group may have next to its own, for such
/// stores as well. `None` where they are not used, or are in the group's own document.
#[must_use]
pub fn likely_consolidated(path: &NodePath, options: &OpenOptions) -> Option<String> {
    let is_group =
        options.wanted == Wanted::Group && options.consolidated != ConsolidatedUse::Ignore;
    let may_be = options.format.is_none_or(|asked| asked == Format::Zarr2);
    (is_group && may_be)
        .then(|| consolidated::key_at(Format::Zarr2, path))
        .flatten()
}

/// Finds and reads a node, as [`open`] does for callers outside of the crate.
pub(crate) fn find(path: &NodePath, known: &Known, options: &OpenOptions) -> Result<Node, Stop> {
    options.limits.check_documents(known)?;
    let found = match options.format {
        None => detect(path, known, options)?,
        Some(Format::Zarr3) => v3::open(path, known, options)?,
        Some(Format::Zarr2) => v2::open(path, known, options)?,
        Some(Format::DraftA | Format::DraftB) => draft::open(path, known, options)?,
        Some(Format::N5) => n5::open(path, known, options)?,
    };
    let found = match found {
        Some(node) => Some(node),
        None => consolidated::open_below(path, known, options)?,
    };
    let Some(node) = found else {
        return Err(not_found(path, known, options).into());
    };
    let mut node = node.opened_with(options)?;
    if options.format.is_none() {
        warn_of_others(&mut node, known);
    }
    Ok(node)
}

fn detect(path: &NodePath, known: &Known, options: &OpenOptions) -> Result<Option<Node>, Stop> {
    if let Some(node) = v3::open(path, known, options)? {
        return Ok(Some(node));
    }
    // The root has a `zarr.json` that is not v3's: an entry point of the draft decides, before v2
    // is tried.
    if path.is_root()
        && known.has(v3::DOCUMENT)
        && let Some(node) = draft::open(path, known, options)?
    {
        return Ok(Some(node));
    }
    // One look at which others exist, so that only those are read.
    let mut keys = v2::document_keys(path);
    keys.extend(n5::document_keys(path));
    known.presence(&keys)?;
    if let Some(node) = v2::open(path, known, options)? {
        return Ok(Some(node));
    }
    if let Some(node) = n5::open(path, known, options)? {
        return Ok(Some(node));
    }
    draft::open(path, known, options)
}

/// Names the other formats at the path, if their documents happen to be known (V3-T53).
fn warn_of_others(node: &mut Node, known: &Known) {
    let mut key = node.path.prefix();
    let prefix_len = key.len();
    let others: &[&str] = match node.format {
        Format::Zarr3 => &[v2::ARRAY, v2::GROUP, n5::DOCUMENT],
        Format::Zarr2 => &[n5::DOCUMENT],
        Format::DraftA | Format::DraftB | Format::N5 => &[],
    };
    for name in others {
        key.truncate(prefix_len);
        key.push_str(name);
        if known.has(&key) {
            node.warnings.push(format!(
                "{key} also exists; the node is read as {}",
                node.format
            ));
        }
    }
}

fn not_found(path: &NodePath, known: &Known, options: &OpenOptions) -> MetadataError {
    let prefix = path.prefix();
    let zarr3 = [v3::DOCUMENT];
    let zarr2 = [v2::ARRAY, v2::GROUP];
    let names: Vec<&str> = match options.format {
        None => zarr3
            .into_iter()
            .chain(zarr2)
            .chain([n5::DOCUMENT])
            .collect(),
        Some(Format::Zarr3) => zarr3.to_vec(),
        Some(Format::Zarr2) => zarr2.to_vec(),
        Some(Format::DraftA | Format::DraftB) => Vec::new(),
        Some(Format::N5) => vec![n5::DOCUMENT],
    };
    let mut tried: Vec<String> = names.iter().map(|name| format!("{prefix}{name}")).collect();
    let root: &[&str] = match options.format {
        None => &[n5::DOCUMENT, v3::DOCUMENT],
        Some(Format::DraftA | Format::DraftB) => &[v3::DOCUMENT],
        Some(Format::N5) => &[n5::DOCUMENT],
        Some(Format::Zarr2 | Format::Zarr3) => &[],
    };
    for name in root {
        let key = (*name).to_owned();
        if !tried.contains(&key) {
            tried.push(key);
        }
    }
    for (key, ..) in consolidated::candidates(path, known, options).unwrap_or_default() {
        if !tried.contains(&key) {
            tried.push(key);
        }
    }
    MetadataError::NotFound {
        path: path.to_string(),
        tried,
    }
}
