//! The calls of this crate as futures, under the same names as the blocking ones.
//!
//! On an asynchronous store, requests are awaited on the polling task, and overlap. On a blocking
//! store, the library's threads run the call, so the polling task is not blocked: the library's
//! pool reads and writes elements, and changes of documents, which may wait for locks, queue for 16
//! other threads of the store. No future holds a lock. Every future is `Send`. Dropping one cancels
//! the call, see
//! [Guarantees](https://github.com/ndzarr/ndzarr/blob/main/docs/guarantees.md#abandoned-calls).
//!
//! ```
//! use ndarray::array;
//! use ndzarr::store::block_on;
//! use ndzarr::{Format, MemoryStore, asynchronous};
//!
//! # block_on(async {
//! let store = MemoryStore::new();
//! let group = asynchronous::Group::create((&store, "g"), Format::Zarr3).await?;
//! let a = asynchronous::Array::<u8>::builder([2, 3]).chunks([2, 2]);
//! let a = group.create_array("a", a).await?;
//! a.write([0..1, 0..3], &array![[1, 2, 3]]).await?;
//! assert_eq!(a.read([0..2, 1..3]).await?, array![[2, 3], [0, 0]]);
//!
//! // The same array, with blocking calls.
//! let a = ndzarr::Array::from(a);
//! assert_eq!(a.read([0..1, 0..1])?, array![[1]]);
//! # Ok::<(), ndzarr::Error>(())
//! # })?;
//! # Ok::<(), ndzarr::Error>(())
//! ```

mod copy;

pub use copy::copy;

use crate::element_types::element_type::Any;
use crate::mode;

/// A chunked array in a store, with the calls of [`Array`](crate::Array) as futures. Cheap to
/// clone: a clone shares the store and the caches, and has its own shape, attributes and options.
pub type Array<E = Any> = crate::arrays::array::ArrayIn<E, mode::Asynchronous>;
/// An array whose element type is known only at run time.
pub type AnyArray = Array<Any>;
/// A group of arrays and groups in a store, with the calls of [`Group`](crate::Group) as futures.
/// Cheap to clone.
pub type Group = crate::hierarchy::group::GroupIn<mode::Asynchronous>;
/// Options for opening an array or a group, like [`OpenOptions`](crate::OpenOptions).
pub type OpenOptions = crate::places::open_options::OpenOptions<mode::Asynchronous>;
/// Describes a new array, like [`ArrayBuilder`](crate::ArrayBuilder).
pub type ArrayBuilder<E = Any> = crate::creating::builder::ArrayBuilder<E, mode::Asynchronous>;
/// Describes a new group, like [`GroupBuilder`](crate::GroupBuilder).
pub type GroupBuilder = crate::creating::group_builder::GroupBuilder<mode::Asynchronous>;
/// An array or a group, like [`AnyNode`](crate::AnyNode).
pub type AnyNode = crate::hierarchy::node::AnyNode<mode::Asynchronous>;
/// A child of a group, like [`Child`](crate::Child).
pub type Child = crate::hierarchy::node::Child<mode::Asynchronous>;
/// Writes one shard, like [`ShardWriter`](crate::ShardWriter).
pub type ShardWriter<T> = crate::arrays::shard_writer::ShardWriter<T, mode::Asynchronous>;
/// Extends an array bit by bit, like [`Appender`](crate::Appender).
pub type Appender<T> = crate::arrays::appender::Appender<T, mode::Asynchronous>;
