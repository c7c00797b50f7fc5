//! Consolidated metadata: groups use it, and changes through them keep it up to date.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use ndzarr_engine::ConcurrentUpdate;
use ndzarr_metadata::{
    Consolidated, ConsolidatedUse, DocumentChange, Known, Member, MemberKind, MetadataError, Node,
    NodePath, OpenOptions, Resolved, Wanted, consolidate, consolidated, consolidated_key,
    consolidated_keys, copies_stand_alone, has_no_copies_yet, is_node_document, node_documents,
    refresh_consolidated,
};
use ndzarr_store::PerProcess;

use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::find_node;
use crate::storage::{LostLocks, Published, Storage};

/// The consolidated metadata of a group as seen by the group itself and everything opened through
/// it. It is read when first needed, and again after a change through one of these.
#[derive(Debug)]
pub(crate) struct View {
    storage: Storage,
    base: Node,
    uses: ConsolidatedUse,
    state: PerProcess<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// The number of changes so far.
    changes: u64,
    /// What was read to open the group, until it is needed or out of date.
    known: Known,
    read: Option<Option<Arc<Consolidated>>>,
}

impl View {
    pub(crate) fn new(storage: &Storage, base: &Node, uses: ConsolidatedUse) -> Self {
        Self::knowing(storage, base, uses, Known::new())
    }

    /// As [`new`](Self::new), with documents that are known already.
    pub(crate) fn knowing(
        storage: &Storage,
        base: &Node,
        uses: ConsolidatedUse,
        known: Known,
    ) -> Self {
        let state = PerProcess::with_value(Mutex::new(State {
            changes: 0,
            known,
            read: None,
        }));
        Self {
            storage: storage.clone(),
            base: base.clone(),
            uses,
            state,
        }
    }

    pub(crate) fn uses(&self) -> ConsolidatedUse {
        self.uses
    }

    /// The consolidated metadata; `None` if there is none.
    pub(crate) async fn get(&self) -> Result<Option<Arc<Consolidated>>> {
        let (changes, mut known) = {
            let mut state = self.state();
            if let Some(read) = &state.read {
                return Ok(read.clone());
            }
            (state.changes, std::mem::take(&mut state.known))
        };
        let reopened = match changes {
            0 => None,
            // The document read to open the group is out of date.
            _ => Some(
                find_node::open_at(&self.storage, &self.base.path, &self.options(Wanted::Group))
                    .await?,
            ),
        };
        let base = reopened.as_ref().unwrap_or(&self.base);
        let conclude = |known: &Known| consolidated(base, known, self.uses);
        let read = self
            .storage
            .conclude(&mut known, &base.context.limits, conclude)
            .await?;
        let mut state = self.state();
        if state.changes == changes {
            state.read = Some(read.clone());
        }
        Ok(read)
    }

    /// Notes that a document below was changed.
    fn changed(&self) {
        let mut state = self.state();
        state.changes += 1;
        (state.known, state.read) = (Known::new(), None);
    }

    pub(crate) fn options(&self, wanted: Wanted) -> OpenOptions {
        OpenOptions {
            wanted,
            consolidated: self.uses,
            ..self.base.open_options()
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock_inherited()
    }
}

/// A change of documents through a view, which notes it when the change ends, however it ends.
pub(crate) struct Changing(Option<Arc<View>>);

impl Changing {
    pub(crate) fn through(view: Option<&Arc<View>>) -> Self {
        Self(view.cloned())
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        if let Some(view) = &self.0 {
            view.changed();
        }
    }
}

/// A state about which nothing is known, that of a forked child: what the group was opened by may
/// be out of date.
impl Default for State {
    fn default() -> Self {
        Self {
            changes: 1,
            known: Known::new(),
            read: None,
        }
    }
}

/// Updates all consolidated metadata that has copies of the changed documents of a node, including
/// that of groups around the store, if it is in a folder.
///
/// The documents are copied as they are under the lock of the document with the copies, so the last
/// writer has seen all earlier changes.
pub(crate) async fn refresh(
    storage: &Storage,
    node: &Node,
    change: &DocumentChange,
    policy: ConcurrentUpdate,
) -> Result<()> {
    refresh_all(storage, node, change, policy)
        .await
        .map_err(|error| {
            error.after("the change is stored, but the consolidated metadata above it may lack it")
        })
}

async fn refresh_all(
    storage: &Storage,
    node: &Node,
    change: &DocumentChange,
    policy: ConcurrentUpdate,
) -> Result<()> {
    let enclosing = storage.enclosing(node.format);
    if enclosing.is_empty() {
        return refresh_in(storage, node, &node.path, change, policy).await;
    }
    for (outer, root) in enclosing {
        let root = NodePath::new(&root)?;
        let below = |name: &String| format!("{}{name}", root.prefix());
        let change = DocumentChange {
            keys: change.keys.iter().map(below).collect(),
            prefixes: change.prefixes.iter().map(below).collect(),
        };
        let path = NodePath::new(&below(&node.path.as_str().to_owned()))?;
        refresh_in(&outer, node, &path, &change, policy).await?;
    }
    Ok(())
}

/// Does so within one store, where the node has this path.
async fn refresh_in(
    storage: &Storage,
    node: &Node,
    path: &NodePath,
    change: &DocumentChange,
    policy: ConcurrentUpdate,
) -> Result<()> {
    for key in consolidated_keys(node.format, path) {
        refresh_one(storage, node, &key, change, policy).await?;
    }
    Ok(())
}

async fn refresh_one(
    storage: &Storage,
    node: &Node,
    key: &str,
    change: &DocumentChange,
    policy: ConcurrentUpdate,
) -> Result<()> {
    let format = node.format;
    let limits = &node.context.limits;
    // A group usually has its document, but few have a document that holds only copies.
    if copies_stand_alone(format) && !storage.has(key).await? {
        return Ok(());
    }
    let mut lost = LostLocks::default();
    loop {
        let Some(current) = storage.value(key, limits.document_bytes).await? else {
            return Ok(());
        };
        if has_no_copies_yet(format, key, &current) {
            let base = NodePath::new(key.rsplit_once('/').map_or("", |(base, _)| base))?;
            let options = OpenOptions {
                wanted: Wanted::Group,
                consolidated: ConsolidatedUse::Ignore,
                ..node.open_options()
            };
            return match find_node::open_at(storage, &base, &options).await {
                Ok(group) => make(storage, &group, policy).await,
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            };
        }
        // Takes no lock as long as nothing has to change.
        let refreshed = refresh_consolidated(format, key, &current, change, &Known::new());
        if matches!(refreshed, Ok(Resolved::Done(None))) {
            return Ok(());
        }
        let held = storage.hold(key, limits).await?;
        let Some(current) = held.bytes() else {
            return Ok(());
        };
        let conclude = |known: &Known| refresh_consolidated(format, key, &current, change, known);
        let Some(value) = storage
            .conclude(&mut Known::new(), limits, conclude)
            .await?
        else {
            return Ok(());
        };
        match held.publish(&value, policy).await {
            Ok(Published::Yes) => return Ok(()),
            Ok(Published::No) => {}
            Err(error) if lost.forgive(&error) => {}
            // A document that holds only copies can be removed. Where writers cannot be serialized,
            // that is the only safe change.
            Err(error) if error.kind() == ErrorKind::NoLocking && copies_stand_alone(format) => {
                return storage.erase(key).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Collects the documents of a group and of all nodes below it, and stores copies of them with the
/// group.
///
/// They are collected again afterwards, to notice a document changed in between by a writer that
/// did not yet see any consolidated metadata. Later writers see it.
pub(crate) async fn make(storage: &Storage, group: &Node, policy: ConcurrentUpdate) -> Result<()> {
    let limits = &group.context.limits;
    let in_store = |error: MetadataError| Error::from(error).in_store(|| storage.name());
    // Formats without consolidated metadata are refused before anything is locked, because locking
    // creates folders.
    let refused = consolidate(group, None, &BTreeMap::new());
    let is_refused = matches!(refused, Err(MetadataError::Inexpressible { .. }));
    let Some(key) = consolidated_key(group).filter(|_| !is_refused) else {
        return refused.map(drop).map_err(in_store);
    };
    let mut published: Option<Bytes> = None;
    loop {
        let held = storage.hold(&key, limits).await?;
        let documents = documents(storage, group).await?;
        let value = consolidate(group, held.value(), &documents).map_err(in_store)?;
        if published.is_some() && held.value() == Some(&value[..]) {
            return Ok(());
        }
        match held.publish(&value, policy).await {
            Ok(_) => published = Some(value),
            Err(error)
                if error.kind() == ErrorKind::NoLocking && copies_stand_alone(group.format) =>
            {
                // The new value takes nothing from the old one.
                storage.replace(&key, value).await?;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
}

/// The real documents of a group and of all nodes below it, by key: also of those below folders
/// without a document.
async fn documents(storage: &Storage, group: &Node) -> Result<BTreeMap<String, Bytes>> {
    let limits = &group.context.limits;
    let mut documents = BTreeMap::new();
    let mut pending: Vec<(NodePath, Option<Node>)> = vec![(group.path.clone(), None)];
    while let Some((path, folder)) = pending.pop() {
        // Documents read to list the children of a group are not read again to open them.
        let mut known = Known::new();
        let node = match &folder {
            Some(folder) => folder.clone(),
            None => {
                let options = OpenOptions {
                    consolidated: ConsolidatedUse::Ignore,
                    ..group.open_options()
                };
                let conclude = |known: &Known| ndzarr_metadata::open(&path, known, &options);
                let node = storage.conclude(&mut known, limits, conclude).await?;
                documents.extend(node.documents.iter().cloned());
                node
            }
        };
        let conclude = |known: &Known| ndzarr_metadata::members(&node, known);
        let members = storage.conclude(&mut known, limits, conclude).await?;
        for name in folders_among(&known, &node, &members) {
            let path = path.child(&name)?;
            pending.push((path.clone(), Some(find_node::folder(&node, path))));
        }
        for member in members {
            let path = path.child(&member.name)?;
            match member.kind {
                MemberKind::Group => pending.push((path, None)),
                MemberKind::Array => {
                    let conclude = |known: &Known| node_documents(group.format, &path, known);
                    documents.extend(storage.conclude(&mut known, limits, conclude).await?);
                }
            }
        }
    }
    Ok(documents)
}

/// The names of what is listed below a group and is neither a node nor a part of one.
fn folders_among(known: &Known, group: &Node, members: &[Member]) -> Vec<String> {
    let Some(listing) = known.listed(&group.path.prefix()) else {
        return Vec::new();
    };
    let is_node = find_node::is_folder(group)
        && listing
            .keys
            .iter()
            .any(|key| is_node_document(key, ".json"));
    let folders = listing.prefixes.iter().filter(|name| {
        let is_member = members.iter().any(|member| member.name == **name);
        !is_node && !is_member && find_node::may_be_folder(group, name)
    });
    let mut folders: Vec<String> = folders.cloned().collect();
    folders.dedup();
    folders
}
