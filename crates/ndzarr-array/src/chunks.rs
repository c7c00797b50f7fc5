//! Iterates over the chunks of an array with their index and ranges.

use std::ops::Range;

use ndzarr_grid::{ChunkGrid, Overlaps, Region};

/// The chunks of an array in C order of their indices, whether they are stored or not. See
/// [`Array::chunks`](crate::ArrayInfo::chunks).
///
/// ```
/// use ndzarr_array::Array;
/// use ndzarr_store::MemoryStore;
///
/// let a = Array::<u8>::builder([5]).chunks([2]).create((MemoryStore::new(), "a"))?;
/// for chunk in a.chunks() {
///     let elements = vec![chunk.index[0] as u8; (chunk.ranges[0].end - chunk.ranges[0].start) as usize];
///     a.write_chunk(&chunk.index, &ndarray::Array1::from(elements).into_dyn())?;
/// }
/// assert_eq!(a.read(..)?.into_raw_vec_and_offset().0, [0, 0, 1, 1, 2]);
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chunks {
    overlaps: Option<Overlaps>,
    grid: Option<ChunkGrid>,
}

/// A chunk: its index and the part of it that is inside the array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// Its index in the grid.
    pub index: Vec<u64>,
    /// The part of it that is inside the array, one range for each axis; usable as a selection.
    pub ranges: Vec<Range<u64>>,
}

impl Chunks {
    pub(crate) fn new(grid: Option<ChunkGrid>) -> Self {
        let overlaps = grid.as_ref().map(|grid| grid.overlaps(&Region::whole(grid.array_shape())));
        Self { overlaps, grid }
    }

    /// The chunks that a region of the array meets. The region begins and ends at chunk boundaries,
    /// or at the end of the array.
    pub(crate) fn within(grid: &ChunkGrid, region: &Region) -> Self {
        Self { overlaps: Some(grid.overlaps(region)), grid: Some(grid.clone()) }
    }
}

impl Iterator for Chunks {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let overlap = self.overlaps.as_mut()?.next()?;
        let ranges = self.grid.as_ref()?.clipped_region(&overlap.chunk)?.ranges().to_vec();
        Some(Chunk { index: overlap.chunk, ranges })
    }
}
