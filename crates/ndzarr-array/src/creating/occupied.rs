//! Checks the place of a new node for existing data that it would hide, include or replace.

use ndzarr_codec::CodecRegistry;
use ndzarr_metadata::{
    Creation, Existing, Node, NodeKind, OpenOptions, is_document, is_draft_document,
    is_node_document,
};
use ndzarr_model::{ArraySpec, Foreign};
use ndzarr_store::{DirListing, is_numbered};

use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::contents::Contents;
use crate::hierarchy::find_node;
use crate::storage::Storage;

/// Refuses a new array over nodes, and over chunks that an interrupted removal left, unless
/// something is to be replaced there. A store that cannot list is not checked.
pub(crate) async fn check(
    storage: &Storage,
    creation: &Creation,
    spec: &ArraySpec,
    existing: Existing,
) -> Result<()> {
    if matches!(existing, Existing::Replace | Existing::Beside) {
        return Ok(());
    }
    let node = &creation.node;
    let prefix = &spec.keys.prefix;
    let listing = storage.listing(prefix).await?;
    if has_chunks(storage, spec, &listing).await? {
        let what = format!(
            "{prefix:?} holds chunks that would show in the new array, left by a removal that was interrupted, say: \
             remove or overwrite them"
        );
        return Err(occupied(storage, what));
    }
    // The draft, which keeps its chunks elsewhere, and N5 check for nodes themselves.
    if *prefix != node.path.prefix() {
        return Ok(());
    }
    match found_below(storage, prefix, listing, |name, is_direct| {
        is_node_below(node, name, is_direct)
    })
    .await?
    {
        Some(document) => Err(has_nodes(storage, node, &document)),
        None => Ok(()),
    }
}

/// Refuses to replace what is not a node: a place without a document, below which there is
/// something that is neither a document nor a chunk. Refuses an array in place of a group with
/// nodes as well, and, unless forced, to remove what does not belong to the node. A store that
/// cannot list is not checked.
pub(crate) async fn check_replaced(storage: &Storage, creation: &Creation) -> Result<()> {
    let node = &creation.node;
    if creation.erase_prefixes.is_empty() {
        return Ok(());
    }
    let mut exists = false;
    for document in &creation.erase {
        exists = exists || storage.has(document).await?;
    }
    let there = find_node::open_at(storage, &node.path, &OpenOptions::default())
        .await
        .ok();
    let is_array = there
        .as_ref()
        .is_some_and(|there| matches!(there.kind, NodeKind::Array(_)));
    let refuses_nodes = matches!(node.kind, NodeKind::Array(_)) && !is_array;
    if exists && creation.foreign == Foreign::Refuse {
        let contents = match &there {
            Some(there) => {
                Contents::below(
                    storage,
                    there,
                    &creation.erase_prefixes,
                    &CodecRegistry::new(),
                )
                .await
            }
            None => Contents::unopened(storage, &creation.erase_prefixes).await,
        };
        match contents {
            Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Denied) => {}
            contents => contents?.check_foreign(storage, &node.path)?,
        }
    }
    if exists && !refuses_nodes {
        return Ok(());
    }
    let suffix = &node.context.draft_suffix;
    let is_own =
        |name: &str| is_numbered(name) || is_document(name, suffix) || name.starts_with(".ndzarr-");
    for prefix in &creation.erase_prefixes {
        let listing = storage.listing(prefix).await?;
        let is_refused = |name: &str, is_direct| {
            !exists && !is_own(name) || refuses_nodes && is_node_below(node, name, is_direct)
        };
        let Some(key) = found_below(storage, prefix, listing, is_refused).await? else {
            continue;
        };
        if is_own(key.rsplit('/').next().unwrap_or(&key)) {
            return Err(has_nodes(storage, node, &key));
        }
        let what = format!(
            "\"{}\" is neither an array nor a group that could be replaced, and {key:?} would be removed with it: \
             remove it first",
            node.path
        );
        return Err(occupied(storage, what));
    }
    Ok(())
}

fn occupied(storage: &Storage, what: String) -> Error {
    Error::new(ErrorKind::AlreadyExists, what).in_store(|| storage.name())
}

fn has_nodes(storage: &Storage, node: &Node, document: &str) -> Error {
    let what = format!(
        "a group with nodes below it is at \"{}\" ({document}), and an array has none: remove the group first",
        node.path
    );
    occupied(storage, what)
}

/// Returns `true` if a name below the place of a new node is that of the document of another.
/// Directly below it are those of the place itself, but for those of the draft.
fn is_node_below(new: &Node, name: &str, is_direct: bool) -> bool {
    let suffix = &new.context.draft_suffix;
    if is_direct {
        is_draft_document(name, suffix)
    } else {
        is_node_document(name, suffix)
    }
}

/// The first key below a prefix whose last name is one of these, given the listing of the prefix.
/// `is_one` takes the name, and whether it is directly below.
async fn found_below(
    storage: &Storage,
    prefix: &str,
    listing: DirListing,
    is_one: impl Fn(&str, bool) -> bool,
) -> Result<Option<String>> {
    let mut pending = Vec::new();
    let mut next = Some((prefix.to_owned(), listing));
    while let Some((folder, listing)) = next {
        let is_direct = folder == prefix;
        if let Some(name) = listing.keys.iter().find(|name| is_one(name, is_direct)) {
            return Ok(Some(format!("{folder}{name}")));
        }
        pending.extend(
            listing
                .prefixes
                .iter()
                .map(|name| format!("{folder}{name}/")),
        );
        next = match pending.pop() {
            Some(folder) => {
                let listing = storage.listing(&folder).await?;
                Some((folder, listing))
            }
            None => None,
        };
    }
    Ok(None)
}

/// Returns `true` if anything among an array's chunks could be one of them, given the listing of
/// that place.
async fn has_chunks(storage: &Storage, spec: &ArraySpec, listing: &DirListing) -> Result<bool> {
    let keys = &spec.keys;
    let ndim = spec.shape.len();
    // The names of chunks, or of their folders, differ only in their numbers.
    let first = keys.encoding.encode(&vec![0; ndim]);
    let Some((folder, _)) = first.split_once('/') else {
        return Ok(listing
            .keys
            .iter()
            .any(|name| without_numbers(name) == first));
    };
    // An empty folder does not count as a chunk, so look for a key below it.
    let mut pending: Vec<String> = (listing.prefixes.iter())
        .filter(|name| without_numbers(name) == folder)
        .map(|name| format!("{}{name}/", keys.prefix))
        .collect();
    while let Some(prefix) = pending.pop() {
        let listing = storage.listing(&prefix).await?;
        if !listing.keys.is_empty() {
            return Ok(true);
        }
        pending.extend(
            listing
                .prefixes
                .iter()
                .map(|name| format!("{prefix}{name}/")),
        );
    }
    Ok(false)
}

/// A name with each number in it replaced by zero.
pub(crate) fn without_numbers(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '0'..='9' if out.ends_with('0') => {}
            '0'..='9' => out.push('0'),
            _ => out.push(c),
        }
    }
    out
}
