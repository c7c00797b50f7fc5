//! `ChunkedArray`: the grid, the codec chain and the keys of an array.

use std::sync::Arc;

use ndzarr_codec::{Access, CodecChain};
use ndzarr_grid::{ChunkGrid, n_elements};
use ndzarr_model::ChunkKeys;
use ndzarr_store::{Key, StoreError};

use crate::cache::{ArrayCache, IndexCache};
use crate::{EngineError, Presence, UnitPlace};

/// An array as the data path sees it: a grid of chunks, a codec chain, and the keys of the chunks.
#[derive(Debug)]
pub struct ChunkedArray {
    pub(crate) grid: ChunkGrid,
    pub(crate) chain: Arc<CodecChain>,
    pub(crate) keys: ChunkKeys,
    pub(crate) indexes: IndexCache,
    pub(crate) outside: Outside,
    presence: Presence,
    cache: Option<ArrayCache>,
}

/// How a write treats the elements of a chunk that lie outside the array, at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// A partial write keeps stored ones, since another process may have grown the array. A write
    /// of everything inside the array replaces the chunk.
    #[default]
    Kept,
    /// No array element lies there; they are set to the fill value.
    Fill,
    /// Other writers are writing them: a chunk is replaced only by a write of the whole chunk.
    Shared,
}

impl ChunkedArray {
    /// An array whose shards have no cached indexes, without a cache of chunks.
    ///
    /// # Errors
    /// The chain cannot encode chunks of the grid's shape.
    pub fn new(
        grid: ChunkGrid,
        chain: Arc<CodecChain>,
        keys: ChunkKeys,
    ) -> Result<Self, EngineError> {
        check(&chain, &grid)?;
        let presence = Presence::default();
        if keys.encoding.mistaken(grid.chunk_shape().len()).is_none() {
            presence.confirm();
        }
        Ok(Self {
            grid,
            chain,
            keys,
            indexes: IndexCache::default(),
            outside: Outside::default(),
            presence,
            cache: None,
        })
    }

    /// Keeps the indexes of its shards with those of other arrays of the store.
    #[must_use]
    pub fn with_indexes(self, indexes: IndexCache) -> Self {
        Self { indexes, ..self }
    }

    /// Has reads keep its chunks in this cache.
    #[must_use]
    pub fn cached(self, cache: impl Into<Option<ArrayCache>>) -> Self {
        Self {
            cache: cache.into(),
            ..self
        }
    }

    /// The cache for a chunk, unless what would be kept of it is too large.
    pub(crate) fn cache_for(&self, chunk: &[u64]) -> Option<&ArrayCache> {
        let cache = self.cache.as_ref()?;
        let shape = self.shape_of(chunk);
        let mut shape = &shape[..];
        let mut chain = &self.chain;
        while let Access::Indexed(sharding) = chain.access() {
            shape = sharding.chunk_shape();
            chain = sharding.chunks();
        }
        let n = n_elements(shape).unwrap_or(u64::MAX);
        cache
            .admits(n.saturating_mul(chain.elem_size() as u64))
            .then_some(cache)
    }

    /// This array with another grid that keeps the common chunks. Nothing is stored or removed.
    ///
    /// # Errors
    /// The chain cannot encode the chunks.
    pub fn regridded(&self, grid: ChunkGrid) -> Result<Self, EngineError> {
        check(&self.chain, &grid)?;
        Ok(Self {
            grid,
            chain: Arc::clone(&self.chain),
            keys: self.keys.clone(),
            indexes: self.indexes.clone(),
            outside: Outside::default(),
            presence: self.presence.clone(),
            cache: self.cache.clone(),
        })
    }

    /// Sets how a write treats the elements of chunks that lie outside the array.
    #[must_use]
    pub fn outside(self, outside: Outside) -> Self {
        Self { outside, ..self }
    }

    /// What reads have shown about its keys.
    #[must_use]
    pub fn presence(&self) -> &Presence {
        &self.presence
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

    /// The axes in the order in which the elements of a chunk are stored; with shards, of an inner
    /// chunk of the innermost level. The last varies fastest.
    #[must_use]
    pub fn stored_axes(&self) -> Vec<usize> {
        let mut chain = &self.chain;
        let mut axes = chain.order().to_vec();
        while let Access::Indexed(sharding) = chain.access() {
            chain = sharding.chunks();
            axes = chain.order().iter().map(|&axis| axes[axis]).collect();
        }
        axes
    }

    /// The key of a chunk.
    ///
    /// # Errors
    /// The key is not valid in a store.
    pub fn key(&self, chunk: &[u64]) -> Result<Key, StoreError> {
        Key::new(self.keys.key(chunk))
    }

    /// Shape of a chunk, in elements.
    pub(crate) fn shape_of(&self, chunk: &[u64]) -> Vec<u64> {
        // A chunk outside the grid fails later.
        self.grid
            .shape_of(chunk)
            .unwrap_or_else(|| self.grid.chunk_shape().to_vec())
    }

    pub(crate) fn fallback_key(&self, chunk: &[u64]) -> Option<Key> {
        Key::new(self.keys.fallback_key(chunk)?).ok()
    }

    pub(crate) fn place(&self, store: &str, chunk: &[u64]) -> UnitPlace {
        UnitPlace {
            store: store.to_owned(),
            key: self.keys.key(chunk),
            unit: chunk.to_vec(),
        }
    }
}

/// Checks that a chain can encode every chunk of a grid.
fn check(chain: &CodecChain, grid: &ChunkGrid) -> Result<(), EngineError> {
    grid.try_each_distinct_shape(|shape| chain.check(shape))?;
    Ok(())
}
