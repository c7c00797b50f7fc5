//! Zarr v3 (core 3.1): `zarr.json`.

pub(crate) mod alike;
pub(crate) mod codecs;
pub(crate) mod create;
pub(crate) mod document;
pub(crate) mod dtype;
pub(crate) mod extension;
pub(crate) mod grid;
pub(crate) mod inline;
pub(crate) mod keys;
pub(crate) mod spellings;

use bytes::Bytes;
use ndzarr_model::ArraySpec;

use crate::json::{Json, Members};
use crate::known::Stop;
use crate::shared::attribute_texts;
use crate::v3::inline::without_inline;
use crate::{
    AttributeChange, Context, Erasure, Known, Member, MetadataError, Node, NodeKind, NodePath,
};
use crate::{OpenOptions, json};

pub(crate) use create::create;

/// Name of the document of a node.
pub(crate) const DOCUMENT: &str = "zarr.json";

/// Key of the document of the node at a path.
pub(crate) fn document_key(path: &NodePath) -> String {
    path.key_of(DOCUMENT)
}

/// The node at a path; none if there is no `zarr.json`, or the root's is that of a draft hierarchy.
pub(crate) fn open(
    path: &NodePath,
    known: &Known,
    options: &OpenOptions,
) -> Result<Option<Node>, Stop> {
    let key = document_key(path);
    let [Some(bytes)] = known.documents([&key])? else {
        return Ok(None);
    };
    let text = without_inline(bytes);
    let (document, attributes) = json::read_object(&key, &text)?;
    if document.get("zarr_format").is_some_and(Json::is_string) {
        if path.is_root() {
            return Ok(None);
        }
        let what = "zarr_format is a string; the entry point of a hierarchy of the 2022 draft counts only at \
                    the root of the store";
        return Err(MetadataError::invalid(key, what).into());
    }
    let mut node = document::node(
        path,
        &key,
        &document,
        attributes,
        (&options.extensions, &options.limits),
    )?;
    node.documents = vec![(key, bytes.clone())];
    node.context.n5_axes = options.n5_axes;
    Ok(Some(node))
}

/// The children that have a document of their own.
pub(crate) fn members(node: &Node, known: &Known) -> Result<Vec<Member>, Stop> {
    let prefix = node.path.prefix();
    let listing = known.listing(&prefix)?;
    let mut names = listing.child_names();
    names.retain(|name| !is_reserved(name));
    let keys: Vec<String> = names
        .iter()
        .map(|name| [prefix.as_str(), name.as_str(), "/", DOCUMENT].concat())
        .collect();
    let mut members = Vec::new();
    for ((name, key), bytes) in names
        .into_iter()
        .zip(&keys)
        .zip(known.many_documents(&keys)?)
    {
        let Some(bytes) = bytes else { continue };
        let kind = document::kind(key, bytes)?;
        members.push(Member {
            name: name.clone(),
            kind,
        });
    }
    Ok(members)
}

/// The path of a child of this name, if it is a valid name.
pub(crate) fn child_path(group: &Node, name: &str) -> Option<NodePath> {
    if matches!(group.kind, NodeKind::Array(_)) || is_reserved(name) {
        return None;
    }
    group.path.child(name).ok()
}

fn is_reserved(name: &str) -> bool {
    name.starts_with("__")
}

/// The document with changed attributes; everything else stays, in its order.
pub(crate) fn change_attributes(
    node: &Node,
    current: Option<&[u8]>,
    change: &AttributeChange,
) -> Result<Bytes, MetadataError> {
    let key = document_key(&node.path);
    let current = current.ok_or_else(|| MetadataError::gone(&node.path, &key))?;
    let mut document = json::parse_object(&key, current, json::IN_VALUES)?;
    document::check_format(&key, &document)?;
    let mut changed = match document.get("attributes") {
        None | Some(Json::Null) => Members::new(),
        Some(Json::Object(attributes)) => attributes.clone(),
        Some(other) => return Err(document::no_attributes(&key, other)),
    };
    attribute_texts::apply(node.format, &mut changed, change)?;
    document.insert("attributes", changed.into());
    json::quote_fill_value(&mut document);
    json::write_object(&key, document)
}

/// The keys and prefixes to remove with a node: everything below it.
pub(crate) fn erase(node: &Node) -> Erasure {
    Erasure {
        documents: vec![document_key(&node.path)],
        prefixes: vec![node.path.prefix()],
    }
}

/// The array of a node as its `zarr.json` describes it.
pub(crate) fn array_spec(node: &Node, key: &str, bytes: &[u8]) -> Result<ArraySpec, MetadataError> {
    let (document, attributes) = json::read_object(key, bytes)?;
    let Context {
        extensions, limits, ..
    } = &node.context;
    let node = document::node(&node.path, key, &document, attributes, (extensions, limits))?;
    node.into_array(key)
}
