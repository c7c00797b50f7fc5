//! N5 (n5.md): one `attributes.json` for each dataset, and for groups where somebody wrote one.

mod attribute_path;
mod attributes;
mod compression;
mod create;
mod dataset;
mod document;
mod node;
#[cfg(test)]
mod tests;
mod version;

pub(crate) use create::complete;

use bytes::Bytes;
use ndzarr_model::{ArraySpec, Attributes};

use crate::known::Stop;
use crate::n5::document::{Contents, Place, is_hidden};
use crate::{
    ArrayRequest, AttributeChange, Context, CreateOptions, Creation, Erasure, Format, Known, Member,
    MemberKind, MetadataError, N5VersionCheck, Node, NodeKind, NodePath, OpenOptions, Wanted,
};

/// The dataset or group at a path. Without a document that says `n5` on the way down from the root, only datasets
/// are found, unless the format is asked for.
pub(crate) fn open(path: &NodePath, known: &Known, options: &OpenOptions) -> Result<Option<Node>, Stop> {
    let place = Place::look(path, known)?;
    let check_versions = || match options.n5_version {
        N5VersionCheck::Enforce => place.check_versions(),
        N5VersionCheck::Skip => Ok(()),
    };
    if place.own.describes_dataset(options.wanted) {
        check_versions()?;
        return Ok(Some(node::dataset(path, &place.own, options.n5_axes)?));
    }
    let is_container = place.own.get("n5").is_some();
    if place.enclosing_dataset().is_some() && !is_container {
        return Ok(None);
    }
    if !(is_container || place.is_inside_container() || options.format == Some(Format::N5)) {
        return Ok(None);
    }
    if place.own.bytes.is_none() && !place.has_prefix(known)? {
        return Ok(None);
    }
    check_versions()?;
    let context = Context { n5_axes: options.n5_axes, ..Context::default() };
    Ok(Some(node::group(path, &place.own, context)))
}

/// The datasets and groups directly below a group: its prefixes, told apart by their documents.
pub(crate) fn members(node: &Node, known: &Known) -> Result<Vec<Member>, Stop> {
    if matches!(node.kind, NodeKind::Array(_)) {
        return Ok(Vec::new());
    }
    let listing = known.listing(&node.path.prefix())?;
    let mut names: Vec<&String> = listing.prefixes.iter().filter(|name| !is_hidden(name)).collect();
    names.sort();
    names.dedup();
    // Names that no path can have are files of something else.
    let children: Vec<(&String, String)> = names
        .into_iter()
        .filter_map(|name| Some((name, document::key(&node.path.child(name).ok()?))))
        .collect();
    let keys: Vec<String> = children.iter().map(|(_, key)| key.clone()).collect();
    let documents = known.many_documents(&keys)?;
    let mut members = Vec::with_capacity(children.len());
    for ((name, key), bytes) in children.into_iter().zip(documents) {
        let contents = Contents::read(&key, bytes.map(|bytes| &bytes[..]))?;
        let kind =
            if contents.describes_dataset(Wanted::Any) { MemberKind::Array } else { MemberKind::Group };
        members.push(Member { name: name.clone(), kind });
    }
    Ok(members)
}

pub(crate) fn create_array(
    path: &NodePath,
    request: &ArrayRequest,
    known: &Known,
    options: &CreateOptions,
) -> Result<Creation, Stop> {
    create::array(path, request, known, options)
}

pub(crate) fn create_group(
    path: &NodePath,
    attributes: &Attributes,
    known: &Known,
    options: &CreateOptions,
) -> Result<Creation, Stop> {
    create::group(path, attributes, known, options)
}

/// Key of the document that holds the attributes.
pub(crate) fn attributes_key(node: &Node) -> String {
    document::key(&node.path)
}

/// The document after a change, from what it is now.
pub(crate) fn change_attributes(
    node: &Node,
    current: Option<&[u8]>,
    change: &AttributeChange,
) -> Result<Bytes, MetadataError> {
    attributes::change(node, current, change)
}

/// All below the node's prefix, its document among it. At the root that is the whole store.
pub(crate) fn erase(node: &Node) -> Erasure {
    Erasure { documents: vec![document::key(&node.path)], prefixes: vec![node.path.prefix()] }
}

/// What an `attributes.json` says of the dataset of a node.
pub(crate) fn array_spec(node: &Node, key: &str, bytes: &[u8]) -> Result<ArraySpec, MetadataError> {
    let contents = Contents::read(key, Some(bytes))?;
    crate::shape::into_array(key, node::dataset(&node.path, &contents, node.context.n5_axes)?)
}

/// Whether a dataset of this shape can be written.
pub(crate) fn check_shape(shape: &[u64]) -> Result<(), MetadataError> {
    dataset::check_lengths(shape)
}
