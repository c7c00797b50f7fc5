//! How reads treat damaged chunks, and the list of those they met.

use std::sync::{Arc, Mutex, PoisonError};

use crate::decode_job::Job;
use crate::scratch::with_workspace;
use crate::{Broken, ChunkPlace, EngineCause};

/// What a read does about stored chunks that are broken.
///
/// Broken is a value that its codecs do not take, whose size is wrong, or that holds elements that
/// their type does not allow. A store that fails (permission, disk, network) is an error always,
/// and so is a broken chunk that a partial write has to be merged with.
#[derive(Clone, Debug, Default)]
pub enum Damaged {
    /// The read fails with the first.
    #[default]
    Fail,
    /// Their elements are the fill value, and the report lists them. Where the index of a shard is
    /// sound, what is broken in it costs no more than the inner chunks concerned.
    FillAndReport(DamageReport),
}

/// The broken chunks that reads met; clones share the list. A chunk is listed once for each call
/// that met it.
#[derive(Clone, Debug, Default)]
pub struct DamageReport(Arc<Mutex<Vec<DamagedChunk>>>);

/// A chunk, or an inner chunk of a shard, that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedChunk {
    /// The chunk as it is stored (the shard, where there are such).
    pub place: ChunkPlace,
    /// Which inner chunk of the shard it is, counted from the shard's first, by the axes of the
    /// array; with nested shards one index for each level. Empty: all of the value.
    pub inner_chunk: Vec<Vec<u64>>,
    /// The codec that did not take it.
    pub codec: Option<String>,
    /// What is wrong with it.
    pub what: String,
}

impl DamageReport {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found since the last call, in no particular order.
    #[must_use]
    pub fn take(&self) -> Vec<DamagedChunk> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, place: ChunkPlace, broken: Broken) {
        let Broken { inner_chunk, cause } = broken;
        let codec = cause.codec().map(str::to_owned);
        let what = match &cause {
            EngineCause::Codec(error) => error.to_string(),
            EngineCause::Store(error) => error.to_string(),
            other => other.to_string(),
        };
        let found = DamagedChunk { place, inner_chunk, codec, what };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(found);
    }
}

/// What a read of one chunk does about what is broken in it.
pub(crate) struct OnDamage<'r> {
    report: Option<&'r DamageReport>,
    place: &'r (dyn Fn() -> ChunkPlace + Sync),
}

impl<'r> OnDamage<'r> {
    pub(crate) fn new(damaged: &'r Damaged, place: &'r (dyn Fn() -> ChunkPlace + Sync)) -> Self {
        let report = match damaged {
            Damaged::Fail => None,
            Damaged::FillAndReport(report) => Some(report),
        };
        Self { report, place }
    }

    /// Whether what is broken is filled, rather than an error.
    pub(crate) fn is_filled(&self) -> bool {
        self.report.is_some()
    }

    pub(crate) fn fills(&self, cause: &EngineCause) -> bool {
        self.is_filled() && cause.is_corrupt()
    }

    pub(crate) fn report(&self, broken: impl IntoIterator<Item = Broken>) {
        let Some(report) = self.report else { return };
        for broken in broken {
            report.add((self.place)(), broken);
        }
    }

    pub(crate) fn run(&self, job: Job<'_>) -> Result<(), EngineCause> {
        with_workspace(|workspace| match self.report {
            None => job.run(workspace),
            Some(_) => job.run_or_fill(workspace).map(|broken| self.report(broken)),
        })
    }
}
