//! Codec chains over byte slices: pure, without any store.
//!
//! A list of [`CodecSpec`](ndzarr_model::CodecSpec) is bound to an element type once. The chain
//! then decodes and encodes chunks of any shape that fits it. Decoding is bounded: whatever size a
//! value claims, memory use is limited by the chunk's shape and by the actual content, and an
//! incomplete or corrupt value is an error.
//!
//! ```
//! use ndzarr_codec::{CodecChain, CodecError, CodecRegistry, Elements, Workspace};
//! use ndzarr_model::{CodecConfig, CodecSpec, DataType, Endian, FillValue};
//!
//! // Big-endian u16 in Fortran order, without compression.
//! let specs = [
//!     CodecSpec::from(CodecConfig::Transpose { order: vec![1, 0] }),
//!     CodecSpec::from(CodecConfig::Bytes { endian: Some(Endian::Big) }),
//! ];
//! let data_type = DataType::UInt { bits: 16 };
//! let fill = FillValue::defined(0u16.to_ne_bytes());
//! let chain = CodecChain::bind(&specs, &data_type, &fill, 2, &CodecRegistry::new())?;
//! chain.check(&[2, 3])?;
//!
//! // The input is in C order and in native byte order.
//! let elements: Vec<u8> = (0..6u16).flat_map(u16::to_ne_bytes).collect();
//! let mut workspace = Workspace::new();
//! let mut value = Vec::new();
//! chain.encode(&elements, &[2, 3], &mut workspace, &mut value)?;
//! assert_eq!(value, [0, 0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5]);
//!
//! // The output has strides and a byte order, so that a single copy can apply both.
//! chain.decode(&value, &[2, 3], &mut workspace, |elements, layout| {
//!     let Elements::Fixed { bytes, size } = elements else { unreachable!("u16 has a fixed size") };
//!     assert_eq!((bytes, size), (&value[..], 2));
//!     assert_eq!((&layout.extent[..], &layout.strides[..]), (&[2, 3][..], &[1, 2][..]));
//!     Ok::<_, CodecError>(())
//! })?;
//! # Ok::<_, CodecError>(())
//! ```
//!
//! # Features
//!
//! There is one for each codec that brings a dependency, under its name; `deflate` is gzip and
//! zlib. The default is all of them except `zfp`, which needs cmake and libclang. Binding a codec
//! that is not part of the build gives an error that names the feature ([`CodecError::Disabled`]).
//! Custom codecs go into a [`CodecRegistry`].

// docs.rs shows which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod chain;
mod codecs;
mod elements;
mod error;
mod filter;
mod memory;
mod pipe;
mod registry;
mod sharding;
mod stage;
pub mod strided;
mod traits;
mod vlen;
mod workspace;

// What the crate exports is tested in the program of its unit tests.
#[cfg(test)]
extern crate self as ndzarr_codec;
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;

pub use chain::{Access, Ahead, CodecChain};
pub use elements::{Elements, Layout, LeafSwaps, Swap, VlenSlot, c_strides};
pub use error::CodecError;
pub use registry::{Binding, CodecRegistry};
pub use sharding::Sharding;
pub use sharding::shard_index::ShardIndex;
pub use sharding::shard_layout::{ShardBuilder, ShardLayout};
pub use traits::array_to_array::ArrayToArray;
pub use traits::array_to_bytes::ArrayToBytes;
pub use traits::bytes_codec::{BytesToBytes, Dst};
pub use vlen::VlenBuffer;
pub use workspace::{Buffer, OutOfMemory, Workspace};
