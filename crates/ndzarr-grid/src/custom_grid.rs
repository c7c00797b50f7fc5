//! The trait `CustomGrid`: chunk grids that users define.

use std::fmt;
use std::ops::Range;

use crate::Region;

/// A custom chunk grid: boxes that together contain each element exactly once, each with an index.
///
/// It is independent of the shape of the array and covers elements at any distance. Elements in no
/// chunk or in several are an error when they are read or written.
///
/// ```
/// use std::ops::Range;
///
/// use ndzarr::{ChunkGrid, CustomGrid, Region};
///
/// /// Chunks of 1, 2, 4, 8 … elements.
/// #[derive(Debug)]
/// struct Doubling;
///
/// impl CustomGrid for Doubling {
///     fn chunk(&self, index: &[u64]) -> Option<Region> {
///         let start = (1 << index[0].min(20)) - 1;
///         (index[0] < 20).then(|| Region::new([start..2 * start + 1]))
///     }
///
///     fn indices(&self, region: &Region) -> Vec<Range<u64>> {
///         let at = |element: u64| u64::from((element + 1).ilog2());
///         region.ranges().iter().map(|range| at(range.start)..at(range.end - 1) + 1).collect()
///     }
///
///     fn max_chunk_shape(&self) -> Vec<u64> {
///         vec![1 << 19]
///     }
/// }
///
/// let grid = ChunkGrid::custom(&[10], std::sync::Arc::new(Doubling))?;
/// assert_eq!(grid.grid_shape(), [4]);
/// let overlaps: Vec<_> = grid.overlaps(&Region::new([2..5])).map(|overlap| overlap.chunk).collect();
/// assert_eq!(overlaps, [[1], [2]]);
/// # Ok::<(), ndzarr::metadata::GridError>(())
/// ```
pub trait CustomGrid: fmt::Debug + Send + Sync {
    /// The elements of the chunk with this index, which has a number for each axis; the shape of
    /// the region is that of the decoded chunk. `None` if no chunk has the index.
    fn chunk(&self, index: &[u64]) -> Option<Region>;

    /// Along each axis, the indices of the chunks of a region, which is not empty. They may include
    /// indices of chunks elsewhere, or of no chunk: [`chunk`](Self::chunk) is called for each. More
    /// than 2^24 of them, and more than 16 for each element of the region, are an error.
    fn indices(&self, region: &Region) -> Vec<Range<u64>>;

    /// The greatest length of a chunk along each axis, at least 1: memory is allocated for chunks
    /// of that shape.
    fn max_chunk_shape(&self) -> Vec<u64>;

    /// Shapes of chunks that the codecs of an array must be able to encode, which is checked when
    /// it is opened; others are checked when they occur. By default only
    /// [`max_chunk_shape`](Self::max_chunk_shape).
    fn distinct_shapes(&self) -> Vec<Vec<u64>> {
        vec![self.max_chunk_shape()]
    }
}
