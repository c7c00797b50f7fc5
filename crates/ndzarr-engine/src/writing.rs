//! Writes regions, whole shards, and what shrinking leaves.

pub(crate) mod chunk_write;
pub(crate) mod encode_job;
pub(crate) mod key_change;
pub(crate) mod lost_lock;
pub(crate) mod new_shard;
pub(crate) mod no_elements;
pub(crate) mod one_chunk;
pub(crate) mod shard_plan;
pub(crate) mod shard_writer;
pub(crate) mod shrink;
pub(crate) mod single_values;
pub(crate) mod write;
pub(crate) mod write_pieces;
