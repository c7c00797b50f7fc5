//! Writes regions, whole shards, and what shrinking leaves.

pub(crate) mod chunk_write;
pub(crate) mod encode_job;
pub(crate) mod new_shard;
pub(crate) mod presence;
pub(crate) mod shard_writer;
pub(crate) mod shrink;
pub(crate) mod write;
