//! Arrays: their calls, their metadata, and what users write them by.

pub(crate) mod any_array;
pub(crate) mod appender;
pub(crate) mod array;
pub(crate) mod chunks;
pub(crate) mod info;
pub(crate) mod n5_block;
pub(crate) mod shard_writer;
pub(crate) mod units;
