//! `GroupBuilder`: describes a new group and creates it.

mod create;

use std::marker::PhantomData;
use std::sync::Arc;

use ndzarr_codec::CodecRegistry;
use ndzarr_metadata::{
    CreateOptions, Existing, Extensions, Format, Limits, N5Axes, N5GroupDocuments, Node,
    UnknownType,
};
use ndzarr_model::{Attributes, ConcurrentUpdate, Foreign};
use serde_json::Value;

use crate::ArrayInfo;
use crate::error::Result;
use crate::hierarchy::group_info::GroupInfo;
use crate::mode::Blocking;
use crate::operations::attributes;
use crate::places::located::Located;
use crate::storage::Storage;

/// Describes a new group. See [`Group::builder`](crate::Group::builder). The default format is Zarr
/// v3.
///
/// ```
/// use ndzarr::{Format, Group, MemoryStore};
/// use serde_json::json;
///
/// let store = MemoryStore::new();
/// let group = Group::builder().format(Format::Zarr2).attributes(json!({"site": "north"})).create((&store, "g"))?;
/// assert_eq!(group.attributes()["site"], "north");
/// assert_eq!(store.keys(), [".zgroup", "g/.zattrs", "g/.zgroup"]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GroupBuilder<M = Blocking> {
    attributes: Value,
    options: CreateOptions,
    registry: CodecRegistry,
    extensions: Extensions,
    /// What is not replaced.
    made_from: Option<(Storage, Arc<Node>)>,
    mode: PhantomData<M>,
}

impl<M> GroupBuilder<M> {
    pub(crate) fn new() -> Self {
        Self {
            attributes: Value::Null,
            options: CreateOptions::new(Format::Zarr3),
            registry: CodecRegistry::new(),
            extensions: Extensions::default(),
            made_from: None,
            mode: PhantomData,
        }
    }

    /// The format to write. Default: Zarr v3.
    #[must_use]
    pub fn format(mut self, format: Format) -> Self {
        self.options.format = format;
        self
    }

    /// The user's attributes, a JSON object.
    #[must_use]
    pub fn attributes(mut self, attributes: Value) -> Self {
        self.attributes = attributes;
        self
    }

    /// N5: which dimension of a document is axis 0 of the arrays created in the group.
    #[must_use]
    pub fn n5_axes(mut self, axes: N5Axes) -> Self {
        self.options.n5_axes = axes;
        self
    }

    /// N5: every group that is created gets a document, as zarr-python 2 needs. Default: only the
    /// root.
    #[must_use]
    pub fn n5_all_group_documents(mut self) -> Self {
        self.options.n5_group_documents = N5GroupDocuments::All;
        self
    }

    /// Limits for metadata documents and decompressed chunks. They also apply to nodes opened or
    /// created through the group.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// Policy for a store that cannot serialize writers. It applies to consolidated metadata above
    /// the group now, and to the group's document later.
    #[must_use]
    pub fn concurrent_update(mut self, concurrent_update: ConcurrentUpdate) -> Self {
        self.options.concurrent_update = concurrent_update;
        self
    }

    /// Replaces an existing node with all nodes below it. What does not belong to them stays, and
    /// is an error unless this is [forced](Self::force). Default: an existing node is an error.
    #[must_use]
    pub fn overwrite(self) -> Self {
        self.existing(Existing::Replace)
    }

    /// With [`overwrite`](Self::overwrite), removes files that do not belong to the replaced node
    /// as well. Default: they are an error, and nothing is removed.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.options.foreign = Foreign::Remove;
        self
    }

    /// Like [`overwrite`](Self::overwrite), or creates the group next to what exists there in
    /// another format.
    #[must_use]
    pub fn existing(mut self, existing: Existing) -> Self {
        self.options.existing = existing;
        self
    }

    /// Does not [replace](Self::overwrite) this array, nor what it is part of, by whatever path it
    /// was opened: `create` is an [`InvalidArgument`](crate::ErrorKind::InvalidArgument) then,
    /// before anything is removed. For a group that is made from the array.
    ///
    /// ```
    /// use ndzarr::{Array, Group, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let array = Array::<u8>::builder([2]).chunks([2]).create((&store, "g/a"))?;
    /// assert!(Group::builder().overwrite().apart_from(&array).create((&store, "g")).is_err());
    /// Group::builder().overwrite().apart_from(&array).create((&store, "g/b"))?;
    /// assert_eq!(array.read(..)?.len(), 2);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn apart_from(mut self, array: &ArrayInfo) -> Self {
        self.made_from = Some((array.storage.clone(), Arc::clone(&array.node)));
        self
    }

    /// Custom codecs, for arrays opened or created through the group and through groups below it.
    #[must_use]
    pub fn codecs(mut self, registry: CodecRegistry) -> Self {
        self.registry = registry;
        self
    }

    /// Custom data types and chunk grids, for arrays opened through the group and through groups
    /// below it.
    #[must_use]
    pub fn extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = extensions;
        self
    }

    pub(crate) async fn make(self, place: Located) -> Result<GroupInfo> {
        let attributes = match self.attributes {
            Value::Null => Attributes::new(),
            attributes => attributes::object(attributes)?,
        };
        let unknown_type = UnknownType::default();
        let made_from = self.made_from.as_ref();
        let options = &self.options;
        GroupInfo::create(
            place,
            &attributes,
            options,
            made_from,
            self.registry,
            self.extensions,
            unknown_type,
        )
        .await
    }
}
