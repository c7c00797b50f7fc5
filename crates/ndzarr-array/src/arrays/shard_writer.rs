//! Assembles shards from inner chunks in any order.

use std::marker::PhantomData;
use std::sync::{Arc, PoisonError, RwLock};

use ndarray::{ArrayViewD, Dimension};
use ndzarr_engine::{EngineError, Source, pass_dropped_futures, queued};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_store::block_on;

use crate::arrays::chunks::Chunks;
use crate::arrays::info::ArrayInfo;
use crate::element_types::any_elements::AnyElements;
use crate::element_types::element::Element;
use crate::element_types::element_type::Any;
use crate::error::{Error, ErrorKind, Result};
use crate::mode::{Asynchronous, Blocking};
use crate::tiles::to_view::ToView;

/// Writes one shard from inner chunks that arrive in any order and from any number of threads. See
/// [`Array::shard_writer`](crate::Array::shard_writer).
#[derive(Debug)]
pub struct ShardWriter<T, M = Blocking> {
    shard: Arc<Shard>,
    mode: PhantomData<fn(T, M)>,
}

/// A shard that is being written.
#[derive(Debug)]
struct Shard {
    /// `None` once finishing begins. Writing an inner chunk holds a read lock. Finishing waits for
    /// it, even if the caller of that write has stopped waiting.
    inner: RwLock<Option<ndzarr_engine::ShardWriter>>,
    info: ArrayInfo,
    index: Vec<u64>,
    /// The inner chunks of the whole array.
    grid: ChunkGrid,
    /// The part of the shard that is inside the array.
    region: Region,
    /// Index of the first inner chunk of the shard.
    first: Vec<u64>,
}

impl<T, M> ShardWriter<T, M> {
    pub(crate) fn begin(info: ArrayInfo, index: &[u64]) -> Result<Self> {
        let Some(inner_shape) = info.spec().inner_chunk_shape() else {
            return Err(info.name(Error::new(
                ErrorKind::InvalidArgument,
                "the array has no shards",
            )));
        };
        let ranges = info.chunk_ranges(index, &info.grid()?)?;
        let store = info.storage.store.clone();
        let inner = ndzarr_engine::ShardWriter::new(info.writable()?, store, index, &info.options);
        let inner = RwLock::new(Some(info.named(inner.and_then(|inner| inner.spilling()))?));
        let grid = info.inner_grid()?;
        let first = ranges
            .iter()
            .zip(&inner_shape)
            .map(|(range, &n)| range.start / n.max(1))
            .collect();
        let shard = Shard {
            inner,
            info,
            index: index.to_vec(),
            grid,
            region: Region::new(ranges),
            first,
        };
        Ok(Self {
            shard: Arc::new(shard),
            mode: PhantomData,
        })
    }

    /// The inner chunks of the shard that are inside the array, in C order of their indices. An
    /// index counts inner chunks over the whole array, as in
    /// [`Array::read_chunk`](crate::Array::read_chunk).
    pub fn chunks(&self) -> Chunks {
        Chunks::within(self.shard.grid.clone(), &self.shard.region)
    }
}

/// The writer with asynchronous calls.
impl<T> From<ShardWriter<T>> for ShardWriter<T, Asynchronous> {
    fn from(writer: ShardWriter<T>) -> Self {
        Self {
            shard: writer.shard,
            mode: PhantomData,
        }
    }
}

/// The writer with blocking calls.
impl<T> From<ShardWriter<T, Asynchronous>> for ShardWriter<T> {
    fn from(writer: ShardWriter<T, Asynchronous>) -> Self {
        Self {
            shard: writer.shard,
            mode: PhantomData,
        }
    }
}

impl<T: Element> ShardWriter<T> {
    /// Adds an inner chunk; `data` has the shape of the part of it that is inside the array. The
    /// index counts inner chunks over the whole array. If the inner chunk was given before, it is
    /// replaced.
    ///
    /// # Errors
    /// The shard has no such inner chunk inside the array; `data` has another shape; a codec fails;
    /// the store fails.
    pub fn write_chunk(&self, inner: &[u64], data: &(impl ToView<T> + ?Sized)) -> Result<()> {
        self.shard.write_inner(inner, data.to_view())
    }
}

impl ShardWriter<Any> {
    /// Adds an inner chunk, like `write_chunk` of a writer of a Rust type.
    ///
    /// # Errors
    /// `data` has another type than the array; the shard has no such inner chunk inside the array;
    /// `data` has another shape; a codec fails; the store fails.
    pub fn write_chunk<D: Dimension>(&self, inner: &[u64], data: &AnyElements<D>) -> Result<()> {
        self.shard.write_any(inner, data)
    }
}

impl<E> ShardWriter<E> {
    /// Publishes the shard. Inner chunks that were not given are copied in encoded form from the
    /// shard as it is stored at that moment; a shard without any inner chunks is removed. The
    /// array's shape is checked just before; a resize after this check goes unnoticed.
    ///
    /// # Errors
    /// The array was removed, or shrunk so that part of the shard is outside; its chunks lie under
    /// another separator than its metadata state; the stored shard is corrupt and some of it is to
    /// be kept; the store fails. The old shard then stays.
    pub fn finish(self) -> Result<()> {
        let shard = self.shard;
        let inner = shard.take()?;
        shard.info.wait_change(shard.publish(inner))
    }
}

impl<T: Element> ShardWriter<T, Asynchronous> {
    /// Asynchronous [`ShardWriter::write_chunk`]. The elements are copied and encoded by the
    /// library's threads. If the future is dropped, the inner chunk may or may not have been added.
    ///
    /// # Errors
    /// As for [`ShardWriter::write_chunk`].
    pub async fn write_chunk(
        &self,
        inner: &[u64],
        data: &(impl ToView<T> + Sync + ?Sized),
    ) -> Result<()> {
        let shard = Arc::clone(&self.shard);
        let inner = inner.to_vec();
        let data = data.to_view().to_owned();
        self.shard
            .info
            .work_on_pool(move || shard.write_inner(&inner, data.view()))
            .await
    }
}

impl ShardWriter<Any, Asynchronous> {
    /// Asynchronous [`ShardWriter::write_chunk`]. The elements are copied and encoded by the
    /// library's threads. If the future is dropped, the inner chunk may or may not have been added.
    ///
    /// # Errors
    /// As for [`ShardWriter::write_chunk`].
    pub async fn write_chunk<D: Dimension>(
        &self,
        inner: &[u64],
        data: &AnyElements<D>,
    ) -> Result<()> {
        let shard = Arc::clone(&self.shard);
        let inner = inner.to_vec();
        let data = data.clone().into_dyn();
        self.shard
            .info
            .work_on_pool(move || shard.write_any(&inner, &data))
            .await
    }
}

impl<E> ShardWriter<E, Asynchronous> {
    /// Asynchronous [`ShardWriter::finish`].
    ///
    /// # Errors
    /// As for [`ShardWriter::finish`].
    pub async fn finish(self) -> Result<()> {
        let shard = Arc::clone(&self.shard);
        let given = self.shard;
        if !shard.info.storage.is_blocking() {
            let inner = shard.info.work_on_pool(move || given.take()).await?;
            return shard.publish(inner).await;
        }
        let name = shard.info.storage.name();
        let store = &shard.info.storage.store;
        pass_dropped_futures(store, shard.info.options.cancel.as_ref()).await;
        let (_stop, options) = shard.info.options.part_of_future(store);
        let cancel = options.cancel.clone();
        let info = shard.info.clone();
        // Not on the pool, because it may wait for a lock.
        let finish = move || {
            let inner = shard.take().map(|inner| inner.with_options(&options));
            Ok(inner.and_then(|inner| block_on(shard.publish(inner))))
        };
        info.named(
            queued(&name, cancel.as_ref(), finish)
                .await
                .map_err(EngineError::from),
        )?
    }
}

impl Shard {
    fn write_inner<T: Element>(&self, index: &[u64], data: ArrayViewD<'_, T>) -> Result<()> {
        let within = self.within(index, data.shape())?;
        self.write_source(&within, &*self.info.box_source(data)?)
    }

    fn write_any<D: Dimension>(&self, index: &[u64], data: &AnyElements<D>) -> Result<()> {
        let within = self.within(index, data.shape())?;
        let source = self.info.any_source(data)?;
        self.write_source(&within, &*source)
    }

    /// The index of an inner chunk within the shard, after a check of the shape of its elements.
    fn within(&self, index: &[u64], shape: &[usize]) -> Result<Vec<u64>> {
        let info = &self.info;
        let inside = self
            .grid
            .clipped_region(index)
            .filter(|inside| self.region.contains(inside));
        let Some(inside) = inside else {
            let what = format!(
                "no inner chunk {index:?} in this shard, which begins at {:?}",
                self.first
            );
            return Err(info.name(Error::new(ErrorKind::WrongShape, what)));
        };
        let fits = shape.iter().map(|&n| n as u64).eq(inside.shape());
        if !fits {
            let what = format!(
                "an array of shape {shape:?} for an inner chunk of {:?}",
                inside.shape()
            );
            return Err(info.name(Error::new(ErrorKind::WrongShape, what)));
        }
        Ok(index
            .iter()
            .zip(&self.first)
            .map(|(index, first)| index - first)
            .collect())
    }

    fn write_source(&self, within: &[u64], source: &dyn Source) -> Result<()> {
        let info = &self.info;
        let inner = self.inner.read().unwrap_or_else(PoisonError::into_inner);
        match &*inner {
            Some(inner) => info.named(inner.write_inner(within, source, &vec![0; within.len()])),
            None => Err(info.name(Error::new(
                ErrorKind::Cancelled,
                "the shard was finished in the meantime",
            ))),
        }
    }

    /// Takes the inner writer, after which no more inner chunks can be added.
    fn take(&self) -> Result<ndzarr_engine::ShardWriter> {
        let inner = self
            .inner
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        inner.ok_or_else(|| {
            self.info.name(Error::new(
                ErrorKind::Cancelled,
                "the shard was already finished",
            ))
        })
    }

    async fn publish(&self, inner: ndzarr_engine::ShardWriter) -> Result<()> {
        let Self {
            info,
            index,
            region,
            ..
        } = self;
        info.confirm_keys().await?;
        let key = info.spec().keys.key(index);
        let check = async || {
            info.check_inside(index, region)
                .await
                .map_err(|error| error.at_chunk(key, index))
        };
        inner.finish(check).await.map_err(|error| info.name(error))
    }
}
