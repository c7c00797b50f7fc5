//! Finding nodes: what arrays and groups have in common.

use std::num::NonZeroUsize;

use ndzarr_engine::ConcurrentUpdate;
use ndzarr_metadata::{
    AttributeChange, DocumentChange, Known, Member, Node, NodeKind, NodePath, OpenOptions, Wanted,
    attributes_key, change_attributes,
};

use crate::consolidated;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;

/// Opens the node at a path of a store.
pub(crate) async fn open(storage: &Storage, path: &str, options: &OpenOptions) -> Result<Node> {
    let path = NodePath::new(path)?;
    open_at(storage, &path, options).await
}

pub(crate) async fn open_at(storage: &Storage, path: &NodePath, options: &OpenOptions) -> Result<Node> {
    let conclude = |known: &Known| ndzarr_metadata::open(path, known, options);
    storage.conclude(&mut Known::new(), &options.limits, conclude).await
}

/// The children of a group.
pub(crate) async fn members(
    storage: &Storage,
    node: &Node,
    known: &mut Known,
    threads: Option<NonZeroUsize>,
) -> Result<Vec<Member>> {
    let conclude = |known: &Known| ndzarr_metadata::members(node, known);
    storage.conclude_by(known, &node.context.limits, threads, conclude).await
}

/// Changes attributes in the store, and gives the node as it is then.
pub(crate) async fn change(
    storage: &Storage,
    node: &Node,
    change: &AttributeChange,
    policy: ConcurrentUpdate,
) -> Result<Node> {
    let key = attributes_key(node);
    let new = |current: Option<&[u8]>| change_attributes(node, current, change);
    storage.update(node, &key, policy, new).await?;
    let changed = DocumentChange { keys: vec![key], ..DocumentChange::default() };
    consolidated::refresh(storage, node, &changed, policy).await?;
    let wanted = if matches!(node.kind, NodeKind::Array(_)) { Wanted::Array } else { Wanted::Group };
    let options = OpenOptions { wanted, ..consolidated::options(node) };
    open_at(storage, &node.path, &options).await
}

/// Opens the node at a path of the file system: the folder is the root of a store, or lies below one that says what it is
/// (the draft of v3, implicit groups of N5).
#[cfg(feature = "fs")]
pub(crate) fn open_path(path: &std::path::Path, options: &OpenOptions) -> Result<(Storage, Node)> {
    let path = &crate::url::local_path(path)?;
    let storage = Storage::folder(path);
    let not_found = match storage.wait(open(&storage, "", options)) {
        Ok(node) => return Ok((storage, node)),
        Err(error) if error.kind() == ErrorKind::NotFound => error,
        Err(error) => return Err(error),
    };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for root in absolute.ancestors().skip(1) {
        let is_root = ["zarr.json", "attributes.json", ".zgroup", ".zmetadata"]
            .iter()
            .any(|name| root.join(name).is_file());
        let below = absolute.strip_prefix(root).ok().and_then(|below| below.to_str());
        let (true, Some(below)) = (is_root, below) else { continue };
        let storage = Storage::folder(root);
        match storage.wait(open(&storage, below, options)) {
            Ok(node) => return Ok((storage, node)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let state = match std::fs::metadata(path) {
        Err(_) => "no such folder",
        Ok(found) if !found.is_dir() => "a file, not a folder",
        Ok(_) if std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()) => {
            "the folder is empty"
        }
        Ok(_) => "the folder is no node, nor is one above it a hierarchy that has it",
    };
    Err(not_found.after(&format!("{}: {state}", path.display())))
}

/// An error about what a node is not.
pub(crate) fn not_a(what: &str, node: &Node, storage: &Storage) -> Error {
    let is = if matches!(node.kind, NodeKind::Array(_)) { "an array" } else { "a group" };
    let document = node.documents.first().map(|(key, _)| &key[..]);
    Error::new(ErrorKind::WrongNodeKind, format!("\"{}\" is {is}, not {what}", node.path))
        .in_document(document)
        .in_store(|| storage.name())
}
