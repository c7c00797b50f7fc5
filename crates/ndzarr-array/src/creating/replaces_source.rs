//! Finds out whether a new node would replace what it is made from, or be a part of it.

#[cfg(feature = "fs")]
use std::path::{Path, PathBuf};

#[cfg(feature = "fs")]
use ndzarr_engine::AnyStore;
use ndzarr_metadata::{Creation, Erasure, Existing, Node, NodePath, erase};
use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, Want};
#[cfg(feature = "fs")]
use ndzarr_store::{Prefix, StoreError};

use crate::error::Result;
use crate::storage::Storage;

/// Returns `true` if two parts of stores have a value in common, whatever the stores and keys are
/// called: one place may be reached through several roots, handles and links.
///
/// Each part is everything below some prefixes, so without links two parts are either disjoint or
/// one contains the other. One value of each is enough to find out.
async fn overlap(a: (&Storage, &Erasure), b: (&Storage, &Erasure)) -> Result<bool> {
    Ok(holds_a_value_of(a, b).await? || holds_a_value_of(b, a).await?)
}

/// Returns `true` if `b` has the first value below a prefix of `a`, under the same key.
pub(crate) async fn shares_below(a: &Storage, b: &Storage, prefix: &str) -> Result<bool> {
    let Some((key, pin)) = first(a, prefix).await? else {
        return Ok(false);
    };
    has_value(b, &key, &pin).await
}

/// Returns `true` if the place of a new node is below a node, which would then have its copy among
/// its members.
pub(crate) async fn is_inside(
    (source, node): (&Storage, &Node),
    (target, path): (&Storage, &NodePath),
    existing: Existing,
) -> Result<bool> {
    if let [Some(source), Some(target)] =
        [remote_place(source, &node.path), remote_place(target, path)]
        && target.starts_with(&format!("{source}/"))
    {
        return Ok(true);
    }
    if is_inside_folder((source, node), (target, path), existing)? {
        return Ok(true);
    }
    if node.path == *path || !path.as_str().starts_with(&node.path.prefix()) {
        return Ok(false);
    }
    match node.documents.first() {
        Some((key, _)) => shares_value(source, target, key).await,
        None => {
            for prefix in erase(node).prefixes {
                if shares_below(source, target, &prefix).await? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

/// The URL of a node in a store of a service, whose name says which one it is.
fn remote_place(storage: &Storage, path: &NodePath) -> Option<String> {
    let name = storage.name();
    let place = format!("{}/{}", name.trim_end_matches('/'), path.as_str());
    name.contains("://")
        .then(|| place.trim_end_matches('/').to_owned())
}

/// Returns `true` if the folder of a new node is below those of a node, wherever links lead.
#[cfg(feature = "fs")]
fn is_inside_folder(
    (source, node): (&Storage, &Node),
    (target, path): (&Storage, &NodePath),
    existing: Existing,
) -> Result<bool> {
    let reads = folders(source, &erase(node));
    let place = Erasure {
        documents: Vec::new(),
        prefixes: vec![path.prefix()],
    };
    let Some(place) = folders(target, &place).into_iter().next() else {
        return Ok(false);
    };
    let place = std::path::absolute(&place);
    let place = place.map_err(|error| StoreError::io("find the folder of", "the target", error));
    let place = source.named(place)?;
    let real = |path: &Path| path.canonicalize().ok();
    // The target may not be there yet. A link that is replaced is removed itself.
    let own = real(&place).filter(|_| existing != Existing::Replace);
    let above = place.ancestors().skip(1).find_map(real);
    Ok(reads.iter().filter_map(|read| real(read)).any(|read| {
        own.as_ref()
            .is_some_and(|own| own != &read && own.starts_with(&read))
            || own.as_ref() != Some(&read)
                && above.as_ref().is_some_and(|above| above.starts_with(&read))
    }))
}

#[cfg(not(feature = "fs"))]
fn is_inside_folder(_: (&Storage, &Node), _: (&Storage, &NodePath), _: Existing) -> Result<bool> {
    Ok(false)
}

/// Returns `true` if a node is in what is removed for a new one.
pub(crate) async fn would_remove(
    target: &Storage,
    creation: &Creation,
    (source, node): (&Storage, &Node),
) -> Result<bool> {
    let removes = removal(creation);
    if removes == Erasure::default() {
        return Ok(false);
    }
    let reads = erase(node);
    if reads_from_folders(source, &reads, target, &removes)? {
        return Ok(true);
    }
    overlap((source, &reads), (target, &removes)).await
}

/// Returns `true` if folders that are removed have, or lead to, anything that is read.
#[cfg(feature = "fs")]
fn reads_from_folders(
    source: &Storage,
    reads: &Erasure,
    target: &Storage,
    removes: &Erasure,
) -> Result<bool> {
    let removes = folders(target, removes);
    for read in folders(source, reads) {
        for removed in &removes {
            let found = ndzarr_store_fs::reads_from(&read, removed);
            let found =
                found.map_err(|error| StoreError::io("follow the links of", read.display(), error));
            if source.named(found)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

#[cfg(not(feature = "fs"))]
fn reads_from_folders(_: &Storage, _: &Erasure, _: &Storage, _: &Erasure) -> Result<bool> {
    Ok(false)
}

/// The folders of a part of a store, if it has any.
#[cfg(feature = "fs")]
fn folders(storage: &Storage, part: &Erasure) -> Vec<PathBuf> {
    let AnyStore::Blocking(store) = &storage.store else {
        return Vec::new();
    };
    part.prefixes
        .iter()
        .filter_map(|prefix| store.folder(&Prefix::new(prefix).ok()?))
        .collect()
}

async fn holds_a_value_of(
    (storage, part): (&Storage, &Erasure),
    (other, samples): (&Storage, &Erasure),
) -> Result<bool> {
    for document in &samples.documents {
        if let Some((pin, _)) = other.pinned_value(document, u64::MAX).await?
            && holds(storage, part, document, &pin).await?
        {
            return Ok(true);
        }
    }
    for prefix in &samples.prefixes {
        if let Some((key, pin)) = first(other, prefix).await?
            && holds(storage, part, &key, &pin).await?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `true` if a part of a store has the exact value that a pin names, under a key with the
/// same ending as `like`.
async fn holds(storage: &Storage, part: &Erasure, like: &str, pin: &Pin) -> Result<bool> {
    let name = last(like);
    for document in part
        .documents
        .iter()
        .filter(|document| last(document) == name)
    {
        if has_value(storage, document, pin).await? {
            return Ok(true);
        }
    }
    for prefix in &part.prefixes {
        let mut pending = vec![prefix.clone()];
        while let Some(prefix) = pending.pop() {
            let listing = storage.listing(&prefix).await?;
            if listing.keys.iter().any(|key| key == name)
                && has_value(storage, &format!("{prefix}{name}"), pin).await?
            {
                return Ok(true);
            }
            pending.extend(
                listing
                    .prefixes
                    .iter()
                    .map(|name| format!("{prefix}{name}/")),
            );
        }
    }
    Ok(false)
}

/// The first value below a prefix: documents come before the chunks that they describe.
async fn first(storage: &Storage, prefix: &str) -> Result<Option<(String, Pin)>> {
    let mut pending = vec![prefix.to_owned()];
    while let Some(prefix) = pending.pop() {
        let listing = storage.listing(&prefix).await?;
        for name in &listing.keys {
            let key = format!("{prefix}{name}");
            let Ok(valid) = Key::new(&key) else { continue };
            let fetch = Fetch {
                key: valid,
                of: Of::Any,
                want: Want::Size,
            };
            if let Fetched::Parts { pin, .. } = storage.named(storage.fetch_raw(&fetch).await)? {
                return Ok(Some((key, pin)));
            }
        }
        pending.extend(
            listing
                .prefixes
                .iter()
                .map(|name| format!("{prefix}{name}/")),
        );
    }
    Ok(None)
}

/// Returns `true` if `b` has the value of `a` under a key.
pub(crate) async fn shares_value(a: &Storage, b: &Storage, key: &str) -> Result<bool> {
    match a.pinned_value(key, u64::MAX).await? {
        Some((pin, _)) => has_value(b, key, &pin).await,
        None => Ok(false),
    }
}

/// Returns `true` if a key has the exact value that a pin names.
async fn has_value(storage: &Storage, key: &str, pin: &Pin) -> Result<bool> {
    let Ok(key) = Key::new(key) else {
        return Ok(false);
    };
    let fetch = Fetch {
        key,
        of: Of::IfCurrent(pin.clone()),
        want: Want::Size,
    };
    Ok(matches!(
        storage.named(storage.fetch_raw(&fetch).await)?,
        Fetched::Parts { .. }
    ))
}

/// The part of the store that is removed for a new node.
pub(crate) fn removal(creation: &Creation) -> Erasure {
    Erasure {
        documents: creation.erase.clone(),
        prefixes: creation.erase_prefixes.clone(),
    }
}

fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}
