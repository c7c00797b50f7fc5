//! The keys of a node: documents, chunks, and others that belong to neither.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ndzarr::metadata::ArraySpec;
use ndzarr::store::{Key, Listed};
use ndzarr::{AnyNode, ConsolidatedUse, ErrorKind, Format, MemberKind, OpenOptions, Place};

use crate::arguments::local_folder;
use crate::failure::Failure;

/// What is below a node.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) n_arrays: u64,
    pub(crate) n_groups: u64,
    pub(crate) n_keys: u64,
    pub(crate) byte_len: u64,
    /// Documents of the node's format.
    pub(crate) n_documents: u64,
    /// Keys that belong to neither a document nor a chunk, in order.
    pub(crate) orphans: Vec<String>,
    /// Keys of what a copy leaves until it has ended.
    pub(crate) of_copies: Vec<String>,
    /// Keys below an array that cannot be opened, so that it is not known whether they are its chunks.
    pub(crate) unknown: Vec<String>,
    /// Keys of documents of other formats than the node's.
    pub(crate) of_other_formats: Vec<String>,
    /// Files that a store does not list, but removes with their folder, and folders that cannot be listed.
    pub(crate) hidden: Vec<String>,
    /// What the keys begin with.
    prefixes: Vec<String>,
}

/// An array whose chunks are known.
struct Chunked {
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
        let mut arrays = BTreeMap::new();
        // What cannot be opened has keys that cannot be told apart.
        let mut broken = BTreeSet::new();
        let storage = match node {
            AnyNode::Array(array) => {
                contents.n_arrays = 1;
                contents.prefixes = vec![array.spec().keys.prefix.clone()];
                arrays.extend([Chunked::of(array)]);
                array.storage()
            }
            AnyNode::Group(group) => {
                contents.n_groups = 1;
                let prefix = below(group.path());
                let place = Place::from((group.storage(), group.path()));
                let options = options.clone().consolidated(ConsolidatedUse::Ignore);
                let real = options.open_group(place)?;
                for child in real.walk()? {
                    let path = format!("{prefix}{}", child.path());
                    contents.n_arrays += u64::from(child.kind() == Some(MemberKind::Array));
                    contents.n_groups += u64::from(child.kind() == Some(MemberKind::Group));
                    match child.open() {
                        Ok(AnyNode::Array(array)) => arrays.extend([Chunked::of(&array)]),
                        Ok(AnyNode::Group(_)) => {}
                        Err(_) => broken.extend(prefixes_of(group.format(), &path)),
                    }
                }
                contents.prefixes = prefixes_of(group.format(), group.path());
                group.storage()
            }
        };
        let format = match node {
            AnyNode::Array(array) => array.format(),
            AnyNode::Group(group) => group.format(),
        };
        let Self {
            n_keys,
            byte_len,
            n_documents,
            orphans,
            of_copies,
            unknown,
            of_other_formats,
            prefixes,
            ..
        } = &mut contents;
        for prefix in prefixes {
            let listed = storage.each_key(prefix, |key, listed| {
                // Of folders only those on this machine are looked at, by `at`.
                if matches!(listed, Listed::Folder | Listed::Unlisted(_)) {
                    return;
                }
                *n_keys += 1;
                *byte_len += listed.byte_len().unwrap_or(0);
                if is_of_copy(&key[prefix.len()..]) {
                    of_copies.push(key.to_owned());
                } else if is_document(key) {
                    *n_documents += u64::from(is_of(format, key));
                    of_other_formats.extend(Some(key.to_owned()).filter(|key| !is_of(format, key)));
                } else if is_chunk(&arrays, key) {
                } else if prefixes_in(key).any(|prefix| broken.contains(prefix)) {
                    unknown.push(key.to_owned());
                } else {
                    orphans.push(key.to_owned());
                }
            });
            listed.map_err(|error| match error.kind() {
                ErrorKind::Unsupported => Failure::new(format_args!("the keys cannot be listed: {error}")),
                _ => error.into(),
            })?;
        }
        orphans.sort();
        of_copies.sort();
        unknown.sort();
        Ok(contents)
    }

    /// As [`of`](Self::of), with the files of a local folder that the store does not list.
    ///
    /// # Errors
    /// The store cannot list.
    pub(crate) fn at(place: &Path, node: &AnyNode, options: &OpenOptions) -> Result<Self, Failure> {
        let mut contents = Self::of(node, options)?;
        let Some(folder) = local_folder(place) else { return Ok(contents) };
        // The keys of the draft are not below the folder of the node.
        let real = folder.canonicalize().unwrap_or(folder);
        let root =
            real.ends_with(node.path()).then(|| real.ancestors().nth(Path::new(node.path()).iter().count()));
        for prefix in &contents.prefixes {
            let folder = root.flatten().map_or_else(|| real.clone(), |root| root.join(prefix));
            let hidden = entries(&folder, |entry| entry.key.is_none())?;
            contents.hidden.extend(hidden.iter().map(|entry| format!("{prefix}{}", entry.name)));
        }
        Ok(contents)
    }

    /// What does not belong to the node, or may not belong to it.
    pub(crate) fn strangers(&self) -> impl Iterator<Item = &String> {
        self.orphans.iter().chain(&self.hidden).chain(&self.unknown)
    }
}

/// Something in a local folder.
pub(crate) struct Entry {
    /// Its path from the folder, to be shown.
    pub(crate) name: String,
    /// The same as a key, if a store lists it.
    pub(crate) key: Option<String>,
}

/// What is to be kept of everything below a folder but the folders that are keys, and lock files. Links
/// are not followed. A folder that cannot be listed is an entry without a key.
pub(crate) fn entries(folder: &Path, is_kept: impl Fn(&Entry) -> bool) -> Result<Vec<Entry>, Failure> {
    let (mut found, mut pending) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(at) = pending.pop() {
        let list = match std::fs::read_dir(&at) {
            Ok(list) => list,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) if at == *folder => return Err(Failure::of_file(&at, &error)),
            Err(_) => {
                let entry = Entry { name: format!("{}/", below_folder(folder, &at)), key: None };
                found.extend(Some(entry).filter(&is_kept));
                continue;
            }
        };
        for entry in list {
            let entry = entry.map_err(|error| Failure::of_file(&at, &error))?;
            let kind = entry.file_type().map_err(|error| Failure::of_file(&entry.path(), &error))?;
            let name = entry.file_name();
            if !kind.is_dir() && name.to_str().is_some_and(|name| name.ends_with(".__lock")) {
                continue;
            }
            let is_name = |name: &str| !name.contains('\\') && Key::new(name).is_ok();
            let is_key = name.to_str().is_some_and(is_name);
            let path = entry.path();
            if is_key && kind.is_dir() {
                pending.push(path);
                continue;
            }
            let name = below_folder(folder, &path);
            found.extend(Some(Entry { key: is_key.then(|| name.clone()), name }).filter(&is_kept));
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// A path from a folder, to be shown.
fn below_folder(folder: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(folder).unwrap_or(path).iter().map(|part| part.to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}

/// The prefixes of the keys of a node, and of all below it. At the root that is the whole store.
fn prefixes_of(format: Format, path: &str) -> Vec<String> {
    let [meta, data] = match format {
        Format::DraftA if !path.is_empty() => ["meta/", "data/"],
        Format::DraftB if !path.is_empty() => ["meta/root/", "data/root/"],
        _ => return vec![below(path)],
    };
    vec![format!("{meta}{path}/"), format!("{data}{path}/")]
}

impl Chunked {
    /// With the prefix of its keys.
    fn of(array: &ndzarr::AnyArray) -> (String, Self) {
        let chunked = Self { spec: array.spec().clone(), grid: array.units().iter().grid_shape() };
        (array.spec().keys.prefix.clone(), chunked)
    }
}

fn is_chunk(arrays: &BTreeMap<String, Chunked>, key: &str) -> bool {
    // Arrays do not contain each other, so at most one prefix is that of an array.
    let array = prefixes_in(key).find_map(|prefix| Some((prefix, arrays.get(prefix)?)));
    array.is_some_and(|(prefix, array)| {
        let index = array.spec.keys.encoding.decode(&key[prefix.len()..], array.grid.len());
        index.is_some_and(|index| index.iter().zip(&array.grid).all(|(at, n)| at < n))
    })
}

/// What a key may have as its prefix, the longest first.
pub(crate) fn prefixes_in(key: &str) -> impl Iterator<Item = &str> {
    key.rmatch_indices('/').map(|(at, _)| &key[..=at]).chain([""])
}

/// Whether a key is that of a document of any format.
pub(crate) fn is_document(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    matches!(name, "zarr.json" | ".zarray" | ".zattrs" | ".zgroup" | ".zmetadata" | "attributes.json")
        || (key.starts_with("meta/") && (name.ends_with(".array.json") || name.ends_with(".group.json")))
        // Those of the root of the draft.
        || matches!(key, "meta/array.json" | "meta/group.json")
}

/// Whether a document is one of this format.
fn is_of(format: Format, key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    match format {
        Format::Zarr2 => name.starts_with(".z"),
        Format::N5 => name == "attributes.json",
        // The draft has `zarr.json` at its root.
        Format::Zarr3 => name == "zarr.json",
        _ => name == "zarr.json" || key.starts_with("meta/"),
    }
}

/// Whether a key may be that of a chunk of an array with this prefix: `c/0/1`, `c.0.1`, `0.1` or `0/1`.
pub(crate) fn may_be_chunk(prefix: &str, key: &str) -> bool {
    let Some(name) = key.strip_prefix(prefix) else { return false };
    let mut parts = name.split(['/', '.']).peekable();
    let has_c = parts.next_if_eq(&"c").is_some();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (has_c || parts.peek().is_some()) && parts.all(is_number)
}

/// Whether a key, below a node, is one that `copy` uses, or one by which a bucket is tried out.
pub(crate) fn is_of_copy(below: &str) -> bool {
    let is_it = |name: &str| {
        name == ".ndzarr-copy"
            || [".ndzarr-temporary", ".ndzarr-trial-"].iter().any(|it| name.starts_with(it))
    };
    below.split('/').any(is_it)
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
        assert!(is_document("meta/group.json") && !is_document("meta/a/group.json"));
        assert!(!is_document("a/README.md") && !is_document("a.array.json"));
        assert!(is_of_copy(".ndzarr-copy") && is_of_copy("a/.ndzarr-temporary/8x8/0.0"));
        assert!(is_of_copy("a/.ndzarr-trial-0123") && !is_of_copy("a/ndzarr-copy"));
    }

    #[test]
    fn names_of_chunks_are_numbers() {
        for name in ["c", "c/0", "c/0/12", "c.0.1", "0", "0.1", "3/2/1"] {
            assert!(may_be_chunk("a/", &format!("a/{name}")), "{name}");
        }
        for name in ["", "notes.txt", "c/x", "c/0.txt", "0.1/", "0.", "d/0", "c0"] {
            assert!(!may_be_chunk("a/", &format!("a/{name}")), "{name}");
        }
        assert!(!may_be_chunk("a/", "b/0"));
    }
}
