//! The calls of `AnyArray`: elements as bytes, texts and fields.

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

    /// Reads a region, one range for each axis: the elements in C order and this machine's byte
    /// order, packed. Elements of chunks that are not stored are the fill value. A bool is one
    /// byte, 0 or 1; a complex number its real, then its imaginary part.
    ///
    /// # Errors
    /// The region does not fit the array; a chunk that is broken; the store.
    pub fn read_bytes(&self, region: &[Range<u64>]) -> Result<Vec<u8>> {
        self.core.storage.wait(self.core.read_bytes(region))
    }

    /// Writes a region, one range for each axis, from elements in C order and this machine's byte
    /// order, packed.
    ///
    /// # Errors
    /// The region does not fit the array; `bytes` has another length than the region; the store.
    pub fn write_bytes(&self, region: &[Range<u64>], bytes: &[u8]) -> Result<()> {
        self.core.storage.wait(self.core.write_bytes(region, bytes, Colour::Blocking))
    }

    /// Grows the array along an axis by the elements of `bytes`, as [`Array::append`] does: in C
    /// order and this machine's byte order, packed. They have the array's shape but for its length
    /// along the axis, which follows.
    ///
    /// # Errors
    /// `bytes` is not a whole number of such elements, or of nothing at all where other axes have
    /// length 0; as
    /// [`Array::append`].
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
        let storage = self.core.storage.clone();
        storage.wait(self.core.append_bytes(axis, bytes, Colour::Blocking))
    }

    /// Reads a region of elements of variable size, one range for each axis: what each of them
    /// holds. Of a text that is UTF-8, of a JSON value its text, of a list its numbers in this
    /// machine's byte order. Elements of chunks that are not stored are the fill value.
    ///
    /// # Errors
    /// As [`read_bytes`](Self::read_bytes); elements of a fixed size.
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

    /// Writes a region of elements of variable size, one range for each axis, from what each of
    /// them holds, in C order.
    ///
    /// # Errors
    /// The region does not fit the array; `elements` are not as many as the region has, or not such
    /// of the type; the store.
    pub fn write_vlen(&self, region: &[Range<u64>], elements: &[Vec<u8>]) -> Result<()> {
        self.core.storage.wait(self.core.write_vlen(region, elements, Colour::Blocking))
    }

    /// Reads one field of the structured elements of a selection, and looks at no other. A path
    /// like `"orbit.speed"` leads into a structure inside; a sub-array is a Rust array, `[f32; 3]`.
    ///
    /// # Errors
    /// The elements are not structures; there is no such field; its values are not `T`; as
    /// [`Array::read`](crate::Array::read).
    ///
    /// ```
    /// use ndarray::Array1;
    /// use ndzarr_array::{AnyArray, DataType, Field, StructType};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let fields = [Field::new("id", DataType::UInt { bits: 8 }), Field::new("mass", DataType::Float { bits: 32 })];
    /// let data_type = DataType::Struct(StructType::new(fields).expect("two names"));
    /// let stars = AnyArray::builder([2]).data_type(data_type).create((MemoryStore::new(), "stars"))?;
    /// // Fields are packed, in this machine's byte order.
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
