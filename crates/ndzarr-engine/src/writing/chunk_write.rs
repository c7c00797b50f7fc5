//! `ChunkWrite`: the write of a region of one chunk. It asks for the old value, if some elements
//! are kept, and encodes the new one.

use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Access, ShardIndex, Sharding};
use ndzarr_grid::Region;
use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, Precondition, Want};

use crate::chunked::{ChunkedArray, Outside};
use crate::error::no_part;
use crate::reading::merge_ranges::first_part;
use crate::reading::reread::Reread;
use crate::reading::wanted::{check_inner_len, index_want};
use crate::threads::io::{Io, encode_all};
use crate::threads::scratch::with_workspace;
use crate::threads::turn::Turn;
use crate::writing::encode_job::EncodeJob;
use crate::writing::key_change::KeyChange;
use crate::writing::new_shard::{NewShard, OldShard, Out};
use crate::writing::no_elements::NoElements;
use crate::writing::shard_plan::{InnerJob, InnerPlan, Purpose, ShardPlan};
use crate::{Coverage, EngineCause, FillChunks, Source};

/// The write of a region of one chunk. In order: fetch what it [`needs`](Self::needs), if anything,
/// [`supply`](Self::supply) it, and [`encode`](Self::encode).
///
/// A region that covers the part of the chunk inside the array needs nothing. In a shard, only the
/// inner chunks that overlap the region are encoded; the others keep their encoded bytes.
#[derive(Debug)]
pub(crate) struct ChunkWrite {
    pub(crate) key: Key,
    /// The whole chunk, as one job.
    job: EncodeJob,
    purpose: Purpose,
    /// The current value of the key, as far as it matters.
    old: Old,
}

#[derive(Debug)]
enum Old {
    /// Nothing of it remains, whatever it is.
    Irrelevant,
    Unknown,
    Absent,
    Value(Pin, Bytes),
}

/// Bytes of elements that each thread encodes before the result is written under a lock.
const BATCH_BYTES: u64 = 1 << 20;

/// The number of inner chunks that are examined before those to be encoded are encoded.
const AT_ONCE: usize = 4096;

impl ChunkWrite {
    /// A write of `region`, relative to the first element of the chunk, from the elements of the
    /// source that begin at `source_start`.
    pub(crate) fn new(
        array: &ChunkedArray,
        key: Key,
        chunk: &[u64],
        region: Region,
        (source, source_start): (&dyn Source, Vec<usize>),
        fill_chunks: FillChunks,
    ) -> Self {
        let bounds = array
            .grid
            .clipped_region(chunk)
            .map(|inside| inside.shape())
            .unwrap_or_default();
        let shape = array.shape_of(chunk);
        let all = if array.outside == Outside::Shared {
            &shape
        } else {
            &bounds
        };
        let len = || {
            region
                .shape()
                .iter()
                .map(|&n| n as usize)
                .collect::<Vec<_>>()
        };
        let dense = source.is_dense() || source.coverage(&source_start, &len()) == Coverage::All;
        let full = dense && region.contains(&Region::whole(all));
        let job = EncodeJob {
            chain: Arc::clone(&array.chain),
            axes: (0..shape.len()).collect(),
            shape,
            bounds,
            region,
            source_start,
            old: None,
            outside: array.outside,
            fill_chunks,
            inner_chunk: Vec::new(),
        };
        let old = if full { Old::Irrelevant } else { Old::Unknown };
        Self {
            key,
            job,
            purpose: Purpose::Elements { dense },
            old,
        }
    }

    /// Sets the elements of a chunk outside the array to the fill value, and leaves the others.
    pub(crate) fn trim(
        array: &ChunkedArray,
        key: Key,
        chunk: &[u64],
        fill_chunks: FillChunks,
    ) -> Self {
        let region = Region::new(chunk.iter().map(|_| 0..0));
        let mut write = Self::new(
            array,
            key,
            chunk,
            region,
            (&NoElements, vec![0; chunk.len()]),
            fill_chunks,
        );
        write.purpose = Purpose::Trim;
        write.job.outside = Outside::Fill;
        write
    }

    /// The fetch that has to come first, if any.
    pub(crate) fn needs(&self) -> Option<Fetch> {
        matches!(self.old, Old::Unknown).then(|| {
            let want = Want::Whole {
                limit: self.job.chain.encoded_limit(&self.job.shape),
            };
            Fetch {
                key: self.key.clone(),
                of: Of::Any,
                want,
            }
        })
    }

    /// Takes the result of the fetch, again whenever the write starts over.
    pub(crate) fn supply(&mut self, fetched: Fetched) -> Result<(), EngineCause> {
        self.old = match fetched {
            Fetched::Missing => Old::Absent,
            // Of a fetch that names no state, it says nothing about the value.
            Fetched::Changed => return Err(EngineCause::KeepsChanging),
            Fetched::Parts { pin, parts, .. } => Old::Value(
                pin,
                parts.into_iter().next().ok_or_else(|| no_part(&self.key))?,
            ),
        };
        Ok(())
    }

    /// Forgets what was fetched, since another writer was faster.
    pub(crate) fn restart(&mut self) {
        if !matches!(self.old, Old::Irrelevant) {
            self.old = Old::Unknown;
        }
    }

    /// Encodes the chunk again, even if it is nothing but the fill value.
    pub(crate) fn store_fill(&mut self) {
        self.job.fill_chunks = FillChunks::Store;
    }

    /// The condition for storing the result without a lock.
    pub(crate) fn precondition(&self) -> Precondition {
        match &self.old {
            Old::Irrelevant | Old::Unknown => Precondition::None,
            Old::Absent => Precondition::Absent,
            Old::Value(pin, _) => Precondition::Current(pin.clone()),
        }
    }

    /// True if the value that it was to be merged with has been written again, or is being written.
    pub(crate) fn is_outdated(&self, reread: &Reread<'_>) -> Result<bool, EngineCause> {
        match &self.old {
            Old::Value(pin, _) => reread.is_due(&self.key, Some(pin)),
            Old::Irrelevant | Old::Unknown | Old::Absent => Ok(false),
        }
    }

    /// True if it is a block of N5, which Java writes in place under a lock of the file.
    pub(crate) fn is_block(&self) -> bool {
        self.job.chain.is_n5_block()
    }

    /// True if it is a shard of more than this many bytes, once decoded: it is better written part
    /// by part, under its lock.
    pub(crate) fn is_large(&self, bytes: u64) -> bool {
        let decoded = Region::whole(&self.job.shape)
            .n_elements()
            .unwrap_or(u64::MAX);
        matches!(self.job.chain.access(), Access::Indexed(_))
            && self.purpose != Purpose::Trim
            && decoded.saturating_mul(self.job.chain.elem_size() as u64) > bytes
    }

    /// Encodes the new value, with `lanes` inner chunks in progress at once, and returns what to do
    /// with the key. Given a lock, it writes a shard as it is encoded, and copies this many bytes
    /// of the old one at a time, so that only a small part of it is in memory.
    pub(crate) async fn encode<I: Io>(
        &mut self,
        io: &I,
        lock: Option<(&mut Turn, u64)>,
        source: &dyn Source,
        lanes: usize,
    ) -> Result<KeyChange, EngineCause> {
        if self.purpose == Purpose::Trim && !matches!(self.old, Old::Value(..)) {
            // A missing chunk already reads as the fill value.
            return Ok(KeyChange::Keep);
        }
        let chain = Arc::clone(&self.job.chain);
        let change = if let Access::Indexed(sharding) = chain.access() {
            self.encode_shard(io, lock, sharding, source, lanes).await?
        } else {
            self.job.old = match &self.old {
                Old::Value(_, value) => Some(value.clone()),
                Old::Irrelevant | Old::Unknown | Old::Absent => None,
            };
            match io.encode(&self.job, source).await? {
                Some(value) => KeyChange::Publish(vec![Bytes::from_owner(Reused(value))]),
                None => KeyChange::Erase,
            }
        };
        if self.purpose == Purpose::Trim
            && let Old::Value(_, old) = &self.old
            && let KeyChange::Publish(parts) = &change
            && is_concatenation(old, parts)
        {
            return Ok(KeyChange::Keep);
        }
        Ok(change)
    }

    async fn encode_shard<I: Io>(
        &self,
        io: &I,
        mut lock: Option<(&mut Turn, u64)>,
        sharding: &Arc<Sharding>,
        source: &dyn Source,
        lanes: usize,
    ) -> Result<KeyChange, EngineCause> {
        let (old, index) = match (&self.old, &mut lock) {
            (Old::Irrelevant, _) => (OldShard::None, None),
            (_, Some((turn, _))) => self.pinned(turn, sharding)?,
            (Old::Value(_, value), None) => (
                OldShard::InMemory(value.clone()),
                Some(self.index(sharding, value)?),
            ),
            (Old::Unknown | Old::Absent, None) => (OldShard::None, None),
        };
        let batch = if lock.is_some() {
            batch_len(sharding, lanes)
        } else {
            AT_ONCE
        };
        let locked = |(turn, bytes): (_, u64)| Out::Locked {
            turn,
            copied_at_once: bytes.max(1),
        };
        let out = lock.map_or_else(Out::memory, locked);
        let mut shard = NewShard::new(&self.job.chain, sharding, &self.job.shape, out, old)?;
        let mut plan = ShardPlan::new(&self.job, self.purpose, sharding, index)?;
        loop {
            // Up to the last inner chunk to be encoded.
            let mut slots = Vec::new();
            let mut jobs = Vec::new();
            while jobs.len() < batch
                && slots.len() < AT_ONCE
                && let Some(slot) = plan.next(source)?
            {
                slots.push(match slot {
                    InnerPlan::Encode(inner) => {
                        let InnerJob { mut job, old } = *inner;
                        if let Some(range) = old {
                            let checked = check_inner_len(&job.chain, &job.shape, &range);
                            let value = checked.map_err(Into::into).and_then(|()| shard.old(range));
                            job.old = Some(value.map_err(|cause| cause.within(&job.inner_chunk))?);
                        }
                        jobs.push(job);
                        None
                    }
                    slot => Some(slot),
                });
            }
            if slots.is_empty() {
                return shard.end(self.job.fill_chunks);
            }
            let mut encoded = encode_all(io, &jobs, source, lanes).await?.into_iter();
            for slot in slots {
                match slot {
                    Some(InnerPlan::Keep(range)) => shard.keep(range)?,
                    Some(_) => shard.skip(),
                    None => match encoded.next().flatten() {
                        Some(encoded) => shard.add(encoded)?,
                        None => shard.skip(),
                    },
                }
            }
        }
    }

    /// The stored shard under the lock of its key, and its index.
    fn pinned(
        &self,
        turn: &mut Turn,
        sharding: &Sharding,
    ) -> Result<(OldShard, Option<ShardIndex>), EngineCause> {
        let shape = self.job.chain.stored(&self.job.shape);
        let want = index_want(&sharding.layout(&shape));
        let (pin, size, parts) = match turn.fetch(Of::Any, want)? {
            Fetched::Missing => return Ok((OldShard::None, None)),
            Fetched::Changed => return Err(EngineCause::KeepsChanging),
            Fetched::Parts { pin, size, parts } => (pin, size, parts),
        };
        let encoded = first_part(parts)?;
        let index =
            with_workspace(|workspace| sharding.decode_index(&encoded, &shape, size, workspace))?;
        Ok((OldShard::Pinned(pin), Some(index)))
    }

    /// The index of a shard in memory.
    fn index(&self, sharding: &Sharding, value: &Bytes) -> Result<ShardIndex, EngineCause> {
        let shape = self.job.chain.stored(&self.job.shape);
        let len = value.len() as u64;
        // If the value is too short for it, decoding fails.
        let at = sharding.layout(&shape).index_of(0..len).unwrap_or(0..0);
        let encoded = value.slice(at.start as usize..at.end as usize);
        Ok(with_workspace(|workspace| {
            sharding.decode_index(&encoded, &shape, len, workspace)
        })?)
    }
}

/// How many inner chunks are encoded before they are written under a lock.
fn batch_len(sharding: &Sharding, threads: usize) -> usize {
    if threads == 1 {
        return 1;
    }
    let size = sharding.chunks().elem_size() as u64;
    let bytes = Region::whole(sharding.chunk_shape())
        .n_elements()
        .unwrap_or(u64::MAX)
        .saturating_mul(size);
    (BATCH_BYTES / bytes.max(1)).clamp(1, 256) as usize * threads
}

/// A value whose memory is reused for the next one.
struct Reused(Vec<u8>);

impl AsRef<[u8]> for Reused {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Reused {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.0);
        with_workspace(|workspace| workspace.give_bytes(bytes));
    }
}

fn is_concatenation(whole: &[u8], parts: &[Bytes]) -> bool {
    let rest = parts
        .iter()
        .try_fold(whole, |rest, part| rest.strip_prefix(&part[..]));
    rest.is_some_and(<[u8]>::is_empty)
}
