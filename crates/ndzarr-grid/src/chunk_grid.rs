//! `ChunkGrid`: the chunks that overlap a region, and the elements of each chunk.

use std::ops::Range;
use std::sync::Arc;

use crate::chunk_edges::{AxisRuns, ChunkEdges};
use crate::{CustomGrid, GridError, Region, n_elements};

/// The number of indices that a custom grid may name for any region.
const MAX_INDICES: u64 = 1 << 24;

/// A grid of chunks over an array: regular, rectilinear or custom. Chunks at the end have their
/// full shape and extend beyond the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkGrid {
    array_shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    /// The chunks along each axis of a rectilinear grid.
    runs: Option<Arc<[AxisRuns]>>,
    edges: Option<Arc<[ChunkEdges]>>,
    custom: Option<SharedCustomGrid>,
}

/// A custom grid, which equals only itself.
#[derive(Clone, Debug)]
struct SharedCustomGrid(Arc<dyn CustomGrid>);

impl PartialEq for SharedCustomGrid {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedCustomGrid {}

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
            return Err(GridError(format!("chunks of {chunk} dimensions for an array of {array}")));
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
            custom: None,
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
            return Err(GridError(format!("chunks of {chunk} dimensions for an array of {array}")));
        }
        for (axis, (edges, &len)) in edges.iter().zip(array_shape).enumerate() {
            edges.check(axis, len)?;
        }
        Ok(Self {
            array_shape: array_shape.to_vec(),
            chunk_shape: edges.iter().map(ChunkEdges::max).collect(),
            runs: Some(
                edges.iter().zip(array_shape).map(|(edges, &len)| AxisRuns::new(edges, len)).collect(),
            ),
            edges: Some(edges.into()),
            custom: None,
        })
    }

    /// A custom grid over an array.
    ///
    /// # Errors
    /// A grid of another rank than the array, or one whose chunks have a length of 0; one that names more
    /// than 2^24 indices for the array, and more than 16 for each element.
    pub fn custom(array_shape: &[u64], grid: Arc<dyn CustomGrid>) -> Result<Self, GridError> {
        let chunk_shape = grid.max_chunk_shape();
        if array_shape.len() != chunk_shape.len() {
            let array = array_shape.len();
            let chunk = chunk_shape.len();
            return Err(GridError(format!("chunks of {chunk} dimensions for an array of {array}")));
        }
        if let Some(axis) = chunk_shape.iter().position(|&len| len == 0) {
            return Err(GridError(format!("a chunk length of 0 along axis {axis}")));
        }
        let whole = Region::whole(array_shape);
        let indices = if whole.is_empty() { Vec::new() } else { grid.indices(&whole) };
        if are_too_many(&indices, &whole) {
            return Err(GridError(format!("the indices {indices:?} for an array of {array_shape:?}")));
        }
        Ok(Self {
            array_shape: array_shape.to_vec(),
            chunk_shape,
            runs: None,
            edges: None,
            custom: Some(SharedCustomGrid(grid)),
        })
    }

    /// The grid of the same chunks over an array of another shape.
    ///
    /// # Errors
    /// A shape that does not fit the chunks.
    pub fn resized(&self, array_shape: &[u64]) -> Result<Self, GridError> {
        match (&self.edges, &self.custom) {
            (_, Some(custom)) => Self::custom(array_shape, Arc::clone(&custom.0)),
            (None, None) => Self::regular(array_shape, &self.chunk_shape),
            (Some(edges), None) => Self::rectilinear(array_shape, edges),
        }
    }

    /// Length of each dimension of the array, in elements.
    #[must_use]
    pub fn array_shape(&self) -> &[u64] {
        &self.array_shape
    }

    /// Shape of a chunk, in elements; for other than regular grids the greatest length along each
    /// axis, which no chunk need have along all of them.
    #[must_use]
    pub fn chunk_shape(&self) -> &[u64] {
        &self.chunk_shape
    }

    /// True if all chunks have one shape.
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.runs.is_none() && self.custom.is_none()
    }

    /// True if it is a custom grid, whose chunks need not be aligned in rows.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        self.custom.is_some()
    }

    /// Lengths of the chunks along each axis of a rectilinear grid; `None` for a regular one.
    #[must_use]
    pub fn edges(&self) -> Option<&[ChunkEdges]> {
        self.edges.as_deref()
    }

    /// Shape of a chunk, in elements; `None` for an index outside the grid.
    #[must_use]
    pub fn shape_of(&self, chunk: &[u64]) -> Option<Vec<u64>> {
        if self.is_regular() {
            return Some(self.chunk_shape.clone());
        }
        self.chunk_region(chunk).map(|region| region.shape())
    }

    /// Visits shapes of chunks, so that each length along each axis is in one of them; for a custom
    /// grid, those that it names. They are not returned as a list, because there may be as many as
    /// lengths in the metadata, each with a number for every axis.
    ///
    /// # Errors
    /// The first error of `visit`, which ends the visits.
    pub fn try_each_distinct_shape<E>(
        &self,
        mut visit: impl FnMut(&[u64]) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(custom) = &self.custom {
            return custom.0.distinct_shapes().iter().try_for_each(|shape| visit(shape));
        }
        let mut shape = self.chunk_shape.clone();
        visit(&shape)?;
        for (axis, edges) in self.edges.iter().flat_map(|edges| edges.iter().enumerate()) {
            for len in edges.distinct().into_iter().filter(|&len| len != self.chunk_shape[axis]) {
                shape[axis] = len;
                visit(&shape)?;
            }
            shape[axis] = self.chunk_shape[axis];
        }
        Ok(())
    }

    /// The elements, along an axis, of the chunks with an index along it, which may be outside the
    /// array. An empty range for a custom grid, where the other indices matter too.
    #[must_use]
    pub fn range_along(&self, axis: usize, index: u64) -> Range<u64> {
        if self.is_custom() {
            return 0..0;
        }
        match &self.runs {
            None => {
                let start = index.saturating_mul(self.chunk_shape[axis]);
                start..start.saturating_add(self.chunk_shape[axis])
            }
            Some(runs) => runs[axis].range(index),
        }
    }

    /// The number of chunks along an axis that overlap the first `len` elements, if the array were
    /// that long; for a custom grid, an upper bound of their indices along that axis.
    #[must_use]
    pub fn n_chunks_along(&self, axis: usize, len: u64) -> u64 {
        if self.is_custom() {
            let mut shape = self.array_shape.clone();
            shape[axis] = len;
            return self.custom_indices(&Region::whole(&shape)).get(axis).map_or(0, |range| range.end);
        }
        match &self.runs {
            None => len.div_ceil(self.chunk_shape[axis].max(1)),
            Some(runs) => runs[axis].n_chunks(len),
        }
    }

    /// The number of chunks along each axis; for a custom grid, a number that no index reaches.
    #[must_use]
    pub fn grid_shape(&self) -> Vec<u64> {
        if self.is_custom() {
            return match self.custom_indices(&Region::whole(&self.array_shape)) {
                indices if indices.is_empty() => vec![0; self.array_shape.len()],
                indices => indices.into_iter().map(|range| range.end).collect(),
            };
        }
        if let Some(runs) = &self.runs {
            return runs.iter().map(|axis| axis.n_chunks(axis.array_len())).collect();
        }
        self.array_shape.iter().zip(&self.chunk_shape).map(|(&n, &chunk)| n.div_ceil(chunk.max(1))).collect()
    }

    /// The elements of a chunk, those outside the array included; `None` for an index outside the
    /// grid.
    #[must_use]
    pub fn chunk_region(&self, chunk: &[u64]) -> Option<Region> {
        if let Some(custom) = &self.custom {
            return self.custom_chunk(custom, chunk);
        }
        let inside =
            chunk.len() == self.array_shape.len() && chunk.iter().zip(self.grid_shape()).all(|(&c, n)| c < n);
        if !inside {
            return None;
        }
        if let Some(runs) = &self.runs {
            return Some(Region::new(chunk.iter().zip(runs.iter()).map(|(&c, axis)| axis.range(c))));
        }
        // An index inside the grid has its start inside the array; its end may be just beyond u64.
        let range = |(&c, &n): (&u64, &u64)| c * n..(c * n).saturating_add(n);
        Some(Region::new(chunk.iter().zip(&self.chunk_shape).map(range)))
    }

    /// A chunk of a custom grid, if it is valid.
    fn custom_chunk(&self, grid: &SharedCustomGrid, chunk: &[u64]) -> Option<Region> {
        if chunk.len() != self.array_shape.len() {
            return None;
        }
        let region =
            grid.0.chunk(chunk).filter(|region| region.ndim() == chunk.len() && !region.is_empty())?;
        let mut axes = region.ranges().iter().zip(&self.chunk_shape).zip(&self.array_shape);
        axes.all(|((range, &max), &len)| range.end - range.start <= max && range.start < len)
            .then_some(region)
    }

    /// The indices in a custom grid that a region may have; none for an empty region.
    fn custom_indices(&self, region: &Region) -> Vec<Range<u64>> {
        match &self.custom {
            Some(custom) if !region.is_empty() => {
                let indices = custom.0.indices(region);
                let is_valid = indices.len() == region.ndim()
                    && !indices.iter().any(Range::is_empty)
                    && !are_too_many(&indices, region);
                if is_valid { indices } else { Vec::new() }
            }
            _ => Vec::new(),
        }
    }

    /// The elements of a chunk that are inside the array; `None` for an index outside the grid.
    #[must_use]
    pub fn clipped_region(&self, chunk: &[u64]) -> Option<Region> {
        self.chunk_region(chunk).map(|region| region.intersection(&Region::whole(&self.array_shape)))
    }

    /// The chunks that a region of the array overlaps, in C order. The part of the region outside
    /// the array overlaps none.
    #[must_use]
    pub fn overlaps(&self, region: &Region) -> Overlaps {
        let inside = region.intersection(&Region::whole(&self.array_shape));
        let axes: Vec<AxisSpan> = match &self.runs {
            _ if inside.is_empty() => vec![AxisSpan { first: 0, len: 0 }; inside.ndim()],
            _ if self.is_custom() => match self.custom_indices(&inside) {
                indices if indices.len() == inside.ndim() => {
                    indices.iter().map(|range| AxisSpan::new(range.start, range.end - 1)).collect()
                }
                _ => vec![AxisSpan { first: 0, len: 0 }; inside.ndim()],
            },
            None => (inside.ranges().iter().zip(&self.chunk_shape))
                .map(|(range, &chunk)| AxisSpan::new(range.start / chunk, (range.end - 1) / chunk))
                .collect(),
            Some(runs) => (inside.ranges().iter().zip(runs.iter()))
                .map(|(range, axis)| AxisSpan::new(axis.chunk_at(range.start), axis.chunk_at(range.end - 1)))
                .collect(),
        };
        let chunk_shape = self.chunk_shape.clone();
        let runs = self.runs.clone();
        let custom = self.is_custom().then(|| Arc::new(self.clone()));
        Overlaps { chunk_shape, runs, custom, axes, next: 0, region: inside }
    }

    /// The number of chunks that a region of the array overlaps; for a custom grid an upper bound;
    /// `None` beyond u64.
    #[must_use]
    pub fn n_overlaps(&self, region: &Region) -> Option<u64> {
        n_elements(&self.overlaps(region).counts())
    }
}

/// True if a custom grid names far more indices for a region than it can have chunks: visiting all
/// of them would not end.
fn are_too_many(indices: &[Range<u64>], region: &Region) -> bool {
    let lengths: Vec<u64> = indices.iter().map(|range| range.end - range.start).collect();
    let n = n_elements(&lengths).unwrap_or(u64::MAX);
    let max_chunks = region.n_elements().unwrap_or(u64::MAX);
    n > MAX_INDICES.max(max_chunks.saturating_mul(16))
}

/// The indices of chunks along an axis.
#[derive(Clone, Copy, Debug)]
struct AxisSpan {
    first: u64,
    len: u64,
}

impl AxisSpan {
    fn new(first: u64, last: u64) -> Self {
        Self { first, len: last - first + 1 }
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
        Region::new(self.start.iter().zip(len).map(|(&start, len)| start..start + len))
    }
}

/// The chunks that a region overlaps, in C order. See [`ChunkGrid::overlaps`].
#[derive(Clone, Debug)]
pub struct Overlaps {
    chunk_shape: Vec<u64>,
    runs: Option<Arc<[AxisRuns]>>,
    custom: Option<Arc<ChunkGrid>>,
    axes: Vec<AxisSpan>,
    /// The number, in C order, of the next index.
    next: u64,
    region: Region,
}

impl Iterator for Overlaps {
    type Item = Overlap;

    fn next(&mut self) -> Option<Overlap> {
        let end = self.n_indices();
        while self.next < end {
            self.next += 1;
            let overlap = self.nth_index(self.next - 1);
            if overlap.is_some() {
                return overlap;
            }
        }
        None
    }
}

impl Overlaps {
    /// The least index of the chunks along each axis; 0 along all axes if no chunk overlaps.
    #[must_use]
    pub fn first(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.first).collect()
    }

    /// The number of indices of the chunks along each axis; for a custom grid an upper bound.
    #[must_use]
    pub fn counts(&self) -> Vec<u64> {
        self.axes.iter().map(|axis| axis.len).collect()
    }

    /// The product of [`counts`](Self::counts), at most 2^64 - 1.
    #[must_use]
    pub fn n_indices(&self) -> u64 {
        self.axes.iter().fold(1, |n, axis| axis.len.saturating_mul(n))
    }

    /// The overlap with the chunk whose index has this number in C order, from 0; `None` if it is
    /// not below [`n_indices`](Self::n_indices), or if no chunk of the region has that index.
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
        let chunk_region = match (&self.custom, &self.runs) {
            (Some(grid), _) => grid.chunk_region(&chunk)?,
            (None, None) => {
                let start = |(&c, &n): (&u64, &u64)| c * n..(c * n).saturating_add(n);
                Region::new(chunk.iter().zip(&self.chunk_shape).map(start))
            }
            (None, Some(runs)) => Region::new(chunk.iter().zip(runs.iter()).map(|(&c, axis)| axis.range(c))),
        };
        let common = self.region.intersection(&chunk_region);
        // An index of a custom grid may be that of a chunk elsewhere.
        if common.is_empty() {
            return None;
        }
        let in_chunk = common.relative_to(&chunk_region.start());
        Some(Overlap { chunk, in_chunk, start: common.start() })
    }
}
