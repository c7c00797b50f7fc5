//! `Group`: creates, opens and changes a group and what lies below it.

mod below;
mod children;
mod level;

use std::{collections::VecDeque, sync::Arc};

use ndzarr_codec::CodecRegistry;
use ndzarr_engine::RunOptions;
use ndzarr_metadata::{
    AttributeChange, ConsolidatedUse, CreateOptions, Extensions, Format, Known, Member, MemberKind,
    MetadataError, Node, NodeKind, NodePath, OpenOptions, Wanted,
};
use ndzarr_model::Attributes;
use serde_json::Value;

use crate::any_array::AnyArray;
use crate::array::Array;
use crate::consolidated::{self, View};
use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::group::children::Entered;
use crate::storage::Storage;
use crate::{Element, nodes};

pub use children::Child;

/// A group of arrays and groups in a store. Cheap to clone.
///
/// ```
/// use ndzarr_array::{Array, Format, Group, MemberKind};
/// use ndzarr_store::MemoryStore;
/// use serde_json::json;
///
/// let store = MemoryStore::new();
/// let mut group = Group::create(&store, "measurements", Format::Zarr3)?;
/// group.merge_attributes(json!({"site": "north"}))?;
/// group.create_array("temperature", Array::<f32>::builder([10]))?;
///
/// let group = Group::open_in(&store, "measurements")?;
/// assert_eq!(group.attributes()["site"], "north");
/// assert_eq!(group.members()?[0].kind, MemberKind::Array);
/// assert_eq!(group.array::<f32>("temperature")?.shape(), [10]);
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Group {
    storage: Storage,
    node: Arc<Node>,
    options: RunOptions,
    registry: CodecRegistry,
    view: Arc<View>,
}

/// An array or a group.
///
/// ```
/// use ndzarr_array::{AnyNode, Array, OpenOptions};
/// use ndzarr_store::MemoryStore;
///
/// let store = MemoryStore::new();
/// Array::<u8>::builder([3]).create(&store, "group/array")?;
/// let open = |path| AnyNode::open_in(&store, path, &OpenOptions::default());
/// assert!(matches!(open("group")?, AnyNode::Group(group) if group.members()?.len() == 1));
/// assert!(matches!(open("group/array")?, AnyNode::Array(array) if array.shape() == [3]));
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
// Nodes are opened and taken apart, seldom kept.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum AnyNode {
    /// An array.
    Array(AnyArray),
    /// A group.
    Group(Group),
}

impl Group {
    /// Opens a group of the local file system by the path of its folder, or a `file:` URL. Its format is detected. Of a node
    /// that is no folder (the draft of v3), and of one that only its container explains, the folders above are asked.
    ///
    /// # Errors
    /// No group is there; its documents are invalid.
    #[cfg(feature = "fs")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        let options = OpenOptions { wanted: Wanted::Group, ..OpenOptions::default() };
        let (storage, node) = nodes::open_path(path.as_ref(), &options)?;
        Self::new(storage, node, options.consolidated)
    }

    /// Opens the group at a path of a store; the empty path is its root. Its format is detected.
    ///
    /// # Errors
    /// No group is there; its documents are invalid.
    pub fn open_in(storage: impl Into<Storage>, path: &str) -> Result<Self> {
        Self::open_with(storage, path, &OpenOptions::default())
    }

    /// As [`open_in`](Self::open_in), with options.
    ///
    /// # Errors
    /// As [`open_in`](Self::open_in).
    pub fn open_with(storage: impl Into<Storage>, path: &str, options: &OpenOptions) -> Result<Self> {
        let storage = storage.into();
        let options = OpenOptions { wanted: Wanted::Group, ..options.clone() };
        let node = storage.wait(nodes::open(&storage, path, &options))?;
        let group = Self::new(storage, node, options.consolidated)?;
        if options.consolidated == ConsolidatedUse::Require {
            group.storage.wait(group.view.get())?;
        }
        Ok(group)
    }

    fn new(storage: Storage, node: Node, uses: ConsolidatedUse) -> Result<Self> {
        let view = Arc::new(View::new(&storage, &node, uses));
        Self::seen_through(storage, node, view)
    }

    fn seen_through(storage: Storage, mut node: Node, view: Arc<View>) -> Result<Self> {
        // The view knows, and learns of changes.
        node.context.consolidated_in = None;
        match node.kind {
            NodeKind::Group | NodeKind::ImplicitGroup => Ok(Self {
                storage,
                node: node.into(),
                options: RunOptions::default(),
                registry: CodecRegistry::new(),
                view,
            }),
            NodeKind::Array(_) => Err(nodes::not_a("a group", &node, &storage)),
        }
    }

    /// Creates a group at a path of a store, and those above it that the format asks for.
    ///
    /// # Errors
    /// Something is there already; an ancestor is an array; the name is not allowed; the store.
    pub fn create(storage: impl Into<Storage>, path: &str, format: Format) -> Result<Self> {
        Self::create_with(storage, path, &Attributes::new(), &CreateOptions::new(format))
    }

    /// As [`create`](Self::create), with attributes and options.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_with(
        storage: impl Into<Storage>,
        path: &str,
        attributes: &Attributes,
        options: &CreateOptions,
    ) -> Result<Self> {
        let storage = storage.into();
        let path = NodePath::new(path)?;
        let conclude = |known: &Known| ndzarr_metadata::create_group(&path, attributes, known, options);
        storage.wait::<_, Error>(async {
            let creation = storage.conclude(&mut Known::new(), &options.limits, conclude).await?;
            storage.create(&creation, options.concurrent_update).await?;
            let mut group = Self::new(storage.clone(), creation.node, ConsolidatedUse::Use)?;
            group.options.concurrent_update = options.concurrent_update;
            Ok(group)
        })
    }

    /// The same group: its attributes are changed, and what is opened through it is read and written, with these options.
    ///
    /// ```
    /// use ndzarr_array::{ConcurrentUpdate, Format, Group, RunOptions};
    /// use ndzarr_store::MemoryStore;
    /// use serde_json::json;
    ///
    /// // For stores in which writers cannot take turns:
    /// let concurrent_update = ConcurrentUpdate::LastWriterWins;
    /// let mut group = Group::create(&MemoryStore::new(), "", Format::Zarr3)?
    ///     .with_options(RunOptions { concurrent_update, ..RunOptions::default() });
    /// group.merge_attributes(json!({"a": 1}))?;
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    #[must_use]
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.options = options;
        self
    }

    /// Codecs of the caller's own: arrays that are opened or created through the group, and through groups below it, know
    /// them.
    #[must_use]
    pub fn with_registry(mut self, registry: CodecRegistry) -> Self {
        self.registry = registry;
        self
    }

    /// Data types and chunk grids of the caller's own: arrays that are opened through the group, and through groups below it,
    /// may have them. A group that is opened with [`OpenOptions::extensions`] has them already.
    #[must_use]
    pub fn with_extensions(mut self, extensions: Extensions) -> Self {
        self.view = Arc::new(self.view.with_extensions(&extensions));
        Arc::make_mut(&mut self.node).context.extensions = extensions;
        self
    }

    /// The user's attributes.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        &self.node.attributes
    }

    /// Sets attributes and leaves the others, as if no other writer came between.
    ///
    /// # Errors
    /// `attributes` is no JSON object; writers cannot take turns in the store, and the [options](Self::with_options) do
    /// not say [`LastWriterWins`](crate::ConcurrentUpdate::LastWriterWins); the store.
    pub fn merge_attributes(&mut self, attributes: Value) -> Result<()> {
        self.change_attributes(&AttributeChange::Merge(object(attributes)?))
    }

    /// Sets attributes and removes all others.
    ///
    /// # Errors
    /// `attributes` is no JSON object; the store.
    pub fn replace_attributes(&mut self, attributes: Value) -> Result<()> {
        self.change_attributes(&AttributeChange::Replace(object(attributes)?))
    }

    /// Changes attributes in any way.
    ///
    /// # Errors
    /// The change has no meaning in the group's format; the store.
    pub fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let policy = self.options.concurrent_update;
        let mut node = self.storage.wait(nodes::change(&self.storage, &self.node, change, policy))?;
        node.context.consolidated_in = None;
        self.node = node.into();
        self.view.changed();
        Ok(())
    }

    /// Collects the documents of the group and of all nodes below it, and keeps copies of them with the group, for readers
    /// to find all of them in one (Zarr v2: `.zmetadata`; Zarr v3: in the group's own `zarr.json`, as zarr-python does). They
    /// are the real documents, never the copies of an older one.
    ///
    /// What this library changes later is changed in the copies, too.
    ///
    /// # Errors
    /// The draft and N5; the store cannot list; a group's document is invalid; the store.
    ///
    /// ```
    /// use ndzarr_array::{Array, Format, Group};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let store = MemoryStore::new();
    /// let mut root = Group::create(&store, "", Format::Zarr2)?;
    /// root.create_group("run-1")?.create_array("signal", Array::<f32>::builder([100]))?;
    /// root.consolidate()?;
    /// assert!(store.get(".zmetadata").is_some());
    ///
    /// // From now on listing and opening through the group reads nothing more.
    /// let root = Group::open_in(&store, "")?;
    /// assert_eq!(root.walk()?.len(), 2);
    /// // What is new is there, too.
    /// root.create_group("run-2")?;
    /// assert_eq!(root.walk()?.len(), 3);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn consolidate(&mut self) -> Result<()> {
        let storage = self.storage.clone();
        storage.wait(async {
            consolidated::make(&self.storage, &self.node, self.options.concurrent_update).await?;
            // Of Zarr v3 the group's document is another one now.
            let options = OpenOptions { wanted: Wanted::Group, ..consolidated::options(&self.node) };
            let node = nodes::open_at(&self.storage, &self.node.path, &options).await?;
            self.view.changed();
            self.view = Arc::new(View::new(&self.storage, &node, ConsolidatedUse::Use));
            self.node = node.into();
            Ok::<_, Error>(())
        })
    }

    /// Its children in the order of their names. Where the format says so only there, one document is read for each; to
    /// open many of them, [`children`](Self::children) reads them once. With consolidated metadata they are those that are
    /// in these, see [`ConsolidatedUse`].
    ///
    /// # Errors
    /// The store cannot list; the document of a child that has to be read is invalid.
    pub fn members(&self) -> Result<Vec<Member>> {
        let mut members = self.storage.wait(async {
            match self.view.get().await? {
                Some(consolidated) => self.in_store(consolidated.members(&self.node)),
                None => {
                    nodes::members(&self.storage, &self.node, &mut Known::new(), self.options.threads).await
                }
            }
        })?;
        members.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(members)
    }

    /// Every node below it, by path from the group, as [`array`](Self::array), [`group`](Self::group) and
    /// [`erase`](Self::erase) take it, parents before children. Of several symbolic links to one group each is a node, and
    /// one of them has the nodes below that group.
    ///
    /// # Errors
    /// As [`members`](Self::members).
    pub fn walk(&self) -> Result<Vec<(String, MemberKind)>> {
        let (mut found, mut entered) = (Vec::new(), Entered::of(self)?);
        let mut pending = VecDeque::from([self.clone()]);
        while let Some(group) = pending.pop_front() {
            for member in group.members()? {
                let path = group.node.path.child(&member.name)?;
                if member.kind == MemberKind::Group {
                    pending.extend(entered.if_new(group.child_group(&path)?)?);
                }
                found.push((path.as_str()[self.node.path.prefix().len()..].to_owned(), member.kind));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// The array of this name or relative path.
    ///
    /// # Errors
    /// As [`Array::open_in`].
    pub fn array<T: Element>(&self, name: &str) -> Result<Array<T>> {
        self.any_array(name)?.typed()
    }

    /// The array of this name or relative path, whatever its elements are.
    ///
    /// # Errors
    /// As [`AnyArray::open_in`].
    pub fn any_array(&self, name: &str) -> Result<AnyArray> {
        let path = NodePath::new(&self.below(name))?;
        self.array_of(self.storage.wait(self.open_node(&path, Wanted::Array))?, None)
    }

    fn array_of(&self, mut node: Node, alike: Option<&Core>) -> Result<AnyArray> {
        node.context.consolidated_in = None;
        let mut core = Core::new_beside(self.storage.clone(), node, &self.registry, alike)?;
        core.view = Some(Arc::clone(&self.view));
        Ok(AnyArray::from_core(core).with_options(self.options.clone()))
    }

    /// A node below it, from the consolidated metadata where there are such.
    async fn open_node(&self, path: &NodePath, wanted: Wanted) -> Result<Node> {
        let options = self.view.options(wanted);
        match self.view.get().await? {
            Some(consolidated) => self.in_store(consolidated.open(path, &options)),
            None => nodes::open_at(&self.storage, path, &options).await,
        }
    }

    fn in_store<T>(&self, result: Result<T, MetadataError>) -> Result<T> {
        result.map_err(|error| Error::from(error).in_store(|| self.storage.name()))
    }

    /// The group of this name or relative path.
    ///
    /// # Errors
    /// As [`open_in`](Self::open_in).
    pub fn group(&self, name: &str) -> Result<Self> {
        self.child_group(&NodePath::new(&self.below(name))?)
    }

    fn child_group(&self, path: &NodePath) -> Result<Self> {
        self.group_of(self.storage.wait(self.open_node(path, Wanted::Group))?)
    }

    /// What a group below it is worked on with, too.
    fn hand_on(&self, group: Self) -> Self {
        group.with_options(self.options.clone()).with_registry(self.registry.clone())
    }

    /// The format of its documents.
    #[must_use]
    pub fn format(&self) -> Format {
        self.node.format
    }

    /// Its path from the root of the store, without a leading `/`; empty for the root.
    #[must_use]
    pub fn path(&self) -> &str {
        self.node.path.as_str()
    }

    /// The store that it is in.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// What was noticed when it was opened and is no error.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.node.warnings
    }

    fn below(&self, name: &str) -> String {
        format!("{}{name}", self.node.path.prefix())
    }
}

impl AnyNode {
    /// Its path from the root of the store, without a leading `/`; empty for the root.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Array(array) => array.path(),
            Self::Group(group) => group.path(),
        }
    }

    /// Opens whatever is at a path of a store.
    ///
    /// # Errors
    /// Nothing is there; its documents are invalid or ask for what is not supported.
    pub fn open_in(storage: impl Into<Storage>, path: &str, options: &OpenOptions) -> Result<Self> {
        Self::open_with(storage, path, options, &CodecRegistry::new())
    }

    /// As [`open_in`](Self::open_in), without blocking where the store does not.
    ///
    /// # Errors
    /// As [`open_in`](Self::open_in).
    pub async fn open_async(storage: impl Into<Storage>, path: &str, options: &OpenOptions) -> Result<Self> {
        Self::open_bound(storage.into(), path, options, &CodecRegistry::new()).await
    }

    /// As [`open_in`](Self::open_in), with codecs of the caller's own, which a group hands on to the arrays below it.
    ///
    /// # Errors
    /// As [`open_in`](Self::open_in).
    pub fn open_with(
        storage: impl Into<Storage>,
        path: &str,
        options: &OpenOptions,
        registry: &CodecRegistry,
    ) -> Result<Self> {
        let storage = storage.into();
        storage.wait(Self::open_bound(storage.clone(), path, options, registry))
    }

    async fn open_bound(
        storage: Storage,
        path: &str,
        options: &OpenOptions,
        registry: &CodecRegistry,
    ) -> Result<Self> {
        let node = nodes::open(&storage, path, options).await?;
        match node.kind {
            NodeKind::Array(_) => Ok(Self::Array(AnyArray::from_core(Core::new(storage, node, registry)?))),
            NodeKind::Group | NodeKind::ImplicitGroup => {
                let group = Group::new(storage, node, options.consolidated)?.with_registry(registry.clone());
                if options.consolidated == ConsolidatedUse::Require {
                    group.view.get().await?;
                }
                Ok(Self::Group(group))
            }
        }
    }
}

/// The members of a JSON object.
pub(crate) fn object(value: Value) -> Result<Attributes> {
    match value {
        Value::Object(attributes) => Ok(attributes),
        other => {
            Err(Error::new(ErrorKind::InvalidArgument, format!("attributes are a JSON object, not {other}")))
        }
    }
}
