//! Merges neighbouring byte ranges, so that a store gets fewer requests.

use std::ops::Range;

use bytes::Bytes;
use ndzarr_store::RangeMerging;

use crate::EngineCause;
use crate::error::bad_answer;

/// Up to this many ranges are kept unchanged; more are merged as they come.
const MANY: usize = 1 << 16;

/// Wanted ranges of one value, in any order. If they are many, merged neighbours replace them.
#[derive(Debug)]
pub(crate) struct WantedRanges {
    ranges: Vec<Range<u64>>,
    rule: RangeMerging,
    merge_at: usize,
}

impl WantedRanges {
    pub(crate) fn new(rule: RangeMerging) -> Self {
        Self {
            ranges: Vec::new(),
            rule,
            merge_at: MANY,
        }
    }

    pub(crate) fn add(&mut self, range: Range<u64>) {
        if self.ranges.len() == self.merge_at {
            merge(&mut self.ranges, self.rule);
            // If little can be merged, it is not tried again and again.
            self.merge_at = MANY.max(self.ranges.len().saturating_mul(2));
        }
        self.ranges.push(range);
    }

    pub(crate) fn extend(&mut self, ranges: impl IntoIterator<Item = Range<u64>>) {
        ranges.into_iter().for_each(|range| self.add(range));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.iter().cloned()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn merged(mut self) -> MergedRanges {
        merge(&mut self.ranges, self.rule);
        MergedRanges(self.ranges)
    }
}

fn merge(ranges: &mut Vec<Range<u64>>, rule: RangeMerging) {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|range, last| {
        // Overlapping ranges are merged regardless of their size; others up to the limits.
        let merges = range.start < last.end
            || (range.start - last.end <= rule.gap && range.end - last.start <= rule.max);
        if merges {
            last.end = last.end.max(range.end);
        }
        merges
    });
}

/// The first part of an answer to a request for one.
pub(crate) fn first_part(parts: Vec<Bytes>) -> Result<Bytes, EngineCause> {
    parts.into_iter().next().ok_or_else(bad_answer)
}

/// The request to the store: disjoint ranges in order, each of which serves one or more wanted
/// ones.
#[derive(Clone, Debug)]
pub(crate) struct MergedRanges(Vec<Range<u64>>);

impl MergedRanges {
    pub(crate) fn ranges(&self) -> &[Range<u64>] {
        &self.0
    }

    /// The merged range that contains a wanted one.
    pub(crate) fn home(&self, wanted: &Range<u64>) -> Option<usize> {
        let home = self
            .0
            .partition_point(|range| range.start <= wanted.start)
            .checked_sub(1)?;
        (wanted.end <= self.0[home].end).then_some(home)
    }
}

/// Merged ranges, and the store's answer.
#[derive(Debug)]
pub(crate) struct FetchedRanges {
    merged: MergedRanges,
    parts: Vec<Bytes>,
}

impl FetchedRanges {
    /// # Errors
    /// The parts have other lengths than requested.
    pub(crate) fn new(merged: MergedRanges, parts: Vec<Bytes>) -> Result<Self, EngineCause> {
        let is_as_requested = merged.0.len() == parts.len()
            && merged
                .0
                .iter()
                .zip(&parts)
                .all(|(range, part)| range.end - range.start == part.len() as u64);
        if is_as_requested {
            Ok(Self { merged, parts })
        } else {
            Err(bad_answer())
        }
    }

    /// A wanted range.
    ///
    /// # Errors
    /// It was not requested.
    pub(crate) fn cut(&self, wanted: &Range<u64>) -> Result<Bytes, EngineCause> {
        let home = self.merged.home(wanted).ok_or_else(bad_answer)?;
        let start = self.merged.0[home].start;
        Ok(self.parts[home].slice((wanted.start - start) as usize..(wanted.end - start) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(wanted: impl IntoIterator<Item = Range<u64>>, rule: RangeMerging) -> MergedRanges {
        let mut ranges = WantedRanges::new(rule);
        ranges.extend(wanted);
        ranges.merged()
    }

    #[test]
    fn neighbours_are_merged_up_to_the_limits() {
        let rule = RangeMerging {
            gap: 4,
            max: 20,
            piece: None,
        };
        let merged = merged([30..40, 0..5, 8..10, 3..4, 15..20], rule);
        assert_eq!(merged.ranges(), [0..10, 15..20, 30..40]);
        let value: Vec<u8> = (0..40).collect();
        let parts: Vec<Bytes> = merged
            .ranges()
            .iter()
            .map(|r| Bytes::copy_from_slice(&value[r.start as usize..r.end as usize]))
            .collect();
        FetchedRanges::new(merged.clone(), parts[1..].to_vec()).expect_err("a part is missing");
        let fetched = FetchedRanges::new(merged, parts).expect("all parts");
        assert_eq!(
            fetched.cut(&(30..40)).expect("a wanted range"),
            &value[30..40]
        );
        assert_eq!(fetched.cut(&(3..4)).expect("a wanted range"), &value[3..4]);
        fetched.cut(&(9..11)).expect_err("not a wanted range");
    }

    #[test]
    fn empty_ranges_have_a_home() {
        let rule = RangeMerging {
            gap: 0,
            max: 5,
            piece: None,
        };
        let merged = merged([5..5, 0..5, 5..9, 9..9, 20..20], rule);
        assert_eq!(merged.ranges(), [0..5, 5..9, 20..20]);
        for empty in [5..5, 9..9, 20..20] {
            assert!(merged.home(&empty).is_some(), "{empty:?}");
        }
    }

    /// Whatever their order, few are kept, and each has a merged range within the size limits.
    #[test]
    fn many_neighbours_take_little_memory() {
        const N: u64 = 4 * MANY as u64;
        let rule = RangeMerging {
            gap: 0,
            max: 64,
            piece: None,
        };
        // The multiplier and the number are coprime: each occurs once.
        for factor in [1, 99_991] {
            let mut ranges = WantedRanges::new(rule);
            let each = || (0..N).map(|i| i * factor % N).map(|i| i..i + 1);
            ranges.extend(each());
            assert!(ranges.ranges.len() <= 2 * MANY, "{}", ranges.ranges.len());
            let merged = ranges.merged();
            assert!(
                merged.ranges().len() as u64 <= 2 * N / 64,
                "{}",
                merged.ranges().len()
            );
            assert!(
                merged
                    .ranges()
                    .iter()
                    .all(|range| range.end - range.start <= 64)
            );
            assert!(each().all(|range| merged.home(&range).is_some()));
        }
    }
}
