//! `ArrayIn`: an array in a store. `Array` has blocking calls, `asynchronous::Array` futures.

mod document;
mod elements;

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use ndzarr_engine::RunOptions;

use crate::arrays::info::ArrayInfo;
use crate::arrays::n5_block::N5Blocks;
use crate::arrays::units::Units;
use crate::creating::builder::ArrayBuilder;
use crate::element_types::element::Element;
use crate::element_types::element_type::{Any, ElementType};
use crate::mode::{Asynchronous, Blocking, Mode};
use crate::selections::to_shape::ToShape;

/// A chunked array of elements of one type in a store. Its calls block if `M` is [`Blocking`], as
/// those of [`Array`], and are futures if it is [`Asynchronous`], as those of
/// [`asynchronous::Array`](crate::asynchronous::Array).
pub struct ArrayIn<E, M> {
    pub(crate) info: ArrayInfo,
    types: PhantomData<(E, M)>,
}

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
pub type Array<E = Any> = ArrayIn<E, Blocking>;

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

impl<E, M> Clone for ArrayIn<E, M> {
    fn clone(&self) -> Self {
        self.info.clone().into()
    }
}

impl<E, M> fmt::Debug for ArrayIn<E, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.info, f)
    }
}

impl<E, M> Deref for ArrayIn<E, M> {
    type Target = ArrayInfo;

    fn deref(&self) -> &ArrayInfo {
        &self.info
    }
}

/// For arrays whose element type has been checked.
impl<E, M> From<ArrayInfo> for ArrayIn<E, M> {
    fn from(info: ArrayInfo) -> Self {
        Self {
            info,
            types: PhantomData,
        }
    }
}

/// The array with an element type that is known only at run time.
impl<T: Element, M> From<ArrayIn<T, M>> for ArrayIn<Any, M> {
    fn from(array: ArrayIn<T, M>) -> Self {
        array.info.into()
    }
}

/// The array with asynchronous calls.
impl<E> From<ArrayIn<E, Blocking>> for ArrayIn<E, Asynchronous> {
    fn from(array: ArrayIn<E, Blocking>) -> Self {
        array.info.into()
    }
}

/// The array with blocking calls.
impl<E> From<ArrayIn<E, Asynchronous>> for ArrayIn<E, Blocking> {
    fn from(array: ArrayIn<E, Asynchronous>) -> Self {
        array.info.into()
    }
}

// The bound is that of each function: on the `impl`, it would not show the message of the trait.
impl<E, M: Mode> ArrayIn<E, M> {
    /// Describes a new array of this shape, in elements.
    pub fn builder(shape: impl ToShape) -> ArrayBuilder<E, M>
    where
        E: ElementType,
    {
        ArrayBuilder::new(&shape.to_shape())
    }
}

impl<E: ElementType, M: Mode> ArrayIn<E, M> {
    /// The array, whose calls use these options.
    #[must_use]
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.info.options = options;
        self
    }

    /// The units in which the array is stored: one key holds each, a shard or, without shards, a
    /// chunk.
    #[must_use]
    pub fn units(&self) -> Units<M> {
        Units::new(&self.info)
    }

    /// The blocks of an N5 dataset as stored.
    #[must_use]
    pub fn n5_blocks(&self) -> N5Blocks<E, M> {
        N5Blocks::new(&self.info)
    }
}

impl<T: Element, M: Mode> ArrayIn<T, M> {
    /// The fill value; zero if the metadata has none.
    #[must_use]
    pub fn fill_value(&self) -> T {
        self.info.fill_element()
    }
}
