use ndzarr_codec::Workspace;

use crate::Element;
use crate::array::Array;
use crate::error::{Error, ErrorKind, Result};

/// A block of an N5 dataset as it is stored, whatever its size (n5.md section 4).
#[derive(Clone, Debug, PartialEq)]
pub struct N5Block<T> {
    /// Size of the block along each axis of the array, in elements. Blocks at the end may be smaller than the others.
    pub size: Vec<u64>,
    /// The elements, as they are stored: dimension 0 of the dataset varies fastest. In a varlength block (mode 1) there
    /// can be fewer or more than the size has places.
    pub elements: Vec<T>,
}

/// Blocks of N5 datasets.
impl<T: Element> Array<T> {
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
            return Err(Error::new(ErrorKind::WrongShape, what));
        }
        let bytes: Vec<u8> = content
            .elements
            .iter()
            .flat_map(|element| bytemuck::bytes_of(&element.to_repr()).to_vec())
            .collect();
        let mut encoded = Vec::new();
        self.core.data()?.chain().encode_n5_block(
            &bytes,
            &content.size,
            &mut Workspace::new(),
            &mut encoded,
        )?;
        self.core.put_encoded_chunk(block, encoded.into())
    }
}
