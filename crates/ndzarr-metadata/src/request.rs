//! `ArrayRequest`: the description of a new array, in terms that all formats share.

use std::sync::Arc;

use bytes::Bytes;
use ndzarr_model::{
    ArraySpec, Attributes, ChunkEdges, CodecSpec, ConcurrentUpdate, CustomChunkGrid, DataType,
    EdgeBlocks, Endian, FillValue, Foreign, IndexLocation,
};
use serde_json::Value;

use crate::{Format, Limits, N5Axes, Node, Order};

/// The description of a new array. Each format turns it into documents, or reports what it cannot
/// express.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ArrayRequest {
    /// Length of each dimension, in elements.
    pub shape: Vec<u64>,
    /// Shape of a chunk, in elements; of an inner chunk if `shard_shape` is given.
    pub chunk_shape: Vec<u64>,
    /// Shape of a shard, in elements.
    pub shard_shape: Option<Vec<u64>>,
    /// Zarr v3: position of the index in a shard. The draft has it at the end, and refuses the
    /// start.
    pub index_location: IndexLocation,
    /// Zarr v3: how the index of a shard is encoded; `None`: in little endian, with a crc32c.
    pub index_codecs: Option<Vec<CodecSpec>>,
    /// Zarr v3: lengths of the chunks along each axis, or of the shards if `shard_shape` is given.
    /// Replaces `chunk_shape` or `shard_shape`.
    pub chunk_edges: Option<Vec<ChunkEdges>>,
    /// Zarr v3: a custom chunk grid, of shards if `shard_shape` is given. Replaces `chunk_shape` or
    /// `shard_shape`.
    pub custom_grid: Option<CustomChunkGrid>,
    /// Type of the elements.
    pub data_type: DataType,
    /// Stored byte order; `None`: the format's usual one (little; big in N5, which has no other).
    pub endian: Option<Endian>,
    /// Order of the elements inside a chunk. N5 only takes C, since its axis order determines it.
    pub order: Order,
    /// Fill value; the default is zero.
    pub fill_value: FillRequest,
    /// How chunks are encoded.
    pub codecs: CodecRequest,
    /// Separator of the indices in a chunk key; `None`: the format's usual one.
    pub separator: Option<char>,
    /// Zarr v3: the chunk key encoding's name, `default` or `v2`; `None`: `default`.
    pub key_encoding: Option<String>,
    /// Names of the dimensions. Zarr v2 keeps them as `_ARRAY_DIMENSIONS`, N5 as `axes`; the draft
    /// refuses them.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The user's attributes.
    pub attributes: Attributes,
    /// N5: how blocks at the array's end are written.
    pub edge_blocks: EdgeBlocks,
}

impl ArrayRequest {
    /// The defaults for an array of this shape, chunk shape and type: no shards, no compression,
    /// fill value zero.
    #[must_use]
    pub fn new(shape: Vec<u64>, chunk_shape: Vec<u64>, data_type: DataType) -> Self {
        Self {
            shape,
            chunk_shape,
            shard_shape: None,
            index_location: IndexLocation::End,
            index_codecs: None,
            chunk_edges: None,
            custom_grid: None,
            data_type,
            endian: None,
            order: Order::C,
            fill_value: FillRequest::Zero,
            codecs: CodecRequest::default(),
            separator: None,
            key_encoding: None,
            dimension_names: None,
            attributes: Attributes::new(),
            edge_blocks: EdgeBlocks::default(),
        }
    }

    /// A [`new`](Self::new) request with shape, chunk shape and type of an array. The fill value is
    /// zero, or that of the array if zero is not a value of its custom type.
    ///
    /// ```
    /// use ndzarr::{Array, ArrayRequest, DataType, MemoryStore};
    ///
    /// let a = Array::<bool>::builder([5]).chunks([2]).create((MemoryStore::new(), "a"))?;
    /// let request = ArrayRequest::like(a.spec());
    /// assert_eq!(request, ArrayRequest::new(vec![5], vec![2], DataType::Bool));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn like(spec: &ArraySpec) -> Self {
        let mut request = Self::new(
            spec.shape.clone(),
            spec.unit_shape.clone(),
            spec.data_type.clone(),
        );
        if !spec
            .data_type
            .is_element(FillValue::zero(&spec.data_type).bytes())
        {
            request.fill_value = FillRequest::Value(FillValue::defined(spec.fill_value.bytes()));
        }
        request
    }
}

/// A node to be created: an array, or a group with these attributes.
#[derive(Clone, Copy)]
pub(crate) enum NewNode<'r> {
    Array(&'r ArrayRequest),
    Group(&'r Attributes),
}

/// The fill value of a new array.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum FillRequest {
    /// Zero, false or zero bytes, stated in the document.
    #[default]
    Zero,
    /// This value.
    Value(FillValue),
    /// Fill-value JSON in the form of Zarr v3 for the type, whatever the format.
    Json(Value),
    /// `null`: undefined (Zarr v2 and draft B; an error elsewhere).
    Undefined,
}

/// How the chunks of a new array are encoded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CodecRequest {
    /// Codecs to put after (array→array ones: before) the array→bytes codec that the rest of the
    /// request determines. With a `shard_shape`, they are those of the inner chunks.
    Neutral(Vec<CodecSpec>),
    /// As in the format's own documents: v3 and draft A the complete list of codecs, including
    /// array→bytes; v2 and draft B `{"compressor": …, "filters": …}`; N5 the compression object.
    Json(Value),
}

impl Default for CodecRequest {
    fn default() -> Self {
        Self::Neutral(Vec::new())
    }
}

/// How a node is created.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateOptions {
    /// In which format.
    pub format: Format,
    /// Order of the axes of `shape` and `chunk_shape` in a request for an N5 array.
    pub n5_axes: N5Axes,
    /// How to treat an existing node.
    pub existing: Existing,
    /// N5: whether every new group gets an `attributes.json`, so that zarr-python 2 sees it.
    pub n5_group_documents: N5GroupDocuments,
    /// The node that the attributes come from: unchanged ones keep their place and text, such as
    /// the digits of a number that `serde_json` rounds. In Zarr v2 so does an unchanged data type.
    pub attributes_of: Option<Arc<Node>>,
    /// Limits of the documents that are read to create the node, and of its own.
    pub limits: Limits,
    /// How consolidated metadata above the node are changed in a store without locks.
    pub concurrent_update: ConcurrentUpdate,
    /// What happens to files that do not belong to the node that is replaced.
    pub foreign: Foreign,
}

impl CreateOptions {
    /// The defaults for a format.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self {
            format,
            n5_axes: N5Axes::Native,
            existing: Existing::Refuse,
            n5_group_documents: N5GroupDocuments::RootOnly,
            attributes_of: None,
            limits: Limits::default(),
            concurrent_update: ConcurrentUpdate::default(),
            foreign: Foreign::default(),
        }
    }
}

impl Existing {
    /// The consequence for the document of the node itself.
    pub(crate) fn of_document(self) -> ExistingDocument {
        match self {
            Self::Refuse | Self::Beside => ExistingDocument::Refuse,
            Self::Replace => ExistingDocument::Replace,
        }
    }
}

/// How to treat a node that exists at the path of a new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Existing {
    /// An error.
    #[default]
    Refuse,
    /// It is erased, with everything below it.
    Replace,
    /// It stays, and gets a document of this format next to its own; a node of the same format is
    /// an error. Nothing is written above it. Only for Zarr v2, v3 and N5, which keep their
    /// documents in the folder of the node.
    Beside,
}

/// Which groups of an N5 container get an `attributes.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum N5GroupDocuments {
    /// Only the root, as in Java and z5.
    #[default]
    RootOnly,
    /// All that are created, as zarr-python 2 does and needs.
    All,
}

/// Changes to make to a store, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct Creation {
    /// Documents to delete first.
    pub erase: Vec<String>,
    /// Prefixes to delete next, with everything below them.
    pub erase_prefixes: Vec<String>,
    /// What happens to files below these prefixes that do not belong to the node at this path.
    pub foreign: Foreign,
    /// Documents to write next, ancestors before descendants.
    pub put: Vec<Document>,
    /// For formats in which an array and a group have documents of different names.
    pub claim: Option<Claim>,
    /// The node as it will open.
    pub node: Node,
}

impl Creation {
    /// What keeps two writers from creating both an array and a group at one path. Nothing may be
    /// erased or written for the node without it, unless the node replaces an existing one.
    #[must_use]
    pub fn claim_of_new(&self) -> Option<&Claim> {
        let (document, _) = self.node.documents.first()?;
        let is_new =
            |put: &Document| put.key == *document && put.existing == ExistingDocument::Refuse;
        self.claim.as_ref().filter(|_| self.put.iter().any(is_new))
    }
}

/// Serializes writers that create a node at a path, through the document of a group, even for an
/// array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The document of a group at the path, written while the node is created if the store has no
    /// locks. There must be none yet.
    pub group: Document,
    /// Key of the document of an array at the path, which must not exist either.
    pub array: String,
}

/// A document to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its key, from the root of the store.
    pub key: String,
    /// Its bytes.
    pub value: Bytes,
    /// How to proceed if another writer was faster and the key has a value.
    pub existing: ExistingDocument,
}

/// How to proceed if a document to write already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingDocument {
    /// Leave it as it is.
    Keep,
    /// Give up, because another node was created at this path. An empty value or `null` counts as
    /// absent (N5).
    Refuse,
    /// Overwrite it.
    Replace,
    /// Add the members of the new value that it lacks, as
    /// [`complete_document`](crate::complete_document) does.
    Complete,
}

/// The keys and prefixes to remove to delete a node: documents first, then everything below the
/// prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erasure {
    /// Documents.
    pub documents: Vec<String>,
    /// Prefixes, each empty (everything) or ending in `/`.
    pub prefixes: Vec<String>,
}

/// A change of a node's attributes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AttributeChange {
    /// Sets these keys, keeps the others.
    Merge(Attributes),
    /// Sets these keys, removes all others that the user sees.
    Replace(Attributes),
    /// Removes these keys.
    Remove(Vec<String>),
    /// N5: sets the value at an attribute path as Java N5 does (`a/b[2]`).
    SetN5Path {
        /// The path.
        path: String,
        /// The value.
        value: Value,
    },
    /// N5: removes the value at an attribute path.
    RemoveN5Path(String),
}
