//! The calls of `AnyArray`: elements of whichever type, as bytes, converted, and single fields.

use ndarray::{Array as NdArray, Dimension, Ix0};

use crate::any_elements::AnyElements;
use crate::array::{AnyArray, Array};
use crate::element_type::{Any, ElementType};
use crate::error::Result;
use crate::mode::Blocking;
use crate::number::{Cast, Number};
use crate::resolved::into_dim;
use crate::selection::Selection;
use crate::shard_writer::ShardWriter;
use crate::struct_plan::StructField;

impl AnyArray {
    /// The array with its element type.
    ///
    /// # Errors
    /// Its elements are not `E`.
    pub fn typed<E: ElementType>(self) -> Result<Array<E>> {
        self.core.named(E::check_stored(self.data_type()))?;
        Ok(self.core.into())
    }

    /// Reads a selection into a new ndarray of the type that the array has, in standard layout.
    ///
    /// # Errors
    /// The same as for [`Array::read`](crate::Array::read).
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
        let resolved = self.core.resolve(&selection)?;
        self.core.wait(self.core.read_any(&resolved))?.into_dim()
    }

    /// Reads a selection into elements of the array's type, in memory with any strides.
    ///
    /// # Errors
    /// `out` has another type or shape (checked before any I/O), or an error of [`read`](Self::read).
    /// After an error the content of `out` is unspecified.
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
        let resolved = self.core.resolve(&selection)?;
        self.core.wait(self.core.read_any_into(&resolved, out))
    }

    /// Reads many selections as one task, like [`Array::read_many`](crate::Array::read_many).
    ///
    /// # Errors
    /// The same as for [`Array::read`](crate::Array::read).
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
        let resolved = self.core.resolve_all(selections)?;
        let outs = self.core.wait(self.core.read_many_any(&resolved))?;
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
        let resolved = self.core.resolve(&selection)?;
        into_dim(self.core.wait(self.core.read_as(&resolved, cast))?)
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
    pub fn write<S: Selection, D: Dimension>(&self, selection: S, data: &AnyElements<D>) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        self.core.wait(self.core.write_any::<Blocking, _>(&resolved, data))
    }

    /// Sets every element of a selection to one value of the array's type: `5u16`, `"text"`, or what
    /// [`fill_value`](Self::fill_value) returns.
    ///
    /// # Errors
    /// The same as for [`write`](Self::write).
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
    pub fn fill<S: Selection>(&self, selection: S, value: impl Into<AnyElements<Ix0>>) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        self.core.wait(self.core.fill_any::<Blocking>(&resolved, &value.into()))
    }

    /// The fill value; zero if the metadata has none.
    #[must_use]
    pub fn fill_value(&self) -> AnyElements<Ix0> {
        self.core.fill_any_value()
    }

    /// Reads the part of a chunk that lies inside the array, like
    /// [`Array::read_chunk`](crate::Array::read_chunk).
    ///
    /// # Errors
    /// The same as for [`Array::read_chunk`](crate::Array::read_chunk).
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
        self.core.wait(self.core.read_any(&self.core.chunk(chunk)?))
    }

    /// Writes the part of a chunk that lies inside the array, like
    /// [`Array::write_chunk`](crate::Array::write_chunk); [`read_chunk`](Self::read_chunk) has an
    /// example.
    ///
    /// # Errors
    /// The chunk does not exist, or an error of [`write`](Self::write).
    pub fn write_chunk<D: Dimension>(&self, chunk: &[u64], data: &AnyElements<D>) -> Result<()> {
        let resolved = self.core.chunk(chunk)?;
        self.core.wait(self.core.write_any::<Blocking, _>(&resolved, data))
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
        let core = self.core.clone();
        let source = core.any_source(data)?;
        core.wait_change(self.core.append(axis, data.shape(), &*source))
    }

    /// Begins to write a shard from inner chunks in any order, like
    /// [`Array::shard_writer`](crate::Array::shard_writer).
    ///
    /// # Errors
    /// The same as for [`Array::shard_writer`](crate::Array::shard_writer).
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
        ShardWriter::begin(self.core.clone(), shard)
    }

    /// Reads a selection. Returns the elements packed in C order and in native byte order. Elements
    /// of chunks that are not stored are the fill value. A bool is one byte, 0 or 1; a complex
    /// number is its real part, then its imaginary part; fields follow each other without gaps.
    ///
    /// [`read`](Self::read) returns large results in memory that is aligned, which a `Vec<u8>` cannot be:
    /// it is faster where chunks are stored without compression.
    ///
    /// # Errors
    /// The elements have no fixed size, or an error of [`Array::read`].
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
        let resolved = self.core.resolve(&selection)?;
        self.core.wait(self.core.read_bytes(&resolved))
    }

    /// Reads a selection into existing memory, packed as by [`read_bytes`](Self::read_bytes). It may
    /// have any alignment.
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
        let resolved = self.core.resolve(&selection)?;
        self.core.wait(self.core.read_bytes_into(&resolved, out))
    }

    /// Writes a selection from elements packed in C order and in native byte order.
    ///
    /// # Errors
    /// `bytes` has another length than the selection, in bytes, or has bytes that are not an element
    /// of the type (both checked before any I/O). Also any error of [`Array::write`].
    pub fn write_bytes(&self, selection: impl Selection, bytes: &[u8]) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        self.core.wait(self.core.write_bytes::<Blocking>(&resolved, bytes))
    }

    /// Extends the array along an axis by the elements in `bytes`, like [`Array::append`]. They are
    /// packed in C order and in native byte order. Their shape is the array's, except for the
    /// length along the axis, which follows from the length of `bytes`.
    ///
    /// # Errors
    /// `bytes` is not a whole number of such slices, or not empty although another axis has length
    /// 0. Also any error of [`Array::append`].
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
        let core = self.core.clone();
        let (shape, source) = core.bytes_source(axis, bytes)?;
        core.wait_change(self.core.append(axis, &shape, &*source))
    }

    /// Reads the contents of elements of variable size of a selection, in C order. A string is given
    /// as UTF-8, a JSON value as its text, a list as its numbers in native byte order. Elements of
    /// chunks that are not stored are the fill value.
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
        let resolved = self.core.resolve(&selection)?;
        self.core.wait(self.core.read_vlen(&resolved))
    }

    /// Writes the contents of elements of variable size to a selection, in C order.
    ///
    /// # Errors
    /// The elements have a fixed size; the number of `elements` is not that of the selection, or one
    /// of them is not of the type; an error of [`Array::write`].
    pub fn write_vlen(&self, selection: impl Selection, elements: &[Vec<u8>]) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        self.core.wait(self.core.write_vlen::<Blocking>(&resolved, elements))
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
        let resolved = self.core.resolve(&selection)?;
        into_dim(self.core.wait(self.core.read_field(name, &resolved))?)
    }
}
