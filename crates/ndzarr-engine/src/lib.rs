//! The data path: reads and writes chunks, over blocking and asynchronous stores.
//!
//! The engine moves bytes. It does not know element types, formats or concrete stores: a
//! [`ChunkedArray`] defines how an array is cut and encoded, a [`Tile`] receives decoded elements,
//! a [`Source`] provides new ones.
//!
//! - [`read()`] and [`write()`] run over a [`Store`](ndzarr_store::Store) on the calling thread and
//!   the library's pool; [`pooled`], [`queued`] and [`write_pooled`] serve a caller that must not
//!   block;
//! - [`read_async`] and [`write_async`] run over an [`AsyncStore`](ndzarr_store::AsyncStore), in
//!   any runtime.
//!
//! They share one implementation over a small internal trait of requests. [`ChunkRead`] reads one
//! chunk and does no I/O itself.
//!
//! A chunk that is not stored reads as the fill value of the chain. Failures are [`EngineError`]s
//! with key and chunk index.
//!
//! # Custom output and custom I/O
//! ```
//! use std::sync::Arc;
//!
//! use ndzarr_codec::{CodecChain, CodecRegistry, Elements, Layout, Workspace, strided::{self, Strided}};
//! use ndzarr_engine::{ChunkRead, ChunkedArray, EngineCause, ReadStep, RunOptions, Tile, read};
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
//!     fn put(&mut self, elements: Elements<'_>, part: &Layout, at: &[usize]) -> Result<(), EngineCause> {
//!         let Elements::Fixed { bytes, .. } = elements else {
//!             return Err(EngineCause::Element("u16 has a fixed size".into()));
//!         };
//!         let to = Strided { offset: at[0], strides: &[1] };
//!         part.copy_native(bytes, 2, self.0, to);
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
//!         let (before, after) = bytes.split_at_mut(at * 2);
//!         (Box::new(Line(before)), Box::new(Line(after)))
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
//! // The call does the I/O.
//! let mut out = [0; 12];
//! let tile: Box<dyn Tile> = Box::new(Line(&mut out));
//! read(&array, &store, vec![(Region::new([1..7]), Box::new(|| Ok(tile)))], &RunOptions::default())?;
//! let elements: Vec<u16> = out.as_chunks().0.iter().map(|&bytes| u16::from_ne_bytes(bytes)).collect();
//! assert_eq!(elements, [2, 3, 9, 9, 9, 7]);
//!
//! // Or the caller does: the machine names what to fetch and takes it from any source.
//! let mut out = [0; 2];
//! let tile = Line(&mut out);
//! let chunk = [2];
//! let want = Region::new([1..2]);
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

mod any_store;
mod cache;
mod chunked;
mod error;
mod options;
mod picked_chunks;
mod presence;
mod reading;
mod threads;
mod tile;
mod writing;

/// The locks of [`budget`] and [`mod@cancel`]. Tests replace this module with one that tries many
/// interleavings (ndzarr-orders).
mod sync {
    pub(crate) use std::sync::atomic::AtomicBool;
    pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
}

pub use any_store::AnyStore;
pub use cache::{ArrayCache, Cache, IndexCache, StoreId, closes_files_after, with_files};
pub use chunked::{ChunkedArray, Outside};
pub use error::{Broken, EngineCause, EngineError, UnitPlace};
pub use ndzarr_model::{ConcurrentUpdate, Foreign};
pub use ndzarr_pool::{HAS_THREADS, is_change_thread};
pub use options::{FillChunks, MemoryOrder, OnProgress, Progress, RunOptions};
pub use presence::{Doubt, Presence};
pub use reading::chunk_read::{ChunkRead, ReadStep};
pub use reading::damage::{DamageReport, Damaged, DamagedChunk};
pub use reading::job::Job;
pub use reading::level::Jobs;
pub use reading::read::{read, read_async};
pub use threads::cancel::{
    Cancel, CancelOnDrop, Condition, Publishing, in_scope, publishing, scoped,
};
pub use threads::dropped_futures::{StopOnDrop, pass_dropped_futures, wait_for_dropped_futures};
pub use threads::for_each::{in_parallel, n_threads};
pub use threads::other_threads::{pooled, queued};
pub use threads::relayed::{Relay, relayed};
pub use tile::{Coverage, MakeTile, Picked, PickedBox, Source, Tile};
pub use writing::shard_writer::ShardWriter;
pub use writing::shrink::{check_shrink, check_shrink_async, shrink, shrink_async};
pub use writing::single_values::{erase_in_turn, erase_prefix_in_turn, put_in_turn};
pub use writing::write::{Part, write, write_async, write_pooled};
