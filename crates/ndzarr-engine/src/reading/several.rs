//! The pieces of several regions, joined where they are in one chunk, so that it is read once for
//! all.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ndzarr_codec::{Elements, Layout};
use ndzarr_grid::{Overlap, Region};

use crate::reading::pieces::Pieces;
use crate::threads::for_each::Sequence;
use crate::tile::{MakeTile, Output, Piece, sides};
use crate::{ChunkedArray, EngineCause, Picked, Tile};

/// A region with more pieces is cut as it is read, and no chunk of it is joined with those of
/// others: it takes memory to know which chunks they share.
const MAX_JOINED_OF_REGION: u64 = 4096;

/// So are all regions of a call after this many pieces, which take some 300 bytes each.
const MAX_JOINED: u64 = 1 << 17;

/// The pieces of several regions, and their number. A chunk that several regions overlap is one
/// piece.
pub(crate) fn pieces_of<'r, 't>(
    array: &'r ChunkedArray,
    regions: Vec<(Region, MakeTile<'t>)>,
) -> Result<(Pieces<'r, 't>, u64), EngineCause> {
    let is_only_region = regions.len() == 1;
    let mut all = Pieces::new(&array.grid);
    let mut total = 0_u64;
    let mut by_chunk = PiecesByChunk::default();
    let mut n_joined = 0_u64;
    for (region, make) in regions {
        if region.is_empty() {
            make()?;
        } else if let Some(overlap) = only_chunk(array, &region) {
            let piece = Piece {
                overlap,
                output: Output::Later(make),
            };
            if is_only_region {
                all.add_piece(piece);
                total += 1;
            } else {
                by_chunk.add(piece);
            }
        } else {
            let mut pieces = Pieces::new(&array.grid);
            pieces.add_picked(region, make()?);
            let n = pieces.len() as u64;
            if is_only_region || n > MAX_JOINED_OF_REGION || n_joined + n > MAX_JOINED {
                total = total.saturating_add(n);
                all.append(pieces);
                continue;
            }
            n_joined += n;
            while let Some(piece) = pieces.next() {
                by_chunk.add(piece);
            }
        }
    }
    for piece in by_chunk.joined() {
        all.add_piece(piece);
        total += 1;
    }
    Ok((all, total))
}

/// The chunk that contains a whole region, and its position there.
fn only_chunk(array: &ChunkedArray, region: &Region) -> Option<Overlap> {
    array
        .grid
        .overlaps(region)
        .next()
        .filter(|overlap| overlap.in_chunk.shape() == region.shape())
}

/// The pieces of several regions, by chunk.
#[derive(Default)]
struct PiecesByChunk<'t> {
    /// In the order in which the chunks were found first.
    chunks: Vec<Vec<Piece<'t>>>,
    numbers: HashMap<Vec<u64>, usize>,
}

impl<'t> PiecesByChunk<'t> {
    fn add(&mut self, piece: Piece<'t>) {
        match self.numbers.entry(piece.overlap.chunk.clone()) {
            Entry::Occupied(number) => self.chunks[*number.get()].push(piece),
            Entry::Vacant(vacant) => {
                vacant.insert(self.chunks.len());
                self.chunks.push(vec![piece]);
            }
        }
    }

    /// One piece for each chunk.
    fn joined(self) -> impl Iterator<Item = Piece<'t>> {
        self.chunks
            .into_iter()
            .filter_map(|mut pieces| match pieces.len() {
                0 | 1 => pieces.pop(),
                _ => joined(pieces),
            })
    }
}

/// Tiles that lie anywhere in a box, and may overlap: each has its own memory.
struct SeveralTiles<'t> {
    shape: Vec<usize>,
    /// Each with its box, relative to the first element of the common one.
    tiles: Vec<(Region, Box<dyn Tile + 't>)>,
}

/// All pieces of one chunk as one; `None` without any.
fn joined<'t>(pieces: Vec<Piece<'t>>) -> Option<Piece<'t>> {
    let first = &pieces.first()?.overlap;
    let chunk = first.chunk.clone();
    let in_chunk = &first.in_chunk;
    // Where the chunk begins.
    let origin: Vec<u64> = first
        .start
        .iter()
        .zip(in_chunk.start())
        .map(|(at, within)| at - within)
        .collect();
    let mut ranges = in_chunk.ranges().to_vec();
    for piece in &pieces {
        for (all, range) in ranges.iter_mut().zip(piece.overlap.in_chunk.ranges()) {
            *all = all.start.min(range.start)..all.end.max(range.end);
        }
    }
    let in_chunk = Region::new(ranges);
    let corner = in_chunk.start();
    let start = origin
        .iter()
        .zip(&corner)
        .map(|(origin, at)| origin + at)
        .collect();
    let shape = in_chunk.shape().iter().map(|&n| n as usize).collect();
    let make = move || {
        let tile = |piece: Piece<'t>| {
            Ok((
                piece.overlap.in_chunk.relative_to(&corner),
                piece.output.tile()?,
            ))
        };
        let tiles = pieces
            .into_iter()
            .map(tile)
            .collect::<Result<_, EngineCause>>()?;
        Ok(Box::new(SeveralTiles { shape, tiles }) as Box<dyn Tile + 't>)
    };
    Some(Piece {
        overlap: Overlap {
            chunk,
            in_chunk,
            start,
        },
        output: Output::Later(Box::new(make)),
    })
}

impl Tile for SeveralTiles<'_> {
    fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    fn is_empty(&self) -> bool {
        self.tiles.iter().all(|(_, tile)| tile.is_empty())
    }

    fn picked(&self) -> Picked {
        let mut boxes = Vec::with_capacity(self.tiles.len());
        for (region, tile) in &self.tiles {
            match tile.picked() {
                Picked::All => boxes.push((region.clone(), Vec::new())),
                Picked::Along(picks) => boxes.push((region.clone(), picks)),
                Picked::Boxes(within) => {
                    let start = region.start();
                    boxes.extend(
                        within
                            .into_iter()
                            .map(|(part, picks)| (part.moved(&start), picks)),
                    );
                }
            }
        }
        Picked::Boxes(boxes)
    }

    fn put(
        &mut self,
        elements: Elements<'_>,
        part: &Layout,
        at: &[usize],
    ) -> Result<(), EngineCause> {
        let here = Region::new(
            at.iter()
                .zip(&part.extent)
                .map(|(&at, &n)| at as u64..(at + n) as u64),
        );
        for (region, tile) in &mut self.tiles {
            let common = region.intersection(&here);
            if common.is_empty() {
                continue;
            }
            let mut part = part.clone();
            let mut within = Vec::with_capacity(at.len());
            for (axis, range) in common.ranges().iter().enumerate() {
                let n = (range.end - range.start) as usize;
                part.cut(axis, range.start as usize - at[axis], n);
                within.push((range.start - region.ranges()[axis].start) as usize);
            }
            tile.put(elements, &part, &within)?;
        }
        Ok(())
    }

    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause> {
        self.tiles
            .iter_mut()
            .try_for_each(|(_, tile)| tile.fill(fill))
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
        let mut before = Self {
            shape: self.shape.clone(),
            tiles: Vec::new(),
        };
        before.shape[axis] = at;
        let mut after = Self {
            shape: self.shape,
            tiles: Vec::new(),
        };
        after.shape[axis] -= at;
        let mut origin = vec![0; before.shape.len()];
        origin[axis] = at as u64;
        for (region, tile) in self.tiles {
            let range = region.ranges()[axis].clone();
            if range.end <= at as u64 {
                before.tiles.push((region, tile));
            } else if range.start >= at as u64 {
                after.tiles.push((region.relative_to(&origin), tile));
            } else {
                let (head, tail) = tile.split_at(axis, at - range.start as usize);
                let [front, back] = sides(&region, axis, at as u64);
                before.tiles.push((front, head));
                after.tiles.push((back.relative_to(&origin), tail));
            }
        }
        (Box::new(before), Box::new(after))
    }
}
