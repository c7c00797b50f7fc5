use std::fmt;

use crate::Region;

/// A regular grid of chunks over an array. Chunks at the end reach over it and have the full shape nevertheless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkGrid {
    array_shape: Vec<u64>,
    chunk_shape: Vec<u64>,
}

/// Why shapes make no grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridError(String);

impl fmt::Display for GridError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GridError {}

impl ChunkGrid {
    /// The grid of chunks of one shape.
    ///
    /// # Errors
    /// Shapes of different lengths; a chunk length of 0 along an axis on which the array has elements.
    pub fn regular(array_shape: &[u64], chunk_shape: &[u64]) -> Result<Self, GridError> {
        if array_shape.len() != chunk_shape.len() {
            let (array, chunk) = (array_shape.len(), chunk_shape.len());
            return Err(GridError(format!("chunks of {chunk} dimensions for an array of {array}")));
        }
        if let Some(axis) =
            (0..array_shape.len()).find(|&axis| chunk_shape[axis] == 0 && array_shape[axis] != 0)
        {
            return Err(GridError(format!("a chunk length of 0 along axis {axis}")));
        }
        Ok(Self { array_shape: array_shape.to_vec(), chunk_shape: chunk_shape.to_vec() })
    }

    /// Length of each dimension of the array, in elements.
    #[must_use]
    pub fn array_shape(&self) -> &[u64] {
        &self.array_shape
    }

    /// Shape of a chunk, in elements.
    #[must_use]
    pub fn chunk_shape(&self) -> &[u64] {
        &self.chunk_shape
    }

    /// How many chunks there are along each axis.
    #[must_use]
    pub fn grid_shape(&self) -> Vec<u64> {
        self.array_shape.iter().zip(&self.chunk_shape).map(|(&n, &chunk)| n.div_ceil(chunk.max(1))).collect()
    }

    /// The elements of a chunk, those outside the array included; `None` for an index outside the grid.
    #[must_use]
    pub fn chunk_region(&self, chunk: &[u64]) -> Option<Region> {
        let inside =
            chunk.len() == self.array_shape.len() && chunk.iter().zip(self.grid_shape()).all(|(&c, n)| c < n);
        // An index inside the grid has its start inside the array; its end may lie just beyond u64.
        inside.then(|| {
            Region::new(chunk.iter().zip(&self.chunk_shape).map(|(&c, &n)| c * n..(c * n).saturating_add(n)))
        })
    }

    /// The elements of a chunk that are inside the array; `None` for an index outside the grid.
    #[must_use]
    pub fn clipped_region(&self, chunk: &[u64]) -> Option<Region> {
        self.chunk_region(chunk).map(|region| region.intersection(&Region::whole(&self.array_shape)))
    }

    /// The chunks that a region of the array meets, in C order, each with what they have in common. What of the region is
    /// outside the array meets none.
    #[must_use]
    pub fn overlaps(&self, region: &Region) -> Overlaps {
        let inside = region.intersection(&Region::whole(&self.array_shape));
        let done = inside.is_empty();
        let axes: Vec<AxisSpan> = (inside.ranges().iter().zip(&self.chunk_shape))
            .filter(|_| !done)
            .map(|(range, &chunk)| AxisSpan { first: range.start / chunk, last: (range.end - 1) / chunk })
            .collect();
        let index = axes.iter().map(|axis| axis.first).collect();
        Overlaps { chunk_shape: self.chunk_shape.clone(), axes, index, region: inside, done }
    }

    /// How many chunks a region of the array meets; `None` beyond u64.
    #[must_use]
    pub fn n_overlaps(&self, region: &Region) -> Option<u64> {
        let overlaps = self.overlaps(region);
        if overlaps.done {
            return Some(0);
        }
        overlaps.axes.iter().try_fold(1u64, |n, axis| n.checked_mul(axis.last - axis.first + 1))
    }
}

#[derive(Clone, Copy, Debug)]
struct AxisSpan {
    first: u64,
    last: u64,
}

/// A chunk and what it has in common with a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Index of the chunk in the grid.
    pub chunk: Vec<u64>,
    /// The common elements, counted from the chunk's first element.
    pub in_chunk: Region,
    /// The common elements, counted from the region's first element.
    pub in_region: Region,
}

/// The chunks that a region meets, in C order. See [`ChunkGrid::overlaps`].
#[derive(Clone, Debug)]
pub struct Overlaps {
    chunk_shape: Vec<u64>,
    axes: Vec<AxisSpan>,
    index: Vec<u64>,
    region: Region,
    done: bool,
}

impl Iterator for Overlaps {
    type Item = Overlap;

    fn next(&mut self) -> Option<Overlap> {
        if self.done {
            return None;
        }
        let chunk = self.index.clone();
        self.done = true;
        for (index, axis) in self.index.iter_mut().zip(&self.axes).rev() {
            if *index < axis.last {
                *index += 1;
                self.done = false;
                break;
            }
            *index = axis.first;
        }
        let origin: Vec<u64> = chunk.iter().zip(&self.chunk_shape).map(|(&c, &n)| c * n).collect();
        let covered = Region::new(
            origin.iter().zip(&self.chunk_shape).map(|(&start, &n)| start..start.saturating_add(n)),
        );
        let common = self.region.intersection(&covered);
        Some(Overlap {
            in_chunk: common.relative_to(&origin),
            in_region: common.relative_to(&self.region.start()),
            chunk,
        })
    }
}
