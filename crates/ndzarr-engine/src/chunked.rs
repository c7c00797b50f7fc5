//! `ChunkedArray`: the grid, the codec chain and the keys of an array.

use std::sync::Arc;

use ndzarr_codec::CodecChain;
use ndzarr_grid::ChunkGrid;
use ndzarr_model::ChunkKeys;
use ndzarr_store::{Key, StoreError};

use crate::index_cache::IndexCache;
use crate::{ChunkPlace, EngineError};

/// An array as the data path sees it: a grid of chunks, a chain, and where the chunks are.
#[derive(Debug)]
pub struct ChunkedArray {
    pub(crate) grid: ChunkGrid,
    pub(crate) chain: Arc<CodecChain>,
    pub(crate) keys: ChunkKeys,
    pub(crate) indexes: IndexCache,
    pub(crate) outside: Outside,
}

/// What a write does with the elements of a chunk at the end of an array that are outside the
/// array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// Those that are stored stay where the chunk is written in part, since others may have made
    /// the array larger. Where all that is inside the array is written, the chunk is replaced.
    #[default]
    Kept,
    /// No array element lies there; they are set to the fill value.
    Fill,
    /// Others are writing them: a chunk is replaced only where all of it is written.
    Shared,
}

impl ChunkedArray {
    /// Puts the parts together.
    ///
    /// # Errors
    /// A chain that cannot encode chunks of the grid's shape.
    pub fn new(grid: ChunkGrid, chain: Arc<CodecChain>, keys: ChunkKeys) -> Result<Self, EngineError> {
        check(&chain, &grid)?;
        Ok(Self { grid, chain, keys, indexes: IndexCache::new(), outside: Outside::default() })
    }

    /// The same array with another grid, in which the chunks that both have are the same. Nothing
    /// is stored or removed.
    ///
    /// # Errors
    /// Chunks that the chain cannot encode.
    pub fn regridded(&self, grid: ChunkGrid) -> Result<Self, EngineError> {
        let (chain, keys) = (Arc::clone(&self.chain), self.keys.clone());
        check(&chain, &grid)?;
        Ok(Self { grid, chain, keys, indexes: IndexCache::new(), outside: Outside::default() })
    }

    /// The same array, written under this assumption on what is outside of it.
    #[must_use]
    pub fn outside(self, outside: Outside) -> Self {
        Self { outside, ..self }
    }

    /// The grid of its chunks.
    #[must_use]
    pub fn grid(&self) -> &ChunkGrid {
        &self.grid
    }

    /// The chain of its chunks.
    #[must_use]
    pub fn chain(&self) -> &Arc<CodecChain> {
        &self.chain
    }

    /// The key of a chunk.
    ///
    /// # Errors
    /// A key that no store takes.
    pub fn key(&self, chunk: &[u64]) -> Result<Key, StoreError> {
        Key::new(self.keys.key(chunk))
    }

    /// Shape of a chunk, in elements.
    pub(crate) fn shape_of(&self, chunk: &[u64]) -> Vec<u64> {
        // A caller that asks for a chunk outside the grid gets no further with it.
        self.grid.shape_of(chunk).unwrap_or_else(|| self.grid.chunk_shape().to_vec())
    }

    pub(crate) fn fallback_key(&self, chunk: &[u64]) -> Option<Key> {
        Key::new(self.keys.fallback_key(chunk)?).ok()
    }

    pub(crate) fn place(&self, store: &str, chunk: &[u64]) -> ChunkPlace {
        ChunkPlace { store: store.to_owned(), key: self.keys.key(chunk), chunk: chunk.to_vec() }
    }
}

/// Finds out whether a chain can encode every chunk of a grid.
fn check(chain: &CodecChain, grid: &ChunkGrid) -> Result<(), EngineError> {
    for shape in grid.distinct_shapes() {
        chain.check(&shape)?;
    }
    Ok(())
}
