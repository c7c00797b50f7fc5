//! The keys of a node: documents, chunks, and others that belong to neither.

use ndzarr::metadata::ArraySpec;
use ndzarr::{AnyNode, Child, ConsolidatedUse, ErrorKind, MemberKind, OpenOptions, Place};

use crate::failure::Failure;

/// What is below a node.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) n_arrays: u64,
    pub(crate) n_groups: u64,
    pub(crate) n_keys: u64,
    pub(crate) byte_len: u64,
    /// Keys that are none of a document or chunk, in order.
    pub(crate) orphans: Vec<String>,
    /// Keys of what a copy leaves until it has ended.
    pub(crate) of_copies: Vec<String>,
}

/// An array whose chunks are known.
struct Chunked {
    prefix: String,
    spec: ArraySpec,
    grid: Vec<u64>,
}

impl Contents {
    /// Lists the keys of a node and of all nodes below it.
    ///
    /// # Errors
    /// The store cannot list.
    pub(crate) fn of(node: &AnyNode, options: &OpenOptions) -> Result<Self, Failure> {
        let mut contents = Self::default();
        let mut arrays = Vec::new();
        // What cannot be opened has keys that cannot be told apart.
        let mut broken = Vec::new();
        let (storage, prefix) = match node {
            AnyNode::Array(array) => {
                contents.n_arrays = 1;
                arrays.push(Chunked::of(array));
                (array.storage(), array.spec().keys.prefix.clone())
            }
            AnyNode::Group(group) => {
                contents.n_groups = 1;
                let prefix = below(group.path());
                let place = Place::from((group.storage(), group.path()));
                let real = options.clone().consolidated(ConsolidatedUse::Ignore).open_group(place)?;
                for child in real.walk()? {
                    let path = format!("{prefix}{}/", child.path());
                    match (child.kind(), child) {
                        (MemberKind::Group, _) => contents.n_groups += 1,
                        (MemberKind::Array, child) => {
                            contents.n_arrays += 1;
                            match Child::array::<ndzarr::Any>(child) {
                                Ok(array) => arrays.push(Chunked::of(&array)),
                                Err(_) => broken.push(path),
                            }
                        }
                    }
                }
                (group.storage(), prefix)
            }
        };
        // The longest prefix of a key is that of its array.
        arrays.sort_by(|a, b| a.prefix.cmp(&b.prefix));
        let Self { n_keys, byte_len, orphans, of_copies, .. } = &mut contents;
        let listed = storage.each_key(&prefix, |key, len| {
            *n_keys += 1;
            *byte_len += len;
            if is_of_copy(&key[prefix.len()..]) {
                of_copies.push(key.to_owned());
            } else if !is_document(key)
                && !broken.iter().any(|prefix| key.starts_with(prefix))
                && !is_chunk(&arrays, key)
            {
                orphans.push(key.to_owned());
            }
        });
        listed.map_err(|error| match error.kind() {
            ErrorKind::Unsupported => Failure::new(format_args!("the keys cannot be listed: {error}")),
            _ => error.into(),
        })?;
        orphans.sort();
        of_copies.sort();
        Ok(contents)
    }
}

impl Chunked {
    fn of(array: &ndzarr::AnyArray) -> Self {
        Self {
            prefix: array.spec().keys.prefix.clone(),
            spec: array.spec().clone(),
            grid: array.units().iter().grid_shape(),
        }
    }
}

fn is_chunk(arrays: &[Chunked], key: &str) -> bool {
    // Arrays do not contain each other, so at most one prefix matches.
    let end = arrays.partition_point(|array| array.prefix.as_str() <= key);
    let array = arrays[..end].iter().rev().find(|array| key.starts_with(&array.prefix));
    array.is_some_and(|array| {
        let index = array.spec.keys.encoding.decode(&key[array.prefix.len()..], array.grid.len());
        index.is_some_and(|index| index.iter().zip(&array.grid).all(|(at, n)| at < n))
    })
}

/// Whether a key is that of a document of any format.
pub(crate) fn is_document(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    matches!(name, "zarr.json" | ".zarray" | ".zattrs" | ".zgroup" | ".zmetadata" | "attributes.json")
        || (key.starts_with("meta/") && (name.ends_with(".array.json") || name.ends_with(".group.json")))
}

/// Whether a key, below a node, is one that `copy` uses.
fn is_of_copy(below: &str) -> bool {
    below.split('/').any(|name| name == ".ndzarr-copy" || name.starts_with(".ndzarr-temporary"))
}

/// The prefix of everything below a path.
pub(crate) fn below(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{path}/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_keys_of_copies_are_known() {
        assert!(
            is_document("a/zarr.json") && is_document("meta/root/a.array.json") && is_document(".zgroup")
        );
        assert!(!is_document("a/README.md") && !is_document("a.array.json"));
        assert!(is_of_copy(".ndzarr-copy") && is_of_copy("a/.ndzarr-temporary/8x8/0.0"));
        assert!(!is_of_copy("a/ndzarr-copy"));
    }
}
