//! Checks the place of a new array for existing data that the array would hide or include.

use ndzarr_metadata::{Creation, Existing, Node, NodeKind, OpenOptions};
use ndzarr_model::ArraySpec;
use ndzarr_store::{DirListing, is_numbered};

use crate::error::{Error, ErrorKind, Result};
use crate::nodes;
use crate::storage::Storage;

/// Refuses a new array over nodes, and over chunks that an interrupted removal left. A store that
/// cannot list is not checked.
pub(crate) async fn check(
    storage: &Storage,
    creation: &Creation,
    spec: &ArraySpec,
    existing: Existing,
) -> Result<()> {
    let occupied = |what: String| Err(Error::new(ErrorKind::AlreadyExists, what).in_store(|| storage.name()));
    let below = match existing {
        Existing::Replace => match creation.erase_prefixes.first() {
            Some(prefix) if !is_array(storage, &creation.node).await => {
                let listing = storage.listing(prefix).await?;
                node_below(storage, &creation.node, prefix, listing).await?
            }
            _ => None,
        },
        Existing::Beside => None,
        // `Refuse`.
        _ => {
            let listing = storage.listing(&spec.keys.prefix).await?;
            if has_chunks(storage, spec, &listing).await? {
                return occupied(format!(
                    "{:?} holds chunks that would show in the new array, left by a removal that was interrupted, say; \
                     overwrite() removes them",
                    spec.keys.prefix
                ));
            }
            // The draft, which keeps its chunks elsewhere, and N5 check for nodes themselves.
            match spec.keys.prefix == creation.node.path.prefix() {
                true => node_below(storage, &creation.node, &spec.keys.prefix, listing).await?,
                false => None,
            }
        }
    };
    match below {
        Some(document) => occupied(format!(
            "a group with nodes below it is at \"{}\" ({document}), and an array has none; Group::erase removes them",
            creation.node.path
        )),
        None => Ok(()),
    }
}

/// Whether there is an array now, in any format.
async fn is_array(storage: &Storage, new: &Node) -> bool {
    let there = nodes::open_at(storage, &new.path, &OpenOptions::default()).await;
    there.is_ok_and(|node| matches!(node.kind, NodeKind::Array(_)))
}

/// Refuses to replace what is no node: a place without a document, below which there is something
/// that is neither a document nor a chunk. A store that cannot list is not checked.
pub(crate) async fn check_replaced(storage: &Storage, creation: &Creation) -> Result<()> {
    if !creation.erase.is_empty() {
        return Ok(());
    }
    let is_document = documents(&creation.node);
    let is_own = |name: &str| {
        is_numbered(name)
            || is_document(name)
            || matches!(name, ".zattrs" | ".zmetadata")
            || name.starts_with(".ndzarr-")
    };
    for prefix in &creation.erase_prefixes {
        let listing = storage.listing(prefix).await?;
        if let Some(key) = found_below(storage, prefix, listing, |name| !is_own(name)).await? {
            let what = format!(
                "there is no array or group at \"{}\" to replace, and {key:?} is not part of one: remove it first",
                creation.node.path
            );
            return Err(Error::new(ErrorKind::AlreadyExists, what).in_store(|| storage.name()));
        }
    }
    Ok(())
}

/// The document of a node below a prefix, given the listing of the prefix.
async fn node_below(
    storage: &Storage,
    new: &Node,
    prefix: &str,
    mut listing: DirListing,
) -> Result<Option<String>> {
    let is_document = documents(new);
    // Documents directly below the prefix are those of the place itself, but for those of the draft.
    listing.keys.retain(|name| is_document(name) && is_of_draft(new, name));
    found_below(storage, prefix, listing, is_document).await
}

/// Whether a name is that of the document of a node.
fn documents(new: &Node) -> impl Fn(&str) -> bool {
    move |name| {
        matches!(name, "zarr.json" | ".zarray" | ".zgroup" | "attributes.json") || is_of_draft(new, name)
    }
}

fn is_of_draft(new: &Node, name: &str) -> bool {
    let kind = name.strip_suffix(&*new.context.draft_suffix).unwrap_or_default();
    kind.ends_with(".array") || kind.ends_with(".group")
}

/// The first key below a prefix whose last name is one of these, given the listing of the prefix.
async fn found_below(
    storage: &Storage,
    prefix: &str,
    listing: DirListing,
    is_one: impl Fn(&str) -> bool,
) -> Result<Option<String>> {
    let (mut pending, mut next) = (Vec::new(), Some((prefix.to_owned(), listing)));
    while let Some((prefix, listing)) = next {
        if let Some(name) = listing.keys.iter().find(|name| is_one(name)) {
            return Ok(Some(format!("{prefix}{name}")));
        }
        pending.extend(listing.prefixes.iter().map(|name| format!("{prefix}{name}/")));
        next = match pending.pop() {
            Some(prefix) => {
                let listing = storage.listing(&prefix).await?;
                Some((prefix, listing))
            }
            None => None,
        };
    }
    Ok(None)
}

/// Whether there is anything among an array's chunks that could be one of them, given the listing
/// of that place.
async fn has_chunks(storage: &Storage, spec: &ArraySpec, listing: &DirListing) -> Result<bool> {
    let (keys, ndim) = (&spec.keys, spec.shape.len());
    // The names of chunks, or of their folders, differ only in their numbers.
    let first = keys.encoding.encode(&vec![0; ndim]);
    let Some((folder, _)) = first.split_once('/') else {
        return Ok(listing.keys.iter().any(|name| without_numbers(name) == first));
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
        pending.extend(listing.prefixes.iter().map(|name| format!("{prefix}{name}/")));
    }
    Ok(false)
}

/// A name with each number in it replaced by zero.
fn without_numbers(name: &str) -> String {
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
