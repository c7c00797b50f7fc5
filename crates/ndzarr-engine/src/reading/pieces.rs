//! `Pieces`: the regions of a call, cut along the lines of the chunk grid as their chunks are
//! requested.

mod block;

use std::collections::VecDeque;

use ndzarr_grid::{ChunkGrid, Region};

use self::block::{Block, Cut, End, Entry};
use crate::Tile;
use crate::picked_chunks::PickedChunks;
use crate::threads::for_each::Sequence;
use crate::tile::Piece;

/// Pieces, made as they are taken; those of a region in C order.
pub(crate) struct Pieces<'g, 't> {
    grid: &'g ChunkGrid,
    entries: VecDeque<Entry<'t>>,
    /// The number of pieces of all entries, each of which may have up to 2^64.
    len: u128,
}

impl<'g, 't> Pieces<'g, 't> {
    pub(crate) fn new(grid: &'g ChunkGrid) -> Self {
        Self {
            grid,
            entries: VecDeque::new(),
            len: 0,
        }
    }

    /// Adds a non-empty region of the array.
    pub(crate) fn add_region(&mut self, region: Region, tile: Box<dyn Tile + 't>) {
        self.push(End::Back, Entry::Block(Block::new(self.grid, region, tile)));
    }

    /// Adds the part of a region, not empty, in the chunks that have elements which the tile wants.
    pub(crate) fn add_picked(&mut self, region: Region, tile: Box<dyn Tile + 't>) {
        let Some(chunks) = PickedChunks::new(self.grid, &region, &tile.picked()) else {
            return self.add_region(region, tile);
        };
        if !chunks.counts().contains(&0) {
            self.push(
                End::Back,
                Entry::Block(Block::of_picked(region, chunks, tile)),
            );
        }
    }

    pub(crate) fn append(&mut self, others: Self) {
        others
            .entries
            .into_iter()
            .for_each(|entry| self.push(End::Back, entry));
    }

    pub(crate) fn add_piece(&mut self, piece: Piece<'t>) {
        self.push(End::Back, Entry::Piece(piece));
    }

    fn push(&mut self, end: End, entry: Entry<'t>) {
        self.len += u128::from(entry.len());
        match end {
            End::Front => self.entries.push_front(entry),
            End::Back => self.entries.push_back(entry),
        }
    }

    fn pop(&mut self, end: End) -> Option<Entry<'t>> {
        let entry = match end {
            End::Front => self.entries.pop_front(),
            End::Back => self.entries.pop_back(),
        }?;
        self.len -= u128::from(entry.len());
        Some(entry)
    }

    /// Puts back a block: cut, or as a piece.
    fn put_back(&mut self, end: End, block: Block<'t>, cut: Cut) {
        let mut entries = block.cut(self.grid, cut);
        if end == End::Front {
            entries.reverse();
        }
        entries.into_iter().for_each(|entry| self.push(end, entry));
    }

    fn take(&mut self, end: End) -> Option<Piece<'t>> {
        loop {
            match self.pop(end)? {
                Entry::Piece(piece) => return Some(piece),
                Entry::Block(block) => self.put_back(end, block, Cut::At(end)),
            }
        }
    }
}

impl<'t> Sequence for Pieces<'_, 't> {
    type Item = Piece<'t>;

    fn len(&self) -> usize {
        usize::try_from(self.len).unwrap_or(usize::MAX)
    }

    fn next(&mut self) -> Option<Self::Item> {
        self.take(End::Front)
    }

    fn next_back(&mut self) -> Option<Self::Item> {
        self.take(End::Back)
    }

    fn split_front(&mut self, n: usize) -> Self {
        let mut front = Self::new(self.grid);
        while front.len < n as u128
            && let Some(entry) = self.pop(End::Front)
        {
            let left = n as u128 - front.len;
            match entry {
                // What lies on both sides is cut further, until it is one piece.
                Entry::Block(block) if u128::from(block.len()) > left => {
                    self.put_back(End::Front, block, Cut::Before(left as u64));
                }
                entry => front.push(End::Back, entry),
            }
        }
        front
    }
}

#[cfg(test)]
mod tests {
    use ndzarr_codec::{Elements, Layout};
    use ndzarr_grid::{ChunkEdges, Overlap, Picks, Steps};

    use super::*;
    use crate::{EngineCause, Picked};

    /// A tile that has only a shape and picks.
    struct Shape {
        lens: Vec<usize>,
        picks: Vec<Picks>,
    }

    impl Tile for Shape {
        fn shape(&self) -> Vec<usize> {
            self.lens.clone()
        }

        fn picked(&self) -> Picked {
            Picked::Along(self.picks.clone())
        }

        fn put(&mut self, _: Elements<'_>, _: &Layout, _: &[usize]) -> Result<(), EngineCause> {
            Ok(())
        }

        fn fill(&mut self, _: &[u8]) -> Result<(), EngineCause> {
            Ok(())
        }

        fn contiguous(&mut self) -> Option<&mut [u8]> {
            None
        }

        fn split_at<'s>(
            self: Box<Self>,
            axis: usize,
            at: usize,
        ) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
        where
            Self: 's,
        {
            let mut front = self.lens.clone();
            let mut back = self.lens;
            front[axis] = at;
            back[axis] -= at;
            let mut picks = self.picks.clone();
            picks[axis] = picks[axis].from(at);
            (
                Box::new(Self {
                    lens: front,
                    picks: self.picks,
                }),
                Box::new(Self { lens: back, picks }),
            )
        }
    }

    fn pieces<'g>(grid: &'g ChunkGrid, region: &Region) -> Pieces<'g, 'static> {
        let mut pieces = Pieces::new(grid);
        let shape = region.shape().iter().map(|&n| n as usize).collect();
        pieces.add_region(
            region.clone(),
            Box::new(Shape {
                lens: shape,
                picks: vec![Picks::ALL; region.ndim()],
            }),
        );
        pieces
    }

    fn picked<'g>(grid: &'g ChunkGrid, region: &Region, picks: &[Picks]) -> Pieces<'g, 'static> {
        let mut pieces = Pieces::new(grid);
        let shape = region.shape().iter().map(|&n| n as usize).collect();
        pieces.add_picked(
            region.clone(),
            Box::new(Shape {
                lens: shape,
                picks: picks.to_vec(),
            }),
        );
        pieces
    }

    /// The overlap of a piece, whose tile has its shape.
    fn overlap(Piece { overlap, output }: Piece<'_>) -> Overlap {
        let Ok(tile) = output.tile() else {
            panic!("the tile exists")
        };
        let shape: Vec<u64> = tile.shape().iter().map(|&n| n as u64).collect();
        assert_eq!(shape, overlap.in_chunk.shape());
        overlap
    }

    fn all(mut pieces: Pieces<'_, '_>) -> Vec<Overlap> {
        std::iter::from_fn(|| pieces.next()).map(overlap).collect()
    }

    fn grids() -> Vec<(ChunkGrid, Region)> {
        let uneven = ChunkEdges::Listed(vec![(2, 1), (3, 2), (1, 4)]);
        let regular =
            |shape: &[u64], chunk: &[u64]| ChunkGrid::regular(shape, chunk).expect("a grid");
        let rectilinear = ChunkGrid::rectilinear(&[12, 12], &[uneven.clone(), uneven])
            .expect("edges of twelve elements");
        vec![
            (regular(&[], &[]), Region::new([])),
            (regular(&[10], &[3]), Region::new([1..10])),
            (
                regular(&[10, 7, 5], &[3, 2, 5]),
                Region::new([2..9, 1..6, 0..5]),
            ),
            (rectilinear, Region::new([1..11, 2..9])),
        ]
    }

    #[test]
    fn pieces_are_those_of_the_grid_from_either_end() {
        for (grid, region) in grids() {
            let expected: Vec<Overlap> = grid.overlaps(&region).collect();
            assert_eq!(pieces(&grid, &region).len(), expected.len());
            assert_eq!(all(pieces(&grid, &region)), expected);
            let mut pieces = pieces(&grid, &region);
            let mut back: Vec<_> = std::iter::from_fn(|| pieces.next_back())
                .map(overlap)
                .collect();
            back.reverse();
            assert_eq!(back, expected);
            assert_eq!(pieces.len(), 0);
        }
    }

    #[test]
    fn chunks_without_a_pick_have_no_pieces() {
        for (grid, region) in grids().into_iter().skip(1) {
            let of_steps = |step: usize| Picks::Steps(Steps { phase: 0, step });
            let choices = [
                Picks::ALL,
                of_steps(2),
                of_steps(5),
                of_steps(100),
                Picks::listed([1, 6, 7]),
            ];
            for (a, b) in
                (0..choices.len() * choices.len()).map(|i| (i / choices.len(), i % choices.len()))
            {
                let mut picks = vec![Picks::ALL; region.ndim()];
                picks[0] = choices[a].clone();
                picks[region.ndim() - 1] = choices[b].clone();
                let has_pick = |overlap: &Overlap| {
                    let common = overlap.region().relative_to(&region.start());
                    let mut axes = common.ranges().iter().zip(&picks);
                    axes.all(|(range, picks)| {
                        picks
                            .hit(range.start as usize, (range.end - range.start) as usize)
                            .1
                            > 0
                    })
                };
                let expected: Vec<Overlap> = grid.overlaps(&region).filter(has_pick).collect();
                assert_eq!(
                    picked(&grid, &region, &picks).len(),
                    expected.len(),
                    "{picks:?}"
                );
                for n in 0..=expected.len() {
                    let mut rest = picked(&grid, &region, &picks);
                    let front = rest.split_front(n);
                    assert_eq!(
                        (all(front), all(rest)),
                        (expected[..n].to_vec(), expected[n..].to_vec())
                    );
                }
                let mut pieces = picked(&grid, &region, &picks);
                let mut back: Vec<_> = std::iter::from_fn(|| pieces.next_back())
                    .map(overlap)
                    .collect();
                back.reverse();
                assert_eq!(back, expected);
            }
        }
    }

    #[test]
    fn pieces_are_split_anywhere() {
        for (grid, region) in grids() {
            let expected: Vec<Overlap> = grid.overlaps(&region).collect();
            for n in 0..=expected.len() {
                let mut rest = pieces(&grid, &region);
                let front = rest.split_front(n);
                assert_eq!((front.len(), rest.len()), (n, expected.len() - n));
                assert_eq!(
                    (all(front), all(rest)),
                    (expected[..n].to_vec(), expected[n..].to_vec())
                );
            }
        }
    }
}
