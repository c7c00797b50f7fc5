//! Points of an array, and masks, taken apart by chunk.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

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

/// A mask of at most this many elements is a list of points, each of which takes about 100 bytes; one of
/// more is taken chunk by chunk.
const FEW: usize = 1 << 20;

/// Part of a row of a mask.
#[derive(Clone, Debug)]
pub(crate) struct MaskRow {
    /// Elements of the array, by their numbers in C order.
    pub(crate) numbers: Range<usize>,
    /// Which of the selected elements of the array the selected ones among them are.
    pub(crate) results: Range<usize>,
}

/// The points in one chunk.
#[derive(Debug)]
pub(crate) struct Group {
    /// The box that contains them.
    pub(crate) region: Region,
    /// Their coordinates, point by point, relative to the box.
    pub(crate) coordinates: Arc<[usize]>,
    /// Which points of the list they are.
    pub(crate) points: Vec<usize>,
}

impl PointList {
    pub(crate) fn len(&self) -> usize {
        self.n
    }

    pub(crate) fn point(&self, number: usize) -> &[u64] {
        &self.coordinates[number * self.n_axes..(number + 1) * self.n_axes]
    }

    /// Whether all of them are in an array of this shape.
    pub(crate) fn fit(&self, shape: &[u64]) -> bool {
        let mut coordinates = self.coordinates.iter().zip(shape.iter().cycle());
        self.n_axes == shape.len() && coordinates.all(|(at, n)| at < n)
    }

    /// The points of each chunk, in C order within it, and those at one place in the order of the
    /// list.
    ///
    /// # Errors
    /// The points in a chunk span more than this machine can address.
    pub(crate) fn groups(&self, grid: &ChunkGrid) -> Result<Vec<Group>> {
        let chunk_of = |point: &[u64]| -> Vec<u64> {
            if grid.is_custom() {
                // One that is in no chunk is an error when it is read.
                let element = Region::new(point.iter().map(|&at| at..at + 1));
                return grid.overlaps(&element).next().map(|overlap| overlap.chunk).unwrap_or_default();
            }
            point.iter().enumerate().map(|(axis, &at)| grid.n_chunks_along(axis, at + 1) - 1).collect()
        };
        let mut chunks: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
        for number in 0..self.n {
            chunks.entry(chunk_of(self.point(number))).or_default().push(number);
        }
        let in_order = |mut points: Vec<usize>| {
            if !points.is_sorted_by_key(|&number| self.point(number)) {
                points.sort_by_key(|&number| self.point(number));
            }
            self.group(points)
        };
        chunks.into_values().map(in_order).collect()
    }

    fn group(&self, points: Vec<usize>) -> Result<Group> {
        let range = |axis: usize| {
            let along = points.iter().map(|&number| self.point(number)[axis]);
            let (low, high) = along.fold((u64::MAX, 0), |(low, high), at| (low.min(at), high.max(at)));
            let addressable = isize::try_from(high - low).map(|_| low..high + 1);
            addressable.map_err(|_| {
                let what = format!("the points along axis {axis} span more than this machine can address");
                Error::new(ErrorKind::OutOfMemory, what)
            })
        };
        let region = Region::new((0..self.n_axes).map(range).collect::<Result<Vec<_>>>()?);
        let start = region.start();
        let relative =
            |&number: &usize| self.point(number).iter().zip(&start).map(|(at, start)| (at - start) as usize);
        let coordinates = points.iter().flat_map(relative).collect();
        Ok(Group { region, coordinates, points })
    }
}

impl Mask {
    pub(crate) fn new<'m>(shape: &[usize], selected: impl Iterator<Item = &'m bool>) -> Self {
        let mut words = vec![0; shape.iter().product::<usize>().div_ceil(64)];
        for (at, _) in selected.enumerate().filter(|(_, selected)| **selected) {
            words[at / 64] |= 1 << (at % 64);
        }
        let (mut before, mut n) = (Vec::with_capacity(words.len().div_ceil(STEP)), 0);
        for words in words.chunks(STEP) {
            before.push(n);
            n += ones(words);
        }
        Self { shape: shape.to_vec(), words, before, n }
    }

    /// How many elements are selected before one, or before the end.
    fn rank(&self, number: usize) -> usize {
        let word = number / 64;
        let Some(&last) = self.words.get(word) else { return self.n };
        let whole = &self.words[word / STEP * STEP..word];
        self.before[word / STEP] + ones(whole) + ones(&[last & ((1 << (number % 64)) - 1)])
    }

    /// Whether it is taken chunk by chunk, rather than as a list of points.
    pub(crate) fn is_large(&self, grid: &ChunkGrid) -> bool {
        // A custom grid may have no chunk for a point.
        self.n > FEW && !grid.is_custom()
    }

    /// Whether it is one of an array of this shape.
    pub(crate) fn fits(&self, shape: &[u64]) -> bool {
        self.shape.iter().map(|&n| n as u64).eq(shape.iter().copied())
    }

    /// All of its points.
    pub(crate) fn points(&self) -> PointList {
        let n_axes = self.shape.len();
        let mut coordinates = Vec::with_capacity(self.n * n_axes);
        for number in self.selected(0..self.shape.iter().product()) {
            self.place(number, &mut coordinates);
        }
        PointList { coordinates, n_axes, n: self.n }
    }

    /// Adds the coordinates of an element.
    fn place(&self, number: usize, coordinates: &mut Vec<u64>) {
        let (first, mut rest) = (coordinates.len(), number);
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

    /// The numbers of the selected elements among these.
    pub(crate) fn selected(&self, numbers: Range<usize>) -> impl Iterator<Item = usize> {
        let (first, end) = (numbers.start / 64, numbers.end.div_ceil(64));
        let bits = move |word: usize| {
            let mut left = self.words[word];
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                (left != 0).then(|| {
                    left &= left - 1;
                    word * 64 + bit
                })
            })
        };
        (first..end).flat_map(bits).filter(move |number| numbers.contains(number))
    }

    /// The rows along the last axis of a box, in C order.
    pub(crate) fn rows<'m>(&'m self, region: &Region) -> impl Iterator<Item = MaskRow> + use<'m> {
        let lens: Vec<usize> = region.shape().iter().map(|&n| n as usize).collect();
        let start = region.start();
        let (len, leading) = lens.split_last().map_or((1, &lens[..]), |(len, leading)| (*len, leading));
        let leading = leading.to_vec();
        (0..leading.iter().product()).map(move |row: usize| {
            let (mut rest, mut stride) = (row, 1);
            let mut number = 0;
            for (axis, n) in self.shape.iter().enumerate().rev() {
                let within = leading.get(axis).map_or(0, |len| {
                    let at = rest % len;
                    rest /= len;
                    at
                });
                number += (start[axis] as usize + within) * stride;
                stride *= n;
            }
            let numbers = number..number + len;
            MaskRow { results: self.rank(numbers.start)..self.rank(numbers.end), numbers }
        })
    }

    /// The chunks of a grid that have selected elements, and how many.
    pub(crate) fn chunks(&self, grid: &ChunkGrid) -> impl Iterator<Item = (Vec<u64>, Region, usize)> {
        let all: Vec<u64> = self.shape.iter().map(|&n| n as u64).collect();
        grid.overlaps(&Region::whole(&all)).filter_map(|overlap| {
            let region = overlap.region();
            let n = self.rows(&region).map(|row| row.results.len()).sum();
            (n > 0).then_some((overlap.chunk, region, n))
        })
    }
}

fn ones(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}
