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

mod about;
mod any_array;
mod any_elements;
mod any_values;
mod apart;
mod appender;
#[cfg(feature = "fs")]
mod archive;
mod array;
mod array_selections;
mod assign;
pub mod asynchronous;
mod attributes;
mod axis_selection;
mod blocking;
mod builder;
mod byte_tile;
mod chunks;
pub mod codec;
mod consolidated;
mod contents;
mod convert_tile;
mod copy;
mod core;
mod default_chunks;
mod each;
mod element;
mod element_type;
mod elements;
mod erase;
mod error;
mod field;
mod fixed_elements;
mod group;
mod group_builder;
mod group_core;
#[cfg(feature = "jiff")]
mod jiff_times;
mod key_name;
mod located;
mod mask_tile;
mod mode;
mod n5_block;
mod new_array;
mod node;
mod nodes;
mod note;
mod number;
mod occupied;
mod open;
mod open_options;
mod output;
mod packed;
mod par;
mod place;
mod plain_element;
mod point_list;
mod point_tile;
mod points;
mod raw;
#[cfg(feature = "fs")]
mod remote;
mod resolved;
#[cfg(feature = "fs")]
mod roots;
mod selection;
mod shard_writer;
mod small_floats;
mod small_numbers;
mod source;
mod steps;
mod storage;
mod struct_field;
mod struct_plan;
#[doc(hidden)]
pub mod structured;
mod tile;
mod to_shape;
mod to_view;
mod units;
mod unseen;
#[cfg(feature = "fs")]
#[doc(hidden)]
pub mod url;
mod values;
mod views;
mod vlen_array;

pub use any_elements::AnyElements;
pub use appender::Appender;
pub use array::{AnyArray, Array, ArrayIn};
pub use array_selections::Named;
pub use axis_selection::{AxisBounds, AxisSelection, AxisSlice, Integer};
pub use blocking::{AnyNode, OpenOptions};
pub use builder::ArrayBuilder;
pub use chunks::{Chunk, Chunks};
pub use contents::Contents;
pub use copy::{
    CopiedNode, CopyAccount, CopyLevel, CopyOptions, CopyReport, KeyList, LeftOut, LeftOutReason, NotCopied,
    copy,
};
pub use core::Core as ArrayInfo;
pub use element::{Datetime64, Element, Timedelta64};
pub use element_type::{Any, ElementType};
pub use error::{Error, ErrorKind, Result};
pub use fixed_elements::{FixedBytes, FixedUtf32};
pub use group::{Group, GroupIn};
pub use group_builder::GroupBuilder;
pub use group_core::GroupCore as GroupInfo;
#[doc(hidden)]
pub use half::{bf16, f16};
pub use key_name::KeyName;
pub use mode::{Asynchronous, Blocking, Mode};
pub use n5_block::{N5Block, N5Blocks};
pub use ndarray;
pub use ndzarr_codec::CodecRegistry;
pub use ndzarr_engine::{
    Cache, Cancel, ConcurrentUpdate, DamageReport, Damaged, DamagedChunk, FillChunks, Foreign, MemoryOrder,
    Progress, RunOptions, UnitPlace,
};
pub use ndzarr_metadata::{
    ArrayRequest, AttributeChange, CodecRequest, ConsolidatedUse, Existing, Extensions, FillRequest, Format,
    Limits, MemberKind, N5Axes, N5GroupDocuments, Order, UnknownType,
};
pub use ndzarr_model::{
    Attributes, ChunkEdges, ComplexPart, CustomChunkGrid, CustomGrid, CustomType, DataType, EdgeBlocks,
    ElemKind, Endian, Field, FillValue, Region, SmallFloat, StructType, TimeUnit, TypeRules,
};
pub use new_array::NewArray;
pub use node::Child;
pub use number::{Cast, Number};
pub use par::{par_fold, par_fold_stored, par_map, par_write};
pub use place::Place;
pub use plain_element::{PlainElement, Repr};
pub use points::Points;
pub use resolved::Resolved;
pub use selection::Selection;
pub use shard_writer::ShardWriter;
pub use small_floats::{
    Float4E2M1Fn, Float6E2M3Fn, Float6E3M2Fn, Float8E3M4, Float8E4M3, Float8E4M3B11Fnuz, Float8E4M3Fn,
    Float8E4M3Fnuz, Float8E5M2, Float8E5M2Fnuz, Float8E8M0Fnu,
};
pub use storage::Storage;
pub use struct_plan::{FieldMismatch, FieldPlan, StructField};
pub use to_shape::ToShape;
pub use to_view::ToView;
pub use units::Units;
