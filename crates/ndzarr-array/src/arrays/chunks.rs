//! `Chunks`: chunks of an array, counted, numbered and iterated over.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use ndzarr_grid::{ChunkGrid, MetAlong, Overlaps, Region};

use crate::error::{Error, ErrorKind, Result};
use crate::selections::point_list::ChunkPoints;
use crate::selections::resolved::{Axes, Resolution, Resolved, ResolvedAxis};

/// Chunks of an array in C order of their indices, whether they are stored or not. See
/// [`Array::chunks`](crate::ArrayInfo::chunks).
///
/// Their number is known, and [`get`](Self::get) finds each at once, so that a loop over numbers,
/// such as `(0..chunks.len()).into_par_iter()` of rayon, runs in parallel.
///
/// ```
/// use ndarray::ArrayD;
/// use ndzarr::{Array, MemoryStore};
///
/// let a = Array::<u8>::builder([5, 6]).chunks([2, 3]).create((MemoryStore::new(), "a"))?;
/// let chunks = a.chunks();
/// assert_eq!((chunks.grid_shape(), chunks.len()), (vec![3, 2], 6));
/// assert_eq!(chunks.get(5).unwrap().ranges, [4..5, 3..6]);
/// std::thread::scope(|scope| {
///     for numbers in [0..3, 3..6] {
///         let (a, chunks) = (&a, &chunks);
///         scope.spawn(move || {
///             for chunk in numbers.filter_map(|n| chunks.get(n)) {
///                 a.write(&chunk, &ArrayD::from_elem(chunk.shape(), chunk.index[0] as u8 + 1))?;
///             }
///             Ok::<_, ndzarr::Error>(())
///         });
///     }
/// });
/// assert_eq!(a.read((.., 0))?.to_vec(), [1, 1, 2, 2, 3]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chunks {
    grid: ChunkGrid,
    /// Those that overlap the box of a selection.
    overlaps: Overlaps,
    met: Met,
    /// How many were taken.
    next: u64,
}

/// Which of the chunks that overlap a box.
#[derive(Clone, Debug)]
enum Met {
    All,
    Along(Arc<[MetAlong]>),
    /// By their numbers, which are ascending, and the lengths of their stored values in bytes, as
    /// far as they are known.
    Listed(Arc<[u64]>, Option<Arc<[Option<u64>]>>),
    /// All but those of these numbers, which are ascending.
    But(Arc<[u64]>),
}

/// A chunk: its index, and the part of it that is inside the array. As a selection, it is that
/// part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chunk {
    /// Its index in the grid.
    pub index: Vec<u64>,
    /// The part of it that is inside the array, one range for each axis; usable as a selection.
    pub ranges: Vec<Range<u64>>,
    /// The part of it that is inside the box of the selection it was found by; else the same as
    /// `ranges`.
    pub overlap: Vec<Range<u64>>,
    /// The length of its stored value in bytes, in a list of what is stored, if it can be looked
    /// at.
    pub byte_len: Option<u64>,
}

impl Chunk {
    /// The shape of the part that is inside the array, in elements.
    #[must_use]
    pub fn shape(&self) -> Vec<usize> {
        // A part that this machine cannot address cannot be read either.
        self.ranges
            .iter()
            .map(|range| usize::try_from(range.end - range.start).unwrap_or(usize::MAX))
            .collect()
    }
}

impl Chunks {
    /// All chunks of a grid.
    pub(crate) fn new(grid: ChunkGrid) -> Self {
        let whole = Region::whole(grid.array_shape());
        Self::within(grid, &whole)
    }

    /// The chunks that a region of the array overlaps.
    pub(crate) fn within(grid: ChunkGrid, region: &Region) -> Self {
        Self {
            overlaps: grid.overlaps(region),
            grid,
            met: Met::All,
            next: 0,
        }
    }

    /// The chunks that have selected elements.
    pub(crate) fn meeting(grid: ChunkGrid, selected: &Resolved) -> Result<Self> {
        match &selected.0 {
            Resolution::Axes(axes) => Ok(Self::of_axes(grid, axes)),
            Resolution::Mask(mask) if mask.is_large() => {
                let all = Self::new(grid);
                let numbers = mask
                    .chunks(&all.grid)
                    .map(|(chunk, _)| all.checked_number(&chunk))
                    .collect::<Result<_>>()?;
                Ok(all.listed(numbers))
            }
            Resolution::Points(_) | Resolution::Mask(_) => {
                let all = Self::new(grid);
                let first = |points: &ChunkPoints| {
                    Region::new(points.region.start().into_iter().map(|at| at..at + 1))
                };
                let by_chunk = selected.points().by_chunk(&all.grid)?;
                let chunks = by_chunk
                    .iter()
                    .filter_map(|points| all.grid.overlaps(&first(points)).next());
                let numbers = chunks
                    .map(|overlap| all.checked_number(&overlap.chunk))
                    .collect::<Result<_>>()?;
                Ok(all.listed(numbers))
            }
        }
    }

    fn of_axes(grid: ChunkGrid, axes: &Axes) -> Self {
        let region = axes.region();
        let all = Self::within(grid, &region);
        if axes.axes.iter().all(|axis| axis.picks.is_all()) {
            return all;
        }
        let along = |(axis, resolved): (usize, &ResolvedAxis)| {
            MetAlong::new(&all.grid, axis, resolved.range.clone(), &resolved.picks)
        };
        let met = Met::Along(axes.axes.iter().enumerate().map(along).collect());
        Self { met, ..all }
    }

    /// Those of these numbers.
    pub(crate) fn listed(self, mut numbers: Vec<u64>) -> Self {
        numbers.sort_unstable();
        numbers.dedup();
        Self {
            met: Met::Listed(numbers.into(), None),
            ..self
        }
    }

    /// Returns `true` if these are all chunks of the box.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self.met, Met::All)
    }

    /// Those that are not among others, of the same grid and box.
    pub(crate) fn without(self, others: &Self) -> Self {
        let gone = others.numbers();
        if gone.is_empty() {
            return self;
        }
        if self.is_all() {
            // There may be any number of them.
            return Self {
                met: Met::But(gone.into()),
                ..self
            };
        }
        let mut numbers = self.numbers().into_owned();
        numbers.retain(|number| gone.binary_search(number).is_err());
        self.listed(numbers)
    }

    /// Their numbers, in ascending order.
    fn numbers(&self) -> Cow<'_, [u64]> {
        match &self.met {
            Met::Listed(numbers, _) => Cow::Borrowed(numbers),
            _ => self
                .clone()
                .filter_map(|chunk| self.number(&chunk.index))
                .collect(),
        }
    }

    /// Returns `true` if the chunk of this number of the box is one of them.
    pub(crate) fn has_number(&self, number: u64) -> bool {
        match &self.met {
            Met::Listed(numbers, _) => numbers.binary_search(&number).is_ok(),
            Met::But(gone) => gone.binary_search(&number).is_err(),
            _ => true,
        }
    }

    /// Returns `true` if the grid has a chunk.
    pub(crate) fn has(&self, chunk: &[u64]) -> bool {
        self.grid.chunk_region(chunk).is_some()
    }

    /// Those with these numbers; a value of this length is stored of each, if it is known. If a
    /// number is given more than once, the first counts.
    pub(crate) fn stored(self, mut found: Vec<(u64, Option<u64>)>) -> Self {
        found.sort_by_key(|(number, _)| *number);
        found.dedup_by_key(|(number, _)| *number);
        let numbers = found.iter().map(|(number, _)| *number).collect();
        let byte_lens = found.iter().map(|(_, byte_len)| *byte_len).collect();
        Self {
            met: Met::Listed(numbers, Some(byte_lens)),
            ..self
        }
    }

    /// The number of a chunk of the box.
    fn checked_number(&self, chunk: &[u64]) -> Result<u64> {
        self.number(chunk).ok_or_else(|| {
            let shape = self.grid.array_shape();
            let what = format!(
                "chunk {chunk:?} cannot be listed: an array of shape {shape:?} has too many chunks"
            );
            Error::new(ErrorKind::Unsupported, what)
        })
    }

    /// The number of a chunk among all of the box; `None` for a chunk outside, and beyond u64.
    pub(crate) fn number(&self, chunk: &[u64]) -> Option<u64> {
        let first = self.overlaps.first();
        self.number_of(
            chunk
                .iter()
                .zip(first)
                .map(|(index, first)| index.checked_sub(first)),
        )
    }

    fn number_of(&self, within: impl Iterator<Item = Option<u64>>) -> Option<u64> {
        let counts = self.overlaps.counts();
        within
            .zip(counts)
            .try_fold(0_u64, |number, (index, count)| {
                number
                    .checked_mul(count)?
                    .checked_add(index.filter(|index| *index < count)?)
            })
    }

    /// How many chunks there are along each axis of the whole array.
    #[must_use]
    pub fn grid_shape(&self) -> Vec<u64> {
        self.grid.grid_shape()
    }

    /// The chunk that is `n` places ahead, as [`nth`](Iterator::nth) would return it; nothing is
    /// taken.
    #[must_use]
    pub fn get(&self, n: usize) -> Option<Chunk> {
        let n = self.next.checked_add(n as u64).filter(|n| *n < self.n())?;
        let (number, byte_len) = match &self.met {
            Met::All => (n, None),
            Met::Along(axes) => {
                let mut rest = n;
                let mut within = vec![0; axes.len()];
                for (index, axis) in within.iter_mut().zip(axes.iter()).rev() {
                    *index = axis.nth(&self.grid, rest % axis.len());
                    rest /= axis.len();
                }
                (self.number_of(within.into_iter().map(Some))?, None)
            }
            Met::Listed(numbers, byte_lens) => {
                let n = n as usize;
                (
                    numbers[n],
                    byte_lens.as_ref().and_then(|byte_lens| byte_lens[n]),
                )
            }
            Met::But(gone) => {
                // As many of the others as are below it come before.
                let (mut low, mut high) = (0, gone.len());
                while low < high {
                    let middle = usize::midpoint(low, high);
                    if gone[middle] - middle as u64 <= n {
                        low = middle + 1
                    } else {
                        high = middle
                    }
                }
                (n + low as u64, None)
            }
        };
        let overlap = self.overlaps.nth_index(number)?;
        let ranges = self.grid.clipped_region(&overlap.chunk)?.ranges().to_vec();
        let common = overlap.region().ranges().to_vec();
        Some(Chunk {
            index: overlap.chunk,
            ranges,
            overlap: common,
            byte_len,
        })
    }

    /// How many there are, whether taken or not.
    pub(crate) fn n(&self) -> u64 {
        match &self.met {
            Met::All => self.overlaps.n_indices(),
            Met::Along(axes) => axes.iter().fold(1, |n, axis| axis.len().saturating_mul(n)),
            Met::Listed(numbers, _) => numbers.len() as u64,
            Met::But(gone) => self.overlaps.n_indices() - gone.len() as u64,
        }
    }
}

impl Iterator for Chunks {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        self.nth(0)
    }

    fn nth(&mut self, n: usize) -> Option<Chunk> {
        let chunk = self.get(n);
        self.next = self
            .next
            .saturating_add(n as u64)
            .saturating_add(1)
            .min(self.n());
        chunk
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // More than this are never taken one by one.
        let n = usize::try_from(self.n() - self.next).unwrap_or(usize::MAX);
        (n, Some(n))
    }
}

impl ExactSizeIterator for Chunks {}
