//! `GroupIn`: a group in a store. `Group` has blocking calls, `asynchronous::Group` futures.

mod children;
mod document;

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use ndzarr_engine::RunOptions;
use ndzarr_metadata::Format;

use crate::creating::group_builder::GroupBuilder;
use crate::error::Result;
use crate::hierarchy::group_info::GroupInfo;
use crate::mode::{Asynchronous, Blocking, Mode};
use crate::places::place::Place;

/// A group of arrays and groups in a store. Its calls block if `M` is [`Blocking`], as those of
/// [`Group`], and are futures if it is [`Asynchronous`], as those of
/// [`asynchronous::Group`](crate::asynchronous::Group).
#[derive(Clone)]
pub struct GroupIn<M> {
    pub(crate) info: GroupInfo,
    mode: PhantomData<M>,
}

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
pub type Group = GroupIn<Blocking>;

impl<M> fmt::Debug for GroupIn<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.info, f)
    }
}

impl<M> From<GroupInfo> for GroupIn<M> {
    fn from(info: GroupInfo) -> Self {
        Self {
            info,
            mode: PhantomData,
        }
    }
}

impl<M> Deref for GroupIn<M> {
    type Target = GroupInfo;

    fn deref(&self) -> &GroupInfo {
        &self.info
    }
}

/// The group with asynchronous calls.
impl From<GroupIn<Blocking>> for GroupIn<Asynchronous> {
    fn from(group: GroupIn<Blocking>) -> Self {
        group.info.into()
    }
}

/// The group with blocking calls.
impl From<GroupIn<Asynchronous>> for GroupIn<Blocking> {
    fn from(group: GroupIn<Asynchronous>) -> Self {
        group.info.into()
    }
}

impl<M: Mode> GroupIn<M> {
    /// Describes a new group.
    pub fn builder() -> GroupBuilder<M> {
        GroupBuilder::new()
    }

    /// The group with options: changes of its attributes, and calls of nodes opened through it, use
    /// these options.
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
        self.info.options = options;
        self
    }
}

impl GroupIn<Blocking> {
    /// Creates a group in a format, and the groups above it that the format requires.
    /// [`builder`](Self::builder) has more settings.
    ///
    /// # Errors
    /// There is something at the place already; an ancestor is an array; the name is not allowed;
    /// the store fails.
    pub fn create(place: impl Into<Place>, format: Format) -> Result<Self> {
        Self::builder().format(format).create(place)
    }
}

impl GroupIn<Asynchronous> {
    /// Asynchronous [`Group::create`](crate::Group::create).
    ///
    /// # Errors
    /// As for [`Group::create`](crate::Group::create).
    pub async fn create(place: impl Into<Place>, format: Format) -> Result<Self> {
        Self::builder().format(format).create(place).await
    }
}
