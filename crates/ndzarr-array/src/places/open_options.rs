//! `OpenOptions`: options for opening nodes.

use std::marker::PhantomData;

use ndzarr_codec::CodecRegistry;
use ndzarr_engine::Cache;
use ndzarr_metadata::{
    ConsolidatedUse, Extensions, Format, Known, Limits, N5Axes, N5VersionCheck, Node, NodeKind,
    UnknownType, Wanted,
};

use crate::arrays::info::ArrayInfo;
use crate::error::Result;
use crate::hierarchy::find_node;
use crate::hierarchy::group_info::{FoundNode, GroupInfo};
use crate::mode::{Asynchronous, Blocking};
use crate::places::located::Located;
use crate::storage::Storage;

/// Options for opening an array or a group, in the manner of [`std::fs::OpenOptions`].
#[derive(Clone, Debug, Default)]
pub struct OpenOptions<M> {
    pub(crate) metadata: ndzarr_metadata::OpenOptions,
    pub(crate) registry: CodecRegistry,
    cache: Option<Cache>,
    read_only: bool,
    mode: PhantomData<M>,
}

/// The options for asynchronous calls.
impl From<OpenOptions<Blocking>> for OpenOptions<Asynchronous> {
    fn from(options: OpenOptions<Blocking>) -> Self {
        let OpenOptions {
            metadata,
            registry,
            cache,
            read_only,
            ..
        } = options;
        Self {
            metadata,
            registry,
            cache,
            read_only,
            mode: PhantomData,
        }
    }
}

impl<M> OpenOptions<M> {
    /// The defaults: any detected format, the codecs of this build.
    #[must_use]
    pub fn new() -> Self {
        Self {
            metadata: ndzarr_metadata::OpenOptions::default(),
            registry: CodecRegistry::new(),
            cache: None,
            read_only: false,
            mode: PhantomData,
        }
    }

    /// Looks only for this format; `None`, the default, for all.
    #[must_use]
    pub fn format(mut self, format: impl Into<Option<Format>>) -> Self {
        self.metadata.format = format.into();
        self
    }

    /// How the axes of N5 arrays are presented.
    #[must_use]
    pub fn n5_axes(mut self, axes: N5Axes) -> Self {
        self.metadata.n5_axes = axes;
        self
    }

    /// Opens N5 containers of later versions, too. Default: an error.
    #[must_use]
    pub fn any_n5_version(mut self) -> Self {
        self.metadata.n5_version = N5VersionCheck::Skip;
        self
    }

    /// The separator of the chunk keys, `/` or `.`, in place of the one that the metadata states.
    /// `None`, the default: as stated; the default of Zarr v2 is `.`. Also applies to nodes opened
    /// through a group. N5 has only `/`.
    ///
    /// Some programs nest the chunks of Zarr v2 without saying so, or say it wrongly. A read that
    /// finds no chunk looks whether chunks lie under the other separator, and is then an error, as
    /// is a write that would begin a second set of chunks. Chunks under both are never guessed at.
    ///
    /// ```
    /// use ndzarr::{Array, ErrorKind, MemoryStore, OpenOptions};
    ///
    /// let store = MemoryStore::new();
    /// let nested = br#"{"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "|u1", "order": "C",
    ///                   "compressor": null, "filters": null, "fill_value": 0}"#;
    /// store.set("a/.zarray", nested.to_vec())?;
    /// store.set("a/0/0", vec![1, 2, 3, 4])?;
    ///
    /// let error = Array::<u8>::open((&store, "a"))?.read(..).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidMetadata);
    /// let a = OpenOptions::new().separator('/').open_array::<u8>((&store, "a"))?;
    /// assert_eq!(a.read((1, ..))?.to_vec(), [3, 4]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn separator(mut self, separator: impl Into<Option<char>>) -> Self {
        self.metadata.separator = separator.into();
        self
    }

    /// How consolidated metadata are used.
    #[must_use]
    pub fn consolidated(mut self, consolidated: ConsolidatedUse) -> Self {
        self.metadata.consolidated = consolidated;
        self
    }

    /// The draft: opens an array of an unknown data type, to be read only and with a warning, as
    /// the first known type that its document names as a fallback. Default: an error. Also applies
    /// to nodes opened through a group.
    #[must_use]
    pub fn fallback_types(mut self) -> Self {
        self.metadata.unknown_type = UnknownType::Fallback;
        self
    }

    /// Limits for metadata documents and decompressed chunks. Also apply to nodes opened through a
    /// group.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.metadata.limits = limits;
        self
    }

    /// Custom data types and chunk grids. Also apply to nodes opened through a group.
    #[must_use]
    pub fn extensions(mut self, extensions: Extensions) -> Self {
        self.metadata.extensions = extensions;
        self
    }

    /// Custom codecs, in addition to those of this build. Also apply to nodes opened through a
    /// group.
    #[must_use]
    pub fn codecs(mut self, registry: CodecRegistry) -> Self {
        self.registry = registry;
        self
    }

    /// Keeps chunks in this cache, which any number of arrays may share. Also applies to nodes
    /// opened through a group.
    ///
    /// ```
    /// use ndzarr::{Array, Cache, MemoryStore, OpenOptions, s};
    ///
    /// let store = MemoryStore::new();
    /// Array::<u16>::builder([64, 64]).chunks([32, 32]).create((&store, "a"))?.fill(.., 7)?;
    ///
    /// let cache = Cache::new(256 << 20);
    /// let a = OpenOptions::new().cache(&cache).open_array::<u16>((&store, "a"))?;
    /// for row in 0..64 {
    ///     assert_eq!(a.read(s![row, ..])?.sum(), 64 * 7);
    /// }
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn cache(mut self, cache: &Cache) -> Self {
        self.cache = Some(cache.clone());
        self
    }

    /// Opens for reading only: a call that would change the store is an error, and changes nothing.
    /// Also applies to nodes opened through a group.
    ///
    /// ```
    /// use ndzarr::{Array, ErrorKind, MemoryStore, OpenOptions};
    ///
    /// let store = MemoryStore::new();
    /// Array::<u16>::builder([4]).create((&store, "a"))?.fill(.., 7)?;
    ///
    /// let a = OpenOptions::new().read_only().open_array::<u16>((&store, "a"))?;
    /// assert_eq!(a.fill(.., 8).unwrap_err().kind(), ErrorKind::Unsupported);
    /// assert_eq!(a.read((3,))?[[]], 7);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    fn wanting(&self, wanted: Wanted) -> ndzarr_metadata::OpenOptions {
        ndzarr_metadata::OpenOptions {
            wanted,
            ..self.metadata.clone()
        }
    }

    async fn find(
        &self,
        place: Located,
        metadata: &ndzarr_metadata::OpenOptions,
    ) -> Result<(Storage, Node, Known)> {
        let (storage, node, known) = find_node::find(place, metadata).await?;
        let storage = if self.read_only {
            storage.read_only()
        } else {
            storage
        };
        Ok(match &self.cache {
            Some(cache) => (storage.cached(cache), node, known),
            None => (storage, node, known),
        })
    }

    pub(crate) async fn array(&self, place: Located) -> Result<ArrayInfo> {
        let (storage, node, _) = self.find(place, &self.wanting(Wanted::Array)).await?;
        ArrayInfo::new(storage, node, &self.registry)
    }

    pub(crate) async fn group(&self, place: Located) -> Result<GroupInfo> {
        let (storage, node, known) = self.find(place, &self.wanting(Wanted::Group)).await?;
        GroupInfo::open(
            storage,
            node,
            known,
            self.metadata.consolidated,
            &self.registry,
        )
        .await
    }

    pub(crate) async fn node(&self, place: Located) -> Result<FoundNode> {
        let (storage, node, known) = self.find(place, &self.metadata).await?;
        match node.kind {
            NodeKind::Array(_) => Ok(FoundNode::Array(ArrayInfo::new(
                storage,
                node,
                &self.registry,
            )?)),
            NodeKind::Group | NodeKind::ImplicitGroup => {
                let uses = self.metadata.consolidated;
                GroupInfo::open(storage, node, known, uses, &self.registry)
                    .await
                    .map(FoundNode::Group)
            }
        }
    }
}
