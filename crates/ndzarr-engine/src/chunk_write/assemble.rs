//! A shard that is put together in memory.

use std::ops::Range;

use bytes::Bytes;
use ndzarr_codec::{ShardIndex, Workspace};

use super::plan::{InnerJob, Plan, Slot};
use super::{ChunkWrite, Old};
use crate::EngineCause;
use crate::encode_job::EncodeJob;

/// How many inner chunks are looked at before those that are to be encoded are.
const AT_ONCE: usize = 4096;

/// Parts of fewer bytes are put together, up to this many.
const SMALL: usize = 64 << 10;
const TOGETHER: usize = 1 << 20;

/// The parts of a shard that are known so far.
#[derive(Debug)]
pub(super) struct Assembly {
    plan: Plan,
    /// What was looked at and has no part yet.
    slots: Vec<Waiting>,
    pub(super) entries: Vec<[u64; 2]>,
    /// Where the next inner chunk goes.
    at: u64,
    parts: Vec<Bytes>,
    /// Small parts that come next.
    small: Vec<u8>,
    /// What comes behind them, of the old value.
    run: Range<u64>,
}

#[derive(Debug)]
enum Waiting {
    Empty,
    Keep(Range<u64>),
    Encode,
}

impl Assembly {
    pub(super) fn new(plan: Plan, at: u64) -> Result<Self, EngineCause> {
        let (entries, parts, small) = (plan.new_entries()?, Vec::new(), Vec::new());
        Ok(Self { plan, slots: Vec::new(), entries, at, parts, small, run: 0..0 })
    }

    /// The next inner chunks to be encoded; none: there are no more.
    pub(super) fn jobs(&mut self, write: &ChunkWrite) -> Result<Vec<EncodeJob>, EngineCause> {
        let mut jobs = Vec::new();
        loop {
            while self.slots.len() < AT_ONCE
                && let Some(slot) = self.plan.next(write)?
            {
                self.slots.push(match slot {
                    Slot::Empty => Waiting::Empty,
                    Slot::Keep(range) => Waiting::Keep(range),
                    Slot::Encode(inner) => {
                        let InnerJob { job, old } = *inner;
                        jobs.push(EncodeJob { old: old.map(|range| old_bytes(&write.old, range)), ..job });
                        Waiting::Encode
                    }
                });
            }
            if !jobs.is_empty() || self.slots.is_empty() {
                return Ok(jobs);
            }
            self.put(Vec::new(), &write.old, None);
        }
    }

    /// Takes the results of the last jobs.
    pub(super) fn put(
        &mut self,
        encoded: Vec<Option<Vec<u8>>>,
        old: &Old,
        mut workspace: Option<&mut Workspace>,
    ) {
        let mut encoded = encoded.into_iter();
        for slot in std::mem::take(&mut self.slots) {
            let len = match slot {
                Waiting::Empty => None,
                Waiting::Keep(range) => {
                    let len = range.end - range.start;
                    if self.run.end != range.start || self.run.is_empty() {
                        self.end_run(old);
                        self.run = range.start..range.start;
                    }
                    self.run.end = range.end;
                    Some(len)
                }
                Waiting::Encode => encoded.next().flatten().map(|bytes| {
                    self.end_run(old);
                    let len = bytes.len() as u64;
                    if bytes.len() < SMALL {
                        self.append(&bytes);
                        if let Some(workspace) = workspace.as_deref_mut() {
                            workspace.give_bytes(bytes);
                        }
                    } else {
                        self.end_small();
                        self.parts.push(bytes.into());
                    }
                    len
                }),
            };
            self.entries.push(len.map_or(ShardIndex::EMPTY, |len| [self.at, len]));
            self.at += len.unwrap_or(0);
        }
    }

    /// All parts but the index.
    pub(super) fn parts(mut self, old: &Old) -> Vec<Bytes> {
        self.end_run(old);
        self.end_small();
        self.parts
    }

    fn end_run(&mut self, old: &Old) {
        let run = std::mem::replace(&mut self.run, 0..0);
        if run.is_empty() {
            return;
        }
        let bytes = old_bytes(old, run);
        if bytes.len() < SMALL {
            self.append(&bytes);
        } else {
            self.end_small();
            self.parts.push(bytes);
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        self.small.extend_from_slice(bytes);
        if self.small.len() >= TOGETHER {
            self.end_small();
        }
    }

    fn end_small(&mut self) {
        let mut small = std::mem::take(&mut self.small);
        small.shrink_to_fit();
        if !small.is_empty() {
            self.parts.push(small.into());
        }
    }
}

/// Bytes of the old value, which the index was made for: they are inside.
fn old_bytes(old: &Old, range: Range<u64>) -> Bytes {
    match old {
        Old::Value(_, value) => value.slice(range.start as usize..range.end as usize),
        Old::Irrelevant | Old::Unknown | Old::Absent => Bytes::new(),
    }
}
