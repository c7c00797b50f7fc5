//! The pieces of several regions in one chunk, joined so that it is read once for all.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use ndzarr_codec::{Elements, Layout};
use ndzarr_grid::{Overlap, Region};

use crate::tile::{Output, Piece, sides};
use crate::{EngineCause, Picked, Tile};

/// The pieces of several regions, by chunk.
#[derive(Default)]
pub(crate) struct Shared<'t> {
    /// In the order in which the chunks were met first.
    chunks: Vec<Vec<Piece<'t>>>,
    numbers: HashMap<Vec<u64>, usize>,
}

impl<'t> Shared<'t> {
    pub(crate) fn add(&mut self, piece: Piece<'t>) {
        match self.numbers.entry(piece.overlap.chunk.clone()) {
            Entry::Occupied(number) => self.chunks[*number.get()].push(piece),
            Entry::Vacant(vacant) => {
                vacant.insert(self.chunks.len());
                self.chunks.push(vec![piece]);
            }
        }
    }

    /// One piece for each chunk.
    pub(crate) fn pieces(self) -> impl Iterator<Item = Piece<'t>> {
        self.chunks.into_iter().filter_map(|mut pieces| match pieces.len() {
            0 | 1 => pieces.pop(),
            _ => joined(pieces),
        })
    }
}

/// Tiles that lie anywhere in a box, and may overlap: each has its own memory.
struct Several<'t> {
    shape: Vec<usize>,
    /// Each with its box, relative to the first element of the common one.
    tiles: Vec<(Region, Box<dyn Tile + 't>)>,
}

/// All pieces of one chunk as one; `None` if there are none.
fn joined<'t>(pieces: Vec<Piece<'t>>) -> Option<Piece<'t>> {
    let first = &pieces.first()?.overlap;
    let (chunk, within) = (first.chunk.clone(), &first.in_chunk);
    // Where the chunk begins.
    let origin: Vec<u64> = first.start.iter().zip(within.start()).map(|(at, within)| at - within).collect();
    let mut ranges = within.ranges().to_vec();
    for piece in &pieces {
        for (all, range) in ranges.iter_mut().zip(piece.overlap.in_chunk.ranges()) {
            *all = all.start.min(range.start)..all.end.max(range.end);
        }
    }
    let in_chunk = Region::new(ranges);
    let corner = in_chunk.start();
    let start = origin.iter().zip(&corner).map(|(origin, at)| origin + at).collect();
    let shape = in_chunk.shape().iter().map(|&n| n as usize).collect();
    let make = move || {
        let tile = |piece: Piece<'t>| Ok((piece.overlap.in_chunk.relative_to(&corner), piece.output.tile()?));
        let tiles = pieces.into_iter().map(tile).collect::<Result<_, EngineCause>>()?;
        Ok(Box::new(Several { shape, tiles }) as Box<dyn Tile + 't>)
    };
    Some(Piece { overlap: Overlap { chunk, in_chunk, start }, output: Output::Later(Box::new(make)) })
}

impl Tile for Several<'_> {
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
                    boxes.extend(within.into_iter().map(|(part, picks)| (part.moved(&start), picks)));
                }
            }
        }
        Picked::Boxes(boxes)
    }

    fn put(&mut self, elements: Elements<'_>, part: &Layout, at: &[usize]) -> Result<(), EngineCause> {
        let here = Region::new(at.iter().zip(&part.extent).map(|(&at, &n)| at as u64..(at + n) as u64));
        for (region, tile) in &mut self.tiles {
            let common = region.intersection(&here);
            if common.is_empty() {
                continue;
            }
            let (mut part, mut within) = (part.clone(), Vec::with_capacity(at.len()));
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
        self.tiles.iter_mut().try_for_each(|(_, tile)| tile.fill(fill))
    }

    fn contiguous(&mut self) -> Option<&mut [u8]> {
        None
    }

    fn split_at<'s>(self: Box<Self>, axis: usize, at: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
    where
        Self: 's,
    {
        let (mut front, mut back) = (self.shape.clone(), self.shape);
        (front[axis], back[axis]) = (at, back[axis] - at);
        let [mut before, mut after] = [front, back].map(|shape| Self { shape, tiles: Vec::new() });
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
