//! Typed arrays and groups on ndarray: the API of ndzarr.
#![deny(unsafe_code)]

mod any_array;
mod array;
mod builder;
mod byte_tile;
mod chunks;
pub mod codec;
mod core;
mod element;
mod error;
mod group;
mod n5_block;
mod nodes;
mod output;
mod selection;
mod source;
mod steps;
mod storage;
mod tile;

pub use any_array::AnyArray;
pub use array::Array;
pub use builder::ArrayBuilder;
pub use chunks::{Chunk, Chunks};
pub use element::{Element, Repr};
pub use error::{Error, ErrorKind, Result};
pub use group::{AnyNode, Group};
pub use n5_block::N5Block;
pub use ndarray::s;
pub use ndzarr_codec::CodecRegistry;
pub use ndzarr_engine::{Cancel, ConcurrentUpdate, FillChunks, OnProgress, Progress, RunOptions};
pub use ndzarr_metadata::{
    ArrayRequest, AttributeChange, CodecRequest, CreateOptions, Existing, FillRequest, Format, Member,
    MemberKind, N5Axes, N5GroupDocuments, N5VersionCheck, OpenOptions, Order, Wanted,
};
pub use ndzarr_model::{Attributes, DataType, EdgeBlocks, Endian, FillValue};
pub use selection::{Resolved, Selection};
pub use storage::Storage;
