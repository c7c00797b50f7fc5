//! `Level`: the progress of reading a value, and each shard within it.

use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Access, ShardIndex, Sharding, Workspace};
use ndzarr_store::{Pin, RangeMerging, Want};

use crate::cache::CachedIndex;
use crate::error::bad_answer;
use crate::reading::inner_chunks::{InnerChunks, ShardCache};
use crate::reading::job::Job;
use crate::reading::merge_ranges::{FetchedRanges, WantedRanges, first_part};
use crate::reading::pieces::Pieces;
use crate::reading::shard_grid::ShardGrid;
use crate::reading::wanted::{Content, Damage, Wanted};
use crate::threads::for_each::Sequence;
use crate::{EngineCause, Tile};

/// The wanted part of a value, and what is known about it.
#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) wanted: Wanted,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing is known yet.
    Open,
    Fetched(Content),
    Inner(Box<InnerChunks>),
    /// A shard of shards, in C order over the axes of the tile. All are in memory, since each has
    /// an index.
    Shards(Box<ShardGrid>, Vec<Level>),
}

/// The stored value that a read refers to.
pub(crate) struct Value {
    pub(crate) pin: Pin,
    /// Size in bytes.
    pub(crate) len: u64,
    /// How its ranges are merged.
    pub(crate) merging: RangeMerging,
    pub(crate) cache: Option<ShardCache>,
}

impl Level {
    pub(crate) fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            state: State::Open,
        }
    }

    /// Forgets everything known.
    pub(crate) fn restart(&mut self) {
        self.state = State::Open;
    }

    /// Sets its content.
    pub(crate) fn set(&mut self, content: Content) {
        self.state = State::Fetched(content);
    }

    /// Sets that nothing is stored.
    pub(crate) fn set_missing(&mut self) {
        self.state = State::Fetched(Content::Missing);
    }

    /// Treats a broken value as missing, if requested.
    pub(crate) fn give_up(
        &mut self,
        cause: EngineCause,
        damage: &mut Damage,
    ) -> Result<(), EngineCause> {
        self.wanted.give_up(cause, damage)?;
        self.set_missing();
        Ok(())
    }

    /// Adds the ranges that it needs next; returns the need instead if it is not ranges.
    pub(crate) fn collect(
        &mut self,
        ranges: &mut WantedRanges,
        damage: &mut Damage,
    ) -> Result<Option<Want>, EngineCause> {
        match &mut self.state {
            State::Open => match self.wanted.need() {
                Ok(Want::Ranges(needed)) => ranges.extend(needed),
                Ok(want) => return Ok(Some(want)),
                Err(cause) => self.give_up(cause, damage)?,
            },
            State::Inner(inner) => inner.collect(ranges),
            State::Shards(_, shards) => {
                // Within a value, only ranges are needed.
                shards
                    .iter_mut()
                    .try_for_each(|shard| shard.collect(ranges, damage).map(drop))?;
            }
            State::Fetched(_) => {}
        }
        Ok(None)
    }

    /// The number of bytes needed next, if only whole inner chunks are needed.
    pub(crate) fn inner_bytes(&self) -> Option<u64> {
        match &self.state {
            State::Open => None,
            State::Inner(inner) => inner.bytes(),
            State::Shards(_, shards) => shards.iter().try_fold(0_u64, |bytes, shard| {
                Some(bytes.saturating_add(shard.inner_bytes()?))
            }),
            State::Fetched(_) => Some(0),
        }
    }

    /// Leaves inner chunks to be fetched just before they are decoded.
    pub(crate) fn postpone(&mut self) {
        match &mut self.state {
            State::Inner(inner) => inner.postpone(),
            State::Shards(_, shards) => shards.iter_mut().for_each(Self::postpone),
            State::Open | State::Fetched(_) => {}
        }
    }

    /// Takes the ranges that [`collect`](Self::collect) asked for. Returns the index, if it is a
    /// shard's.
    pub(crate) fn supply(
        &mut self,
        fetched: &Arc<FetchedRanges>,
        of: &Value,
        damage: &mut Damage,
        workspace: &mut Workspace,
    ) -> Result<Option<CachedIndex>, EngineCause> {
        match &mut self.state {
            State::Open => {
                let mut take = || {
                    let ranges = self.wanted.ranges()?;
                    let parts = ranges
                        .iter()
                        .map(|range| fetched.cut(range))
                        .collect::<Result<_, _>>()?;
                    self.resolve(parts, of, damage, workspace)
                };
                return take().or_else(|cause| self.give_up(cause, damage).map(|()| None));
            }
            State::Inner(inner) => inner.supply(fetched),
            State::Shards(_, shards) => shards
                .iter_mut()
                .try_for_each(|shard| shard.supply(fetched, of, damage, workspace).map(drop))?,
            State::Fetched(_) => {}
        }
        Ok(None)
    }

    /// Takes the requested parts. Returns the index, if it is a shard's.
    pub(crate) fn resolve(
        &mut self,
        parts: Vec<Bytes>,
        of: &Value,
        damage: &mut Damage,
        workspace: &mut Workspace,
    ) -> Result<Option<CachedIndex>, EngineCause> {
        let chain = Arc::clone(&self.wanted.chain);
        let Access::Indexed(sharding) = chain.access() else {
            self.state = State::Fetched(self.wanted.content(parts, of.len)?);
            return Ok(None);
        };
        let part = first_part(parts)?;
        let len = self
            .wanted
            .at
            .as_ref()
            .map_or(of.len, |range| range.end - range.start);
        let index =
            sharding.decode_index(&part, &chain.stored(&self.wanted.shape), len, workspace)?;
        let version = of.cache.as_ref().map_or(0, |(_, version)| *version);
        let cached = CachedIndex {
            pin: of.pin.clone(),
            index: Arc::new(index),
            version,
        };
        self.expand(
            sharding,
            &cached.index,
            of.merging,
            of.cache.clone(),
            damage,
        )?;
        Ok(Some(cached))
    }

    /// Continues with the inner chunks that overlap the wanted region.
    pub(crate) fn expand(
        &mut self,
        sharding: &Arc<Sharding>,
        index: &Arc<ShardIndex>,
        merging: RangeMerging,
        cache: Option<ShardCache>,
        damage: &mut Damage,
    ) -> Result<(), EngineCause> {
        let grid = ShardGrid::new(&self.wanted, sharding, index)?;
        if !matches!(sharding.chunks().access(), Access::Indexed(_)) {
            self.state = State::Inner(InnerChunks::survey(grid, merging, cache, damage)?.into());
            return Ok(());
        }
        let mut shards = Vec::new();
        grid.each(|chunk| {
            let mut shard = Self::new(grid.wanted(chunk));
            match grid.entry(chunk) {
                Ok(None) => shard.set_missing(),
                Ok(at) => shard.wanted.at = at,
                Err(cause) => shard.give_up(cause, damage)?,
            }
            shards.push(shard);
            Ok(())
        })?;
        self.state = State::Shards(grid.into(), shards);
        Ok(())
    }
}

/// The jobs of a [`ChunkRead`](crate::ChunkRead), made as they are taken.
pub struct Jobs<'r, 't>(Vec<Group<'r, 't>>);

enum Group<'r, 't> {
    One(Job<'t>),
    Inner(&'r InnerChunks, Pieces<'r, 't>),
}

impl<'r, 't> Jobs<'r, 't> {
    pub(crate) fn new(level: &'r Level, tile: Box<dyn Tile + 't>) -> Result<Self, EngineCause> {
        let mut jobs = Self::none();
        jobs.add(level, tile)?;
        // They are taken from the end.
        jobs.0.reverse();
        Ok(jobs)
    }

    /// No jobs.
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    fn add(&mut self, level: &'r Level, tile: Box<dyn Tile + 't>) -> Result<(), EngineCause> {
        match &level.state {
            State::Open => return Err(bad_answer()),
            State::Fetched(content) => self.0.push(Group::One(Job::new(
                level.wanted.clone(),
                content.clone(),
                tile,
            ))),
            State::Inner(inner) => {
                self.0.extend(
                    inner
                        .shard
                        .pieces(tile)
                        .map(|pieces| Group::Inner(inner, pieces)),
                );
            }
            State::Shards(grid, shards) => {
                let Some(mut pieces) = grid.pieces(tile) else {
                    return Ok(());
                };
                let mut shards = shards.iter();
                while let Some(piece) = pieces.next() {
                    if grid.is_picked(&piece.overlap.chunk) {
                        let shard = shards.next().ok_or_else(bad_answer)?;
                        self.add(shard, piece.output.tile()?)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The only job, if it is not for an inner chunk.
    pub(crate) fn only(&mut self) -> Option<&mut Job<'t>> {
        match &mut self.0[..] {
            [Group::One(job)] => Some(job),
            _ => None,
        }
    }
}

impl<'t> Iterator for Jobs<'_, 't> {
    type Item = Result<Job<'t>, EngineCause>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.pop()? {
                Group::One(job) => return Some(Ok(job)),
                Group::Inner(inner, mut pieces) => {
                    while let Some(piece) = pieces.next() {
                        if inner.shard.is_picked(&piece.overlap.chunk) {
                            self.0.push(Group::Inner(inner, pieces));
                            return Some(inner.job(piece));
                        }
                    }
                }
            }
        }
    }
}
