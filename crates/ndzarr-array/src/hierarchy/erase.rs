//! Removes nodes from a store.

use ndzarr_codec::CodecRegistry;
use ndzarr_engine::RunOptions;
use ndzarr_metadata::{DocumentChange, Node, NodePath, OpenOptions, Wanted, erase};
use ndzarr_model::Foreign;

use crate::arrays::info::ArrayInfo;
use crate::error::Result;
use crate::hierarchy::consolidated;
use crate::hierarchy::contents::Contents;
use crate::hierarchy::find_node;
use crate::storage::Storage;

/// Removes nodes as one that was opened nearby sees them.
pub(crate) struct Erase<'e> {
    pub(crate) storage: &'e Storage,
    pub(crate) nearby: &'e Node,
    pub(crate) options: &'e RunOptions,
}

impl Erase<'_> {
    /// Removes the node at a path, with everything below it.
    pub(crate) async fn node(&self, path: &NodePath, registry: &CodecRegistry) -> Result<()> {
        let storage = self.storage;
        // Looks for the real node, whatever the consolidated copies contain.
        let options = OpenOptions {
            wanted: Wanted::Any,
            ..self.nearby.open_options()
        };
        let node = find_node::open_at(storage, path, &options).await?;
        let erasure = erase(&node);
        if self.options.foreign == Foreign::Refuse {
            let contents = Contents::below(storage, &node, &erasure.prefixes, registry).await?;
            contents.check_foreign(storage, path)?;
        }
        storage.remove(&erasure).await?;
        let change = DocumentChange {
            keys: erasure.documents,
            prefixes: erasure.prefixes,
        };
        consolidated::refresh(storage, &node, &change, self.options.concurrent_update).await
    }
}

impl ArrayInfo {
    /// Removes the array itself.
    pub(crate) async fn erase_self(&self) -> Result<()> {
        let _changing = self.changing();
        let erase = Erase {
            storage: &self.storage,
            nearby: &self.node,
            options: &self.options,
        };
        erase.node(&self.node.path, &CodecRegistry::new()).await
    }
}
