//! Removes nodes from a store.

use ndzarr_metadata::{DocumentChange, Node, NodePath, OpenOptions, Wanted, erase};
use ndzarr_model::ConcurrentUpdate;

use crate::consolidated::{self, View};
use crate::core::Core;
use crate::error::Result;
use crate::nodes;
use crate::storage::Storage;

/// Removes the node at a path, with everything below it, as a node that was opened nearby sees it.
pub(crate) async fn erase_node(
    storage: &Storage,
    nearby: &Node,
    path: &NodePath,
    policy: ConcurrentUpdate,
    view: Option<&View>,
) -> Result<()> {
    // Looks for the real node, whatever the consolidated copies contain.
    let options = OpenOptions { wanted: Wanted::Any, ..nearby.open_options() };
    let node = nodes::open_at(storage, path, &options).await?;
    let erasure = erase(&node);
    let removed = storage.remove(&erasure).await;
    if let Some(view) = view {
        view.changed();
    }
    removed?;
    let change = DocumentChange { keys: erasure.documents, prefixes: erasure.prefixes };
    consolidated::refresh(storage, &node, &change, policy).await
}

impl Core {
    /// Removes the array itself.
    pub(crate) async fn erase_self(&self) -> Result<()> {
        let policy = self.options.concurrent_update;
        erase_node(&self.storage, &self.node, &self.node.path, policy, self.view.as_deref()).await
    }
}
