//! Reads and writes single blocks of N5 datasets, which may be smaller than the chunk shape.

use std::marker::PhantomData;

use bytemuck::bytes_of;
use ndzarr_codec::Workspace;
use ndzarr_model::DataType;

use crate::arrays::info::ArrayInfo;
use crate::element_types::element_type::Any;
use crate::element_types::plain_element::PlainElement;
use crate::error::{Error, ErrorKind, Result};
use crate::mode::{Asynchronous, Blocking};
use crate::storage::MAX_READINGS;

/// A block of an N5 dataset as stored, whatever its size ([N5
/// specification](https://github.com/saalfeldlab/n5#file-system-specification)).
#[derive(Clone, Debug, PartialEq)]
pub struct N5Block<T> {
    /// Size of the block along each axis of the array, in elements. Blocks at the end may be
    /// smaller than the others.
    pub size: Vec<u64>,
    /// The elements as stored: dimension 0 of the dataset varies fastest. A varlength block (mode
    /// 1) can have fewer or more elements than its size implies.
    pub elements: Vec<T>,
}

/// The blocks of an N5 dataset as stored. See [`Array::n5_blocks`](crate::Array::n5_blocks).
///
/// Use it for varlength blocks, whose elements do not exactly fill their size, such as Paintera's
/// label multisets:
///
/// ```
/// use ndzarr::{Array, Format, MemoryStore, N5Block};
///
/// let store = MemoryStore::new();
/// let a = Array::<u8>::builder([5, 10]).chunks([5, 2]).format(Format::N5).create((&store, "var"))?;
/// let block = N5Block { size: vec![5, 2], elements: vec![1, 2, 3] };
/// a.n5_blocks().write(&[0, 0], &block)?;
/// assert_eq!(a.n5_blocks().read(&[0, 0])?, Some(block));
/// assert_eq!(a.n5_blocks().read(&[0, 1])?, None);
/// assert!(a.read(..).is_err(), "three elements fill no block of ten");
/// # Ok::<(), ndzarr::Error>(())
/// ```
///
/// Datasets of type `object` have no elements: a block is one value, marked as mode 2 in its
/// header, and only its writer can interpret it.
///
/// ```
/// use ndzarr::{AnyArray, DataType, Format, MemoryStore};
///
/// let objects = AnyArray::builder([4]).chunks([2]).data_type(DataType::Object).format(Format::N5);
/// let objects = objects.create((MemoryStore::new(), "o"))?;
/// objects.n5_blocks().write_object(&[1], &[9, 8, 7])?;
/// assert_eq!(objects.n5_blocks().read_object(&[1])?, Some(vec![9, 8, 7]));
/// assert_eq!(objects.n5_blocks().read_object(&[0])?, None);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Debug)]
pub struct N5Blocks<E, M = Blocking> {
    info: ArrayInfo,
    mode: PhantomData<fn() -> (E, M)>,
}

impl<E, M> N5Blocks<E, M> {
    pub(crate) fn new(info: &ArrayInfo) -> Self {
        Self {
            info: info.clone(),
            mode: PhantomData,
        }
    }
}

impl<T: PlainElement> N5Blocks<T> {
    /// Reads a block; `None` if it is not stored.
    ///
    /// # Errors
    /// The array is not an N5 dataset; the block does not exist; the block is corrupt; the store
    /// fails.
    pub fn read(&self, block: &[u64]) -> Result<Option<N5Block<T>>> {
        self.info.wait(self.info.read_n5_block(block))
    }

    /// Writes a block as given: as a varlength block (mode 1) if its elements do not exactly fill
    /// its size.
    ///
    /// # Errors
    /// The array is not an N5 dataset; the block does not exist; the size exceeds the dataset's
    /// block size; the store fails.
    pub fn write(&self, block: &[u64], content: &N5Block<T>) -> Result<()> {
        let encoded = self.info.encode_n5_block(content)?;
        self.info
            .wait_change(self.info.put_encoded_unit(block, encoded.into()))
    }
}

impl<T: PlainElement> N5Blocks<T, Asynchronous> {
    /// Asynchronous [`N5Blocks::read`].
    ///
    /// # Errors
    /// As for [`N5Blocks::read`].
    pub async fn read(&self, block: &[u64]) -> Result<Option<N5Block<T>>> {
        let block = block.to_vec();
        self.info
            .on_pool(|info| async move { info.read_n5_block(&block).await })
            .await
    }

    /// Asynchronous [`N5Blocks::write`].
    ///
    /// # Errors
    /// As for [`N5Blocks::write`].
    pub async fn write(&self, block: &[u64], content: &N5Block<T>) -> Result<()> {
        let block = block.to_vec();
        let encoded = self.info.encode_n5_block(content)?;
        self.info
            .on_change_thread(
                |info| async move { info.put_encoded_unit(&block, encoded.into()).await },
            )
            .await
    }
}

impl N5Blocks<Any> {
    /// Reads the bytes of a block of a dataset of type `object`; `None` if it is not stored.
    ///
    /// # Errors
    /// The array has another type; the block does not exist; the block is corrupt; the store fails.
    pub fn read_object(&self, block: &[u64]) -> Result<Option<Vec<u8>>> {
        self.info.wait(self.info.read_n5_object(block))
    }

    /// Writes the bytes of a block of a dataset of type `object`.
    ///
    /// # Errors
    /// The array has another type; the block does not exist; the store fails.
    pub fn write_object(&self, block: &[u64], object: &[u8]) -> Result<()> {
        let encoded = self.info.encode_n5_object(object)?;
        self.info
            .wait_change(self.info.put_encoded_unit(block, encoded.into()))
    }
}

impl N5Blocks<Any, Asynchronous> {
    /// Asynchronous [`N5Blocks::read_object`].
    ///
    /// # Errors
    /// As for [`N5Blocks::read_object`].
    pub async fn read_object(&self, block: &[u64]) -> Result<Option<Vec<u8>>> {
        let block = block.to_vec();
        self.info
            .on_pool(|info| async move { info.read_n5_object(&block).await })
            .await
    }

    /// Asynchronous [`N5Blocks::write_object`].
    ///
    /// # Errors
    /// As for [`N5Blocks::write_object`].
    pub async fn write_object(&self, block: &[u64], object: &[u8]) -> Result<()> {
        let block = block.to_vec();
        let encoded = self.info.encode_n5_object(object)?;
        self.info
            .on_change_thread(
                |info| async move { info.put_encoded_unit(&block, encoded.into()).await },
            )
            .await
    }
}

impl ArrayInfo {
    async fn read_n5_block<T: PlainElement>(&self, block: &[u64]) -> Result<Option<N5Block<T>>> {
        let Some((size, bytes)) = self.decoded_n5_block(block).await? else {
            return Ok(None);
        };
        let elements = bytes
            .chunks_exact(size_of::<T::Repr>())
            .map(|bytes| {
                let repr = bytemuck::pod_read_unaligned::<T::Repr>(bytes);
                T::is_valid(&repr).then(|| T::from_repr(repr))
            })
            .collect::<Option<Vec<T>>>()
            .ok_or_else(|| {
                let error = Error::new(
                    ErrorKind::Corrupt,
                    "bytes that are not an element of the type",
                );
                self.at_block(error, block)
            })?;
        Ok(Some(N5Block { size, elements }))
    }

    async fn read_n5_object(&self, block: &[u64]) -> Result<Option<Vec<u8>>> {
        self.check_object()?;
        Ok(self
            .decoded_n5_block(block)
            .await?
            .map(|(_, object)| object))
    }

    /// The size of a block, and its decoded content.
    async fn decoded_n5_block(&self, block: &[u64]) -> Result<Option<(Vec<u64>, Vec<u8>)>> {
        let data = self.data()?;
        let mut readings = MAX_READINGS;
        loop {
            let Some((pin, encoded)) = self.pinned_unit(block).await? else {
                return Ok(None);
            };
            let unit_shape = &self.spec().unit_shape;
            let error =
                match data
                    .chain()
                    .decode_n5_block(&encoded, unit_shape, &mut Workspace::new())
                {
                    Ok(decoded) => return Ok(Some(decoded)),
                    Err(error) => error,
                };
            let key = self.storage.named(data.key(block))?;
            if readings == 0
                || !error.is_corrupt()
                || self.storage.named(self.storage.stays(&key, &pin))?
            {
                return Err(self.at_block(error.into(), block));
            }
            readings -= 1;
        }
    }

    fn at_block(&self, error: Error, block: &[u64]) -> Error {
        error
            .at_chunk(self.unit_key(block), block)
            .in_store(|| self.storage.name())
    }

    fn encode_n5_block<T: PlainElement>(&self, content: &N5Block<T>) -> Result<Vec<u8>> {
        let spec = self.spec();
        let fits = content.size.len() == spec.unit_shape.len()
            && content
                .size
                .iter()
                .zip(&spec.unit_shape)
                .all(|(size, limit)| size <= limit);
        if !fits {
            let what = format!(
                "a block of size {:?}, but the block size is {:?}",
                content.size, spec.unit_shape
            );
            return Err(self.name(Error::new(ErrorKind::WrongShape, what)));
        }
        let bytes: Vec<u8> = content
            .elements
            .iter()
            .flat_map(|element| bytes_of(&element.to_repr()).to_vec())
            .collect();
        self.encoded_n5_block(&bytes, &content.size)
    }

    fn encode_n5_object(&self, object: &[u8]) -> Result<Vec<u8>> {
        self.check_object()?;
        self.encoded_n5_block(object, &self.spec().unit_shape)
    }

    fn encoded_n5_block(&self, bytes: &[u8], size: &[u64]) -> Result<Vec<u8>> {
        let mut encoded = Vec::new();
        let done =
            self.data()?
                .chain()
                .encode_n5_block(bytes, size, &mut Workspace::new(), &mut encoded);
        self.named(done)?;
        Ok(encoded)
    }

    fn check_object(&self) -> Result<()> {
        if *self.data_type() == DataType::Object {
            return Ok(());
        }
        let what = format!("the elements are {}, not objects of N5", self.data_type());
        Err(self.name(Error::new(ErrorKind::WrongType, what)))
    }
}
