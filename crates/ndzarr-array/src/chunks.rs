use std::ops::Range;

use ndzarr_grid::{ChunkGrid, Overlaps, Region};

/// The chunks of an array in C order of their indices, whether they are stored or not. See
/// [`Array::chunks`](crate::Array::chunks).
///
/// ```
/// use ndzarr_array::Array;
/// use ndzarr_store::MemoryStore;
///
/// let a = Array::<u8>::builder([5]).chunks([2]).create(MemoryStore::new(), "a")?;
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
    chunk_shape: Vec<u64>,
}

/// A chunk: its index and what of it is inside the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its index in the grid.
    pub index: Vec<u64>,
    /// Its elements that are inside the array, one range for each axis: a selection.
    pub ranges: Vec<Range<u64>>,
}

impl Chunks {
    pub(crate) fn new(shape: &[u64], chunk_shape: &[u64]) -> Self {
        let grid = ChunkGrid::regular(shape, chunk_shape).ok();
        Self {
            overlaps: grid.map(|grid| grid.overlaps(&Region::whole(shape))),
            chunk_shape: chunk_shape.to_vec(),
        }
    }
}

impl Chunks {
    /// Those that a region of the array meets. It begins and ends at chunks, or at the end of the array.
    pub(crate) fn within(shape: &[u64], chunk_shape: &[u64], region: &Region) -> Self {
        let grid = ChunkGrid::regular(shape, chunk_shape).ok();
        Self { overlaps: grid.map(|grid| grid.overlaps(region)), chunk_shape: chunk_shape.to_vec() }
    }
}

impl Iterator for Chunks {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let overlap = self.overlaps.as_mut()?.next()?;
        let ranges = (overlap.chunk.iter().zip(&self.chunk_shape).zip(overlap.in_chunk.shape()))
            .map(|((&index, &len), inside)| index * len..index * len + inside)
            .collect();
        Some(Chunk { index: overlap.chunk, ranges })
    }
}
