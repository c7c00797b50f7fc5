//! `Mask`: a selection of the elements of an array where it is true, one bit for each.

use std::ops::Range;

use ndzarr_grid::{ChunkGrid, Region};

use crate::selections::point_list::PointList;
use crate::tiles::picked_parts::lengths;

/// A mask of an array, one bit for each element in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mask {
    pub(crate) shape: Vec<usize>,
    words: Vec<u64>,
    /// How many elements are selected before each [`STEP`] words.
    before: Vec<usize>,
    n: usize,
}

/// Words between two counts.
const STEP: usize = 8;

/// A mask of at most this many elements is a list of points, each of which takes about 50 bytes;
/// one of more is taken chunk by chunk.
const FEW: usize = 1 << 20;

/// Part of a row of a mask.
#[derive(Clone, Debug)]
pub(crate) struct MaskRow {
    /// Elements of the array, by their numbers in C order.
    numbers: Range<usize>,
    /// Which of the selected elements of the array the selected ones among them are.
    results: Range<usize>,
}

impl MaskRow {
    pub(crate) fn n_selected(&self) -> usize {
        self.results.len()
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.results.len() == self.numbers.len()
    }
}

/// Selected elements that follow each other in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MaskRun {
    /// The first of them, counted from the start of the row.
    pub(crate) start: usize,
    /// Which of the selected elements of the array they are.
    pub(crate) targets: Range<usize>,
}

impl Mask {
    pub(crate) fn new<'m>(shape: &[usize], selected: impl Iterator<Item = &'m bool>) -> Self {
        let mut words = vec![0; shape.iter().product::<usize>().div_ceil(64)];
        for (at, _) in selected.enumerate().filter(|(_, selected)| **selected) {
            words[at / 64] |= 1 << (at % 64);
        }
        Self::of_words(shape, words)
    }

    fn of_words(shape: &[usize], words: Vec<u64>) -> Self {
        let mut before = Vec::with_capacity(words.len().div_ceil(STEP));
        let mut n = 0;
        for words in words.chunks(STEP) {
            before.push(n);
            n += ones(words);
        }
        Self {
            shape: shape.to_vec(),
            words,
            before,
            n,
        }
    }

    /// A mask of the box of this one that begins at `start`.
    pub(crate) fn part(&self, start: &[usize], len: &[usize]) -> Self {
        let mut words = vec![0; len.iter().product::<usize>().div_ceil(64)];
        let mut first = 0;
        for row in self.rows(start, len) {
            for run in self.runs(&row) {
                let start = first + run.start;
                (start..start + run.targets.len()).for_each(|at| words[at / 64] |= 1 << (at % 64));
            }
            first += row.numbers.len();
        }
        Self::of_words(len, words)
    }

    /// How many elements are selected before one, or before the end.
    fn rank(&self, number: usize) -> usize {
        let word = number / 64;
        let Some(&last) = self.words.get(word) else {
            return self.n;
        };
        let whole = &self.words[word / STEP * STEP..word];
        self.before[word / STEP] + ones(whole) + ones(&[last & ((1 << (number % 64)) - 1)])
    }

    /// Returns `true` if it is taken chunk by chunk, rather than as a list of points.
    pub(crate) fn is_large(&self) -> bool {
        self.n > FEW
    }

    /// Returns `true` if it has the shape of the array.
    pub(crate) fn fits(&self, shape: &[u64]) -> bool {
        self.shape
            .iter()
            .map(|&n| n as u64)
            .eq(shape.iter().copied())
    }

    /// All of its points.
    pub(crate) fn points(&self) -> PointList {
        let n_axes = self.shape.len();
        let mut coordinates = Vec::with_capacity(self.n * n_axes);
        let all = MaskRow {
            numbers: 0..self.shape.iter().product(),
            results: 0..self.n,
        };
        for run in self.runs(&all) {
            for number in run.start..run.start + run.targets.len() {
                self.place(number, &mut coordinates);
            }
        }
        PointList {
            coordinates,
            n_axes,
            n: self.n,
        }
    }

    /// Adds the coordinates of an element.
    fn place(&self, number: usize, coordinates: &mut Vec<u64>) {
        let first = coordinates.len();
        let mut rest = number;
        coordinates.resize(first + self.shape.len(), 0);
        for (axis, len) in self.shape.iter().enumerate().rev() {
            coordinates[first + axis] = (rest % len) as u64;
            rest /= len;
        }
    }

    /// The number of selected elements.
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// The selected elements of a row, in order.
    pub(crate) fn runs<'m>(&'m self, row: &MaskRow) -> impl Iterator<Item = MaskRun> + use<'m> {
        let MaskRow { numbers, results } = row.clone();
        let is_whole = row.is_whole();
        let mut at = numbers.start;
        let mut target = results.start;
        std::iter::from_fn(move || {
            if target == results.end {
                return None;
            }
            // A whole row is a run, whatever its length.
            let first = if is_whole {
                at
            } else {
                self.next_of(at..numbers.end, 0)
            };
            at = if is_whole {
                numbers.end
            } else {
                self.next_of(first..numbers.end, u64::MAX)
            };
            let targets = target..target + (at - first);
            target = targets.end;
            Some(MaskRun {
                start: first - numbers.start,
                targets,
            })
        })
    }

    /// The first of these elements whose bit is set in `words ^ flip`; their end, if there is none.
    fn next_of(&self, numbers: Range<usize>, flip: u64) -> usize {
        let mut from = u64::MAX << (numbers.start % 64);
        for word in numbers.start / 64..numbers.end.div_ceil(64) {
            let found = (self.words[word] ^ flip) & from;
            if found != 0 {
                return numbers.end.min(word * 64 + found.trailing_zeros() as usize);
            }
            from = u64::MAX;
        }
        numbers.end
    }

    /// The rows along the last axis of a box, in C order.
    pub(crate) fn rows<'m>(
        &'m self,
        start: &[usize],
        len: &[usize],
    ) -> impl Iterator<Item = MaskRow> + use<'m> {
        let start = start.to_vec();
        let (row_len, leading) = len
            .split_last()
            .map_or((1, len), |(len, leading)| (*len, leading));
        let leading = leading.to_vec();
        (0..leading.iter().product()).map(move |row: usize| {
            let mut rest = row;
            let mut stride = 1;
            let mut number = 0;
            for (axis, n) in self.shape.iter().enumerate().rev() {
                let within = leading.get(axis).map_or(0, |len| {
                    let at = rest % len;
                    rest /= len;
                    at
                });
                number += (start[axis] + within) * stride;
                stride *= n;
            }
            let numbers = number..number + row_len;
            MaskRow {
                results: self.rank(numbers.start)..self.rank(numbers.end),
                numbers,
            }
        })
    }

    /// The chunks of a grid that have selected elements, and the parts of them in the array.
    pub(crate) fn chunks(&self, grid: &ChunkGrid) -> impl Iterator<Item = (Vec<u64>, Region)> {
        let all: Vec<u64> = self.shape.iter().map(|&n| n as u64).collect();
        grid.overlaps(&Region::whole(&all)).filter_map(|overlap| {
            let region = overlap.region();
            let start: Vec<usize> = region.start().iter().map(|&at| at as usize).collect();
            let mut rows = self.rows(&start, &lengths(&region));
            rows.any(|row| row.n_selected() > 0)
                .then_some((overlap.chunk, region))
        })
    }
}

fn ones(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}
