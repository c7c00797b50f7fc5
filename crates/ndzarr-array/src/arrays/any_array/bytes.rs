//! The calls of `AnyArray` that pass elements as bytes, and single fields.

use ndarray::Array as NdArray;

use crate::arrays::array::ArrayIn;
use crate::element_types::element_type::Any;
use crate::element_types::struct_plan::StructField;
use crate::error::Result;
use crate::mode::{Asynchronous, Blocking};
use crate::selections::resolved::into_dim;
use crate::selections::selection::Selection;

impl ArrayIn<Any, Blocking> {
    /// Reads a selection. Returns the elements packed in C order and in native byte order. Elements
    /// of chunks that are not stored are the fill value. A bool is one byte, 0 or 1; a complex
    /// number is its real part, then its imaginary part; fields follow each other without gaps.
    ///
    /// [`read`](Self::read) returns large results in memory that is aligned, which a `Vec<u8>`
    /// cannot be: it is faster where chunks are stored without compression.
    ///
    /// # Errors
    /// The elements have no fixed size, or an error of [`Array::read`](crate::Array::read).
    ///
    /// ```
    /// use ndzarr::{AnyArray, Array, MemoryStore, s};
    ///
    /// let store = MemoryStore::new();
    /// Array::<u16>::builder([2, 3]).create((&store, "a"))?.write(.., &ndarray::array![[1, 2, 3], [4, 5, 6]])?;
    ///
    /// let any = AnyArray::open((&store, "a"))?;
    /// assert_eq!(any.read_bytes(s![1, ..;-2])?, [6u16.to_ne_bytes(), 4u16.to_ne_bytes()].concat());
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn read_bytes(&self, selection: impl Selection) -> Result<Vec<u8>> {
        let resolved = self.info.resolve(&selection)?;
        self.info.wait(self.info.read_bytes(&resolved))
    }

    /// Reads a selection into existing memory, packed as by [`read_bytes`](Self::read_bytes). It
    /// may have any alignment.
    ///
    /// # Errors
    /// `out` has another length than the selection, in bytes, or an error of
    /// [`read_bytes`](Self::read_bytes). After an error the content of `out` is unspecified.
    ///
    /// ```
    /// use ndzarr::{AnyArray, DataType, MemoryStore};
    ///
    /// let any = AnyArray::builder([4, 4]).data_type(DataType::Float { bits: 32 });
    /// let any = any.create((MemoryStore::new(), "a"))?;
    /// let mut rows = [7; 32];
    /// any.read_bytes_into([0..2, 0..4], &mut rows)?;
    /// assert_eq!(rows, [0; 32]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn read_bytes_into(&self, selection: impl Selection, out: &mut [u8]) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        self.info.wait(self.info.read_bytes_into(&resolved, out))
    }

    /// Writes a selection from elements packed in C order and in native byte order.
    ///
    /// # Errors
    /// `bytes` has another length than the selection, in bytes, or has bytes that are not an
    /// element of the type (both checked before any I/O). Also any error of
    /// [`Array::write`](crate::Array::write).
    pub fn write_bytes(&self, selection: impl Selection, bytes: &[u8]) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        self.info
            .wait(self.info.write_bytes::<Blocking>(&resolved, bytes))
    }

    /// Extends the array along an axis by the elements in `bytes`, like
    /// [`Array::append`](crate::Array::append). They are packed in C order and in native byte
    /// order. Their shape is the array's, except for the length along the axis, which follows from
    /// the length of `bytes`.
    ///
    /// # Errors
    /// `bytes` is not a whole number of such slices, or not empty although another axis has length
    /// 0. Also any error of [`Array::append`](crate::Array::append).
    ///
    /// ```
    /// use ndzarr::{AnyArray, Array, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// Array::<u8>::builder([0, 2]).create((&store, "log"))?;
    /// let mut log = AnyArray::open((&store, "log"))?;
    /// log.append_bytes(0, &[1, 2, 3, 4])?;
    /// assert_eq!(log.shape(), [2, 2]);
    /// assert_eq!(log.read_bytes(&[1..2, 0..2])?, [3, 4]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn append_bytes(&mut self, axis: usize, bytes: &[u8]) -> Result<()> {
        let info = self.info.clone();
        let (shape, source) = info.bytes_source(axis, bytes)?;
        info.wait_change(self.info.append(axis, &shape, &*source))
    }

    /// Reads the contents of elements of variable size of a selection, in C order. A string is
    /// given as UTF-8, a JSON value as its text, a list as its numbers in native byte order.
    /// Elements of chunks that are not stored are the fill value.
    ///
    /// # Errors
    /// The elements have a fixed size, or an error of [`read_bytes`](Self::read_bytes).
    ///
    /// ```
    /// use ndzarr::{AnyArray, DataType, MemoryStore};
    ///
    /// let texts = AnyArray::builder([3]).data_type(DataType::String).create((MemoryStore::new(), "texts"))?;
    /// texts.write_vlen(&[1..3], &[b"a".to_vec(), "ü".as_bytes().to_vec()])?;
    /// assert_eq!(texts.read_vlen(&[0..3])?, [&b""[..], b"a", b"\xc3\xbc"]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn read_vlen(&self, selection: impl Selection) -> Result<Vec<Vec<u8>>> {
        let resolved = self.info.resolve(&selection)?;
        self.info.wait(self.info.read_vlen(&resolved))
    }

    /// Writes the contents of elements of variable size to a selection, in C order.
    ///
    /// # Errors
    /// The elements have a fixed size; the number of `elements` is not that of the selection, or
    /// one of them is not of the type; an error of [`Array::write`](crate::Array::write).
    pub fn write_vlen(&self, selection: impl Selection, elements: &[Vec<u8>]) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        self.info
            .wait(self.info.write_vlen::<Blocking>(&resolved, elements))
    }

    /// Reads one field of the structured elements of a selection, and does not examine the others.
    /// A path like `"orbit.speed"` leads into a nested structure; a sub-array is a Rust array,
    /// `[f32; 3]`.
    ///
    /// # Errors
    /// The elements are not structures, they have no field of this name, or its values are not `T`.
    /// Also any error of [`Array::read`](crate::Array::read).
    ///
    /// ```
    /// use ndarray::Array1;
    /// use ndzarr::{AnyArray, DataType, Field, MemoryStore, StructType};
    ///
    /// let fields = [Field::new("id", DataType::UInt { bits: 8 }), Field::new("mass", DataType::Float { bits: 32 })];
    /// let data_type = DataType::Struct(StructType::new(fields).expect("two names"));
    /// let stars = AnyArray::builder([2]).data_type(data_type).create((MemoryStore::new(), "stars"))?;
    /// // Fields are packed, in native byte order.
    /// let elements = [&[1][..], &1.5f32.to_ne_bytes(), &[2], &2.5f32.to_ne_bytes()].concat();
    /// stars.write_bytes(&[0..2], &elements)?;
    ///
    /// let masses: Array1<f32> = stars.read_field("mass", [0..2])?;
    /// assert_eq!(masses.to_vec(), [1.5, 2.5]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn read_field<T: StructField, S: Selection>(
        &self,
        name: &str,
        selection: S,
    ) -> Result<NdArray<T, S::OutDim>> {
        let resolved = self.info.resolve(&selection)?;
        into_dim(self.info.wait(self.info.read_field(name, &resolved))?)
    }
}

impl ArrayIn<Any, Asynchronous> {
    /// Asynchronous [`AnyArray::read_bytes`](crate::AnyArray::read_bytes).
    ///
    /// # Errors
    /// As for [`AnyArray::read_bytes`](crate::AnyArray::read_bytes).
    pub async fn read_bytes(&self, selection: impl Selection) -> Result<Vec<u8>> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        self.info
            .on_pool(|info| async move { info.read_bytes(&resolved).await })
            .await
    }

    /// Asynchronous [`AnyArray::read_bytes_into`](crate::AnyArray::read_bytes_into). On a blocking
    /// store the elements are read into a separate buffer and then copied, because the library's
    /// threads could outlive a dropped future.
    ///
    /// # Errors
    /// As for [`AnyArray::read_bytes_into`](crate::AnyArray::read_bytes_into).
    pub async fn read_bytes_into(&self, selection: impl Selection, out: &mut [u8]) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        if !self.info.storage.is_blocking() {
            return self.info.read_bytes_into(&resolved, out).await;
        }
        self.info.check_bytes(&resolved, out.len())?;
        out.copy_from_slice(
            &self
                .info
                .on_pool(|info| async move { info.read_bytes(&resolved).await })
                .await?,
        );
        Ok(())
    }

    /// Asynchronous [`AnyArray::write_bytes`](crate::AnyArray::write_bytes).
    ///
    /// # Errors
    /// As for [`AnyArray::write_bytes`](crate::AnyArray::write_bytes).
    pub async fn write_bytes(&self, selection: impl Selection, bytes: &[u8]) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        self.info
            .write_bytes::<Asynchronous>(&resolved, bytes)
            .await
    }

    /// Asynchronous [`AnyArray::append_bytes`](crate::AnyArray::append_bytes).
    ///
    /// # Errors
    /// As for [`AnyArray::append_bytes`](crate::AnyArray::append_bytes).
    pub async fn append_bytes(&mut self, axis: usize, bytes: &[u8]) -> Result<()> {
        let info = self.info.clone();
        let (shape, source) = info.bytes_source(axis, bytes)?;
        self.info
            .append_on_change_thread(axis, &shape, &*source)
            .await
    }

    /// Asynchronous [`AnyArray::read_vlen`](crate::AnyArray::read_vlen).
    ///
    /// # Errors
    /// As for [`AnyArray::read_vlen`](crate::AnyArray::read_vlen).
    pub async fn read_vlen(&self, selection: impl Selection) -> Result<Vec<Vec<u8>>> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        self.info
            .on_pool(|info| async move { info.read_vlen(&resolved).await })
            .await
    }

    /// Asynchronous [`AnyArray::write_vlen`](crate::AnyArray::write_vlen).
    ///
    /// # Errors
    /// As for [`AnyArray::write_vlen`](crate::AnyArray::write_vlen).
    pub async fn write_vlen(&self, selection: impl Selection, elements: &[Vec<u8>]) -> Result<()> {
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        self.info
            .write_vlen::<Asynchronous>(&resolved, elements)
            .await
    }

    /// Asynchronous [`AnyArray::read_field`](crate::AnyArray::read_field).
    ///
    /// # Errors
    /// As for [`AnyArray::read_field`](crate::AnyArray::read_field).
    pub async fn read_field<T: StructField, S: Selection>(
        &self,
        name: &str,
        selection: S,
    ) -> Result<NdArray<T, S::OutDim>> {
        let name = name.to_owned();
        let resolved = self.info.resolve(&selection)?;
        drop(selection);
        into_dim(
            self.info
                .on_pool(|info| async move { info.read_field(&name, &resolved).await })
                .await?,
        )
    }
}
