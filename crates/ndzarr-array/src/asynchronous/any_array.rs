//! The calls of `asynchronous::AnyArray`: elements as bytes, strings and fields.

use std::ops::Range;

use ndarray::Array as NdArray;

use crate::asynchronous::array::{AnyArray, Array};
use crate::element_type::ElementType;
use crate::error::Result;
use crate::selection::{Selection, into_dim};
use crate::storage::Colour;
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

    /// Like [`AnyArray::read_bytes`](crate::AnyArray::read_bytes).
    ///
    /// # Errors
    /// The same as for [`AnyArray::read_bytes`](crate::AnyArray::read_bytes).
    pub async fn read_bytes(&self, region: &[Range<u64>]) -> Result<Vec<u8>> {
        let region = region.to_vec();
        self.core.handed(|core| async move { core.read_bytes(&region).await }).await
    }

    /// Like [`AnyArray::write_bytes`](crate::AnyArray::write_bytes).
    ///
    /// # Errors
    /// The same as for [`AnyArray::write_bytes`](crate::AnyArray::write_bytes).
    pub async fn write_bytes(&self, region: &[Range<u64>], bytes: &[u8]) -> Result<()> {
        self.core.write_bytes(region, bytes, Colour::Async).await
    }

    /// Like [`AnyArray::append_bytes`](crate::AnyArray::append_bytes).
    ///
    /// # Errors
    /// The same as for [`AnyArray::append_bytes`](crate::AnyArray::append_bytes).
    pub async fn append_bytes(&mut self, axis: usize, bytes: &[u8]) -> Result<()> {
        self.core.append_bytes(axis, bytes, Colour::Async).await
    }

    /// Like [`AnyArray::read_vlen`](crate::AnyArray::read_vlen).
    ///
    /// # Errors
    /// The same as for [`AnyArray::read_vlen`](crate::AnyArray::read_vlen).
    pub async fn read_vlen(&self, region: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        let region = region.to_vec();
        self.core.handed(|core| async move { core.read_vlen(&region).await }).await
    }

    /// Like [`AnyArray::write_vlen`](crate::AnyArray::write_vlen).
    ///
    /// # Errors
    /// The same as for [`AnyArray::write_vlen`](crate::AnyArray::write_vlen).
    pub async fn write_vlen(&self, region: &[Range<u64>], elements: &[Vec<u8>]) -> Result<()> {
        self.core.write_vlen(region, elements, Colour::Async).await
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
