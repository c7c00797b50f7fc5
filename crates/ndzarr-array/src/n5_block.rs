//! Reads and writes single blocks of N5 datasets, which may be smaller than the chunk shape.

use ndzarr_codec::Workspace;

use ndzarr_model::DataType;

use crate::PlainElement;
use crate::any_array::AnyArray;
use crate::array::Array;
use crate::error::{Error, ErrorKind, Result};

/// A block of an N5 dataset as it is stored, whatever its size
/// ([N5 specification](https://github.com/saalfeldlab/n5#file-system-specification)).
#[derive(Clone, Debug, PartialEq)]
pub struct N5Block<T> {
    /// Size of the block along each axis of the array, in elements. Blocks at the end may be smaller than the others.
    pub size: Vec<u64>,
    /// The elements, as they are stored: dimension 0 of the dataset varies fastest. In a varlength block (mode 1) there
    /// can be fewer or more than the size has places.
    pub elements: Vec<T>,
}

/// Blocks of N5 datasets.
impl<T: PlainElement> Array<T> {
    /// Reads a block as it is stored; `None` where it is not. This is the way to varlength blocks whose elements do not
    /// just fill their size, such as Paintera's label multisets.
    ///
    /// # Errors
    /// The array is no N5 dataset; no such block; a block that is broken; the store.
    ///
    /// ```
    /// use ndzarr_array::{Array, Format, N5Block};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let store = MemoryStore::new();
    /// let a = Array::<u8>::builder([5, 10]).chunks([5, 2]).format(Format::N5).create(&store, "var")?;
    /// let block = N5Block { size: vec![5, 2], elements: vec![1, 2, 3] };
    /// a.write_n5_block(&[0, 0], &block)?;
    /// assert_eq!(a.read_n5_block(&[0, 0])?, Some(block));
    /// assert_eq!(a.read_n5_block(&[0, 1])?, None);
    /// assert!(a.read(..).is_err(), "three elements fill no block of ten");
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn read_n5_block(&self, block: &[u64]) -> Result<Option<N5Block<T>>> {
        let chain = self.core.data()?.chain();
        let Some(encoded) = self.core.encoded_chunk(block)? else { return Ok(None) };
        let at =
            |error: Error| error.at_chunk(self.chunk_key(block), block).in_store(|| self.core.storage.name());
        let (size, bytes) = chain
            .decode_n5_block(&encoded, &self.core.spec().chunk_shape, &mut Workspace::new())
            .map_err(|error| at(error.into()))?;
        let elements = bytes
            .chunks_exact(size_of::<T::Repr>())
            .map(|bytes| {
                let repr = bytemuck::pod_read_unaligned::<T::Repr>(bytes);
                T::is_valid(&repr).then(|| T::from_repr(repr))
            })
            .collect::<Option<Vec<T>>>()
            .ok_or_else(|| at(Error::new(ErrorKind::Corrupt, "bytes that are no element of the type")))?;
        Ok(Some(N5Block { size, elements }))
    }

    /// Writes a block as it is given: as a varlength block (mode 1), where its elements do not just fill its size.
    ///
    /// # Errors
    /// The array is no N5 dataset; no such block; a size larger than the dataset's block size; the store.
    pub fn write_n5_block(&self, block: &[u64], content: &N5Block<T>) -> Result<()> {
        let spec = self.core.spec();
        let fits = content.size.len() == spec.chunk_shape.len()
            && content.size.iter().zip(&spec.chunk_shape).all(|(size, limit)| size <= limit);
        if !fits {
            let what =
                format!("a block of size {:?} where the block size is {:?}", content.size, spec.chunk_shape);
            return Err(self.core.name(Error::new(ErrorKind::WrongShape, what)));
        }
        let bytes: Vec<u8> = content
            .elements
            .iter()
            .flat_map(|element| bytemuck::bytes_of(&element.to_repr()).to_vec())
            .collect();
        let mut encoded = Vec::new();
        let chain = self.core.data()?.chain();
        let done = chain.encode_n5_block(&bytes, &content.size, &mut Workspace::new(), &mut encoded);
        self.core.named(done)?;
        self.core.put_encoded_chunk(block, encoded.into())
    }
}

/// Blocks of N5 datasets of type `object`.
impl AnyArray {
    /// The bytes of a block of a dataset of type `object`, which only their writer understands; `None` where it is not
    /// stored. Such datasets have no elements: a block is one value, which its header marks as mode 2.
    ///
    /// # Errors
    /// The array is of another type; no such block; a block that is broken; the store.
    ///
    /// ```
    /// use ndzarr_array::{AnyArray, ArrayRequest, CreateOptions, DataType, Format};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let request = ArrayRequest::new(vec![4], vec![2], DataType::Object);
    /// let objects = AnyArray::create(MemoryStore::new(), "o", &request, &CreateOptions::new(Format::N5))?;
    /// objects.write_n5_object(&[1], &[9, 8, 7])?;
    /// assert_eq!(objects.read_n5_object(&[1])?, Some(vec![9, 8, 7]));
    /// assert_eq!(objects.read_n5_object(&[0])?, None);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn read_n5_object(&self, block: &[u64]) -> Result<Option<Vec<u8>>> {
        self.check_object()?;
        let Some(encoded) = self.core.encoded_chunk(block)? else { return Ok(None) };
        let shape = &self.core.spec().chunk_shape;
        let decoded = self.core.data()?.chain().decode_n5_block(&encoded, shape, &mut Workspace::new());
        let (_, object) = decoded.map_err(|error| {
            Error::from(error).at_chunk(self.chunk_key(block), block).in_store(|| self.core.storage.name())
        })?;
        Ok(Some(object))
    }

    /// Writes the bytes of a block of a dataset of type `object`.
    ///
    /// # Errors
    /// The array is of another type; no such block; the store.
    pub fn write_n5_object(&self, block: &[u64], object: &[u8]) -> Result<()> {
        self.check_object()?;
        let shape = &self.core.spec().chunk_shape;
        let mut encoded = Vec::new();
        let chain = self.core.data()?.chain();
        let done = chain.encode_n5_block(object, shape, &mut Workspace::new(), &mut encoded);
        self.core.named(done)?;
        self.core.put_encoded_chunk(block, encoded.into())
    }

    fn check_object(&self) -> Result<()> {
        if *self.data_type() == DataType::Object {
            return Ok(());
        }
        let what = format!("the elements are {}, not objects of N5", self.data_type());
        Err(self.core.name(Error::new(ErrorKind::WrongType, what)))
    }
}
