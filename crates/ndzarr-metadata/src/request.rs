//! `ArrayRequest`: what a caller asks of a new array, in terms that all formats share.

use std::sync::Arc;

use bytes::Bytes;
use ndzarr_model::{
    ArraySpec, Attributes, ChunkEdges, CodecSpec, ConcurrentUpdate, CustomChunkGrid, DataType, EdgeBlocks,
    Endian, FillValue,
};
use serde_json::Value;

use crate::{Extensions, Format, Limits, N5Axes, Node, Order, UnknownType};

/// What a caller asks of a new array. Each format turns it into documents, or says what it cannot express.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayRequest {
    /// Length of each dimension, in elements.
    pub shape: Vec<u64>,
    /// Shape of a chunk, in elements; of an inner chunk where `shard_shape` is given.
    pub chunk_shape: Vec<u64>,
    /// Shape of a shard, in elements.
    pub shard_shape: Option<Vec<u64>>,
    /// Zarr v3: lengths along each axis of the chunks; of the shards, where `shard_shape` is given. They take the place of
    /// `chunk_shape`, or of `shard_shape`.
    pub chunk_edges: Option<Vec<ChunkEdges>>,
    /// Zarr v3: a chunk grid of the caller's own, of shards where `shard_shape` is given. It takes the place of `chunk_shape`,
    /// or of `shard_shape`.
    pub custom_grid: Option<CustomChunkGrid>,
    /// Type of the elements.
    pub data_type: DataType,
    /// Stored byte order; `None`: the format's usual one (little; big in N5, where nothing else is possible).
    pub endian: Option<Endian>,
    /// Order of the elements inside a chunk. N5 takes none but C, since its axis order says it.
    pub order: Order,
    /// Fill value; `None`: zero, in Zarr v2 and draft B `null`-free as well.
    pub fill_value: FillRequest,
    /// How chunks are encoded.
    pub codecs: CodecRequest,
    /// Between the indices of a chunk key; `None`: the format's usual one.
    pub separator: Option<char>,
    /// Zarr v3: the chunk key encoding's name, `default` or `v2`; `None`: `default`.
    pub key_encoding: Option<String>,
    /// Names of the dimensions. In Zarr v2 kept as `_ARRAY_DIMENSIONS`, in N5 as `axes`; refused in the draft.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The user's attributes.
    pub attributes: Attributes,
    /// N5: how blocks at the array's end are written.
    pub edge_blocks: EdgeBlocks,
}

impl ArrayRequest {
    /// The defaults for an array of this shape, chunk shape and type: no shards, no compression, fill value zero.
    #[must_use]
    pub fn new(shape: Vec<u64>, chunk_shape: Vec<u64>, data_type: DataType) -> Self {
        Self {
            shape,
            chunk_shape,
            shard_shape: None,
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

    /// As [`new`](Self::new), with shape, chunk shape and type of an array; the fill value is zero, or that of the array where
    /// zero is no value of a type of the caller's own.
    ///
    /// ```
    /// # use ndzarr_metadata::{ArrayRequest, CreateOptions, Format, NodePath, check_request};
    /// # use ndzarr_model::DataType;
    /// let request = ArrayRequest::new(vec![5], vec![2], DataType::Bool);
    /// let node = check_request(&NodePath::root(), &request, &CreateOptions::new(Format::Zarr3))?;
    /// assert_eq!(ArrayRequest::like(node.kind.array().expect("an array")), request);
    /// # Ok::<(), ndzarr_metadata::MetadataError>(())
    /// ```
    #[must_use]
    pub fn like(spec: &ArraySpec) -> Self {
        let mut request = Self::new(spec.shape.clone(), spec.chunk_shape.clone(), spec.data_type.clone());
        if !spec.data_type.is_element(FillValue::zero(&spec.data_type).bytes()) {
            request.fill_value = FillRequest::Value(FillValue::defined(spec.fill_value.bytes()));
        }
        request
    }
}

/// The fill value of a new array.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum FillRequest {
    /// Zero, false or zero bytes, stated in the document.
    #[default]
    Zero,
    /// This value.
    Value(FillValue),
    /// Fill-value JSON in the form of Zarr v3 for the type, whatever the format.
    Json(Value),
    /// `null`: none (Zarr v2 and draft B; an error elsewhere).
    Undefined,
}

/// How the chunks of a new array are encoded.
#[derive(Clone, Debug, PartialEq)]
pub enum CodecRequest {
    /// Codecs to put behind (array→array ones: before) the array→bytes codec that the rest of the request asks for.
    /// With a `shard_shape`, they are those of the inner chunks.
    Neutral(Vec<CodecSpec>),
    /// As the format's own documents have them: v3 and draft A the list of codecs (whole, array→bytes included); v2
    /// and draft B `{"compressor": …, "filters": …}`; N5 the compression object.
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
    /// How the axes of a new N5 array are meant: `shape` and `chunk_shape` of the request are in this order.
    pub n5_axes: N5Axes,
    /// What to do with what is there.
    pub existing: Existing,
    /// N5: whether every new group gets an `attributes.json`, so that zarr-python 2 sees it.
    pub n5_group_documents: N5GroupDocuments,
    /// The node that the attributes are those of: what is the same there keeps its place and its text, such as the digits of a
    /// number that `serde_json` rounds.
    pub attributes_of: Option<Arc<Node>>,
    /// What documents may ask for: those that are read to create the node, and its own.
    pub limits: Limits,
    /// What happens to consolidated metadata above the node in a store where writers cannot take turns.
    pub concurrent_update: ConcurrentUpdate,
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
        }
    }
}

impl Existing {
    /// What it means for the document of the node itself.
    pub(crate) fn of_document(self) -> ExistingDocument {
        match self {
            Self::Refuse | Self::Beside => ExistingDocument::Refuse,
            Self::Replace => ExistingDocument::Replace,
        }
    }
}

/// What to do with a node that stands where one is to be created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// An error.
    #[default]
    Refuse,
    /// It is erased, with all below it.
    Replace,
    /// It stays, and gets a document of this format beside its own; a node of the same format is an error. Nothing is written
    /// above it. Zarr v2, v3 and N5: these keep their documents in the folder of the node.
    Beside,
}

/// Which groups of an N5 container get an `attributes.json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum N5GroupDocuments {
    /// The root alone, as Java and z5 do.
    #[default]
    RootOnly,
    /// All that are created, as zarr-python 2 does and needs.
    All,
}

/// What to do to a store, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct Creation {
    /// Documents to delete first.
    pub erase: Vec<String>,
    /// Prefixes to delete then, with all below them.
    pub erase_prefixes: Vec<String>,
    /// Documents to write then, ancestors before descendants.
    pub put: Vec<Document>,
    /// For formats in which an array and a group have documents of different names: what keeps two from being made at one
    /// path at the same time. Nothing is to be erased or written for the node but under it.
    pub claim: Option<Claim>,
    /// The node as it will open.
    pub node: Node,
}

/// Where those who make a node at a path take turns: by the document of a group, also for an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The document of a group at the path, to be there while the node is made where no lock can be taken. There must be
    /// none yet.
    pub group: Document,
    /// Key of the document of an array there, of which there must be none either.
    pub array: String,
}

/// A document to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its key, from the root of the store.
    pub key: String,
    /// Its bytes.
    pub value: Bytes,
    /// What to do when the key has a value already, because another writer was faster.
    pub existing: ExistingDocument,
}

/// What to do when a document to write is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExistingDocument {
    /// Leave it as it is.
    Keep,
    /// Another node was made there: give up. A value that is empty or `null` is as good as none (N5).
    Refuse,
    /// Write over it.
    Replace,
    /// Add what it lacks of the members of the new value, as [`complete_document`](crate::complete_document) does.
    Complete,
}

/// What to remove to delete a node: documents first, then all below the prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erasure {
    /// Documents.
    pub documents: Vec<String>,
    /// Prefixes, each empty (everything) or ending in `/`.
    pub prefixes: Vec<String>,
}

/// A change of a node's attributes.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeChange {
    /// Sets these keys, leaves the others.
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

/// How nodes are looked for and read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenOptions {
    /// Look for this format alone.
    pub format: Option<Format>,
    /// How the axes of N5 arrays are shown.
    pub n5_axes: N5Axes,
    /// Overrides the separator of a Zarr v2 array whose document states none (V2-T06).
    pub v2_separator: Option<char>,
    /// What kind of node the caller is after. It decides how documents are read that are neither a whole N5 dataset
    /// nor clearly a group.
    pub wanted: Wanted,
    /// Whether the version of an N5 container is looked at.
    pub n5_version: N5VersionCheck,
    /// Whether consolidated metadata are used.
    pub consolidated: ConsolidatedUse,
    /// The draft: what becomes of a data type that is not known here.
    pub unknown_type: UnknownType,
    /// What the documents may ask for.
    pub limits: Limits,
    /// Data types and chunk grids of the caller's own.
    pub extensions: Extensions,
}

/// Whether consolidated metadata are used: copies of the documents of a group and of all nodes below it in one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConsolidatedUse {
    /// Where a group has some: what is listed and opened through the group comes from them alone. A node that is opened by
    /// its path is read by its own document; if there is none, those of the groups above are asked.
    #[default]
    Use,
    /// As [`Use`](Self::Use); to open a group that has none is an error.
    Require,
    /// Never.
    Ignore,
}

/// What kind of node a caller is after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Wanted {
    /// Whatever there is.
    #[default]
    Any,
    /// An array: an incomplete one is an error that says what is missing.
    Array,
    /// A group.
    Group,
}

/// Whether the version of an N5 container is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum N5VersionCheck {
    /// Containers with a major version above 4 are an error.
    #[default]
    Enforce,
    /// Containers of any version are read as far as their documents make sense.
    Skip,
}
