//! `Group`: a group in a store, with blocking calls.

use std::fmt;
use std::ops::Deref;

use ndzarr_engine::{Part, RunOptions};
use ndzarr_metadata::{AttributeChange, Format};
use serde_core::Serialize;
use serde_core::de::DeserializeOwned;
use serde_json::Value;

use crate::array::Array;
use crate::builder::ArrayBuilder;
use crate::contents::Contents;
use crate::core::Core;
use crate::element_type::ElementType;
use crate::error::Result;
use crate::group_builder::GroupBuilder;
use crate::group_core::GroupCore;
use crate::mode::{Blocking, Mode};
use crate::node::{AnyNode, Child};
use crate::open_options::OpenOptions;
use crate::place::Place;

/// A group of arrays and groups in a store. Cheap to clone.
///
/// ```
/// use ndzarr::{Array, Format, Group, MemberKind, MemoryStore};
/// use serde_json::json;
///
/// let store = MemoryStore::new();
/// let mut group = Group::create((&store, "measurements"), Format::Zarr3)?;
/// group.merge_attributes(json!({"site": "north"}))?;
/// group.create_array("temperature", Array::<f32>::builder([10]))?;
///
/// let group = Group::open((&store, "measurements"))?;
/// assert_eq!(group.attributes()["site"], "north");
/// assert_eq!(group.children()?[0].kind(), Some(MemberKind::Array));
/// assert_eq!(group.array::<f32>("temperature")?.shape(), [10]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone)]
pub struct Group {
    pub(crate) core: GroupCore,
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.core, f)
    }
}

impl Mode for Blocking {
    type Array<E: ElementType> = Array<E>;
    type Group = Group;

    async fn write(array: &Core, parts: &[Part<'_>]) -> Result<()> {
        match array.storage.is_blocking() {
            true => array.write(parts),
            false => array.write_async(parts).await,
        }
    }
}

impl From<GroupCore> for Group {
    fn from(core: GroupCore) -> Self {
        Self { core }
    }
}

impl Deref for Group {
    type Target = GroupCore;

    fn deref(&self) -> &GroupCore {
        &self.core
    }
}

impl OpenOptions<Blocking> {
    /// Opens an array.
    ///
    /// # Errors
    /// The same as for [`Array::open`].
    pub fn open_array<E: ElementType>(&self, place: impl Into<Place>) -> Result<Array<E>> {
        let place = place.into().locate()?;
        let core = place.storage.clone().wait(self.array(place))?;
        core.named(E::check_stored(core.data_type()))?;
        Ok(core.into())
    }

    /// Opens a group.
    ///
    /// # Errors
    /// The same as for [`Group::open`].
    pub fn open_group(&self, place: impl Into<Place>) -> Result<Group> {
        let place = place.into().locate()?;
        place.storage.clone().wait(self.group(place)).map(Group::from)
    }

    /// Opens the array or group at a place.
    ///
    /// # Errors
    /// The same as for [`AnyNode::open`].
    pub fn open_node(&self, place: impl Into<Place>) -> Result<AnyNode<Blocking>> {
        let place = place.into().locate()?;
        place.storage.clone().wait(self.node(place)).map(AnyNode::from)
    }
}

impl<E: ElementType> ArrayBuilder<E> {
    /// Creates the array, and the groups above it that the format requires. The array's metadata is
    /// written last, so the array becomes visible all at once.
    ///
    /// # Errors
    /// The format cannot express the array; there is something at the place already; the store
    /// fails.
    pub fn create(self, place: impl Into<Place>) -> Result<Array<E>> {
        let place = place.into().locate()?;
        place.storage.clone().wait_change(None, self.make(place)).map(Array::from)
    }
}

impl GroupBuilder {
    /// Creates the group, and the groups above it that the format requires.
    ///
    /// # Errors
    /// There is something at the place already; an ancestor is an array; the name is not allowed;
    /// the store fails.
    pub fn create(self, place: impl Into<Place>) -> Result<Group> {
        let place = place.into().locate()?;
        place.storage.clone().wait_change(None, self.make(place)).map(Group::from)
    }
}

impl AnyNode<Blocking> {
    /// Its path from the root of the store, without a leading `/`; empty for the root.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Array(array) => array.path(),
            Self::Group(group) => group.path(),
        }
    }

    /// Opens the array or group at a place. [`OpenOptions`](crate::OpenOptions) has more settings.
    ///
    /// # Errors
    /// Nothing is there; its metadata is invalid or requires an unsupported feature.
    pub fn open(place: impl Into<Place>) -> Result<Self> {
        OpenOptions::<Blocking>::new().open_node(place)
    }

    /// Removes the node with everything below it, documents first.
    ///
    /// # Errors
    /// The node no longer exists; [files that do not belong to it](Contents::foreign) lie below it, and
    /// the options of the array or group do not [force](RunOptions::force) their removal; the store fails.
    ///
    /// ```
    /// use ndzarr::{AnyNode, Array, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// Array::<u8>::builder([3]).create((&store, "a"))?.fill(.., 1)?;
    /// AnyNode::open((&store, "a"))?.erase_self()?;
    /// assert!(store.keys().iter().all(|key| !key.starts_with("a/")));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn erase_self(self) -> Result<()> {
        match self {
            Self::Array(array) => array.core.wait_change(array.core.erase_self()),
            Self::Group(group) => group.erase_self(),
        }
    }

    /// Lists what lies below the node, whose removal would remove it.
    ///
    /// # Errors
    /// The node no longer exists; the store fails, or cannot list.
    ///
    /// ```
    /// use ndzarr::{AnyNode, Array, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// Array::<u8>::builder([3]).create((&store, "a"))?.fill(.., 1)?;
    /// store.set("a/stations.csv", "id,name")?;
    /// let contents = AnyNode::open((&store, "a"))?.contents()?;
    /// assert_eq!((contents.n_arrays, contents.n_keys), (1, 3));
    /// assert_eq!(contents.foreign, ["a/stations.csv"]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn contents(&self) -> Result<Contents> {
        match self {
            Self::Array(array) => array.core.storage.wait(array.core.contents()),
            Self::Group(group) => group.core.wait(group.core.contents()),
        }
    }
}

impl Group {
    /// Opens a group and detects its format. [`OpenOptions`](crate::OpenOptions) has more settings.
    ///
    /// # Errors
    /// No group is there; its metadata is invalid.
    pub fn open(place: impl Into<Place>) -> Result<Self> {
        OpenOptions::<Blocking>::new().open_group(place)
    }

    /// Creates a group in a format, and the groups above it that the format requires.
    /// [`builder`](Self::builder) has more settings.
    ///
    /// # Errors
    /// There is something at the place already; an ancestor is an array; the name is not allowed;
    /// the store fails.
    pub fn create(place: impl Into<Place>, format: Format) -> Result<Self> {
        Self::builder().format(format).create(place)
    }

    /// Describes a new group.
    pub fn builder() -> GroupBuilder {
        GroupBuilder::new()
    }

    /// The same group; changes of its attributes, and calls of nodes opened through it, use these
    /// options.
    ///
    /// ```
    /// use ndzarr::{ConcurrentUpdate, Format, Group, MemoryStore, RunOptions};
    /// use serde_json::json;
    ///
    /// // For stores that cannot serialize writers:
    /// let concurrent_update = ConcurrentUpdate::LastWriterWins;
    /// let mut group = Group::create(&MemoryStore::new(), Format::Zarr3)?
    ///     .with_options(RunOptions::default().concurrent_update(concurrent_update));
    /// group.merge_attributes(json!({"a": 1}))?;
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.core.options = options;
        self
    }

    /// Sets attributes and keeps the others, without losing concurrent changes.
    ///
    /// # Errors
    /// `attributes` is not a JSON object; the store cannot serialize writers, and the
    /// [options](Self::with_options) do not say
    /// [`LastWriterWins`](crate::ConcurrentUpdate::LastWriterWins); the store fails.
    pub fn merge_attributes(&mut self, attributes: Value) -> Result<()> {
        self.change_attributes(&GroupCore::merging(attributes)?)
    }

    /// Sets one attribute and keeps the others, without losing concurrent changes. As serde_json
    /// does, it writes NaN and infinities as `null`.
    ///
    /// # Errors
    /// `value` has no form in JSON, or an error of [`merge_attributes`](Self::merge_attributes).
    pub fn set_attribute(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        let change = self.core.setting(key, value)?;
        self.change_attributes(&change)
    }

    /// Replaces one attribute by a function of its current value in the store, which is `None` if
    /// there is none. No other change comes between: in stores with locks, `update` runs under the
    /// lock of the document; in others, it runs again if another writer was faster. So `update` must not
    /// change the same node: that call would wait for ever.
    ///
    /// # Errors
    /// The current value has another form than `A`, or an error of
    /// [`set_attribute`](Self::set_attribute). The attribute then stays as it is.
    ///
    /// ```
    /// use ndzarr::{Format, Group, MemoryStore};
    ///
    /// let mut group = Group::create(MemoryStore::new(), Format::Zarr3)?;
    /// group.set_attribute("runs", &1)?;
    /// group.update_attribute("runs", |runs: Option<u32>| runs.unwrap_or(0) + 1)?;
    /// assert_eq!(group.attribute::<u32>("runs")?, Some(2));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn update_attribute<A: DeserializeOwned + Serialize>(
        &mut self,
        key: &str,
        update: impl FnMut(Option<A>) -> A,
    ) -> Result<()> {
        let (storage, options) = (self.core.storage.clone(), self.core.options.clone());
        storage.wait_change(options.cancel.as_ref(), self.core.update_attribute(key, update))
    }

    /// Applies any change to the attributes.
    ///
    /// # Errors
    /// The group's format cannot express the change; the store fails.
    pub fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let (storage, options) = (self.core.storage.clone(), self.core.options.clone());
        storage.wait_change(options.cancel.as_ref(), self.core.change_attributes(change))
    }

    /// Collects the documents of the group and of all nodes below it, and stores copies of them in
    /// one document of the group, so that readers can get them with one request (Zarr v2:
    /// `.zmetadata`; Zarr v3: in the group's own `zarr.json`, as zarr-python does). The copies are
    /// made from the real documents, never from earlier copies.
    ///
    /// Later changes made with this library update the copies too.
    ///
    /// # Errors
    /// The format is the draft or N5; the store cannot list; a document of the group is invalid;
    /// the store fails.
    ///
    /// ```
    /// use ndzarr::{Array, Format, Group, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut root = Group::create(&store, Format::Zarr2)?;
    /// root.create_group("run-1")?.create_array("signal", Array::<f32>::builder([100]))?;
    /// root.consolidate()?;
    /// assert!(store.get(".zmetadata").is_some());
    ///
    /// // From now on listing and opening through the group reads nothing more.
    /// let root = Group::open(&store)?;
    /// assert_eq!(root.walk()?.len(), 2);
    /// // The copies include the new group too.
    /// root.create_group("run-2")?;
    /// assert_eq!(root.walk()?.len(), 3);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn consolidate(&mut self) -> Result<()> {
        let (storage, options) = (self.core.storage.clone(), self.core.options.clone());
        storage.wait_change(options.cancel.as_ref(), self.core.consolidate())
    }

    /// Opens its children, in the order of their names, as they are now. No document is read twice,
    /// and as many threads as the [options](Self::with_options) allow work on them. If there is
    /// consolidated metadata, the children are those listed in it, see
    /// [`ConsolidatedUse`](crate::ConsolidatedUse).
    ///
    /// # Errors
    /// The store cannot list. A child that cannot be opened does not fail the call; the error is in
    /// that child.
    ///
    /// ```
    /// use ndzarr::{Any, Array, Format, Group, MemberKind, MemoryStore};
    ///
    /// let root = Group::create(&MemoryStore::new(), Format::Zarr3)?;
    /// root.create_array("a", Array::<f32>::builder([10]))?;
    /// root.create_group("b")?;
    ///
    /// let mut found = Vec::new();
    /// for child in root.children()? {
    ///     found.push(match child.kind() {
    ///         Some(MemberKind::Array) => format!("{} of shape {:?}", child.path(), child.array::<Any>()?.shape()),
    ///         Some(MemberKind::Group) => format!("{}/", child.path()),
    ///         None => format!("{} cannot be read", child.path()),
    ///     });
    /// }
    /// assert_eq!(found, ["a of shape [10]", "b/"]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn children(&self) -> Result<Vec<Child>> {
        let children = self.core.wait(self.core.children())?;
        Ok(children.into_iter().map(Child::new).collect())
    }

    /// Opens every node below it, by path from the group, parents before children: the
    /// [`children`](Self::children) of every group, with one round of requests for each level of
    /// the hierarchy. If several symbolic links lead to one group, each is a node, and only one of
    /// them has the nodes below that group.
    ///
    /// # Errors
    /// This group cannot be listed. A node that cannot be opened, or a group below that cannot be
    /// listed, does not fail the call: the error is in that node, which has no kind, and what is below
    /// it is left out.
    ///
    /// ```
    /// use ndzarr::{Array, Format, Group, MemoryStore};
    ///
    /// let root = Group::create(&MemoryStore::new(), Format::Zarr2)?;
    /// let scan = root.create_group("scan")?;
    /// scan.create_array("0", Array::<u16>::builder([64, 64]))?;
    /// scan.create_array("1", Array::<u16>::builder([32, 32]))?;
    ///
    /// let paths: Vec<String> = root.walk()?.iter().map(|node| node.path()).collect();
    /// assert_eq!(paths, ["scan", "scan/0", "scan/1"]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn walk(&self) -> Result<Vec<Child>> {
        let found = self.core.wait(self.core.walk())?;
        Ok(found.into_iter().map(Child::new).collect())
    }

    /// Opens the array of this name or relative path.
    ///
    /// # Errors
    /// The same as for [`Array::open`].
    pub fn array<E: ElementType>(&self, name: &str) -> Result<Array<E>> {
        let core = self.core.wait(self.core.array(name))?;
        core.named(E::check_stored(core.data_type()))?;
        Ok(core.into())
    }

    /// Opens the group of this name or relative path.
    ///
    /// # Errors
    /// The same as for [`open`](Self::open).
    pub fn group(&self, name: &str) -> Result<Self> {
        self.core.wait(self.core.group(name)).map(Self::from)
    }

    /// Creates an array below this group, in the group's format. With
    /// [`or_open`](ArrayBuilder::or_open), one that is there is opened.
    ///
    /// # Errors
    /// The same as for [`ArrayBuilder::create`].
    pub fn create_array<E: ElementType>(&self, name: &str, array: ArrayBuilder<E>) -> Result<Array<E>> {
        self.core.wait_change(self.core.create_array(name, array)).map(Array::from)
    }

    /// Creates a group below this group, in the group's format.
    ///
    /// # Errors
    /// The same as for [`create`](Self::create).
    pub fn create_group(&self, name: &str) -> Result<Self> {
        self.core.wait_change(self.core.create_group(name)).map(Self::from)
    }

    /// Whether there is an array or a group of this name or relative path. Opening what is there can
    /// still fail, if it is of another kind or needs what this build lacks.
    ///
    /// # Errors
    /// The metadata there is invalid; the store fails.
    pub fn contains(&self, name: &str) -> Result<bool> {
        self.core.wait(self.core.contains(name))
    }

    /// Removes a node below this group with everything below it, documents first. A symbolic link
    /// is removed, its target stays.
    ///
    /// # Errors
    /// The name is empty; nothing is there; [files that do not belong to the node](Contents::foreign) lie
    /// below it, and the [options](Self::with_options) do not [force](RunOptions::force) their removal;
    /// the store fails.
    ///
    /// ```
    /// use ndzarr::{Array, ErrorKind, Format, Group, MemoryStore, RunOptions};
    ///
    /// let store = MemoryStore::new();
    /// let root = Group::create(&store, Format::Zarr3)?;
    /// root.create_array("a", Array::<u8>::builder([3]))?;
    /// store.set("a/stations.csv", "id,name")?;
    ///
    /// assert_eq!(root.erase("a").unwrap_err().kind(), ErrorKind::AlreadyExists);
    /// root.with_options(RunOptions::default().force()).erase("a")?;
    /// assert_eq!(store.keys(), ["zarr.json"]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn erase(&self, name: &str) -> Result<()> {
        self.core.wait_change(self.core.erase(name))
    }

    /// Removes the group itself with everything below it, documents first.
    ///
    /// # Errors
    /// The group no longer exists, or an error of [`erase`](Self::erase).
    ///
    /// ```
    /// use ndzarr::{Array, Format, Group, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let root = Group::create(&store, Format::Zarr3)?;
    /// root.create_group("run-1")?.create_array("signal", Array::<f32>::builder([100]))?;
    /// assert!(root.erase("").is_err());
    /// root.group("run-1")?.erase_self()?;
    /// assert_eq!(store.keys(), ["zarr.json"]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn erase_self(self) -> Result<()> {
        self.core.wait_change(self.core.erase_at(&self.core.node.path))
    }
}
