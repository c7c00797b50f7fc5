//! Shards that are put together from inner chunks in any order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use ndzarr_codec::{Access, CodecError, ShardIndex, Sharding};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_model::IndexLocation;
use ndzarr_store::{AsyncStore, Key, Store, StoreError, Temporary};

use crate::encode_job::EncodeJob;
use crate::parallel::with_workspace;
use crate::{ChunkedArray, EngineCause, EngineError, RunOptions, Source};

mod finish;

/// Writes one shard from inner chunks that come in any order, from any number of threads.
///
/// They are encoded at once and kept encoded, in a temporary of the store where it has such, else in memory. At the end
/// the shard is published, once, with what was not given as it is stored at that moment. Dropping it without that leaves
/// the shard that there was.
#[derive(Debug)]
pub struct ShardWriter {
    array: Arc<ChunkedArray>,
    store: ShardStore,
    shard: Vec<u64>,
    key: Key,
    /// Of the shard, by the stored axes.
    shape: Vec<u64>,
    /// What of it is inside the array, by the stored axes.
    bounds: Vec<u64>,
    /// Of the inner chunks, by the stored axes.
    grid: ChunkGrid,
    temporary: Option<Box<dyn Temporary>>,
    slots: Mutex<Slots>,
    options: RunOptions,
}

/// The store that a shard is written to.
#[derive(Clone, Debug)]
pub enum ShardStore {
    /// One whose calls block.
    Blocking(Arc<dyn Store>),
    /// One whose calls are futures.
    Async(Arc<dyn AsyncStore>),
}

impl ShardStore {
    fn name(&self) -> String {
        match self {
            Self::Blocking(store) => store.name(),
            Self::Async(store) => store.name(),
        }
    }
}

#[derive(Debug)]
struct Slots {
    /// Of each inner chunk, in C order of the stored axes.
    list: Vec<Slot>,
    /// Whether bytes of the temporary belong to no inner chunk any more.
    holes: bool,
}

/// What is known of an inner chunk.
#[derive(Clone, Debug)]
enum Slot {
    NotGiven,
    /// All fill.
    Empty,
    Memory(Bytes),
    /// Where it is in the temporary, and how long.
    Spilled(u64, u64),
}

impl ShardWriter {
    /// Begins to write a shard.
    ///
    /// # Errors
    /// No such shard; an array whose chain has no shards, or further codecs behind them; the store.
    pub fn new(
        array: &Arc<ChunkedArray>,
        store: ShardStore,
        shard: &[u64],
        options: &RunOptions,
    ) -> Result<Self, EngineError> {
        let chain = array.chain();
        let Access::Indexed(sharding) = chain.access() else {
            let what = "the chunks have no inner chunks that can be written one by one";
            return Err(CodecError::config("sharding_indexed", what).into());
        };
        let inside = array.grid().clipped_region(shard).ok_or_else(|| {
            let what = format!("no shard {shard:?} in a grid of {:?}", array.grid().grid_shape());
            CodecError::config("sharding_indexed", what)
        })?;
        let place = || array.place(&store.name(), shard);
        let key = array.key(shard).map_err(|error| EngineError::at(error, place()))?;
        let (shape, bounds) = (chain.stored(&array.shape_of(shard)), chain.stored(&inside.shape()));
        let grid = ChunkGrid::regular(&shape, sharding.chunk_shape())
            .map_err(|error| CodecError::config("sharding_indexed", error))?;
        let n = grid.grid_shape().iter().map(|&n| n as usize).product();
        let temporary = match &store {
            ShardStore::Blocking(store) => store.temporary(&key),
            ShardStore::Async(_) => Ok(None),
        };
        let temporary = temporary.map_err(|error| EngineError::at(error, place()))?;
        if let (Some(temporary), IndexLocation::Start) = (&temporary, sharding.location()) {
            // Its place; what is in it comes last.
            let len = sharding.index_len(&shape).unwrap_or(0);
            temporary.append(&vec![0; len]).map_err(|error| EngineError::at(error, place()))?;
        }
        Ok(Self {
            array: Arc::clone(array),
            store,
            shard: shard.to_vec(),
            key,
            shape,
            bounds,
            grid,
            temporary,
            slots: Mutex::new(Slots { list: vec![Slot::NotGiven; n], holes: false }),
            options: options.clone(),
        })
    }

    /// The same writer, which goes on with these options.
    #[must_use]
    pub fn with_options(mut self, options: &RunOptions) -> Self {
        self.options = options.clone();
        self
    }

    /// Encodes an inner chunk and keeps it. `inner` counts inner chunks within the shard; the source has the shape of
    /// what of the inner chunk is inside the array. One that was given before is replaced.
    ///
    /// # Errors
    /// No such inner chunk inside the array; the codecs; the store.
    pub fn write_inner(&self, inner: &[u64], source: &dyn Source) -> Result<(), EngineError> {
        self.give(inner, source).map_err(|cause| self.at(cause))
    }

    fn give(&self, inner: &[u64], source: &dyn Source) -> Result<(), EngineCause> {
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
            source_start: vec![0; stored.len()],
            axes: chain.order().to_vec(),
            old: None,
            outside: self.array.outside,
            fill_chunks: self.options.fill_chunks,
        };
        let encoded = with_workspace(|workspace| job.run(source, workspace))?;
        let slot = match (encoded, &self.temporary) {
            (None, _) => Slot::Empty,
            (Some(encoded), Some(temporary)) => {
                Slot::Spilled(temporary.append(&encoded)?, encoded.len() as u64)
            }
            (Some(encoded), None) => Slot::Memory(encoded.into()),
        };
        let linear = (stored.iter().zip(self.grid.grid_shape()))
            .fold(0, |linear, (&index, n)| linear * n as usize + index as usize);
        let mut slots = self.slots();
        let before = std::mem::replace(&mut slots.list[linear], slot);
        slots.holes |= matches!(before, Slot::Spilled(..));
        Ok(())
    }

    /// What of an inner chunk is inside the array, by the stored axes; `None`: nothing, or there is no such one.
    fn inside(&self, stored: &[u64]) -> Option<Vec<u64>> {
        let region = self.grid.chunk_region(stored)?.intersection(&Region::whole(&self.bounds));
        (!region.is_empty()).then(|| region.shape())
    }

    /// Whether an inner chunk, by its number, is inside the array.
    fn is_inside(&self, linear: usize) -> bool {
        let mut rest = linear as u64;
        let mut stored = self.grid.grid_shape();
        for n in stored.iter_mut().rev() {
            let len = (*n).max(1);
            *n = rest % len;
            rest /= len;
        }
        self.inside(&stored).is_some()
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        // Slots are replaced whole.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The index of a stored shard.
fn decode_index(
    sharding: &Sharding,
    encoded: &Bytes,
    shape: &[u64],
    value_len: u64,
) -> Result<ShardIndex, EngineCause> {
    Ok(with_workspace(|workspace| sharding.decode_index(encoded, shape, value_len, workspace))?)
}

fn no_part(key: &Key) -> EngineCause {
    StoreError::Other { action: "read", key: key.to_string(), what: "the store gave no part".to_owned() }
        .into()
}
