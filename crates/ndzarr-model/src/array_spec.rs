//! `ArraySpec`: the description of an array, independent of the format.

use std::sync::Arc;

use ndzarr_grid::{ChunkGrid, GridError};

use crate::{ChunkEdges, ChunkKeys, CodecConfig, CodecSpec, CustomChunkGrid, DataType, FillValue};

/// The user's attributes of a node.
///
/// Integers of 64 bits are exact, other numbers the nearest `f64`. `NaN`, `Infinity`, which Python
/// writes, and numbers too large for an `f64` are the strings `"NaN"`, `"Infinity"` and
/// `"-Infinity"`, and half a surrogate pair is U+FFFD. Changing attributes keeps the order and the
/// text of unchanged ones in the document.
pub type Attributes = serde_json::Map<String, serde_json::Value>;

/// The description of an array, independent of the format.
#[derive(Clone, Debug, PartialEq)]
pub struct ArraySpec {
    /// Length of each dimension, in elements. Empty for a 0-d array, which has one element.
    pub shape: Vec<u64>,
    /// Shape of each shard or, without shards, of each chunk of the regular grid, in elements. For
    /// any other grid the greatest length along each axis. As long as `shape`; an entry may be 0
    /// only where that of `shape` is.
    pub unit_shape: Vec<u64>,
    /// The lengths of the chunks along each axis of a rectilinear grid; `None` for a regular one.
    pub chunk_edges: Option<Vec<ChunkEdges>>,
    /// A custom chunk grid, which has the lengths of its chunks; `chunk_edges` is then `None`.
    pub custom_grid: Option<CustomChunkGrid>,
    /// Type of an element in memory, without a stored byte order.
    pub data_type: DataType,
    /// Value of an element of a chunk that is not stored.
    pub fill_value: FillValue,
    /// The codecs of a chunk, in encoding order: array→array, one array→bytes, bytes→bytes. Shared,
    /// because many arrays of a hierarchy have the same.
    pub codecs: Arc<[CodecSpec]>,
    /// When an unknown codec is an error.
    pub codec_check: CodecCheck,
    /// The keys of the chunks.
    pub keys: ChunkKeys,
    /// Names of the dimensions, as long as `shape`.
    pub dimension_names: Option<Vec<Option<String>>>,
}

impl ArraySpec {
    /// The grid of the chunks, or of the shards if the array has any.
    ///
    /// # Errors
    /// Shapes that do not form a grid.
    pub fn grid(&self) -> Result<ChunkGrid, GridError> {
        match self.edges() {
            None => ChunkGrid::regular(&self.shape, &self.unit_shape),
            Some(edges) => ChunkGrid::rectilinear(&self.shape, edges),
        }
    }

    /// The lengths of the chunks along each axis of a rectilinear or custom grid; `None` for a
    /// regular one.
    #[must_use]
    pub fn edges(&self) -> Option<&[ChunkEdges]> {
        match &self.custom_grid {
            Some(custom) => Some(custom.edges()),
            None => self.chunk_edges.as_deref(),
        }
    }

    /// Shape of the inner chunks of a sharded array, in elements, by the axes of the array; `None`
    /// if the array has no shards that can be read in part.
    #[must_use]
    pub fn inner_chunk_shape(&self) -> Option<Vec<u64>> {
        let is_transpose =
            |codec: &&CodecSpec| matches!(codec.config, CodecConfig::Transpose { .. });
        // The output of any other codec can only be read as a whole.
        let codec = self.codecs.iter().find(|codec| !is_transpose(codec))?;
        let is_sharding = matches!(codec.config, CodecConfig::Sharding(_));
        self.inner_chunks()
            .into_iter()
            .next()
            .map(|(shape, _)| shape)
            .filter(|_| is_sharding)
    }

    /// The inner chunks of a sharded array, level by level where shards are nested: their shape, in
    /// elements, by the axes of the array, and their codecs.
    #[must_use]
    pub fn inner_chunks(&self) -> Vec<(Vec<u64>, &[CodecSpec])> {
        // Axis `i` of a codec's input is axis `axes[i]` of the array.
        let mut axes: Vec<usize> = (0..self.shape.len()).collect();
        let mut levels = Vec::new();
        let mut codecs = &self.codecs[..];
        while let [codec, rest @ ..] = codecs {
            codecs = rest;
            match &codec.config {
                CodecConfig::Transpose { order } => {
                    axes = order
                        .iter()
                        .filter_map(|&axis| axes.get(axis).copied())
                        .collect();
                }
                CodecConfig::Sharding(sharding) => {
                    let mut shape = vec![1; self.shape.len()];
                    axes.iter()
                        .zip(&sharding.chunk_shape)
                        .for_each(|(&axis, &n)| shape[axis] = n);
                    levels.push((shape, &sharding.codecs[..]));
                    codecs = &sharding.codecs;
                }
                _ => {}
            }
        }
        levels
    }
}

/// When a codec that cannot be bound is an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodecCheck {
    /// When the array is opened (Zarr v3, the draft, N5).
    #[default]
    AtOpen,
    /// When a chunk is first read or written, so that metadata stay readable (Zarr v2).
    AtAccess,
}
