//! `CustomChunkGrid`: a chunk grid that users define, with the name that documents give it.

use std::sync::Arc;

use serde_json::Value;

use crate::ChunkEdges;

/// A custom chunk grid: its name in documents, and the lengths of its chunks along each axis. Two
/// are equal if name and configuration are.
///
/// A list of lengths may go beyond the end of the array, and of any count. One that ends before the
/// end that an array gets makes growing an error.
///
/// ```
/// use ndzarr::{Array, ChunkEdges, CustomChunkGrid, MemoryStore};
///
/// // One chunk of 5 elements, then chunks of 24 without an end.
/// let days = ChunkEdges::Listed(vec![(5, 1), (24, u64::MAX)]);
/// let grid = CustomChunkGrid::new("example.days", [days]);
/// let a = Array::<u8>::builder([60]).chunk_grid(grid).create((&MemoryStore::new(), "hours"))?;
/// let ranges: Vec<_> = a.chunks().map(|chunk| chunk.ranges[0].clone()).collect();
/// assert_eq!(ranges, [0..5, 5..29, 29..53, 53..60]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CustomChunkGrid {
    name: String,
    configuration: Value,
    edges: Arc<[ChunkEdges]>,
}

impl CustomChunkGrid {
    /// A grid under a name, with the lengths of its chunks along each axis. Documents state it
    /// without a configuration.
    #[must_use]
    pub fn new(name: impl Into<String>, edges: impl IntoIterator<Item = ChunkEdges>) -> Self {
        let edges = edges.into_iter().collect();
        Self {
            name: name.into(),
            configuration: Value::Object(Default::default()),
            edges,
        }
    }

    /// Sets the configuration, an object.
    #[must_use]
    pub fn with_configuration(self, configuration: Value) -> Self {
        Self {
            configuration,
            ..self
        }
    }

    /// Its name in documents.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its configuration, an object; an empty one for none.
    #[must_use]
    pub fn configuration(&self) -> &Value {
        &self.configuration
    }

    /// Lengths of the chunks along each axis, in elements.
    #[must_use]
    pub fn edges(&self) -> &[ChunkEdges] {
        &self.edges
    }
}

impl PartialEq for CustomChunkGrid {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.configuration) == (&other.name, &other.configuration)
    }
}
