//! `PointList`: a selection of points of an array, taken apart by chunk.

use std::collections::BTreeMap;

use ndzarr_grid::{ChunkGrid, Region};

use crate::error::{Error, ErrorKind, Result};

/// Points inside an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PointList {
    /// Point by point.
    pub(crate) coordinates: Vec<u64>,
    pub(crate) n_axes: usize,
    pub(crate) n: usize,
}

/// The points in one chunk.
#[derive(Debug)]
pub(crate) struct ChunkPoints {
    /// The box that contains them.
    pub(crate) region: Region,
    /// Which points of the list they are: in C order, and those at one place in the order of the
    /// list.
    pub(crate) numbers: Vec<usize>,
}

impl PointList {
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    pub(crate) fn point(&self, number: usize) -> &[u64] {
        &self.coordinates[number * self.n_axes..(number + 1) * self.n_axes]
    }

    /// Returns `true` if all of them are in an array of this shape.
    pub(crate) fn fit(&self, shape: &[u64]) -> bool {
        let mut coordinates = self.coordinates.iter().zip(shape.iter().cycle());
        self.n_axes == shape.len() && coordinates.all(|(at, n)| at < n)
    }

    /// The points of each chunk.
    ///
    /// # Errors
    /// The points in a chunk span more than this machine can address.
    pub(crate) fn by_chunk(&self, grid: &ChunkGrid) -> Result<Vec<ChunkPoints>> {
        let chunk_of = |point: &[u64]| -> Vec<u64> {
            point
                .iter()
                .enumerate()
                .map(|(axis, &at)| grid.n_chunks_along(axis, at + 1) - 1)
                .collect()
        };
        let mut chunks: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
        for number in 0..self.n {
            chunks
                .entry(chunk_of(self.point(number)))
                .or_default()
                .push(number);
        }
        let in_order = |mut points: Vec<usize>| {
            if !points.is_sorted_by_key(|&number| self.point(number)) {
                points.sort_by_key(|&number| self.point(number));
            }
            self.of_chunk(points)
        };
        chunks.into_values().map(in_order).collect()
    }

    /// The points without repeats: of those at one place only the last.
    pub(crate) fn without_repeats(&self, mut of_chunk: ChunkPoints) -> ChunkPoints {
        of_chunk.numbers.dedup_by(|next, last| {
            let repeats = self.point(*next) == self.point(*last);
            if repeats {
                *last = *next;
            }
            repeats
        });
        of_chunk
    }

    fn of_chunk(&self, points: Vec<usize>) -> Result<ChunkPoints> {
        let range = |axis: usize| {
            let along = points.iter().map(|&number| self.point(number)[axis]);
            let (low, high) =
                along.fold((u64::MAX, 0), |(low, high), at| (low.min(at), high.max(at)));
            let addressable = isize::try_from(high - low).map(|_| low..high + 1);
            addressable.map_err(|_| {
                let what =
                    format!("the points along axis {axis} span more than this machine can address");
                Error::new(ErrorKind::OutOfMemory, what)
            })
        };
        let region = Region::new((0..self.n_axes).map(range).collect::<Result<Vec<_>>>()?);
        Ok(ChunkPoints {
            region,
            numbers: points,
        })
    }
}
