//! A place in a container as a [`Node`].

use crate::n5::attributes::user_view;
use crate::n5::dataset;
use crate::n5::document::{Contents, key};
use crate::{Context, Format, MetadataError, N5Axes, Node, NodeKind, NodePath};

/// The array that a document describes.
pub(crate) fn dataset(
    path: &NodePath,
    contents: &Contents,
    axes: N5Axes,
) -> Result<Node, MetadataError> {
    let key = key(path);
    let spec = dataset::lower(&key, path.prefix(), &contents.members, axes)?;
    let mut warnings = Vec::new();
    if contents.get("compression").is_none() {
        warnings.push(format!(
            "{key}: compressionType is a member of N5 1.x, which few programs read"
        ));
    }
    if let Some(what) = dataset::conflict_of_names(&contents.members, spec.shape.len()) {
        warnings.push(format!("{key}: {what}"));
    }
    Ok(Node {
        format: Format::N5,
        path: path.clone(),
        kind: NodeKind::Array(Box::new(spec)),
        attributes: user_view(&contents.members, true),
        context: Context {
            n5_axes: axes,
            ..Context::default()
        },
        documents: documents(key, contents),
        warnings,
    })
}

/// A group, with or without a document.
pub(crate) fn group(path: &NodePath, contents: &Contents, context: Context) -> Node {
    let key = key(path);
    let mut warnings = Vec::new();
    if let Some(kind) = contents.other_kind {
        warnings.push(format!(
            "{key} is {kind}, not an object: the group has no attributes"
        ));
    }
    Node {
        format: Format::N5,
        path: path.clone(),
        kind: if contents.bytes.is_some() {
            NodeKind::Group
        } else {
            NodeKind::ImplicitGroup
        },
        attributes: user_view(&contents.members, false),
        context,
        documents: documents(key, contents),
        warnings,
    }
}

fn documents(key: String, contents: &Contents) -> Vec<(String, bytes::Bytes)> {
    contents
        .bytes
        .iter()
        .map(|bytes| (key.clone(), bytes.clone()))
        .collect()
}
