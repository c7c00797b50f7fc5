//! What becomes of the inner chunks of a shard that is written.

use std::ops::Range;
use std::sync::Arc;

use ndzarr_codec::{CodecError, ShardIndex, Sharding};
use ndzarr_grid::{ChunkGrid, Region};

use super::{ChunkWrite, Coverage, Purpose};
use crate::EngineCause;
use crate::chunked::Outside;
use crate::encode_job::EncodeJob;
use crate::inner_chunks::advance;

/// The inner chunks of a shard in C order of the stored axes, looked at one by one: a shard may have very many.
#[derive(Debug)]
pub(super) struct Plan {
    sharding: Arc<Sharding>,
    /// The index of the old value.
    old: Option<ShardIndex>,
    grid: ChunkGrid,
    /// The indices of its inner chunks.
    chunks: Region,
    /// What of the shard is inside the array.
    bounds: Vec<u64>,
    /// What is written of it.
    region: Region,
    source_start: Vec<usize>,
    axes: Vec<usize>,
    /// The next one, and its number; `None`: that was the last one.
    next: Option<Vec<u64>>,
    linear: usize,
}

/// What becomes of an inner chunk.
#[derive(Debug)]
pub(super) enum Slot {
    Empty,
    /// What is here in the old value.
    Keep(Range<u64>),
    /// What comes out of this.
    Encode(Box<InnerJob>),
}

/// An inner chunk to be encoded.
#[derive(Debug)]
pub(super) struct InnerJob {
    pub(super) job: EncodeJob,
    /// Where in the old value is what it is merged with.
    pub(super) old: Option<Range<u64>>,
}

impl Plan {
    pub(super) fn new(
        write: &ChunkWrite,
        sharding: &Arc<Sharding>,
        old: Option<ShardIndex>,
    ) -> Result<Self, EngineCause> {
        let chain = &write.chain;
        let shape = chain.stored(&write.shape);
        let axes = chain.order().to_vec();
        let grid = ChunkGrid::regular(&shape, sharding.chunk_shape())
            .map_err(|error| CodecError::config("sharding_indexed", error))?;
        let counts = grid.grid_shape();
        Ok(Self {
            sharding: Arc::clone(sharding),
            old,
            grid,
            next: (!counts.contains(&0)).then(|| vec![0; counts.len()]),
            chunks: Region::whole(&counts),
            bounds: chain.stored(&write.bounds),
            region: Region::new(axes.iter().map(|&axis| write.region.ranges()[axis].clone())),
            source_start: chain.stored(&write.source_start),
            axes,
            linear: 0,
        })
    }

    /// The memory for the entries of the new index.
    ///
    /// # Errors
    /// There is not as much.
    pub(super) fn new_entries(&self) -> Result<Vec<[u64; 2]>, EngineCause> {
        let n = self.chunks.n_elements().and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
        let mut entries = Vec::new();
        let byte_len = n.saturating_mul(16);
        entries.try_reserve_exact(n).map_err(|_| CodecError::OutOfMemory { byte_len })?;
        Ok(entries)
    }

    /// The next inner chunk.
    ///
    /// # Errors
    /// An entry of the old index that makes no sense.
    pub(super) fn next(&mut self, write: &ChunkWrite) -> Result<Option<Slot>, EngineCause> {
        let Some(chunk) = self.next.clone() else { return Ok(None) };
        let old = match &self.old {
            Some(index) => index.entry(self.linear)?,
            None => None,
        };
        self.linear += 1;
        if !self.next.as_mut().is_some_and(|next| advance(next, self.chunks.ranges())) {
            self.next = None;
        }
        Ok(Some(self.slot(write, &chunk, old)))
    }

    fn slot(&self, write: &ChunkWrite, chunk: &[u64], old: Option<Range<u64>>) -> Slot {
        let as_it_is = |old: Option<Range<u64>>| old.map_or(Slot::Empty, Slot::Keep);
        let ranges: Vec<Range<u64>> =
            (0..chunk.len()).map(|axis| self.grid.range_along(axis, chunk[axis])).collect();
        let shape = self.sharding.chunk_shape();
        // Along each axis: what is inside the array.
        let inside = |(range, bound): (&Range<u64>, &u64)| {
            bound.saturating_sub(range.start).min(range.end - range.start)
        };
        let bounds: Vec<u64> = ranges.iter().zip(&self.bounds).map(inside).collect();
        let place = Region::new(ranges.iter().cloned());
        let touched = place.intersection(&self.region);
        match write.purpose {
            Purpose::Trim if bounds == shape || old.is_none() => return as_it_is(old),
            Purpose::Trim if bounds.contains(&0) => return Slot::Empty,
            Purpose::Elements if touched.is_empty() => return as_it_is(old),
            Purpose::Trim | Purpose::Elements => {}
        }
        let region = match write.purpose {
            Purpose::Elements => touched.relative_to(&place.start()),
            Purpose::Trim => Region::new(chunk.iter().map(|_| 0..0)),
        };
        let source_start = match write.purpose {
            Purpose::Elements => (self.source_start.iter().zip(touched.start()).zip(self.region.start()))
                .map(|((&start, at), first)| start + (at - first) as usize)
                .collect(),
            Purpose::Trim => self.source_start.clone(),
        };
        // The shard was read: what is outside can be kept here wherever it is to be.
        let all = if write.outside == Outside::Nobodys { &bounds } else { shape };
        let full = write.coverage == Coverage::Dense && region.contains(&Region::whole(all));
        let job = EncodeJob {
            chain: Arc::clone(self.sharding.chunks()),
            shape: shape.to_vec(),
            region,
            source_start,
            axes: self.axes.clone(),
            bounds,
            old: None,
            outside: write.outside,
            fill_chunks: write.fill_chunks,
        };
        Slot::Encode(Box::new(InnerJob { job, old: old.filter(|_| !full) }))
    }
}
