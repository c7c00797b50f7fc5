//! A large shard is written inner chunk by inner chunk, under the lock of its key, so that little of it is in memory.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Access, CodecChain, CodecError, ShardIndex, Sharding};
use ndzarr_grid::Region;
use ndzarr_model::IndexLocation;
use ndzarr_store::{Fetched, Of, Pin, StoreError, Want};

use super::plan::{InnerJob, Plan, Slot};
use super::{ChunkWrite, Old, Outcome, Purpose};
use crate::cancel::Turn;
use crate::encode_job::EncodeJob;
use crate::parallel::with_workspace;
use crate::read_plan::bad_answer;
use crate::write_region::encode_all;
use crate::{EngineCause, FillChunks, Source};

/// How many bytes of elements each thread encodes before what is encoded is written.
const BATCH_BYTES: u64 = 1 << 20;

/// How many inner chunks are looked at before those that are to be encoded are.
const AT_ONCE: usize = 4096;

impl ChunkWrite {
    /// Whether it is a shard that is better written piece by piece, of about `piece` bytes.
    pub(crate) fn is_large(&self, piece: u64) -> bool {
        let decoded = Region::whole(&self.shape).n_elements().unwrap_or(u64::MAX);
        matches!(self.chain.access(), Access::Indexed(_))
            && self.purpose == Purpose::Elements
            && decoded.saturating_mul(self.chain.elem_size() as u64) > piece
    }

    /// Writes a shard piece by piece. What is left to do says the outcome: of what is to be published, nothing is missing.
    ///
    /// # Errors
    /// As those of the other way.
    pub(crate) fn stream(
        &mut self,
        lock: &mut Turn,
        source: &dyn Source,
        threads: usize,
        piece: u64,
    ) -> Result<Outcome, EngineCause> {
        let chain = Arc::clone(&self.chain);
        let Access::Indexed(sharding) = chain.access() else {
            return Err(CodecError::config("sharding_indexed", "there are no shards").into());
        };
        let shape = chain.stored(&self.shape);
        let old = match self.old {
            Old::Irrelevant => None,
            Old::Unknown | Old::Absent | Old::Value(..) => old_index(lock, sharding, &shape)?,
        };
        let (pin, index) = old.unzip();
        let mut plan = Plan::new(self, sharding, index)?;
        let at = self.payload_start(sharding);
        let may_keep = chain.encoded_limit(&self.shape);
        let mut out = NewShard { lock, pin, at, run: 0..0, piece: piece.max(1), may_keep };
        let mut entries = plan.new_entries()?;
        let batch = batch_len(sharding, threads);
        loop {
            // Up to the last inner chunk that is to be encoded.
            let (mut slots, mut jobs) = (Vec::new(), Vec::new());
            while jobs.len() < batch
                && slots.len() < AT_ONCE
                && let Some(slot) = plan.next(self)?
            {
                slots.push(match slot {
                    Slot::Empty => None,
                    Slot::Keep(range) => Some(Some(range)),
                    Slot::Encode(job) => {
                        jobs.push(*job);
                        Some(None)
                    }
                });
            }
            if slots.is_empty() {
                break;
            }
            let mut encoded = out.encode(jobs, source, threads)?.into_iter();
            for slot in slots {
                entries.push(match slot {
                    None => ShardIndex::EMPTY,
                    Some(Some(range)) => out.keep(range)?,
                    Some(None) => match encoded.next().flatten() {
                        None => ShardIndex::EMPTY,
                        Some(bytes) => {
                            let entry = out.append(&bytes)?;
                            with_workspace(|workspace| workspace.give_bytes(bytes));
                            entry
                        }
                    },
                });
            }
        }
        out.flush()?;
        if self.fill_chunks == FillChunks::Erase && entries.iter().all(|entry| *entry == ShardIndex::EMPTY) {
            return Ok(Outcome::Erase);
        }
        let index = with_workspace(|workspace| sharding.encode_index(&entries, &shape, workspace))?;
        match sharding.location() {
            IndexLocation::Start => out.lock.write_at(0, &index)?,
            IndexLocation::End => out.lock.write_at(out.at, &index)?,
        }
        Ok(Outcome::Publish(Vec::new()))
    }
}

/// How many inner chunks are encoded at once.
fn batch_len(sharding: &Sharding, threads: usize) -> usize {
    if threads == 1 {
        return 1;
    }
    let size = sharding.chunks().elem_size() as u64;
    let bytes = Region::whole(sharding.chunk_shape()).n_elements().unwrap_or(u64::MAX).saturating_mul(size);
    (BATCH_BYTES / bytes.max(1)).clamp(1, 256) as usize * threads
}

/// The index of the stored shard, and the pin of that; `None`: there is none.
fn old_index(
    lock: &mut Turn,
    sharding: &Sharding,
    shape: &[u64],
) -> Result<Option<(Pin, ShardIndex)>, EngineCause> {
    let len = sharding.index_len(shape).unwrap_or(usize::MAX) as u64;
    let want = match sharding.location() {
        IndexLocation::Start => Want::Ranges(vec![0..len]),
        IndexLocation::End => Want::Tail(len),
    };
    let Fetched::Parts { pin, size, parts } = lock.fetch(Of::Any, want)? else { return Ok(None) };
    let encoded = parts.into_iter().next().ok_or_else(bad_answer)?;
    let index = with_workspace(|workspace| sharding.decode_index(&encoded, shape, size, workspace))?;
    Ok(Some((pin, index)))
}

/// A shard in the making.
struct NewShard<'l> {
    lock: &'l mut Turn,
    /// The old value.
    pin: Option<Pin>,
    /// Where the next inner chunk goes, were there nothing to be copied before it.
    at: u64,
    /// What of the old value is to be copied before it.
    run: Range<u64>,
    piece: u64,
    /// How many bytes of the old value may still be taken over: entries of an index may name the same ones again and again,
    /// and together more than a shard can have.
    may_keep: u64,
}

impl NewShard<'_> {
    /// Encodes inner chunks, merged with what is stored of them.
    fn encode(
        &mut self,
        batch: Vec<InnerJob>,
        source: &dyn Source,
        threads: usize,
    ) -> Result<Vec<Option<Vec<u8>>>, EngineCause> {
        let mut jobs = Vec::with_capacity(batch.len());
        for InnerJob { job, old } in batch {
            let old = match old {
                Some(range) => Some(self.old_chunk(range, &job.chain, &job.shape)?),
                None => None,
            };
            jobs.push(EncodeJob { old, ..job });
        }
        match &jobs[..] {
            [job] => Ok(vec![with_workspace(|workspace| job.run(source, workspace))?]),
            jobs => encode_all(jobs, source, threads),
        }
    }

    fn old_chunk(
        &mut self,
        range: Range<u64>,
        chain: &CodecChain,
        shape: &[u64],
    ) -> Result<Bytes, EngineCause> {
        let len = range.end - range.start;
        if len > chain.encoded_limit(shape) {
            let what = format!("an inner chunk of {len} bytes is too large for its shape");
            return Err(CodecError::corrupt("sharding_indexed", what).into());
        }
        self.old(range)
    }

    fn old(&mut self, range: Range<u64>) -> Result<Bytes, EngineCause> {
        let Some(pin) = self.pin.clone() else { return Err(bad_answer()) };
        let len = range.end - range.start;
        match self.lock.fetch(Of::Snapshot(pin), Want::Ranges(vec![range]))? {
            Fetched::Parts { parts, .. } => {
                parts.into_iter().next().filter(|part| part.len() as u64 == len).ok_or_else(bad_answer)
            }
            // Under the lock, so by somebody who takes none, in a store that keeps no old values.
            Fetched::Missing | Fetched::Changed => Err(EngineCause::KeepsChanging),
        }
    }

    /// Takes an inner chunk over as it is stored. Returns its entry of the index.
    fn keep(&mut self, range: Range<u64>) -> Result<[u64; 2], EngineCause> {
        let len = range.end - range.start;
        self.may_keep = self.may_keep.checked_sub(len).ok_or_else(|| {
            let what = "the inner chunks together are too large for the shape of the shard";
            CodecError::corrupt("sharding_indexed", what)
        })?;
        if self.run.end != range.start {
            self.flush()?;
            self.run = range.start..range.start;
        }
        let at = self.at + (self.run.end - self.run.start);
        self.run.end = range.end;
        Ok([at, len])
    }

    /// Copies what is to be kept up to here.
    fn flush(&mut self) -> Result<(), EngineCause> {
        let mut run = std::mem::replace(&mut self.run, 0..0);
        while !run.is_empty() {
            let end = run.end.min(run.start.saturating_add(self.piece));
            let part = self.old(run.start..end)?;
            self.write(&part)?;
            run.start = end;
        }
        Ok(())
    }

    fn append(&mut self, encoded: &[u8]) -> Result<[u64; 2], EngineCause> {
        self.flush()?;
        let at = self.at;
        self.write(encoded)?;
        Ok([at, encoded.len() as u64])
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), EngineCause> {
        let end = self.at.checked_add(bytes.len() as u64).ok_or_else(|| {
            let what = "the new value is too large".to_owned();
            StoreError::Other { action: "write", key: String::new(), what }
        })?;
        self.lock.write_at(self.at, bytes)?;
        self.at = end;
        Ok(())
    }
}
