//! Sans-I/O machines that read and write chunks, and the drivers that run them.
//!
//! The engine moves bytes. It knows no element type, no format and no concrete store: a [`ChunkedArray`] says how an array
//! is cut and encoded, a [`Tile`] is where decoded elements go, a [`Source`] is where new ones come from.
//!
//! - [`read_region`] and [`write_region`] run over a [`Store`](ndzarr_store::Store) on the calling thread and the library's
//!   pool; [`pooled`] and [`write_region_pooled`] serve a caller that must not block;
//! - [`read_region_async`] and [`write_region_async`] run over an [`AsyncStore`](ndzarr_store::AsyncStore), in any runtime.
//!
//! A chunk that is not stored is the fill value of the chain. Every other failure is an [`EngineError`], with key and
//! chunk index.
//!
//! # An output of one's own, and I/O of one's own
//! ```
//! use std::sync::Arc;
//!
//! use ndzarr_codec::{CodecChain, CodecRegistry, Elements, Layout, Workspace, strided};
//! use ndzarr_engine::{ChunkRead, ChunkedArray, EngineCause, Place, ReadStep, RunOptions, Tile, read_region};
//! use ndzarr_grid::{ChunkGrid, Region};
//! use ndzarr_model::{ChunkKeys, CodecConfig, CodecSpec, DataType, Endian, FillValue, KeyEncoding};
//! use ndzarr_store::{MemoryStore, RangeMerging, Store};
//!
//! /// The bytes of u16 elements in one dimension.
//! struct Line<'b>(&'b mut [u8]);
//!
//! impl Tile for Line<'_> {
//!     fn shape(&self) -> Vec<usize> {
//!         vec![self.0.len() / 2]
//!     }
//!
//!     fn put(&mut self, elements: Elements<'_>, layout: &Layout, at: &Place) -> Result<(), EngineCause> {
//!         let Elements::Fixed { bytes, .. } = elements else {
//!             return Err(EngineCause::Element("u16 has a fixed size".into()));
//!         };
//!         let (src, dst, len) = (at.src[0] * 2, at.dst[0] * 2, at.len[0] * 2);
//!         let out = &mut self.0[dst..dst + len];
//!         out.copy_from_slice(&bytes[src..src + len]);
//!         layout.swap.apply(out);
//!         Ok(())
//!     }
//!
//!     fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause> {
//!         strided::fill_contiguous(self.0, fill);
//!         Ok(())
//!     }
//!
//!     fn contiguous(&mut self) -> Option<&mut [u8]> {
//!         Some(self.0)
//!     }
//!
//!     fn split_at<'s>(self: Box<Self>, _: usize, at: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
//!     where
//!         Self: 's,
//!     {
//!         let Line(bytes) = *self;
//!         let (before, behind) = bytes.split_at_mut(at * 2);
//!         (Box::new(Line(before)), Box::new(Line(behind)))
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // 8 big-endian elements in chunks of 3, under the keys 0, 1 and 2. The chunk 1 is not stored.
//! let chain = CodecChain::bind(
//!     &[CodecSpec::from(CodecConfig::Bytes { endian: Some(Endian::Big) })],
//!     &DataType::UInt { bits: 16 },
//!     &FillValue::defined(9u16.to_ne_bytes()),
//!     1,
//!     &CodecRegistry::new(),
//! )?;
//! let keys = ChunkKeys { prefix: String::new(), encoding: KeyEncoding::V2 { separator: '.' } };
//! let array = ChunkedArray::new(ChunkGrid::regular(&[8], &[3])?, Arc::new(chain), keys)?;
//! let store = MemoryStore::new();
//! store.set("0", vec![0, 1, 0, 2, 0, 3])?;
//! store.set("2", vec![0, 7, 0, 8, 0, 0])?;
//!
//! // The driver does the I/O.
//! let mut out = [0; 12];
//! let tile = Line(&mut out);
//! read_region(&array, &store, &Region::new([1..7]), Box::new(tile), &RunOptions::default())?;
//! let elements: Vec<u16> = out.as_chunks().0.iter().map(|&bytes| u16::from_ne_bytes(bytes)).collect();
//! assert_eq!(elements, [2, 3, 9, 9, 9, 7]);
//!
//! // Or the caller does: the machine says what to fetch, and takes it from wherever it came.
//! let mut out = [0; 2];
//! let tile = Line(&mut out);
//! let (chunk, want) = ([2], Region::new([1..2]));
//! let mut workspace = Workspace::new();
//! let mut read = ChunkRead::new(&array, array.key(&chunk)?, &chunk, want, RangeMerging::default());
//! while let ReadStep::Fetch(fetch) = read.step()? {
//!     read.supply(store.fetch(&fetch)?, &mut workspace)?;
//! }
//! for job in read.jobs(Box::new(tile))? {
//!     job?.run(&mut workspace)?;
//! }
//! assert_eq!(u16::from_ne_bytes(out), 8);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod blocks;
mod budget;
mod cancel;
#[cfg(test)]
mod cancel_limit;
mod chunk_read;
mod chunk_write;
mod chunked;
mod cover;
mod damage;
mod decode_job;
mod encode_job;
mod encode_pieces;
mod error;
mod index_cache;
mod inner_chunks;
mod late_jobs;
mod merge_ranges;
mod options;
mod parallel;
mod places;
mod pooled;
mod raw_layers;
mod read_plan;
mod read_region;
mod read_region_async;
mod sequence;
mod shard_writer;
mod shrink;
mod shrink_plan;
mod tile;
mod write_region;
mod write_region_async;

/// What [`budget`] and [`mod@cancel`] lock with; their tests have another module of this name, which tries many orders of the
/// threads.
mod sync {
    pub(crate) use std::sync::atomic::AtomicBool;
    pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
}

pub use cancel::{Cancel, CancelOnDrop};
pub use chunk_read::{ChunkRead, ReadStep};
pub use chunk_write::{ChunkWrite, Outcome};
pub use chunked::{ChunkedArray, Outside};
pub use damage::{Broken, DamageReport, Damaged, DamagedChunk};
pub use decode_job::{DecodeWork, Job, Sink, WindowPart};
pub use encode_job::EncodeJob;
pub use error::{ChunkPlace, EngineCause, EngineError};
pub use inner_chunks::Jobs;
pub use ndzarr_model::ConcurrentUpdate;
pub use options::{FillChunks, OnProgress, Progress, RunOptions};
pub use parallel::in_parallel;
pub use pooled::{on_own_thread, pooled, write_region_pooled};
pub use read_region::{MakeTile, read_region, read_regions};
pub use read_region_async::{read_region_async, read_regions_async};
pub use shard_writer::{ShardStore, ShardWriter};
pub use shrink::{check_shrink, check_shrink_async, shrink, shrink_async, shrink_pooled};
pub use tile::{Place, Source, Tile};
pub use write_region::write_region;
pub use write_region_async::write_region_async;
