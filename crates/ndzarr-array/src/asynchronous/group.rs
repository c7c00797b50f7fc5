//! `asynchronous::Group`: a group in a store, with asynchronous calls.

use std::fmt;
use std::ops::Deref;

use ndzarr_engine::{Part, RunOptions};
use ndzarr_metadata::{AttributeChange, Format};
use serde_core::Serialize;
use serde_core::de::DeserializeOwned;
use serde_json::Value;

use crate::asynchronous::array::Array;
use crate::builder::ArrayBuilder;
use crate::contents::Contents;
use crate::core::Core;
use crate::element_type::ElementType;
use crate::error::Result;
use crate::group_builder::GroupBuilder;
use crate::group_core::GroupCore;
use crate::mode::{Asynchronous, Mode};
use crate::node::{AnyNode, Child};
use crate::open_options::OpenOptions;
use crate::place::Place;

/// A group of arrays and groups in a store, with the calls of [`Group`](crate::Group) as futures.
/// Cheap to clone.
#[derive(Clone)]
pub struct Group {
    pub(crate) core: GroupCore,
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.core, f)
    }
}

impl Mode for Asynchronous {
    type Array<E: ElementType> = Array<E>;
    type Group = Group;

    async fn write(array: &Core, parts: &[Part<'_>]) -> Result<()> {
        array.write_async(parts).await
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

/// The same group, with asynchronous calls.
impl From<crate::Group> for Group {
    fn from(group: crate::Group) -> Self {
        group.core.into()
    }
}

/// The same group, with blocking calls.
impl From<Group> for crate::Group {
    fn from(group: Group) -> Self {
        group.core.into()
    }
}

impl OpenOptions<Asynchronous> {
    /// Opens an array.
    ///
    /// # Errors
    /// The same as for [`Array::open`](crate::Array::open).
    pub async fn open_array<E: ElementType>(&self, place: impl Into<Place>) -> Result<Array<E>> {
        let (options, place) = (self.clone(), place.into().located().await?);
        let storage = place.storage.clone();
        let core = storage.handed(|| async move { options.array(place).await }).await?;
        core.named(E::check_stored(core.data_type()))?;
        Ok(core.into())
    }

    /// Opens a group.
    ///
    /// # Errors
    /// The same as for [`Group::open`](crate::Group::open).
    pub async fn open_group(&self, place: impl Into<Place>) -> Result<Group> {
        let (options, place) = (self.clone(), place.into().located().await?);
        let storage = place.storage.clone();
        storage.handed(|| async move { options.group(place).await }).await.map(Group::from)
    }

    /// Opens the array or group at a place.
    ///
    /// # Errors
    /// The same as for [`AnyNode::open`].
    pub async fn open_node(&self, place: impl Into<Place>) -> Result<AnyNode<Asynchronous>> {
        let (options, place) = (self.clone(), place.into().located().await?);
        let storage = place.storage.clone();
        storage.handed(|| async move { options.node(place).await }).await.map(AnyNode::from)
    }
}

impl<E: ElementType> ArrayBuilder<E, Asynchronous> {
    /// Like [`ArrayBuilder::create`].
    ///
    /// # Errors
    /// The same as for [`ArrayBuilder::create`].
    pub async fn create(self, place: impl Into<Place>) -> Result<Array<E>> {
        let place = place.into().located().await?;
        let storage = place.storage.clone();
        storage.handed_change(|| async move { self.make(place).await }).await.map(Array::from)
    }
}

impl GroupBuilder<Asynchronous> {
    /// Like [`GroupBuilder::create`].
    ///
    /// # Errors
    /// The same as for [`GroupBuilder::create`].
    pub async fn create(self, place: impl Into<Place>) -> Result<Group> {
        let place = place.into().located().await?;
        let storage = place.storage.clone();
        storage.handed_change(|| async move { self.make(place).await }).await.map(Group::from)
    }
}

impl AnyNode<Asynchronous> {
    /// Its path from the root of the store, without a leading `/`; empty for the root.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Array(array) => array.path(),
            Self::Group(group) => group.path(),
        }
    }

    /// Like [`AnyNode::open`].
    ///
    /// # Errors
    /// The same as for [`AnyNode::open`].
    pub async fn open(place: impl Into<Place>) -> Result<Self> {
        OpenOptions::<Asynchronous>::new().open_node(place).await
    }

    /// Like [`AnyNode::erase_self`].
    ///
    /// # Errors
    /// The same as for [`AnyNode::erase_self`].
    pub async fn erase_self(self) -> Result<()> {
        match self {
            Self::Array(array) => {
                array.core.handed_change(|core| async move { core.erase_self().await }).await
            }
            Self::Group(group) => group.erase_self().await,
        }
    }

    /// Like [`AnyNode::contents`].
    ///
    /// # Errors
    /// The same as for [`AnyNode::contents`].
    pub async fn contents(&self) -> Result<Contents> {
        match self {
            Self::Array(array) => array.core.handed(|core| async move { core.contents().await }).await,
            Self::Group(group) => group.core.handed(|group| async move { group.contents().await }).await,
        }
    }
}

impl Group {
    /// Like [`Group::open`](crate::Group::open).
    ///
    /// # Errors
    /// The same as for [`Group::open`](crate::Group::open).
    pub async fn open(place: impl Into<Place>) -> Result<Self> {
        OpenOptions::<Asynchronous>::new().open_group(place).await
    }

    /// Like [`Group::create`](crate::Group::create).
    ///
    /// # Errors
    /// The same as for [`Group::create`](crate::Group::create).
    pub async fn create(place: impl Into<Place>, format: Format) -> Result<Self> {
        Self::builder().format(format).create(place).await
    }

    /// Like [`Group::builder`](crate::Group::builder).
    pub fn builder() -> GroupBuilder<Asynchronous> {
        GroupBuilder::new()
    }

    /// Like [`Group::with_options`](crate::Group::with_options).
    #[must_use]
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.core.options = options;
        self
    }

    /// Like [`Group::merge_attributes`](crate::Group::merge_attributes).
    ///
    /// # Errors
    /// The same as for [`Group::merge_attributes`](crate::Group::merge_attributes).
    pub async fn merge_attributes(&mut self, attributes: Value) -> Result<()> {
        self.change_attributes(&GroupCore::merging(attributes)?).await
    }

    /// Like [`Group::set_attribute`](crate::Group::set_attribute).
    ///
    /// # Errors
    /// The same as for [`Group::set_attribute`](crate::Group::set_attribute).
    pub async fn set_attribute(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        let change = self.core.setting(key, value)?;
        self.change_attributes(&change).await
    }

    /// Like [`Group::update_attribute`](crate::Group::update_attribute).
    ///
    /// # Errors
    /// The same as for [`Group::update_attribute`](crate::Group::update_attribute).
    pub async fn update_attribute<A: DeserializeOwned + Serialize + 'static>(
        &mut self,
        key: &str,
        update: impl FnMut(Option<A>) -> A + Send + 'static,
    ) -> Result<()> {
        let key = key.to_owned();
        let call = |mut core: GroupCore| async move {
            core.update_attribute(&key, update).await?;
            Ok(core)
        };
        self.core = self.core.handed_change(call).await?;
        Ok(())
    }

    /// Like [`Group::change_attributes`](crate::Group::change_attributes).
    ///
    /// # Errors
    /// The same as for [`Group::change_attributes`](crate::Group::change_attributes).
    pub async fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let change = change.clone();
        let call = |mut group: GroupCore| async move {
            group.change_attributes(&change).await?;
            Ok(group)
        };
        self.core = self.core.handed_change(call).await?;
        Ok(())
    }

    /// Like [`Group::consolidate`](crate::Group::consolidate).
    ///
    /// # Errors
    /// The same as for [`Group::consolidate`](crate::Group::consolidate).
    pub async fn consolidate(&mut self) -> Result<()> {
        let call = |mut group: GroupCore| async move {
            group.consolidate().await?;
            Ok(group)
        };
        self.core = self.core.handed_change(call).await?;
        Ok(())
    }

    /// Like [`Group::children`](crate::Group::children).
    ///
    /// # Errors
    /// The same as for [`Group::children`](crate::Group::children).
    pub async fn children(&self) -> Result<Vec<Child<Asynchronous>>> {
        let children = self.core.handed(|group| async move { group.children().await }).await?;
        Ok(children.into_iter().map(Child::new).collect())
    }

    /// Like [`Group::walk`](crate::Group::walk).
    ///
    /// # Errors
    /// The same as for [`Group::walk`](crate::Group::walk).
    pub async fn walk(&self) -> Result<Vec<Child<Asynchronous>>> {
        let found = self.core.handed(|group| async move { group.walk().await }).await?;
        Ok(found.into_iter().map(Child::new).collect())
    }

    /// Like [`Group::array`](crate::Group::array).
    ///
    /// # Errors
    /// The same as for [`Group::array`](crate::Group::array).
    pub async fn array<E: ElementType>(&self, name: &str) -> Result<Array<E>> {
        let name = name.to_owned();
        let core = self.core.handed(|group| async move { group.array(&name).await }).await?;
        core.named(E::check_stored(core.data_type()))?;
        Ok(core.into())
    }

    /// Like [`Group::group`](crate::Group::group).
    ///
    /// # Errors
    /// The same as for [`Group::group`](crate::Group::group).
    pub async fn group(&self, name: &str) -> Result<Self> {
        let name = name.to_owned();
        self.core.handed(|group| async move { group.group(&name).await }).await.map(Self::from)
    }

    /// Like [`Group::create_array`](crate::Group::create_array).
    ///
    /// # Errors
    /// The same as for [`Group::create_array`](crate::Group::create_array).
    pub async fn create_array<E: ElementType>(
        &self,
        name: &str,
        array: ArrayBuilder<E, Asynchronous>,
    ) -> Result<Array<E>> {
        let name = name.to_owned();
        let call = |group: GroupCore| async move { group.create_array(&name, array).await };
        self.core.handed_change(call).await.map(Array::from)
    }

    /// Like [`Group::create_group`](crate::Group::create_group).
    ///
    /// # Errors
    /// The same as for [`Group::create_group`](crate::Group::create_group).
    pub async fn create_group(&self, name: &str) -> Result<Self> {
        let name = name.to_owned();
        let call = |group: GroupCore| async move { group.create_group(&name).await };
        self.core.handed_change(call).await.map(Self::from)
    }

    /// Like [`Group::contains`](crate::Group::contains).
    ///
    /// # Errors
    /// The same as for [`Group::contains`](crate::Group::contains).
    pub async fn contains(&self, name: &str) -> Result<bool> {
        let name = name.to_owned();
        self.core.handed(|group| async move { group.contains(&name).await }).await
    }

    /// Like [`Group::erase`](crate::Group::erase).
    ///
    /// # Errors
    /// The same as for [`Group::erase`](crate::Group::erase).
    pub async fn erase(&self, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.core.handed_change(|group| async move { group.erase(&name).await }).await
    }

    /// Like [`Group::erase_self`](crate::Group::erase_self).
    ///
    /// # Errors
    /// The same as for [`Group::erase_self`](crate::Group::erase_self).
    pub async fn erase_self(self) -> Result<()> {
        self.core.handed_change(|group| async move { group.erase_at(&group.node.path).await }).await
    }
}
