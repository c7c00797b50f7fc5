//! `Array<T>`: an array whose element type is known at compile time.

use std::marker::PhantomData;
use std::ops::Range;

use bytes::Bytes;
use ndarray::{Array as NdArray, ArrayD, ArrayRef, CowArray, IxDyn};
use ndzarr_codec::CodecRegistry;
use ndzarr_engine::{EngineCause, MakeTile, RunOptions};
use ndzarr_metadata::{AttributeChange, Format, OpenOptions, Wanted};
use ndzarr_model::{Attributes, DataType};
use serde_json::Value;

use crate::any_array::AnyArray;
use crate::builder::ArrayBuilder;
use crate::chunks::Chunks;
use crate::core::Core;
use crate::element::{Element, Input, Output};
use crate::error::{Error, ErrorKind, Result};
use crate::nodes;
use crate::selection::{Resolved, Selection};
use crate::storage::Storage;

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
/// let a = Array::<u16>::builder([4, 6]).chunks([2, 3]).fill_value(7).create(&store, "a")?;
/// a.write(s![1..3, 2..5], &array![[1, 2, 3], [4, 5, 6]])?;
///
/// let rows: Array2<u16> = a.read(s![0..3, 2..4])?;
/// assert_eq!(rows, array![[7, 7], [1, 2], [4, 5]]);
/// let column = a.read(s![..;-1, 4])?;
/// assert_eq!(column, array![7, 6, 3, 7]);
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
#[derive(Debug)]
pub struct Array<T> {
    pub(crate) core: Core,
    element: PhantomData<T>,
}

impl<T> Clone for Array<T> {
    fn clone(&self) -> Self {
        Self { core: self.core.clone(), element: PhantomData }
    }
}

impl<T: Element> Array<T> {
    /// Opens an array of the local file system by the path of its folder, or a `file:` URL. Its format is detected. Of a node
    /// that is no folder (the draft of v3), and of one that only its container explains, the folders above are asked.
    ///
    /// # Errors
    /// No array is there; its documents are invalid or ask for what is not supported; its elements are not `T`.
    #[cfg(feature = "fs")]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<Self> {
        AnyArray::open(path)?.typed()
    }

    /// Opens the array at a path of a store. Its format is detected.
    ///
    /// # Errors
    /// No array is there; its documents are invalid or ask for what is not supported; its elements are not `T`.
    pub fn open_in(storage: impl Into<Storage>, path: &str) -> Result<Self> {
        AnyArray::open_in(storage, path)?.typed()
    }

    /// As [`open_in`](Self::open_in), without blocking where the store does not.
    ///
    /// # Errors
    /// As [`open_in`](Self::open_in).
    pub async fn open_async(storage: impl Into<Storage>, path: &str) -> Result<Self> {
        AnyArray::open_async(storage, path).await?.typed()
    }

    /// As [`open_in`](Self::open_in), with options and codecs of the caller's own.
    ///
    /// # Errors
    /// As [`open_in`](Self::open_in).
    pub fn open_with(
        storage: impl Into<Storage>,
        path: &str,
        options: &OpenOptions,
        registry: &CodecRegistry,
    ) -> Result<Self> {
        AnyArray::open_with(storage, path, options, registry)?.typed()
    }

    /// A new array of this shape, in elements.
    pub fn builder(shape: impl AsRef<[u64]>) -> ArrayBuilder<T> {
        ArrayBuilder::new(shape.as_ref())
    }

    pub(crate) fn from_core(core: Core) -> Result<Self> {
        let stored = &core.spec().data_type;
        if !T::accepts(stored) {
            let what = match (T::mismatch(stored), T::new_type()) {
                (Some(mismatch), _) => mismatch,
                (None, Some(own)) => format!("the elements are {stored}, not {own}"),
                (None, None) => format!("the elements are {stored}"),
            };
            return Err(core.name(Error::new(ErrorKind::WrongType, what)));
        }
        Ok(Self { core, element: PhantomData })
    }

    /// The same array, read and written with these options.
    #[must_use]
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.core.options = options;
        self
    }

    /// Reads a selection into a new array in standard layout.
    ///
    /// The result has the shape of the selection, in elements. Elements of chunks that are not stored are the fill value.
    /// Memory of large results is aligned inside its `Vec`, to 64 bytes from 1 MiB on and to 2 MiB from 16 MiB on, so that
    /// `into_raw_vec_and_offset` may tell of an offset. What is before it is never touched, unless the array is cloned.
    ///
    /// # Errors
    /// The selection does not fit the array (before any I/O); a chunk that is broken; the store.
    pub fn read<S: Selection>(&self, selection: S) -> Result<NdArray<T, S::OutDim>> {
        into_dim(self.read_resolved(&self.core.resolve(&selection)?)?)
    }

    fn read_resolved(&self, resolved: &Resolved) -> Result<ArrayD<T>> {
        let mut out = self.core.named(T::blank(&resolved.shape(), self.data_type()))?;
        self.core.read(&resolved.region(), self.tile(resolved, &mut out, Fresh::Yes))?;
        Ok(out)
    }

    /// Reads many selections as one piece of work, which is faster than one call for each where they are small: threads share
    /// them. The results come in the order of the selections.
    ///
    /// ```
    /// # use ndarray::{Array2, array};
    /// # use ndzarr_array::Array;
    /// # use ndzarr_store::MemoryStore;
    /// # let store = MemoryStore::new();
    /// # let a = Array::<u16>::builder([2, 4]).chunks([2, 2]).create(&store, "a")?;
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
        let resolved: Vec<Resolved> =
            selections.into_iter().map(|selection| self.core.resolve(&selection)).collect::<Result<_>>()?;
        let mut outs: Vec<Option<ArrayD<T>>> = resolved.iter().map(|_| None).collect();
        let regions = resolved.iter().zip(&mut outs);
        let regions =
            regions.map(|(resolved, out)| (resolved.region(), self.make_tile(resolved, out))).collect();
        self.core.read_many(regions)?;
        outs.into_iter().flatten().map(into_dim).collect()
    }

    /// Makes the result of a selection, and its tile, when it is time to read it.
    fn make_tile<'o>(&'o self, resolved: &'o Resolved, out: &'o mut Option<ArrayD<T>>) -> MakeTile<'o> {
        Box::new(move || {
            let blank = T::blank(&resolved.shape(), self.data_type());
            let out = out.insert(blank.map_err(|error| EngineCause::Tile(error.into()))?);
            Ok(self.tile(resolved, out, Fresh::Yes))
        })
    }

    /// As [`read`](Self::read), without blocking the task: on an asynchronous store requests overlap, on a blocking one
    /// the work goes to the library's pool.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub async fn read_async<S: Selection>(&self, selection: S) -> Result<NdArray<T, S::OutDim>> {
        let resolved = self.core.resolve(&selection)?;
        if self.core.storage.is_blocking() {
            let read = move |core| Self { core, element: PhantomData }.read_resolved(&resolved);
            return into_dim(self.core.elsewhere(read).await?);
        }
        let mut out = self.core.named(T::blank(&resolved.shape(), self.data_type()))?;
        self.core.read_async(&resolved.region(), self.tile(&resolved, &mut out, Fresh::Yes)).await?;
        into_dim(out)
    }

    /// Reads a selection into memory of the caller's, with any strides. Elements of chunks that are not stored become the
    /// fill value.
    ///
    /// # Errors
    /// As [`read`](Self::read); `out` has another shape than the selection. After an error the content of `out` is any
    /// mixture.
    pub fn read_into<S: Selection>(&self, selection: S, out: &mut ArrayRef<T, S::OutDim>) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        self.core.named(resolved.check_shape(out.shape()))?;
        let view = out.view_mut().into_dyn();
        let view = resolved.unfold(view);
        let tile = self.tile_of(&resolved, view, Fresh::No);
        self.core.read(&resolved.region(), tile)
    }

    /// Writes a selection. `data` has the shape of the selection, in elements.
    ///
    /// Each chunk is replaced as a whole, in some order with every other writer of it. Chunks that are covered are not
    /// read; others are read, merged and written. Chunks of nothing but the fill value are not stored, unless the
    /// options say otherwise.
    ///
    /// # Errors
    /// `data` has another shape than the selection (before any I/O); the store. Chunks may have been written before the
    /// one that failed.
    pub fn write<S: Selection>(&self, selection: S, data: &ArrayRef<T, S::OutDim>) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        self.core.named(resolved.check_shape(data.shape()))?;
        self.core.write(&resolved.region(), &*self.source(&resolved, data.view().into_dyn())?)
    }

    /// As [`write`](Self::write), without blocking the task.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub async fn write_async<S: Selection>(&self, selection: S, data: &ArrayRef<T, S::OutDim>) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        self.core.named(resolved.check_shape(data.shape()))?;
        let source = self.source(&resolved, data.view().into_dyn())?;
        self.core.write_async(&resolved.region(), &*source).await
    }

    /// Makes every element of a selection the same value, as [`write`](Self::write) would: with the fill value it erases
    /// whole chunks.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn fill<S: Selection>(&self, selection: S, value: T) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        let value = ndarray::arr0(value);
        let shape = IxDyn(&resolved.shape());
        let view = value
            .broadcast(shape)
            .ok_or_else(|| Error::new(ErrorKind::WrongShape, "the selection is too large"));
        let view = self.core.named(view)?;
        self.core.named(T::check(value.view().into_dyn(), self.data_type()))?;
        let input = Input {
            elements: CowArray::from(resolved.unfold(view)),
            axes: resolved.steps(),
            stored: self.data_type(),
        };
        self.core.write(&resolved.region(), &*T::source(input))
    }

    /// Reads what of a chunk is inside the array, in standard layout; the fill value, if it is not stored. The index counts
    /// the units that are stored: shards, where there are such.
    ///
    /// # Errors
    /// No such chunk; as [`read`](Self::read).
    pub fn read_chunk(&self, chunk: &[u64]) -> Result<ArrayD<T>> {
        self.read(&self.core.chunk_ranges(chunk, &self.core.grid()?)?)
    }

    /// Writes what of a chunk (of a shard, where there are such) is inside the array; `data` has that shape, in elements.
    /// Nothing is read.
    ///
    /// # Errors
    /// No such chunk; as [`write`](Self::write).
    pub fn write_chunk(&self, chunk: &[u64], data: &ArrayRef<T, IxDyn>) -> Result<()> {
        self.write(&self.core.chunk_ranges(chunk, &self.core.grid()?)?, data)
    }

    /// Reads what of an inner chunk of a sharded array is inside the array: one request for the index of its shard, if it
    /// is not known yet, and one for its bytes. Of an array without shards, a chunk. The index counts inner chunks over
    /// the whole array.
    ///
    /// # Errors
    /// No such inner chunk; as [`read`](Self::read).
    pub fn read_inner_chunk(&self, chunk: &[u64]) -> Result<ArrayD<T>> {
        self.read(&self.core.chunk_ranges(chunk, &self.core.inner_grid()?)?)
    }

    /// The fill value; zero where the document states none.
    #[must_use]
    pub fn fill_value(&self) -> T {
        let content = self.core.spec().fill_value.bytes();
        // It was checked when the document was read.
        T::from_content(content, self.data_type()).expect("a fill value is an element of its type")
    }

    fn tile<'o>(
        &'o self,
        resolved: &Resolved,
        out: &'o mut ArrayD<T>,
        fresh: Fresh,
    ) -> Box<dyn ndzarr_engine::Tile + 'o> {
        let view = resolved.unfold(out.view_mut());
        self.tile_of(resolved, view, fresh)
    }

    fn tile_of<'o>(
        &'o self,
        resolved: &Resolved,
        view: ndarray::ArrayViewMutD<'o, T>,
        fresh: Fresh,
    ) -> Box<dyn ndzarr_engine::Tile + 'o> {
        let lens = resolved.region().shape();
        let axes = lens.iter().zip(resolved.steps()).map(|(&len, steps)| (len as usize, steps)).collect();
        T::tile(Output { view, axes, fresh: fresh == Fresh::Yes, stored: self.data_type() })
    }

    fn source<'d>(
        &'d self,
        resolved: &Resolved,
        view: ndarray::ArrayViewD<'d, T>,
    ) -> Result<Box<dyn ndzarr_engine::Source + 'd>> {
        self.core.named(T::check(view.view(), self.data_type()))?;
        let elements = CowArray::from(resolved.unfold(view));
        Ok(T::source(Input { elements, axes: resolved.steps(), stored: self.data_type() }))
    }
}

/// Whether memory is all zero bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fresh {
    Yes,
    No,
}

fn into_dim<T, D: ndarray::Dimension>(out: ArrayD<T>) -> Result<NdArray<T, D>> {
    out.into_dimensionality().map_err(|error| Error::new(ErrorKind::WrongShape, error))
}

macro_rules! about_the_array {
    () => {
        /// Length of each dimension, in elements.
        #[must_use]
        pub fn shape(&self) -> &[u64] {
            &self.core.spec().shape
        }

        /// How many dimensions it has.
        #[must_use]
        pub fn ndim(&self) -> usize {
            self.core.spec().shape.len()
        }

        /// Type of the elements. It displays as its Zarr v3 name.
        #[must_use]
        pub fn data_type(&self) -> &DataType {
            &self.core.spec().data_type
        }

        /// Shape of a chunk, in elements: of an inner chunk, where there are shards; of the outermost level, where they
        /// are nested. Chunks at the end of the array may reach over it. Where chunks have lengths of their own, the greatest
        /// along each axis: see [`chunks`](Self::chunks) for each, and [`chunk_edges`](Self::chunk_edges).
        #[must_use]
        pub fn chunk_shape(&self) -> Vec<u64> {
            self.core.spec().inner_chunk_shape().unwrap_or_else(|| self.core.spec().chunk_shape.clone())
        }

        /// Shape of a shard, in elements; `None` without shards.
        #[must_use]
        pub fn shard_shape(&self) -> Option<&[u64]> {
            self.core.spec().inner_chunk_shape().map(|_| &self.core.spec().chunk_shape[..])
        }

        /// Lengths of the chunks along each axis, of shards where there are such, in a rectilinear grid; `None` in a regular
        /// one, where all have one shape.
        #[must_use]
        pub fn chunk_edges(&self) -> Option<&[ndzarr_model::ChunkEdges]> {
            self.core.spec().chunk_edges.as_deref()
        }

        /// The units that are stored, shards or chunks, in C order of their indices.
        pub fn chunks(&self) -> Chunks {
            Chunks::new(self.core.grid().ok())
        }

        /// The inner chunks of a sharded array over the whole array, in C order of their indices; without shards, the
        /// chunks.
        pub fn inner_chunks(&self) -> Chunks {
            Chunks::new(self.core.inner_grid().ok())
        }

        /// The key of a chunk (of a shard, where there are such) from the root of the store. Whether there is such a
        /// chunk is not checked.
        #[must_use]
        pub fn chunk_key(&self, chunk: &[u64]) -> String {
            self.core.spec().keys.key(chunk)
        }

        /// The stored bytes of a chunk (of a shard, where there are such), as they are; `None` where it is not stored.
        ///
        /// # Errors
        /// No such chunk; the store.
        pub fn encoded_chunk(&self, chunk: &[u64]) -> Result<Option<Bytes>> {
            self.core.encoded_chunk(chunk)
        }

        /// Names of the dimensions, one for each, if the array has such.
        #[must_use]
        pub fn dimension_names(&self) -> Option<&[Option<String>]> {
            self.core.spec().dimension_names.as_deref()
        }

        /// The user's attributes.
        #[must_use]
        pub fn attributes(&self) -> &Attributes {
            &self.core.node.attributes
        }

        /// Sets attributes and leaves the others, as if no other writer came between.
        ///
        /// # Errors
        /// `attributes` is no JSON object; writers cannot take turns in the store, and the options do not say
        /// [`LastWriterWins`](crate::ConcurrentUpdate::LastWriterWins); the store.
        pub fn merge_attributes(&mut self, attributes: Value) -> Result<()> {
            let attributes = self.core.named(crate::group::object(attributes))?;
            self.change_attributes(&AttributeChange::Merge(attributes))
        }

        /// Sets attributes and removes all others.
        ///
        /// # Errors
        /// `attributes` is no JSON object; the store.
        pub fn replace_attributes(&mut self, attributes: Value) -> Result<()> {
            let attributes = self.core.named(crate::group::object(attributes))?;
            self.change_attributes(&AttributeChange::Replace(attributes))
        }

        /// Changes attributes in any way.
        ///
        /// # Errors
        /// The change has no meaning in the array's format; the store.
        pub fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
            let policy = self.core.options.concurrent_update;
            let node =
                self.core.storage.wait(nodes::change(&self.core.storage, &self.core.node, change, policy))?;
            self.core.node = node.into();
            self.core.changed();
            Ok(())
        }

        /// The format of its documents.
        #[must_use]
        pub fn format(&self) -> Format {
            self.core.node.format
        }

        /// Its path from the root of the store, without a leading `/`.
        #[must_use]
        pub fn path(&self) -> &str {
            self.core.node.path.as_str()
        }

        /// The store that it is in.
        #[must_use]
        pub fn storage(&self) -> &Storage {
            &self.core.storage
        }

        /// What the documents say of the array, in the terms that all formats share.
        #[must_use]
        pub fn spec(&self) -> &ndzarr_model::ArraySpec {
            self.core.spec()
        }

        /// What was noticed when it was opened and is no error.
        #[must_use]
        pub fn warnings(&self) -> &[String] {
            &self.core.node.warnings
        }
    };
}
pub(crate) use about_the_array;

impl<T> Array<T> {
    about_the_array!();

    /// The same array, its element type known at run time only.
    #[must_use]
    pub fn into_any(self) -> AnyArray {
        AnyArray { core: self.core }
    }

    /// A range for each axis that covers everything, to be narrowed.
    #[must_use]
    pub fn all(&self) -> Vec<Range<u64>> {
        self.shape().iter().map(|&n| 0..n).collect()
    }
}

/// What an array is opened with, where the caller does not say.
pub(crate) fn array_options() -> OpenOptions {
    OpenOptions { wanted: Wanted::Array, ..OpenOptions::default() }
}
