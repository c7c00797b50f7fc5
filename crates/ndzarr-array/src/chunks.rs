use std::ops::Range;

use ndzarr_grid::{ChunkGrid, Overlaps, Region};

/// The chunks of an array in C order of their indices. See [`Array::chunks`](crate::Array::chunks).
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
