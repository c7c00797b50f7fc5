//! Finds the inner chunks of a shard that a read needs and collects their bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndzarr_codec::Access;
use ndzarr_grid::Overlap;
use ndzarr_store::RangeMerging;

use crate::EngineCause;
use crate::cache::ArrayCache;
use crate::error::bad_answer;
use crate::reading::job::Job;
use crate::reading::merge_ranges::{FetchedRanges, WantedRanges};
use crate::reading::shard_grid::ShardGrid;
use crate::reading::wanted::{Content, Damage, Wanted};
use crate::tile::Piece;

/// The inner chunks of a shard that overlap a wanted region and are not shards themselves. They are
/// examined one by one: a shard may have very many, and only its index and the work in flight are
/// in memory.
#[derive(Debug)]
pub(crate) struct InnerChunks {
    pub(crate) shard: ShardGrid,
    state: Fetching,
    cache: Option<ShardCache>,
    /// Those found in the cache, by their position.
    from_cache: BTreeMap<u64, Content>,
}

/// A cache, and the number of the state of the shard in it.
pub(crate) type ShardCache = (ArrayCache, u64);

#[derive(Debug)]
enum Fetching {
    Open {
        wanted: WantedRanges,
        /// The number of wanted bytes, if all inner chunks are needed as stored.
        bytes: Option<u64>,
    },
    Late,
    Fetched(Arc<FetchedRanges>),
}

impl InnerChunks {
    /// Determines what to fetch, and checks the needed part of the index.
    pub(crate) fn survey(
        shard: ShardGrid,
        merging: RangeMerging,
        cache: Option<ShardCache>,
        damage: &mut Damage,
    ) -> Result<Self, EngineCause> {
        let mut from_cache = BTreeMap::new();
        let mut ranges = WantedRanges::new(merging);
        let mut bytes = Some(0_u64);
        let is_raw = matches!(shard.inner_chain().access(), Access::Raw { .. });
        // Reused for all inner chunks where their position in the shard does not matter.
        let mut wanted: Option<Wanted> = None;
        shard.each(|chunk| {
            let mut examine = || {
                let Some(at) = shard.entry(chunk)? else {
                    return Ok(());
                };
                let wanted = wanted.get_or_insert_with(|| shard.wanted(chunk));
                if is_raw {
                    *wanted = shard.wanted(chunk);
                }
                if let Some((cache, version)) = &cache {
                    let slot = cache.inner(*version, &at);
                    if let Some(content) =
                        slot.get().and_then(|entry| wanted.cached_content(&entry))
                    {
                        from_cache.insert(at.start, content);
                        return Ok(());
                    }
                    wanted.slot = Some(Box::new(slot));
                }
                wanted.at = Some(at);
                let needed = wanted.ranges()?;
                bytes = bytes
                    .zip(wanted.one_range())
                    .map(|(sum, one)| sum.saturating_add(one.end - one.start));
                ranges.extend(needed);
                Ok::<_, EngineCause>(())
            };
            examine().or_else(|cause| shard.wanted(chunk).give_up(cause, damage))
        })?;
        Ok(Self {
            shard,
            state: Fetching::Open {
                wanted: ranges,
                bytes,
            },
            cache,
            from_cache,
        })
    }

    /// Adds the ranges that are needed next.
    pub(crate) fn collect(&self, ranges: &mut WantedRanges) {
        if let Fetching::Open { wanted, .. } = &self.state {
            // They stay: the store may be asked for something else first.
            ranges.extend(wanted.iter());
        }
    }

    /// The number of bytes needed next; `None` unless only whole inner chunks are needed.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match &self.state {
            Fetching::Open { bytes, .. } => *bytes,
            Fetching::Late | Fetching::Fetched(_) => Some(0),
        }
    }

    pub(crate) fn postpone(&mut self) {
        if let Fetching::Open { .. } = self.state {
            self.state = Fetching::Late;
        }
    }

    pub(crate) fn supply(&mut self, fetched: &Arc<FetchedRanges>) {
        if let Fetching::Open { .. } = self.state {
            self.state = Fetching::Fetched(Arc::clone(fetched));
        }
    }

    /// The job for one inner chunk.
    pub(crate) fn job<'t>(&self, piece: Piece<'t>) -> Result<Job<'t>, EngineCause> {
        let Piece {
            overlap: Overlap {
                chunk, in_chunk, ..
            },
            output,
        } = piece;
        let tile = output.tile()?;
        let mut wanted = self.shard.part(&chunk, &in_chunk);
        // Errors of an inner chunk are known by now, and either reported or treated as missing.
        wanted.at = self.shard.entry(&chunk).unwrap_or(None);
        if let Some((cache, version)) = &self.cache
            && let Some(at) = &wanted.at
        {
            if let Some(content) = self.from_cache.get(&at.start) {
                return Ok(Job::new(wanted, content.clone(), tile));
            }
            wanted.slot = Some(Box::new(cache.inner(*version, at)));
        }
        let content = match wanted.ranges() {
            Ok(ranges) if wanted.at.is_some() => match &self.state {
                Fetching::Fetched(fetched) => {
                    let parts = ranges
                        .iter()
                        .map(|range| fetched.cut(range))
                        .collect::<Result<_, _>>();
                    let content = parts.and_then(|parts| wanted.content(parts, 0));
                    content.map_err(|cause| cause.within(&wanted.inner_chunk))?
                }
                Fetching::Late => wanted.one_range().map_or(Content::Missing, Content::Late),
                Fetching::Open { .. } => return Err(bad_answer()),
            },
            _ => Content::Missing,
        };
        Ok(Job::new(wanted, content, tile))
    }
}
