//! `ShardPlan`: which inner chunks of a shard a write encodes, keeps or leaves out.

use std::ops::Range;
use std::sync::Arc;

use ndzarr_codec::{CodecError, ShardIndex, Sharding};
use ndzarr_grid::{ChunkGrid, Region, next_index};

use crate::chunked::Outside;
use crate::writing::encode_job::EncodeJob;
use crate::{Coverage, EngineCause, Source};

/// The purpose of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// New elements: all those of the region, if they are dense.
    Elements { dense: bool },
    /// Removal of elements outside the array.
    Trim,
}

/// What becomes of each inner chunk of a shard, in C order of the stored axes. They are examined
/// one by one: a shard may have very many.
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

/// What becomes of an inner chunk.
#[derive(Debug)]
pub(crate) enum InnerPlan {
    /// It is not stored.
    Empty,
    /// It stays as it is in this range of the old value.
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
        let Some(chunk) = self.next.clone() else {
            return Ok(None);
        };
        let old = match &self.old {
            Some(index) => {
                let entry = index.entry(self.number).map_err(EngineCause::from);
                entry.map_err(|cause| cause.within(&[self.index_of(&chunk)]))?
            }
            None => None,
        };
        self.number += 1;
        if !self
            .next
            .as_mut()
            .is_some_and(|next| next_index(next, &self.chunks))
        {
            self.next = None;
        }
        self.inner_plan(&chunk, old, source).map(Some)
    }

    /// The index of an inner chunk by the axes of the array.
    fn index_of(&self, chunk: &[u64]) -> Vec<u64> {
        let mut index = vec![0; chunk.len()];
        for (&axis, &at) in self.shard.axes.iter().zip(chunk) {
            index[axis] = at;
        }
        index
    }

    fn inner_plan(
        &self,
        chunk: &[u64],
        old: Option<Range<u64>>,
        source: &dyn Source,
    ) -> Result<InnerPlan, EngineCause> {
        let as_it_is = |old: Option<Range<u64>>| Ok(old.map_or(InnerPlan::Empty, InnerPlan::Keep));
        let ranges: Vec<Range<u64>> = (0..chunk.len())
            .map(|axis| self.grid.range_along(axis, chunk[axis]))
            .collect();
        let shape = self.sharding.chunk_shape();
        // Along each axis: the part inside the array.
        let inside = |(range, bound): (&Range<u64>, &u64)| {
            bound
                .saturating_sub(range.start)
                .min(range.end - range.start)
        };
        let bounds: Vec<u64> = ranges.iter().zip(&self.shard.bounds).map(inside).collect();
        let place = Region::new(ranges.iter().cloned());
        let touched = place.intersection(&self.shard.region);
        let (region, source_start, mut dense) = match self.purpose {
            Purpose::Trim if bounds == shape || old.is_none() => return as_it_is(old),
            Purpose::Trim if bounds.contains(&0) => return Ok(InnerPlan::Empty),
            Purpose::Trim => (
                Region::new(chunk.iter().map(|_| 0..0)),
                self.shard.source_start.clone(),
                false,
            ),
            Purpose::Elements { .. } if touched.is_empty() => return as_it_is(old),
            Purpose::Elements { dense } => {
                let first = self.shard.region.start();
                let start = (self
                    .shard
                    .source_start
                    .iter()
                    .zip(touched.start())
                    .zip(first))
                .map(|((&start, at), first)| start + (at - first) as usize);
                (touched.relative_to(&place.start()), start.collect(), dense)
            }
        };
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
            inner_chunk: vec![self.index_of(chunk)],
        };
        if !dense && self.purpose != Purpose::Trim {
            let (start, len) = job.in_source()?;
            match source.coverage(&start, &len) {
                Coverage::None => return as_it_is(old),
                Coverage::Part => {}
                Coverage::All => dense = true,
            }
        }
        // The shard was read, so elements outside can be kept here, unless they become the fill
        // value.
        let all = if self.shard.outside == Outside::Fill {
            &job.bounds
        } else {
            shape
        };
        let full = dense && job.region.contains(&Region::whole(all));
        Ok(InnerPlan::Encode(Box::new(InnerJob {
            job,
            old: old.filter(|_| !full),
        })))
    }
}
