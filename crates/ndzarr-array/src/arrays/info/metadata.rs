//! Metadata of an opened array.

use ndzarr_metadata::Format;
use ndzarr_model::{ArraySpec, Attributes, DataType};
use serde_core::de::DeserializeOwned;

use super::ArrayInfo;
use crate::arrays::chunks::Chunks;
use crate::error::Result;
use crate::operations::attributes;
use crate::selections::selection::Selection;
use crate::storage::Storage;

impl ArrayInfo {
    /// Length of each dimension, in elements.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.spec().shape
    }

    /// Type of the elements. Its `Display` is the Zarr v3 name.
    #[must_use]
    pub fn data_type(&self) -> &DataType {
        &self.spec().data_type
    }

    /// Shape of a chunk, in elements. With shards, it is the shape of an inner chunk, at the
    /// outermost level if shards are nested. Chunks at the end of the array may extend beyond it.
    /// If chunk lengths vary, this is the greatest length along each axis: see
    /// [`chunks`](Self::chunks) for each chunk, and `chunk_edges` of [`spec`](Self::spec).
    #[must_use]
    pub fn chunk_shape(&self) -> Vec<u64> {
        self.spec()
            .inner_chunk_shape()
            .unwrap_or_else(|| self.spec().unit_shape.clone())
    }

    /// Shape of a shard, in elements; `None` without shards.
    #[must_use]
    pub fn shard_shape(&self) -> Option<&[u64]> {
        self.spec()
            .inner_chunk_shape()
            .map(|_| &self.spec().unit_shape[..])
    }

    /// All chunks, in C order of their indices, whether they are stored or not. In a sharded array,
    /// these are the inner chunks of the whole array.
    pub fn chunks(&self) -> Chunks {
        Chunks::new(self.chunk_grid())
    }

    /// The chunks that have selected elements, in C order of their indices. In a sharded array,
    /// these are inner chunks.
    ///
    /// # Errors
    /// The selection does not fit the array.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let a = Array::<u8>::builder([10, 10]).chunks([4, 5]).create((MemoryStore::new(), "a"))?;
    /// let met: Vec<_> = a.chunks_in([3..5, 0..2])?.collect();
    /// assert_eq!(met.len(), 2);
    /// assert_eq!((&met[1].index[..], &met[1].ranges[..]), (&[1, 0][..], &[4..8, 0..5][..]));
    /// assert_eq!(met[1].overlap, [4..5, 0..2]);
    /// assert_eq!(a.chunks_in((vec![9, 0], 7))?.len(), 2);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn chunks_in(&self, selection: impl Selection) -> Result<Chunks> {
        let selected = self.resolve(&selection)?;
        self.named(Chunks::meeting(self.chunk_grid(), &selected))
    }

    /// Names of the dimensions, one for each, if the array has names.
    #[must_use]
    pub fn dimension_names(&self) -> Option<&[Option<String>]> {
        self.spec().dimension_names.as_deref()
    }

    /// The user's attributes.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        &self.node.attributes
    }

    /// An attribute as a Rust type; `None` if there is none of this name.
    ///
    /// # Errors
    /// [`WrongType`](crate::ErrorKind::WrongType): the attribute has another form. The error names
    /// it and the array.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    /// use serde_json::json;
    ///
    /// let attributes = json!({"units": "K", "scale": [0.5, 2.0]});
    /// let a = Array::<i16>::builder([8]).attributes(attributes).create((MemoryStore::new(), "t"))?;
    /// assert_eq!(a.attribute::<[f64; 2]>("scale")?, Some([0.5, 2.0]));
    /// assert_eq!(a.attribute::<String>("long_name")?, None);
    /// let error = a.attribute::<f64>("units").unwrap_err().to_string();
    /// assert!(error.starts_with("the attribute \"units\" of \"/t\" has another form"), "{error}");
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn attribute<A: DeserializeOwned>(&self, key: &str) -> Result<Option<A>> {
        attributes::one(&self.storage, &self.node, key)
    }

    /// All attributes as a Rust type, such as a `struct` that derives `Deserialize`.
    ///
    /// # Errors
    /// [`WrongType`](crate::ErrorKind::WrongType): the attributes have another form. The error
    /// names the first that has, and the array.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use ndzarr::{Array, MemoryStore};
    /// use serde_json::json;
    ///
    /// let limits = json!({"low": 0, "high": 1.5});
    /// let a = Array::<u8>::builder([4]).attributes(limits).create((MemoryStore::new(), "a"))?;
    /// let limits: BTreeMap<String, f64> = a.attributes_as()?;
    /// assert_eq!(limits["high"], 1.5);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn attributes_as<A: DeserializeOwned>(&self) -> Result<A> {
        attributes::all(&self.storage, &self.node)
    }

    /// The format of its metadata documents.
    #[must_use]
    pub fn format(&self) -> Format {
        self.node.format
    }

    /// Its path from the root of the store, without a leading `/`.
    #[must_use]
    pub fn path(&self) -> &str {
        self.node.path.as_str()
    }

    /// The store that contains it.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The array's metadata, in the terms that all formats share.
    #[must_use]
    pub fn spec(&self) -> &ArraySpec {
        // `new` accepts only arrays, and a node never changes its kind.
        self.node
            .kind
            .array()
            .expect("the node of an array is an array")
    }

    /// Warnings noted when it was opened.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.node.warnings
    }
}
