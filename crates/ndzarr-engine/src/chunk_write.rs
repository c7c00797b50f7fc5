//! `ChunkWrite`: writes a region of one chunk without doing I/O itself.

use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Access, CodecChain, ShardIndex, Sharding, Workspace};
use ndzarr_grid::Region;
use ndzarr_model::IndexLocation;
use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, Precondition, StoreError, Want};

use crate::chunked::{ChunkedArray, Outside};
use crate::encode_job::EncodeJob;
use crate::parallel::with_workspace;
use crate::{EngineCause, FillChunks, Source};

mod assemble;
mod plan;
mod stream;

use assemble::Assembly;
use plan::Plan;

/// Writes a region of one chunk, sans I/O. In order: fetch what [`needs`](Self::needs) says, if anything, and
/// [`supply`](Self::supply) it; run the [`jobs`](Self::jobs) and [`put`](Self::put) their results, until there are no more;
/// [`finish`](Self::finish) says what to store.
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
    state: Encoding,
}

/// How far the encoding is.
#[derive(Debug)]
enum Encoding {
    NotBegun,
    /// The value of a chunk that is not a shard; `None`: it is not stored, or not known yet.
    Whole(Option<Vec<u8>>),
    Shard(Box<Assembly>),
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
            state: Encoding::NotBegun,
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

    /// The next encoding to be done, in an order that [`put`](Self::put) wants the results in; none: that was all.
    ///
    /// # Errors
    /// A stored shard whose index makes no sense.
    pub fn jobs(&mut self, workspace: &mut Workspace) -> Result<Vec<EncodeJob>, EngineCause> {
        if self.purpose == Purpose::Trim && !matches!(self.old, Old::Value(..)) {
            return Ok(Vec::new());
        }
        let mut shard = match std::mem::replace(&mut self.state, Encoding::NotBegun) {
            Encoding::Shard(shard) => shard,
            Encoding::Whole(value) => {
                self.state = Encoding::Whole(value);
                return Ok(Vec::new());
            }
            Encoding::NotBegun => {
                let chain = Arc::clone(&self.chain);
                let Access::Indexed(sharding) = chain.access() else {
                    self.state = Encoding::Whole(None);
                    return Ok(vec![self.whole()]);
                };
                let index = match &self.old {
                    Old::Value(_, value) => Some(self.index(sharding, value, workspace)?),
                    Old::Irrelevant | Old::Unknown | Old::Absent => None,
                };
                let plan = Plan::new(self, sharding, index)?;
                Box::new(Assembly::new(plan, self.payload_start(sharding))?)
            }
        };
        let jobs = shard.jobs(self)?;
        self.state = Encoding::Shard(shard);
        Ok(jobs)
    }

    /// Takes the results of the last [`jobs`](Self::jobs), in their order.
    pub fn put(&mut self, encoded: Vec<Option<Vec<u8>>>, workspace: &mut Workspace) {
        match &mut self.state {
            Encoding::NotBegun => {}
            Encoding::Whole(value) => *value = encoded.into_iter().next().flatten(),
            Encoding::Shard(shard) => shard.put(encoded, &self.old, Some(workspace)),
        }
    }

    fn whole(&self) -> EncodeJob {
        EncodeJob {
            chain: Arc::clone(&self.chain),
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
        }
    }

    /// Where the first inner chunk of a shard goes.
    fn payload_start(&self, sharding: &Sharding) -> u64 {
        match sharding.location() {
            IndexLocation::Start => sharding.index_len(&self.chain.stored(&self.shape)).unwrap_or(0) as u64,
            IndexLocation::End => 0,
        }
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

    /// What to store.
    ///
    /// # Errors
    /// An index that cannot be encoded.
    pub fn finish(&mut self, workspace: &mut Workspace) -> Result<Outcome, EngineCause> {
        let outcome = match std::mem::replace(&mut self.state, Encoding::NotBegun) {
            // What is not stored is the fill value already.
            Encoding::NotBegun => return Ok(Outcome::Keep),
            Encoding::Whole(Some(value)) => Outcome::Publish(vec![Bytes::from_owner(Reused(value))]),
            Encoding::Whole(None) => Outcome::Erase,
            Encoding::Shard(shard) => self.shard(*shard, workspace)?,
        };
        Ok(match (&self.old, outcome) {
            (Old::Value(_, old), Outcome::Publish(parts))
                if self.purpose == Purpose::Trim && is_concatenation(old, &parts) =>
            {
                Outcome::Keep
            }
            (_, outcome) => outcome,
        })
    }

    fn shard(&self, shard: Assembly, workspace: &mut Workspace) -> Result<Outcome, EngineCause> {
        let Access::Indexed(sharding) = self.chain.access() else { return Ok(Outcome::Keep) };
        let entries = &shard.entries;
        if self.fill_chunks == FillChunks::Erase && entries.iter().all(|entry| *entry == ShardIndex::EMPTY) {
            return Ok(Outcome::Erase);
        }
        let index = sharding.encode_index(entries, &self.chain.stored(&self.shape), workspace)?.into();
        let mut parts = shard.parts(&self.old);
        match sharding.location() {
            IndexLocation::Start => parts.insert(0, index),
            IndexLocation::End => parts.push(index),
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
