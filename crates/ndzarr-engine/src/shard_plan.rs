//! Plans what happens to the inner chunks of a shard that is written.

use std::ops::Range;
use std::sync::Arc;

use ndzarr_codec::{CodecError, ShardIndex, Sharding};
use ndzarr_grid::{ChunkGrid, Region};

use crate::chunked::Outside;
use crate::encode_job::EncodeJob;
use crate::inner_chunks::advance;
use crate::{EngineCause, Source};

/// The purpose of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// New elements: all those of the region, if they are dense.
    Elements { dense: bool },
    /// Removal of elements outside the array.
    Trim,
}

/// The inner chunks of a shard in C order of the stored axes, examined one by one: a shard may have
/// very many.
#[derive(Debug)]
pub(crate) struct ShardPlan {
    sharding: Arc<Sharding>,
    /// The index of the old value.
    old: Option<ShardIndex>,
    grid: ChunkGrid,
    /// The indices of its inner chunks.
    chunks: Region,
    /// The written part of the shard, along the stored axes.
    shard: EncodeJob,
    purpose: Purpose,
    /// The next one, and its number; `None` after the last one.
    next: Option<Vec<u64>>,
    number: usize,
}

/// The fate of an inner chunk.
#[derive(Debug)]
pub(crate) enum InnerPlan {
    Empty,
    /// It keeps this range of the old value.
    Keep(Range<u64>),
    /// It is encoded by this job.
    Encode(Box<InnerJob>),
}

/// An inner chunk to be encoded.
#[derive(Debug)]
pub(crate) struct InnerJob {
    pub(crate) job: EncodeJob,
    /// Position in the old value of the elements to merge with.
    pub(crate) old: Option<Range<u64>>,
}

impl ShardPlan {
    /// A plan for a shard that is written by this job.
    pub(crate) fn new(
        shard: &EncodeJob,
        purpose: Purpose,
        sharding: &Arc<Sharding>,
        old: Option<ShardIndex>,
    ) -> Result<Self, EngineCause> {
        let chain = &shard.chain;
        let shape = chain.stored(&shard.shape);
        let grid = ChunkGrid::regular(&shape, sharding.chunk_shape())
            .map_err(|error| CodecError::config("sharding_indexed", error))?;
        let counts = grid.grid_shape();
        let axes = chain.order().to_vec();
        Ok(Self {
            sharding: Arc::clone(sharding),
            old,
            grid,
            next: (!counts.contains(&0)).then(|| vec![0; counts.len()]),
            chunks: Region::whole(&counts),
            shard: EncodeJob {
                shape,
                bounds: chain.stored(&shard.bounds),
                region: Region::new(axes.iter().map(|&axis| shard.region.ranges()[axis].clone())),
                source_start: chain.stored(&shard.source_start),
                axes,
                ..shard.clone()
            },
            purpose,
            number: 0,
        })
    }

    /// The next inner chunk.
    ///
    /// # Errors
    /// An entry of the old index is invalid.
    pub(crate) fn next(&mut self, source: &dyn Source) -> Result<Option<InnerPlan>, EngineCause> {
        let Some(chunk) = self.next.clone() else { return Ok(None) };
        let old = match &self.old {
            Some(index) => index.entry(self.number)?,
            None => None,
        };
        self.number += 1;
        if !self.next.as_mut().is_some_and(|next| advance(next, self.chunks.ranges())) {
            self.next = None;
        }
        self.inner_plan(&chunk, old, source).map(Some)
    }

    fn inner_plan(
        &self,
        chunk: &[u64],
        old: Option<Range<u64>>,
        source: &dyn Source,
    ) -> Result<InnerPlan, EngineCause> {
        let as_it_is = |old: Option<Range<u64>>| Ok(old.map_or(InnerPlan::Empty, InnerPlan::Keep));
        let ranges: Vec<Range<u64>> =
            (0..chunk.len()).map(|axis| self.grid.range_along(axis, chunk[axis])).collect();
        let shape = self.sharding.chunk_shape();
        // Along each axis: the part inside the array.
        let inside = |(range, bound): (&Range<u64>, &u64)| {
            bound.saturating_sub(range.start).min(range.end - range.start)
        };
        let bounds: Vec<u64> = ranges.iter().zip(&self.shard.bounds).map(inside).collect();
        let place = Region::new(ranges.iter().cloned());
        let touched = place.intersection(&self.shard.region);
        let (region, source_start, dense) = match self.purpose {
            Purpose::Trim if bounds == shape || old.is_none() => return as_it_is(old),
            Purpose::Trim if bounds.contains(&0) => return Ok(InnerPlan::Empty),
            Purpose::Trim => {
                (Region::new(chunk.iter().map(|_| 0..0)), self.shard.source_start.clone(), false)
            }
            Purpose::Elements { .. } if touched.is_empty() => return as_it_is(old),
            Purpose::Elements { dense } => {
                let first = self.shard.region.start();
                let start = (self.shard.source_start.iter().zip(touched.start()).zip(first))
                    .map(|((&start, at), first)| start + (at - first) as usize);
                (touched.relative_to(&place.start()), start.collect(), dense)
            }
        };
        // The shard was read: elements outside can be kept here wherever they have to be.
        let all = if self.shard.outside == Outside::Fill { &bounds } else { shape };
        let full = dense && region.contains(&Region::whole(all));
        let job = EncodeJob {
            chain: Arc::clone(self.sharding.chunks()),
            shape: shape.to_vec(),
            region,
            source_start,
            axes: self.shard.axes.clone(),
            bounds,
            old: None,
            outside: self.shard.outside,
            fill_chunks: self.shard.fill_chunks,
        };
        if !dense && self.purpose != Purpose::Trim {
            let (start, len) = job.in_source()?;
            if !source.touches(&start, &len) {
                return as_it_is(old);
            }
        }
        Ok(InnerPlan::Encode(Box::new(InnerJob { job, old: old.filter(|_| !full) })))
    }
}
