//! The blocks that a pass over an array copies, in their order.

use std::collections::BTreeMap;

use ndzarr_grid::{ChunkGrid, Region, next_index};

use crate::arrays::chunks::Chunks;
use crate::copy::planning::geometry::Walk;
use crate::error::{Error, ErrorKind, Result};

/// A block to be copied.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// What is written.
    pub(crate) region: Region,
    /// Set if shards are put together from parts.
    pub(crate) shard: Option<ShardPart>,
    /// How many units are complete with it.
    pub(crate) units: u64,
}

/// Says which shard a block is a part of.
#[derive(Clone, Debug)]
pub(crate) struct ShardPart {
    pub(crate) shard: Vec<u64>,
    /// The shard is complete with this part.
    pub(crate) is_last: bool,
}

/// The steps of a pass over blocks, in the order of the walk: those that contain any of these units
/// of the target, or all.
pub(crate) fn steps(
    walk: &Walk,
    grid: &ChunkGrid,
    needed: Chunks,
) -> Result<Box<dyn Iterator<Item = Step> + Send>> {
    let shape = grid.array_shape().to_vec();
    let lens: Vec<u64> = walk.block.iter().map(|&len| len.max(1)).collect();
    let blocks = ChunkGrid::regular(&shape, &lens)
        .map_err(|error| Error::new(ErrorKind::WrongShape, error))?;
    // Neighbours along the axis that is carried over follow each other.
    let mut order: Vec<usize> = (0..shape.len()).collect();
    if let Some(axis) = walk.carry {
        order.retain(|&other| other != axis);
        order.push(axis);
    }
    let units = grid.clone();
    let step = {
        let order = order.clone();
        let blocks = blocks.clone();
        let units = units.clone();
        move |walked: Vec<u64>| {
            let mut index = vec![0; walked.len()];
            order
                .iter()
                .zip(&walked)
                .for_each(|(&axis, &at)| index[axis] = at);
            let region = blocks.clipped_region(&index)?;
            let units = units.n_overlaps(&region).unwrap_or(u64::MAX);
            Some(Step {
                region,
                shard: None,
                units,
            })
        }
    };
    let walked =
        move |index: &[u64]| -> Vec<u64> { order.iter().map(|&axis| index[axis]).collect() };
    if !needed.is_all() {
        // Of a block, the box of the units that are needed: what is stored may be sparse.
        let mut touched: BTreeMap<Vec<u64>, Region> = BTreeMap::new();
        for region in needed.map(|unit| Region::new(unit.ranges)) {
            for overlap in blocks.overlaps(&region) {
                let Some(block) = blocks.clipped_region(&overlap.chunk) else {
                    continue;
                };
                let part = region.intersection(&block);
                touched
                    .entry(walked(&overlap.chunk))
                    .and_modify(|all| *all = around(all, &part))
                    .or_insert(part);
            }
        }
        return Ok(Box::new(touched.into_values().map(move |region| {
            let units = units.n_overlaps(&region).unwrap_or(u64::MAX);
            Step {
                region,
                shard: None,
                units,
            }
        })));
    }
    let all = Region::whole(&walked(&blocks.grid_shape()));
    let first = (!all.is_empty()).then(|| all.start());
    let all = std::iter::successors(first, move |index| {
        let mut index = index.clone();
        next_index(&mut index, &all).then_some(index)
    });
    Ok(Box::new(all.filter_map(step)))
}

/// The least box around two.
fn around(a: &Region, b: &Region) -> Region {
    let both = a.ranges().iter().zip(b.ranges());
    Region::new(both.map(|(a, b)| a.start.min(b.start)..a.end.max(b.end)))
}

/// The steps of a pass that puts shards together from parts.
pub(crate) fn shard_steps(
    walk: &Walk,
    grid: &ChunkGrid,
    shards: impl Iterator<Item = Vec<u64>> + Send + 'static,
) -> Box<dyn Iterator<Item = Step> + Send> {
    let grid = grid.clone();
    let lens = walk
        .block
        .iter()
        .map(|&len| len.max(1))
        .collect::<Vec<u64>>();
    Box::new(shards.flat_map(move |shard| {
        let region = grid.clipped_region(&shard);
        let parts = region
            .as_ref()
            .and_then(|region| ChunkGrid::regular(&region.shape(), &lens).ok());
        let (Some(region), Some(parts)) = (region, parts) else {
            return Vec::new();
        };
        let origin = region.start();
        let mut steps: Vec<Step> = parts
            .overlaps(&Region::whole(&region.shape()))
            .filter_map(|overlap| parts.clipped_region(&overlap.chunk))
            .map(|part| Step {
                region: part.moved(&origin),
                shard: Some(ShardPart {
                    shard: shard.clone(),
                    is_last: false,
                }),
                units: 0,
            })
            .collect();
        if let Some(last) = steps.last_mut() {
            last.shard = Some(ShardPart {
                shard,
                is_last: true,
            });
            last.units = 1;
        }
        steps
    }))
}
