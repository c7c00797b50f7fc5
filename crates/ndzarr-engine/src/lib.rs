//! Sans-I/O machines that read and write chunks, and the drivers that run them.
#![forbid(unsafe_code)]

mod block_on;
mod budget;
mod chunk_read;
mod chunk_write;
mod chunked;
mod decode_job;
mod encode_job;
mod error;
mod index_cache;
mod merge_ranges;
mod options;
mod parallel;
mod pooled;
mod read_plan;
mod read_region;
mod read_region_async;
mod tile;
mod write_region;
mod write_region_async;

pub use block_on::block_on;
pub use chunk_read::{ChunkRead, ReadStep};
pub use chunk_write::{ChunkWrite, Outcome};
pub use chunked::ChunkedArray;
pub use decode_job::{DecodeWork, Job, Sink, WindowPart};
pub use encode_job::EncodeJob;
pub use error::{ChunkPlace, EngineCause, EngineError};
pub use options::{Cancel, ConcurrentUpdate, FillChunks, OnProgress, Progress, RunOptions};
pub use pooled::{read_region_pooled, write_region_pooled};
pub use read_region::read_region;
pub use read_region_async::read_region_async;
pub use tile::{Place, Source, Tile};
pub use write_region::write_region;
pub use write_region_async::write_region_async;
