//! `PointRuns`: selected points as runs along the last axis.

use std::ops::Range;

/// Points as runs, in C order.
#[derive(Debug, Default)]
pub(crate) struct PointRuns {
    /// Of the first point of each run.
    coordinates: Vec<usize>,
    runs: Vec<PointRun>,
}

#[derive(Clone, Copy, Debug)]
struct PointRun {
    /// Where its coordinates begin.
    at: usize,
    len: usize,
    /// Which point of the result the first one is.
    target: usize,
}

/// The part of a run that is in a box.
pub(crate) struct RunPart<'r> {
    /// The coordinates of the first point of the run.
    first: &'r [usize],
    /// How many points of the run are before the part.
    skip: usize,
    pub(crate) targets: Range<usize>,
}

impl RunPart<'_> {
    /// The coordinates of its first point.
    pub(crate) fn start(&self) -> impl Iterator<Item = usize> {
        let last = self.first.len().saturating_sub(1);
        self.first
            .iter()
            .enumerate()
            .map(move |(axis, at)| if axis == last { at + self.skip } else { *at })
    }
}

impl PointRuns {
    /// Adds a point, which is not before another one in C order.
    pub(crate) fn add(&mut self, point: &[usize], target: usize) {
        if self.goes_on(point, target)
            && let Some(run) = self.runs.last_mut()
        {
            run.len += 1;
            return;
        }
        self.push(point.iter().copied(), 1, target);
    }

    /// Adds a run.
    pub(crate) fn push(&mut self, first: impl Iterator<Item = usize>, len: usize, target: usize) {
        self.runs.push(PointRun {
            at: self.coordinates.len(),
            len,
            target,
        });
        self.coordinates.extend(first);
    }

    /// Returns `true` if a point is the next one of the last run.
    fn goes_on(&self, point: &[usize], target: usize) -> bool {
        let Some(run) = self.runs.last() else {
            return false;
        };
        let Some((last, leading)) = point.split_last() else {
            return false;
        };
        let Some((first, of_run)) = self.coordinates[run.at..].split_last() else {
            return false;
        };
        target == run.target + run.len && leading == of_run && *last == first + run.len
    }

    /// The parts of runs that are in a box.
    pub(crate) fn within<'r>(
        &'r self,
        start: &'r [usize],
        len: &'r [usize],
    ) -> impl Iterator<Item = RunPart<'r>> {
        self.near(start, len).iter().filter_map(move |run| {
            let first = &self.coordinates[run.at..run.at + start.len()];
            let Some((&last, leading)) = first.split_last() else {
                return Some(RunPart {
                    first,
                    skip: 0,
                    targets: run.target..run.target + run.len,
                });
            };
            let is_in =
                |(axis, at): (usize, &usize)| (start[axis]..start[axis] + len[axis]).contains(at);
            if !leading.iter().enumerate().all(is_in) {
                return None;
            }
            let axis = leading.len();
            let begin = last.max(start[axis]);
            let end = (last + run.len).min(start[axis] + len[axis]);
            let skip = begin - last;
            let targets = run.target + skip..run.target + end.saturating_sub(last);
            (begin < end).then_some(RunPart {
                first,
                skip,
                targets,
            })
        })
    }

    /// The runs that may lie in a box: those within its range of the first axis.
    fn near(&self, start: &[usize], len: &[usize]) -> &[PointRun] {
        let (Some(&start), Some(&n)) = (start.first(), len.first()) else {
            return &self.runs;
        };
        // Only a single axis is the one that runs are long along.
        let is_long = len.len() == 1;
        let last =
            |run: &PointRun| self.coordinates[run.at] + if is_long { run.len - 1 } else { 0 };
        let begin = self.runs.partition_point(|run| last(run) < start);
        let end = self
            .runs
            .partition_point(|run| self.coordinates[run.at] < start + n);
        &self.runs[begin..end.max(begin)]
    }
}
