//! A document of the draft as a [`Node`].

use bytes::Bytes;

use crate::draft::document::{self, FILTERS};
use crate::draft::layout::Layout;
use crate::{Context, MetadataError, Node, NodeKind, NodePath};

/// The array with this document.
pub(crate) fn array(layout: &Layout, path: &NodePath, bytes: &Bytes) -> Result<Node, MetadataError> {
    let key = layout.array_key(path);
    let members = document::parse(&key, layout.dialect, bytes)?;
    let mut node = empty(layout, path);
    let mut attributes = document::attributes(&key, layout.dialect, &members)?;
    if document::filters(layout.dialect, &attributes).is_some() {
        attributes.remove(FILTERS);
    }
    node.attributes = attributes.to_attributes();
    let spec = document::array(&key, layout, path, &members, &mut node.warnings)?;
    node.kind = NodeKind::Array(Box::new(spec));
    node.documents = vec![(key, bytes.clone())];
    Ok(node)
}

/// The group with this document.
pub(crate) fn group(layout: &Layout, path: &NodePath, bytes: &Bytes) -> Result<Node, MetadataError> {
    let key = layout.group_key(path);
    let members = document::parse(&key, layout.dialect, bytes)?;
    document::check_group(&key, layout.dialect, &members)?;
    let mut node = empty(layout, path);
    node.attributes = document::attributes(&key, layout.dialect, &members)?.to_attributes();
    node.kind = NodeKind::Group;
    node.documents = vec![(key, bytes.clone())];
    Ok(node)
}

/// A group without a document.
pub(crate) fn empty(layout: &Layout, path: &NodePath) -> Node {
    Node {
        format: layout.dialect.format(),
        path: path.clone(),
        kind: NodeKind::ImplicitGroup,
        attributes: ndzarr_model::Attributes::new(),
        context: Context {
            draft_suffix: layout.suffix.clone().into(),
            unknown_type: layout.unknown_type,
            ..Context::default()
        },
        documents: Vec::new(),
        warnings: Vec::new(),
    }
}
