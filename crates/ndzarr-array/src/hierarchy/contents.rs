//! What lies below a node: its documents and chunks, and files of others.

use std::collections::{BTreeMap, BTreeSet};

use ndzarr_codec::CodecRegistry;
use ndzarr_metadata::{
    ConsolidatedUse, Format, Known, Limits, MemberKind, Node, NodeKind, NodePath, erase,
    is_document_of, key_prefixes,
};
use ndzarr_model::ArraySpec;
use ndzarr_store::Listed;

use crate::arrays::info::ArrayInfo;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::group_info::{FoundNode, GroupInfo};
use crate::hierarchy::key_name::{KeyName, NOTE, is_document, is_of_copy};
use crate::storage::Storage;

/// What lies below a node, all nodes below it included. Removing the node removes all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contents {
    /// How many arrays there are, that of the node included.
    pub n_arrays: u64,
    /// How many groups there are, that of the node included.
    pub n_groups: u64,
    /// How many keys have values.
    pub n_keys: u64,
    /// The lengths of all values together.
    pub byte_len: u64,
    /// How many of them are documents of the node's format.
    pub n_documents: u64,
    /// Keys of documents of other formats.
    pub of_other_formats: Vec<String>,
    /// Keys that are those of neither a document nor a chunk of the array's grid, in order.
    pub orphans: Vec<String>,
    /// Keys of what a copy leaves until it has ended, in order.
    pub of_copies: Vec<String>,
    /// Files that do not, or may not, belong to the node, which its removal refuses to take with it
    /// unless it is [forced](crate::RunOptions::force): their keys, and paths that no key names.
    /// Everything below an array that cannot be opened is among them; a chunk outside of the grid
    /// of one that can, or under another separator, is not.
    pub foreign: Vec<String>,
    /// Names that no key can have, in order, as
    /// [`unlisted_names`](ndzarr_store::Store::unlisted_names) of the store has them. Those in a
    /// folder are foreign; those in a bucket stay when the node is removed.
    pub unlisted: Vec<String>,
}

/// The nodes below a place, as far as they tell keys apart.
#[derive(Clone, Default)]
pub(crate) struct Owners {
    format: Option<Format>,
    pub(crate) draft_suffix: String,
    limits: Limits,
    /// By the prefix of its keys.
    arrays: BTreeMap<String, Chunked>,
    /// Prefixes of nodes that cannot be opened, whose keys cannot be told apart.
    broken: BTreeSet<String>,
    /// Prefixes below which chunks have no array yet, or no longer.
    begun: BTreeSet<String>,
}

/// An array whose chunks are known.
#[derive(Clone)]
struct Chunked {
    spec: ArraySpec,
    grid: Vec<u64>,
}

impl Contents {
    /// Of a node, opened without consolidated metadata.
    pub(crate) async fn of(
        storage: &Storage,
        node: &Node,
        registry: &CodecRegistry,
    ) -> Result<Self> {
        Self::below(storage, node, &erase(node).prefixes, registry).await
    }

    /// Of these prefixes, with the node that was found.
    pub(crate) async fn below(
        storage: &Storage,
        node: &Node,
        prefixes: &[String],
        registry: &CodecRegistry,
    ) -> Result<Self> {
        let mut contents = Self::default();
        let draft_suffix = node.context.draft_suffix.to_string();
        let limits = node.context.limits;
        let mut owners = Owners {
            format: Some(node.format),
            draft_suffix,
            limits,
            ..Owners::default()
        };
        if let NodeKind::Array(_) = &node.kind {
            contents.n_arrays = 1;
            owners.add(node);
        } else {
            contents.n_groups = 1;
            let uses = ConsolidatedUse::Ignore;
            let group =
                GroupInfo::open(storage.clone(), node.clone(), Known::new(), uses, registry)
                    .await?;
            for child in group.walk().await? {
                contents.n_arrays += u64::from(child.kind == Some(MemberKind::Array));
                contents.n_groups += u64::from(child.kind == Some(MemberKind::Group));
                match child.node.as_deref() {
                    Ok(FoundNode::Array(array)) => owners.add(&array.node),
                    Ok(FoundNode::Group(_)) => {}
                    Err(_) => {
                        let path = format!("{}{}", node.path.prefix(), child.path);
                        owners.broken.extend(key_prefixes(node.format, &path));
                    }
                }
            }
        }
        contents.list(storage, prefixes, owners).await?;
        Ok(contents)
    }

    /// Of prefixes at which no node can be opened, only by the names of the keys.
    pub(crate) async fn unopened(storage: &Storage, prefixes: &[String]) -> Result<Self> {
        let mut contents = Self::default();
        let begun = prefixes.iter().cloned().collect();
        let draft_suffix = ".json".to_owned();
        contents
            .list(
                storage,
                prefixes,
                Owners {
                    draft_suffix,
                    begun,
                    ..Owners::default()
                },
            )
            .await?;
        Ok(contents)
    }

    async fn list(
        &mut self,
        storage: &Storage,
        prefixes: &[String],
        mut owners: Owners,
    ) -> Result<()> {
        let limits = owners.limits;
        let mut others = Vec::new();
        for prefix in prefixes {
            let mut take = |key: &str, listed| {
                match listed {
                    Listed::Folder => return,
                    Listed::Unlisted(_) => return self.foreign.push(format!("{key}/")),
                    Listed::Value(_) | Listed::Unreadable(_) => {}
                }
                self.n_keys += 1;
                self.byte_len = self.byte_len.saturating_add(listed.byte_len().unwrap_or(0));
                if is_of_copy(&key[prefix.len()..]) {
                    // Until it has ended, chunks that it made have no document.
                    owners
                        .begun
                        .extend(key.strip_suffix(NOTE).map(str::to_owned));
                    self.of_copies.push(key.to_owned());
                } else if is_document(key, &owners.draft_suffix) {
                    match owners.format {
                        Some(format) if !is_document_of(format, key) => {
                            self.of_other_formats.push(key.to_owned())
                        }
                        Some(_) => self.n_documents += 1,
                        None => {
                            self.n_documents += 1;
                            owners
                                .begun
                                .extend(prefixes_in(key).next().map(str::to_owned));
                        }
                    }
                } else if !owners.is_in_grid(key) {
                    others.push(key.to_owned());
                }
            };
            storage
                .each_size(prefix, &limits, &mut |key, listed| {
                    take(key.as_str(), listed)
                })
                .await?;
            self.unlisted.extend(storage.unlisted_names(prefix).await?);
        }
        if storage.is_folder() {
            self.foreign.extend(self.unlisted.iter().cloned());
        }
        others.sort_unstable();
        self.foreign.extend(
            others
                .iter()
                .filter(|key| !owners.may_be_chunk(key))
                .cloned(),
        );
        let is_broken =
            |key: &String| prefixes_in(key).any(|prefix| owners.broken.contains(prefix));
        self.orphans = others.into_iter().filter(|key| !is_broken(key)).collect();
        self.of_copies.sort_unstable();
        self.of_other_formats.sort_unstable();
        self.foreign.sort_unstable();
        self.unlisted.sort_unstable();
        Ok(())
    }

    /// The error of a removal that would take what does not belong to the node.
    pub(crate) fn check_foreign(&self, storage: &Storage, path: &NodePath) -> Result<()> {
        let names: Vec<String> = self
            .foreign
            .iter()
            .take(3)
            .map(|key| format!("{key:?}"))
            .collect();
        let what = match &self.foreign[..] {
            [] => return Ok(()),
            [_] => format!("a file that does not belong to it, {}", names.join(", ")),
            [_, _] | [_, _, _] => {
                format!(
                    "{} files that do not belong to it, {}",
                    self.foreign.len(),
                    names.join(", ")
                )
            }
            all => format!(
                "{} files that do not belong to it, such as {}",
                all.len(),
                names.join(", ")
            ),
        };
        let what = format!("\"{path}\" holds {what}: `force` removes them too");
        Err(Error::new(ErrorKind::AlreadyExists, what).in_store(|| storage.name()))
    }
}

impl ArrayInfo {
    pub(crate) async fn contents(&self) -> Result<Contents> {
        Contents::of(&self.storage, &self.node, &CodecRegistry::new()).await
    }
}

impl GroupInfo {
    pub(crate) async fn contents(&self) -> Result<Contents> {
        Contents::of(&self.storage, &self.node, self.registry()).await
    }
}

impl Owners {
    pub(crate) fn new(draft_suffix: &str) -> Self {
        Self {
            draft_suffix: draft_suffix.to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn add(&mut self, node: &Node) {
        let NodeKind::Array(spec) = &node.kind else {
            return;
        };
        // An array without a grid cannot be read, and its chunks are known by their names.
        match spec.grid() {
            Ok(grid) => {
                let chunked = Chunked {
                    spec: ArraySpec::clone(spec),
                    grid: grid.grid_shape(),
                };
                self.arrays.insert(spec.keys.prefix.clone(), chunked);
            }
            Err(_) => drop(self.begun.insert(spec.keys.prefix.clone())),
        }
    }

    /// The array that a key lies below, and the rest of the key.
    fn array<'a>(&self, key: &'a str) -> Option<(&Chunked, &'a str)> {
        // Arrays do not contain each other, so at most one prefix is that of an array.
        prefixes_in(key).find_map(|prefix| Some((self.arrays.get(prefix)?, &key[prefix.len()..])))
    }

    pub(crate) fn is_in_grid(&self, key: &str) -> bool {
        self.array(key).is_some_and(|(array, name)| {
            let index = array.spec.keys.encoding.decode(name, array.grid.len());
            index.is_some_and(|index| index.iter().zip(&array.grid).all(|(at, n)| at < n))
        })
    }

    /// Returns `true` if the name of a key is that of a chunk of an array, even one outside the
    /// grid.
    pub(crate) fn may_be_chunk(&self, key: &str) -> bool {
        let by_name = |name: &str| {
            name.split('/')
                .all(|part| KeyName::of(part) == KeyName::Chunk)
        };
        let of_array = self.array(key).is_some_and(|(array, name)| {
            by_name(name)
                || array
                    .spec
                    .keys
                    .encoding
                    .decode(name, array.grid.len())
                    .is_some()
        });
        of_array || prefixes_in(key).any(|at| self.begun.contains(at) && by_name(&key[at.len()..]))
    }
}

/// What a key may have as its prefix, the longest first.
pub(crate) fn prefixes_in(key: &str) -> impl Iterator<Item = &str> {
    key.rmatch_indices('/')
        .map(|(at, _)| &key[..=at])
        .chain([""])
}
