//! `Array`: an array in a store, with calls that block.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use bytes::Bytes;
use ndarray::{Array as NdArray, ArrayD, ArrayRef, Dimension, IxDyn};
use ndzarr_engine::RunOptions;
use ndzarr_metadata::AttributeChange;
use serde_json::Value;

use crate::builder::ArrayBuilder;
use crate::core::Core;
use crate::element::Element;
use crate::element_type::{Any, ElementType};
use crate::error::Result;
use crate::mode::Blocking;
use crate::n5_block::N5Blocks;
use crate::open_options::OpenOptions;
use crate::place::Place;
use crate::selection::{Resolved, Selection, into_dim};
use crate::shard_writer::ShardWriter;
use crate::storage::Colour;

/// A chunked array of elements of one type in a store. Cheap to clone; clones share it.
///
/// The number of dimensions is known at run time; that of what is read follows from the selection.
///
/// ```
/// use ndarray::{Array2, array};
/// use ndzarr_array::{Array, s};
/// use ndzarr_store::MemoryStore;
///
/// let store = MemoryStore::new();
/// let a = Array::<u16>::builder([4, 6]).chunks([2, 3]).fill_value(7).create((&store, "a"))?;
/// a.write(s![1..3, 2..5], &array![[1, 2, 3], [4, 5, 6]])?;
///
/// let rows: Array2<u16> = a.read(s![0..3, 2..4])?;
/// assert_eq!(rows, array![[7, 7], [1, 2], [4, 5]]);
/// let column = a.read(s![..;-1, 4])?;
/// assert_eq!(column, array![7, 6, 3, 7]);
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
///
/// `Array<E>` with a Rust type `E` knows the type of its elements when the program is compiled,
/// [`AnyArray`] when it is opened. What an array says of itself is the same for both, see
/// [`ArrayInfo`](crate::ArrayInfo). The calls block; those of
/// [`asynchronous::Array`](crate::asynchronous::Array) are futures.
pub struct Array<E = Any> {
    pub(crate) core: Core,
    element: PhantomData<E>,
}

/// An array whose element type is known at run time only.
///
/// ```
/// use ndzarr_array::{AnyArray, Array};
/// use ndzarr_store::MemoryStore;
///
/// let store = MemoryStore::new();
/// Array::<f32>::builder([3]).fill_value(1.5).create((&store, "a"))?;
///
/// let any = AnyArray::open((&store, "a"))?;
/// assert_eq!(any.data_type().to_string(), "float32");
/// assert_eq!(any.read_bytes(&[0..1])?, 1.5f32.to_ne_bytes());
/// let typed: Array<f32> = any.typed()?;
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
pub type AnyArray = Array<Any>;

impl<E> Clone for Array<E> {
    fn clone(&self) -> Self {
        self.core.clone().into()
    }
}

impl<E> fmt::Debug for Array<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array").field("core", &self.core).finish()
    }
}

impl<E> Deref for Array<E> {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

/// For arrays of which the type of the elements was checked.
impl<E> From<Core> for Array<E> {
    fn from(core: Core) -> Self {
        Self { core, element: PhantomData }
    }
}

/// The same array, its element type known at run time only.
impl<T: Element> From<Array<T>> for AnyArray {
    fn from(array: Array<T>) -> Self {
        array.core.into()
    }
}

impl<E: ElementType> Array<E> {
    /// Opens an array. Its format is detected. [`OpenOptions`](crate::OpenOptions) say more.
    ///
    /// # Errors
    /// No array is there; its documents are invalid or ask for what is not supported; its elements
    /// are not `E`.
    pub fn open(place: impl Into<Place>) -> Result<Self> {
        OpenOptions::<Blocking>::new().open_array(place)
    }

    /// A new array of this shape, in elements.
    pub fn builder(shape: impl AsRef<[u64]>) -> ArrayBuilder<E> {
        ArrayBuilder::new(shape.as_ref())
    }

    /// The same array, read and written with these options.
    #[must_use]
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.core.options = options;
        self
    }

    /// Sets attributes and leaves the others, as if no other writer came between.
    ///
    /// # Errors
    /// `attributes` is not a JSON object; writers cannot take turns in the store, and the options
    /// do not say
    /// [`LastWriterWins`](crate::ConcurrentUpdate::LastWriterWins); the store.
    pub fn merge_attributes(&mut self, attributes: Value) -> Result<()> {
        let change = self.core.merging(attributes)?;
        self.change_attributes(&change)
    }

    /// Changes attributes in any way.
    ///
    /// # Errors
    /// The change has no meaning in the array's format; the store.
    pub fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let storage = self.core.storage.clone();
        storage.wait(self.core.change_attributes(change))
    }

    /// The stored bytes of a chunk (of a shard, where there are such), as they are; `None` where it
    /// is not stored.
    ///
    /// # Errors
    /// No such chunk; the store.
    pub fn encoded_chunk(&self, chunk: &[u64]) -> Result<Option<Bytes>> {
        self.core.storage.wait(self.core.encoded_chunk(chunk))
    }

    /// Gives the array another shape, in elements.
    ///
    /// Growing writes the document and nothing else; what is new is the fill value. Shrinking makes
    /// the elements that go the fill value in the chunks that stay, removes the chunks that are
    /// outside, and writes the document last: what was cut off does not come back when the array
    /// grows again, not even if the process is killed meanwhile. Stored chunks are listed, never
    /// enumerated. To resize to the very same shape removes what is outside: what an appending left
    /// there that was killed, say.
    ///
    /// The number of dimensions stays. Other handles of the array, clones included, keep the shape
    /// that they have. In stores with locks, resizing takes turns with other resizing, with
    /// appending and with changes of attributes. It is not ordered against writes of elements: what
    /// others write meanwhile to the part that goes may stay there, unseen, until it grows again.
    ///
    /// # Errors
    /// Another number of dimensions, or a shape that the format cannot express; the document is not
    /// that of this array any more; writers cannot take turns in the store: nothing was changed. A
    /// chunk to be trimmed that is broken, or the store: the array has its old shape, and of the
    /// elements that were to go some are the fill value; the same call again goes on.
    ///
    /// ```
    /// use ndzarr_array::Array;
    /// use ndzarr_store::MemoryStore;
    ///
    /// let store = MemoryStore::new();
    /// let mut a = Array::<u8>::builder([6]).chunks([4]).fill_value(9).create((&store, "a"))?;
    /// a.fill([0..6], 1)?;
    /// a.resize([3])?;
    /// a.resize([7])?;
    /// assert_eq!(a.read(..)?.as_slice(), Some(&[1, 1, 1, 9, 9, 9, 9][..]));
    /// assert_eq!(Array::<u8>::open((&store, "a"))?.shape(), [7]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn resize(&mut self, shape: impl AsRef<[u64]>) -> Result<()> {
        let storage = self.core.storage.clone();
        storage.wait(self.core.resize(shape.as_ref(), Colour::Blocking))
    }

    /// The blocks of an N5 dataset as they are stored.
    #[must_use]
    pub fn n5_blocks(&self) -> N5Blocks<E> {
        N5Blocks::new(&self.core)
    }
}

impl<T: Element> Array<T> {
    /// Reads a selection into a new array in standard layout.
    ///
    /// The result has the shape of the selection, in elements. Elements of chunks that are not
    /// stored are the fill value. Memory of large results is aligned inside its `Vec`, to 64 bytes
    /// from 1 MiB on and to 2 MiB from 16 MiB on, so that `into_raw_vec_and_offset` may tell of an
    /// offset. What is before it is never touched, unless the array is cloned.
    ///
    /// # Errors
    /// The selection does not fit the array (before any I/O); a chunk that is broken; the store.
    pub fn read<S: Selection>(&self, selection: S) -> Result<NdArray<T, S::OutDim>> {
        let resolved = self.core.resolve(&selection)?;
        into_dim(self.read_resolved(&resolved)?)
    }

    fn read_resolved(&self, resolved: &Resolved) -> Result<ArrayD<T>> {
        self.core.storage.wait(self.core.read_elements(resolved))
    }

    /// Reads many selections as one piece of work, which is faster than one call for each where
    /// they are small: threads share them. The results come in the order of the selections.
    ///
    /// ```
    /// # use ndarray::{Array2, array};
    /// # use ndzarr_array::Array;
    /// # use ndzarr_store::MemoryStore;
    /// # let store = MemoryStore::new();
    /// # let a = Array::<u16>::builder([2, 4]).chunks([2, 2]).create((&store, "a"))?;
    /// a.write(.., &array![[1, 2, 3, 4], [5, 6, 7, 8]].into_dyn())?;
    /// let blocks: Vec<Array2<u16>> = a.read_many([[0..2, 0..1], [1..2, 2..4]])?;
    /// assert_eq!(blocks, [array![[1], [5]], array![[7, 8]]]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_many<S: Selection>(
        &self,
        selections: impl IntoIterator<Item = S>,
    ) -> Result<Vec<NdArray<T, S::OutDim>>> {
        let resolved = self.core.resolve_all(selections)?;
        let outs = self.core.storage.wait(self.core.read_many_elements(&resolved))?;
        outs.into_iter().map(into_dim).collect()
    }

    /// Reads a selection into memory of the caller's, with any strides. Elements of chunks that are
    /// not stored become the fill value.
    ///
    /// # Errors
    /// As [`read`](Self::read); `out` has another shape than the selection. After an error the
    /// content of `out` is any mixture.
    pub fn read_into<S: Selection>(&self, selection: S, out: &mut ArrayRef<T, S::OutDim>) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        self.core.storage.wait(self.core.read_elements_into(&resolved, out.view_mut().into_dyn()))
    }

    /// Writes a selection. `data` has the shape of the selection, in elements.
    ///
    /// Each chunk is replaced as a whole, in some order with every other writer of it. Chunks that
    /// are covered are not read; others are read, merged and written. Chunks of nothing but the
    /// fill value are not stored, unless the options say otherwise.
    ///
    /// # Errors
    /// `data` has another shape than the selection (before any I/O); the store. Chunks may have
    /// been written before the one that failed.
    pub fn write<S: Selection>(&self, selection: S, data: &ArrayRef<T, S::OutDim>) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        let data = data.view().into_dyn();
        self.core.storage.wait(self.core.write_elements(&resolved, data, Colour::Blocking))
    }

    /// Makes every element of a selection the same value, as [`write`](Self::write) would: with the
    /// fill value it erases whole chunks.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn fill<S: Selection>(&self, selection: S, value: T) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        self.core.storage.wait(self.core.fill_elements(&resolved, value, Colour::Blocking))
    }

    /// Reads the part of a chunk that lies inside the array, in standard layout; the fill value, if
    /// it is not stored. The index counts the units that are stored: shards, where there are such.
    ///
    /// # Errors
    /// No such chunk; as [`read`](Self::read).
    pub fn read_chunk(&self, chunk: &[u64]) -> Result<ArrayD<T>> {
        self.read_resolved(&self.core.chunk(chunk)?)
    }

    /// Writes the part of a chunk (of a shard, where there are such) that lies inside the array;
    /// `data` has that shape, in elements. Nothing is read.
    ///
    /// # Errors
    /// No such chunk; as [`write`](Self::write).
    pub fn write_chunk(&self, chunk: &[u64], data: &ArrayRef<T, IxDyn>) -> Result<()> {
        let resolved = self.core.chunk(chunk)?;
        self.core.storage.wait(self.core.write_elements(&resolved, data.view(), Colour::Blocking))
    }

    /// Reads the part of an inner chunk of a sharded array that lies inside the array: one request
    /// for the index of its shard, if it is not known yet, and one for its bytes. Of an array
    /// without shards, a chunk. The index counts inner chunks over the whole array.
    ///
    /// # Errors
    /// No such inner chunk; as [`read`](Self::read).
    pub fn read_inner_chunk(&self, chunk: &[u64]) -> Result<ArrayD<T>> {
        self.read_resolved(&self.core.inner_chunk(chunk)?)
    }

    /// The fill value; zero where the document states none.
    #[must_use]
    pub fn fill_value(&self) -> T {
        self.core.fill_element()
    }

    /// Grows the array along an axis, and writes what it grows by. `data` has the array's shape but
    /// for its length along the axis.
    ///
    /// Nothing but the chunks of the new part is touched, and its document; of the old ones, those
    /// at the end that are filled in part. It counts from the shape that the document has at this
    /// moment, which may not be that of the handle. Any number of threads and processes may append
    /// to one array: each has a place of its own.
    ///
    /// - In stores with locks, appending takes turns with other appending, with resizing and with
    ///   changes of attributes. The elements are written first, so that whoever sees the new shape
    ///   sees them.
    /// - In others the document is changed first, by a conditional write, which tells others that
    ///   the place is taken. Until the elements are written, it reads as the fill value.
    ///
    /// # Errors
    /// `data` has another shape, or writers cannot take turns in the store: nothing was written. As
    /// [`write`](Self::write): in stores with locks the array has its old shape; in others its new one, and what was not
    /// written is the fill value.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr_array::{Array, s};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let store = MemoryStore::new();
    /// let mut log = Array::<f32>::builder([0, 2]).chunks([100, 2]).create((&store, "log"))?;
    /// log.append(0, &array![[1.0, 2.0]])?;
    /// log.append(0, &array![[3.0, 4.0], [5.0, 6.0]])?;
    /// assert_eq!(log.shape(), [3, 2]);
    /// assert_eq!(log.read(s![.., 1])?, array![2.0, 4.0, 6.0]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn append<D: Dimension>(&mut self, axis: usize, data: &ArrayRef<T, D>) -> Result<()> {
        let storage = self.core.storage.clone();
        storage.wait(self.core.append_elements(axis, data.view().into_dyn(), Colour::Blocking))
    }

    /// Begins to write a shard, from inner chunks in any order. The index counts shards.
    ///
    /// Inner chunks are encoded by the thread that gives them and kept encoded: in a folder in a
    /// temporary file beside that of the shard, so that memory has those alone that are being
    /// encoded; in other stores in memory. When it is
    /// [finished](ShardWriter::finish), the shard is published, once. What was not given is what it is at that moment, so
    /// that nobody's update is lost. Until then, and if it is dropped, the shard stays as it is.
    ///
    /// A killed process leaves its temporary file behind; the next writer of the same shard takes
    /// it over, and removing the array removes it.
    ///
    /// # Errors
    /// No such shard; an array without shards, or with codecs behind its shards; the store.
    ///
    /// ```
    /// use ndarray::{ArrayD, IxDyn};
    /// use ndzarr_array::Array;
    /// use ndzarr_store::MemoryStore;
    ///
    /// let store = MemoryStore::new();
    /// let a = Array::<u16>::builder([10, 8]).chunks([2, 2]).shards([8, 8]).create((&store, "a"))?;
    /// let writer = a.shard_writer(&[1, 0])?;
    /// // Inside the array are 2 x 8 elements in 4 inner chunks.
    /// let chunks: Vec<_> = writer.inner_chunks().collect();
    /// assert_eq!(chunks.len(), 4);
    /// std::thread::scope(|scope| {
    ///     for chunk in chunks.iter().rev() {
    ///         let writer = &writer;
    ///         scope.spawn(move || writer.write_inner(&chunk.index, &ArrayD::ones(IxDyn(&[2, 2]))));
    ///     }
    /// });
    /// assert_eq!(a.read(..)?.sum(), 0, "nothing is there yet");
    /// writer.finish()?;
    /// assert_eq!(a.read(..)?.sum(), 16);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn shard_writer(&self, shard: &[u64]) -> Result<ShardWriter<T>> {
        ShardWriter::begin(self.core.clone(), shard)
    }
}
