//! A region that is cut along the lines of its chunk grid as its chunks are requested.

use std::collections::VecDeque;

use ndzarr_grid::{ChunkGrid, Overlap, Region};

use crate::Tile;
use crate::for_each::Sequence;
use crate::tile::Output;

/// Data that belongs to a region and is cut with it.
pub(crate) trait Cut: Send {
    /// The data for the part in one chunk.
    type One: Send;

    /// Both sides of a cut along an axis, before the element `at`.
    fn cut(self, axis: usize, at: usize) -> (Self, Self)
    where
        Self: Sized;

    fn one(self) -> Self::One;
}

/// Only the region itself.
impl Cut for () {
    type One = ();

    fn cut(self, _: usize, _: usize) -> ((), ()) {
        ((), ())
    }

    fn one(self) {}
}

/// The part of a region that lies in one chunk.
pub(crate) struct Piece<T> {
    pub(crate) overlap: Overlap,
    pub(crate) output: T,
}

/// Pieces in C order, made as they are taken.
pub(crate) struct Pieces<'g, C: Cut> {
    grid: &'g ChunkGrid,
    parts: VecDeque<Part<C>>,
    len: usize,
}

enum Part<C: Cut> {
    Block(Block<C>),
    One(Piece<C::One>),
}

/// A box of whole pieces.
struct Block<C> {
    region: Region,
    /// The number of pieces along each axis.
    counts: Vec<u64>,
    output: C,
}

impl<'g, C: Cut> Pieces<'g, C> {
    pub(crate) fn new(grid: &'g ChunkGrid) -> Self {
        Self { grid, parts: VecDeque::new(), len: 0 }
    }

    /// Adds a non-empty region of the array, in a grid that is not custom.
    pub(crate) fn add_region(&mut self, region: Region, output: C) {
        let along = |(axis, range): (usize, &std::ops::Range<u64>)| {
            self.grid.n_chunks_along(axis, range.end) - self.grid.n_chunks_along(axis, range.start + 1) + 1
        };
        let counts: Vec<u64> = region.ranges().iter().enumerate().map(along).collect();
        let block = Block { region, counts, output };
        self.len = self.len.saturating_add(block.len());
        self.parts.push_back(Part::Block(block));
    }

    pub(crate) fn add_piece(&mut self, piece: Piece<C::One>) {
        self.len += 1;
        self.parts.push_back(Part::One(piece));
    }

    /// The piece of a part that consists of one.
    fn only(&self, part: Part<C>) -> Option<Piece<C::One>> {
        match part {
            Part::One(piece) => Some(piece),
            Part::Block(block) => {
                let overlap = self.grid.overlaps(&block.region).next()?;
                Some(Piece { overlap, output: block.output.one() })
            }
        }
    }
}

impl<C: Cut> Sequence for Pieces<'_, C> {
    type Item = Piece<C::One>;

    fn len(&self) -> usize {
        self.len
    }

    fn next(&mut self) -> Option<Self::Item> {
        let mut part = self.parts.pop_front()?;
        loop {
            match part {
                Part::Block(block) if block.len() > 1 => {
                    let (first, rest) = block.split(self.grid, Side::Front);
                    self.parts.push_front(Part::Block(rest));
                    part = Part::Block(first);
                }
                only => {
                    self.len -= 1;
                    return self.only(only);
                }
            }
        }
    }

    fn next_back(&mut self) -> Option<Self::Item> {
        let mut part = self.parts.pop_back()?;
        loop {
            match part {
                Part::Block(block) if block.len() > 1 => {
                    let (rest, last) = block.split(self.grid, Side::Back);
                    self.parts.push_back(Part::Block(rest));
                    part = Part::Block(last);
                }
                only => {
                    self.len -= 1;
                    return self.only(only);
                }
            }
        }
    }

    fn split_front(&mut self, n: usize) -> Self {
        let mut front = Self { grid: self.grid, parts: VecDeque::new(), len: 0 };
        while front.len < n
            && let Some(part) = self.parts.pop_front()
        {
            let left = n - front.len;
            match part {
                // A part on both sides is cut further, until it is one piece.
                Part::Block(block) if block.len() > left => {
                    let (before, behind) = block.split(self.grid, Side::At(left));
                    self.parts.push_front(Part::Block(behind));
                    self.parts.push_front(Part::Block(before));
                }
                part => {
                    let len = part.len();
                    front.len += len;
                    self.len -= len;
                    front.parts.push_back(part);
                }
            }
        }
        front
    }
}

/// Where to split a part so that both sides are boxes in C order.
#[derive(Clone, Copy)]
enum Side {
    /// Near the front, so that the front comes closer to one piece.
    Front,
    Back,
    /// Before or after this piece, as close as a cut along one axis can be.
    At(usize),
}

impl<C: Cut> Part<C> {
    fn len(&self) -> usize {
        match self {
            Self::Block(block) => block.len(),
            Self::One(_) => 1,
        }
    }
}

impl<C: Cut> Block<C> {
    fn len(&self) -> usize {
        let len = self.counts.iter().try_fold(1u64, |len, &n| len.checked_mul(n));
        len.and_then(|len| usize::try_from(len).ok()).unwrap_or(usize::MAX)
    }

    fn split(self, grid: &ChunkGrid, side: Side) -> (Self, Self) {
        let axis = self.counts.iter().position(|&n| n > 1).unwrap_or(0);
        let n = self.counts[axis];
        let at = match side {
            Side::Front => 1,
            Side::Back => n - 1,
            Side::At(piece) => (piece as u64 / (self.len() as u64 / n).max(1)).clamp(1, n - 1),
        };
        let range = self.region.ranges()[axis].clone();
        let first = grid.n_chunks_along(axis, range.start + 1) - 1;
        let end = grid.range_along(axis, first + at - 1).end;
        let side = |range, n| {
            let (mut ranges, mut counts) = (self.region.ranges().to_vec(), self.counts.clone());
            (ranges[axis], counts[axis]) = (range, n);
            (Region::new(ranges), counts)
        };
        let (before, behind) = (side(range.start..end, at), side(end..range.end, n - at));
        let outputs = self.output.cut(axis, (end - range.start) as usize);
        (
            Self { region: before.0, counts: before.1, output: outputs.0 },
            Self { region: behind.0, counts: behind.1, output: outputs.1 },
        )
    }
}

impl<'t> Cut for Box<dyn Tile + 't> {
    type One = Output<'t>;

    fn cut(self, axis: usize, at: usize) -> (Self, Self) {
        self.split_at(axis, at)
    }

    fn one(self) -> Self::One {
        Output::Tile(self)
    }
}

#[cfg(test)]
mod tests {
    use ndzarr_grid::ChunkEdges;

    use super::*;

    /// The chunks of a region, by the grid's own iterator.
    fn expected(grid: &ChunkGrid, region: &Region) -> Vec<Overlap> {
        grid.overlaps(region).collect()
    }

    fn all(mut pieces: Pieces<'_, ()>) -> Vec<Overlap> {
        std::iter::from_fn(|| pieces.next()).map(|piece| piece.overlap).collect()
    }

    fn grids() -> Vec<(ChunkGrid, Region)> {
        let uneven = ChunkEdges::Listed(vec![(2, 1), (3, 2), (1, 4)]);
        let regular = |shape: &[u64], chunk: &[u64]| ChunkGrid::regular(shape, chunk).expect("a grid");
        let rectilinear =
            ChunkGrid::rectilinear(&[12, 12], &[uneven.clone(), uneven]).expect("edges of twelve elements");
        vec![
            (regular(&[], &[]), Region::new([])),
            (regular(&[10], &[3]), Region::new([1..10])),
            (regular(&[10, 7, 5], &[3, 2, 5]), Region::new([2..9, 1..6, 0..5])),
            (rectilinear, Region::new([1..11, 2..9])),
        ]
    }

    #[test]
    fn pieces_are_those_of_the_grid_from_either_end() {
        for (grid, region) in grids() {
            let make = || {
                let mut pieces = Pieces::new(&grid);
                pieces.add_region(region.clone(), ());
                pieces
            };
            let expected = expected(&grid, &region);
            assert_eq!(make().len(), expected.len());
            assert_eq!(all(make()), expected);
            let mut pieces = make();
            let mut back: Vec<_> =
                std::iter::from_fn(|| pieces.next_back()).map(|piece| piece.overlap).collect();
            back.reverse();
            assert_eq!(back, expected);
            assert_eq!(pieces.len(), 0);
        }
    }

    #[test]
    fn pieces_are_split_anywhere() {
        for (grid, region) in grids() {
            let expected = expected(&grid, &region);
            for n in 0..=expected.len() {
                let mut rest = Pieces::new(&grid);
                rest.add_region(region.clone(), ());
                let front = rest.split_front(n);
                assert_eq!((front.len(), rest.len()), (n, expected.len() - n));
                assert_eq!((all(front), all(rest)), (expected[..n].to_vec(), expected[n..].to_vec()));
            }
        }
    }
}
