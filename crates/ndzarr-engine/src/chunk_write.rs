use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Access, CodecChain, CodecError, ShardIndex, Sharding, Workspace};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_model::IndexLocation;
use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, Precondition, StoreError, Want};

use crate::chunked::{ChunkedArray, Outside};
use crate::encode_job::EncodeJob;
use crate::parallel::with_workspace;
use crate::{EngineCause, FillChunks, Source};

mod stream;

/// Writes a region of one chunk, sans I/O. In order: fetch what [`needs`](Self::needs) says, if anything, and
/// [`supply`](Self::supply) it; run the [`jobs`](Self::jobs); [`finish`](Self::finish) with their results says what to
/// store.
///
/// A region that covers what of the chunk is inside the array needs nothing. Of a shard, just the inner chunks that the
/// region meets are encoded; the others keep their encoded bytes.
#[derive(Debug)]
pub struct ChunkWrite {
    key: Key,
    chain: Arc<CodecChain>,
    shape: Vec<u64>,
    /// What of the chunk is inside the array.
    bounds: Vec<u64>,
    /// What is written, counted from the first element of the chunk.
    region: Region,
    /// Where that begins in the source.
    source_start: Vec<usize>,
    coverage: Coverage,
    purpose: Purpose,
    outside: Outside,
    fill_chunks: FillChunks,
    /// What the key has, as far as it matters.
    old: Old,
    /// Of a shard: what becomes of each inner chunk.
    plan: Vec<Slot>,
}

/// What a chunk is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To have new elements.
    Elements,
    /// To lose those that are outside the array.
    Trim,
}

#[derive(Debug)]
enum Old {
    /// Nothing of it remains, whatever it is.
    Irrelevant,
    Unknown,
    Absent,
    Value(Pin, Bytes),
}

/// What becomes of an inner chunk.
#[derive(Clone, Debug)]
enum Slot {
    Empty,
    /// What is here in the old value.
    Keep(Range<u64>),
    /// The result of the next job.
    Encode,
}

/// An inner chunk to be encoded.
struct InnerJob {
    job: EncodeJob,
    /// Where in the old value is what it is merged with.
    old: Option<Range<u64>>,
}

/// Whether every element of the written region is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    Dense,
    Sparse,
}

impl Coverage {
    pub(crate) fn of(source: &dyn Source) -> Self {
        if source.is_dense() { Self::Dense } else { Self::Sparse }
    }
}

/// What to do with the key.
#[derive(Debug)]
pub enum Outcome {
    /// Store the concatenation of these parts.
    Publish(Vec<Bytes>),
    /// Remove the value, if there is one.
    Erase,
    /// Nothing: it has the value that it should have.
    Keep,
}

impl ChunkWrite {
    /// A write of `region`, counted from the first element of the chunk, from the elements of the source that begin at
    /// `source_start`.
    pub(crate) fn new(
        array: &ChunkedArray,
        key: Key,
        chunk: &[u64],
        region: Region,
        source_start: Vec<usize>,
        coverage: Coverage,
        fill_chunks: FillChunks,
    ) -> Self {
        let bounds = array.grid.clipped_region(chunk).map(|inside| inside.shape()).unwrap_or_default();
        let shape = array.shape_of(chunk);
        let all = if array.outside == Outside::Shared { &shape } else { &bounds };
        let full = coverage == Coverage::Dense && region.contains(&Region::whole(all));
        Self {
            key,
            chain: Arc::clone(&array.chain),
            shape,
            bounds,
            region,
            source_start,
            coverage,
            purpose: Purpose::Elements,
            outside: array.outside,
            fill_chunks,
            old: if full { Old::Irrelevant } else { Old::Unknown },
            plan: Vec::new(),
        }
    }

    /// Makes the elements of a chunk that are outside the array the fill value, and leaves the others.
    pub(crate) fn trim(array: &ChunkedArray, key: Key, chunk: &[u64], fill_chunks: FillChunks) -> Self {
        let nothing = Region::new(chunk.iter().map(|_| 0..0));
        let start = vec![0; chunk.len()];
        let write = Self::new(array, key, chunk, nothing, start, Coverage::Sparse, fill_chunks);
        Self { purpose: Purpose::Trim, outside: Outside::Nobodys, ..write }
    }

    /// What must be read first; `None`: nothing.
    #[must_use]
    pub fn needs(&self) -> Option<Fetch> {
        matches!(self.old, Old::Unknown).then(|| {
            let want = Want::Whole { limit: self.chain.encoded_limit(&self.shape) };
            Fetch { key: self.key.clone(), of: Of::Any, want }
        })
    }

    /// Takes what was fetched; again, when the write starts over.
    ///
    /// # Errors
    /// An answer that makes no sense.
    pub fn supply(&mut self, fetched: Fetched) -> Result<(), EngineCause> {
        self.old = match fetched {
            Fetched::Missing => Old::Absent,
            Fetched::Changed => Old::Unknown,
            Fetched::Parts { pin, parts, .. } => match parts.into_iter().next() {
                Some(value) => Old::Value(pin, value),
                None => {
                    let what = "the store gave no part".to_owned();
                    return Err(StoreError::Other { action: "read", key: self.key.to_string(), what }.into());
                }
            },
        };
        Ok(())
    }

    /// Forgets what was fetched, since another writer was faster.
    pub(crate) fn restart(&mut self) {
        if !matches!(self.old, Old::Irrelevant) {
            self.old = Old::Unknown;
        }
    }

    /// What must still hold when the result is stored without a lock.
    pub(crate) fn precondition(&self) -> Precondition {
        match &self.old {
            Old::Irrelevant | Old::Unknown => Precondition::None,
            Old::Absent => Precondition::Absent,
            Old::Value(pin, _) => Precondition::Current(pin.clone()),
        }
    }

    /// The encoding to be done, in an order that [`finish`](Self::finish) wants the results in.
    ///
    /// # Errors
    /// A stored shard whose index makes no sense.
    pub fn jobs(&mut self, workspace: &mut Workspace) -> Result<Vec<EncodeJob>, EngineCause> {
        let chain = Arc::clone(&self.chain);
        if self.purpose == Purpose::Trim && !matches!(self.old, Old::Value(..)) {
            return Ok(Vec::new());
        }
        match chain.access() {
            Access::Indexed(sharding) => {
                let index = match &self.old {
                    Old::Value(_, value) => Some(self.index(sharding, value, workspace)?),
                    Old::Irrelevant | Old::Unknown | Old::Absent => None,
                };
                let jobs = self.plan(sharding, index.as_ref())?;
                let job =
                    |InnerJob { job, old }| EncodeJob { old: old.map(|range| self.old_bytes(range)), ..job };
                Ok(jobs.into_iter().map(job).collect())
            }
            Access::Whole | Access::Raw { .. } => Ok(vec![EncodeJob {
                chain,
                shape: self.shape.clone(),
                bounds: self.bounds.clone(),
                region: self.region.clone(),
                source_start: self.source_start.clone(),
                axes: (0..self.shape.len()).collect(),
                old: match &self.old {
                    Old::Value(_, value) => Some(value.clone()),
                    Old::Irrelevant | Old::Unknown | Old::Absent => None,
                },
                outside: self.outside,
                fill_chunks: self.fill_chunks,
            }]),
        }
    }

    /// Bytes of the old value, which the index was made for: they are inside.
    fn old_bytes(&self, range: Range<u64>) -> Bytes {
        match &self.old {
            Old::Value(_, value) => value.slice(range.start as usize..range.end as usize),
            Old::Irrelevant | Old::Unknown | Old::Absent => Bytes::new(),
        }
    }

    /// Says of each inner chunk what becomes of it; of the old value, its index is known.
    fn plan(&mut self, sharding: &Sharding, old: Option<&ShardIndex>) -> Result<Vec<InnerJob>, EngineCause> {
        let chain = &self.chain;
        let shape = chain.stored(&self.shape);
        let bounds = chain.stored(&self.bounds);
        let axes = chain.order().to_vec();
        let region = Region::new(axes.iter().map(|&axis| self.region.ranges()[axis].clone()));
        let source_start: Vec<usize> = chain.stored(&self.source_start);
        let grid = ChunkGrid::regular(&shape, sharding.chunk_shape())
            .map_err(|error| CodecError::config("sharding_indexed", error))?;
        let counts = grid.grid_shape();
        let n: usize = counts.iter().map(|&n| n as usize).product();
        let mut plan = vec![Slot::Empty; n];
        if let Some(index) = old {
            for (linear, slot) in plan.iter_mut().enumerate() {
                if let Some(range) = index.entry(linear)? {
                    *slot = Slot::Keep(range);
                }
            }
        }
        let mut jobs = Vec::new();
        let touched = match self.purpose {
            Purpose::Elements => region,
            Purpose::Trim => Region::whole(&shape),
        };
        for overlap in grid.overlaps(&touched) {
            let linear = overlap
                .chunk
                .iter()
                .zip(&counts)
                .fold(0, |linear, (&c, &n)| linear * n as usize + c as usize);
            let origin: Vec<u64> =
                overlap.chunk.iter().zip(sharding.chunk_shape()).map(|(&c, &n)| c * n).collect();
            let bounds: Vec<u64> = (bounds.iter().zip(&origin).zip(sharding.chunk_shape()))
                .map(|((&bound, &origin), &n)| bound.saturating_sub(origin).min(n))
                .collect();
            if self.purpose == Purpose::Trim {
                let inside = bounds == sharding.chunk_shape();
                if inside || matches!(plan[linear], Slot::Empty) {
                    continue;
                }
                if bounds.contains(&0) {
                    plan[linear] = Slot::Empty;
                    continue;
                }
            }
            // The shard was read: what is outside can be kept here wherever it is to be.
            let all = if self.outside == Outside::Nobodys { &bounds } else { sharding.chunk_shape() };
            let full = self.coverage == Coverage::Dense && overlap.in_chunk.contains(&Region::whole(all));
            let kept = match std::mem::replace(&mut plan[linear], Slot::Encode) {
                Slot::Keep(range) if !full => Some(range),
                Slot::Keep(_) | Slot::Empty | Slot::Encode => None,
            };
            let job = EncodeJob {
                chain: Arc::clone(sharding.chunks()),
                shape: sharding.chunk_shape().to_vec(),
                bounds,
                source_start: (source_start.iter().zip(overlap.in_region.start()))
                    .map(|(&start, offset)| start + offset as usize)
                    .collect(),
                region: match self.purpose {
                    Purpose::Elements => overlap.in_chunk,
                    Purpose::Trim => Region::new(axes.iter().map(|_| 0..0)),
                },
                axes: axes.clone(),
                old: None,
                outside: self.outside,
                fill_chunks: self.fill_chunks,
            };
            jobs.push(InnerJob { job, old: kept });
        }
        self.plan = plan;
        Ok(jobs)
    }

    fn index(
        &self,
        sharding: &Sharding,
        value: &Bytes,
        workspace: &mut Workspace,
    ) -> Result<ShardIndex, EngineCause> {
        let shape = self.chain.stored(&self.shape);
        let len = sharding.index_len(&shape).unwrap_or(usize::MAX);
        let at = match sharding.location() {
            IndexLocation::Start => 0..len.min(value.len()),
            IndexLocation::End => value.len().saturating_sub(len)..value.len(),
        };
        Ok(sharding.decode_index(&value.slice(at), &shape, value.len() as u64, workspace)?)
    }

    /// What to store. `encoded` are the results of the jobs, in their order.
    ///
    /// # Errors
    /// An index that cannot be encoded.
    pub fn finish(
        &mut self,
        encoded: Vec<Option<Vec<u8>>>,
        workspace: &mut Workspace,
    ) -> Result<Outcome, EngineCause> {
        let outcome = self.assemble(encoded, workspace)?;
        if self.purpose == Purpose::Elements {
            return Ok(outcome);
        }
        Ok(match (&self.old, outcome) {
            (Old::Value(_, old), Outcome::Publish(parts)) if is_concatenation(old, &parts) => Outcome::Keep,
            (Old::Value(..), outcome) => outcome,
            // What is not stored is the fill value already.
            (Old::Irrelevant | Old::Unknown | Old::Absent, _) => Outcome::Keep,
        })
    }

    fn assemble(
        &mut self,
        encoded: Vec<Option<Vec<u8>>>,
        workspace: &mut Workspace,
    ) -> Result<Outcome, EngineCause> {
        let chain = Arc::clone(&self.chain);
        let Access::Indexed(sharding) = chain.access() else {
            return Ok(match encoded.into_iter().next().flatten() {
                Some(value) => Outcome::Publish(vec![Bytes::from_owner(Reused(value))]),
                None => Outcome::Erase,
            });
        };
        let mut encoded = encoded.into_iter();
        let chunks: Vec<Option<Bytes>> = std::mem::take(&mut self.plan)
            .into_iter()
            .map(|slot| match slot {
                Slot::Empty => None,
                Slot::Keep(range) => Some(self.old_bytes(range)),
                Slot::Encode => encoded.next().flatten().map(Bytes::from),
            })
            .collect();
        if self.fill_chunks == FillChunks::Erase && chunks.iter().all(Option::is_none) {
            return Ok(Outcome::Erase);
        }
        let index: Bytes = sharding.assemble(&chunks, &chain.stored(&self.shape), workspace)?.into();
        let mut parts = Vec::with_capacity(chunks.len() + 1);
        if sharding.location() == IndexLocation::Start {
            parts.push(index.clone());
        }
        parts.extend(chunks.into_iter().flatten());
        if sharding.location() == IndexLocation::End {
            parts.push(index);
        }
        Ok(Outcome::Publish(parts))
    }

    /// Key of the chunk.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }
}

/// A value whose memory serves again for the next one.
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
    let rest = parts.iter().try_fold(whole, |rest, part| rest.strip_prefix(&part[..]));
    rest.is_some_and(<[u8]>::is_empty)
}
