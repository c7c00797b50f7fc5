//! Integer geometry of arrays, regions and chunks: no bytes, no element types, no dependency.
//!
//! ```
//! use ndzarr_grid::{ChunkGrid, Region};
//!
//! let grid = ChunkGrid::regular(&[100, 80], &[32, 32])?;
//! assert_eq!(grid.grid_shape(), [4, 3]);
//!
//! // Rows 30 to 39 of one column of chunks overlap two chunks.
//! let overlaps: Vec<_> = grid.overlaps(&Region::new([30..40, 64..80])).collect();
//! assert_eq!(overlaps.len(), 2);
//! assert_eq!(overlaps[1].chunk, [1, 2]);
//! assert_eq!(overlaps[1].in_chunk, Region::new([0..8, 0..16]));
//! assert_eq!(overlaps[1].start, [32, 64]);
//! # Ok::<(), ndzarr_grid::GridError>(())
//! ```
#![forbid(unsafe_code)]

mod chunk_edges;
mod chunk_grid;
mod error;
mod met_along;
mod picks;
mod region;
mod steps;
mod windows;

pub use chunk_edges::ChunkEdges;
pub use chunk_grid::{ChunkGrid, Overlap, Overlaps};
pub use error::GridError;
pub use met_along::MetAlong;
pub use picks::{Listed, Picks, Run};
pub use region::{Region, n_elements, next_index};
pub use steps::Steps;
pub use windows::{Window, WindowCost, windows};
