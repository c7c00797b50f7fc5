//! `Pieces`: the regions of a call, cut along the lines of the chunk grid as their chunks are requested.

use std::collections::VecDeque;
use std::sync::Arc;

use ndzarr_grid::{ChunkGrid, Overlap, Region};

use crate::reading::met_box::MetBox;
use crate::reading::several::Shared;
use crate::threads::for_each::Sequence;
use crate::tile::{MakeTile, Output, Piece, sides};
use crate::{ChunkedArray, EngineCause, Tile};

/// Regions with more pieces are cut as they are read, each for itself: it takes memory to know which
/// chunks they share with others.
const SHARED_PIECES: u64 = 4096;

/// So are all regions of a call after this many pieces, which take some 300 bytes each.
const SHARED_IN_ALL: u64 = 1 << 17;

/// The pieces of several regions, and their number. A chunk that several regions meet is one piece.
pub(crate) fn pieces_of<'r, 't>(
    array: &'r ChunkedArray,
    regions: Vec<(Region, MakeTile<'t>)>,
) -> Result<(Pieces<'r, 't>, u64), EngineCause> {
    let (mut all, mut total) = (Pieces::new(&array.grid), 0u64);
    let (mut shared, alone, mut n_shared) = (Shared::default(), regions.len() == 1, 0u64);
    for (region, make) in regions {
        if region.is_empty() {
            make()?;
        } else if let Some(overlap) = only_chunk(array, &region) {
            let piece = Piece { overlap, output: Output::Later(make) };
            if alone {
                all.add_piece(piece);
                total += 1;
            } else {
                shared.add(piece);
            }
        } else {
            let mut pieces = Pieces::new(&array.grid);
            pieces.add_picked(region, make()?);
            let n = pieces.len() as u64;
            if alone || n > SHARED_PIECES || n_shared + n > SHARED_IN_ALL {
                total = total.saturating_add(n);
                all.append(pieces);
                continue;
            }
            n_shared += n;
            while let Some(piece) = pieces.next() {
                shared.add(piece);
            }
        }
    }
    for piece in shared.pieces() {
        all.add_piece(piece);
        total += 1;
    }
    Ok((all, total))
}

/// The chunk that contains a whole region, and its position there.
fn only_chunk(array: &ChunkedArray, region: &Region) -> Option<Overlap> {
    array.grid.overlaps(region).next().filter(|overlap| overlap.in_chunk.shape() == region.shape())
}

/// Pieces, made as they are taken, in C order.
pub(crate) struct Pieces<'g, 't> {
    grid: &'g ChunkGrid,
    parts: VecDeque<Part<'t>>,
    /// The sum over the parts, each of which may count as up to 2^64.
    len: u128,
}

enum Part<'t> {
    Block(Block<'t>),
    One(Piece<'t>),
}

/// A box of pieces.
struct Block<'t> {
    region: Region,
    /// The number of pieces along each axis.
    counts: Vec<u64>,
    /// Where the pieces are, if only some chunks of the region have wanted elements: all of these, and
    /// the number of the first one here along each axis.
    met: Option<(Arc<MetBox>, Vec<u64>)>,
    tile: Box<dyn Tile + 't>,
}

impl<'g, 't> Pieces<'g, 't> {
    pub(crate) fn new(grid: &'g ChunkGrid) -> Self {
        Self { grid, parts: VecDeque::new(), len: 0 }
    }

    /// Adds a non-empty region of the array.
    pub(crate) fn add_region(&mut self, region: Region, tile: Box<dyn Tile + 't>) {
        let counts = self.grid.overlaps(&region).counts();
        self.push(End::Back, Part::Block(Block { region, counts, met: None, tile }));
    }

    /// Adds the part of a region, not empty, in the chunks that have elements which the tile wants.
    pub(crate) fn add_picked(&mut self, region: Region, tile: Box<dyn Tile + 't>) {
        let Some(met) = MetBox::new(self.grid, &region, &tile.picked()) else {
            return self.add_region(region, tile);
        };
        let counts = met.counts();
        if counts.contains(&0) {
            return;
        }
        let met = Some((Arc::new(met), vec![0; counts.len()]));
        self.push(End::Back, Part::Block(Block { region, counts, met, tile }));
    }

    fn append(&mut self, others: Self) {
        others.parts.into_iter().for_each(|part| self.push(End::Back, part));
    }

    pub(crate) fn add_piece(&mut self, piece: Piece<'t>) {
        self.push(End::Back, Part::One(piece));
    }

    fn push(&mut self, end: End, part: Part<'t>) {
        self.len += u128::from(part.len());
        match end {
            End::Front => self.parts.push_front(part),
            End::Back => self.parts.push_back(part),
        }
    }

    fn pop(&mut self, end: End) -> Option<Part<'t>> {
        let part = match end {
            End::Front => self.parts.pop_front(),
            End::Back => self.parts.pop_back(),
        }?;
        self.len -= u128::from(part.len());
        Some(part)
    }

    /// Puts back a block in smaller parts: as a piece, or cut.
    fn put_back(&mut self, end: End, block: Block<'t>, cut: Cut) {
        let mut parts = block.parts(self.grid, cut);
        if end == End::Front {
            parts.reverse();
        }
        parts.into_iter().for_each(|part| self.push(end, part));
    }

    fn take(&mut self, end: End) -> Option<Piece<'t>> {
        loop {
            match self.pop(end)? {
                Part::One(piece) => return Some(piece),
                Part::Block(block) => self.put_back(end, block, Cut::At(end)),
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
            && let Some(part) = self.pop(End::Front)
        {
            let left = n as u128 - front.len;
            match part {
                // A part on both sides is cut further, until it is one piece.
                Part::Block(block) if u128::from(block.len()) > left => {
                    self.put_back(End::Front, block, Cut::Before(left as u64));
                }
                part => front.push(End::Back, part),
            }
        }
        front
    }
}

/// An end of a sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Front,
    Back,
}

/// Where to cut a block so that both sides are boxes in C order.
#[derive(Clone, Copy)]
enum Cut {
    /// Near this end, so that it comes closer to one piece.
    At(End),
    /// Before or after this piece, as close as a cut along one axis can be.
    Before(u64),
}

impl Part<'_> {
    fn len(&self) -> u64 {
        match self {
            Self::Block(block) => block.len(),
            Self::One(_) => 1,
        }
    }
}

impl<'t> Block<'t> {
    fn len(&self) -> u64 {
        self.counts.iter().fold(1u64, |len, &n| len.saturating_mul(n))
    }

    /// It as a piece, or in smaller parts.
    fn parts(self, grid: &ChunkGrid, cut: Cut) -> Vec<Part<'t>> {
        let Some(axis) = self.counts.iter().position(|&n| n > 1) else {
            let (region, tile) = self.narrowed(grid);
            let piece = |overlap| Part::One(Piece { overlap, output: Output::Tile(tile) });
            return grid.overlaps(&region).next().map(piece).into_iter().collect();
        };
        let n = self.counts[axis];
        let before = match cut {
            Cut::At(End::Front) => 1,
            Cut::At(End::Back) => n - 1,
            Cut::Before(piece) => (piece / (self.len() / n).max(1)).clamp(1, n - 1),
        };
        let at = grid.range_along(axis, self.chunk(grid, axis, before - 1)).end;
        let (mut front, mut back) = (self.counts.clone(), self.counts.clone());
        (front[axis], back[axis]) = (before, n - before);
        let mut met_after = self.met.clone();
        if let Some((_, first)) = &mut met_after {
            first[axis] += before;
        }
        let Self { region, met, tile, .. } = self;
        let [(region, tile), (region_after, tile_after)] = split(&region, tile, axis, at);
        let after = Self { region: region_after, counts: back, met: met_after, tile: tile_after };
        vec![Part::Block(Self { region, counts: front, met, tile }), Part::Block(after)]
    }

    /// The chunk along an axis of its piece with this number there.
    fn chunk(&self, grid: &ChunkGrid, axis: usize, n: u64) -> u64 {
        match &self.met {
            None => grid.n_chunks_along(axis, self.region.ranges()[axis].start + 1) - 1 + n,
            Some((met, first)) => met.chunk(grid, axis, first[axis] + n),
        }
    }

    /// The part of a block of one piece that lies in its chunk.
    fn narrowed(self, grid: &ChunkGrid) -> (Region, Box<dyn Tile + 't>) {
        let has_gaps = self.met.is_some();
        let chunk = |axis| grid.range_along(axis, self.chunk(grid, axis, 0));
        let chunks: Vec<_> = if has_gaps { (0..self.counts.len()).map(chunk).collect() } else { Vec::new() };
        let Self { mut region, mut tile, .. } = self;
        for (axis, chunk) in chunks.into_iter().enumerate() {
            if region.ranges()[axis].start < chunk.start {
                [_, (region, tile)] = split(&region, tile, axis, chunk.start);
            }
            if chunk.end < region.ranges()[axis].end {
                [(region, tile), _] = split(&region, tile, axis, chunk.end);
            }
        }
        (region, tile)
    }
}

/// Both sides of a cut along an axis, before the element `at` of the array.
fn split<'t>(
    region: &Region,
    tile: Box<dyn Tile + 't>,
    axis: usize,
    at: u64,
) -> [(Region, Box<dyn Tile + 't>); 2] {
    let start = region.ranges()[axis].start;
    let (front, back) = tile.split_at(axis, (at - start) as usize);
    let [before, after] = sides(region, axis, at);
    [(before, front), (after, back)]
}

#[cfg(test)]
mod tests {
    use ndzarr_codec::{Elements, Layout};
    use ndzarr_grid::{ChunkEdges, Overlap, Picks, Steps};

    use super::*;
    use crate::Picked;

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

        fn split_at<'s>(self: Box<Self>, axis: usize, at: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
        where
            Self: 's,
        {
            let mut front = self.lens.clone();
            let mut back = self.lens;
            front[axis] = at;
            back[axis] -= at;
            let mut picks = self.picks.clone();
            picks[axis] = picks[axis].from(at);
            (Box::new(Self { lens: front, picks: self.picks }), Box::new(Self { lens: back, picks }))
        }
    }

    fn pieces<'g>(grid: &'g ChunkGrid, region: &Region) -> Pieces<'g, 'static> {
        let mut pieces = Pieces::new(grid);
        let shape = region.shape().iter().map(|&n| n as usize).collect();
        pieces.add_region(
            region.clone(),
            Box::new(Shape { lens: shape, picks: vec![Picks::ALL; region.ndim()] }),
        );
        pieces
    }

    fn picked<'g>(grid: &'g ChunkGrid, region: &Region, picks: &[Picks]) -> Pieces<'g, 'static> {
        let mut pieces = Pieces::new(grid);
        let shape = region.shape().iter().map(|&n| n as usize).collect();
        pieces.add_picked(region.clone(), Box::new(Shape { lens: shape, picks: picks.to_vec() }));
        pieces
    }

    /// The overlap of a piece, whose tile has its shape.
    fn overlap(Piece { overlap, output }: Piece<'_>) -> Overlap {
        let Ok(tile) = output.tile() else { panic!("it is there") };
        let shape: Vec<u64> = tile.shape().iter().map(|&n| n as u64).collect();
        assert_eq!(shape, overlap.in_chunk.shape());
        overlap
    }

    fn all(mut pieces: Pieces<'_, '_>) -> Vec<Overlap> {
        std::iter::from_fn(|| pieces.next()).map(overlap).collect()
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
            let expected: Vec<Overlap> = grid.overlaps(&region).collect();
            assert_eq!(pieces(&grid, &region).len(), expected.len());
            assert_eq!(all(pieces(&grid, &region)), expected);
            let mut pieces = pieces(&grid, &region);
            let mut back: Vec<_> = std::iter::from_fn(|| pieces.next_back()).map(overlap).collect();
            back.reverse();
            assert_eq!(back, expected);
            assert_eq!(pieces.len(), 0);
        }
    }

    #[test]
    fn chunks_without_a_pick_have_no_pieces() {
        for (grid, region) in grids().into_iter().skip(1) {
            let of_steps = |step: usize| Picks::Steps(Steps { phase: 0, step });
            let choices = [Picks::ALL, of_steps(2), of_steps(5), of_steps(100), Picks::listed([1, 6, 7])];
            for (a, b) in (0..choices.len() * choices.len()).map(|i| (i / choices.len(), i % choices.len())) {
                let mut picks = vec![Picks::ALL; region.ndim()];
                picks[0] = choices[a].clone();
                picks[region.ndim() - 1] = choices[b].clone();
                let has_pick = |overlap: &Overlap| {
                    let common = overlap.region().relative_to(&region.start());
                    let mut axes = common.ranges().iter().zip(&picks);
                    axes.all(|(range, picks)| {
                        picks.hit(range.start as usize, (range.end - range.start) as usize).1 > 0
                    })
                };
                let expected: Vec<Overlap> = grid.overlaps(&region).filter(has_pick).collect();
                assert_eq!(picked(&grid, &region, &picks).len(), expected.len(), "{picks:?}");
                for n in 0..=expected.len() {
                    let mut rest = picked(&grid, &region, &picks);
                    let front = rest.split_front(n);
                    assert_eq!((all(front), all(rest)), (expected[..n].to_vec(), expected[n..].to_vec()));
                }
                let mut pieces = picked(&grid, &region, &picks);
                let mut back: Vec<_> = std::iter::from_fn(|| pieces.next_back()).map(overlap).collect();
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
                assert_eq!((all(front), all(rest)), (expected[..n].to_vec(), expected[n..].to_vec()));
            }
        }
    }
}
