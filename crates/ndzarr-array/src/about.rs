//! What an opened array or group says of itself.

use ndzarr_metadata::Format;
use ndzarr_model::{ArraySpec, Attributes, DataType};

use crate::chunks::Chunks;
use crate::core::Core;
use crate::group_core::GroupCore;
use crate::storage::Storage;

impl Core {
    /// Length of each dimension, in elements.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.spec().shape
    }

    /// Type of the elements. It displays as its Zarr v3 name.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        &self.spec().data_type
    }

    /// Shape of a chunk, in elements: of an inner chunk, where there are shards; of the outermost
    /// level, where they are nested. Chunks at the end of the array may reach over it. Where chunks
    /// have lengths of their own, the greatest along each axis: see [`chunks`](Self::chunks) for
    /// each, and `chunk_edges` of [`spec`](Self::spec).
    #[must_use]
    pub fn chunk_shape(&self) -> Vec<u64> {
        self.spec().inner_chunk_shape().unwrap_or_else(|| self.spec().chunk_shape.clone())
    }

    /// Shape of a shard, in elements; `None` without shards.
    #[must_use]
    pub fn shard_shape(&self) -> Option<&[u64]> {
        self.spec().inner_chunk_shape().map(|_| &self.spec().chunk_shape[..])
    }

    /// The units that are stored, shards or chunks, in C order of their indices.
    pub fn chunks(&self) -> Chunks {
        Chunks::new(self.grid().ok())
    }

    /// The inner chunks of a sharded array over the whole array, in C order of their indices;
    /// without shards, the chunks.
    pub fn inner_chunks(&self) -> Chunks {
        Chunks::new(self.inner_grid().ok())
    }

    /// The key of a chunk (of a shard, where there are such) from the root of the store. Whether
    /// there is such a chunk is not checked.
    #[must_use]
    pub fn chunk_key(&self, chunk: &[u64]) -> String {
        self.spec().keys.key(chunk)
    }

    /// Names of the dimensions, one for each, if the array has such.
    #[must_use]
    pub fn dimension_names(&self) -> Option<&[Option<String>]> {
        self.spec().dimension_names.as_deref()
    }

    /// The user's attributes.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        &self.node.attributes
    }

    /// The format of its documents.
    #[must_use]
    pub fn format(&self) -> Format {
        self.node.format
    }

    /// Its path from the root of the store, without a leading `/`.
    #[must_use]
    pub fn path(&self) -> &str {
        self.node.path.as_str()
    }

    /// The store that it is in.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// What the documents say of the array, in the terms that all formats share.
    #[must_use]
    pub fn spec(&self) -> &ArraySpec {
        // `new` lets nothing but arrays in, and a node never changes its kind.
        self.node.kind.array().expect("the node of an array is an array")
    }

    /// What was noticed when it was opened and is not an error.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.node.warnings
    }
}

impl GroupCore {
    /// The user's attributes.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        &self.node.attributes
    }

    /// The format of its documents.
    #[must_use]
    pub fn format(&self) -> Format {
        self.node.format
    }

    /// Its path from the root of the store, without a leading `/`; empty for the root.
    #[must_use]
    pub fn path(&self) -> &str {
        self.node.path.as_str()
    }

    /// The store that it is in.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// What was noticed when it was opened and is not an error.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.node.warnings
    }
}
