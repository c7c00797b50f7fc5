//! `GroupInfo`: an opened group, its nodes and its changes, which both kinds of groups share.

mod below;
mod children;
mod level;
mod metadata;

use std::fmt;
use std::sync::Arc;

use ndzarr_codec::CodecRegistry;
use ndzarr_engine::{RunOptions, scoped};
use ndzarr_metadata::{
    AttributeChange, Consolidated, ConsolidatedUse, CreateOptions, Extensions, Known, MemberKind,
    MetadataError, Node, NodeKind, NodePath, OpenOptions, UnknownType, Wanted,
};
use ndzarr_model::Attributes;
use serde_core::Serialize;
use serde_core::de::DeserializeOwned;
use serde_json::Value;

use crate::arrays::info::ArrayInfo;
use crate::creating::replaces_source::would_remove;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::consolidated::{self, Changing, View};
use crate::hierarchy::find_node;
use crate::operations::attributes;
use crate::places::located::Located;
use crate::storage::Storage;

/// An opened group, independent of whether its calls block.
#[derive(Clone)]
pub struct GroupInfo {
    pub(crate) storage: Storage,
    pub(crate) node: Arc<Node>,
    pub(crate) options: RunOptions,
    registry: CodecRegistry,
    view: Arc<View>,
}

impl fmt::Debug for GroupInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Group");
        shown
            .field("store", &self.storage.name())
            .field("path", &self.node.path.as_str());
        shown
            .field("format", &self.node.format)
            .finish_non_exhaustive()
    }
}

/// An opened node.
// Nodes are usually taken apart right after opening, seldom kept.
#[allow(clippy::large_enum_variant)]
#[derive(Debug)]
pub(crate) enum FoundNode {
    Array(ArrayInfo),
    Group(GroupInfo),
}

/// A child of a group, opened. If it is invalid, only this child has an error.
#[derive(Debug)]
pub(crate) struct FoundChild {
    pub(crate) path: String,
    /// `None` if its document does not show it.
    pub(crate) kind: Option<MemberKind>,
    /// Boxed because there may be many, which are moved and sorted.
    pub(crate) node: Result<Box<FoundNode>>,
}

impl GroupInfo {
    pub(crate) async fn open(
        storage: Storage,
        node: Node,
        known: Known,
        uses: ConsolidatedUse,
        registry: &CodecRegistry,
    ) -> Result<Self> {
        let view = Arc::new(View::knowing(&storage, &node, uses, known));
        let group = Self {
            registry: registry.clone(),
            ..Self::seen_through(storage, node, view)?
        };
        if uses == ConsolidatedUse::Require {
            group.view.get().await?;
        }
        Ok(group)
    }

    fn new(storage: Storage, node: Node, uses: ConsolidatedUse) -> Result<Self> {
        let view = Arc::new(View::new(&storage, &node, uses));
        Self::seen_through(storage, node, view)
    }

    fn seen_through(storage: Storage, mut node: Node, view: Arc<View>) -> Result<Self> {
        // The view has the consolidated metadata and is notified of changes.
        node.context.consolidated_in = None;
        match node.kind {
            NodeKind::Group | NodeKind::ImplicitGroup => Ok(Self {
                storage,
                node: node.into(),
                options: RunOptions::default(),
                registry: CodecRegistry::new(),
                view,
            }),
            NodeKind::Array(_) => Err(find_node::not_a("a group", &node, &storage)),
        }
    }

    /// Creates a group, with codecs and extensions for nodes opened through it.
    pub(crate) async fn create(
        place: Located,
        attributes: &Attributes,
        options: &CreateOptions,
        made_from: Option<&(Storage, Arc<Node>)>,
        registry: CodecRegistry,
        extensions: Extensions,
        unknown_type: UnknownType,
    ) -> Result<Self> {
        find_node::check_new(&place, options.format).await?;
        let storage = place.storage;
        let path = NodePath::new(&place.path)?;
        let conclude =
            |known: &Known| ndzarr_metadata::create_group(&path, attributes, known, options);
        let mut creation = storage
            .conclude(&mut Known::new(), &options.limits, conclude)
            .await?;
        if let Some((source, array)) = made_from
            && would_remove(&storage, &creation, (source, array)).await?
        {
            let what =
                format!("{path} holds the array that it is to be made from, and is not replaced");
            return Err(Error::new(ErrorKind::InvalidArgument, what).in_store(|| storage.name()));
        }
        storage.create(&creation, options.concurrent_update).await?;
        creation.node.context.extensions = extensions;
        creation.node.context.unknown_type = unknown_type;
        let mut group = Self::new(storage, creation.node, ConsolidatedUse::Use)?;
        group.options.concurrent_update = options.concurrent_update;
        group.registry = registry;
        Ok(group)
    }

    /// The change that sets attributes.
    pub(crate) fn merging(attributes: Value) -> Result<AttributeChange> {
        attributes::object(attributes).map(AttributeChange::Merge)
    }

    pub(crate) async fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let _changing = self.changing();
        let policy = self.options.concurrent_update;
        let node = attributes::change(&self.storage, &self.node, change, policy).await?;
        self.changed_to(node);
        Ok(())
    }

    /// The change that sets one attribute.
    pub(crate) fn setting(
        &self,
        key: &str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<AttributeChange> {
        attributes::setting(&self.node, key, value)
            .map_err(|error| error.in_store(|| self.storage.name()))
    }

    /// Replaces one attribute by a function of it.
    pub(crate) async fn update_attribute<A: DeserializeOwned + Serialize>(
        &mut self,
        key: &str,
        update: impl FnMut(Option<A>) -> A,
    ) -> Result<()> {
        let _changing = self.changing();
        let policy = self.options.concurrent_update;
        let node = attributes::update(&self.storage, &self.node, key, update, policy).await?;
        self.changed_to(node);
        Ok(())
    }

    /// Begins a change of documents below it, or of its own.
    pub(crate) fn changing(&self) -> Changing {
        Changing::through(Some(&self.view))
    }

    fn changed_to(&mut self, mut node: Node) {
        node.context.consolidated_in = None;
        self.node = node.into();
    }

    pub(crate) async fn consolidate(&mut self) -> Result<()> {
        let _changing = self.changing();
        let policy = self.options.concurrent_update;
        consolidated::make(&self.storage, &self.node, policy).await?;
        // In Zarr v3 this changed the group's own document.
        let options = OpenOptions {
            wanted: Wanted::Group,
            ..self.node.open_options()
        };
        let node = find_node::open_at(&self.storage, &self.node.path, &options).await?;
        self.changed_to(node);
        Ok(())
    }

    /// Opens the array of this name or relative path.
    pub(crate) async fn array(&self, name: &str) -> Result<ArrayInfo> {
        let path = NodePath::new(&self.below(name))?;
        self.array_of(self.open_node(&path, Wanted::Array).await?.into(), None)
    }

    fn array_of(&self, mut node: Arc<Node>, alike: Option<&ArrayInfo>) -> Result<ArrayInfo> {
        if node.context.consolidated_in.is_some() {
            Arc::make_mut(&mut node).context.consolidated_in = None;
        }
        let mut info = ArrayInfo::new_sibling(self.storage.clone(), node, &self.registry, alike)?;
        info.view = Some(Arc::clone(&self.view));
        info.options = self.options.clone();
        Ok(info)
    }

    /// Opens the group of this name or relative path.
    pub(crate) async fn group(&self, name: &str) -> Result<Self> {
        let path = NodePath::new(&self.below(name))?;
        self.group_of(self.open_node(&path, Wanted::Group).await?)
    }

    /// Opens a node below it, from the consolidated metadata if there is any.
    pub(crate) async fn open_node(&self, path: &NodePath, wanted: Wanted) -> Result<Node> {
        let options = self.view.options(wanted);
        match self.view.get().await? {
            Some(consolidated) => self.in_store(consolidated.open(path, &options)),
            None => find_node::open_at(&self.storage, path, &options).await,
        }
    }

    /// Its consolidated metadata, as far as they are used; `None` if there are none.
    pub(crate) async fn consolidated(&self) -> Result<Option<Arc<Consolidated>>> {
        self.view.get().await
    }

    fn in_store<T>(&self, result: Result<T, MetadataError>) -> Result<T> {
        result.map_err(|error| Error::from(error).in_store(|| self.storage.name()))
    }

    pub(crate) fn registry(&self) -> &CodecRegistry {
        &self.registry
    }

    /// Hands this group's settings on to a group below it.
    fn hand_on(&self, group: Self) -> Self {
        Self {
            options: self.options.clone(),
            registry: self.registry.clone(),
            ..group
        }
    }

    fn below(&self, name: &str) -> String {
        format!("{}{name}", self.node.path.prefix())
    }

    /// Runs a reading call without blocking the polling task; see [`Storage::on_pool`].
    pub(crate) async fn on_pool<R: Send + 'static, F: Future<Output = R> + Send>(
        &self,
        call: impl FnOnce(Self) -> F + Send + 'static,
    ) -> R {
        let group = self.clone();
        self.storage.on_pool(move || call(group)).await
    }

    /// Runs a call that changes the store without blocking the polling task; see
    /// [`Storage::on_change_thread`].
    pub(crate) async fn on_change_thread<
        R: Send + 'static,
        F: Future<Output = Result<R>> + Send,
    >(
        &self,
        call: impl FnOnce(Self) -> F + Send + 'static,
    ) -> Result<R> {
        let group = self.clone();
        scoped(
            self.options.cancel.as_ref(),
            self.storage.on_change_thread(move || call(group)),
        )
        .await
    }

    /// Runs a blocking call, which the options can cancel.
    pub(crate) fn wait<T, E: Into<Error>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T> {
        self.storage.wait_unless(self.options.cancel.as_ref(), call)
    }

    /// Runs a blocking call that changes the store.
    pub(crate) fn wait_change<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        self.storage.wait_change(self.options.cancel.as_ref(), call)
    }
}
