//! Creating and removing nodes below a group.

use std::sync::Arc;

use ndzarr_metadata::{CreateOptions, DocumentChange, NodePath, OpenOptions, Wanted, erase};
use ndzarr_model::Attributes;

use crate::array::Array;
use crate::builder::ArrayBuilder;
use crate::error::{Error, ErrorKind, Result};
use crate::group::Group;
use crate::{Element, consolidated, nodes};

impl Group {
    /// Creates an array below it, in the group's format.
    ///
    /// # Errors
    /// As [`ArrayBuilder::create`].
    pub fn create_array<T: Element>(&self, name: &str, array: ArrayBuilder<T>) -> Result<Array<T>> {
        let created = array
            .format(self.node.format)
            .n5_axes(self.node.context.n5_axes)
            .limits(self.node.context.limits)
            .concurrent_update(self.options.concurrent_update)
            .registry_if_none(&self.registry)
            .create(&self.storage, self.child_path(name)?.as_str());
        self.view.changed();
        let mut array = created?;
        array.core.view = Some(Arc::clone(&self.view));
        Ok(array.with_options(self.options.clone()))
    }

    /// Creates a group below it, in the group's format.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_group(&self, name: &str) -> Result<Self> {
        let options = CreateOptions {
            n5_axes: self.node.context.n5_axes,
            limits: self.node.context.limits,
            concurrent_update: self.options.concurrent_update,
            ..CreateOptions::new(self.node.format)
        };
        let path = self.child_path(name)?;
        let created = Self::create_with(&self.storage, path.as_str(), &Attributes::new(), &options);
        self.view.changed();
        Ok(self.hand_on(created?.with_extensions(self.node.context.extensions.clone())))
    }

    /// Removes a node below it, with everything below that: its documents first. A link goes, what it
    /// leads to stays.
    ///
    /// # Errors
    /// The name is empty; nothing is there; the store.
    pub fn erase(&self, name: &str) -> Result<()> {
        self.erase_at(&self.child_path(name)?)
    }

    /// Removes the group itself, with everything below it: its documents first. At the root of a store that is everything
    /// in the store, files of others included.
    ///
    /// # Errors
    /// It is not there any more; the store.
    ///
    /// ```
    /// use ndzarr_array::{Array, Format, Group};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let store = MemoryStore::new();
    /// let root = Group::create(&store, "", Format::Zarr3)?;
    /// root.create_group("run-1")?.create_array("signal", Array::<f32>::builder([100]))?;
    /// assert!(root.erase("").is_err());
    /// root.group("run-1")?.erase_self()?;
    /// assert_eq!(store.keys(), ["zarr.json"]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn erase_self(self) -> Result<()> {
        self.erase_at(&self.node.path)
    }

    fn erase_at(&self, path: &NodePath) -> Result<()> {
        self.storage.wait(async {
            // What is there, whatever copies say.
            let options = OpenOptions { wanted: Wanted::Any, ..consolidated::options(&self.node) };
            let node = nodes::open_at(&self.storage, path, &options).await?;
            let erasure = erase(&node);
            let removed = self.storage.remove(&erasure).await;
            self.view.changed();
            removed?;
            let change = DocumentChange { keys: erasure.documents, prefixes: erasure.prefixes };
            consolidated::refresh(&self.storage, &node, &change, self.options.concurrent_update).await
        })
    }

    /// The path of a node below it; the group itself is none.
    fn child_path(&self, name: &str) -> Result<NodePath> {
        let path = NodePath::new(&self.below(name))?;
        if path == self.node.path {
            let what = format!("{name:?} names no node below the group");
            return Err(Error::new(ErrorKind::InvalidArgument, what));
        }
        Ok(path)
    }
}
