//! Assembles shards from inner chunks in any order.

mod publish;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ndzarr_codec::{Access, CodecError, ShardLayout, Sharding};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_store::{Key, Temporary};

use crate::cache::with_files;
use crate::threads::scratch::with_workspace;
use crate::writing::encode_job::EncodeJob;
use crate::{AnyStore, ChunkedArray, EngineCause, EngineError, RunOptions, Source};

/// Writes one shard from inner chunks that come in any order, from any number of threads.
///
/// They are encoded at once and kept encoded, in memory or in a temporary of the store. At the end
/// the shard is published once; inner chunks that were not given stay as they are stored at that
/// moment. Dropping the writer leaves the old shard.
#[derive(Debug)]
pub struct ShardWriter {
    array: Arc<ChunkedArray>,
    store: AnyStore,
    shard: Vec<u64>,
    key: Key,
    /// Of the shard, by the stored axes.
    shape: Vec<u64>,
    /// The part of it that is inside the array, by the stored axes.
    bounds: Vec<u64>,
    /// Of the inner chunks, by the stored axes.
    grid: ChunkGrid,
    layout: ShardLayout,
    temporary: Option<Box<dyn Temporary>>,
    states: Mutex<InnerStates>,
    options: RunOptions,
}

#[derive(Debug)]
struct InnerStates {
    /// For each inner chunk, in C order of the stored axes.
    list: Vec<InnerState>,
    /// True if the temporary contains bytes that no inner chunk uses.
    holes: bool,
}

/// The state of an inner chunk.
#[derive(Clone, Debug)]
enum InnerState {
    NotGiven,
    /// All fill value.
    Empty,
    Memory(Bytes),
    /// Position and length in the temporary.
    Spilled(u64, u64),
}

/// The states of this many inner chunks.
fn none_given(n: usize) -> Result<Vec<InnerState>, CodecError> {
    let mut list = Vec::new();
    let byte_len = n.saturating_mul(size_of::<InnerState>());
    list.try_reserve_exact(n)
        .map_err(|_| CodecError::OutOfMemory { byte_len })?;
    list.resize(n, InnerState::NotGiven);
    Ok(list)
}

impl ShardWriter {
    /// Begins to write a shard, whose inner chunks are kept in memory.
    ///
    /// # Errors
    /// The shard does not exist; the array's chain has no shards, or has further codecs after them;
    /// it has too many inner chunks for this machine's memory.
    pub fn new(
        array: &Arc<ChunkedArray>,
        store: AnyStore,
        shard: &[u64],
        options: &RunOptions,
    ) -> Result<Self, EngineError> {
        let chain = array.chain();
        let Access::Indexed(sharding) = chain.access() else {
            let what = "the chunks have no inner chunks that can be written one by one";
            return Err(CodecError::config("sharding_indexed", what).into());
        };
        let inside = array.grid().clipped_region(shard).ok_or_else(|| {
            let what = format!(
                "no shard {shard:?} in a grid of {:?}",
                array.grid().grid_shape()
            );
            CodecError::config("sharding_indexed", what)
        })?;
        let place = || array.place(&store.name(), shard);
        let key = array
            .key(shard)
            .map_err(|error| EngineError::at(error, place()))?;
        let shape = chain.stored(&array.shape_of(shard));
        let bounds = chain.stored(&inside.shape());
        let grid = ChunkGrid::regular(&shape, sharding.chunk_shape())
            .map_err(|error| CodecError::config("sharding_indexed", error))?;
        let layout = sharding.layout(&shape);
        let list =
            none_given(layout.n_chunks()).map_err(|error| EngineError::at(error, place()))?;
        let states = Mutex::new(InnerStates { list, holes: false });
        Ok(Self {
            array: Arc::clone(array),
            store,
            shard: shard.to_vec(),
            key,
            shape,
            bounds,
            grid,
            layout,
            temporary: None,
            states,
            options: options.clone(),
        })
    }

    /// Keeps inner chunks in a temporary of the store, if it has such.
    ///
    /// # Errors
    /// The store fails.
    pub fn spilling(mut self) -> Result<Self, EngineError> {
        self.temporary = self.new_temporary().map_err(|cause| self.at(cause))?;
        Ok(self)
    }

    fn new_temporary(&self) -> Result<Option<Box<dyn Temporary>>, EngineCause> {
        let AnyStore::Blocking(store) = &self.store else {
            return Ok(None);
        };
        let temporary = with_files(|| store.temporary(&self.key))?;
        if let Some(temporary) = temporary
            .as_ref()
            .filter(|_| !self.layout.ends_with_index())
        {
            // Reserves the place of the index, which is written last.
            let byte_len = self.layout.index_len() as usize;
            let place = with_workspace(|workspace| workspace.take_filled(byte_len));
            temporary.append(&place.map_err(|_| CodecError::OutOfMemory { byte_len })?)?;
        }
        Ok(temporary)
    }

    /// Continues with these options.
    #[must_use]
    pub fn with_options(mut self, options: &RunOptions) -> Self {
        self.options = options.clone();
        self
    }

    /// Continues for the array as it is now: it may be longer or shorter, with the same chunks. The
    /// inner chunks that were given have to be inside.
    #[must_use]
    pub fn within(mut self, array: &Arc<ChunkedArray>) -> Self {
        if let Some(inside) = array.grid().clipped_region(&self.shard) {
            self.bounds = array.chain().stored(&inside.shape());
        }
        self.array = Arc::clone(array);
        self
    }

    /// Encodes an inner chunk and keeps it. `inner` is its index within the shard. The elements are
    /// those of the source from `start` on, as many as the inner chunk has inside the array. An
    /// inner chunk given before is replaced.
    ///
    /// # Errors
    /// The array has no such inner chunk; a codec or the store fails.
    pub fn write_inner(
        &self,
        inner: &[u64],
        source: &dyn Source,
        start: &[usize],
    ) -> Result<(), EngineError> {
        self.give(inner, source, start)
            .map_err(|cause| self.at(cause))
    }

    fn give(&self, inner: &[u64], source: &dyn Source, start: &[usize]) -> Result<(), EngineCause> {
        let chain = self.array.chain();
        let sharding = self.sharding()?;
        let refuse = || {
            let what = format!("no inner chunk {inner:?} of this shard is inside the array");
            CodecError::config("sharding_indexed", what)
        };
        if inner.len() != self.shape.len() {
            return Err(refuse().into());
        }
        let stored = chain.stored(inner);
        let inside = self.inside(&stored).ok_or_else(refuse)?;
        let job = EncodeJob {
            chain: Arc::clone(sharding.chunks()),
            shape: sharding.chunk_shape().to_vec(),
            region: Region::whole(&inside),
            bounds: inside,
            source_start: chain.order().iter().map(|&axis| start[axis]).collect(),
            axes: chain.order().to_vec(),
            old: None,
            outside: self.array.outside,
            fill_chunks: self.options.fill_chunks,
            inner_chunk: vec![inner.to_vec()],
        };
        let encoded = with_workspace(|workspace| job.run(source, workspace))?;
        let state = match (encoded, &self.temporary) {
            (None, _) => InnerState::Empty,
            (Some(encoded), Some(temporary)) => {
                let at = temporary.append(&encoded).map_err(EngineCause::from);
                let at = at.map_err(|cause| cause.within(&job.inner_chunk))?;
                InnerState::Spilled(at, encoded.len() as u64)
            }
            (Some(encoded), None) => InnerState::Memory(encoded.into()),
        };
        let mut states = self.states();
        let before = std::mem::replace(&mut states.list[self.layout.number(stored)], state);
        states.holes |= matches!(before, InnerState::Spilled(..));
        Ok(())
    }

    /// The part of an inner chunk inside the array, by the stored axes, if any.
    fn inside(&self, stored: &[u64]) -> Option<Vec<u64>> {
        let region = self
            .grid
            .chunk_region(stored)?
            .intersection(&Region::whole(&self.bounds));
        (!region.is_empty()).then(|| region.shape())
    }

    /// True if an inner chunk, by its number, is inside the array.
    fn is_inside(&self, number: usize) -> bool {
        let mut rest = number as u64;
        let mut stored = self.grid.grid_shape();
        for n in stored.iter_mut().rev() {
            let len = (*n).max(1);
            *n = rest % len;
            rest /= len;
        }
        self.inside(&stored).is_some()
    }

    fn states(&self) -> MutexGuard<'_, InnerStates> {
        // They are replaced as a whole.
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sharding(&self) -> Result<&Arc<Sharding>, EngineCause> {
        match self.array.chain().access() {
            Access::Indexed(sharding) => Ok(sharding),
            Access::Whole | Access::Raw { .. } => {
                Err(CodecError::config("sharding_indexed", "there are no shards").into())
            }
        }
    }

    fn at(&self, cause: EngineCause) -> EngineError {
        EngineError::at(cause, self.array.place(&self.store.name(), &self.shard))
    }
}
