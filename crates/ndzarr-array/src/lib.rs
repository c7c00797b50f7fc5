//! Typed arrays and groups built on ndarray: the API of ndzarr.
//!
//! [`Array<T>`](Array) is an array whose element type is known at compile time, [`AnyArray`] one
//! whose type is known when it is opened, [`Group`] a group of both. A [`Place`] says where they
//! are: a folder, or a [`Storage`], which may be a custom store, and a path in it. Their calls
//! block; those of [`asynchronous`] are futures. A [`Selection`] says which elements are read or
//! written. [`RunOptions`] set threads and limits and carry cancellation and progress. Failures are
//! an [`Error`] with an [`ErrorKind`].
//!
//! The crate `ndzarr` re-exports all of it and adds the stores. This crate alone is enough for
//! programs with custom stores:
//!
//! ```
//! use std::collections::HashMap;
//!
//! use bytes::Bytes;
//! use ndzarr::store::{Fetch, Fetched, Key, Of, Pin, Precondition, Put, StoreError};
//! use ndzarr::{Array, Storage, Store};
//!
//! /// Values that are compiled in.
//! #[derive(Debug)]
//! struct Embedded(HashMap<&'static str, &'static [u8]>);
//!
//! impl Store for Embedded {
//!     fn name(&self) -> String {
//!         "embedded".to_owned()
//!     }
//!
//!     fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
//!         let Some(value) = self.0.get(fetch.key.as_str()) else { return Ok(Fetched::Missing) };
//!         let pin = match &fetch.of {
//!             Of::Any => Pin::new(()),
//!             Of::Snapshot(pin) | Of::IfCurrent(pin) => pin.clone(),
//!         };
//!         let (size, parts) = fetch.want.cut(&fetch.key, &Bytes::from_static(value))?;
//!         Ok(Fetched::Parts { pin, size, parts })
//!     }
//!
//!     fn put(&self, _: &Key, _: &[Bytes], _: Precondition) -> Result<Put, StoreError> {
//!         Err(StoreError::Unsupported("write"))
//!     }
//!
//!     fn erase(&self, _: &Key, _: Precondition) -> Result<Put, StoreError> {
//!         Err(StoreError::Unsupported("erase"))
//!     }
//! }
//!
//! let document = br#"{"zarr_format": 2, "shape": [5], "chunks": [3], "dtype": "|u1", "order": "C",
//!                     "compressor": null, "filters": null, "fill_value": 9}"#;
//! let store = Embedded(HashMap::from([("a/.zarray", &document[..]), ("a/0", &[1, 2, 3])]));
//! let a = Array::<u8>::open((Storage::blocking(store), "a"))?;
//! assert_eq!(a.read(..)?.as_slice(), Some(&[1, 2, 3, 9, 9][..]));
//! # Ok::<(), ndzarr::Error>(())
//! ```
// docs.rs shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)]

mod arrays;
pub mod asynchronous;
pub mod codec;
mod copy;
mod creating;
mod element_types;
mod error;
mod hierarchy;
mod mode;
mod operations;
mod places;
mod selections;
mod storage;
mod tiles;

pub use arrays::appender::Appender;
pub use arrays::array::{AnyArray, Array, ArrayIn};
pub use arrays::chunks::{Chunk, Chunks};
pub use arrays::info::ArrayInfo;
pub use arrays::n5_block::{N5Block, N5Blocks};
pub use arrays::shard_writer::ShardWriter;
pub use arrays::units::Units;
pub use copy::{
    CopiedNode, CopyAccount, CopyLevel, CopyOptions, CopyReport, KeyList, LeftOut, LeftOutReason,
    NotCopied, copy,
};
pub use creating::builder::ArrayBuilder;
pub use creating::group_builder::GroupBuilder;
pub use creating::new_array::NewArray;
pub use element_types::any_elements::AnyElements;
pub use element_types::element::Element;
pub use element_types::element_type::{Any, ElementType};
pub use element_types::fixed_elements::{FixedBytes, FixedUtf32};
pub use element_types::number::{Cast, Number};
pub use element_types::plain_element::{PlainElement, Repr};
pub use element_types::small_floats::{
    Float4E2M1Fn, Float6E2M3Fn, Float6E3M2Fn, Float8E3M4, Float8E4M3, Float8E4M3B11Fnuz,
    Float8E4M3Fn, Float8E4M3Fnuz, Float8E5M2, Float8E5M2Fnuz, Float8E8M0Fnu,
};
pub use element_types::struct_plan::{FieldMismatch, FieldPlan, StructField};
#[doc(hidden)]
pub use element_types::structured;
pub use element_types::times::{Datetime64, Timedelta64};
pub use error::{Error, ErrorKind, Result};
#[doc(hidden)]
pub use half::{bf16, f16};
pub use hierarchy::blocking::AnyNode;
pub use hierarchy::contents::Contents;
pub use hierarchy::group::{Group, GroupIn};
pub use hierarchy::group_info::GroupInfo;
pub use hierarchy::key_name::KeyName;
pub use hierarchy::node::Child;
pub use mode::{Asynchronous, Blocking, Mode};
pub use ndarray;
pub use ndzarr_codec::CodecRegistry;
pub use ndzarr_engine::{
    Cache, Cancel, ConcurrentUpdate, DamageReport, Damaged, DamagedChunk, FillChunks, Foreign,
    MemoryOrder, Progress, RunOptions, UnitPlace,
};
pub use ndzarr_metadata::{
    ArrayRequest, AttributeChange, CodecRequest, ConsolidatedUse, Existing, Extensions,
    FillRequest, Format, Limits, MemberKind, N5Axes, N5GroupDocuments, Order, UnknownType,
};
pub use ndzarr_model::{
    Attributes, ChunkEdges, ComplexPart, CustomChunkGrid, CustomType, DataType, EdgeBlocks,
    ElemKind, Endian, Field, FillValue, Region, SmallFloat, StructType, TimeUnit, TypeRules,
};
pub use operations::par::{par_fold, par_fold_stored, par_map, par_write};
pub use places::blocking::OpenOptions;
pub use places::place::Place;
#[cfg(feature = "fs")]
#[doc(hidden)]
pub use places::url;
pub use selections::array_selections::Named;
pub use selections::axis_selection::{AxisBounds, AxisSelection, AxisSlice, Integer};
pub use selections::points::Points;
pub use selections::resolved::Resolved;
pub use selections::selection::Selection;
pub use selections::to_shape::ToShape;
pub use storage::Storage;
pub use tiles::to_view::ToView;
