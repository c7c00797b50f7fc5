//! The calls of `asynchronous::AnyArray`: those of `AnyArray` as futures.

use ndarray::{Array as NdArray, Dimension, Ix0};

use crate::any_elements::AnyElements;
use crate::asynchronous::array::{AnyArray, Array};
use crate::element_type::{Any, ElementType};
use crate::error::Result;
use crate::mode::Asynchronous;
use crate::number::{Cast, Number};
use crate::resolved::{Resolved, into_dim};
use crate::selection::Selection;
use crate::shard_writer::ShardWriter;
use crate::struct_plan::StructField;

impl AnyArray {
    /// Like [`AnyArray::typed`](crate::AnyArray::typed).
    ///
    /// # Errors
    /// The same as for [`AnyArray::typed`](crate::AnyArray::typed).
    pub fn typed<E: ElementType>(self) -> Result<Array<E>> {
        self.core.named(E::check_stored(self.data_type()))?;
        Ok(self.core.into())
    }

    /// Like [`AnyArray::read`](crate::AnyArray::read).
    ///
    /// # Errors
    /// The same as for [`AnyArray::read`](crate::AnyArray::read).
    pub async fn read<S: Selection>(&self, selection: S) -> Result<AnyElements<S::OutDim>> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        self.read_resolved(resolved).await?.into_dim()
    }

    async fn read_resolved(&self, resolved: Resolved) -> Result<AnyElements> {
        self.core.handed(|core| async move { core.read_any(&resolved).await }).await
    }

    /// Like [`AnyArray::read_into`](crate::AnyArray::read_into). On a blocking store the elements are
    /// read into a separate buffer and then copied, because the library's threads could outlive a
    /// dropped future.
    ///
    /// # Errors
    /// The same as for [`AnyArray::read_into`](crate::AnyArray::read_into).
    pub async fn read_into<S: Selection, D: Dimension>(
        &self,
        selection: S,
        out: &mut AnyElements<D>,
    ) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        if !self.core.storage.is_blocking() {
            return self.core.read_any_into(&resolved, out).await;
        }
        self.core.check_any(&resolved, out)?;
        out.assign(&self.read_resolved(resolved).await?);
        Ok(())
    }

    /// Like [`AnyArray::read_many`](crate::AnyArray::read_many).
    ///
    /// # Errors
    /// The same as for [`AnyArray::read_many`](crate::AnyArray::read_many).
    pub async fn read_many<S: Selection>(
        &self,
        selections: impl IntoIterator<Item = S>,
    ) -> Result<Vec<AnyElements<S::OutDim>>> {
        let resolved = self.core.resolve_all(selections)?;
        let outs = self.core.handed(|core| async move { core.read_many_any(&resolved).await }).await?;
        outs.into_iter().map(AnyElements::into_dim).collect()
    }

    /// Like [`AnyArray::read_as`](crate::AnyArray::read_as).
    ///
    /// # Errors
    /// The same as for [`AnyArray::read_as`](crate::AnyArray::read_as).
    pub async fn read_as<T: Number, S: Selection>(
        &self,
        selection: S,
        cast: Cast,
    ) -> Result<NdArray<T, S::OutDim>> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        into_dim(self.core.handed(move |core| async move { core.read_as(&resolved, cast).await }).await?)
    }

    /// Like [`AnyArray::write`](crate::AnyArray::write).
    ///
    /// # Errors
    /// The same as for [`AnyArray::write`](crate::AnyArray::write).
    pub async fn write<S: Selection, D: Dimension>(&self, selection: S, data: &AnyElements<D>) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        self.core.write_any::<Asynchronous, _>(&resolved, data).await
    }

    /// Like [`AnyArray::fill`](crate::AnyArray::fill).
    ///
    /// # Errors
    /// The same as for [`AnyArray::fill`](crate::AnyArray::fill).
    pub async fn fill<S: Selection>(&self, selection: S, value: impl Into<AnyElements<Ix0>>) -> Result<()> {
        let (resolved, value) = (self.core.resolve(&selection)?, value.into());
        drop(selection);
        self.core.fill_any::<Asynchronous>(&resolved, &value).await
    }

    /// Like [`AnyArray::fill_value`](crate::AnyArray::fill_value).
    #[must_use]
    pub fn fill_value(&self) -> AnyElements<Ix0> {
        self.core.fill_any_value()
    }

    /// Like [`AnyArray::read_chunk`](crate::AnyArray::read_chunk).
    ///
    /// # Errors
    /// The same as for [`AnyArray::read_chunk`](crate::AnyArray::read_chunk).
    pub async fn read_chunk(&self, chunk: &[u64]) -> Result<AnyElements> {
        self.read_resolved(self.core.chunk(chunk)?).await
    }

    /// Like [`AnyArray::write_chunk`](crate::AnyArray::write_chunk).
    ///
    /// # Errors
    /// The same as for [`AnyArray::write_chunk`](crate::AnyArray::write_chunk).
    pub async fn write_chunk<D: Dimension>(&self, chunk: &[u64], data: &AnyElements<D>) -> Result<()> {
        let resolved = self.core.chunk(chunk)?;
        self.core.write_any::<Asynchronous, _>(&resolved, data).await
    }

    /// Like [`AnyArray::append`](crate::AnyArray::append).
    ///
    /// # Errors
    /// The same as for [`AnyArray::append`](crate::AnyArray::append).
    pub async fn append<D: Dimension>(&mut self, axis: usize, data: &AnyElements<D>) -> Result<()> {
        let core = self.core.clone();
        let source = core.any_source(data)?;
        self.core.append_handed(axis, data.shape(), &*source).await
    }

    /// Like [`AnyArray::shard_writer`](crate::AnyArray::shard_writer).
    ///
    /// # Errors
    /// The same as for [`AnyArray::shard_writer`](crate::AnyArray::shard_writer).
    pub async fn shard_writer(&self, shard: &[u64]) -> Result<ShardWriter<Any, Asynchronous>> {
        // The writer outlives this call, so it cannot borrow from it.
        let (core, shard) = (self.core.clone(), shard.to_vec());
        self.core.handed(|_| async move { ShardWriter::begin(core, &shard) }).await
    }

    /// Like [`AnyArray::read_bytes`](crate::AnyArray::read_bytes).
    ///
    /// # Errors
    /// The same as for [`AnyArray::read_bytes`](crate::AnyArray::read_bytes).
    pub async fn read_bytes(&self, selection: impl Selection) -> Result<Vec<u8>> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        self.core.handed(|core| async move { core.read_bytes(&resolved).await }).await
    }

    /// Like [`AnyArray::read_bytes_into`](crate::AnyArray::read_bytes_into). On a blocking store the
    /// elements are read into a separate buffer and then copied, because the library's threads could
    /// outlive a dropped future.
    ///
    /// # Errors
    /// The same as for [`AnyArray::read_bytes_into`](crate::AnyArray::read_bytes_into).
    pub async fn read_bytes_into(&self, selection: impl Selection, out: &mut [u8]) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        if !self.core.storage.is_blocking() {
            return self.core.read_bytes_into(&resolved, out).await;
        }
        self.core.check_bytes(&resolved, out.len())?;
        out.copy_from_slice(&self.core.handed(|core| async move { core.read_bytes(&resolved).await }).await?);
        Ok(())
    }

    /// Like [`AnyArray::write_bytes`](crate::AnyArray::write_bytes).
    ///
    /// # Errors
    /// The same as for [`AnyArray::write_bytes`](crate::AnyArray::write_bytes).
    pub async fn write_bytes(&self, selection: impl Selection, bytes: &[u8]) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        self.core.write_bytes::<Asynchronous>(&resolved, bytes).await
    }

    /// Like [`AnyArray::append_bytes`](crate::AnyArray::append_bytes).
    ///
    /// # Errors
    /// The same as for [`AnyArray::append_bytes`](crate::AnyArray::append_bytes).
    pub async fn append_bytes(&mut self, axis: usize, bytes: &[u8]) -> Result<()> {
        let core = self.core.clone();
        let (shape, source) = core.bytes_source(axis, bytes)?;
        self.core.append_handed(axis, &shape, &*source).await
    }

    /// Like [`AnyArray::read_vlen`](crate::AnyArray::read_vlen).
    ///
    /// # Errors
    /// The same as for [`AnyArray::read_vlen`](crate::AnyArray::read_vlen).
    pub async fn read_vlen(&self, selection: impl Selection) -> Result<Vec<Vec<u8>>> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        self.core.handed(|core| async move { core.read_vlen(&resolved).await }).await
    }

    /// Like [`AnyArray::write_vlen`](crate::AnyArray::write_vlen).
    ///
    /// # Errors
    /// The same as for [`AnyArray::write_vlen`](crate::AnyArray::write_vlen).
    pub async fn write_vlen(&self, selection: impl Selection, elements: &[Vec<u8>]) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        self.core.write_vlen::<Asynchronous>(&resolved, elements).await
    }

    /// Like [`AnyArray::read_field`](crate::AnyArray::read_field).
    ///
    /// # Errors
    /// The same as for [`AnyArray::read_field`](crate::AnyArray::read_field).
    pub async fn read_field<T: StructField, S: Selection>(
        &self,
        name: &str,
        selection: S,
    ) -> Result<NdArray<T, S::OutDim>> {
        let (name, resolved) = (name.to_owned(), self.core.resolve(&selection)?);
        drop(selection);
        into_dim(self.core.handed(|core| async move { core.read_field(&name, &resolved).await }).await?)
    }
}
