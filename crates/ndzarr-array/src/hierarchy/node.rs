//! `AnyNode` and `Child`: nodes that may be arrays or groups.

use std::fmt;
use std::marker::PhantomData;

use ndzarr_metadata::MemberKind;

use crate::arrays::array::ArrayIn;
use crate::element_types::element_type::{Any, ElementType};
use crate::error::Result;
use crate::hierarchy::contents::Contents;
use crate::hierarchy::find_node;
use crate::hierarchy::group::GroupIn;
use crate::hierarchy::group_info::{FoundChild, FoundNode};
use crate::mode::{Asynchronous, Blocking, Mode};

/// An array or a group.
// Nodes are usually taken apart right after opening, seldom kept.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug)]
pub enum AnyNode<M: Mode> {
    /// An array.
    Array(ArrayIn<Any, M>),
    /// A group.
    Group(GroupIn<M>),
}

impl<M: Mode> From<FoundNode> for AnyNode<M> {
    fn from(node: FoundNode) -> Self {
        match node {
            FoundNode::Array(array) => Self::Array(array.into()),
            FoundNode::Group(group) => Self::Group(group.into()),
        }
    }
}

impl<M: Mode> AnyNode<M> {
    /// Its path from the root of the store, without a leading `/`; empty for the root.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Array(array) => array.path(),
            Self::Group(group) => group.path(),
        }
    }
}

impl AnyNode<Blocking> {
    /// Removes the node with everything below it, documents first.
    ///
    /// # Errors
    /// The node no longer exists; [files that do not belong to it](Contents::foreign) lie below it,
    /// and the options of the array or group do not [force](RunOptions::force) their removal; the
    /// store fails.
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
            Self::Array(array) => array.info.wait_change(array.info.erase_self()),
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
            Self::Array(array) => array.info.wait(array.info.contents()),
            Self::Group(group) => group.info.wait(group.info.contents()),
        }
    }
}

impl AnyNode<Asynchronous> {
    /// Asynchronous [`AnyNode::erase_self`].
    ///
    /// # Errors
    /// As for [`AnyNode::erase_self`].
    pub async fn erase_self(self) -> Result<()> {
        match self {
            Self::Array(array) => {
                array
                    .info
                    .on_change_thread(|info| async move { info.erase_self().await })
                    .await
            }
            Self::Group(group) => group.erase_self().await,
        }
    }

    /// Asynchronous [`AnyNode::contents`].
    ///
    /// # Errors
    /// As for [`AnyNode::contents`].
    pub async fn contents(&self) -> Result<Contents> {
        match self {
            Self::Array(array) => {
                array
                    .info
                    .on_pool(|info| async move { info.contents().await })
                    .await
            }
            Self::Group(group) => {
                group
                    .info
                    .on_pool(|group| async move { group.contents().await })
                    .await
            }
        }
    }
}

/// A child of a group, or a node further below, opened by
/// [`Group::children`](crate::Group::children) or
/// [`Group::walk`](crate::Group::walk).
///
/// If it is invalid, because of an unknown codec for example, taking it out returns the error; its
/// siblings are not affected.
pub struct Child<M: Mode = Blocking> {
    info: FoundChild,
    mode: PhantomData<M>,
}

impl<M: Mode> fmt::Debug for Child<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Child");
        shown
            .field("path", &self.info.path)
            .field("kind", &self.info.kind);
        if let Err(error) = &self.info.node {
            shown.field("error", error);
        }
        shown.finish_non_exhaustive()
    }
}

impl<M: Mode> Child<M> {
    pub(crate) fn new(info: FoundChild) -> Self {
        Self {
            info,
            mode: PhantomData,
        }
    }

    /// Its name in its parent group.
    #[must_use]
    pub fn name(&self) -> &str {
        self.info.path.rsplit('/').next().unwrap_or_default()
    }

    /// Its path from the group that was searched, in the form that
    /// [`Group::array`](crate::Group::array), [`Group::group`](crate::Group::group) and
    /// [`Group::erase`](crate::Group::erase) accept. The node itself has the path from the root of
    /// the store.
    #[must_use]
    pub fn path(&self) -> String {
        self.info.path.clone()
    }

    /// Its kind. `None` if its document does not show it, as that of a writer that was killed may
    /// not: then taking it out returns the error.
    #[must_use]
    pub fn kind(&self) -> Option<MemberKind> {
        self.info.kind
    }

    /// The array or group.
    ///
    /// # Errors
    /// Its metadata is invalid or requires an unsupported feature.
    pub fn open(self) -> Result<AnyNode<M>> {
        self.info.node.map(|node| (*node).into())
    }

    /// The array, if it is one.
    ///
    /// # Errors
    /// As for [`open`](Self::open); it is a group; its elements are of another type.
    pub fn array<E: ElementType>(self) -> Result<ArrayIn<E, M>> {
        match *self.info.node? {
            FoundNode::Array(array) => {
                E::check_stored(&array)?;
                Ok(array.into())
            }
            FoundNode::Group(group) => {
                Err(find_node::not_a("an array", &group.node, &group.storage))
            }
        }
    }

    /// The group, if it is one.
    ///
    /// # Errors
    /// As for [`open`](Self::open); it is an array.
    pub fn group(self) -> Result<GroupIn<M>> {
        match *self.info.node? {
            FoundNode::Group(group) => Ok(group.into()),
            FoundNode::Array(array) => {
                Err(find_node::not_a("a group", &array.node, &array.storage))
            }
        }
    }
}
