//! Codec chains over byte slices.

#![forbid(unsafe_code)]

mod bounded;
mod bytes_codec;
mod chain;
mod codecs;
mod elements;
mod error;
mod n5_block;
mod registry;
mod shard_index;
mod sharding;
// Which part of it is used depends on the codecs of the build.
#[cfg_attr(not(feature = "default"), allow(dead_code))]
mod sink;
pub mod strided;
mod workspace;

pub use bytes_codec::{BytesToBytes, Dst};
pub use chain::{Access, CodecChain};
pub use elements::{Elements, Layout, Swap, c_strides};
pub use error::CodecError;
pub use registry::{CodecRegistry, MakeCodec};
pub use shard_index::ShardIndex;
pub use sharding::Sharding;
pub use workspace::{Buffer, OutOfMemory, Workspace};
