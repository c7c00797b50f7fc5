//! The calls of arrays that read and write elements.

use ndarray::{Array as NdArray, ArrayD, ArrayRef, Dimension};

use super::ArrayIn;
use crate::arrays::shard_writer::ShardWriter;
use crate::element_types::element::Element;
use crate::error::Result;
use crate::mode::{Asynchronous, Blocking};
use crate::selections::resolved::{Resolved, into_dim};
use crate::selections::selection::Selection;
use crate::tiles::to_view::ToView;

impl<T: Element> ArrayIn<T, Blocking> {
    /// Reads a selection into a new array in standard layout.
    ///
    /// The result has the shape of the selection, in elements. Elements of chunks that are not
    /// stored are the fill value. Large results are aligned within their `Vec`, to 64 bytes from 1
    /// MiB and to 2 MiB from 16 MiB, so `into_raw_vec_and_offset` may report an offset. The memory
    /// before it is never touched, unless the array is cloned.
    ///
    /// # Errors
    /// The selection does not fit the array (checked before any I/O); a chunk is corrupt; the store
    /// fails.
    pub fn read<S: Selection>(&self, selection: S) -> Result<NdArray<T, S::OutDim>> {
        let resolved = self.info.resolve(&selection)?;
        into_dim(self.read_resolved(&resolved)?)
    }

    fn read_resolved(&self, resolved: &Resolved) -> Result<ArrayD<T>> {
        self.info.wait(self.info.read_elements(resolved))
    }

    /// Reads many selections as one task that the threads share. For small selections this is
    /// faster than a call for each. The results are in the order of the selections.
    ///
    /// ```
    /// # use ndarray::{Array2, array};
    /// # use ndzarr::{Array, MemoryStore};
    /// # let store = MemoryStore::new();
    /// # let a = Array::<u16>::builder([2, 4]).chunks([2, 2]).create((&store, "a"))?;
    /// a.write(.., &array![[1, 2, 3, 4], [5, 6, 7, 8]].into_dyn())?;
    /// let blocks: Vec<Array2<u16>> = a.read_many([[0..2, 0..1], [1..2, 2..4]])?;
    /// assert_eq!(blocks, [array![[1], [5]], array![[7, 8]]]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn read_many<S: Selection>(
        &self,
        selections: impl IntoIterator<Item = S>,
    ) -> Result<Vec<NdArray<T, S::OutDim>>> {
        let resolved = self.info.resolve_all(selections)?;
        let outs = self.info.wait(self.info.read_many_elements(&resolved))?;
        outs.into_iter().map(into_dim).collect()
    }

    /// Reads a selection into existing memory with any strides. Elements of chunks that are not
    /// stored become the fill value.
    ///
    /// # Errors
    /// `out` has another shape than the selection, or an error of [`read`](Self::read). After an
    /// error the content of `out` is unspecified.
    pub fn read_into<S: Selection, D: Dimension>(
        &self,
        selection: S,
        out: &mut ArrayRef<T, D>,
    ) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        self.info.wait(
            self.info
                .read_elements_into(&resolved, out.view_mut().into_dyn()),
        )
    }

    /// Writes a selection. `data` has the shape of the selection, in elements.
    ///
    /// Each chunk is replaced as a whole, and concurrent writes of one chunk take effect one after
    /// the other. A chunk that the selection covers is not read first; any other is read, merged
    /// and written. Chunks that contain only the fill value are not stored, unless the options say
    /// otherwise.
    ///
    /// # Errors
    /// `data` has another shape than the selection (checked before any I/O); the store fails. Some
    /// chunks may have been written before the one that failed.
    pub fn write<S: Selection>(
        &self,
        selection: S,
        data: &(impl ToView<T> + ?Sized),
    ) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        let data = data.to_view();
        self.info
            .wait(self.info.write_elements::<Blocking, _>(&resolved, data))
    }

    /// Sets every element of a selection to one value, as [`write`](Self::write) would. Filling
    /// with the fill value erases whole chunks.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn fill<S: Selection>(&self, selection: S, value: T) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        self.info
            .wait(self.info.fill_elements::<Blocking, _>(&resolved, value))
    }

    /// Reads the part of a chunk that lies inside the array, in standard layout; the fill value if
    /// the chunk is not stored. In a sharded array it is an inner chunk, by its index in the whole
    /// array: one request for the shard's index, unless it is known already, and one for the bytes.
    ///
    /// # Errors
    /// The chunk does not exist, or an error of [`read`](Self::read).
    pub fn read_chunk(&self, chunk: &[u64]) -> Result<ArrayD<T>> {
        self.read_resolved(&self.info.chunk(chunk)?)
    }

    /// Writes the part of a chunk that lies inside the array. `data` has the shape of that part, in
    /// elements.
    ///
    /// Without shards nothing is read. In a sharded array the chunk's shard is rewritten, with its
    /// other chunks unchanged: to write whole shards, use those of [`units`](Self::units) as
    /// selections, or a [`shard_writer`](Self::shard_writer).
    ///
    /// # Errors
    /// The chunk does not exist, or an error of [`write`](Self::write).
    pub fn write_chunk(&self, chunk: &[u64], data: &(impl ToView<T> + ?Sized)) -> Result<()> {
        let resolved = self.info.chunk(chunk)?;
        self.info.wait(
            self.info
                .write_elements::<Blocking, _>(&resolved, data.to_view()),
        )
    }

    /// Extends the array along an axis with `data`, whose shape is the array's except for the
    /// length along that axis.
    ///
    /// Only the chunks of the new part, partly filled chunks at the old end, and the metadata
    /// document are touched. The data goes to the array's current end as stored, which may differ
    /// from this handle's shape. Any number of threads and processes may append to one array; each
    /// append gets its own range.
    ///
    /// - In stores with locks, appends are serialized with other appends, resizes and attribute
    ///   changes. The elements are written first, so every reader that sees the new shape sees
    ///   them.
    /// - In other stores the document is changed first, by a conditional write that reserves the
    ///   range. Until the elements are written, the range reads as the fill value.
    ///
    /// # Errors
    /// `data` has another shape, or the store cannot serialize writers; in both cases nothing was
    /// written. As [`write`](Self::write): in stores with locks the array then keeps its old shape;
    /// in others it has the new shape, and elements that were not written are the fill value.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{Array, MemoryStore, s};
    ///
    /// let store = MemoryStore::new();
    /// let mut log = Array::<f32>::builder([0, 2]).chunks([100, 2]).create((&store, "log"))?;
    /// log.append(0, &array![[1.0, 2.0]])?;
    /// log.append(0, &array![[3.0, 4.0], [5.0, 6.0]])?;
    /// assert_eq!(log.shape(), [3, 2]);
    /// assert_eq!(log.read(s![.., 1])?, array![2.0, 4.0, 6.0]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn append(&mut self, axis: usize, data: &(impl ToView<T> + ?Sized)) -> Result<()> {
        let info = self.info.clone();
        let data = data.to_view();
        let shape = data.shape().to_vec();
        let source = info.box_source(data)?;
        info.wait_change(self.info.append(axis, &shape, &*source))
    }

    /// Begins to write a shard from inner chunks in any order. The index counts shards.
    ///
    /// The calling thread encodes an inner chunk, and the writer keeps it encoded. In a folder it
    /// is kept in a temporary file next to the shard's, so memory holds only the inner chunks being
    /// encoded; for other stores it is kept in memory. [`finish`](ShardWriter::finish) publishes
    /// the shard in one step. Inner chunks that were not given keep the content that they have at
    /// that moment, so no update is lost. Until then, or if the writer is dropped, the stored shard
    /// does not change.
    ///
    /// A killed process leaves its temporary file. The next writer of the same shard reuses
    /// it, and removing the array removes it.
    ///
    /// # Errors
    /// The shard does not exist; the array has no shards, or has codecs after the sharding codec;
    /// the store fails.
    ///
    /// ```
    /// use ndarray::{ArrayD, IxDyn};
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let a = Array::<u16>::builder([10, 8]).chunks([2, 2]).shards([8, 8]).create((&store, "a"))?;
    /// let writer = a.shard_writer(&[1, 0])?;
    /// // Inside the array are 2 x 8 elements in 4 inner chunks.
    /// let chunks: Vec<_> = writer.chunks().collect();
    /// assert_eq!(chunks.len(), 4);
    /// std::thread::scope(|scope| {
    ///     for chunk in chunks.iter().rev() {
    ///         let writer = &writer;
    ///         scope.spawn(move || writer.write_chunk(&chunk.index, &ArrayD::ones(IxDyn(&[2, 2]))));
    ///     }
    /// });
    /// assert_eq!(a.read(..)?.sum(), 0, "nothing is there yet");
    /// writer.finish()?;
    /// assert_eq!(a.read(..)?.sum(), 16);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn shard_writer(&self, shard: &[u64]) -> Result<ShardWriter<T>> {
        ShardWriter::begin(self.info.clone(), shard)
    }
}

impl<T: Element> ArrayIn<T, Asynchronous> {
    /// Asynchronous [`Array::read`](crate::Array::read).
    ///
    /// # Errors
    /// As for [`Array::read`](crate::Array::read).
    pub async fn read<S: Selection>(&self, selection: S) -> Result<NdArray<T, S::OutDim>> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        into_dim(self.read_resolved(resolved).await?)
    }

    async fn read_resolved(&self, resolved: Resolved) -> Result<ArrayD<T>> {
        self.info
            .on_pool(|info| async move { info.read_elements(&resolved).await })
            .await
    }

    /// Asynchronous [`Array::read_many`](crate::Array::read_many).
    ///
    /// # Errors
    /// As for [`Array::read_many`](crate::Array::read_many).
    pub async fn read_many<S: Selection>(
        &self,
        selections: impl IntoIterator<Item = S>,
    ) -> Result<Vec<NdArray<T, S::OutDim>>> {
        let resolved = self.info.resolve_all(selections)?;
        let outs = self
            .info
            .on_pool(|info| async move { info.read_many_elements(&resolved).await })
            .await?;
        outs.into_iter().map(into_dim).collect()
    }

    /// Asynchronous [`Array::read_into`](crate::Array::read_into). On a blocking store the elements
    /// are read into a separate buffer and then copied, because the library's threads could outlive
    /// a dropped future.
    ///
    /// # Errors
    /// As for [`Array::read_into`](crate::Array::read_into).
    pub async fn read_into<S: Selection, D: Dimension>(
        &self,
        selection: S,
        out: &mut ArrayRef<T, D>,
    ) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        let mut out = out.view_mut().into_dyn();
        if !self.info.storage.is_blocking() {
            return self.info.read_elements_into(&resolved, out).await;
        }
        self.info.named(resolved.check_shape(out.shape()))?;
        out.assign(&self.read_resolved(resolved).await?);
        Ok(())
    }

    /// Asynchronous [`Array::write`](crate::Array::write).
    ///
    /// # Errors
    /// As for [`Array::write`](crate::Array::write).
    pub async fn write<S: Selection>(
        &self,
        selection: S,
        data: &(impl ToView<T> + Sync + ?Sized),
    ) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        self.info
            .write_elements::<Asynchronous, _>(&resolved, data.to_view())
            .await
    }

    /// Asynchronous [`Array::fill`](crate::Array::fill).
    ///
    /// # Errors
    /// As for [`Array::fill`](crate::Array::fill).
    pub async fn fill<S: Selection>(&self, selection: S, value: T) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        self.info
            .fill_elements::<Asynchronous, _>(&resolved, value)
            .await
    }

    /// Asynchronous [`Array::read_chunk`](crate::Array::read_chunk).
    ///
    /// # Errors
    /// As for [`Array::read_chunk`](crate::Array::read_chunk).
    pub async fn read_chunk(&self, chunk: &[u64]) -> Result<ArrayD<T>> {
        self.read_resolved(self.info.chunk(chunk)?).await
    }

    /// Asynchronous [`Array::write_chunk`](crate::Array::write_chunk).
    ///
    /// # Errors
    /// As for [`Array::write_chunk`](crate::Array::write_chunk).
    pub async fn write_chunk(
        &self,
        chunk: &[u64],
        data: &(impl ToView<T> + Sync + ?Sized),
    ) -> Result<()> {
        let resolved = self.info.chunk(chunk)?;
        self.info
            .write_elements::<Asynchronous, _>(&resolved, data.to_view())
            .await
    }

    /// Asynchronous [`Array::append`](crate::Array::append).
    ///
    /// # Errors
    /// As for [`Array::append`](crate::Array::append).
    pub async fn append(
        &mut self,
        axis: usize,
        data: &(impl ToView<T> + Sync + ?Sized),
    ) -> Result<()> {
        let info = self.info.clone();
        let data = data.to_view();
        let shape = data.shape().to_vec();
        let source = info.box_source(data)?;
        self.info
            .append_on_change_thread(axis, &shape, &*source)
            .await
    }

    /// Asynchronous [`Array::shard_writer`](crate::Array::shard_writer).
    ///
    /// # Errors
    /// As for [`Array::shard_writer`](crate::Array::shard_writer).
    pub async fn shard_writer(&self, shard: &[u64]) -> Result<ShardWriter<T, Asynchronous>> {
        // The writer outlives this call, so it cannot borrow from it.
        let info = self.info.clone();
        let shard = shard.to_vec();
        self.info
            .on_pool(|_| async move { ShardWriter::begin(info, &shard) })
            .await
    }
}
