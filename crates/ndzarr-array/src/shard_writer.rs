//! Shards that are put together from inner chunks in any order.

use std::marker::PhantomData;
use std::sync::Arc;

use ndarray::{ArrayRef, CowArray, Dimension};
use ndzarr_engine::{EngineError, ShardStore, on_own_thread};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_model::DataType;

use crate::array::Array;
use crate::chunks::Chunks;
use crate::core::Core;
use crate::element::{Element, Input};
use crate::error::{Error, ErrorKind, Result};
use crate::steps::Steps;
use crate::storage::Kind;

/// Writes one shard from inner chunks that come in any order, from any number of threads. See
/// [`Array::shard_writer`].
#[derive(Debug)]
pub struct ShardWriter<T> {
    inner: ndzarr_engine::ShardWriter,
    core: Core,
    shard: Vec<u64>,
    /// The inner chunks of the whole array.
    grid: ChunkGrid,
    /// What of the shard is inside the array.
    region: Region,
    /// Index of the first inner chunk of the shard.
    first: Vec<u64>,
    stored: DataType,
    element: PhantomData<fn(T)>,
}

impl<T: Element> Array<T> {
    /// Begins to write a shard, from inner chunks in any order. The index counts shards.
    ///
    /// Inner chunks are encoded by the thread that gives them and kept encoded: in a folder in a temporary file beside
    /// that of the shard, so that memory has those alone that are being encoded; in other stores in memory. When it is
    /// [finished](ShardWriter::finish), the shard is published, once. What was not given is what it is at that moment, so
    /// that nobody's update is lost. Until then, and if it is dropped, the shard stays as it is.
    ///
    /// A killed process leaves its temporary file behind; the next writer of the same shard takes it over, and removing
    /// the array removes it.
    ///
    /// # Errors
    /// No such shard; an array without shards, or with codecs behind its shards; the store.
    ///
    /// ```
    /// use ndarray::{ArrayD, IxDyn};
    /// use ndzarr_array::Array;
    /// use ndzarr_store::MemoryStore;
    ///
    /// let store = MemoryStore::new();
    /// let a = Array::<u16>::builder([10, 8]).chunks([2, 2]).shards([8, 8]).create(&store, "a")?;
    /// let writer = a.shard_writer(&[1, 0])?;
    /// // What of the shard is inside the array: 2 x 8 elements in 4 inner chunks.
    /// let chunks: Vec<_> = writer.inner_chunks().collect();
    /// assert_eq!(chunks.len(), 4);
    /// std::thread::scope(|scope| {
    ///     for chunk in chunks.iter().rev() {
    ///         let writer = &writer;
    ///         scope.spawn(move || writer.write_inner(&chunk.index, &ArrayD::ones(IxDyn(&[2, 2]))));
    ///     }
    /// });
    /// assert_eq!(a.read(..)?.sum(), 0, "nothing is there yet");
    /// writer.finish()?;
    /// assert_eq!(a.read(..)?.sum(), 16);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn shard_writer(&self, shard: &[u64]) -> Result<ShardWriter<T>> {
        let core = &self.core;
        let Some(inner_shape) = core.spec().inner_chunk_shape() else {
            return Err(core.name(Error::new(ErrorKind::InvalidArgument, "the array has no shards")));
        };
        let ranges = core.chunk_ranges(shard, &core.grid()?)?;
        let store = match &core.storage.0 {
            Kind::Blocking(store) => ShardStore::Blocking(Arc::clone(store)),
            Kind::Async(store) => ShardStore::Async(Arc::clone(store)),
        };
        let inner = ndzarr_engine::ShardWriter::new(core.writable()?, store, shard, &core.options);
        let inner = core.named(inner)?;
        let grid = core.inner_grid()?;
        let first = ranges.iter().zip(&inner_shape).map(|(range, &n)| range.start / n.max(1)).collect();
        let stored = core.spec().data_type.clone();
        Ok(ShardWriter {
            inner,
            core: core.clone(),
            shard: shard.to_vec(),
            grid,
            region: Region::new(ranges),
            first,
            stored,
            element: PhantomData,
        })
    }
}

impl<T: Element> ShardWriter<T> {
    /// The inner chunks that the shard has inside the array, in C order of their indices. An index counts inner chunks
    /// over the whole array, as in [`Array::read_inner_chunk`].
    pub fn inner_chunks(&self) -> Chunks {
        Chunks::within(&self.grid, &self.region)
    }

    /// Gives an inner chunk; `data` has the shape of what of it is inside the array. The index counts inner chunks over
    /// the whole array. One that was given before is replaced.
    ///
    /// # Errors
    /// The shard has no such inner chunk inside the array; `data` has another shape; the codecs; the store.
    pub fn write_inner<D: Dimension>(&self, inner: &[u64], data: &ArrayRef<T, D>) -> Result<()> {
        let inside = self.grid.clipped_region(inner).filter(|inside| self.region.contains(inside));
        let Some(inside) = inside else {
            let what = format!("no inner chunk {inner:?} in this shard, which begins at {:?}", self.first);
            return Err(self.core.name(Error::new(ErrorKind::WrongShape, what)));
        };
        let fits = data.shape().iter().map(|&n| n as u64).eq(inside.shape());
        if !fits {
            let what =
                format!("an array of shape {:?} for an inner chunk of {:?}", data.shape(), inside.shape());
            return Err(self.core.name(Error::new(ErrorKind::WrongShape, what)));
        }
        let elements = CowArray::from(data.view().into_dyn());
        self.core.named(T::check(elements.view(), &self.stored))?;
        let axes = vec![Steps::ALL; elements.ndim()];
        let source = T::source(Input { axes, elements, stored: &self.stored });
        let within: Vec<u64> = inner.iter().zip(&self.first).map(|(index, first)| index - first).collect();
        self.core.named(self.inner.write_inner(&within, &*source))
    }

    /// Publishes the shard. Inner chunks that were not given are copied, encoded, from the shard of this moment; one
    /// without any is removed. A resize after the last look at the array's shape, which comes just before, goes unnoticed.
    ///
    /// # Errors
    /// The array was removed, or made so small that some of the shard is outside of it; the stored shard is broken, where
    /// something of it remains; the store. The old shard stays then.
    pub fn finish(self) -> Result<()> {
        self.core.storage.clone().wait(self.publish())
    }

    /// As [`finish`](Self::finish), without blocking the task.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub async fn finish_async(mut self) -> Result<()> {
        if !self.core.storage.is_blocking() {
            return self.publish().await;
        }
        let (_stop, options) = self.core.options.part();
        self.inner = self.inner.with_options(&options);
        // Not on the pool, since it may wait for a lock.
        on_own_thread(move || Ok(self.finish())).await.map_err(EngineError::from)?
    }

    async fn publish(self) -> Result<()> {
        let Self { inner, core, shard, region, .. } = self;
        let key = core.spec().keys.key(&shard);
        let check =
            async || core.check_inside(&shard, &region).await.map_err(|error| error.at_chunk(key, &shard));
        inner.finish(check).await.map_err(|error| core.name(error))
    }
}
