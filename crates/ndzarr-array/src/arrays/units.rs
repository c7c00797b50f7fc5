//! `Units`: what the keys of an array hold, each a shard, or a chunk without shards.

use std::marker::PhantomData;

use bytes::Bytes;

use crate::arrays::chunks::{Chunk, Chunks};
use crate::arrays::info::ArrayInfo;
use crate::error::{Error, Result};
use crate::mode::{Asynchronous, Blocking};
use crate::selections::selection::Selection;

/// The units in which an array is stored: one key holds each, a shard or, without shards, a chunk.
/// See [`Array::units`](crate::Array::units).
///
/// Indices count units along each axis. Writers that keep to different units never wait for each
/// other, and writing a whole one reads nothing:
///
/// ```
/// use ndarray::ArrayD;
/// use ndzarr::{Array, MemoryStore};
///
/// let a = Array::<u16>::builder([10, 6]).chunks([2, 3]).shards([4, 6]);
/// let a = a.create((MemoryStore::new(), "a"))?;
/// for shard in a.units().iter().skip(1) {
///     a.write(&shard, &ArrayD::from_elem(shard.shape(), 7))?;
/// }
/// assert_eq!((a.units().iter().len(), a.chunks().len()), (3, 10));
/// assert_eq!(a.units().key(&[2, 0]), "a/c/2/0");
///
/// // What is stored, by a list of the keys.
/// let stored = a.units().stored()?;
/// assert_eq!(stored.len(), 2);
/// for shard in stored {
///     let bytes = a.units().encoded(&shard.index)?.expect("it is stored");
///     assert_eq!(shard.byte_len, Some(bytes.len() as u64));
/// }
///
/// // Encoded bytes can be copied to another array with the same codecs.
/// let copy = Array::<u16>::builder([10, 6]).chunks([2, 3]).shards([4, 6]);
/// let copy = copy.create((MemoryStore::new(), "copy"))?;
/// copy.units().write_encoded(&[1, 0], a.units().encoded(&[1, 0])?.expect("it is stored"))?;
/// assert_eq!(copy.read_chunk(&[2, 0])?, a.read_chunk(&[2, 0])?);
/// copy.units().erase(&[1, 0])?;
/// assert!(!copy.units().is_stored(&[1, 0])?);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Debug)]
pub struct Units<M = Blocking> {
    info: ArrayInfo,
    mode: PhantomData<fn() -> M>,
}

impl<M> Units<M> {
    pub(crate) fn new(info: &ArrayInfo) -> Self {
        Self {
            info: info.clone(),
            mode: PhantomData,
        }
    }

    /// All of them, in C order of their indices, whether they are stored or not. Each element lies
    /// in one of them.
    pub fn iter(&self) -> Chunks {
        Chunks::new(self.info.unit_grid())
    }

    /// Those that have selected elements, in C order of their indices.
    ///
    /// # Errors
    /// The selection does not fit the array.
    pub fn iter_in(&self, selection: impl Selection) -> Result<Chunks> {
        let selected = self.info.resolve(&selection)?;
        self.info
            .named(Chunks::meeting(self.info.unit_grid(), &selected))
    }

    /// The key of a unit from the root of the store. Does not check that the unit exists.
    #[must_use]
    pub fn key(&self, unit: &[u64]) -> String {
        self.info.unit_key(unit)
    }
}

impl<M> IntoIterator for Units<M> {
    type Item = Chunk;
    type IntoIter = Chunks;

    fn into_iter(self) -> Chunks {
        self.iter()
    }
}

impl<M> IntoIterator for &Units<M> {
    type Item = Chunk;
    type IntoIter = Chunks;

    fn into_iter(self) -> Chunks {
        self.iter()
    }
}

impl Units {
    /// Returns `true` if a unit is stored, without reading it. One that is not stored reads as the
    /// fill value.
    ///
    /// # Errors
    /// The unit does not exist; the store fails.
    pub fn is_stored(&self, unit: &[u64]) -> Result<bool> {
        self.info.wait(self.info.is_unit_stored(unit))
    }

    /// The stored units, in C order of their indices, and the lengths of their values as
    /// [`byte_len`](Chunk::byte_len), which is `None` of a value that cannot be looked at. Lists
    /// the keys and reads no value. Other keys, and units outside the shape, are left out.
    ///
    /// # Errors
    /// The store fails, or cannot list, a folder of the array included.
    pub fn stored(&self) -> Result<Chunks> {
        self.info.wait(self.info.all_stored_units())
    }

    /// The stored units, but folders below that of the array that cannot be listed are passed to
    /// `unlisted`, and the list goes on without the units in them.
    ///
    /// # Errors
    /// The store fails, or cannot list.
    pub fn stored_but(&self, mut unlisted: impl FnMut(Error) + Send) -> Result<Chunks> {
        self.info.wait(self.info.stored_units(&mut unlisted))
    }

    /// Reads the index of a shard, and checks that each of its entries leads to bytes of the value.
    /// No inner chunk is read. Chunks without an index, and those that are not stored, are not
    /// looked at.
    ///
    /// # Errors
    /// The index is corrupt; the unit does not exist; the store fails.
    pub fn check_index(&self, unit: &[u64]) -> Result<()> {
        self.info.wait(self.info.check_index(unit))
    }

    /// The encoded bytes of a unit as stored; `None` if it is not stored.
    ///
    /// # Errors
    /// The unit does not exist; the store fails.
    pub fn encoded(&self, unit: &[u64]) -> Result<Option<Bytes>> {
        self.info.wait(self.info.encoded_unit(unit))
    }

    /// Replaces a unit by encoded bytes, serialized with its other writers. The bytes are not
    /// examined: if they were encoded for another shape, type or list of codecs, reading them fails
    /// or returns wrong elements.
    ///
    /// # Errors
    /// The unit does not exist; the store fails.
    pub fn write_encoded(&self, unit: &[u64], bytes: impl Into<Bytes>) -> Result<()> {
        self.info
            .wait_change(self.info.put_encoded_unit(unit, bytes.into()))
    }

    /// Removes a unit, serialized with its other writers: its elements become the fill value.
    /// Removing one that is not stored succeeds.
    ///
    /// # Errors
    /// The unit does not exist; the store fails.
    pub fn erase(&self, unit: &[u64]) -> Result<()> {
        self.info.wait_change(self.info.erase_unit(unit))
    }
}

impl Units<Asynchronous> {
    /// Asynchronous [`Units::is_stored`].
    ///
    /// # Errors
    /// As for [`Units::is_stored`].
    pub async fn is_stored(&self, unit: &[u64]) -> Result<bool> {
        let unit = unit.to_vec();
        self.info
            .on_pool(|info| async move { info.is_unit_stored(&unit).await })
            .await
    }

    /// Asynchronous [`Units::stored`].
    ///
    /// # Errors
    /// As for [`Units::stored`].
    pub async fn stored(&self) -> Result<Chunks> {
        self.info
            .on_pool(|info| async move { info.all_stored_units().await })
            .await
    }

    /// Asynchronous [`Units::stored_but`].
    ///
    /// # Errors
    /// As for [`Units::stored_but`].
    pub async fn stored_but(
        &self,
        mut unlisted: impl FnMut(Error) + Send + 'static,
    ) -> Result<Chunks> {
        self.info
            .on_pool(|info| async move { info.stored_units(&mut unlisted).await })
            .await
    }

    /// Asynchronous [`Units::check_index`].
    ///
    /// # Errors
    /// As for [`Units::check_index`].
    pub async fn check_index(&self, unit: &[u64]) -> Result<()> {
        let unit = unit.to_vec();
        self.info
            .on_pool(|info| async move { info.check_index(&unit).await })
            .await
    }

    /// Asynchronous [`Units::encoded`].
    ///
    /// # Errors
    /// As for [`Units::encoded`].
    pub async fn encoded(&self, unit: &[u64]) -> Result<Option<Bytes>> {
        let unit = unit.to_vec();
        self.info
            .on_pool(|info| async move { info.encoded_unit(&unit).await })
            .await
    }

    /// Asynchronous [`Units::write_encoded`].
    ///
    /// # Errors
    /// As for [`Units::write_encoded`].
    pub async fn write_encoded(&self, unit: &[u64], bytes: impl Into<Bytes>) -> Result<()> {
        let unit = unit.to_vec();
        let bytes = bytes.into();
        self.info
            .on_change_thread(|info| async move { info.put_encoded_unit(&unit, bytes).await })
            .await
    }

    /// Asynchronous [`Units::erase`].
    ///
    /// # Errors
    /// As for [`Units::erase`].
    pub async fn erase(&self, unit: &[u64]) -> Result<()> {
        let unit = unit.to_vec();
        self.info
            .on_change_thread(|info| async move { info.erase_unit(&unit).await })
            .await
    }
}
