//! `Picked`: which elements of a box a tile wants.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndzarr_grid::{ChunkGrid, Picks, Region};

/// Which elements of a tile's box are wanted. Of a shard, only the inner chunks that have any are
/// read.
#[derive(Clone, Debug, Default)]
pub enum Picked {
    /// Every element.
    #[default]
    All,
    /// Those whose index along each axis is picked.
    Along(Vec<Picks>),
    /// Those in any of these boxes.
    Boxes(Vec<PickedBox>),
}

/// A box, and which indices along each of its axes are picked; all, if there are no picks.
pub type PickedBox = (Region, Vec<Picks>);

/// What is picked in each inner chunk of a shard.
#[derive(Clone, Debug)]
pub(crate) enum InnerPicked {
    All,
    Along(Vec<Picks>),
    /// The inner chunks that are wanted, with the boxes in each, relative to the wanted region of
    /// the shard; without boxes, where an inner chunk is read as a whole anyway.
    Boxes(Arc<BTreeMap<Vec<u64>, Vec<PickedBox>>>),
}

impl InnerPicked {
    /// Cuts the wanted elements of a region of a shard by the regular grid of its inner chunks;
    /// `in_part` if these can be read in part.
    pub(crate) fn new(picked: &Picked, want: &Region, grid: &ChunkGrid, in_part: bool) -> Self {
        let boxes = match picked {
            Picked::All => return Self::All,
            Picked::Along(axes) => return Self::Along(axes.clone()),
            Picked::Boxes(boxes) => boxes,
        };
        let start = want.start();
        let mut chunks: BTreeMap<Vec<u64>, Vec<PickedBox>> = BTreeMap::new();
        let mut chunk = Vec::with_capacity(start.len());
        for (part, picks) in boxes {
            // Most boxes are single elements.
            chunk.clear();
            let mut axes = part.ranges().iter().zip(&start).zip(grid.chunk_shape());
            let is_one = axes.all(|((range, start), len)| {
                chunk.push((start + range.start) / len);
                (start + range.end - 1) / len == (start + range.start) / len
            });
            if is_one && !in_part {
                if !chunks.contains_key(&chunk[..]) {
                    chunks.insert(chunk.clone(), Vec::new());
                }
                continue;
            }
            let corner = part.moved(&start).start();
            for overlap in grid.overlaps(&part.moved(&start)) {
                let here = overlap.region();
                let (from, len) = (here.relative_to(&corner).start(), here.shape());
                let within = picks.iter().zip(&from).map(|(picks, &at)| picks.from(at as usize));
                let within: Vec<Picks> = within.collect();
                if within.iter().zip(&len).all(|(picks, &len)| picks.hit(0, len as usize).1 > 0) {
                    let boxes = chunks.entry(overlap.chunk).or_default();
                    boxes.extend(in_part.then(|| (here.relative_to(&start), within)));
                }
            }
        }
        Self::Boxes(chunks.into())
    }

    /// What is picked in an inner chunk, whose wanted elements begin at `start` of the wanted
    /// region of the shard.
    pub(crate) fn of(&self, chunk: &[u64], start: impl FnOnce() -> Vec<u64>) -> Picked {
        match self {
            Self::All => Picked::All,
            Self::Along(axes) => {
                Picked::Along(axes.iter().zip(start()).map(|(picks, at)| picks.from(at as usize)).collect())
            }
            Self::Boxes(chunks) if chunks.get(chunk).is_none_or(Vec::is_empty) => Picked::All,
            Self::Boxes(chunks) => {
                let (boxes, start) = (chunks.get(chunk).into_iter().flatten(), start());
                Picked::Boxes(boxes.map(|(part, picks)| (part.relative_to(&start), picks.clone())).collect())
            }
        }
    }
}
