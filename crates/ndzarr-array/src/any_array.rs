//! The calls of `AnyArray`: elements as bytes, strings and fields.

use std::ops::Range;

use ndarray::Array as NdArray;

use crate::array::{AnyArray, Array};
use crate::element_type::ElementType;
use crate::error::Result;
use crate::selection::{Selection, into_dim};
use crate::storage::Colour;
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

    /// Reads a region, one range for each axis. Returns the elements packed in C order and in
    /// native byte order. Elements of chunks that are not stored are the fill value. A bool is one
    /// byte, 0 or 1; a complex number is its real part, then its imaginary part.
    ///
    /// # Errors
    /// The region does not fit the array; a chunk is corrupt; the store fails.
    pub fn read_bytes(&self, region: &[Range<u64>]) -> Result<Vec<u8>> {
        self.core.storage.wait(self.core.read_bytes(region))
    }

    /// Writes a region, one range for each axis, from elements packed in C order and in native byte
    /// order.
    ///
    /// # Errors
    /// The region does not fit the array; `bytes` has another length than the region; the store
    /// fails.
    pub fn write_bytes(&self, region: &[Range<u64>], bytes: &[u8]) -> Result<()> {
        self.core.storage.wait(self.core.write_bytes(region, bytes, Colour::Blocking))
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
    /// use ndzarr_array::{AnyArray, Array};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let store = MemoryStore::new();
    /// Array::<u8>::builder([0, 2]).create((&store, "log"))?;
    /// let mut log = AnyArray::open((&store, "log"))?;
    /// log.append_bytes(0, &[1, 2, 3, 4])?;
    /// assert_eq!(log.shape(), [2, 2]);
    /// assert_eq!(log.read_bytes(&[1..2, 0..2])?, [3, 4]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn append_bytes(&mut self, axis: usize, bytes: &[u8]) -> Result<()> {
        let (storage, options) = (self.core.storage.clone(), self.core.options.clone());
        storage.wait_change(options.cancel.as_ref(), self.core.append_bytes(axis, bytes, Colour::Blocking))
    }

    /// Reads the contents of elements of variable size in a region, one range for each axis. A
    /// string is given as UTF-8, a JSON value as its text, a list as its numbers in native byte
    /// order. Elements of chunks that are not stored are the fill value.
    ///
    /// # Errors
    /// The elements have a fixed size, or an error of [`read_bytes`](Self::read_bytes).
    ///
    /// ```
    /// use ndzarr_array::{AnyArray, DataType};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let texts = AnyArray::builder([3]).data_type(DataType::String).create((MemoryStore::new(), "texts"))?;
    /// texts.write_vlen(&[1..3], &[b"a".to_vec(), "ü".as_bytes().to_vec()])?;
    /// assert_eq!(texts.read_vlen(&[0..3])?, [&b""[..], b"a", b"\xc3\xbc"]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn read_vlen(&self, region: &[Range<u64>]) -> Result<Vec<Vec<u8>>> {
        self.core.storage.wait(self.core.read_vlen(region))
    }

    /// Writes the contents of elements of variable size to a region, one range for each axis, in C
    /// order.
    ///
    /// # Errors
    /// The region does not fit the array; the number of `elements` is not that of the region, or
    /// one of them is not of the type; the store fails.
    pub fn write_vlen(&self, region: &[Range<u64>], elements: &[Vec<u8>]) -> Result<()> {
        self.core.storage.wait(self.core.write_vlen(region, elements, Colour::Blocking))
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
    /// use ndzarr_array::{AnyArray, DataType, Field, StructType};
    /// use ndzarr_store::MemoryStore;
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
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn read_field<T: StructField, S: Selection>(
        &self,
        name: &str,
        selection: S,
    ) -> Result<NdArray<T, S::OutDim>> {
        let resolved = self.core.resolve(&selection)?;
        into_dim(self.core.storage.wait(self.core.read_field(name, &resolved))?)
    }
}
