//! Reads regions: from the pieces of a call to its tiles.

pub(crate) mod chunk_read;
pub(crate) mod damage;
pub(crate) mod inner_chunks;
pub(crate) mod job;
pub(crate) mod level;
pub(crate) mod merge_ranges;
pub(crate) mod pieces;
pub(crate) mod raw_layers;
pub(crate) mod read;
pub(crate) mod reread;
pub(crate) mod several;
pub(crate) mod shard_grid;
pub(crate) mod wanted;
