//! Sorts the keys below the source of a copy by what becomes of them.

use std::collections::{BTreeMap, BTreeSet};

use ndzarr_metadata::{
    Format, Limits, Node, NodeKind, erase, is_document_of, is_node_document, key_prefixes,
};
use ndzarr_store::{Fetch, Fetched, Key, Listed, Of, StoreError, Want};

use crate::arrays::chunks::Chunks;
use crate::arrays::info::ArrayInfo;
use crate::copy::report::{CopyAccount, KeyList, LeftOutReason};
use crate::error::{ErrorKind, Result};
use crate::hierarchy::contents::{Owners, prefixes_in};
use crate::hierarchy::key_name::{is_document, is_of_copy};
use crate::storage::Storage;

/// Sorts keys, one after another.
#[derive(Clone)]
pub(crate) struct Sorter {
    format: Format,
    /// Below these lies all that is copied.
    prefixes: Vec<String>,
    owners: Owners,
    /// The prefixes of nodes that have documents.
    nodes: BTreeSet<String>,
    /// The prefixes of nodes that are copied as they are, with the number of keys that may be
    /// chunks.
    as_files: BTreeMap<String, u64>,
    /// The prefixes of nodes that are not copied.
    not_copied: BTreeSet<String>,
    /// The target gets consolidated metadata where the source has them.
    consolidates: bool,
    copies_files: bool,
    found: SortedKeys,
}

/// What was found.
#[derive(Clone, Default)]
pub(crate) struct SortedKeys {
    pub(crate) account: CopyAccount,
    /// The keys of files that are copied byte for byte.
    pub(crate) files: Vec<String>,
}

impl Sorter {
    /// Of everything below a node.
    pub(crate) fn of(root: &Node, to: Format, copies_files: bool) -> Self {
        let owners = Owners::new(&root.context.draft_suffix);
        let mut sorter = Self {
            format: root.format,
            prefixes: erase(root).prefixes,
            owners,
            nodes: BTreeSet::new(),
            as_files: BTreeMap::new(),
            not_copied: BTreeSet::new(),
            consolidates: matches!(to, Format::Zarr2 | Format::Zarr3),
            copies_files,
            found: SortedKeys::default(),
        };
        sorter.add(root);
        sorter
    }

    /// A node that is copied.
    pub(crate) fn add(&mut self, node: &Node) {
        match node.kind {
            NodeKind::Array(_) => self.owners.add(node),
            // What lies in a folder without a document belongs to no node.
            NodeKind::Group | NodeKind::ImplicitGroup => {}
        }
        if node.kind != NodeKind::ImplicitGroup || node.format == Format::N5 {
            self.nodes.insert(node.prefix());
        }
    }

    /// A node whose keys are copied as they are.
    pub(crate) fn add_as_files(&mut self, node: &Node) {
        self.as_files.extend(
            key_prefixes(node.format, node.path.as_str())
                .into_iter()
                .map(|prefix| (prefix, 0)),
        );
    }

    /// A node that is not copied.
    pub(crate) fn add_not_copied(&mut self, format: Format, path: &str) {
        self.not_copied.extend(key_prefixes(format, path));
    }

    pub(crate) fn take(&mut self, key: &str, listed: Option<&Listed>) {
        match listed {
            Some(Listed::Folder) => return,
            Some(Listed::Unlisted(_)) => {
                return self.leave_out(LeftOutReason::Unreadable, &format!("{key}/"));
            }
            Some(Listed::Value(_) | Listed::Unreadable(_)) | None => {}
        }
        let below = prefixes_in(key).find(|prefix| self.prefixes.iter().any(|own| own == prefix));
        let below = below.map_or(key, |prefix| &key[prefix.len()..]);
        if is_of_copy(below) {
            return self.leave_out(LeftOutReason::Unfinished, key);
        }
        if prefixes_in(key).any(|prefix| self.not_copied.contains(prefix)) {
            return self.leave_out(LeftOutReason::NotCopied, key);
        }
        let as_it_is = prefixes_in(key).find(|prefix| self.as_files.contains_key(*prefix));
        if let Some(node) = as_it_is {
            if !is_document(key, &self.owners.draft_suffix) {
                *self.as_files.entry(node.to_owned()).or_default() += 1;
            }
        } else if self.owners.is_in_grid(key) {
            self.found.account.n_chunks += 1;
            return;
        } else if self.is_of_node(key) {
            return self.take_document(key);
        } else if self.owners.may_be_chunk(key) {
            return self.leave_out(LeftOutReason::OutsideShape, key);
        } else if !self.copies_files {
            return self.leave_out(LeftOutReason::OtherFile, key);
        }
        if matches!(listed, Some(Listed::Unreadable(_))) {
            return self.leave_out(LeftOutReason::Unreadable, key);
        }
        self.found.account.files.add(key);
        self.found.files.push(key.to_owned());
    }

    fn leave_out(&mut self, reason: LeftOutReason, key: &str) {
        self.found.account.leave_out(reason, key);
    }

    /// Returns `true` for the key of a document of a node that is copied, in any format.
    fn is_of_node(&self, key: &str) -> bool {
        let suffix = &self.owners.draft_suffix;
        if !is_document(key, suffix) {
            return false;
        }
        match self.format {
            // They lie apart from all else.
            Format::DraftA | Format::DraftB => true,
            _ => prefixes_in(key)
                .next()
                .is_some_and(|prefix| self.nodes.contains(prefix)),
        }
    }

    fn take_document(&mut self, key: &str) {
        let account = &mut self.found.account;
        let is_own = is_document_of(self.format, key);
        match key.rsplit('/').next() {
            _ if !is_own => account.leave_out(LeftOutReason::OtherFormat, key),
            Some(".zmetadata") if self.consolidates => account.n_remade += 1,
            Some(".zmetadata") => account.leave_out(LeftOutReason::Consolidated, key),
            _ => account.n_documents += 1,
        }
    }

    /// Sorts all keys of a store below the source; `None` if it cannot list them.
    pub(crate) async fn sort(self, storage: &Storage, root: &Node) -> Result<Option<Self>> {
        or_unlisted(self.sort_all(storage, &root.context.limits).await)
    }

    async fn sort_all(mut self, storage: &Storage, limits: &Limits) -> Result<Self> {
        for prefix in self.prefixes.clone() {
            let mut take =
                |key: &Key, listed: Option<Listed>| self.take(key.as_str(), listed.as_ref());
            storage.each_found(&prefix, limits, &mut take).await?;
            self.leave_out_unlisted(storage, &prefix).await?;
        }
        Ok(self)
    }

    /// Leaves out what has a name that no key can have.
    async fn leave_out_unlisted(&mut self, storage: &Storage, prefix: &str) -> Result<()> {
        for name in storage.unlisted_names(prefix).await? {
            self.leave_out(LeftOutReason::Unreadable, &name);
        }
        Ok(())
    }

    /// Sorts the keys of an array, with the list by which its chunks are copied; `None` if the
    /// store cannot list them.
    pub(crate) async fn sort_array(self, array: &ArrayInfo) -> Result<Option<(Chunks, Self)>> {
        or_unlisted(self.sort_all_of(array).await)
    }

    async fn sort_all_of(mut self, array: &ArrayInfo) -> Result<(Chunks, Self)> {
        let storage = &array.storage;
        let limits = &array.node.context.limits;
        let (units, folders) = array
            .listed_units_but(&mut |key| self.take(key.as_str(), None))
            .await?;
        for folder in folders {
            let mut take =
                |key: &Key, listed: Option<Listed>| self.take(key.as_str(), listed.as_ref());
            storage
                .each_found(folder.as_str(), limits, &mut take)
                .await?;
        }
        for prefix in self.prefixes.clone() {
            self.leave_out_unlisted(storage, &prefix).await?;
        }
        self.found.account.n_chunks += units.n();
        self.look_at_files(storage).await?;
        Ok((units, self))
    }

    /// Leaves out files that a list has named, and that cannot be read: in a folder they may be
    /// links to nowhere.
    async fn look_at_files(&mut self, storage: &Storage) -> Result<()> {
        if !storage.is_folder() {
            return Ok(());
        }
        self.found.account.files = KeyList::default();
        for key in std::mem::take(&mut self.found.files) {
            let valid = storage.named(Key::new(&key))?;
            match storage
                .fetch_raw(&Fetch {
                    key: valid,
                    of: Of::Any,
                    want: Want::Size,
                })
                .await
            {
                Ok(Fetched::Parts { .. }) => {
                    self.found.account.files.add(&key);
                    self.found.files.push(key);
                }
                Ok(Fetched::Missing | Fetched::Changed) => {}
                Err(StoreError::Io { .. } | StoreError::Denied { .. }) => {
                    self.leave_out(LeftOutReason::Unreadable, &key);
                }
                Err(error) => return storage.named(Err(error)),
            }
        }
        Ok(())
    }

    /// How many keys of a node that is copied as it is are no documents.
    pub(crate) fn n_of(&self, node: &Node) -> u64 {
        let prefixes = key_prefixes(node.format, node.path.as_str());
        prefixes
            .iter()
            .filter_map(|prefix| self.as_files.get(prefix))
            .sum()
    }

    /// What was found: documents after what they describe.
    pub(crate) fn found(self) -> SortedKeys {
        let mut found = self.found;
        let suffix = &self.owners.draft_suffix;
        found.files.sort_by_cached_key(|key| {
            let name = key.rsplit('/').next().unwrap_or(key);
            (is_node_document(name, suffix), key.clone())
        });
        let account = &mut found.account;
        account.left_out.sort_by_key(|left_out| left_out.reason);
        account
            .left_out
            .iter_mut()
            .for_each(|left_out| left_out.keys.first.sort_unstable());
        account.files.first.sort_unstable();
        found
    }
}

fn or_unlisted<T>(sorted: Result<T>) -> Result<Option<T>> {
    match sorted {
        Err(error) if matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Denied) => {
            Ok(None)
        }
        sorted => sorted.map(Some),
    }
}
