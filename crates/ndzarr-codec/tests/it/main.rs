//! Tests whole chains through the public interface, with the checklists' vectors and index-by-index
//! oracles.

#![cfg(feature = "default")]

mod categories;
mod elements;
mod hostile;
mod msgpack;
mod n5_blocks;
mod shard_vectors;
mod shards;
mod staged;
mod support;
#[cfg(feature = "libdeflate")]
mod two;
mod vlen_limits;
