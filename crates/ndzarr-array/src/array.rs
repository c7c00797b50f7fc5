//! `Array`: an array in a store, with blocking calls.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use ndarray::{Array as NdArray, ArrayD, ArrayRef, Dimension};
use ndzarr_engine::RunOptions;
use ndzarr_metadata::AttributeChange;
use serde_core::Serialize;
use serde_core::de::DeserializeOwned;
use serde_json::Value;

use crate::appender::Appender;
use crate::builder::ArrayBuilder;
use crate::core::Core;
use crate::element::Element;
use crate::element_type::{Any, ElementType};
use crate::error::Result;
use crate::mode::Blocking;
use crate::n5_block::N5Blocks;
use crate::open_options::OpenOptions;
use crate::place::Place;
use crate::resolved::{Resolved, into_dim};
use crate::selection::Selection;
use crate::shard_writer::ShardWriter;
use crate::to_shape::ToShape;
use crate::to_view::ToView;
use crate::units::Units;

/// A chunked array of elements of one type in a store. Cheap to clone: a clone shares the store and
/// the caches, and has its own shape, attributes and options.
///
/// The number of dimensions is known at run time; the rank of a result follows from the selection.
///
/// ```
/// use ndarray::{Array2, array};
/// use ndzarr::{Array, MemoryStore, s};
///
/// let store = MemoryStore::new();
/// let a = Array::<u16>::builder([4, 6]).chunks([2, 3]).fill_value(7).create((&store, "a"))?;
/// a.write(s![1..3, 2..5], &array![[1, 2, 3], [4, 5, 6]])?;
///
/// let rows: Array2<u16> = a.read(s![0..3, 2..4])?;
/// assert_eq!(rows, array![[7, 7], [1, 2], [4, 5]]);
/// let column = a.read(s![..;-1, 4])?;
/// assert_eq!(column, array![7, 6, 3, 7]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
///
/// `Array<E>` with a Rust type `E` has an element type known at compile time, [`AnyArray`] one
/// known when it is opened. [`ArrayInfo`](crate::ArrayInfo) has the metadata of both. The calls
/// block; those of [`asynchronous::Array`](crate::asynchronous::Array) are futures.
pub struct Array<E = Any> {
    pub(crate) core: Core,
    element: PhantomData<E>,
}

/// An array whose element type is known only at run time.
///
/// ```
/// use ndzarr::{AnyArray, Array, MemoryStore};
///
/// let store = MemoryStore::new();
/// Array::<f32>::builder([3]).fill_value(1.5).create((&store, "a"))?;
///
/// let any = AnyArray::open((&store, "a"))?;
/// assert_eq!(any.data_type().to_string(), "float32");
/// assert_eq!(any.read_bytes(&[0..1])?, 1.5f32.to_ne_bytes());
/// let typed: Array<f32> = any.typed()?;
/// # Ok::<(), ndzarr::Error>(())
/// ```
pub type AnyArray = Array<Any>;

impl<E> Clone for Array<E> {
    fn clone(&self) -> Self {
        self.core.clone().into()
    }
}

impl<E> fmt::Debug for Array<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.core, f)
    }
}

impl<E> Deref for Array<E> {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

/// For arrays whose element type has been checked.
impl<E> From<Core> for Array<E> {
    fn from(core: Core) -> Self {
        Self { core, element: PhantomData }
    }
}

/// The same array, its element type known only at run time.
impl<T: Element> From<Array<T>> for AnyArray {
    fn from(array: Array<T>) -> Self {
        array.core.into()
    }
}

// The bound is that of each function: on the `impl`, it would not show the message of the trait.
impl<E> Array<E> {
    /// Opens an array and detects its format. [`OpenOptions`](crate::OpenOptions) has more
    /// settings.
    ///
    /// # Errors
    /// No array is there; its metadata is invalid or requires an unsupported feature; its elements
    /// are not of the type `E`.
    pub fn open(place: impl Into<Place>) -> Result<Self>
    where
        E: ElementType,
    {
        OpenOptions::<Blocking>::new().open_array(place)
    }

    /// Describes a new array of this shape, in elements.
    pub fn builder(shape: impl ToShape) -> ArrayBuilder<E>
    where
        E: ElementType,
    {
        ArrayBuilder::new(&shape.to_shape())
    }
}

impl<E: ElementType> Array<E> {
    /// The same array; its calls use these options.
    #[must_use]
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.core.options = options;
        self
    }

    /// Sets attributes and keeps the others, without losing concurrent changes.
    ///
    /// # Errors
    /// `attributes` is not a JSON object; the store cannot serialize writers, and the options do
    /// not say [`LastWriterWins`](crate::ConcurrentUpdate::LastWriterWins); the store fails.
    pub fn merge_attributes(&mut self, attributes: Value) -> Result<()> {
        let change = self.core.merging(attributes)?;
        self.change_attributes(&change)
    }

    /// Sets one attribute and keeps the others, without losing concurrent changes. As serde_json
    /// does, it writes NaN and infinities as `null`.
    ///
    /// # Errors
    /// `value` has no form in JSON, or an error of [`merge_attributes`](Self::merge_attributes).
    pub fn set_attribute(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        let change = self.core.setting(key, value)?;
        self.change_attributes(&change)
    }

    /// Replaces one attribute by a function of its current value in the store, which is `None` if
    /// there is none. No other change comes between: in stores with locks, `update` runs under the
    /// lock of the document; in others, it runs again if another writer was faster. So `update` must not
    /// change the same node: that call would wait for ever.
    ///
    /// # Errors
    /// The current value has another form than `A`, or an error of
    /// [`set_attribute`](Self::set_attribute). The attribute then stays as it is.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let mut a = Array::<u8>::builder([4]).create((MemoryStore::new(), "a"))?;
    /// a.set_attribute("history", &["created"])?;
    /// a.update_attribute("history", |history: Option<Vec<String>>| {
    ///     let mut history = history.unwrap_or_default();
    ///     history.push("calibrated".to_owned());
    ///     history
    /// })?;
    /// assert_eq!(a.attributes()["history"], serde_json::json!(["created", "calibrated"]));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn update_attribute<A: DeserializeOwned + Serialize>(
        &mut self,
        key: &str,
        update: impl FnMut(Option<A>) -> A,
    ) -> Result<()> {
        let (storage, options) = (self.core.storage.clone(), self.core.options.clone());
        storage.wait_change(options.cancel.as_ref(), self.core.update_attribute(key, update))
    }

    /// Applies any change to the attributes.
    ///
    /// # Errors
    /// The array's format cannot express the change; the store fails.
    pub fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let (storage, options) = (self.core.storage.clone(), self.core.options.clone());
        storage.wait_change(options.cancel.as_ref(), self.core.change_attributes(change))
    }

    /// Changes the array's shape, in elements.
    ///
    /// Growing writes only the metadata document; new elements read as the fill value. Shrinking
    /// sets the discarded elements of chunks that remain to the fill value, removes the chunks
    /// outside, and writes the document last. Discarded data does not reappear when the array grows
    /// again, even if the process is killed while shrinking. Stored chunks are found by listing; in
    /// a store that cannot list, up to 2^20 chunks are tried one by one. Resizing to the current
    /// shape removes stored data outside of it, for example what a killed append left there.
    ///
    /// The number of dimensions stays. Other handles of the array, clones included, keep their
    /// shape. In stores with locks, resizing is serialized with other resizes, appends and
    /// attribute changes. It is not ordered against writes of elements: elements that another
    /// writer stores in the discarded part meanwhile may stay there, hidden, until the array grows
    /// again.
    ///
    /// # Errors
    /// The number of dimensions differs, or the format cannot express the shape; the document now
    /// belongs to another array; the store cannot serialize writers, or cannot list while there are
    /// too many chunks to try. In these cases nothing was changed. If a chunk to be trimmed is
    /// corrupt, or the store fails, the array keeps its old shape and some of the elements to be
    /// discarded are the fill value; repeating the call completes the work.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut a = Array::<u8>::builder([6]).chunks([4]).fill_value(9).create((&store, "a"))?;
    /// a.fill([0..6], 1)?;
    /// a.resize([3])?;
    /// a.resize([7])?;
    /// assert_eq!(a.read(..)?.as_slice(), Some(&[1, 1, 1, 9, 9, 9, 9][..]));
    /// assert_eq!(Array::<u8>::open((&store, "a"))?.shape(), [7]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn resize(&mut self, shape: impl ToShape) -> Result<()> {
        let (storage, options) = (self.core.storage.clone(), self.core.options.clone());
        storage.wait_change(options.cancel.as_ref(), self.core.resize(&shape.to_shape()))
    }

    /// Reads the array's documents again, and adopts the shape and attributes that other handles
    /// and programs have set since. Costs about as much as opening it; cached chunks and indexes
    /// stay.
    ///
    /// # Errors
    /// The array is gone, or another one is in its place, with other chunks, codecs or elements.
    /// The handle stays as it was.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut writer = Array::<u8>::builder([0]).chunks([4]).create((&store, "log"))?;
    /// let mut follower = Array::<u8>::open((&store, "log"))?;
    /// writer.append(0, &[1, 2, 3])?;
    /// assert_eq!(follower.shape(), [0]);
    /// follower.refresh()?;
    /// assert_eq!(follower.read([0..3])?.to_vec(), [1, 2, 3]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn refresh(&mut self) -> Result<()> {
        let mut core = self.core.clone();
        self.core.wait(core.refresh_handle())?;
        self.core = core;
        Ok(())
    }

    /// Begins to append along an axis, a frame or a few at a time, behind the array's current end.
    /// See [`Appender`].
    ///
    /// # Errors
    /// There is no such axis; the array is gone, or its chunks cannot be encoded; the store fails.
    pub fn appender(&self, axis: usize) -> Result<Appender<E>> {
        self.core.wait(Appender::begin(self.core.clone(), axis))
    }

    /// The units in which the array is stored: one key holds each, a shard or, without shards, a
    /// chunk.
    #[must_use]
    pub fn units(&self) -> Units {
        Units::new(&self.core)
    }

    /// The blocks of an N5 dataset as stored.
    #[must_use]
    pub fn n5_blocks(&self) -> N5Blocks<E> {
        N5Blocks::new(&self.core)
    }
}

impl<T: Element> Array<T> {
    /// Reads a selection into a new array in standard layout.
    ///
    /// The result has the shape of the selection, in elements. Elements of chunks that are not
    /// stored are the fill value. Large results are aligned within their `Vec`, to 64 bytes from 1
    /// MiB and to 2 MiB from 16 MiB, so `into_raw_vec_and_offset` may report an offset. The memory
    /// before it is never touched, unless the array is cloned.
    ///
    /// # Errors
    /// The selection does not fit the array (checked before any I/O); a chunk is corrupt; the store
    /// fails.
    pub fn read<S: Selection>(&self, selection: S) -> Result<NdArray<T, S::OutDim>> {
        let resolved = self.core.resolve(&selection)?;
        into_dim(self.read_resolved(&resolved)?)
    }

    fn read_resolved(&self, resolved: &Resolved) -> Result<ArrayD<T>> {
        self.core.wait(self.core.read_elements(resolved))
    }

    /// Reads many selections as one task that the threads share. For small selections this is
    /// faster than a call for each. The results are in the order of the selections.
    ///
    /// ```
    /// # use ndarray::{Array2, array};
    /// # use ndzarr::{Array, MemoryStore};
    /// # let store = MemoryStore::new();
    /// # let a = Array::<u16>::builder([2, 4]).chunks([2, 2]).create((&store, "a"))?;
    /// a.write(.., &array![[1, 2, 3, 4], [5, 6, 7, 8]].into_dyn())?;
    /// let blocks: Vec<Array2<u16>> = a.read_many([[0..2, 0..1], [1..2, 2..4]])?;
    /// assert_eq!(blocks, [array![[1], [5]], array![[7, 8]]]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as for [`read`](Self::read).
    pub fn read_many<S: Selection>(
        &self,
        selections: impl IntoIterator<Item = S>,
    ) -> Result<Vec<NdArray<T, S::OutDim>>> {
        let resolved = self.core.resolve_all(selections)?;
        let outs = self.core.wait(self.core.read_many_elements(&resolved))?;
        outs.into_iter().map(into_dim).collect()
    }

    /// Reads a selection into existing memory with any strides. Elements of chunks that are not
    /// stored become the fill value.
    ///
    /// # Errors
    /// `out` has another shape than the selection, or an error of [`read`](Self::read). After an error the
    /// content of `out` is unspecified.
    pub fn read_into<S: Selection, D: Dimension>(
        &self,
        selection: S,
        out: &mut ArrayRef<T, D>,
    ) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        self.core.wait(self.core.read_elements_into(&resolved, out.view_mut().into_dyn()))
    }

    /// Writes a selection. `data` has the shape of the selection, in elements.
    ///
    /// Each chunk is replaced as a whole, and concurrent writes of one chunk take effect one after
    /// the other. A chunk that the selection covers is not read first; any other is read, merged
    /// and written. Chunks that contain only the fill value are not stored, unless the options say
    /// otherwise.
    ///
    /// # Errors
    /// `data` has another shape than the selection (checked before any I/O); the store fails. Some
    /// chunks may have been written before the one that failed.
    pub fn write<S: Selection>(&self, selection: S, data: &(impl ToView<T> + ?Sized)) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        let data = data.to_view();
        self.core.wait(self.core.write_elements::<Blocking, _>(&resolved, data))
    }

    /// Sets every element of a selection to one value, as [`write`](Self::write) would. Filling
    /// with the fill value erases whole chunks.
    ///
    /// # Errors
    /// The same as for [`write`](Self::write).
    pub fn fill<S: Selection>(&self, selection: S, value: T) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        self.core.wait(self.core.fill_elements::<Blocking, _>(&resolved, value))
    }

    /// Reads the part of a chunk that lies inside the array, in standard layout; the fill value if
    /// the chunk is not stored. In a sharded array it is an inner chunk, by its index in the whole
    /// array: one request for the shard's index, unless it is known already, and one for the bytes.
    ///
    /// # Errors
    /// The chunk does not exist, or an error of [`read`](Self::read).
    pub fn read_chunk(&self, chunk: &[u64]) -> Result<ArrayD<T>> {
        self.read_resolved(&self.core.chunk(chunk)?)
    }

    /// Writes the part of a chunk that lies inside the array. `data` has the shape of that part, in
    /// elements.
    ///
    /// Without shards nothing is read. In a sharded array the chunk's shard is rewritten, with its
    /// other chunks unchanged: to write whole shards, use those of [`units`](Self::units) as
    /// selections, or a [`shard_writer`](Self::shard_writer).
    ///
    /// # Errors
    /// The chunk does not exist, or an error of [`write`](Self::write).
    pub fn write_chunk(&self, chunk: &[u64], data: &(impl ToView<T> + ?Sized)) -> Result<()> {
        let resolved = self.core.chunk(chunk)?;
        self.core.wait(self.core.write_elements::<Blocking, _>(&resolved, data.to_view()))
    }

    /// The fill value; zero if the metadata has none.
    #[must_use]
    pub fn fill_value(&self) -> T {
        self.core.fill_element()
    }

    /// Extends the array along an axis with `data`, whose shape is the array's except for the
    /// length along that axis.
    ///
    /// Only the chunks of the new part, partly filled chunks at the old end, and the metadata
    /// document are touched. The data goes to the array's current end as stored, which may differ
    /// from this handle's shape. Any number of threads and processes may append to one array; each
    /// append gets its own range.
    ///
    /// - In stores with locks, appends are serialized with other appends, resizes and attribute
    ///   changes. The elements are written first, so every reader that sees the new shape sees
    ///   them.
    /// - In other stores the document is changed first, by a conditional write that reserves the
    ///   range. Until the elements are written, the range reads as the fill value.
    ///
    /// # Errors
    /// `data` has another shape, or the store cannot serialize writers; in both cases nothing was
    /// written. As [`write`](Self::write): in stores with locks the array then keeps its old shape;
    /// in others it has the new shape, and elements that were not written are the fill value.
    ///
    /// ```
    /// use ndarray::array;
    /// use ndzarr::{Array, MemoryStore, s};
    ///
    /// let store = MemoryStore::new();
    /// let mut log = Array::<f32>::builder([0, 2]).chunks([100, 2]).create((&store, "log"))?;
    /// log.append(0, &array![[1.0, 2.0]])?;
    /// log.append(0, &array![[3.0, 4.0], [5.0, 6.0]])?;
    /// assert_eq!(log.shape(), [3, 2]);
    /// assert_eq!(log.read(s![.., 1])?, array![2.0, 4.0, 6.0]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn append(&mut self, axis: usize, data: &(impl ToView<T> + ?Sized)) -> Result<()> {
        let (core, data) = (self.core.clone(), data.to_view());
        let shape = data.shape().to_vec();
        let source = core.box_source(data)?;
        core.wait_change(self.core.append(axis, &shape, &*source))
    }

    /// Begins to write a shard from inner chunks in any order. The index counts shards.
    ///
    /// The calling thread encodes an inner chunk, and the writer keeps it encoded. In a folder it
    /// is kept in a temporary file beside the shard's, so memory holds only the inner chunks being
    /// encoded; for other stores it is kept in memory. [`finish`](ShardWriter::finish) publishes
    /// the shard in one step. Inner chunks that were not given keep the content that they have at
    /// that moment, so no update is lost. Until then, or if the writer is dropped, the stored shard
    /// does not change.
    ///
    /// A killed process leaves its temporary file behind. The next writer of the same shard reuses
    /// it, and removing the array removes it.
    ///
    /// # Errors
    /// The shard does not exist; the array has no shards, or has codecs after the sharding codec; the
    /// store fails.
    ///
    /// ```
    /// use ndarray::{ArrayD, IxDyn};
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let a = Array::<u16>::builder([10, 8]).chunks([2, 2]).shards([8, 8]).create((&store, "a"))?;
    /// let writer = a.shard_writer(&[1, 0])?;
    /// // Inside the array are 2 x 8 elements in 4 inner chunks.
    /// let chunks: Vec<_> = writer.chunks().collect();
    /// assert_eq!(chunks.len(), 4);
    /// std::thread::scope(|scope| {
    ///     for chunk in chunks.iter().rev() {
    ///         let writer = &writer;
    ///         scope.spawn(move || writer.write_chunk(&chunk.index, &ArrayD::ones(IxDyn(&[2, 2]))));
    ///     }
    /// });
    /// assert_eq!(a.read(..)?.sum(), 0, "nothing is there yet");
    /// writer.finish()?;
    /// assert_eq!(a.read(..)?.sum(), 16);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn shard_writer(&self, shard: &[u64]) -> Result<ShardWriter<T>> {
        ShardWriter::begin(self.core.clone(), shard)
    }
}
