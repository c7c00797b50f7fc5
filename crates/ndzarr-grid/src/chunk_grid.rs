//! `ChunkGrid`: the chunks that overlap a region, and the elements of each chunk.

use std::ops::Range;
use std::sync::Arc;

use crate::chunk_edges::{AxisRuns, ChunkEdges};
use crate::{GridError, Region, n_elements};

/// A grid of chunks over an array, regular or rectilinear. Chunks at the end have their full shape
/// and extend beyond the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkGrid {
    array_shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    /// The chunks along each axis of a rectilinear grid.
    runs: Option<Arc<[AxisRuns]>>,
    edges: Option<Arc<[ChunkEdges]>>,
}

impl ChunkGrid {
    /// The grid of chunks of one shape.
    ///
    /// # Errors
    /// Shapes of different lengths; a chunk length of 0 along an axis on which the array has
    /// elements.
    pub fn regular(array_shape: &[u64], chunk_shape: &[u64]) -> Result<Self, GridError> {
        if array_shape.len() != chunk_shape.len() {
            let array = array_shape.len();
            let chunk = chunk_shape.len();
            return Err(GridError(format!(
                "chunks of {chunk} dimensions for an array of {array}"
            )));
        }
        if let Some(axis) =
            (0..array_shape.len()).find(|&axis| chunk_shape[axis] == 0 && array_shape[axis] != 0)
        {
            return Err(GridError(format!("a chunk length of 0 along axis {axis}")));
        }
        Ok(Self {
            array_shape: array_shape.to_vec(),
            chunk_shape: chunk_shape.to_vec(),
            runs: None,
            edges: None,
        })
    }

    /// The grid of chunks whose lengths along each axis are listed.
    ///
    /// ```
    /// use ndzarr::{ChunkEdges, ChunkGrid, Region};
    ///
    /// // Along axis 0 chunks of 1, 1, 1 and 3 elements, along axis 1 of 2 each.
    /// let edges = [ChunkEdges::Listed(vec![(1, 3), (3, 1)]), ChunkEdges::Repeated(2)];
    /// let grid = ChunkGrid::rectilinear(&[6, 5], &edges)?;
    /// assert_eq!(grid.grid_shape(), [4, 3]);
    /// assert_eq!(grid.shape_of(&[3, 2]), Some(vec![3, 2]));
    /// assert_eq!(grid.clipped_region(&[3, 2]), Some(Region::new([3..6, 4..5])));
    /// # Ok::<(), ndzarr::metadata::GridError>(())
    /// ```
    ///
    /// # Errors
    /// A number of axes other than the array's; a length of 0; chunks that end before the array
    /// does.
    pub fn rectilinear(array_shape: &[u64], edges: &[ChunkEdges]) -> Result<Self, GridError> {
        if array_shape.len() != edges.len() {
            let array = array_shape.len();
            let chunk = edges.len();
            return Err(GridError(format!(
                "chunks of {chunk} dimensions for an array of {array}"
            )));
        }
        for (axis, (edges, &len)) in edges.iter().zip(array_shape).enumerate() {
            edges.check(axis, len)?;
        }
        Ok(Self {
            array_shape: array_shape.to_vec(),
            chunk_shape: edges.iter().map(ChunkEdges::max).collect(),
            runs: Some(
                edges
                    .iter()
                    .zip(array_shape)
                    .map(|(edges, &len)| AxisRuns::new(edges, len))
                    .collect(),
            ),
            edges: Some(edges.into()),
        })
    }

    /// The grid of the same chunks over an array of another shape.
    ///
    /// # Errors
    /// A shape that does not fit the chunks.
    pub fn resized(&self, array_shape: &[u64]) -> Result<Self, GridError> {
        match &self.edges {
            None => Self::regular(array_shape, &self.chunk_shape),
            Some(edges) => Self::rectilinear(array_shape, edges),
        }
    }

    /// Length of each dimension of the array, in elements.
    #[must_use]
    pub fn array_shape(&self) -> &[u64] {
        &self.array_shape
    }

    /// Shape of a chunk, in elements; in a rectilinear grid the greatest length along each axis,
    /// which no chunk need have along all of them.
    #[must_use]
    pub fn chunk_shape(&self) -> &[u64] {
        &self.chunk_shape
    }

    /// True if all chunks have one shape.
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.runs.is_none()
    }

    /// Lengths of the chunks along each axis of a rectilinear grid; `None` for a regular one.
    #[must_use]
    pub fn edges(&self) -> Option<&[ChunkEdges]> {
        self.edges.as_deref()
    }

    /// Shape of a chunk, in elements; in a rectilinear grid `None` for an index outside the grid. In
    /// a regular one all indices have it, so that it does not tell which are inside.
    #[must_use]
    pub fn shape_of(&self, chunk: &[u64]) -> Option<Vec<u64>> {
        if self.is_regular() {
            return Some(self.chunk_shape.clone());
        }
        self.chunk_region(chunk).map(|region| region.shape())
    }

    /// Visits shapes of chunks, so that each length along each axis is in one of them. They are not
    /// returned as a list, because there may be as many as lengths in the metadata, each with a
    /// number for every axis.
    ///
    /// # Errors
    /// The first error of `visit`, which ends the visits.
    pub fn try_each_distinct_shape<E>(
        &self,
        mut visit: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut shape = self.chunk_shape.clone();
        visit(&shape)?;
        for (axis, edges) in self.edges.iter().flat_map(|edges| edges.iter().enumerate()) {
            for len in edges
                .distinct()
                .into_iter()
                .filter(|&len| len != self.chunk_shape[axis])
            {
                shape[axis] = len;
                visit(&shape)?;
            }
            shape[axis] = self.chunk_shape[axis];
        }
        Ok(())
    }

    /// The elements, along an axis, of the chunks with an index along it, which may be outside the
    /// array.
    #[must_use]
    pub fn range_along(&self, axis: usize, index: u64) -> Range<u64> {
        match &self.runs {
            None => {
                let start = index.saturating_mul(self.chunk_shape[axis]);
                start..start.saturating_add(self.chunk_shape[axis])
            }
            Some(runs) => runs[axis].range(index),
        }
    }

    /// The number of chunks along an axis that overlap the first `len` elements, if the array were
    /// that long.
    #[must_use]
    pub fn n_chunks_along(&self, axis: usize, len: u64) -> u64 {
        match &self.runs {
            None => len.div_ceil(self.chunk_shape[axis].max(1)),
            Some(runs) => runs[axis].n_chunks(len),
        }
    }

    /// The parts of a range along an axis in which all chunks have one length, and that length.
    pub(crate) fn equal_chunks_along(
        &self,
        axis: usize,
        range: Range<u64>,
    ) -> impl Iterator<Item = (Range<u64>, u64)> {
        let runs = self.runs.as_ref().map(|runs| &runs[axis]);
        let whole = runs
            .is_none()
            .then(|| (range.clone(), self.chunk_shape[axis]));
        let parts = runs.map(|runs| runs.parts(range));
        whole.into_iter().chain(parts.into_iter().flatten())
    }

    /// The number of chunks along each axis.
    #[must_use]
    pub fn grid_shape(&self) -> Vec<u64> {
        if let Some(runs) = &self.runs {
            return runs
                .iter()
                .map(|axis| axis.n_chunks(axis.array_len()))
                .collect();
        }
        self.array_shape
            .iter()
            .zip(&self.chunk_shape)
            .map(|(&n, &chunk)| n.div_ceil(chunk.max(1)))
            .collect()
    }

    /// The elements of a chunk, those outside the array included; `None` for an index outside the
    /// grid.
    #[must_use]
    pub fn chunk_region(&self, chunk: &[u64]) -> Option<Region> {
        let inside = chunk.len() == self.array_shape.len()
            && chunk.iter().zip(self.grid_shape()).all(|(&c, n)| c < n);
        if !inside {
            return None;
        }
        if let Some(runs) = &self.runs {
            return Some(Region::new(
                chunk
                    .iter()
                    .zip(runs.iter())
                    .map(|(&c, axis)| axis.range(c)),
            ));
        }
        // An index inside the grid has its start inside the array; its end may be just beyond u64.
        let range = |(&c, &n): (&u64, &u64)| c * n..(c * n).saturating_add(n);
        Some(Region::new(chunk.iter().zip(&self.chunk_shape).map(range)))
    }

    /// The elements of a chunk that are inside the array; `None` for an index outside the grid.
    #[must_use]
    pub fn clipped_region(&self, chunk: &[u64]) -> Option<Region> {
        self.chunk_region(chunk)
            .map(|region| region.intersection(&Region::whole(&self.array_shape)))
    }

    /// The chunks that a region of the array overlaps, in C order. The part of the region outside
    /// the array overlaps none.
    #[must_use]
    pub fn overlaps(&self, region: &Region) -> Overlaps {
        let inside = region.intersection(&Region::whole(&self.array_shape));
        let axes: Vec<AxisSpan> = match &self.runs {
            _ if inside.is_empty() => vec![AxisSpan { first: 0, len: 0 }; inside.ndim()],
            None => (inside.ranges().iter().zip(&self.chunk_shape))
                .map(|(range, &chunk)| AxisSpan::new(range.start / chunk, (range.end - 1) / chunk))
                .collect(),
            Some(runs) => (inside.ranges().iter().zip(runs.iter()))
                .map(|(range, axis)| {
                    AxisSpan::new(axis.chunk_at(range.start), axis.chunk_at(range.end - 1))
                })
                .collect(),
        };
        let chunk_shape = self.chunk_shape.clone();
        let runs = self.runs.clone();
        Overlaps {
            chunk_shape,
            runs,
            axes,
            next: 0,
            region: inside,
        }
    }

    /// The number of chunks that a region of the array overlaps; `None` beyond u64.
    #[must_use]
    pub fn n_overlaps(&self, region: &Region) -> Option<u64> {
        n_elements(&self.overlaps(region).counts())
    }
}

/// The indices of chunks along an axis.
#[derive(Clone, Copy, Debug)]
struct AxisSpan {
    first: u64,
    len: u64,
}

impl AxisSpan {
    fn new(first: u64, last: u64) -> Self {
        Self {
            first,
            len: last - first + 1,
        }
    }
}

/// A chunk and its overlap with a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Index of the chunk in the grid.
    pub chunk: Vec<u64>,
    /// The common elements, relative to the chunk's first element.
    pub in_chunk: Region,
    /// The index of the first common element in the array.
    pub start: Vec<u64>,
}

impl Overlap {
    /// The common elements, as a region of the array.
    #[must_use]
    pub fn region(&self) -> Region {
        let len = self.in_chunk.shape();
        Region::new(
            self.start
                .iter()
                .zip(len)
                .map(|(&start, len)| start..start + len),
        )
    }
}

/// The chunks that a region overlaps, in C order. See [`ChunkGrid::overlaps`].
#[derive(Clone, Debug)]
pub struct Overlaps {
    chunk_shape: Vec<u64>,
    runs: Option<Arc<[AxisRuns]>>,
    axes: Vec<AxisSpan>,
    /// The number, in C order, of the next index.
    next: u64,
    region: Region,
}

impl Iterator for Overlaps {
    type Item = Overlap;

    fn next(&mut self) -> Option<Overlap> {
        let overlap = self.nth_index(self.next)?;
        self.next += 1;
        Some(overlap)
    }
}

impl Overlaps {
    /// The least index of the chunks along each axis; 0 along all axes if no chunk overlaps.
    #[must_use]
    pub fn first(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.first).collect()
    }

    /// The number of chunks along each axis.
    #[must_use]
    pub fn counts(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.len).collect()
    }

    /// The product of [`counts`](Self::counts), at most 2^64 - 1.
    #[must_use]
    pub fn n_indices(&self) -> u64 {
        self.axes
            .iter()
            .fold(1, |n, axis| axis.len.saturating_mul(n))
    }

    /// The overlap with the chunk whose index has this number in C order, from 0; `None` if it is
    /// not below [`n_indices`](Self::n_indices).
    #[must_use]
    pub fn nth_index(&self, number: u64) -> Option<Overlap> {
        if number >= self.n_indices() {
            return None;
        }
        let mut chunk = vec![0; self.axes.len()];
        let mut rest = number;
        for (index, axis) in chunk.iter_mut().zip(&self.axes).rev() {
            *index = axis.first + rest % axis.len;
            rest /= axis.len;
        }
        let chunk_region = match &self.runs {
            None => {
                let start = |(&c, &n): (&u64, &u64)| c * n..(c * n).saturating_add(n);
                Region::new(chunk.iter().zip(&self.chunk_shape).map(start))
            }
            Some(runs) => Region::new(
                chunk
                    .iter()
                    .zip(runs.iter())
                    .map(|(&c, axis)| axis.range(c)),
            ),
        };
        let common = self.region.intersection(&chunk_region);
        let in_chunk = common.relative_to(&chunk_region.start());
        Some(Overlap {
            chunk,
            in_chunk,
            start: common.start(),
        })
    }
}
