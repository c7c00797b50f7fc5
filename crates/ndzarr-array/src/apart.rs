//! Checks whether a conversion would replace its own source, or be a part of it.

#[cfg(feature = "fs")]
use std::path::{Path, PathBuf};

#[cfg(feature = "fs")]
use ndzarr_engine::AnyStore;
use ndzarr_metadata::{Creation, Erasure, Existing, Node, NodePath, erase};
use ndzarr_store::{DirListing, Fetch, Fetched, Key, Of, Pin, Want};
#[cfg(feature = "fs")]
use ndzarr_store::{Prefix, StoreError};

use crate::error::{Error, Result};
use crate::storage::{Colour, Storage};

/// A store, with the way in which this call makes requests.
#[derive(Clone, Copy)]
pub(super) struct Asked<'s>(pub(super) Colour, pub(super) &'s Storage);

impl Asked<'_> {
    /// The pin of the value under a key.
    pub(super) async fn document(&self, key: &str) -> Result<Option<Pin>> {
        let key = key.to_owned();
        let ask = move |storage: Storage| async move {
            Ok(storage.document(&key, u64::MAX).await?.map(|(pin, _)| pin))
        };
        self.1.ask(self.0, ask).await
    }

    /// Whether a key has the exact value that a pin names.
    pub(super) async fn has(&self, key: &str, pin: &Pin) -> Result<bool> {
        let Ok(key) = Key::new(key) else { return Ok(false) };
        let fetch = Fetch { key, of: Of::IfCurrent(pin.clone()), want: Want::Size };
        Ok(matches!(self.fetch(fetch).await?, Fetched::Parts { .. }))
    }

    async fn fetch(&self, fetch: Fetch) -> Result<Fetched> {
        let ask = move |storage: Storage| async move {
            let fetched = storage.fetch(&fetch).await;
            fetched.map_err(|error| Error::from(error).in_store(|| storage.name()))
        };
        self.1.ask(self.0, ask).await
    }

    async fn listing(&self, prefix: &str) -> Result<DirListing> {
        let prefix = prefix.to_owned();
        self.1.ask(self.0, move |storage| async move { storage.listing(&prefix).await }).await
    }
}

/// Whether two parts of stores have a value in common, whatever the stores and keys are called: one
/// place may be reached through several roots, handles and links.
///
/// Each part is everything below some prefixes, so without links two parts are either disjoint or one
/// contains the other. One value of each is enough to find out.
async fn overlap(a: (&Asked<'_>, &Erasure), b: (&Asked<'_>, &Erasure)) -> Result<bool> {
    Ok(holds_a_value_of(a, b).await? || holds_a_value_of(b, a).await?)
}

/// Whether another store has the first value below a prefix of this one, under the same key.
pub(super) async fn shares_below(a: &Asked<'_>, b: &Asked<'_>, prefix: &str) -> Result<bool> {
    let Some((key, pin)) = first(a, prefix).await? else { return Ok(false) };
    b.has(&key, &pin).await
}

/// Whether the place of a new node is below a node, which would then have its copy among its members.
pub(super) async fn is_inside(
    colour: Colour,
    (source, node): (&Storage, &Node),
    (target, path): (&Storage, &NodePath),
    existing: Existing,
) -> Result<bool> {
    if let [Some(source), Some(target)] = [remote_place(source, &node.path), remote_place(target, path)]
        && target.starts_with(&format!("{source}/"))
    {
        return Ok(true);
    }
    if is_inside_folder(colour, (source, node), (target, path), existing).await? {
        return Ok(true);
    }
    if node.path == *path || !path.as_str().starts_with(&node.path.prefix()) {
        return Ok(false);
    }
    let [source, target] = [source, target].map(|storage| Asked(colour, storage));
    match node.documents.first() {
        Some((key, _)) => match source.document(key).await? {
            Some(pin) => target.has(key, &pin).await,
            None => Ok(false),
        },
        None => {
            for prefix in erase(node).prefixes {
                if shares_below(&source, &target, &prefix).await? {
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
    name.contains("://").then(|| place.trim_end_matches('/').to_owned())
}

/// Whether the folder of a new node is below those of a node, wherever links lead.
#[cfg(feature = "fs")]
async fn is_inside_folder(
    colour: Colour,
    (source, node): (&Storage, &Node),
    (target, path): (&Storage, &NodePath),
    existing: Existing,
) -> Result<bool> {
    let reads = folders(source, &erase(node));
    let place = Erasure { documents: Vec::new(), prefixes: vec![path.prefix()] };
    let Some(place) = folders(target, &place).into_iter().next() else { return Ok(false) };
    let look = move |storage: Storage| async move {
        let place = std::path::absolute(&place);
        let place = place.map_err(|error| StoreError::io("find the folder of", "the target", error));
        let place = storage.named(place)?;
        let real = |path: &Path| path.canonicalize().ok();
        // The target may not be there yet. A link that is replaced is removed itself.
        let own = real(&place).filter(|_| existing != Existing::Replace);
        let above = place.ancestors().skip(1).find_map(real);
        Ok(reads.iter().filter_map(|read| real(read)).any(|read| {
            own.as_ref().is_some_and(|own| own != &read && own.starts_with(&read))
                || own.as_ref() != Some(&read) && above.as_ref().is_some_and(|above| above.starts_with(&read))
        }))
    };
    source.ask(colour, look).await
}

#[cfg(not(feature = "fs"))]
async fn is_inside_folder(
    _: Colour,
    _: (&Storage, &Node),
    _: (&Storage, &NodePath),
    _: Existing,
) -> Result<bool> {
    Ok(false)
}

/// Whether a node is in what is removed for a new one.
pub(crate) async fn would_remove(
    colour: Colour,
    target: &Storage,
    creation: &Creation,
    (source, node): (&Storage, &Node),
) -> Result<bool> {
    let removes = removal(creation);
    if removes == Erasure::default() {
        return Ok(false);
    }
    let reads = erase(node);
    if reads_from_folders(colour, source, &reads, target, &removes).await? {
        return Ok(true);
    }
    overlap((&Asked(colour, source), &reads), (&Asked(colour, target), &removes)).await
}

/// Whether folders that are removed have, or lead to, anything that is read.
#[cfg(feature = "fs")]
async fn reads_from_folders(
    colour: Colour,
    source: &Storage,
    reads: &Erasure,
    target: &Storage,
    removes: &Erasure,
) -> Result<bool> {
    let (reads, removes) = (folders(source, reads), folders(target, removes));
    let look = move |storage: Storage| async move {
        for read in &reads {
            for removed in &removes {
                let found = ndzarr_store_fs::reads_from(read, removed);
                let found =
                    found.map_err(|error| StoreError::io("follow the links of", read.display(), error));
                if storage.named(found)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    };
    source.ask(colour, look).await
}

#[cfg(not(feature = "fs"))]
async fn reads_from_folders(_: Colour, _: &Storage, _: &Erasure, _: &Storage, _: &Erasure) -> Result<bool> {
    Ok(false)
}

/// The folders of a part of a store, if it has any.
#[cfg(feature = "fs")]
fn folders(storage: &Storage, part: &Erasure) -> Vec<PathBuf> {
    let AnyStore::Blocking(store) = &storage.0 else { return Vec::new() };
    part.prefixes.iter().filter_map(|prefix| store.folder(&Prefix::new(prefix).ok()?)).collect()
}

async fn holds_a_value_of(
    (storage, part): (&Asked<'_>, &Erasure),
    (other, samples): (&Asked<'_>, &Erasure),
) -> Result<bool> {
    for document in &samples.documents {
        if let Some(pin) = other.document(document).await?
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

/// Whether a part of a store has the exact value that a pin names, under a key with the same ending
/// as `like`.
async fn holds(storage: &Asked<'_>, part: &Erasure, like: &str, pin: &Pin) -> Result<bool> {
    let name = last(like);
    for document in part.documents.iter().filter(|document| last(document) == name) {
        if storage.has(document, pin).await? {
            return Ok(true);
        }
    }
    for prefix in &part.prefixes {
        let mut pending = vec![prefix.clone()];
        while let Some(prefix) = pending.pop() {
            let listing = storage.listing(&prefix).await?;
            if listing.keys.iter().any(|key| key == name)
                && storage.has(&format!("{prefix}{name}"), pin).await?
            {
                return Ok(true);
            }
            pending.extend(listing.prefixes.iter().map(|name| format!("{prefix}{name}/")));
        }
    }
    Ok(false)
}

/// The first value below a prefix: documents come before the chunks that they describe.
async fn first(storage: &Asked<'_>, prefix: &str) -> Result<Option<(String, Pin)>> {
    let mut pending = vec![prefix.to_owned()];
    while let Some(prefix) = pending.pop() {
        let listing = storage.listing(&prefix).await?;
        for name in &listing.keys {
            let key = format!("{prefix}{name}");
            let Ok(valid) = Key::new(&key) else { continue };
            let fetch = Fetch { key: valid, of: Of::Any, want: Want::Size };
            if let Fetched::Parts { pin, .. } = storage.fetch(fetch).await? {
                return Ok(Some((key, pin)));
            }
        }
        pending.extend(listing.prefixes.iter().map(|name| format!("{prefix}{name}/")));
    }
    Ok(None)
}

/// The part of the store that is removed for a new node.
pub(super) fn removal(creation: &Creation) -> Erasure {
    Erasure { documents: creation.erase.clone(), prefixes: creation.erase_prefixes.clone() }
}

fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}
