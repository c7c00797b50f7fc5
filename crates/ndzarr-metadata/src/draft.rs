//! The draft of Zarr v3 of May 2022, in two dialects: one entry point for a whole store, documents
//! below `meta/`, chunks below `data/`.

mod codecs;
mod create;
mod data_type;
mod document;
mod entry;
mod extensions;
mod fill;
pub(crate) mod layout;
mod sharding;

use std::collections::BTreeMap;

use bytes::Bytes;
use ndzarr_model::ArraySpec;

use crate::draft::document::FILTERS;
use crate::draft::layout::{Dialect, Layout, is_name};
use crate::json::Members;
use crate::known::Stop;
use crate::{
    AttributeChange, Erasure, Format, Known, Member, MemberKind, MetadataError, Node, NodeKind,
    NodePath, OpenOptions, json,
};

pub(crate) use create::create;

/// The node at a path of a store whose root is the entry point of a draft hierarchy. The root
/// always is a node; below it, a group needs no document as long as it contains something.
pub(crate) fn open(
    path: &NodePath,
    known: &Known,
    options: &OpenOptions,
) -> Result<Option<Node>, Stop> {
    if options
        .format
        .is_some_and(|format| Dialect::of(format).is_none())
    {
        return Ok(None);
    }
    let [Some(bytes)] = known.documents([entry::KEY])? else {
        return Ok(None);
    };
    let Some(mut layout) = entry::read(bytes, options.format)? else {
        return Ok(None);
    };
    layout.unknown_type = options.unknown_type;
    Ok(find(&layout, path, known)?.map(|mut node| {
        node.context.n5_axes = options.n5_axes;
        node
    }))
}

/// True if the root is the entry point of a hierarchy of dialect B, or is to be read as one.
pub(crate) fn is_dialect_b(known: &Known, options: &OpenOptions) -> Result<bool, Stop> {
    known.presence(&[entry::KEY.to_owned()])?;
    let [Some(bytes)] = known.documents([entry::KEY])? else {
        return Ok(false);
    };
    Ok(entry::read(bytes, options.format)?.is_some_and(|layout| layout.dialect == Dialect::B))
}

fn find(layout: &Layout, path: &NodePath, known: &Known) -> Result<Option<Node>, Stop> {
    let mut keys = vec![layout.array_key(path), layout.group_key(path)];
    keys.extend(
        path.ancestors()
            .iter()
            .map(|ancestor| layout.array_key(ancestor)),
    );
    let documents = known.many_documents(&keys)?;
    // Nothing below an array is a node.
    if documents[2..].iter().any(Option::is_some) {
        return Ok(None);
    }
    match (documents[0], documents[1]) {
        (Some(array), group) => {
            let mut node = document::array_node(layout, path, array)?;
            if group.is_some() {
                node.warnings.push(format!(
                    "{} also exists; the node is read as an array",
                    keys[1]
                ));
            }
            Ok(Some(node))
        }
        (None, Some(group)) => Ok(Some(document::group_node(layout, path, group)?)),
        (None, None) => {
            let exists = path.is_root() || {
                let listing = known.listing(&layout.meta_prefix(path))?;
                !listing.keys.is_empty() || !listing.prefixes.is_empty()
            };
            Ok(exists.then(|| document::empty_node(layout, path)))
        }
    }
}

/// The children of a group, derived from the keys of their documents without reading them.
pub(crate) fn members(node: &Node, known: &Known) -> Result<Vec<Member>, Stop> {
    let layout = Layout::of(node.format, &node.context);
    let listing = known.listing(&layout.meta_prefix(&node.path))?;
    let mut kinds = BTreeMap::new();
    for name in listing.prefixes.iter().filter(|name| is_name(name)) {
        kinds.insert(name.as_str(), MemberKind::Group);
    }
    for name in listing.keys.iter().filter_map(|key| layout.group_name(key)) {
        kinds.insert(name, MemberKind::Group);
    }
    for name in listing.keys.iter().filter_map(|key| layout.array_name(key)) {
        kinds.insert(name, MemberKind::Array);
    }
    Ok(kinds
        .into_iter()
        .map(|(name, kind)| Member {
            name: name.to_owned(),
            kind,
        })
        .collect())
}

/// Keys of the documents above all children of a group.
pub(crate) fn keys_above_children(layout: &Layout, group: &NodePath) -> Vec<String> {
    let arrays = group
        .ancestors()
        .into_iter()
        .chain([group.clone()])
        .map(|path| layout.array_key(&path));
    [entry::KEY.to_owned()].into_iter().chain(arrays).collect()
}

/// Key of the document of a node; an implicit group gets one when its attributes change.
pub(crate) fn attributes_key(node: &Node) -> String {
    let layout = Layout::of(node.format, &node.context);
    match node.kind {
        NodeKind::Array(_) => layout.array_key(&node.path),
        NodeKind::Group | NodeKind::ImplicitGroup => layout.group_key(&node.path),
    }
}

/// The document with changed attributes; everything else stays, including dialect B's filters,
/// which are among the attributes.
pub(crate) fn change_attributes(
    node: &Node,
    current: Option<&[u8]>,
    change: &AttributeChange,
) -> Result<Bytes, MetadataError> {
    let layout = Layout::of(node.format, &node.context);
    let key = attributes_key(node);
    let is_array = matches!(node.kind, NodeKind::Array(_));
    let mut document = match current {
        Some(bytes) => document::parse(&key, layout.dialect, bytes)?,
        None if node.kind == NodeKind::ImplicitGroup => Members::new(),
        None => return Err(MetadataError::gone(&node.path, &key)),
    };
    let mut attributes = document::attributes(&key, layout.dialect, &document)?;
    let filters = document::filters(layout.dialect, &attributes)
        .filter(|_| is_array)
        .cloned();
    if filters.is_some() {
        attributes.remove(FILTERS);
    }
    if is_array && node.format == Format::DraftB {
        check_filters(node.format, change, filters.is_some())?;
    }
    crate::shared::attribute_texts::apply(node.format, &mut attributes, change)?;
    if let Some(filters) = filters {
        attributes.insert(FILTERS, filters);
    }
    document.insert("attributes", attributes.into());
    json::quote_fill_value(&mut document);
    json::write_object(&key, document)
}

/// Dialect B reads an attribute of this name as codecs: users cannot write it, nor remove it while
/// it contains codecs.
fn check_filters(
    format: Format,
    change: &AttributeChange,
    is_codecs: bool,
) -> Result<(), MetadataError> {
    let touched = match change {
        AttributeChange::Merge(new) | AttributeChange::Replace(new) => new.contains_key(FILTERS),
        AttributeChange::Remove(names) => is_codecs && names.iter().any(|name| name == FILTERS),
        AttributeChange::SetN5Path { .. } | AttributeChange::RemoveN5Path(_) => false,
    };
    if touched {
        return Err(MetadataError::inexpressible(
            format,
            "reserves the attribute filters",
        ));
    }
    Ok(())
}

/// The keys and prefixes to remove with a node. The entry point stays.
pub(crate) fn erase(node: &Node) -> Erasure {
    let layout = Layout::of(node.format, &node.context);
    let meta = layout.meta_prefix(&node.path);
    let data = layout.data_prefix(&node.path);
    if node.path.is_root() {
        let documents = vec![layout.array_key(&node.path), layout.group_key(&node.path)];
        return Erasure {
            documents,
            prefixes: vec![meta, data],
        };
    }
    match node.kind {
        NodeKind::Array(_) => Erasure {
            documents: vec![layout.array_key(&node.path)],
            prefixes: vec![data],
        },
        NodeKind::Group | NodeKind::ImplicitGroup => Erasure {
            documents: vec![layout.group_key(&node.path)],
            prefixes: vec![meta, data],
        },
    }
}

/// The members of a document of a node.
pub(crate) fn parse<'a>(
    node: &Node,
    key: &str,
    bytes: &'a [u8],
) -> Result<Members<'a>, MetadataError> {
    document::parse(key, Layout::of(node.format, &node.context).dialect, bytes)
}

/// The array of a node as a document describes it.
pub(crate) fn array_spec(node: &Node, bytes: &[u8]) -> Result<ArraySpec, MetadataError> {
    let layout = Layout::of(node.format, &node.context);
    let read = document::array_node(&layout, &node.path, &Bytes::copy_from_slice(bytes))?;
    read.into_array(&layout.array_key(&node.path))
}
