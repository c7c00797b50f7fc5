//! `MetAlong`: the chunks along an axis that contain picked elements.

use std::ops::Range;

use crate::{ChunkGrid, Picks};

/// The chunks along one axis that contain picked elements of a range, in ascending order; each by
/// its distance from the first chunk that overlaps the range.
///
/// ```
/// use ndzarr_grid::{ChunkGrid, MetAlong, Picks};
///
/// let grid = ChunkGrid::regular(&[100], &[10])?;
/// // Elements 15, 18 and 62.
/// let met = MetAlong::new(&grid, 0, 15..63, &Picks::listed([0, 3, 47]));
/// assert_eq!(met.len(), 2);
/// assert_eq!([met.nth(&grid, 0), met.nth(&grid, 1)], [0, 5]);
/// # Ok::<(), ndzarr_grid::GridError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MetAlong(Chunks);

#[derive(Clone, Debug)]
enum Chunks {
    /// All of this number.
    All(u64),
    Listed(Vec<u64>),
    /// Those of `n` elements at equal distances, each of which is in another chunk.
    OneElementEach {
        axis: usize,
        first: u64,
        start: u64,
        step: u64,
        n: u64,
    },
}

impl MetAlong {
    /// The chunks of a grid. The picks are relative to the start of the range.
    #[must_use]
    pub fn new(grid: &ChunkGrid, axis: usize, range: Range<u64>, picks: &Picks) -> Self {
        if range.is_empty() {
            return Self(Chunks::All(0));
        }
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let chunk_at = |element: u64| grid.n_chunks_along(axis, element + 1) - 1;
        let first = chunk_at(range.start);
        let count = chunk_at(range.end - 1) - first + 1;
        let steps = match picks {
            _ if picks.is_all() => return Self(Chunks::All(count)),
            Picks::Steps(steps) => steps,
            Picks::Listed(_) => {
                let indices = picks
                    .runs(0, len)
                    .flat_map(|run| (0..run.n).map(move |i| run.offset + i * run.step));
                let mut chunks: Vec<u64> = indices
                    .map(|index| chunk_at(range.start + index as u64) - first)
                    .collect();
                chunks.dedup();
                return Self(Chunks::Listed(chunks));
            }
        };
        let longest = grid.chunk_shape()[axis];
        let shortest = match grid.edges() {
            None => longest,
            Some(edges) => edges[axis].distinct().into_iter().min().unwrap_or(longest),
        };
        let step = steps.step as u64;
        if step <= shortest {
            return Self(Chunks::All(count));
        }
        if step >= longest {
            let n = picks.n_below(len) as u64;
            return Self(Chunks::OneElementEach {
                axis,
                first,
                start: range.start + steps.phase as u64,
                step,
                n,
            });
        }
        let has_pick = |distance: &u64| {
            let chunk = grid.range_along(axis, first + distance);
            let start = chunk.start.max(range.start);
            let end = chunk.end.min(range.end);
            picks
                .hit((start - range.start) as usize, (end - start) as usize)
                .1
                > 0
        };
        Self(Chunks::Listed((0..count).filter(has_pick).collect()))
    }

    /// The number of these chunks.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a number of chunks, not of parts of this"
    )]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Chunks::All(n) | Chunks::OneElementEach { n, .. } => *n,
            Chunks::Listed(chunks) => chunks.len() as u64,
        }
    }

    /// The chunk that follows `n` others, in the same grid; `n` is less than [`len`](Self::len).
    #[must_use]
    pub fn nth(&self, grid: &ChunkGrid, n: u64) -> u64 {
        match &self.0 {
            Chunks::All(_) => n,
            Chunks::Listed(chunks) => chunks[n as usize],
            Chunks::OneElementEach {
                axis,
                first,
                start,
                step,
                ..
            } => grid.n_chunks_along(*axis, start + n * step + 1) - 1 - first,
        }
    }
}
