//! Whether what a conversion replaces is what it reads. Each store is waited for in its own way.

use ndzarr_metadata::Erasure;
use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, Want};

use crate::error::Result;
use crate::storage::Storage;

/// Whether two parts of stores have a value in common, whatever the stores and keys are called: one place may be reached
/// by several roots, handles and links.
///
/// Each part is all below some prefixes, so that two of them are apart, or one holds the other. It takes one value of each
/// to find out.
pub(super) fn overlap(a: (&Storage, &Erasure), b: (&Storage, &Erasure)) -> Result<bool> {
    Ok(holds_a_value_of(a, b)? || holds_a_value_of(b, a)?)
}

/// Whether a store has a value of another one under the same key, the first below a prefix.
pub(super) fn shares_below(a: &Storage, b: &Storage, prefix: &str) -> Result<bool> {
    let Some((key, pin)) = first(a, prefix)? else { return Ok(false) };
    is(b, &key, &pin)
}

fn holds_a_value_of(
    (storage, part): (&Storage, &Erasure),
    (other, samples): (&Storage, &Erasure),
) -> Result<bool> {
    for document in &samples.documents {
        if let Some((pin, _)) = other.wait(other.document(document, u64::MAX))?
            && holds(storage, part, document, &pin)?
        {
            return Ok(true);
        }
    }
    for prefix in &samples.prefixes {
        if let Some((key, pin)) = first(other, prefix)?
            && holds(storage, part, &key, &pin)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a part of a store has the very value that a pin names, under a key that ends as `like` does.
fn holds(storage: &Storage, part: &Erasure, like: &str, pin: &Pin) -> Result<bool> {
    let name = last(like);
    for document in part.documents.iter().filter(|document| last(document) == name) {
        if is(storage, document, pin)? {
            return Ok(true);
        }
    }
    for prefix in &part.prefixes {
        let mut pending = vec![prefix.clone()];
        while let Some(prefix) = pending.pop() {
            let listing = storage.wait(storage.listing(&prefix))?;
            if listing.keys.iter().any(|key| key == name) && is(storage, &format!("{prefix}{name}"), pin)? {
                return Ok(true);
            }
            pending.extend(listing.prefixes.iter().map(|name| format!("{prefix}{name}/")));
        }
    }
    Ok(false)
}

/// The first value below a prefix: documents come before what they describe.
fn first(storage: &Storage, prefix: &str) -> Result<Option<(String, Pin)>> {
    let mut pending = vec![prefix.to_owned()];
    while let Some(prefix) = pending.pop() {
        let listing = storage.wait(storage.listing(&prefix))?;
        for name in &listing.keys {
            let key = format!("{prefix}{name}");
            let Ok(valid) = Key::new(&key) else { continue };
            let fetch = Fetch { key: valid, of: Of::Any, want: Want::Size };
            if let Fetched::Parts { pin, .. } = fetched(storage, &fetch)? {
                return Ok(Some((key, pin)));
            }
        }
        pending.extend(listing.prefixes.iter().map(|name| format!("{prefix}{name}/")));
    }
    Ok(None)
}

/// Whether a key has the very value that a pin names.
fn is(storage: &Storage, key: &str, pin: &Pin) -> Result<bool> {
    let Ok(key) = Key::new(key) else { return Ok(false) };
    let fetch = Fetch { key, of: Of::IfCurrent(pin.clone()), want: Want::Size };
    Ok(matches!(fetched(storage, &fetch)?, Fetched::Parts { .. }))
}

fn fetched(storage: &Storage, fetch: &Fetch) -> Result<Fetched> {
    storage.wait(storage.fetch(fetch)).map_err(|error| error.in_store(|| storage.name()))
}

fn last(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}
