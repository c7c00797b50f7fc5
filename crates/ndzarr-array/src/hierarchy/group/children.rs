//! The calls of groups that find, open, create and remove the nodes below them.

use super::GroupIn;
use crate::arrays::array::ArrayIn;
use crate::creating::builder::ArrayBuilder;
use crate::element_types::element_type::ElementType;
use crate::error::Result;
use crate::hierarchy::group_info::GroupInfo;
use crate::hierarchy::node::Child;
use crate::mode::{Asynchronous, Blocking};

impl GroupIn<Blocking> {
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
        let children = self.info.wait(self.info.children())?;
        Ok(children.into_iter().map(Child::new).collect())
    }

    /// Opens every node below it, by path from the group, parents before children: the
    /// [`children`](Self::children) of every group, with one round of requests for each level of
    /// the hierarchy. If several symbolic links lead to one group, each is a node, and only one of
    /// them has the nodes below that group.
    ///
    /// # Errors
    /// This group cannot be listed. A node that cannot be opened, or a group below that cannot be
    /// listed, does not fail the call: the error is in that node, which has no kind, and what is
    /// below it is left out.
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
        let found = self.info.wait(self.info.walk())?;
        Ok(found.into_iter().map(Child::new).collect())
    }

    /// Opens the array of this name or relative path.
    ///
    /// # Errors
    /// As for [`Array::open`](crate::Array::open).
    pub fn array<E: ElementType>(&self, name: &str) -> Result<ArrayIn<E, Blocking>> {
        let info = self.info.wait(self.info.array(name))?;
        E::check_stored(&info)?;
        Ok(info.into())
    }

    /// Opens the group of this name or relative path.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn group(&self, name: &str) -> Result<Self> {
        self.info.wait(self.info.group(name)).map(Self::from)
    }

    /// Creates an array below this group, in the group's format. With
    /// [`or_open`](ArrayBuilder::or_open), one that exists is opened.
    ///
    /// # Errors
    /// As for [`ArrayBuilder::create`].
    pub fn create_array<E: ElementType>(
        &self,
        name: &str,
        array: ArrayBuilder<E>,
    ) -> Result<ArrayIn<E, Blocking>> {
        self.info
            .wait_change(self.info.create_array(name, array))
            .map(ArrayIn::from)
    }

    /// Creates a group below this group, in the group's format.
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    pub fn create_group(&self, name: &str) -> Result<Self> {
        self.info
            .wait_change(self.info.create_group(name))
            .map(Self::from)
    }

    /// Returns `true` if an array or a group of this name or relative path exists. Opening it can
    /// still fail, if it is of another kind or needs what this build lacks.
    ///
    /// # Errors
    /// The metadata there is invalid; the store fails.
    pub fn contains(&self, name: &str) -> Result<bool> {
        self.info.wait(self.info.contains(name))
    }

    /// Removes a node below this group with everything below it, documents first. A symbolic link
    /// is removed, its target stays.
    ///
    /// # Errors
    /// The name is empty; nothing exists there; [files that do not belong to the
    /// node](crate::Contents::foreign) lie below it, and the [options](Self::with_options) do not
    /// [force](crate::RunOptions::force) their removal; the store fails.
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
        self.info.wait_change(self.info.erase(name))
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
        self.info
            .wait_change(self.info.erase_at(&self.info.node.path))
    }
}

impl GroupIn<Asynchronous> {
    /// Asynchronous [`Group::children`](crate::Group::children).
    ///
    /// # Errors
    /// As for [`Group::children`](crate::Group::children).
    pub async fn children(&self) -> Result<Vec<Child<Asynchronous>>> {
        let children = self
            .info
            .on_pool(|group| async move { group.children().await })
            .await?;
        Ok(children.into_iter().map(Child::new).collect())
    }

    /// Asynchronous [`Group::walk`](crate::Group::walk).
    ///
    /// # Errors
    /// As for [`Group::walk`](crate::Group::walk).
    pub async fn walk(&self) -> Result<Vec<Child<Asynchronous>>> {
        let found = self
            .info
            .on_pool(|group| async move { group.walk().await })
            .await?;
        Ok(found.into_iter().map(Child::new).collect())
    }

    /// Asynchronous [`Group::array`](crate::Group::array).
    ///
    /// # Errors
    /// As for [`Group::array`](crate::Group::array).
    pub async fn array<E: ElementType>(&self, name: &str) -> Result<ArrayIn<E, Asynchronous>> {
        let name = name.to_owned();
        let info = self
            .info
            .on_pool(|group| async move { group.array(&name).await })
            .await?;
        E::check_stored(&info)?;
        Ok(info.into())
    }

    /// Asynchronous [`Group::group`](crate::Group::group).
    ///
    /// # Errors
    /// As for [`Group::group`](crate::Group::group).
    pub async fn group(&self, name: &str) -> Result<Self> {
        let name = name.to_owned();
        self.info
            .on_pool(|group| async move { group.group(&name).await })
            .await
            .map(Self::from)
    }

    /// Asynchronous [`Group::create_array`](crate::Group::create_array).
    ///
    /// # Errors
    /// As for [`Group::create_array`](crate::Group::create_array).
    pub async fn create_array<E: ElementType>(
        &self,
        name: &str,
        array: ArrayBuilder<E, Asynchronous>,
    ) -> Result<ArrayIn<E, Asynchronous>> {
        let name = name.to_owned();
        let call = |group: GroupInfo| async move { group.create_array(&name, array).await };
        self.info.on_change_thread(call).await.map(ArrayIn::from)
    }

    /// Asynchronous [`Group::create_group`](crate::Group::create_group).
    ///
    /// # Errors
    /// As for [`Group::create_group`](crate::Group::create_group).
    pub async fn create_group(&self, name: &str) -> Result<Self> {
        let name = name.to_owned();
        let call = |group: GroupInfo| async move { group.create_group(&name).await };
        self.info.on_change_thread(call).await.map(Self::from)
    }

    /// Asynchronous [`Group::contains`](crate::Group::contains).
    ///
    /// # Errors
    /// As for [`Group::contains`](crate::Group::contains).
    pub async fn contains(&self, name: &str) -> Result<bool> {
        let name = name.to_owned();
        self.info
            .on_pool(|group| async move { group.contains(&name).await })
            .await
    }

    /// Asynchronous [`Group::erase`](crate::Group::erase).
    ///
    /// # Errors
    /// As for [`Group::erase`](crate::Group::erase).
    pub async fn erase(&self, name: &str) -> Result<()> {
        let name = name.to_owned();
        self.info
            .on_change_thread(|group| async move { group.erase(&name).await })
            .await
    }

    /// Asynchronous [`Group::erase_self`](crate::Group::erase_self).
    ///
    /// # Errors
    /// As for [`Group::erase_self`](crate::Group::erase_self).
    pub async fn erase_self(self) -> Result<()> {
        self.info
            .on_change_thread(|group| async move { group.erase_at(&group.node.path).await })
            .await
    }
}
