//! The calls of `AnyArray`: elements of whichever type, and converted.

mod bytes;

use ndarray::{Array as NdArray, Dimension, Ix0};

use crate::arrays::array::ArrayIn;
use crate::arrays::shard_writer::ShardWriter;
use crate::element_types::any_elements::AnyElements;
use crate::element_types::element_type::{Any, ElementType};
use crate::element_types::number::{Cast, Number};
use crate::error::Result;
use crate::mode::{Asynchronous, Blocking, Mode};
use crate::selections::resolved::{Resolved, into_dim};
use crate::selections::selection::Selection;

impl<M: Mode> ArrayIn<Any, M> {
    /// The array with its element type.
    ///
    /// # Errors
    /// Its elements are not `E`.
    pub fn typed<E: ElementType>(self) -> Result<ArrayIn<E, M>> {
        E::check_stored(&self.info)?;
        Ok(self.info.into())
    }

    /// The fill value; zero if the metadata has none.
    #[must_use]
    pub fn fill_value(&self) -> AnyElements<Ix0> {
        self.info.fill_any_value()
    }
}

impl ArrayIn<Any, Blocking> {
    /// Reads a selection into a new ndarray of the type that the array has, in standard layout.
    ///
    /// # Errors
    /// As for [`Array::read`](crate::Array::read).
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{AnyArray, AnyElements, Array, MemoryStore, for_each_type};
    ///
    /// let store = MemoryStore::new();
    /// Array::<i32>::builder([4]).create((&store, "a"))?.write(.., &array![3, 1, 4, 1])?;
    ///
    /// let any = AnyArray::open((&store, "a"))?;
    /// let elements = any.read([1..4])?;
    /// assert_eq!(elements, AnyElements::from(array![1, 4, 1]));
    /// // One arm for all types.
    /// assert_eq!(for_each_type!(&elements, |array| array.len()), 3);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn read<S: Selection>(&self, selection: S) -> Result<AnyElements<S::OutDim>> {
        let resolved = self.info.resolve(&selection)?;
        self.info.wait(self.info.read_any(&resolved))?.into_dim()
    }

    /// Reads a selection into elements of the array's type, in memory with any strides.
    ///
    /// # Errors
    /// `out` has another type or shape (checked before any I/O), or an error of
    /// [`read`](Self::read). After an error the content of `out` is unspecified.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{AnyArray, AnyElements, DataType, MemoryStore};
    ///
    /// let any = AnyArray::builder([2, 3]).data_type(DataType::Float { bits: 32 });
    /// let any = any.create((MemoryStore::new(), "a"))?;
    /// any.fill((1, ..), 0.5f32)?;
    /// let mut columns = AnyElements::from(array![[7f32, 7.0], [7.0, 7.0]]);
    /// any.read_into([0..2, 1..3], &mut columns)?;
    /// assert_eq!(columns, array![[0f32, 0.0], [0.5, 0.5]].into());
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn read_into<S: Selection, D: Dimension>(
        &self,
        selection: S,
        out: &mut AnyElements<D>,
    ) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        self.info.wait(self.info.read_any_into(&resolved, out))
    }

    /// Reads many selections as one task, like [`Array::read_many`](crate::Array::read_many).
    ///
    /// # Errors
    /// As for [`Array::read`](crate::Array::read).
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{AnyArray, DataType, MemoryStore};
    ///
    /// let any = AnyArray::builder([9]).chunks([3]).data_type(DataType::Float { bits: 32 });
    /// let any = any.create((MemoryStore::new(), "a"))?;
    /// any.fill([4..6], 0.5f32)?;
    /// assert_eq!(any.read_many([[0..1], [3..5]])?, [array![0f32].into(), array![0f32, 0.5].into()]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn read_many<S: Selection>(
        &self,
        selections: impl IntoIterator<Item = S>,
    ) -> Result<Vec<AnyElements<S::OutDim>>> {
        let resolved = self.info.resolve_all(selections)?;
        let outs = self.info.wait(self.info.read_many_any(&resolved))?;
        outs.into_iter().map(AnyElements::into_dim).collect()
    }

    /// Reads a selection of real numbers of any type as numbers of the type `T`, and bools as 0 and
    /// 1. [`Cast`] says how they are rounded, and what happens to those that are out of range.
    ///
    /// If `T` is not the array's own type, it takes memory for the elements as they are stored as
    /// well.
    ///
    /// # Errors
    /// [`WrongType`](crate::ErrorKind::WrongType): the elements are not real numbers, or the first
    /// number that is out of range of `T`, and its index in the result. Also any error of
    /// [`Array::read`](crate::Array::read).
    ///
    /// ```
    /// use ndarray::{Array1, array};
    /// use ndzarr::{AnyArray, Array, Cast, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// Array::<i16>::builder([3]).create((&store, "a"))?.write(.., &array![-1, 0, 300])?;
    ///
    /// let any = AnyArray::open((&store, "a"))?;
    /// let numbers: Array1<f32> = any.read_as([0..3], Cast::Checked)?;
    /// assert_eq!(numbers, array![-1.0, 0.0, 300.0]);
    /// assert_eq!(any.read_as::<u8, _>([0..3], Cast::Saturating)?, array![0, 0, 255]);
    /// let error = any.read_as::<u8, _>([0..3], Cast::Checked).unwrap_err();
    /// assert!(error.to_string().starts_with("-1 at [0] is out of range of uint8"), "{error}");
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn read_as<T: Number, S: Selection>(
        &self,
        selection: S,
        cast: Cast,
    ) -> Result<NdArray<T, S::OutDim>> {
        let resolved = self.info.resolve(&selection)?;
        into_dim(self.info.wait(self.info.read_as(&resolved, cast))?)
    }

    /// Writes a selection. `data` has the shape of the selection, in elements, and the type of the
    /// array, as [`read`](Self::read) returns it, or [`Packed`](AnyElements::Packed) bytes.
    ///
    /// # Errors
    /// `data` has another type (checked before any I/O), or an error of
    /// [`Array::write`](crate::Array::write).
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{AnyArray, AnyElements, DataType, ErrorKind, MemoryStore};
    ///
    /// let any = AnyArray::builder([3]).data_type(DataType::String).create((MemoryStore::new(), "a"))?;
    /// any.write([0..2], &AnyElements::from(array!["a".to_owned(), "b".to_owned()]))?;
    /// let error = any.write([2..3], &AnyElements::from(array![1u8])).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::WrongType);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn write<S: Selection, D: Dimension>(
        &self,
        selection: S,
        data: &AnyElements<D>,
    ) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        self.info
            .wait(self.info.write_any::<Blocking, _>(&resolved, data))
    }

    /// Sets every element of a selection to one value of the array's type: `5u16`, `"text"`, or
    /// what [`fill_value`](Self::fill_value) returns.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    ///
    /// ```
    /// use ndzarr::{AnyArray, DataType, MemoryStore};
    ///
    /// let any = AnyArray::builder([3]).data_type(DataType::UInt { bits: 16 });
    /// let any = any.create((MemoryStore::new(), "a"))?;
    /// any.fill([0..2], 5u16)?;
    /// any.fill([0..1], any.fill_value())?;
    /// assert_eq!(any.read_bytes(..)?, [0u16, 5, 0].map(u16::to_ne_bytes).concat());
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn fill<S: Selection>(
        &self,
        selection: S,
        value: impl Into<AnyElements<Ix0>>,
    ) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        self.info
            .wait(self.info.fill_any::<Blocking>(&resolved, &value.into()))
    }

    /// Reads the part of a chunk that lies inside the array, like
    /// [`Array::read_chunk`](crate::Array::read_chunk).
    ///
    /// # Errors
    /// As for [`Array::read_chunk`](crate::Array::read_chunk).
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{AnyArray, DataType, MemoryStore};
    ///
    /// let any = AnyArray::builder([5]).chunks([3]).data_type(DataType::Bool);
    /// let any = any.create((MemoryStore::new(), "a"))?;
    /// any.write_chunk(&[1], &array![true, false].into())?;
    /// assert_eq!(any.read_chunk(&[1])?, array![true, false].into_dyn().into());
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn read_chunk(&self, chunk: &[u64]) -> Result<AnyElements> {
        self.info.wait(self.info.read_any(&self.info.chunk(chunk)?))
    }

    /// Writes the part of a chunk that lies inside the array, like
    /// [`Array::write_chunk`](crate::Array::write_chunk); [`read_chunk`](Self::read_chunk) has an
    /// example.
    ///
    /// # Errors
    /// The chunk does not exist, or an error of [`write`](Self::write).
    pub fn write_chunk<D: Dimension>(&self, chunk: &[u64], data: &AnyElements<D>) -> Result<()> {
        let resolved = self.info.chunk(chunk)?;
        self.info
            .wait(self.info.write_any::<Blocking, _>(&resolved, data))
    }

    /// Extends the array along an axis with `data`, like [`Array::append`](crate::Array::append).
    ///
    /// # Errors
    /// `data` has another type, or an error of [`Array::append`](crate::Array::append).
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{AnyArray, AnyElements, DataType, MemoryStore, s};
    ///
    /// let log = AnyArray::builder([0, 2]).data_type(DataType::Float { bits: 64 });
    /// let mut log = log.create((MemoryStore::new(), "log"))?;
    /// log.append(0, &AnyElements::from(array![[1.0, 2.0], [3.0, 4.0]]))?;
    /// assert_eq!(log.read(s![.., 1])?, array![2.0, 4.0].into());
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn append<D: Dimension>(&mut self, axis: usize, data: &AnyElements<D>) -> Result<()> {
        let info = self.info.clone();
        let source = info.any_source(data)?;
        info.wait_change(self.info.append(axis, data.shape(), &*source))
    }

    /// Begins to write a shard from inner chunks in any order, like
    /// [`Array::shard_writer`](crate::Array::shard_writer).
    ///
    /// # Errors
    /// As for [`Array::shard_writer`](crate::Array::shard_writer).
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{AnyArray, DataType, MemoryStore};
    ///
    /// let any = AnyArray::builder([4]).chunks([2]).shards([4]).data_type(DataType::Bool);
    /// let any = any.create((MemoryStore::new(), "a"))?;
    /// let writer = any.shard_writer(&[0])?;
    /// writer.write_chunk(&[1], &array![true, true].into())?;
    /// writer.finish()?;
    /// assert_eq!(any.read_chunk(&[1])?, array![true, true].into_dyn().into());
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn shard_writer(&self, shard: &[u64]) -> Result<ShardWriter<Any>> {
        ShardWriter::begin(self.info.clone(), shard)
    }
}

impl ArrayIn<Any, Asynchronous> {
    /// Asynchronous [`AnyArray::read`](crate::AnyArray::read).
    ///
    /// # Errors
    /// As for [`AnyArray::read`](crate::AnyArray::read).
    pub async fn read<S: Selection>(&self, selection: S) -> Result<AnyElements<S::OutDim>> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        self.read_resolved(resolved).await?.into_dim()
    }

    async fn read_resolved(&self, resolved: Resolved) -> Result<AnyElements> {
        self.info
            .on_pool(|info| async move { info.read_any(&resolved).await })
            .await
    }

    /// Asynchronous [`AnyArray::read_into`](crate::AnyArray::read_into). On a blocking store the
    /// elements are read into a separate buffer and then copied, because the library's threads
    /// could outlive a dropped future.
    ///
    /// # Errors
    /// As for [`AnyArray::read_into`](crate::AnyArray::read_into).
    pub async fn read_into<S: Selection, D: Dimension>(
        &self,
        selection: S,
        out: &mut AnyElements<D>,
    ) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        if !self.info.storage.is_blocking() {
            return self.info.read_any_into(&resolved, out).await;
        }
        self.info.check_any(&resolved, out)?;
        out.assign(&self.read_resolved(resolved).await?);
        Ok(())
    }

    /// Asynchronous [`AnyArray::read_many`](crate::AnyArray::read_many).
    ///
    /// # Errors
    /// As for [`AnyArray::read_many`](crate::AnyArray::read_many).
    pub async fn read_many<S: Selection>(
        &self,
        selections: impl IntoIterator<Item = S>,
    ) -> Result<Vec<AnyElements<S::OutDim>>> {
        let resolved = self.info.resolve_all(selections)?;
        let outs = self
            .info
            .on_pool(|info| async move { info.read_many_any(&resolved).await })
            .await?;
        outs.into_iter().map(AnyElements::into_dim).collect()
    }

    /// Asynchronous [`AnyArray::read_as`](crate::AnyArray::read_as).
    ///
    /// # Errors
    /// As for [`AnyArray::read_as`](crate::AnyArray::read_as).
    pub async fn read_as<T: Number, S: Selection>(
        &self,
        selection: S,
        cast: Cast,
    ) -> Result<NdArray<T, S::OutDim>> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        into_dim(
            self.info
                .on_pool(move |info| async move { info.read_as(&resolved, cast).await })
                .await?,
        )
    }

    /// Asynchronous [`AnyArray::write`](crate::AnyArray::write).
    ///
    /// # Errors
    /// As for [`AnyArray::write`](crate::AnyArray::write).
    pub async fn write<S: Selection, D: Dimension>(
        &self,
        selection: S,
        data: &AnyElements<D>,
    ) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        self.info
            .write_any::<Asynchronous, _>(&resolved, data)
            .await
    }

    /// Asynchronous [`AnyArray::fill`](crate::AnyArray::fill).
    ///
    /// # Errors
    /// As for [`AnyArray::fill`](crate::AnyArray::fill).
    pub async fn fill<S: Selection>(
        &self,
        selection: S,
        value: impl Into<AnyElements<Ix0>>,
    ) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        let value = value.into();
        drop(selection);
        self.info.fill_any::<Asynchronous>(&resolved, &value).await
    }

    /// Asynchronous [`AnyArray::read_chunk`](crate::AnyArray::read_chunk).
    ///
    /// # Errors
    /// As for [`AnyArray::read_chunk`](crate::AnyArray::read_chunk).
    pub async fn read_chunk(&self, chunk: &[u64]) -> Result<AnyElements> {
        self.read_resolved(self.info.chunk(chunk)?).await
    }

    /// Asynchronous [`AnyArray::write_chunk`](crate::AnyArray::write_chunk).
    ///
    /// # Errors
    /// As for [`AnyArray::write_chunk`](crate::AnyArray::write_chunk).
    pub async fn write_chunk<D: Dimension>(
        &self,
        chunk: &[u64],
        data: &AnyElements<D>,
    ) -> Result<()> {
        let resolved = self.info.chunk(chunk)?;
        self.info
            .write_any::<Asynchronous, _>(&resolved, data)
            .await
    }

    /// Asynchronous [`AnyArray::append`](crate::AnyArray::append).
    ///
    /// # Errors
    /// As for [`AnyArray::append`](crate::AnyArray::append).
    pub async fn append<D: Dimension>(&mut self, axis: usize, data: &AnyElements<D>) -> Result<()> {
        let info = self.info.clone();
        let source = info.any_source(data)?;
        self.info
            .append_on_change_thread(axis, data.shape(), &*source)
            .await
    }

    /// Asynchronous [`AnyArray::shard_writer`](crate::AnyArray::shard_writer).
    ///
    /// # Errors
    /// As for [`AnyArray::shard_writer`](crate::AnyArray::shard_writer).
    pub async fn shard_writer(&self, shard: &[u64]) -> Result<ShardWriter<Any, Asynchronous>> {
        // The writer outlives this call, so it cannot borrow from it.
        let info = self.info.clone();
        let shard = shard.to_vec();
        self.info
            .on_pool(|_| async move { ShardWriter::begin(info, &shard) })
            .await
    }
}
