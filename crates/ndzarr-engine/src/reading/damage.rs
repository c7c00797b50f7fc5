//! How reads treat damaged chunks, and the list of those they found.

use std::sync::{Arc, Mutex, PoisonError};

use crate::reading::job::Job;
use crate::reading::wanted::Content;
use crate::threads::scratch::with_workspace;
use crate::{Broken, EngineCause, UnitPlace};

/// How a read treats broken stored chunks.
///
/// A value is broken if its codecs reject it, its size is wrong, or it contains elements that their
/// type does not allow. A failing store (permission, disk, network) is always an error, and so is a
/// broken chunk that a partial write has to be merged with.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Damaged {
    /// The read fails with the first.
    #[default]
    Fail,
    /// Their elements become the fill value, and the report lists them. In a shard with an intact
    /// index, only the broken inner chunks are lost.
    FillAndReport(DamageReport),
}

/// The broken chunks that reads found; clones share the list. A chunk is listed once for each call
/// that found it.
#[derive(Clone, Debug, Default)]
pub struct DamageReport(Arc<Mutex<Vec<DamagedChunk>>>);

/// A broken chunk, or a broken inner chunk of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedChunk {
    /// The stored chunk (the shard in a sharded array).
    pub place: UnitPlace,
    /// Which inner chunk of the shard it is, relative to the shard's first, by the axes of the
    /// array; one index per level of nested shards. Empty: the whole value.
    pub inner_chunk: Vec<Vec<u64>>,
    /// The codec that rejected it.
    pub codec: Option<String>,
    /// The problem.
    pub what: String,
    /// True if other programs may read it all the same: its codecs give all elements, of which some
    /// are not valid in their type (a bool of 2), or it goes on after its end.
    pub may_be_read: bool,
}

impl DamageReport {
    /// An empty report.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The chunks found since the last call, in no particular order.
    #[must_use]
    pub fn take(&self) -> Vec<DamagedChunk> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, place: UnitPlace, broken: Broken) {
        let Broken { inner_chunk, cause } = broken;
        let codec = cause.codec().map(str::to_owned);
        let what = match &cause {
            EngineCause::Codec(error) => error.to_string(),
            EngineCause::Store(error) => error.to_string(),
            other => other.to_string(),
        };
        let may_be_read = cause.may_be_read();
        let found = DamagedChunk {
            place,
            inner_chunk,
            codec,
            what,
            may_be_read,
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(found);
    }
}

/// How a read of one chunk treats its broken parts.
pub(crate) struct OnDamage<'r> {
    report: Option<&'r DamageReport>,
    place: &'r (dyn Fn() -> UnitPlace + Sync),
    /// Reads the value again, if it was replaced meanwhile.
    again: &'r Again<'r>,
}

/// The content of a value that was replaced.
pub(crate) type Again<'r> = dyn Fn() -> Result<Option<Content>, EngineCause> + Sync + 'r;

impl<'r> OnDamage<'r> {
    pub(crate) fn new(
        damaged: &'r Damaged,
        place: &'r (dyn Fn() -> UnitPlace + Sync),
        again: &'r Again<'r>,
    ) -> Self {
        let report = match damaged {
            Damaged::Fail => None,
            Damaged::FillAndReport(report) => Some(report),
        };
        Self {
            report,
            place,
            again,
        }
    }

    /// True if broken parts are filled and not errors.
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

    pub(crate) fn run(&self, mut job: Job<'_>) -> Result<(), EngineCause> {
        let mut run = with_workspace(|workspace| job.attempt(workspace));
        while run.as_ref().is_err_and(EngineCause::is_corrupt) && job.is_for_whole_value() {
            run = match (self.again)() {
                Ok(None) => break,
                Ok(Some(content)) => {
                    with_workspace(|workspace| job.attempt_with(content, workspace))
                }
                Err(cause) => Err(cause),
            };
        }
        match run {
            Err(cause) if self.fills(&cause) => {
                self.report([job.fill_over(cause)?]);
                Ok(())
            }
            run => run.map_err(|cause| job.within(cause)),
        }
    }
}
