//! Opens the children of a group and walks the hierarchy below it.

use std::collections::HashSet;
use std::slice;

use ndzarr_metadata::MemberKind;

use crate::any_array::AnyArray;
use crate::array::Array;
use crate::error::{Error, Result};
use crate::group::level::children_of;
use crate::group::{AnyNode, Group};
use crate::{Element, nodes};

/// A child of a group, opened by [`Group::children`].
///
/// What is wrong with it, an unknown codec for instance, is an error when it is taken out, and none for the others.
#[derive(Debug)]
pub struct Child {
    pub(super) path: String,
    pub(super) kind: MemberKind,
    /// There may be many, which are moved and sorted.
    pub(super) node: Result<Box<AnyNode>>,
}

impl Child {
    /// Its name in the group.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Its path from the group that was asked, as [`Group::array`], [`Group::group`] and [`Group::erase`] take it. The node
    /// knows the one from the root of the store ([`AnyNode::path`]).
    #[must_use]
    pub fn path(&self) -> String {
        self.path.clone()
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> MemberKind {
        self.kind
    }

    /// The array or group.
    ///
    /// # Errors
    /// Its documents are invalid or ask for what is not supported.
    pub fn open(self) -> Result<AnyNode> {
        self.node.map(|node| *node)
    }

    /// The array that it is.
    ///
    /// # Errors
    /// As [`open`](Self::open); it is a group; its elements are of another type.
    pub fn array<T: Element>(self) -> Result<Array<T>> {
        self.any_array()?.typed()
    }

    /// The array that it is, whatever its elements are.
    ///
    /// # Errors
    /// As [`open`](Self::open); it is a group.
    pub fn any_array(self) -> Result<AnyArray> {
        match *self.node? {
            AnyNode::Array(array) => Ok(array),
            AnyNode::Group(group) => Err(nodes::not_a("an array", &group.node, &group.storage)),
        }
    }

    /// The group that it is.
    ///
    /// # Errors
    /// As [`open`](Self::open); it is an array.
    pub fn group(self) -> Result<Group> {
        match *self.node? {
            AnyNode::Group(group) => Ok(group),
            AnyNode::Array(array) => Err(nodes::not_a("a group", &array.core.node, &array.core.storage)),
        }
    }
}

/// The places behind symbolic links that a walk has entered, each of them once.
pub(super) struct Entered(HashSet<(u64, u64)>);

impl Entered {
    /// A walk that begins at a group.
    pub(super) fn of(group: &Group) -> Result<Self> {
        let mut entered = Self(HashSet::new());
        entered.if_new(group.clone())?;
        Ok(entered)
    }

    /// The group, unless the walk has been there and did not come by the way without links this time.
    pub(super) fn if_new(&mut self, group: Group) -> Result<Option<Group>> {
        let is_new = group.storage.place(&group.node)?.is_none_or(|place| self.0.insert(place));
        Ok(is_new.then_some(group))
    }
}

impl Group {
    /// Its children, opened, in the order of their names: as [`members`](Self::members) and then
    /// [`any_array`](Self::any_array) or [`group`](Self::group) for each, but no document is read twice, and several threads
    /// are at it, as many as the [options](Self::with_options) allow. They are what they were at this moment.
    ///
    /// # Errors
    /// As [`members`](Self::members). A child that cannot be opened is an error of that child alone.
    ///
    /// ```
    /// use ndzarr_array::{Array, Format, Group, MemberKind};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let root = Group::create(&MemoryStore::new(), "", Format::Zarr3)?;
    /// root.create_array("a", Array::<f32>::builder([10]))?;
    /// root.create_group("b")?;
    ///
    /// let mut found = Vec::new();
    /// for child in root.children()? {
    ///     found.push(match child.kind() {
    ///         MemberKind::Array => format!("{} of shape {:?}", child.path(), child.any_array()?.shape()),
    ///         MemberKind::Group => format!("{}/", child.path()),
    ///     });
    /// }
    /// assert_eq!(found, ["a of shape [10]", "b/"]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn children(&self) -> Result<Vec<Child>> {
        let children =
            self.storage.wait(async { Ok::<_, Error>(children_of(slice::from_ref(self)).await) })?;
        let mut children = children.into_iter().next().unwrap_or_else(|| Ok(Vec::new()))?;
        children.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(self.relative(children))
    }

    /// Every node below it, opened, by path from the group, parents before children: as [`walk`](Self::walk) with
    /// [`children`](Self::children) for every group, in as few rounds as the hierarchy is deep.
    ///
    /// # Errors
    /// A group cannot be listed. A node that cannot be opened is an error of that node alone; what is below a group that
    /// cannot be opened is left out.
    ///
    /// ```
    /// use ndzarr_array::{Array, Format, Group};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let root = Group::create(&MemoryStore::new(), "", Format::Zarr2)?;
    /// let scan = root.create_group("scan")?;
    /// scan.create_array("0", Array::<u16>::builder([64, 64]))?;
    /// scan.create_array("1", Array::<u16>::builder([32, 32]))?;
    ///
    /// let paths: Vec<String> = root.descendants()?.iter().map(|node| node.path()).collect();
    /// assert_eq!(paths, ["scan", "scan/0", "scan/1"]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn descendants(&self) -> Result<Vec<Child>> {
        let (mut found, mut entered) = (Vec::new(), Entered::of(self)?);
        let mut level = vec![self.clone()];
        while !level.is_empty() {
            let below = self.storage.wait(async { Ok::<_, Error>(children_of(&level).await) })?;
            level.clear();
            for children in below {
                let children = children?;
                found.reserve(children.len());
                for child in children {
                    if let Ok(AnyNode::Group(group)) = child.node.as_deref() {
                        level.extend(entered.if_new(group.clone())?);
                    }
                    found.push(child);
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(self.relative(found))
    }

    /// With paths that begin at the group.
    fn relative(&self, mut found: Vec<Child>) -> Vec<Child> {
        let prefix = self.node.path.prefix();
        found.iter_mut().filter(|child| child.path.starts_with(&prefix)).for_each(|child| {
            child.path.drain(..prefix.len());
        });
        found
    }
}
