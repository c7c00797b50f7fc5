//! `MetAlong`: the chunks along an axis that contain picked elements.

use std::ops::Range;

use crate::{ChunkGrid, Picks, Steps};

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
    /// Those of elements at equal distances. There are no more stretches than runs of chunks of one
    /// length, however many chunks and elements there are.
    Stretches {
        axis: usize,
        first: u64,
        step: u64,
        stretches: Vec<Stretch>,
    },
}

/// Chunks that follow from the first picked element in them.
#[derive(Clone, Debug)]
struct Stretch {
    /// How many chunks other stretches have before.
    n_before: u64,
    n: u64,
    element: u64,
    /// The distance of the element's chunk from the first chunk that overlaps the range.
    chunk: u64,
    /// True if they are neighbours; else each picked element is in another one.
    is_dense: bool,
}

impl MetAlong {
    /// The chunks of a grid. The picks are relative to the start of the range.
    #[must_use]
    pub fn new(grid: &ChunkGrid, axis: usize, range: Range<u64>, picks: &Picks) -> Self {
        if range.is_empty() {
            return Self(Chunks::All(0));
        }
        let chunk_at = |element: u64| grid.n_chunks_along(axis, element + 1) - 1;
        let first = chunk_at(range.start);
        match picks {
            _ if picks.is_all() => Self(Chunks::All(chunk_at(range.end - 1) - first + 1)),
            Picks::Steps(steps) => Self(Chunks::Stretches {
                axis,
                first,
                step: steps.step as u64,
                stretches: stretches(grid, axis, range, *steps),
            }),
            Picks::Listed(_) => {
                let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
                let indices = picks
                    .runs(0, len)
                    .flat_map(|run| (0..run.n).map(move |i| run.offset + i * run.step));
                let mut chunks: Vec<u64> = indices
                    .map(|index| chunk_at(range.start + index as u64) - first)
                    .collect();
                chunks.dedup();
                Self(Chunks::Listed(chunks))
            }
        }
    }

    /// The number of these chunks.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a number of chunks, not of parts of this"
    )]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Chunks::All(n) => *n,
            Chunks::Listed(chunks) => chunks.len() as u64,
            Chunks::Stretches { stretches, .. } => stretches
                .last()
                .map_or(0, |stretch| stretch.n_before + stretch.n),
        }
    }

    /// The chunk that follows `n` others, in the same grid; `n` is less than [`len`](Self::len).
    #[must_use]
    pub fn nth(&self, grid: &ChunkGrid, n: u64) -> u64 {
        match &self.0 {
            Chunks::All(_) => n,
            Chunks::Listed(chunks) => chunks[n as usize],
            Chunks::Stretches {
                axis,
                first,
                step,
                stretches,
            } => {
                let stretch =
                    &stretches[stretches.partition_point(|stretch| stretch.n_before <= n) - 1];
                let n = n - stretch.n_before;
                if stretch.is_dense {
                    stretch.chunk + n
                } else {
                    grid.n_chunks_along(*axis, stretch.element + n * step + 1) - 1 - first
                }
            }
        }
    }
}

/// The chunks that contain elements at equal distances, of a range that is not empty.
fn stretches(grid: &ChunkGrid, axis: usize, range: Range<u64>, steps: Steps) -> Vec<Stretch> {
    let chunk_at = |element: u64| grid.n_chunks_along(axis, element + 1) - 1;
    let first = chunk_at(range.start);
    let picks = Picks::Steps(steps);
    let element_of = |pick: usize| range.start + picks.nth(pick) as u64;
    let mut stretches: Vec<Stretch> = Vec::new();
    for (part, chunk_len) in grid.equal_chunks_along(axis, range.clone()) {
        // No pick is at an index beyond `usize`.
        let at = usize::try_from(part.start - range.start).unwrap_or(usize::MAX);
        let len = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
        let (pick, n_picks) = picks.hit(at, len);
        if n_picks == 0 {
            continue;
        }
        let element = element_of(pick);
        let chunk = chunk_at(element) - first;
        let is_dense = steps.step as u64 <= chunk_len;
        let n = if is_dense {
            chunk_at(element_of(pick + n_picks - 1)) - first - chunk + 1
        } else {
            n_picks as u64
        };
        match stretches.last_mut() {
            Some(last)
                if last.is_dense == is_dense && (!is_dense || last.chunk + last.n == chunk) =>
            {
                last.n += n;
            }
            last => {
                let n_before = last.map_or(0, |last| last.n_before + last.n);
                stretches.push(Stretch {
                    n_before,
                    n,
                    element,
                    chunk,
                    is_dense,
                });
            }
        }
    }
    stretches
}
