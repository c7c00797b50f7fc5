//! Fetches neighbouring inner chunks together, just before they are decoded.

use std::ops::Range;

use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, RangeMerging, Store, Want};

use crate::index_cache::with_files;
use crate::merge_ranges::WantedRanges;
use crate::read_plan::bad_answer;
use crate::{EngineCause, Job};

/// Jobs on inner chunks that lie side by side in a shard, which are fetched together just before they run: what was read is
/// then still in the cache of the core, and little of the shard is in memory at any time.
pub(crate) struct LateJobs<'t> {
    range: Range<u64>,
    jobs: Vec<(Range<u64>, Job<'t>)>,
}

impl<'t> LateJobs<'t> {
    /// Groups the jobs that are [`late`](Job::late), in the order of what they need.
    ///
    /// # Errors
    /// None that a stored value could cause.
    pub(crate) fn group(jobs: Vec<Job<'t>>, rule: RangeMerging) -> Result<Vec<Self>, EngineCause> {
        let jobs: Vec<_> = jobs.into_iter().filter_map(|job| Some((job.late()?, job))).collect();
        let mut wanted = WantedRanges::new(RangeMerging { max: rule.piece.unwrap_or(rule.max), ..rule });
        wanted.extend(jobs.iter().map(|(late, _)| late.clone()));
        let merged = wanted.merged();
        let empty = |range: &Range<u64>| Self { range: range.clone(), jobs: Vec::new() };
        let mut groups: Vec<Self> = merged.ranges().iter().map(empty).collect();
        for (late, job) in jobs {
            let home = merged.home(&late).ok_or_else(bad_answer)?;
            groups[home].jobs.push((late, job));
        }
        Ok(groups)
    }

    /// Fetches what they need of the pinned value, and runs them.
    pub(crate) fn run(
        self,
        store: &dyn Store,
        key: &Key,
        pin: &Pin,
        run: impl FnOnce(Vec<Job<'_>>) -> Result<(), EngineCause>,
    ) -> Result<(), EngineCause> {
        let Self { range, jobs } = self;
        let want = Want::Ranges(vec![range.clone()]);
        let fetched = {
            let fetch = Fetch { key: key.clone(), of: Of::Snapshot(pin.clone()), want };
            with_files(|| store.fetch(&fetch))?
        };
        let Fetched::Parts { parts, .. } = fetched else { return Err(EngineCause::KeepsChanging) };
        let part = parts.into_iter().next().ok_or_else(bad_answer)?;
        if part.len() as u64 != range.end - range.start {
            return Err(bad_answer());
        }
        let with_part = |(late, mut job): (Range<u64>, Job<'t>)| {
            job.supply(part.slice((late.start - range.start) as usize..(late.end - range.start) as usize));
            job
        };
        run(jobs.into_iter().map(with_part).collect())
    }
}
